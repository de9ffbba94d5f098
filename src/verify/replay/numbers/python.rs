//! Functions of Python itself: those that a replay runs, on arrays as well.
//!
//! **Invariant:** an array is a sequence of its elements along the first axis.

use super::super::frame::Ran;
use super::super::machine::Machine;
use super::super::value::{Args, Value};
use super::value::Argument;
use super::{Problem, elements, operated};
use crate::finding::Place;
use crate::ir::{Name, Operator};
use crate::text::{FileId, Span};

/// Functions of Python that a replay runs.
pub(super) const PYTHON: &[&str] = &["enumerate", "len", "list", "range", "reversed", "sum", "tuple", "zip"];

/// What their paths start with.
pub(super) const BUILTINS: &str = "builtins.";

/// Calls a function of Python.
pub(super) fn call<'p>(
    machine: &mut Machine<'p>,
    path: &Name,
    arguments: Vec<Argument<'p>>,
    span: Span,
) -> Ran<'p, Value<'p>> {
    let first = arguments.first().map(|argument| argument.value.clone());
    let length = first.as_ref().and_then(Value::own_shape).map(|shape| shape.first().copied());
    match (path.strip_prefix(BUILTINS), length) {
        (Some("len"), Some(length)) => match length {
            Some(length) => Ok(Value::Int(length as i128)),
            None => machine.refuse(Problem::new(span, "an array without axes has no length")),
        },
        (Some("sum"), _) => {
            let items = match first.unwrap_or(Value::None) {
                value @ (Value::Array(_) | Value::Lanes(..)) => {
                    Some(machine.computing(|computing| elements(computing, &value, span))?)
                }
                value => machine.items_of(&value)?,
            };
            let Some(items) = items else {
                return machine.refuse(Problem::new(span, "sum takes a sequence"));
            };
            let mut sum = arguments.get(1).map_or(Value::Int(0), |start| start.value.clone());
            for item in items {
                sum = machine.computing(|computing| operated(computing, Operator::Add, sum, Some(item), span))?;
            }
            Ok(sum)
        }
        _ => {
            let mut args = Args::default();
            for Argument { name, value, .. } in arguments {
                // What Python iterates over is a list here.
                let value = match value {
                    value @ (Value::Array(_) | Value::Lanes(..)) => {
                        Value::list(machine.computing(|computing| elements(computing, &value, span))?)
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
