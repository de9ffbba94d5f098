//! Calls of functions that have a default key: `def f(x, key=jax.random.key(0))`.
//!
//! **Invariant:** a default counts as unused only if the program calls the function, and each of these calls passes the parameter. A call whose
//! arguments are spread passes all of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::record::{Callee, Recording};
use crate::finding::{Confidence, Place};
use crate::ir::{Argument, OpKind};
use crate::judge::facts::{CaptureKind, CapturedUse, Facts};

/// A call of a function some of whose parameters have a default and are named like keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DefaultCall {
    /// The definition.
    pub defined_at: Place,
    /// The names of such parameters that the call does not pass.
    pub omitted: Vec<String>,
}

/// The calls of such functions in the home module.
pub fn extract_default_calls(run: &Recording<'_>, facts: &mut Facts) {
    let home = run.module(run.home);
    let words = &run.program.models.words;
    for (place, callees) in run.log.callees.iter().filter(|(place, _)| place.file == home.file) {
        for callee in callees {
            let Callee::Function(module, id, prebound) = callee else { continue };
            let (module, code) = (run.module(*module), run.module(*module).function(*id));
            let defaults: Vec<(usize, &str)> = (0..)
                .zip(&code.parameters)
                .filter(|(_, parameter)| parameter.has_default && words.is_keyish(&parameter.name))
                .map(|(position, parameter)| (position, &*parameter.name))
                .collect();
            if defaults.is_empty() {
                continue;
            }
            let caller = home.innermost(place.span);
            let call = run.uses_of(run.home, caller).call_at(place.span);
            let kind = call.map(|call| &home.function(caller).ops[call as usize].kind);
            let Some(OpKind::Call(_, arguments)) = kind else { continue };
            let is_passed = |position: usize, name: &str| {
                (0..).zip(arguments).any(|(at, argument)| match argument {
                    Argument::Positional(_) => at + prebound.unwrap_or(0) == position,
                    Argument::Keyword(keyword, _) => **keyword == *name,
                    Argument::Spread(_) | Argument::SpreadMapping(_) => true,
                })
            };
            let omitted = defaults.into_iter().filter(|(position, name)| !is_passed(*position, name));
            let omitted = omitted.map(|(_, name)| name.to_owned()).collect();
            facts.default_calls.push(DefaultCall { defined_at: Place { file: module.file, span: code.span }, omitted });
        }
    }
}

/// Lowers the confidence of default keys that no call leaves out. Where the function is private, the default can safely be removed, and the
/// finding stays.
pub fn reconcile(modules: &mut [Facts]) {
    let mut omitted: BTreeMap<Place, BTreeSet<String>> = BTreeMap::new();
    for call in modules.iter_mut().flat_map(|facts| std::mem::take(&mut facts.default_calls)) {
        omitted.entry(call.defined_at).or_default().extend(call.omitted);
    }
    let defaults = modules.iter_mut().flat_map(|facts| &mut facts.captured);
    let is_public = |captured: &&mut CapturedUse| !captured.callee.starts_with('_');
    for default in defaults.filter(|captured| captured.kind == CaptureKind::Default).filter(is_public) {
        if omitted.get(&default.defined_at).is_some_and(|names| !names.contains(&default.name)) {
            default.confidence = Confidence::Low;
        }
    }
}
