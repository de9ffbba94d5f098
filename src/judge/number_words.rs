//! Words of a key that the program uses as numbers: as a label of what it logs, `print(key[0])`, or as the seed of another
//! generator, `shuffle(seed=key[0])`.
//!
//! **Invariant:** every reader of the word is known to use it as a number; what cannot be followed counts as a key. The first word of a key
//! that is made from a small seed is zero, so such a word is never a good seed.

use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::ModuleIndex;
use crate::analysis::record::{LoggedBuffer, Recording};
use crate::ir::{Argument, Collection, Function, FunctionId, FunctionKind, OpKind, Temp, Variable};
use crate::judge::consequence::body::readers_within;
use crate::models::{BuiltinOp, Effect};

/// Most readers of a word that are looked at.
const READERS: usize = 32;

/// Whether the program only prints, formats or logs the word that an index selects, or takes it for a seed.
pub fn is_number(run: &Recording<'_>, used: &LoggedBuffer) -> bool {
    let (module, function) = (used.activation.module, used.activation.function);
    let code = run.code(&used.activation);
    // The variables of a class are attributes, which other code reads.
    if code.kind == FunctionKind::ClassBody {
        return false;
    }
    let is_index = |kind: &OpKind| matches!(kind, OpKind::Item(..));
    let selected = (0u32..).zip(&code.ops).find(|(_, op)| op.span == used.place.span && is_index(&op.kind));
    let Some((word, _)) = selected else { return false };
    let may_seed = !matches!(run.terms.get(used.key.term), Term::Seed(_));
    let mut work = vec![(function, word)];
    let (mut seen, mut is_read) = (0, false);
    while let Some((function, value)) = work.pop() {
        let uses = run.uses_of(module, function);
        for reader in uses.readers(value) {
            seen += 1;
            if seen > READERS {
                return false;
            }
            let code = run.module(module).function(function);
            match &code.ops[*reader as usize].kind {
                kind if may_seed && is_seed(run, (module, code), value, kind) => is_read = true,
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

/// Whether an operation takes a word for a seed: it makes it a number of Python, or names it so.
fn is_seed(run: &Recording<'_>, (module, code): (ModuleIndex, &Function), word: Temp, kind: &OpKind) -> bool {
    let words = &run.program.models.words;
    match kind {
        OpKind::Attribute(_, name) => &**name == "item",
        OpKind::Store(Variable::Local(slot), _) => {
            code.slots.get(*slot as usize).is_some_and(|name| words.names_a_seed(name))
        }
        OpKind::Call(callee, arguments) => {
            let is_named = |argument: &Argument| match argument {
                Argument::Keyword(name, value) => *value == word && words.names_a_seed(name),
                _ => false,
            };
            let path = run.library_named(module, code, *callee);
            let callable = path.and_then(|path| run.program.models.callable(&path));
            let is_conversion = callable.is_some_and(|callable| matches!(callable.effect, Effect::Number { .. }));
            let is_unknown = callable.is_none();
            is_conversion || is_unknown && arguments.iter().any(is_named)
        }
        _ => false,
    }
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
