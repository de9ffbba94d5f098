//! Words of a key that the program only shows: `seed = key[0]` as a label of what it logs.
//!
//! **Invariant:** every reader of the word is known to show it; what cannot be followed counts as a key.

use crate::analysis::domain::value::ModuleIndex;
use crate::analysis::record::{LoggedBuffer, Recording};
use crate::ir::{Collection, FunctionId, FunctionKind, OpKind, Temp, Variable};
use crate::judge::consequence::body::readers_within;
use crate::models::{BuiltinOp, Effect};

/// Most readers of a word that are looked at.
const READERS: usize = 32;

/// Whether the program only prints, formats or logs the word that an index selects.
pub fn is_only_shown(run: &Recording<'_>, used: &LoggedBuffer) -> bool {
    let (module, function) = (used.activation.module, used.activation.function);
    let code = run.code(&used.activation);
    // The variables of a class are attributes, which other code reads.
    if code.kind == FunctionKind::ClassBody {
        return false;
    }
    let is_index = |kind: &OpKind| matches!(kind, OpKind::Item(..));
    let selected = (0u32..).zip(&code.ops).find(|(_, op)| op.span == used.place.span && is_index(&op.kind));
    let Some((word, _)) = selected else { return false };
    let mut work = vec![(function, word)];
    let (mut seen, mut is_read) = (0, false);
    while let Some((function, value)) = work.pop() {
        let uses = run.uses_of(module, function);
        for reader in uses.readers(value) {
            seen += 1;
            if seen > READERS {
                return false;
            }
            match &run.module(module).function(function).ops[*reader as usize].kind {
                OpKind::Store(Variable::Local(slot), _) if uses.stores_of(*slot).len() == 1 => {
                    work.extend(uses.loads_of(*slot).iter().map(|load| (function, *load)));
                    if uses.is_captured(*slot) {
                        let Some(within) = readers_within(run.module(module), function, *slot) else { return false };
                        work.extend(within.iter().copied());
                    }
                }
                OpKind::Call(callee, _) if *callee != value && shows(run, module, function, (*reader, *callee)) => {
                    is_read = true;
                }
                OpKind::Build(Collection::Text, _) => is_read = true,
                _ => return false,
            }
        }
    }
    is_read
}

/// Whether a call prints or formats what it gets, or gives it to a function of a library that returns nothing.
fn shows(run: &Recording<'_>, module: ModuleIndex, function: FunctionId, (call, callee): (Temp, Temp)) -> bool {
    let path = run.library_named(module, run.module(module).function(function), callee);
    let is_unread = || run.uses_of(module, function).readers(call).is_empty();
    match path.and_then(|path| run.program.models.callable(&path)).map(|callable| &callable.effect) {
        Some(Effect::Builtin(BuiltinOp::Print | BuiltinOp::Str | BuiltinOp::Repr)) => true,
        Some(Effect::Observe) => is_unread(),
        _ => false,
    }
}
