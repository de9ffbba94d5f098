//! Calls of closures that a function returns: `first, second = make(key)` and `second(first())`.
//!
//! **Invariant:** a closure counts as called once only if the program calls it in one place, and each loop around that place makes it again.

use std::collections::BTreeMap;

use crate::analysis::record::{Callee, Recording};
use crate::finding::{Confidence, Place};
use crate::ir::{Function, FunctionKind, Module, Temp};
use crate::judge::facts::{CaptureKind, Facts};
use crate::text::FileId;

/// A call of a function that is defined within another, from outside of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClosureCall {
    /// The definition.
    pub defined_at: Place,
    /// The call.
    pub place: Place,
    /// Whether a loop of the calling function repeats it with the same closure.
    pub is_repeated: bool,
}

/// The calls of such functions in the home module.
pub fn extract_closure_calls(run: &Recording<'_>, facts: &mut Facts) {
    let home = run.module(run.home);
    for (place, callees) in run.log.callees.iter().filter(|(place, _)| place.file == home.file) {
        for callee in callees {
            let Callee::Function(module, id, _) = callee else { continue };
            let (module, closure) = (run.module(*module), run.module(*module).function(*id));
            let Some(definer) = closure.parent.map(|parent| module.function(parent)) else { continue };
            let caller = home.innermost(place.span);
            if definer.kind != FunctionKind::Def || home.function(caller).span == definer.span {
                continue;
            }
            let defined_at = Place { file: module.file, span: closure.span };
            let (uses, code) = (run.uses_of(run.home, caller), home.function(caller));
            let makers = || calls_of(run, place.file, (module, definer)).filter_map(|place| uses.call_at(place.span));
            let is_made_in = |outer: Temp| makers().any(|made| uses.loops_around(code, made).any(|one| one == outer));
            let call = uses.call_at(place.span);
            let is_repeated = call.is_none_or(|call| !uses.loops_around(code, call).all(is_made_in));
            facts.closure_calls.push(ClosureCall { defined_at, place: *place, is_repeated });
        }
    }
}

/// The places in a file that call a function.
fn calls_of<'r>(
    run: &'r Recording<'_>,
    file: FileId,
    (module, code): (&'r Module, &'r Function),
) -> impl Iterator<Item = Place> + 'r {
    let is_it = move |callee: &Callee| match callee {
        Callee::Function(of, id, _) => {
            let called = run.module(*of);
            called.file == module.file && called.function(*id).span == code.span
        }
        _ => false,
    };
    let calls = run.log.callees.iter().filter(move |(place, _)| place.file == file);
    calls.filter(move |(_, callees)| callees.iter().any(is_it)).map(|(place, _)| *place)
}

/// Lowers the confidence of captures by closures that are called only once.
pub fn reconcile(modules: &mut [Facts]) {
    let mut calls: BTreeMap<Place, Vec<ClosureCall>> = BTreeMap::new();
    for call in modules.iter_mut().flat_map(|facts| std::mem::take(&mut facts.closure_calls)) {
        calls.entry(call.defined_at).or_default().push(call);
    }
    let stored = modules.iter_mut().flat_map(|facts| &mut facts.captured);
    for captured in stored.filter(|captured| captured.kind == CaptureKind::Stored) {
        let of_it = calls.get(&captured.defined_at).map_or(&[][..], Vec::as_slice);
        let first = of_it.first().filter(|first| !first.is_repeated);
        if first.is_some_and(|first| of_it.iter().all(|call| call.place == first.place)) {
            captured.confidence = Confidence::Low;
        }
    }
}
