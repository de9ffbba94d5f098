//! Functions of Python itself: those that a replay runs, on arrays as well.
//!
//! **Invariant:** an array is a sequence of its elements along the first axis.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "`float` rounds integers, and `int` cuts off fractions of what fits, as Python does"
)]

use super::super::frame::Eval;
use super::super::machine::Machine;
use super::super::value::{Args, Value};
use super::arguments::Arguments;
use super::jit::concrete;
use super::value::Argument;
use super::{NumericState, Outcome, Problem, complex, elements, functions, operated};
use crate::finding::Place;
use crate::ir::{Name, Operator};
use crate::prng::dtype::{DType, DTypeKind};
use crate::text::{FileId, Span};

/// Functions of Python that are known.
pub(super) const PYTHON: &[&str] = &[
    "abs",
    "bool",
    "complex",
    "enumerate",
    "float",
    "int",
    "len",
    "list",
    "max",
    "min",
    "range",
    "reversed",
    "sum",
    "tuple",
    "zip",
];

/// What their paths start with.
pub(super) const BUILTINS: &str = "builtins.";

/// Calls a function of Python.
pub(super) fn call<'p>(
    machine: &mut Machine<'p>,
    path: &Name,
    arguments: Vec<Argument<'p>>,
    span: Span,
) -> Eval<'p, Value<'p>> {
    let first = arguments.first().map(|argument| argument.value.clone());
    let length = first.as_ref().and_then(Value::own_shape).map(|shape| shape.first().copied());
    match (path.strip_prefix(BUILTINS), length) {
        (Some("abs"), _) => {
            let [Argument { name: None, value, .. }] = &arguments[..] else {
                return machine.refuse(Problem::new(span, "abs takes one number"));
            };
            let value = value.clone();
            machine.numeric(|numeric| magnitude(numeric, value, span))
        }
        (Some(kind @ ("bool" | "int" | "float")), _) => {
            machine.numeric(|numeric| scalar(numeric, kind, &arguments, span))
        }
        (Some("complex"), _) => machine.numeric(|numeric| complex_number(numeric, &arguments, span)),
        (Some(name @ ("max" | "min")), _) => extreme(machine, name, arguments, span),
        (Some("len"), Some(length)) => match length {
            Some(length) => Ok(Value::Int(length as i128)),
            None => machine.refuse(Problem::new(span, "an array without axes has no length")),
        },
        (Some("sum"), _) => {
            let items = match first.unwrap_or(Value::None) {
                value @ (Value::Array(_) | Value::Lanes(..)) => {
                    Some(machine.numeric(|numeric| elements(numeric, &value, span))?)
                }
                value => machine.items_of(&value)?,
            };
            let Some(items) = items else {
                return machine.refuse(Problem::new(span, "sum takes a sequence"));
            };
            let mut sum = arguments.get(1).map_or(Value::Int(0), |start| start.value.clone());
            for item in items {
                sum = machine.numeric(|numeric| operated(numeric, Operator::Add, sum, Some(item), span))?;
            }
            Ok(sum)
        }
        _ => {
            let mut args = Args::default();
            for Argument { name, value, .. } in arguments {
                // What Python iterates over is a list here.
                let value = match value {
                    value @ (Value::Array(_) | Value::Lanes(..)) => {
                        Value::list(machine.numeric(|numeric| elements(numeric, &value, span))?)
                    }
                    value => value,
                };
                match name {
                    None => args.positional.push(value),
                    Some(name) => args.keywords.push((name, value)),
                }
            }
            machine.call_value(&Value::Library(path.clone()), args, Place { file: FileId(0), span })
        }
    }
}

/// `abs(x)`
fn magnitude<'p>(numeric: &mut NumericState, value: Value<'p>, span: Span) -> Outcome<Value<'p>> {
    let too_large = || Problem::new(span, "integers beyond 128 bits are not supported");
    match value {
        Value::Bool(flag) => Ok(Value::Int(i128::from(flag))),
        Value::Int(number) => number.checked_abs().map(Value::Int).ok_or_else(too_large),
        Value::Float(number) => Ok(Value::Float(number.abs())),
        Value::Complex(real, imaginary) => Ok(Value::Float(real.hypot(imaginary))),
        value => {
            let Some(builtin) = functions::lookup("abs") else { return Err(Problem::new(span, "abs is not known")) };
            let arguments = Arguments::bind(builtin, vec![Argument { name: None, value, span }], span)?;
            (builtin.run)(numeric, &arguments)
        }
    }
}

/// The truth of a value in Python.
pub(super) fn truth(numeric: &NumericState, value: &Value<'_>, span: Span) -> Outcome<bool> {
    concrete(numeric, value, span)?;
    let unknown = || Problem::new(span, format!("{} has no truth value", value.description()));
    value.truth().ok_or_else(unknown)
}

/// `bool(x)`, `int(x)`, `float(x)`: a number of Python.
fn scalar<'p>(numeric: &NumericState, kind: &str, arguments: &[Argument<'p>], span: Span) -> Outcome<Value<'p>> {
    let [Argument { name: None, value, .. }] = arguments else {
        return Err(Problem::new(span, format!("{kind} takes one number")));
    };
    if kind == "bool" {
        return truth(numeric, value, span).map(Value::Bool);
    }
    concrete(numeric, value, span)?;
    let refused = || Problem::new(span, format!("{kind} takes one number, got {}", value.description()));
    let (integer, real) = match value {
        Value::Bool(flag) => (Some(i128::from(*flag)), f64::from(u8::from(*flag))),
        Value::Int(number) => (Some(*number), *number as f64),
        Value::Float(number) => (None, *number),
        Value::Array(tensor) if tensor.array.rank() == 0 => {
            complex::refuse(&tensor.array, span)?;
            let is_real = tensor.array.dtype().kind() == DTypeKind::Real;
            let integer = if is_real { None } else { tensor.array.integers().first().copied() };
            (integer, tensor.array.number(0))
        }
        _ => return Err(refused()),
    };
    match integer {
        _ if kind == "float" => Ok(Value::Float(integer.map_or(real, |integer| integer as f64))),
        Some(integer) => Ok(Value::Int(integer)),
        // Below this every number without a fraction is an integer of 128 bits.
        None if real.abs() < 1e38 => Ok(Value::Int(real.trunc() as i128)),
        None => Err(Problem::new(span, "only finite numbers below 1e38 become integers")),
    }
}

/// `complex(real, imag)`
fn complex_number<'p>(numeric: &NumericState, arguments: &[Argument<'p>], span: Span) -> Outcome<Value<'p>> {
    let part = |argument: &Argument<'p>| {
        let number = scalar(numeric, "float", std::slice::from_ref(argument), argument.span)?;
        Ok(if let Value::Float(number) = number { number } else { 0.0 })
    };
    match arguments {
        [Argument { value: Value::Complex(real, imaginary), .. }] => Ok(Value::Complex(*real, *imaginary)),
        [Argument { value: value @ Value::Array(tensor), .. }] if tensor.array.rank() == 0 => {
            concrete(numeric, value, span)?;
            let number = tensor.array.complexes().first().copied().unwrap_or_default();
            Ok(Value::Complex(number.0, number.1))
        }
        [real] => Ok(Value::Complex(part(real)?, 0.0)),
        [real, imaginary] => Ok(Value::Complex(part(real)?, part(imaginary)?)),
        _ => Err(Problem::new(span, "complex takes one or two numbers")),
    }
}

/// `max(a, b)`, `min(sequence)`: the first of the greatest or least.
fn extreme<'p>(machine: &mut Machine<'p>, name: &str, arguments: Vec<Argument<'p>>, span: Span) -> Eval<'p, Value<'p>> {
    if arguments.iter().any(|argument| argument.name.is_some()) {
        return machine.refuse(Problem::new(span, format!("options of {name} are not supported")));
    }
    let mut items: Vec<Value<'p>> = arguments.into_iter().map(|argument| argument.value).collect();
    if let [single] = &items[..] {
        let single = single.clone();
        items = match &single {
            Value::Array(_) | Value::Lanes(..) => machine.numeric(|numeric| elements(numeric, &single, span))?,
            other => machine.items_of(other)?.unwrap_or_default(),
        };
    }
    let mut items = items.into_iter();
    let Some(mut best) = items.next() else {
        return machine.refuse(Problem::new(span, format!("{name} takes at least one number")));
    };
    let operator = if name == "max" { Operator::Gt } else { Operator::Lt };
    for item in items {
        let (left, right) = (item.clone(), Some(best.clone()));
        let is_better = machine.numeric(|numeric| operated(numeric, operator, left, right, span))?;
        if machine.numeric(|numeric| truth(numeric, &is_better, span))? {
            best = item;
        }
    }
    Ok(best)
}

/// Whether an operator repeats a sequence of Python: `[1] * 3`.
pub(super) fn repeats<'p>(operator: Operator, left: &Value<'p>, right: Option<&Value<'p>>) -> bool {
    let is_sequence = |value: &Value<'p>| matches!(value, Value::Tuple(_) | Value::List(_));
    operator == Operator::Mul
        && match (left, right) {
            (sequence, Some(Value::Int(_))) | (Value::Int(_), Some(sequence)) => is_sequence(sequence),
            _ => false,
        }
}

/// The dtype of a Python type.
pub(super) fn dtype(path: &str) -> Option<DType> {
    match path.strip_prefix(BUILTINS)? {
        "bool" => Some(DType::Bool),
        "int" => Some(DType::Int64),
        "float" => Some(DType::Float64),
        "complex" => Some(DType::Complex128),
        _ => None,
    }
}
