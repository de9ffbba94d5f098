//! What `jax.numpy` contributes: arrays, element types, and attributes of arrays.
//!
//! **Invariant:** an array holds what JAX would put into it; numbers that JAX refuses to convert are refused.

use std::rc::Rc;

use super::super::value::{Tensor, Value};
use super::arguments::{self, Arguments, problem};
use super::arithmetic::{common_type, convert, tensor};
use super::jit::concrete;
use super::value::{Argument, sequence, typed};
use super::{Builtin, NumericState, complex, functions};
use super::{Outcome, Problem};
use crate::arrays::{self, Map};
use crate::prng::array::Array;
use crate::prng::dtype::{DType, DTypeKind};
use crate::prng::error::{Error, Result};
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;
use crate::text::Span;

static FUNCTIONS: [Builtin; 5] = [
    Builtin::new("array", &["object", "dtype"], &[], 1, |numeric, arguments| {
        let (object, span) = arguments.required(0)?;
        array_of(numeric, object, arguments.dtype()?, span)
    }),
    Builtin::new("asarray", &["a", "dtype"], &[], 1, |numeric, arguments| {
        let (object, span) = arguments.required(0)?;
        array_of(numeric, object, arguments.dtype()?, span)
    }),
    Builtin::new("arange", &["start", "stop", "step", "dtype"], &[], 1, arange),
    Builtin::new("zeros", &["shape", "dtype"], &[], 1, |numeric, arguments| filled(numeric, arguments, 0)),
    Builtin::new("ones", &["shape", "dtype"], &[], 1, |numeric, arguments| filled(numeric, arguments, 1)),
];

/// `jnp.uint32(x)` and its like.
pub static CONVERSION: Builtin = Builtin::new("a dtype", &["x"], &[], 1, |_, arguments| {
    Err(Problem::new(arguments.span, "name a dtype instead of calling it"))
});

/// The function of `jax.numpy` of that name.
pub fn lookup(name: &str) -> Option<&'static Builtin> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// `jnp.uint32(x)`: an array of that type.
pub fn converted<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>, dtype: DType) -> Outcome<Value<'a>> {
    let (object, span) = arguments.required(0)?;
    array_of(numeric, object, Some(dtype), span)
}

/// `jnp.array(object, dtype)`
pub fn array_of<'a>(
    numeric: &mut NumericState,
    object: &Value<'a>,
    dtype: Option<DType>,
    span: Span,
) -> Outcome<Value<'a>> {
    let mode = numeric.settings.mode;
    let dtype = dtype.map(|dtype| dtype.canonical(mode));
    let mut leaves = Vec::new();
    let shape = leaves_of(object, &mut leaves, span)?;
    numeric.spend(span, leaves.len())?;
    numeric.lift(span, &leaves, &|leaves| assemble(mode, leaves, &shape, dtype, span))
}

/// Collects what nested lists hold, and the shape they have.
fn leaves_of<'a>(object: &Value<'a>, leaves: &mut Vec<Value<'a>>, span: Span) -> Outcome<Vec<usize>> {
    let Some(items) = sequence(object) else {
        leaves.push(object.clone());
        return Ok(Vec::new());
    };
    let mut inner: Option<Vec<usize>> = None;
    for item in &items {
        let shape = leaves_of(item, leaves, span)?;
        if inner.as_ref().is_some_and(|inner| *inner != shape) {
            return Err(Problem::new(span, "the lists in an array must have the same length"));
        }
        inner = Some(shape);
    }
    let mut shape = vec![items.len()];
    shape.append(&mut inner.unwrap_or_default());
    Ok(shape)
}

/// Makes one array of some of equal shape.
fn assemble<'a>(
    mode: Mode,
    leaves: &[Value<'a>],
    shape: &[usize],
    dtype: Option<DType>,
    span: Span,
) -> Outcome<Value<'a>> {
    let failed = |error: Error| problem(span, &error);
    let own = leaves.first().and_then(Value::own_shape).unwrap_or_default();
    if leaves.iter().any(|leaf| leaf.own_shape().unwrap_or_default() != own) {
        return Err(Problem::new(span, "the parts of an array must have the same shape"));
    }
    let full = [shape, own].concat();
    if let Some(Value::Keys(first)) = leaves.first() {
        let implementation = first.keys.implementation();
        let mut words = Vec::new();
        for leaf in leaves {
            match leaf {
                Value::Keys(keys) if keys.keys.implementation() == implementation && dtype.is_none() => {
                    words.extend_from_slice(keys.keys.words());
                }
                _ => {
                    let message = format!(
                        "keys of dtype {} can be combined only with \
                        keys",
                        implementation.key_dtype()
                    );
                    return Err(Problem::new(span, message));
                }
            }
        }
        return Keys::new(implementation, &full, words).map(typed).map_err(failed);
    }
    let mut tensors = Vec::with_capacity(leaves.len());
    for leaf in leaves {
        tensors.push(match dtype {
            Some(dtype) => Tensor { array: Rc::new(element(mode, leaf, dtype, span)?), weak: false },
            None => tensor(mode, leaf, span)?,
        });
    }
    let common = common_type(mode, &tensors).unwrap_or((DType::default_float(mode), false));
    let (dtype, weak) = dtype.map_or(common, |dtype| (dtype, false));
    let casts: Vec<Array> = tensors.iter().map(|tensor| tensor.array.cast(dtype)).collect();
    let array = concatenate(&casts.iter().collect::<Vec<_>>(), dtype, &full).map_err(failed)?;
    Ok(Value::Array(Tensor { array: Rc::new(array), weak: weak && shape.is_empty() }))
}

/// A number or array converted to a type; a Python integer has to fit it.
fn element(mode: Mode, value: &Value<'_>, dtype: DType, span: Span) -> Outcome<Array> {
    match value {
        Value::Int(value) if dtype.is_integer() => {
            let (low, high) = dtype.bounds();
            if (low..=high).contains(value) {
                Ok(Array::integer(dtype, *value))
            } else {
                Err(problem(span, &Error::Overflow { value: *value, dtype }))
            }
        }
        Value::Int(value) => Ok(Array::integer(dtype, *value)),
        Value::Float(value) => {
            // A `bfloat16` is made of a `float32`, every other type of the `float64` itself.
            let made_of = if dtype == DType::Bfloat16 { DType::Float32 } else { DType::Float64 };
            convert(&Array::real(made_of, *value), dtype, span)
        }
        Value::Complex(..) if dtype.kind() != DTypeKind::Complex => {
            Err(Problem::new(span, format!("a complex number cannot become {dtype}")))
        }
        value => convert(&tensor(mode, value, span)?.array, dtype, span),
    }
}

/// The elements of some arrays of one type one after another, as an array of a shape.
pub fn concatenate(arrays: &[&Array], dtype: DType, shape: &[usize]) -> Result<Array> {
    if dtype.kind() == DTypeKind::Complex {
        Array::from_complexes(dtype, shape, arrays.iter().flat_map(|array| array.complexes()))
    } else if dtype.kind() == DTypeKind::Real {
        Array::from_reals(dtype, shape, arrays.iter().flat_map(|array| array.reals()))
    } else {
        Array::from_integers(dtype, shape, arrays.iter().flat_map(|array| array.integers()))
    }
}

fn filled<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>, value: i128) -> Outcome<Value<'a>> {
    let mode = numeric.settings.mode;
    let dtype = arguments.dtype()?.map_or(DType::default_float(mode), |dtype| dtype.canonical(mode));
    let shape = arguments.shape()?;
    let size: usize = shape.iter().product();
    numeric.spend(arguments.span, size)?;
    let array = Array::from_integers(dtype, &shape, std::iter::repeat_n(value, size));
    array.map(Value::array).map_err(|error| problem(arguments.span, &error))
}

/// `jnp.arange(stop)`, `jnp.arange(start, stop, step)`, of whole numbers.
fn arange<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let mode = numeric.settings.mode;
    let span = arguments.span;
    let mut tensors = Vec::new();
    let mut number = |name: &str| -> Outcome<Option<i128>> {
        let Some((value, span)) = arguments.optional(name) else { return Ok(None) };
        tensors.push(tensor(mode, value, span)?);
        match value {
            Value::Float(float) => {
                let whole = Array::real(DType::Float64, *float).integers().first().copied();
                let is_exact = float.fract() == 0.0 && float.abs() <= f64::from(1 << 24);
                whole
                    .filter(|_| is_exact)
                    .map(Some)
                    .ok_or_else(|| Problem::new(span, "arange of fractional numbers is not supported"))
            }
            value => arguments::integer(value, span).map(Some),
        }
    };
    let (first, second, step) = (number("start")?, number("stop")?, number("step")?.unwrap_or(1));
    let (start, stop) = match (first, second) {
        (Some(start), Some(stop)) => (start, stop),
        (Some(stop), None) => (0, stop),
        (None, _) => return Err(Problem::new(span, "arange is missing an argument")),
    };
    if step == 0 {
        return Err(Problem::new(span, "the step of arange cannot be zero"));
    }
    let distance = if step > 0 { stop.saturating_sub(start) } else { start.saturating_sub(stop) };
    let count = (distance.max(0) + step.abs() - 1) / step.abs();
    let shape = arguments::shape(&Value::Int(count), span)?;
    numeric.spend(span, shape.iter().product())?;
    let common = common_type(mode, &tensors).map_or(DType::default_int(mode), |(dtype, _)| dtype);
    let dtype = arguments.dtype()?.map_or(common, |dtype| dtype.canonical(mode));
    let array = Array::from_integers(dtype, &shape, (0..count).map(|index| start + index * step));
    array.map(Value::array).map_err(|error| problem(span, &error))
}

/// An attribute of a value.
pub fn attribute<'a>(numeric: &mut NumericState, value: Value<'a>, name: &str, span: Span) -> Outcome<Value<'a>> {
    let unknown = |value: &Value<'a>| {
        Err(Problem::new(span, format!("{} has no supported attribute `{name}`", value.description())))
    };
    let Some(shape) = value.own_shape() else { return unknown(&value) };
    match name {
        "shape" => Ok(Value::shape(shape)),
        "ndim" => Ok(Value::Int(shape.len() as i128)),
        "size" => Ok(Value::Int(shape.iter().product::<usize>() as i128)),
        "dtype" => Ok(match value.any_lane() {
            Value::Keys(keys) => Value::KeyDType(keys.keys.implementation()),
            Value::Array(tensor) => Value::DType(tensor.array.dtype()),
            _ => Value::None,
        }),
        "T" => {
            let map = Map::transpose(shape);
            numeric.lift(span, &[value], &|values| rearranged(&values[0], &map, span))
        }
        "real" | "imag" => call_function(numeric, complex::lookup(name), value, span),
        name if matches!(name, "reshape" | "astype" | "item") || functions::method(name).is_some() => {
            Ok(Value::Method(Rc::new((value, name.into()))))
        }
        _ => unknown(&value),
    }
}

/// Calls a function with one argument.
fn call_function<'a>(
    numeric: &mut NumericState,
    function: Option<&'static Builtin>,
    value: Value<'a>,
    span: Span,
) -> Outcome<Value<'a>> {
    let Some(function) = function else { return Ok(value) };
    let arguments = Arguments::bind(function, vec![Argument { name: None, value, span }], span)?;
    (function.run)(numeric, &arguments)
}

/// The elements of an array or of typed keys, as a map has them.
pub fn rearranged<'a>(value: &Value<'a>, map: &Map, span: Span) -> Outcome<Value<'a>> {
    let Map { shape, positions } = map;
    let value = match value {
        Value::Keys(keys) => keys.keys.gather(shape, positions).map(typed),
        Value::Array(tensor) => tensor
            .array
            .gather(shape, positions)
            .map(|array| Value::Array(Tensor { array: Rc::new(array), weak: tensor.weak })),
        other => Ok(other.clone()),
    };
    value.map_err(|error| problem(span, &error))
}

static RESHAPE: Builtin = Builtin { name: "reshape", positional: &["shape"], ..CONVERSION };
static ASTYPE: Builtin = Builtin { name: "astype", positional: &["dtype"], ..CONVERSION };

/// Calls a method of an array.
pub fn call_method<'a>(
    numeric: &mut NumericState,
    method: &str,
    receiver: &Value<'a>,
    mut arguments: Vec<Argument<'a>>,
    span: Span,
) -> Outcome<Value<'a>> {
    if let Some(function) = functions::method(method) {
        arguments.insert(0, Argument { name: None, value: receiver.clone(), span });
        let arguments = Arguments::bind(function, arguments, span)?;
        return (function.run)(numeric, &arguments);
    }
    if method == "item" {
        return item(numeric, receiver, &arguments, span);
    }
    if method == "reshape" {
        if arguments.len() > 1 && arguments.iter().all(|argument| argument.name.is_none()) {
            // `x.reshape(2, 3)` is `x.reshape((2, 3))`.
            let lengths = arguments.drain(..).map(|argument| argument.value).collect();
            let value = Value::tuple(lengths);
            arguments.push(Argument { name: None, value, span });
        }
        let arguments = Arguments::bind(&RESHAPE, arguments, span)?;
        let (shape, shape_span) = arguments.required(0)?;
        let own = receiver.own_shape().unwrap_or_default();
        let shape = reshaped(own, shape, shape_span)?;
        let map = Map { shape, positions: (0..own.iter().product()).collect() };
        numeric.lift(span, std::slice::from_ref(receiver), &|values| rearranged(&values[0], &map, span))
    } else {
        let arguments = Arguments::bind(&ASTYPE, arguments, span)?;
        let (dtype, dtype_span) = arguments.required(0)?;
        let dtype = arguments::dtype(dtype, dtype_span)?.canonical(numeric.settings.mode);
        let mode = numeric.settings.mode;
        numeric.lift(span, std::slice::from_ref(receiver), &|values| {
            convert(&tensor(mode, &values[0], span)?.array, dtype, span).map(Value::array)
        })
    }
}

/// `x.item()`: the only element as a number of Python.
fn item<'a>(
    numeric: &NumericState,
    receiver: &Value<'a>,
    arguments: &[Argument<'a>],
    span: Span,
) -> Outcome<Value<'a>> {
    concrete(numeric, receiver, span)?;
    match receiver {
        Value::Array(tensor) if tensor.array.len() == 1 && arguments.is_empty() => {
            let array = &*tensor.array;
            let number = array.integers().first().copied().unwrap_or_default();
            let (real, imaginary) = array.complexes().first().copied().unwrap_or_default();
            Ok(match array.dtype().kind() {
                DTypeKind::Bool => Value::Bool(number != 0),
                DTypeKind::Signed | DTypeKind::Unsigned => Value::Int(number),
                DTypeKind::Real => Value::Float(array.number(0)),
                DTypeKind::Complex => Value::Complex(real, imaginary),
            })
        }
        _ => Err(Problem::new(span, "item takes the only element of an array of size 1")),
    }
}

/// The target shape of `reshape`, in which one length may be -1.
fn reshaped(own: &[usize], wanted: &Value<'_>, span: Span) -> Outcome<Vec<usize>> {
    let size: usize = own.iter().product();
    let entries = sequence(wanted).unwrap_or_else(|| vec![wanted.clone()]);
    let lengths: Vec<i128> = entries.iter().map(|entry| arguments::integer(entry, span)).collect::<Outcome<_>>()?;
    arrays::reshaped(size, &lengths)
        .ok_or_else(|| Problem::new(span, format!("cannot reshape an array of {size} elements into this shape")))
}
