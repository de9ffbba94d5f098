//! Calls of functions that have a default key: `def f(x, key=jax.random.key(0))`.
//!
//! **Invariant:** a default counts as unused only if the program calls the function, each of these calls passes the parameter, and the module
//! uses the function in no other way. Callers of methods are not all seen.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::record::{Callee, Recording};
use crate::finding::{Confidence, Place};
use crate::ir::{Function, FunctionId, Module, OpKind, Temp, Variable, passes};
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
    for (place, callees) in run.log.callees.iter().filter(|(place, _)| place.file == home.file) {
        for callee in callees {
            let Callee::Function(module, id, prebound) = callee else { continue };
            let (module, code) = (run.module(*module), run.module(*module).function(*id));
            let defaults = key_defaults(run, code);
            if defaults.is_empty() {
                continue;
            }
            let caller = home.innermost(place.span);
            let call = run.uses_of(run.home, caller).call_at(place.span);
            let kind = call.map(|call| &home.function(caller).ops[call as usize].kind);
            let Some(OpKind::Call(_, arguments)) = kind else { continue };
            let is_passed = |position: usize, name: &str| {
                let position = position.checked_sub(prebound.unwrap_or(0));
                position.is_some_and(|position| passes(arguments, position, name, false))
            };
            let omitted = defaults.into_iter().filter(|(position, name)| !is_passed(*position, name));
            let omitted = omitted.map(|(_, name)| name.to_owned()).collect();
            facts.default_calls.push(DefaultCall { defined_at: Place { file: module.file, span: code.span }, omitted });
        }
    }
}

/// Another use of a function whose default key was captured counts as a call that passes nothing. It may be in any function of the module, so
/// this is read once all have run.
pub fn note_other_uses(run: &Recording<'_>, facts: &mut Facts) {
    let home = run.module(run.home);
    for captured in facts.captured.iter().filter(|captured| captured.kind == CaptureKind::Default) {
        let code = home.functions.iter().find(|code| code.span == captured.defined_at.span);
        if code.is_none_or(|code| !is_only_called(run, code)) {
            let (defined_at, omitted) = (captured.defined_at, vec![captured.name.clone()]);
            facts.default_calls.push(DefaultCall { defined_at, omitted });
        }
    }
}

/// The parameters of a function that have a default and are named like keys, by position.
fn key_defaults<'r>(run: &Recording<'_>, code: &'r Function) -> Vec<(usize, &'r str)> {
    let words = &run.program.models.words;
    (0..)
        .zip(&code.parameters)
        .filter(|(_, parameter)| parameter.has_default && words.is_keyish(&parameter.name))
        .map(|(position, parameter)| (position, &*parameter.name))
        .collect()
}

/// Whether the home module uses a function only by calling it by its name: it is not decorated, and no value elsewhere.
fn is_only_called(run: &Recording<'_>, code: &Function) -> bool {
    let module = run.module(run.home);
    let name = Variable::Global(code.name.clone());
    let body = module.function(Module::BODY);
    let is_plain = code.class.is_none()
        && body.sole_value(&name).is_some_and(|value| matches!(body.ops[value as usize].kind, OpKind::Function(..)));
    let is_called_in = |(id, within): (FunctionId, &Function)| {
        let uses = run.uses_of(run.home, id);
        let is_call = |load: Temp, reader: Temp| match &within.ops[reader as usize].kind {
            OpKind::Call(callee, arguments) => {
                *callee == load && arguments.iter().all(|argument| argument.value() != load)
            }
            _ => false,
        };
        let mut ops = (0..).zip(&within.ops);
        ops.all(|(load, op)| match &op.kind {
            OpKind::Load(read) if *read == name => uses.readers(load).iter().all(|reader| is_call(load, *reader)),
            _ => true,
        })
    };
    is_plain && (0..).map(FunctionId).zip(&module.functions).all(is_called_in)
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
