//! Runs that compute numbers: what `keylint eval` does beyond a replay.
//!
//! A replay keeps draws as symbols; only keys are numbers. A run that computes does the same operations of the same IR on the same values,
//! but every array has its elements, and a value that cannot be computed is a [`Problem`] instead of a symbol.
//!
//! | module | its part |
//! |---|---|
//! | [`value`] | what computing makes of the replay's values |
//! | [`lanes`] | `vmap`: values that differ from lane to lane, and how functions reach them |
//! | [`jit`] | functions that `jit` traces |
//! | [`arithmetic`] | operators, with JAX's type promotion |
//! | [`complex`] | complex numbers |
//! | [`mod@subscript`] | indices and slices, with JAX's clamping |
//! | [`arguments`] | binding arguments to parameters, and reading them |
//! | [`random`] | the functions of `jax.random` |
//! | [`numpy`] | `jnp.array`, `jnp.arange`, element types, attributes of arrays |
//! | [`python`] | functions of Python itself |
//! | [`functions`] | the functions of `jnp` on arrays that are there |
//! | [`lineage`] | how keys came about |
//! | [`answer`] | results as plain data |
//!
//! **Invariant:** a resulting number is the one that JAX gives; if that is unknown, there is no result. Every step and
//! every element costs budget.

mod answer;
mod arguments;
mod arithmetic;
mod complex;
mod functions;
mod jit;
mod lanes;
mod layout;
mod lineage;
mod numpy;
mod python;
mod random;
mod subscript;
mod value;

use std::rc::Rc;

pub use self::answer::Answer;
use self::arguments::Arguments;
use self::lanes::is_mapped;
use self::lineage::Lineage;
use self::python::{BUILTINS, PYTHON};
use self::subscript::{Index, subscript};
use self::value::{Argument, Vmap, is_function, sequence};
use super::constants::{Constants, dtype_named};
use super::frame::{Eval, Frame, Signal, at};
use super::hints::Guide;
use super::library;
use super::machine::{Machine, Numbers, Script};
use super::project::Project;
use super::value::{Args, Closure, Partial, Value, Wrapped};
use crate::arrays;
use crate::finding::Place;
use crate::ir::{self, Constant, Module, Name, Op, OpKind, Operator, ParameterKind, Resolver, Temp, Variable};
use crate::models::Models;
use crate::models::roots::{ROOT, ROOTS};
use crate::prng::array::Array;
use crate::prng::dtype::DType;
use crate::prng::implementation::Implementation;
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;
use crate::text::{FileId, Span};

/// The most steps and elements one evaluation may take.
const BUDGET: usize = 1 << 24;

/// The deepest nesting of calls: that of Python's own interpreter.
const DEPTH: u32 = 1_000;

/// The flags of JAX under which numbers are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Settings {
    /// `jax_threefry_partitionable` and `jax_enable_x64`.
    pub mode: Mode,
    /// `jax_default_prng_impl`: the implementation of keys from `key` and `PRNGKey`, and of raw keys.
    pub implementation: Implementation,
}

/// Why an expression has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which part of the expression is to blame.
    pub span: Span,
    /// What is wrong with it.
    pub message: String,
}

impl Problem {
    /// A problem at a place.
    pub(in crate::verify) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into() }
    }
}

/// The result of every step.
type Outcome<T> = Result<T, Problem>;

/// What a run that computes numbers has beyond one that does not.
pub(super) struct NumericState {
    settings: Settings,
    /// How many `vmap`s are around what runs.
    vmaps: usize,
    /// How many functions that `jit` traces are running.
    traces: usize,
    budget: usize,
    /// How many calls are running.
    depth: u32,
    /// How keys came about.
    lineage: Lineage,
    /// What ended the run.
    problem: Option<Problem>,
}

impl NumericState {
    fn new(settings: Settings) -> Self {
        Self { settings, vmaps: 0, traces: 0, budget: BUDGET, depth: 0, lineage: Lineage::default(), problem: None }
    }

    /// Takes steps from the budget.
    fn spend(&mut self, span: Span, steps: usize) -> Outcome<()> {
        match self.budget.checked_sub(steps) {
            Some(rest) => {
                self.budget = rest;
                Ok(())
            }
            None => Err(Problem::new(span, format!("this takes more than {BUDGET} steps and elements"))),
        }
    }
}

/// A function of the libraries.
#[derive(Debug)]
pub(super) struct Builtin {
    /// Its name.
    name: &'static str,
    /// Parameters that can be passed by position, in order, or by name.
    positional: &'static [&'static str],
    /// Parameters that can only be passed by name.
    keywords: &'static [&'static str],
    /// How many of the positional ones are required.
    required: usize,
    /// What it does.
    run: Run,
}

/// What a function of the libraries does with its arguments.
type Run = for<'a> fn(&mut NumericState, &Arguments<'a>) -> Outcome<Value<'a>>;

impl Builtin {
    const fn new(
        name: &'static str,
        positional: &'static [&'static str],
        keywords: &'static [&'static str],
        required: usize,
        run: Run,
    ) -> Self {
        Self { name, positional, keywords, required, run }
    }
}

/// A program of one file that imports nothing.
struct SingleFile;

impl Resolver for SingleFile {
    fn module(&self, _: FileId, _: u32, _: &str) -> Option<FileId> {
        None
    }

    fn absolute(&self, _: FileId, _: u32, path: &str) -> String {
        path.to_owned()
    }
}

/// What is calculated with a key's words.
pub(in crate::verify) enum Operand {
    /// An integer.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// `jnp.arange(n)[:, None]`
    Column(usize),
}

/// The first words, at most `count`, of the result of an operator on the words of a key; `None` if the result is not
/// words.
pub(in crate::verify) fn calculated(
    operator: Operator,
    key: &Keys,
    other: &Operand,
    is_first: bool,
    count: usize,
) -> Option<Vec<u32>> {
    let mode = Mode::default();
    let key = Value::array(key.data().ok()?);
    let other = match other {
        Operand::Int(number) => Value::Int(*number),
        Operand::Float(number) => Value::Float(*number),
        Operand::Column(length) => Value::array(Array::arange(mode, *length).ok()?.reshape(&[*length, 1]).ok()?),
    };
    let (left, right) = if is_first { (&key, &other) } else { (&other, &key) };
    let Value::Array(tensor) = arithmetic::binary(mode, operator, left, right, Span::default()).ok()? else {
        return None;
    };
    let numbers = Some(tensor.array.integers()).filter(|_| tensor.array.dtype().is_integer())?;
    numbers.into_iter().take(count).map(|number| u32::try_from(number).ok()).collect()
}

/// The first numbers, at most `count`, that a sampler of `jax.random` draws from a key, as Python writes them.
pub(super) fn drawn(function: &str, key: &[u32], rest: &Constants, count: usize) -> Option<Vec<String>> {
    let span = Span::default();
    let builtin = random::lookup(function, span).ok()??;
    let key = value::typed(Keys::new(Implementation::default(), &[], key.to_vec()).ok()?);
    let mut arguments = vec![Argument { name: None, value: key, span }];
    arguments.extend(rest.iter().map(|(name, value)| Argument { name: name.clone(), value: value.clone(), span }));
    let arguments = Arguments::bind(builtin, arguments, span).ok()?;
    match (builtin.run)(&mut NumericState::new(Settings::default()), &arguments).ok()? {
        Value::Array(tensor) => {
            Some((0..tensor.array.len().min(count)).map(|index| tensor.array.element_text(index)).collect())
        }
        _ => None,
    }
}

/// Runs a module, and computes the result of its final expression, if requested.
pub(in crate::verify) fn evaluate(settings: Settings, module: &Module, span: Span, asks: bool) -> Outcome<Answer> {
    let project = Project::new(vec![module], &SingleFile, Models::builtin(), &[]);
    let hints = Guide::new(&Rc::default());
    let mut machine = Machine::new((&project, &library::MODELS), hints, Script::default(), 0);
    machine.arithmetic = Some(&ARITHMETIC);
    machine.numeric = Some(Box::new(NumericState::new(settings)));
    let value = machine.result(span, asks);
    let numeric = machine.numeric.take();
    let (lineage, problem) = numeric.map_or_else(Default::default, |numeric| (numeric.lineage, numeric.problem));
    let mut answer = match (value, problem) {
        (_, Some(problem)) => Err(problem),
        (Ok(_), None) if !asks => Ok(Answer::Nothing),
        (Ok(value), None) => Answer::new(&value, span),
        (Err(_), None) => Err(Problem::new(span, "this raises an exception")),
    };
    if let Ok(Answer::Keys { keys, lineage: shown }) = &mut answer {
        *shown = lineage.of(keys);
    }
    machine.release();
    answer
}

/// What a name means where nothing binds it.
fn named<'a>(name: &str) -> Value<'a> {
    let path = match name {
        "random" | "jr" => format!("{ROOT}.random"),
        "jnp" => format!("{ROOT}.numpy"),
        "vmap" | "jit" => format!("{ROOT}.{name}"),
        _ if PYTHON.contains(&name) => format!("{BUILTINS}{name}"),
        "functools" => name.to_owned(),
        "partial" => "functools.partial".to_owned(),
        _ if ROOTS.contains(&name) => ROOT.to_owned(),
        _ if random::is_known(name) => format!("{ROOT}.random.{name}"),
        _ => name.to_owned(),
    };
    Value::Library(path.into())
}

/// What a library path resolves to.
enum Found {
    Module,
    DType(DType),
    Number(f64),
    Function(&'static Builtin),
    Vmap,
    Partial,
    Jit,
    /// A function of Python.
    Python,
    Unknown,
}

fn find(path: &str, span: Span) -> Outcome<Found> {
    let parts: Vec<&str> = path.split('.').collect();
    Ok(match parts[..] {
        [ROOT | "functools"] | [ROOT, "random" | "numpy"] => Found::Module,
        [ROOT, "random", name] => random::lookup(name, span)?.map_or(Found::Unknown, Found::Function),
        [ROOT, "numpy", "pi"] => Found::Number(std::f64::consts::PI),
        [ROOT, "numpy", "inf"] => Found::Number(f64::INFINITY),
        [ROOT, "numpy", "nan"] => Found::Number(f64::NAN),
        [ROOT, "numpy", name] => {
            let function = || numpy::lookup(name).or_else(|| functions::lookup(name)).or_else(|| complex::lookup(name));
            let found = || function().map_or(Found::Unknown, Found::Function);
            dtype_named(name).map_or_else(found, Found::DType)
        }
        [ROOT, "vmap"] => Found::Vmap,
        [ROOT, "jit"] => Found::Jit,
        ["builtins", name] if PYTHON.contains(&name) => Found::Python,
        ["functools", "partial"] => Found::Partial,
        _ => Found::Unknown,
    })
}

/// A dotted name as written.
fn written(frame: &Frame<'_>, temp: Temp) -> String {
    match frame.code.ops.get(temp as usize).map(|op| &op.kind) {
        Some(OpKind::Load(Variable::Global(name))) => name.to_string(),
        Some(OpKind::Attribute(object, name)) => format!("{}.{name}", written(frame, *object)),
        _ => String::new(),
    }
}

fn span_of(frame: &Frame<'_>, temp: Temp) -> Span {
    frame.code.ops.get(temp as usize).map_or(Span::default(), |op| op.span)
}

/// Whether elements of a value are numbers or keys that only computing knows.
fn is_array(value: &Value<'_>) -> bool {
    matches!(value, Value::Array(_) | Value::Keys(_) | Value::Lanes(..))
}

/// Computing, as the machine sees it.
static ARITHMETIC: Numbers =
    Numbers { compute: |machine, frame, op, temp| machine.compute(frame, op, temp), decidable, left_at_bound };

fn decidable<'p>(machine: &mut Machine<'p>, value: &Value<'p>, span: Span) -> Eval<'p, ()> {
    machine.numeric(|numeric| python::truth(numeric, value, span).map(|_| ()))
}

fn left_at_bound(machine: &mut Machine<'_>, span: Span) {
    if let Some(numeric) = &mut machine.numeric {
        let message = "`while` loops of more than 64 iterations are not supported";
        numeric.problem.get_or_insert_with(|| Problem::new(span, message));
    }
}

impl<'p> Machine<'p> {
    /// The result of the module's final expression, if requested.
    fn result(&mut self, span: Span, asks: bool) -> Eval<'p, Value<'p>> {
        self.globals.entry(0).or_default();
        let Some(mut frame) = self.frame(0, Module::BODY, Vec::new(), None) else { return Ok(Value::None) };
        self.run(&mut frame)?;
        if !asks {
            return Ok(Value::None);
        }
        let last = frame.temps.pop().unwrap_or(Value::None);
        self.call_computed(&last, Vec::new(), span)
    }

    /// Ends the run.
    fn refuse<T>(&mut self, problem: Problem) -> Eval<'p, T> {
        if let Some(numeric) = &mut self.numeric {
            numeric.problem.get_or_insert(problem);
        }
        Err(Signal::Stop)
    }

    /// Does something with what computing has.
    fn numeric<T>(&mut self, work: impl FnOnce(&mut NumericState) -> Outcome<T>) -> Eval<'p, T> {
        match self.numeric.as_deref_mut().map(work) {
            Some(Ok(value)) => Ok(value),
            Some(Err(problem)) => self.refuse(problem),
            None => Err(Signal::Stop),
        }
    }

    /// Runs an operation without blocks.
    fn compute(&mut self, frame: &mut Frame<'p>, op: &'p Op, temp: Temp) -> Eval<'p, Value<'p>> {
        self.numeric(|numeric| numeric.spend(op.span, 1))?;
        let value = match self.computed(frame, op, temp)? {
            Some(value) => value,
            None => self.symbolic(frame, op, temp)?,
        };
        match value {
            Value::Unknown(_) | Value::Family(_) | Value::Stack(_) => {
                self.refuse(Problem::new(op.span, "this kind of expression is not supported"))
            }
            value => Ok(value),
        }
    }

    /// The result of an operation that computing does in its own way.
    fn computed(&mut self, frame: &Frame<'p>, op: &'p Op, temp: Temp) -> Eval<'p, Option<Value<'p>>> {
        let span = op.span;
        Ok(Some(match &op.kind {
            OpKind::Constant(Constant::BigInt) => {
                return self.refuse(Problem::new(span, "integers beyond 128 bits are not supported"));
            }
            OpKind::Load(Variable::Global(name)) => {
                let value = self.bound(frame.module, name).unwrap_or_else(|| named(name));
                self.known_path(frame, value, temp)?
            }
            OpKind::Attribute(object, name) => match at(frame, *object) {
                Value::Library(path) => {
                    self.known_path(frame, Value::Library(format!("{path}.{name}").into()), temp)?
                }
                value => self.numeric(|numeric| numpy::attribute(numeric, value, name, span))?,
            },
            OpKind::Item(object, index) => {
                let value = at(frame, *object);
                let indices = match indices(frame, *index) {
                    Ok(indices) => indices,
                    Err(_) if matches!(value, Value::Dict(_)) => return Ok(None),
                    Err(problem) => return self.refuse(problem),
                };
                match sequence(&value) {
                    Some(items) => self.numeric(|_| select(&value, &items, &indices, span))?,
                    None if matches!(value, Value::Dict(_)) => return Ok(None),
                    None => self.numeric(|numeric| lifted_subscript(numeric, value, &indices, span))?,
                }
            }
            OpKind::Operate(operator, [Some(left), right], _) => {
                let (left, right) = (at(frame, *left), right.map(|right| at(frame, right)));
                let is_number = |value: &Value<'p>| is_array(value) || complex::of_number(value).is_some();
                if asks_python(*operator) && !is_array(&left) && !right.as_ref().is_some_and(is_array) {
                    return Ok(None);
                }
                if python::repeats(*operator, &left, right.as_ref())
                    || !is_number(&left) && !right.as_ref().is_some_and(is_number) && !is_own(*operator)
                {
                    return Ok(None);
                }
                let operator = *operator;
                if operator == Operator::Not && right.is_none() {
                    let truth = self.numeric(|numeric| python::truth(numeric, &left, span))?;
                    return Ok(Some(Value::Bool(!truth)));
                }
                self.numeric(|numeric| operated(numeric, operator, left, right, span))?
            }
            OpKind::Iterate(of) => match at(frame, *of) {
                value @ (Value::Array(_) | Value::Lanes(..)) => {
                    let items = self.numeric(|numeric| elements(numeric, &value, span))?;
                    self.iterate(&Value::list(items))?
                }
                _ => return Ok(None),
            },
            OpKind::Unpack { value, count, star } => {
                let value = at(frame, *value);
                let items = match &value {
                    Value::Array(_) | Value::Lanes(..) | Value::Keys(_) => {
                        Some(self.numeric(|numeric| elements(numeric, &value, span))?)
                    }
                    other => sequence(other),
                };
                let (Some(items), names) = (items, *count as usize) else { return Ok(None) };
                if if star.is_some() { items.len() + 1 < names } else { items.len() != names } {
                    let message = format!("cannot unpack {} values into {names} names", items.len());
                    return self.refuse(Problem::new(span, message));
                }
                self.unpack(&Value::list(items), names, star.map(|star| star as usize))?
            }
            OpKind::Call(function, arguments) => {
                return self.computed_call(frame, *function, arguments, span).map(Some);
            }
            _ => return Ok(None),
        }))
    }

    /// A path of the libraries, which must mean something where it is not the beginning of a longer one.
    fn known_path(&mut self, frame: &Frame<'p>, value: Value<'p>, temp: Temp) -> Eval<'p, Value<'p>> {
        let Value::Library(path) = &value else { return Ok(value) };
        let span = span_of(frame, temp);
        let next = frame.code.ops.get(temp as usize + 1).map(|op| &op.kind);
        let is_prefix = matches!(next, Some(OpKind::Attribute(object, _)) if *object == temp);
        match self.numeric(|_| find(path, span))? {
            Found::DType(dtype) => Ok(Value::DType(dtype)),
            Found::Number(number) => Ok(Value::Float(number)),
            Found::Unknown | Found::Module if is_prefix => Ok(value),
            Found::Unknown | Found::Module => {
                let name = written(frame, temp);
                // A name of a library may exist there.
                let message = if name.contains('.') {
                    format!("`{name}` is not supported: `keylint eval` does not implement it")
                } else {
                    format!("unknown name `{name}`")
                };
                self.refuse(Problem::new(span, message))
            }
            Found::Function(_) | Found::Vmap | Found::Partial | Found::Jit | Found::Python => Ok(value),
        }
    }

    fn computed_call(
        &mut self,
        frame: &Frame<'p>,
        function: Temp,
        arguments: &'p [ir::Argument],
        span: Span,
    ) -> Eval<'p, Value<'p>> {
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let (name, temp) = match argument {
                ir::Argument::Positional(temp) => (None, *temp),
                ir::Argument::Keyword(name, temp) => (Some(name.clone()), *temp),
                ir::Argument::Spread(temp) | ir::Argument::SpreadMapping(temp) => {
                    let span = span_of(frame, *temp);
                    return self.refuse(Problem::new(span, "starred arguments are not supported"));
                }
            };
            given.push(Argument { name, value: at(frame, temp), span: span_of(frame, temp) });
        }
        let callee = at(frame, function);
        if !is_function(&callee) {
            let message = format!("{} cannot be called", callee.description());
            return self.refuse(Problem::new(span_of(frame, function), message));
        }
        self.call_computed(&callee, given, span)
    }

    /// Calls a function.
    fn call_computed(&mut self, function: &Value<'p>, arguments: Vec<Argument<'p>>, span: Span) -> Eval<'p, Value<'p>> {
        let depth = self.numeric.as_ref().map_or(0, |numeric| numeric.depth);
        if depth >= DEPTH {
            return self.refuse(Problem::new(span, format!("calls nest deeper than {DEPTH} levels")));
        }
        self.numeric(|numeric| {
            numeric.depth += 1;
            Ok(())
        })?;
        let value = self.called(function, arguments, span)?;
        self.numeric(|numeric| {
            numeric.depth -= 1;
            Ok(())
        })?;
        Ok(value)
    }

    fn called(&mut self, function: &Value<'p>, mut arguments: Vec<Argument<'p>>, span: Span) -> Eval<'p, Value<'p>> {
        match function {
            Value::Library(path) => match self.numeric(|_| find(path, span))? {
                Found::Function(builtin) => self.numeric(|numeric| {
                    let arguments = Arguments::bind(builtin, arguments, span)?;
                    (builtin.run)(numeric, &arguments)
                }),
                Found::Vmap => self.numeric(|_| mapped(path, arguments, span)),
                Found::Partial => self.numeric(|_| partial(arguments, span)),
                Found::Jit => self.numeric(|_| jit::wrapped(path, arguments, span)),
                Found::Python => python::call(self, path, arguments, span),
                Found::Module | Found::DType(_) | Found::Number(_) | Found::Unknown => {
                    self.refuse(Problem::new(span, format!("unknown name `{path}`")))
                }
            },
            Value::DType(dtype) => self.numeric(|numeric| {
                let arguments = Arguments::bind(&numpy::CONVERSION, arguments, span)?;
                numpy::converted(numeric, &arguments, *dtype)
            }),
            Value::Method(method) => {
                self.numeric(|numeric| numpy::call_method(numeric, &method.1, &method.0, arguments, span))
            }
            Value::Function(closure) => {
                let args = self.numeric(|_| bound(closure, arguments, span))?;
                let place = Place { file: FileId(0), span };
                self.call_closure(closure, args, place)
            }
            Value::Partial(partial) => {
                let is_given = |name: &Name| arguments.iter().any(|argument| argument.name.as_ref() == Some(name));
                let mut all: Vec<Argument<'p>> = Vec::new();
                all.extend(partial.args.positional.iter().map(|value| Argument {
                    name: None,
                    value: value.clone(),
                    span,
                }));
                for (name, value) in partial.args.keywords.iter().filter(|(name, _)| !is_given(name)) {
                    all.push(Argument { name: Some(name.clone()), value: value.clone(), span });
                }
                all.append(&mut arguments);
                all.sort_by_key(|argument| argument.name.is_some());
                self.call_computed(&partial.function, all, span)
            }
            Value::Wrapped(wrapped) if matches!(self.numeric(|_| find(&wrapped.path, span))?, Found::Jit) => {
                jit::call(self, wrapped, arguments, span)
            }
            Value::Wrapped(wrapped) => self.call_lanes(wrapped, arguments, span),
            _ => {
                let message = format!("{} cannot be called", function.description());
                self.refuse(Problem::new(span, message))
            }
        }
    }

    /// Calls a function under `vmap`: once, on values that hold one value for each lane.
    fn call_lanes(&mut self, wrapped: &Wrapped<'p>, arguments: Vec<Argument<'p>>, span: Span) -> Eval<'p, Value<'p>> {
        let axes = |name: &str| wrapped.args.keyword(name).cloned().unwrap_or(Value::Int(0));
        let size = wrapped.args.keyword("axis_size").and_then(Value::int).and_then(|size| usize::try_from(size).ok());
        let vmap = Vmap { in_axes: axes("in_axes"), out_axes: axes("out_axes"), size };
        let function = wrapped.function.clone().unwrap_or(Value::None);
        let (mapped, count, level) = self.numeric(|numeric| {
            let (mapped, count) = numeric.split_arguments(&vmap, arguments, span)?;
            numeric.vmaps += 1;
            Ok((mapped, count, numeric.vmaps - 1))
        })?;
        let value = self.call_computed(&function, mapped, span)?;
        self.numeric(|numeric| {
            numeric.vmaps = level;
            numeric.join_lanes(&value, level, count, &vmap.out_axes, span)
        })
    }
}

/// Whether Python evaluates an operator itself for any operands, without an array deciding it.
fn asks_python(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Not | Operator::In | Operator::NotIn | Operator::Is | Operator::IsNot | Operator::MatchSequence(..)
    )
}

/// Whether computing has its own result for this operator on operands that are not numbers.
fn is_own(operator: Operator) -> bool {
    matches!(operator, Operator::Div | Operator::FloorDiv | Operator::Mod | Operator::Pow)
}

fn operated<'a>(
    numeric: &mut NumericState,
    operator: Operator,
    left: Value<'a>,
    right: Option<Value<'a>>,
    span: Span,
) -> Outcome<Value<'a>> {
    let mode = numeric.settings.mode;
    match right {
        None => numeric.lift(span, &[left], &|values| arithmetic::unary(operator, &values[0], span)),
        Some(right) => {
            let is_shared = !is_mapped(&right) && is_mapped(&left)
                || operator == Operator::MatMul && is_mapped(&left) != is_mapped(&right);
            numeric.lift(span, &[left, right], &|values| {
                arithmetic::in_lane(mode, operator, (&values[0], &values[1]), is_shared, span)
            })
        }
    }
}

/// The elements of an array along its first axis.
fn elements<'a>(numeric: &mut NumericState, value: &Value<'a>, span: Span) -> Outcome<Vec<Value<'a>>> {
    let Some(length) = value.own_shape().and_then(<[usize]>::first) else {
        return Err(Problem::new(span, "an array without axes has no elements"));
    };
    let element = |index: usize| {
        let at = Index::At(Value::Int(i128::try_from(index).unwrap_or(i128::MAX)));
        lifted_subscript(numeric, value.clone(), &[at], span)
    };
    (0..*length).map(element).collect()
}

/// The entries of a subscript, from the value of the index.
fn indices<'a>(frame: &Frame<'a>, index: Temp) -> Outcome<Vec<Index<'a>>> {
    let span = span_of(frame, index);
    let entries: Vec<(Value<'a>, Span)> =
        match (at(frame, index), frame.code.ops.get(index as usize).map(|op| &op.kind)) {
            (Value::Tuple(parts), Some(OpKind::Build(_, elements))) if parts.len() == elements.len() => {
                let spans = elements.iter().map(|element| match element {
                    ir::Element::Value(temp) => span_of(frame, *temp),
                    ir::Element::Spread(_) | ir::Element::Pair(..) | ir::Element::SpreadMapping(_) => span,
                });
                parts.iter().cloned().zip(spans).collect()
            }
            (Value::Tuple(parts), _) => parts.iter().map(|part| (part.clone(), span)).collect(),
            (single, _) => vec![(single, span)],
        };
    entries.into_iter().map(|(value, span)| Index::of(value, span)).collect()
}

fn lifted_subscript<'a>(
    numeric: &mut NumericState,
    base: Value<'a>,
    indices: &[Index<'a>],
    span: Span,
) -> Outcome<Value<'a>> {
    let mut values = vec![base];
    values.extend(indices.iter().filter_map(|index| match index {
        Index::At(value) => Some(value.clone()),
        Index::Slice(..) | Index::NewAxis | Index::Ellipsis => None,
    }));
    numeric.lift(span, &values, &|values| {
        let mut ats = values.iter().skip(1);
        let one = |index: &Index<'a>| match index {
            Index::At(value) => Index::At(ats.next().unwrap_or(value).clone()),
            other => other.clone(),
        };
        let indices: Vec<Index<'a>> = indices.iter().map(one).collect();
        subscript(&values[0], &indices, span)
    })
}

/// An element or a slice of a Python sequence.
fn select<'a>(of: &Value<'a>, items: &[Value<'a>], indices: &[Index<'a>], span: Span) -> Outcome<Value<'a>> {
    match indices {
        [Index::At(value)] => {
            let index = arguments::integer(value, span)?;
            let item = arrays::position(items.len(), index).and_then(|index| items.get(index));
            item.cloned().ok_or_else(|| Problem::new(span, "the index of the sequence is out of range"))
        }
        [Index::Slice(lower, upper, step)] => {
            let elements = arrays::slice(items.len(), *lower, *upper, *step)
                .ok_or_else(|| Problem::new(span, "slice step cannot be zero"))?;
            Ok(value::like(of, elements.iter().filter_map(|&element| items.get(element).cloned()).collect()))
        }
        _ => Err(Problem::new(span, "tuples and lists have one axis only")),
    }
}

/// The arguments of a function of the program; each must have a parameter, and each parameter one argument.
fn bound<'a>(closure: &Closure<'a>, arguments: Vec<Argument<'a>>, span: Span) -> Outcome<Args<'a>> {
    let parameters = &closure.code.parameters;
    let mut given = vec![false; parameters.len()];
    let mut args = Args::default();
    for (position, argument) in arguments.into_iter().enumerate() {
        let index = match &argument.name {
            None => {
                let rest = parameters.iter().position(|parameter| parameter.kind == ParameterKind::Variadic);
                let takes = |kind| matches!(kind, ParameterKind::PositionalOnly | ParameterKind::Normal);
                match parameters.get(position) {
                    Some(parameter) if takes(parameter.kind) => Some(position),
                    _ => rest.filter(|rest| position >= *rest),
                }
            }
            Some(name) => parameters
                .iter()
                .position(|parameter| {
                    parameter.name == *name
                        && matches!(parameter.kind, ParameterKind::Normal | ParameterKind::KeywordOnly)
                })
                .or_else(|| parameters.iter().position(|parameter| parameter.kind == ParameterKind::Keywords)),
        };
        let takes_many = |index: usize| {
            matches!(
                parameters.get(index).map(|parameter| parameter.kind),
                Some(ParameterKind::Variadic | ParameterKind::Keywords)
            )
        };
        match index.and_then(|index| Some((index, given.get_mut(index)?))) {
            Some((index, slot)) if !*slot || takes_many(index) => *slot = true,
            _ => return Err(Problem::new(argument.span, "the lambda has no parameter for this argument")),
        }
        match argument.name {
            None => args.positional.push(argument.value),
            Some(name) => args.keywords.push((name, argument.value)),
        }
    }
    let missing = parameters.iter().zip(&given).find(|(parameter, given)| {
        !**given
            && !parameter.has_default
            && !matches!(parameter.kind, ParameterKind::Variadic | ParameterKind::Keywords)
    });
    match missing {
        Some((parameter, _)) => Err(Problem::new(span, format!("missing argument `{}`", parameter.name))),
        None => Ok(args),
    }
}

static VMAP: Builtin = Builtin {
    name: "vmap",
    positional: &["fun", "in_axes", "out_axes"],
    keywords: &["axis_size"],
    required: 1,
    run: |_, arguments| Err(Problem::new(arguments.span, "vmap takes a function")),
};

/// `vmap(function, in_axes, out_axes, axis_size=…)`
fn mapped<'a>(path: &Name, arguments: Vec<Argument<'a>>, span: Span) -> Outcome<Value<'a>> {
    let arguments = Arguments::bind(&VMAP, arguments, span)?;
    let (function, span) = arguments.required(0)?;
    if !is_function(function) {
        return Err(Problem::new(span, format!("vmap takes a function, not {}", function.description())));
    }
    let mut keywords = Vec::new();
    for name in ["in_axes", "out_axes"] {
        if let Some((value, span)) = arguments.given(name) {
            if is_mapped(value) {
                return Err(Problem::new(span, format!("{name} must be the same for the whole batch")));
            }
            keywords.push((Name::from(name), value.clone()));
        }
    }
    if let Some((value, span)) = arguments.optional("axis_size") {
        let size = arguments::length(value, span)?;
        keywords.push(("axis_size".into(), Value::Int(i128::try_from(size).unwrap_or(i128::MAX))));
    }
    let args = Args { keywords, ..Args::default() };
    Ok(Value::Wrapped(Rc::new(Wrapped { path: path.clone(), function: Some(function.clone()), args })))
}

/// `partial(function, …)`
fn partial(arguments: Vec<Argument<'_>>, span: Span) -> Outcome<Value<'_>> {
    let mut arguments = arguments.into_iter();
    let Some(function) = arguments.next().filter(|argument| argument.name.is_none()) else {
        return Err(Problem::new(span, "partial lacks its argument `function`"));
    };
    if !is_function(&function.value) {
        let message = format!("partial takes a function, not {}", function.value.description());
        return Err(Problem::new(function.span, message));
    }
    let mut args = Args::default();
    for argument in arguments {
        match argument.name {
            None => args.positional.push(argument.value),
            Some(name) => args.keywords.push((name, argument.value)),
        }
    }
    Ok(Value::Partial(Rc::new(Partial { function: function.value, args })))
}
