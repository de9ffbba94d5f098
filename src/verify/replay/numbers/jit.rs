//! `jit`: a traced function has the usual result, but Python cannot use its numbers while it is traced.
//!
//! **Invariant:** Python numbers among the arguments become arrays, as those of a traced function do, unless `jit` has options: some of
//! them make arguments static.

use std::rc::Rc;

use super::super::frame::Eval;
use super::super::machine::Machine;
use super::super::value::{Args, Value, Wrapped};
use super::value::{Argument, is_function};
use super::{NumericState, Outcome, Problem, arithmetic};
use crate::ir::Name;
use crate::text::Span;

/// `jit(function, …)`
pub(super) fn wrapped<'p>(path: &Name, arguments: Vec<Argument<'p>>, span: Span) -> Outcome<Value<'p>> {
    let mut arguments = arguments.into_iter();
    let Some(function) = arguments.next().filter(|function| is_function(&function.value)) else {
        return Err(Problem::new(span, "jit takes a function"));
    };
    let named = |argument: Argument<'p>| Some((argument.name?, argument.value));
    let args = Args { keywords: arguments.filter_map(named).collect(), ..Args::default() };
    Ok(Value::Wrapped(Rc::new(Wrapped { path: path.clone(), function: Some(function.value), args })))
}

/// Calls what `jit` returned.
pub(super) fn call<'p>(
    machine: &mut Machine<'p>,
    wrapped: &Wrapped<'p>,
    mut arguments: Vec<Argument<'p>>,
    span: Span,
) -> Eval<'p, Value<'p>> {
    let are_traced = wrapped.args.keywords.is_empty();
    machine.numeric(|numeric| {
        let mode = numeric.settings.mode;
        for argument in arguments.iter_mut().filter(|_| are_traced) {
            if matches!(argument.value, Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Complex(..)) {
                argument.value = Value::Array(arithmetic::tensor(mode, &argument.value, argument.span)?);
            }
        }
        numeric.traces += 1;
        Ok(())
    })?;
    let function = wrapped.function.clone().unwrap_or(Value::None);
    let value = machine.call_computed(&function, arguments, span)?;
    machine.numeric(|numeric| {
        numeric.traces -= 1;
        match value {
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Complex(..) => {
                arithmetic::tensor(numeric.settings.mode, &value, span).map(Value::Array)
            }
            value => Ok(value),
        }
    })
}

/// Python cannot use a number that is still to be computed.
pub(super) fn concrete(numeric: &NumericState, value: &Value<'_>, span: Span) -> Outcome<()> {
    if numeric.traces > 0 && matches!(value, Value::Array(_)) {
        let message = "the numbers of a function that jit traces are not known to Python here";
        return Err(Problem::new(span, message));
    }
    Ok(())
}
