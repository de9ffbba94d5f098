//! A key among options that are handed on whole: `f(x, **kwargs), f(y, **kwargs)`.
//!
//! **Invariant:** the options are a parameter, and the two calls are of one function.

use crate::analysis::domain::term::{Symbol, Term};
use crate::analysis::record::{Consumption, Recording};
use crate::ir::{Argument, OpKind, Temp};
use crate::judge::intent::{calls_apart, is_written_alike};

/// Whether a key is one of the options that are handed on whole to two calls of one function: `f(x, **kwargs), f(y, **kwargs)`.
pub fn is_option_of_both(run: &Recording<'_>, first: &Consumption, second: &Consumption) -> bool {
    let Term::Item(options, name, _) = run.terms.get(second.target.term) else { return false };
    let is_parameter = run.terms.symbol(*options).is_some_and(|info| info.symbol == Symbol::Parameter);
    if !is_parameter || !matches!(run.terms.get(*name), Term::Text(_)) {
        return false;
    }
    let Some((code, _, [once, again])) = calls_apart(run, first, second, 0) else { return false };
    let call = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Call(callee, given) => Some((*callee, given.iter().find_map(spread_mapping)?)),
        _ => None,
    };
    let (Some((callee, spread)), Some((other, others))) = (call(once), call(again)) else { return false };
    once != again && is_written_alike(code, callee, other) && is_written_alike(code, spread, others)
}

fn spread_mapping(argument: &Argument) -> Option<Temp> {
    match argument {
        Argument::SpreadMapping(mapping) => Some(*mapping),
        _ => None,
    }
}
