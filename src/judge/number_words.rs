//! Words of a key that the program uses as numbers: as a label of what it logs, `print(key[0])`, or as the seed of another
//! generator, `shuffle(seed=key[0])`.
//!
//! **Invariant:** every reader of the word is known to use it as a number; what cannot be followed counts as a key. The first word of a key
//! that is made from a small seed is zero, so only words of derived keys are good seeds.

use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::ModuleIndex;
use crate::analysis::record::{Activation, Callee, LoggedBuffer, Recording};
use crate::finding::Place;
use crate::ir::{Argument, Collection, Function, FunctionId, FunctionKind, OpKind, Temp, Variable};
use crate::judge::callee_model::model_of;
use crate::judge::consequence::captured::readers_within;
use crate::models::{BuiltinOp, Effect, Host};

/// The module of Python's own functions.
const BUILTINS: &str = "builtins.";

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
    let may_seed = matches!(run.terms.get(used.key.term), Term::Child(..) | Term::Fold(..));
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
                _ if may_seed && is_seed(run, &used.activation, code, value, *reader) => is_read = true,
                OpKind::Store(Variable::Local(slot), _) if may_seed || uses.stores_of(*slot).len() == 1 => {
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

/// Whether an operation takes a word for a seed of something else: it makes it a number of Python, makes a generator of the host with it, or
/// passes it to code that is no part of the program, by that name or one that means no key: `frame.sample(random_state=key[0])`. A method of
/// a distribution takes a key by the name of a seed.
fn is_seed(run: &Recording<'_>, activation: &Activation, code: &Function, word: Temp, reader: Temp) -> bool {
    let models = run.program.models;
    let arguments = match &code.ops[reader as usize].kind {
        OpKind::Attribute(_, name) => return models.makes_number(name),
        OpKind::Call(callee, arguments) if *callee != word => {
            match model_of(run, activation.module, code, *callee).filter(|callable| callable.exact) {
                Some(callable) if callable.path.starts_with(BUILTINS) => {
                    return matches!(callable.effect, Effect::Number { .. });
                }
                Some(callable) => return matches!(callable.host, Some(Host::Generator | Host::Seeding)),
                None => match &code.ops[*callee as usize].kind {
                    OpKind::Attribute(_, method) if !models.protocols(method).is_empty() => return false,
                    _ => arguments,
                },
            }
        }
        _ => return false,
    };
    let place = Place { file: run.module(activation.module).file, span: code.ops[reader as usize].span };
    let callees = run.log.callees.get(&place).map_or(&[][..], Vec::as_slice);
    let is_visible = callees.iter().any(|callee| matches!(callee, Callee::Function(..) | Callee::Class(_)));
    let is_named = |argument: &Argument| match argument {
        Argument::Keyword(name, value) => {
            *value == word && (models.words.names_a_seed(name) || !models.words.is_keyish(name))
        }
        _ => false,
    };
    !is_visible && arguments.iter().any(is_named)
}

/// Whether a call prints or formats what it gets, or gives it to a function of a library that returns nothing.
fn shows(run: &Recording<'_>, module: ModuleIndex, function: FunctionId, (call, callee): (Temp, Temp)) -> bool {
    let model = model_of(run, module, run.module(module).function(function), callee);
    let is_unread = || run.uses_of(module, function).readers(call).is_empty();
    match model.map(|callable| &callable.effect) {
        Some(Effect::Builtin(BuiltinOp::Print | BuiltinOp::Str | BuiltinOp::Repr)) => true,
        Some(Effect::Observe) => is_unread(),
        _ => false,
    }
}
