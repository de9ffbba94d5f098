//! A key among options that are handed on whole: `f(x, **kwargs), f(y, **kwargs)`.
//!
//! **Invariant:** the options are a parameter, and the two calls are of one function.

use crate::analysis::domain::term::Term;
use crate::analysis::record::Recording;
use crate::finding::{Intent, IntentKind};
use crate::ir::{Argument, OpKind, Temp};
use crate::judge::intent::{Pair, calls_apart, intent, is_written_alike};

/// A key is one of the options that are handed on whole to two calls of one function: `f(x, **kwargs), f(y, **kwargs)`.
pub fn option_of_both(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let Term::Item(options, name, _) = run.terms.get(pair.second.target.term) else { return None };
    if !run.terms.is_parameter(*options) || !matches!(run.terms.get(*name), Term::Text(_)) {
        return None;
    }
    let calls = calls_apart(run, pair, 0)?;
    let (code, once, again) = (calls.code, calls.once, calls.again);
    let call = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Call(callee, given) => Some((*callee, given.iter().find_map(spread_mapping)?)),
        _ => None,
    };
    let ((callee, spread), (other, others)) = (call(once)?, call(again)?);
    let is_shared = once != again && is_written_alike(code, callee, other) && is_written_alike(code, spread, others);
    is_shared.then(|| intent(IntentKind::SharedOptions, calls.place(once)))
}

fn spread_mapping(argument: &Argument) -> Option<Temp> {
    match argument {
        Argument::SpreadMapping(mapping) => Some(*mapping),
        _ => None,
    }
}
