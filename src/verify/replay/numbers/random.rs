//! The functions of `jax.random`, called as Python calls them.
//!
//! **Invariant:** raw keys in, raw keys out; a function that takes one key refuses an array of keys outside `vmap`, as
//! JAX does; under `vmap` the implementations that JAX batches by the first key see the keys of all lanes at once.

use super::super::value::Value;
use super::arguments::{self, Arguments, problem};
use super::arithmetic::{convert, tensor};
use super::lanes::is_mapped;
use super::lineage::Step;
use super::numpy::concatenate;
use super::value::typed;
use super::{Builtin, NumericState, complex};
use super::{Outcome, Problem, Settings};
use crate::prng::array::{Array, size_of};
use crate::prng::derive;
use crate::prng::dtype::{DType, DTypeKind};
use crate::prng::error::{Error, Result};
use crate::prng::implementation::Implementation;
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;
use crate::prng::sample::select::{Categorical, Choice};
use crate::prng::sample::{self, UNSUPPORTED, count, formula, gamma, integer, real, select};
use crate::text::Span;

/// The function of that name; a problem where JAX has it and the reference PRNG does not.
pub fn lookup(name: &str, span: Span) -> Outcome<Option<&'static Builtin>> {
    if is_unsupported(name) {
        return Err(problem(span, &sample::unsupported(name)));
    }
    Ok(supported().find(|function| function.name == name))
}

/// Whether JAX has a function of that name.
pub fn is_known(name: &str) -> bool {
    is_unsupported(name) || supported().any(|function| function.name == name)
}

fn supported() -> impl Iterator<Item = &'static Builtin> {
    PLAIN.iter().chain(&FORMULAS).chain(FUNCTIONS)
}

fn is_unsupported(name: &str) -> bool {
    UNSUPPORTED.iter().any(|(other, _)| *other == name)
}

const DRAW: [&str; 3] = ["key", "shape", "dtype"];

/// The functions that draw with nothing but a key, a shape and a dtype.
static PLAIN: [Builtin; sample::PLAIN.len()] = {
    let mut functions = [const { Builtin::new("", &DRAW, &[], 1, drawn) }; sample::PLAIN.len()];
    let mut at = 0;
    while at < functions.len() {
        functions[at].name = sample::PLAIN[at].0;
        at += 1;
    }
    functions
};

/// The functions that draw from a distribution with parameters.
static FORMULAS: [Builtin; formula::FORMULAS.len()] = {
    let mut functions = [const { Builtin::new("", &DRAW, &[], 1, by_formula) }; formula::FORMULAS.len()];
    let mut at = 0;
    while at < functions.len() {
        let formula = &formula::FORMULAS[at];
        let required = if formula.default.is_some() { 1 } else { formula.arguments.len() - 2 };
        functions[at] = Builtin::new(formula.name, formula.arguments, &[], required, by_formula);
        at += 1;
    }
    functions
};

/// All others.
static FUNCTIONS: &[Builtin] = &[
    Builtin::new("key", &["seed"], &["impl", "dtype"], 1, |numeric, arguments| seeded(numeric, arguments, true)),
    Builtin::new("PRNGKey", &["seed"], &["impl"], 1, |numeric, arguments| seeded(numeric, arguments, false)),
    Builtin::new("split", &["key", "num"], &[], 1, split),
    Builtin::new("fold_in", &["key", "data"], &[], 2, fold_in),
    Builtin::new("clone", &["key"], &[], 1, |numeric, arguments| {
        keywise(numeric, arguments, |keys, is_typed| if is_typed { Ok(typed(keys)) } else { raw(&keys) })
    }),
    Builtin::new("key_data", &["keys"], &[], 1, |numeric, arguments| keywise(numeric, arguments, |keys, _| raw(&keys))),
    Builtin::new("key_impl", &["keys"], &[], 1, |numeric, arguments| {
        let (keys, span) = arguments.required(0)?;
        let (keys, _) = keys_of(numeric.settings, keys.any_lane(), span)?;
        Ok(Value::Text(keys.implementation().name().into()))
    }),
    Builtin::new("wrap_key_data", &["key_bits_array"], &["impl", "dtype"], 1, wrap_key_data),
    Builtin::new("uniform", &["key", "shape", "dtype", "minval", "maxval"], &[], 1, uniform),
    Builtin::new("gumbel", &["key", "shape", "dtype", "mode"], &[], 1, |numeric, arguments| {
        let resolution = arguments.resolution()?;
        plain(numeric, arguments, |mode, keys, shape, dtype| real::gumbel(mode, keys, shape, dtype, resolution))
    }),
    Builtin::new("truncated_normal", &["key", "lower", "upper", "shape", "dtype"], &[], 3, truncated_normal),
    Builtin::new("ball", &["key", "d", "p", "shape", "dtype"], &[], 2, ball),
    Builtin::new("multinomial", &["key", "n", "p"], &["shape", "dtype"], 3, multinomial),
    Builtin::new("randint", &["key", "shape", "minval", "maxval", "dtype"], &[], 4, randint),
    Builtin::new("bernoulli", &["key", "p", "shape", "mode"], &[], 1, bernoulli),
    Builtin::new("permutation", &["key", "x", "axis", "independent"], &[], 2, |numeric, arguments| {
        let (axis, independent) = (arguments.axis(0)?, arguments.flag("independent", false)?);
        reorder(numeric, arguments, |mode, keys, x| select::permutation(mode, keys, x, axis, independent))
    }),
    Builtin::new("shuffle", &["key", "x", "axis"], &[], 2, |numeric, arguments| {
        let axis = arguments.axis(0)?;
        reorder(numeric, arguments, |mode, keys, x| select::shuffle(mode, keys, x, axis))
    }),
    Builtin::new("choice", &["key", "a", "shape", "replace", "p", "axis", "mode"], &[], 2, choice),
    Builtin::new("categorical", &["key", "logits", "axis", "shape", "replace", "mode"], &[], 2, categorical),
];

/// The keys a value is, and whether they are typed.
fn keys_of(settings: Settings, value: &Value<'_>, span: Span) -> Outcome<(Keys, bool)> {
    match value {
        Value::Keys(keys) => Ok((keys.keys.clone(), true)),
        Value::Array(tensor) => {
            let keys = Keys::wrap(settings.implementation, &tensor.array).map_err(|error| problem(span, &error))?;
            Ok((keys, false))
        }
        _ => Err(Problem::new(span, format!("expected a key, got {}", value.description()))),
    }
}

fn raw<'a>(keys: &Keys) -> Result<Value<'a>> {
    keys.data().map(Value::array)
}

/// Does the same to every key of an array.
fn keywise<'a>(
    numeric: &mut NumericState,
    arguments: &Arguments<'a>,
    function: fn(Keys, bool) -> Result<Value<'a>>,
) -> Outcome<Value<'a>> {
    let (keys, span) = arguments.required(0)?;
    let settings = numeric.settings;
    numeric.lift(arguments.span, std::slice::from_ref(keys), &|values| {
        let (keys, is_typed) = keys_of(settings, &values[0], span)?;
        function(keys, is_typed).map_err(|error| problem(span, &error))
    })
}

fn seeded<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>, is_typed: bool) -> Outcome<Value<'a>> {
    let (seed, span) = arguments.required(0)?;
    let mode = numeric.settings.mode;
    let implementation = arguments.implementation()?.unwrap_or(numeric.settings.implementation);
    let made = numeric.lift(arguments.span, std::slice::from_ref(seed), &|values| {
        let keys = match &values[0] {
            Value::Int(seed) => derive::key(mode, implementation, *seed),
            Value::Bool(seed) => derive::key(mode, implementation, i128::from(*seed)),
            Value::Array(tensor) if tensor.array.rank() == 0 => derive::keys(implementation, &tensor.array),
            value => {
                let found = value.description();
                return Err(Problem::new(span, format!("the seed of a key must be an integer, got {found}")));
            }
        };
        let value = keys.and_then(|keys| if is_typed { Ok(typed(keys)) } else { raw(&keys) });
        value.map_err(|error| problem(span, &error))
    });
    if let (Ok(Value::Keys(keys)), Value::Int(seed)) = (&made, seed) {
        numeric.lineage.keep(keys.keys.words(), Step::Seed(*seed));
    }
    made
}

fn wrap_key_data<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let (data, span) = arguments.required(0)?;
    let implementation = arguments.implementation()?.unwrap_or(numeric.settings.implementation);
    numeric.lift(arguments.span, std::slice::from_ref(data), &|values| match &values[0] {
        Value::Array(tensor) => {
            Keys::wrap(implementation, &tensor.array).map(typed).map_err(|error| problem(span, &error))
        }
        value => Err(Problem::new(span, format!("expected an array of uint32, got {}", value.description()))),
    })
}

/// The operation on keys: one key, or the keys of all lanes, whose axes then come first in the result.
type Draw<'f, 'a> = &'f dyn Fn(&Keys, &[Array]) -> Result<Value<'a>>;

/// Parameters of a draw other than the key, each an array or a number in every lane.
struct Parameters<'a> {
    values: Vec<(Value<'a>, Span)>,
    /// The rank of the draw, where the parameters are broadcast to it.
    rank: Option<usize>,
    /// Elements drawn for each key.
    elements: usize,
}

impl Parameters<'_> {
    fn none(elements: usize) -> Self {
        Self { values: Vec::new(), rank: None, elements }
    }
}

/// Calls a function with its key, or under `vmap` with its keys.
fn with_key<'a>(
    numeric: &mut NumericState,
    arguments: &Arguments<'a>,
    parameters: &Parameters<'a>,
    draw: Draw<'_, 'a>,
) -> Outcome<Value<'a>> {
    let settings = numeric.settings;
    let span = arguments.span;
    let (key, key_span) = arguments.required(0)?;
    let name = arguments.builtin.name;
    let single = |value: &Value<'a>| {
        let (keys, _) = keys_of(settings, value, key_span)?;
        keys.require_single(name).map_err(|error| problem(key_span, &error))?;
        Ok(keys)
    };
    let implementation = single(key.any_lane())?.implementation();
    let values: Vec<Value<'a>> =
        std::iter::once(key.clone()).chain(parameters.values.iter().map(|(value, _)| value.clone())).collect();
    let draws_together = implementation.generator().batch_draws_from_first_key() && is_mapped(key);
    if !draws_together {
        numeric.spend(span, parameters.elements)?;
        return numeric.lift(span, &values, &|values| {
            let spans = parameters.values.iter().map(|(_, span)| *span);
            let arrays: Outcome<Vec<Array>> =
                values[1..].iter().zip(spans).map(|(value, span)| parameter(settings.mode, value, span)).collect();
            draw(&single(&values[0])?, &arrays?).map_err(|error| problem(span, &error))
        });
    }
    numeric.lift_around(span, 0, &values, &mut |numeric, values| {
        let levels = values[0].levels();
        let counts: Vec<usize> = levels.iter().map(|(_, count)| *count).collect();
        let mut words = Vec::new();
        for key in values[0].flat() {
            words.extend_from_slice(single(key)?.words());
        }
        let keys = Keys::new(implementation, &counts, words).map_err(|error| problem(span, &error))?;
        numeric.spend(span, parameters.elements.saturating_mul(keys.len()))?;
        let mut arrays = Vec::new();
        for (value, (_, span)) in values[1..].iter().zip(&parameters.values) {
            arrays.push(batch_parameter(settings.mode, name, value, &levels, parameters.rank, *span)?);
        }
        let drawn = draw(&keys, &arrays).map_err(|error| problem(span, &error))?;
        unstack(&drawn, &levels, keys.len()).map_err(|error| problem(span, &error))
    })
}

/// A parameter, which no complex number can be.
fn parameter(mode: Mode, value: &Value<'_>, span: Span) -> Outcome<Array> {
    let array = tensor(mode, value, span)?.array;
    complex::refuse(&array, span)?;
    Ok((*array).clone())
}

/// A parameter with the axes of the lanes before its own, so that it broadcasts to the draws of all lanes.
fn batch_parameter(
    mode: Mode,
    name: &str,
    value: &Value<'_>,
    levels: &[(usize, usize)],
    rank: Option<usize>,
    span: Span,
) -> Outcome<Array> {
    let lanes = value.flat();
    let tensors: Vec<_> = lanes.iter().map(|lane| tensor(mode, lane, span)).collect::<Outcome<_>>()?;
    let Some(first) = tensors.first() else { return Err(Problem::new(span, "the batch is empty")) };
    complex::refuse(&first.array, span)?;
    let shape = first.array.shape();
    match rank {
        None if value.levels().is_empty() => Ok((*first.array).clone()),
        None => {
            let message =
                format!("{name} over a batch of this argument is not supported with rbg if the key is mapped too");
            Err(Problem::new(span, message))
        }
        Some(rank) => {
            let Some(missing) = rank.checked_sub(shape.len()) else {
                return Err(Problem::new(span, "the parameter has more axes than the result"));
            };
            let own = value.levels();
            let length = |level: &(usize, usize)| if own.contains(level) { level.1 } else { 1 };
            let lengths: Vec<usize> = levels.iter().map(length).collect();
            let full = [&lengths, &*vec![1; missing], shape].concat();
            let arrays: Vec<&Array> = tensors.iter().map(|tensor| &*tensor.array).collect();
            concatenate(&arrays, first.array.dtype(), &full).map_err(|error| problem(span, &error))
        }
    }
}

/// Takes the leading axes of a result apart into lanes.
fn unstack<'a>(drawn: &Value<'a>, levels: &[(usize, usize)], count: usize) -> Result<Value<'a>> {
    let shape = drawn.own_shape().unwrap_or_default();
    let rest = shape.get(levels.len()..).unwrap_or_default();
    let each = size_of(rest)?;
    let lane = |lane: usize| -> Result<Value<'a>> {
        let positions: Vec<usize> = (lane * each..(lane + 1) * each).collect();
        match drawn {
            Value::Array(tensor) => tensor.array.gather(rest, &positions).map(Value::array),
            Value::Keys(keys) => keys.keys.gather(rest, &positions).map(typed),
            other => Ok(other.clone()),
        }
    };
    let lanes: Vec<Value<'a>> = (0..count).map(lane).collect::<Result<_>>()?;
    let shape = || Error::Broadcast { function: "vmap", from: vec![count], to: levels.iter().map(|l| l.1).collect() };
    Value::from_flat(levels, &mut lanes.into_iter()).ok_or_else(shape)
}

fn split<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let shape = match arguments.given("num") {
        Some((value, span)) => arguments::shape(value, span)?,
        None => vec![2],
    };
    let mode = numeric.settings.mode;
    let is_typed = matches!(arguments.required(0)?.0.any_lane(), Value::Keys(_));
    let elements = shape.iter().product::<usize>().saturating_mul(4);
    let children = with_key(numeric, arguments, &Parameters::none(elements), &|keys, _| {
        let children = derive::split(mode, keys, &shape)?;
        if is_typed { Ok(typed(children)) } else { raw(&children) }
    })?;
    if let (Value::Keys(parent), Value::Keys(children)) = (arguments.required(0)?.0, &children) {
        let (parent, count) = (parent.keys.words(), children.keys.len());
        for (number, child) in children.keys.iter().enumerate() {
            numeric.lineage.keep(child, Step::Child(parent.to_vec(), number, count));
        }
    }
    Ok(children)
}

fn fold_in<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let settings = numeric.settings;
    let ((key, key_span), (data, data_span)) = (arguments.required(0)?, arguments.required(1)?);
    let span = arguments.span;
    let single = |value: &Value<'a>| {
        let (keys, is_typed) = keys_of(settings, value, key_span)?;
        keys.require_single("fold_in").map_err(|error| problem(key_span, &error))?;
        Ok((keys, is_typed))
    };
    let (first, is_typed) = single(key.any_lane())?;
    let give = |keys: Result<Keys>| {
        let value = keys.and_then(|keys| if is_typed { Ok(typed(keys)) } else { raw(&keys) });
        value.map_err(|error| problem(span, &error))
    };
    let values = [key.clone(), data.clone()];
    // The masks of mapped data are one draw; mapped keys alone all get the same mask.
    if first.implementation() != Implementation::UnsafeRbg || !is_mapped(data) {
        let child = numeric.lift(span, &values, &|values| {
            let (keys, _) = single(&values[0])?;
            give(derive::fold_in(&keys, fold_data(&values[1], data_span)?))
        })?;
        if let (Value::Keys(parent), Value::Keys(child)) = (key, &child) {
            let step = Step::Fold(parent.keys.words().to_vec(), fold_data(data, data_span)?);
            numeric.lineage.keep(child.keys.words(), step);
        }
        return Ok(child);
    }
    numeric.lift_around(span, 1, &values, &mut |numeric, values| {
        let levels = values[1].levels();
        let counts: Vec<usize> = levels.iter().map(|(_, count)| *count).collect();
        let mut numbers = Vec::new();
        for number in values[1].flat() {
            numbers.push(i128::from(fold_data(number, data_span)?));
        }
        numeric.spend(span, numbers.len())?;
        let (mut words, mut lengths) = (Vec::new(), Vec::new());
        for key in values[0].flat() {
            words.extend_from_slice(single(key)?.0.words());
        }
        let own = values[0].levels();
        lengths.extend(levels.iter().map(|level| if own.contains(level) { level.1 } else { 1 }));
        let children = Keys::new(first.implementation(), &lengths, words)
            .and_then(|keys| keys.broadcast_to("fold_in", &counts))
            .and_then(|keys| derive::fold_in_each(&keys, &Array::from_integers(DType::Uint32, &counts, numbers)?));
        let count = counts.iter().product();
        unstack(&give(children)?, &levels, count).map_err(|error| problem(span, &error))
    })
}

/// The data of `fold_in`, as `uint32`.
fn fold_data(value: &Value<'_>, span: Span) -> Outcome<u32> {
    let exact = |number: i128| derive::fold_in_data(number).map_err(|error| problem(span, &error));
    match value {
        Value::Bool(flag) => Ok(u32::from(*flag)),
        Value::Int(number) => exact(*number),
        Value::Float(number) => {
            let truncated = Array::real(DType::Float64, *number).integers();
            exact(truncated.first().copied().filter(|_| number.is_finite()).unwrap_or(-1))
        }
        Value::Array(tensor) if tensor.array.rank() == 0 => {
            complex::refuse(&tensor.array, span)?;
            let words = if tensor.array.dtype().kind() == DTypeKind::Real {
                convert(&tensor.array, DType::Uint32, span)?.words()
            } else {
                tensor.array.cast(DType::Uint32).words()
            };
            let word = words.and_then(|words| words.first().copied());
            word.ok_or_else(|| Problem::new(span, "fold_in takes one number"))
        }
        _ => Err(Problem::new(span, format!("fold_in takes one number, got {}", value.description()))),
    }
}

/// A draw of a shape and a type, without parameters.
fn drawn<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let name = arguments.builtin.name;
    plain(numeric, arguments, |mode, keys, shape, dtype| match sample::plain(name) {
        Some(sampler) => sampler(mode, keys, shape, dtype),
        None => Err(sample::unsupported(name)),
    })
}

fn plain<'a>(
    numeric: &mut NumericState,
    arguments: &Arguments<'a>,
    sampler: impl Fn(Mode, &Keys, &[usize], Option<DType>) -> Result<Array>,
) -> Outcome<Value<'a>> {
    let (shape, dtype) = (arguments.shape()?, arguments.dtype()?);
    let mode = numeric.settings.mode;
    let parameters = Parameters::none(shape.iter().product());
    with_key(numeric, arguments, &parameters, &|keys, _| sampler(mode, keys, &shape, dtype).map(Value::array))
}

/// A draw from a distribution with parameters, which broadcast to its shape.
fn by_formula<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let name = arguments.builtin.name;
    let Some(formula) = formula::formula(name) else {
        return Err(problem(arguments.span, &sample::unsupported(name)));
    };
    let (dtype, mode) = (arguments.dtype()?, numeric.settings.mode);
    let mut values = Vec::new();
    for (index, parameter) in formula.parameters().iter().enumerate() {
        values.push(match formula.default {
            Some(default) => arguments.value_or(parameter, Value::Float(default)),
            None => arguments.required(index + 1).map(|(value, span)| (value.clone(), span))?,
        });
    }
    let shape = (formula.shape)(arguments.optional_shape()?, shape_of_all(&values));
    let count = arguments.required(0)?.0.levels().iter().map(|level| level.1).chain(shape.iter().copied()).product();
    let has_loop = 1_usize < count && !values.iter().any(|(value, _)| is_mapped(value));
    let elements = shape.iter().product::<usize>().saturating_mul(formula.cost);
    let parameters = Parameters { values, rank: Some(shape.len()), elements };
    with_key(numeric, arguments, &parameters, &|keys, parameters| {
        (formula.draw)(&formula::Draw { mode, keys, shape: &shape, dtype, parameters, has_loop }).map(Value::array)
    })
}

/// `ball(key, d, p, shape, dtype)`
fn ball<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let (dtype, mode) = (arguments.dtype()?, numeric.settings.mode);
    let (length, span) = arguments.required(1)?;
    let shape = [arguments.shape()?, vec![arguments::length(length, span)?]].concat();
    let elements = arguments::elements(&shape, span)?.saturating_mul(formula::IN_ROUNDS);
    let values = vec![arguments.value_or("p", Value::Int(2))];
    let parameters = Parameters { values, rank: Some(shape.len()), elements };
    with_key(numeric, arguments, &parameters, &|keys, parameters| {
        gamma::ball(&formula::Draw { mode, keys, shape: &shape, dtype, parameters, has_loop: true }).map(Value::array)
    })
}

/// `multinomial(key, n, p, shape=…, dtype=…)`
fn multinomial<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let (dtype, mode) = (arguments.dtype()?, numeric.settings.mode);
    let ((n, n_span), (p, p_span)) = (arguments.required(1)?, arguments.required(2)?);
    let shape = match arguments.optional_shape()? {
        Some(shape) => shape,
        None => p.own_shape().unwrap_or_default().to_vec(),
    };
    let elements = arguments::elements(&shape, arguments.span)?.saturating_mul(formula::IN_ROUNDS);
    let values = vec![(n.clone(), n_span), (p.clone(), p_span)];
    let parameters = Parameters { values, rank: Some(shape.len()), elements };
    with_key(numeric, arguments, &parameters, &|keys, parameters| {
        let mut parameters = parameters.to_vec();
        if let Some(trials) = parameters.first_mut()
            && trials.rank() > 0
        {
            let column = [trials.shape(), &[1]].concat();
            *trials = trials.clone().reshape(&column)?;
        }
        let draw = formula::Draw { mode, keys, shape: &shape, dtype, parameters: &parameters, has_loop: true };
        count::multinomial(&draw).map(Value::array)
    })
}

fn uniform<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let (shape, dtype) = (arguments.shape()?, arguments.dtype()?);
    let mode = numeric.settings.mode;
    let values = vec![arguments.value_or("minval", Value::Float(0.0)), arguments.value_or("maxval", Value::Float(1.0))];
    let parameters = Parameters { values, rank: Some(shape.len()), elements: shape.iter().product() };
    with_key(numeric, arguments, &parameters, &|keys, bounds| {
        real::uniform(mode, keys, &shape, dtype, &bounds[0], &bounds[1]).map(Value::array)
    })
}

/// The shape that some values broadcast to, as samplers without a shape take it.
fn shape_of_all(values: &[(Value<'_>, Span)]) -> Vec<usize> {
    let mut joint: Vec<usize> = Vec::new();
    for (value, _) in values {
        let shape = value.own_shape().unwrap_or_default();
        let missing = shape.len().saturating_sub(joint.len());
        joint.splice(..0, std::iter::repeat_n(1, missing));
        for (joint, length) in joint.iter_mut().rev().zip(shape.iter().rev()) {
            if *joint == 1 {
                *joint = *length;
            }
        }
    }
    joint
}

fn truncated_normal<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let dtype = arguments.dtype()?;
    let mode = numeric.settings.mode;
    let owned = |(value, span): (&Value<'a>, Span)| (value.clone(), span);
    let values = vec![owned(arguments.required(1)?), owned(arguments.required(2)?)];
    let shape = arguments.optional_shape()?.unwrap_or_else(|| shape_of_all(&values));
    let parameters = Parameters { values, rank: Some(shape.len()), elements: shape.iter().product() };
    with_key(numeric, arguments, &parameters, &|keys, bounds| {
        real::truncated_normal(mode, keys, &bounds[0], &bounds[1], &shape, dtype).map(Value::array)
    })
}

fn randint<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let (shape, dtype) = (arguments.shape()?, arguments.dtype()?);
    let mode = numeric.settings.mode;
    let owned = |(value, span): (&Value<'a>, Span)| (value.clone(), span);
    let values = vec![owned(arguments.required(2)?), owned(arguments.required(3)?)];
    let parameters = Parameters { values, rank: Some(shape.len()), elements: shape.iter().product() };
    with_key(numeric, arguments, &parameters, &|keys, bounds| {
        integer::randint(mode, keys, &shape, &bounds[0], &bounds[1], dtype).map(Value::array)
    })
}

fn bernoulli<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let resolution = arguments.resolution()?;
    let mode = numeric.settings.mode;
    let values = vec![arguments.value_or("p", Value::Float(0.5))];
    let shape = arguments.optional_shape()?.unwrap_or_else(|| shape_of_all(&values));
    let parameters = Parameters { values, rank: Some(shape.len()), elements: shape.iter().product() };
    with_key(numeric, arguments, &parameters, &|keys, p| {
        integer::bernoulli(mode, keys, &p[0], Some(&shape), resolution).map(Value::array)
    })
}

/// What to reorder or choose from: an array, or a number for the integers below it. The second result is the number of elements.
fn population<'a>(arguments: &Arguments<'a>) -> Outcome<((Value<'a>, Span), usize)> {
    let (value, span) = arguments.required(1)?;
    let elements = match value.own_shape() {
        Some(shape) if !shape.is_empty() => size_of(shape).map_err(|error| problem(span, &error))?,
        _ if is_mapped(value) => {
            return Err(Problem::new(span, "the number of elements must be the same for the whole batch"));
        }
        _ => match value {
            Value::Int(count) => arguments::shape(&Value::Int((*count).max(0)), span)?.iter().product(),
            Value::Array(tensor) => {
                let count = tensor.array.integers().first().copied().unwrap_or(0);
                arguments::shape(&Value::Int(count.max(0)), span)?.iter().product()
            }
            Value::Float(_) | Value::Bool(_) => {
                let message = format!("expected an array or an integer, got {}", value.description());
                return Err(Problem::new(span, message));
            }
            _ => 0,
        },
    };
    Ok(((value.clone(), span), elements))
}

fn reorder<'a>(
    numeric: &mut NumericState,
    arguments: &Arguments<'a>,
    function: impl Fn(Mode, &Keys, &Array) -> Result<Array>,
) -> Outcome<Value<'a>> {
    let mode = numeric.settings.mode;
    let (x, elements) = population(arguments)?;
    let parameters = Parameters { values: vec![x], rank: None, elements };
    with_key(numeric, arguments, &parameters, &|keys, x| function(mode, keys, &x[0]).map(Value::array))
}

fn choice<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let mode = numeric.settings.mode;
    let (a, population) = population(arguments)?;
    let mut values = vec![a];
    values.extend(arguments.optional("p").map(|(p, span)| (p.clone(), span)));
    let (shape, axis) = (arguments.shape()?, arguments.axis(0)?);
    let (replace, resolution) = (arguments.flag("replace", true)?, arguments.resolution()?);
    // A choice along one axis takes the elements of all others with it.
    let each = match values.first().and_then(|(a, _)| a.own_shape()) {
        Some(own) if own.len() > 1 => population,
        _ => 1,
    };
    let elements = shape.iter().product::<usize>().saturating_mul(each.max(1)).saturating_add(population);
    let parameters = Parameters { values, rank: None, elements };
    with_key(numeric, arguments, &parameters, &|keys, values| {
        let choice = Choice { a: &values[0], shape: &shape, replace, p: values.get(1), axis, resolution };
        select::choice(mode, keys, &choice).map(Value::array)
    })
}

fn categorical<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let mode = numeric.settings.mode;
    let (logits, span) = arguments.required(1)?;
    let (shape, axis) = (arguments.optional_shape()?, arguments.axis(-1)?);
    let (replace, resolution) = (arguments.flag("replace", true)?, arguments.resolution()?);
    let own: usize = logits.own_shape().unwrap_or_default().iter().product();
    let draws: usize = shape.iter().flatten().product();
    let elements = own.max(1).saturating_mul(draws.max(1));
    let parameters = Parameters { values: vec![(logits.clone(), span)], rank: None, elements };
    with_key(numeric, arguments, &parameters, &|keys, logits| {
        let arguments = Categorical { logits: &logits[0], axis, shape: shape.as_deref(), replace, resolution };
        select::categorical(mode, keys, &arguments).map(Value::array)
    })
}
