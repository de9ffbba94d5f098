//! Calls of functions that have a default key: `def f(x, key=jax.random.key(0))`.
//!
//! **Invariant:** a default counts as unused only if the program calls the function, each of these calls passes the parameter, and the module
//! uses the function in no other way. Callers of methods are not all seen.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::record::{Callee, Recording};
use crate::finding::{Confidence, Place};
use crate::ir::{Argument, Function, Module, OpKind, Temp, Variable};
use crate::judge::facts::{CaptureKind, CapturedUse, Facts};

/// A call of a function some of whose parameters have a default and are named like keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DefaultCall {
    /// The definition.
    pub defined_at: Place,
    /// The names of such parameters that the call does not pass.
    pub omitted: Vec<String>,
}

/// The calls of such functions in the home module, and other uses of those that it defines.
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
                (0..).zip(arguments).any(|(at, argument)| match argument {
                    Argument::Positional(_) => at + prebound.unwrap_or(0) == position,
                    Argument::Keyword(keyword, _) => **keyword == *name,
                    // What is spread may leave it out.
                    Argument::Spread(_) | Argument::SpreadMapping(_) => false,
                })
            };
            let omitted = defaults.into_iter().filter(|(position, name)| !is_passed(*position, name));
            let omitted = omitted.map(|(_, name)| name.to_owned()).collect();
            facts.default_calls.push(DefaultCall { defined_at: Place { file: module.file, span: code.span }, omitted });
        }
    }
    for code in &home.functions {
        let defaults = key_defaults(run, code);
        if !defaults.is_empty() && !is_only_called(home, code) {
            let omitted = defaults.into_iter().map(|(_, name)| name.to_owned()).collect();
            facts.default_calls.push(DefaultCall { defined_at: Place { file: home.file, span: code.span }, omitted });
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

/// Whether a module uses a function only by calling it by its name: it is not decorated, and no value elsewhere.
fn is_only_called(module: &Module, code: &Function) -> bool {
    let name = Variable::Global(code.name.clone());
    let body = module.function(Module::BODY);
    let is_plain = code.class.is_none()
        && body.sole_value(&name).is_some_and(|value| matches!(body.ops[value as usize].kind, OpKind::Function(..)));
    let is_called = |within: &Function, load: Temp| {
        let mut readers = within.ops.iter().filter(|op| {
            let mut reads = false;
            op.kind.operands(&mut |operand| reads |= operand == load);
            reads
        });
        readers.all(|op| match &op.kind {
            OpKind::Call(callee, arguments) => {
                *callee == load && arguments.iter().all(|argument| argument.value() != load)
            }
            _ => false,
        })
    };
    is_plain
        && module.functions.iter().all(|within| {
            let loads =
                (0..).zip(&within.ops).filter(|(_, op)| matches!(&op.kind, OpKind::Load(read) if *read == name));
            loads.map(|(load, _)| load).all(|load| is_called(within, load))
        })
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
