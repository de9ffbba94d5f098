//! Which streams may give a key.
//!
//! **Invariant:** a stream counts as used once anything but a visible function holds it: a library, an object, a container, a closure, a
//! module, or the caller of the analysed function. Code that runs for shapes only uses no stream, because it makes no key.

use crate::analysis::domain::value::{Val, Value};
use crate::analysis::machine::{Frame, Machine};
use crate::analysis::store::State;
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::ObjectKind;
use crate::ir::{Name, OpKind, Variable};
use crate::models::{BuiltinOp, Effect, Runs};

/// Records that the streams in a value may give keys.
pub fn note(machine: &mut Machine<'_>, value: &Value) {
    if machine.recorder.log().streams.made.is_empty() || machine.transforms.abstract_depth > 0 {
        return;
    }
    for alternative in value.alternatives() {
        match &alternative.val {
            Val::Object(id) if matches!(machine.state.store.objects[id.0 as usize].kind, ObjectKind::Stream(_)) => {
                machine.recorder.use_stream(*id);
            }
            Val::Tuple(parts) => parts.iter().for_each(|part| note(machine, part)),
            Val::Method(method) => note(machine, &method.0),
            Val::Partial(partial) => partial.bound().for_each(|bound| note(machine, bound)),
            _ => {}
        }
    }
}

/// Records the streams that an operation may take keys from, other than by a call.
pub fn note_operation(machine: &mut Machine<'_>, frame: &Frame<'_>, kind: &OpKind) {
    if machine.recorder.log().streams.made.is_empty() {
        return;
    }
    match kind {
        OpKind::Store(Variable::Local(_), _)
        | OpKind::Operate(..)
        | OpKind::Project(..)
        | OpKind::If { .. }
        | OpKind::Annotate(..)
        | OpKind::Function(..)
        | OpKind::Call(..) => {}
        // The callers of a function that is not the root continue with its result.
        OpKind::Return(_) if !frame.activation.root || frame.inlined.is_some() => {}
        kind => kind.operands(&mut |temp| {
            let value = frame.value(temp);
            note(machine, &value);
        }),
    }
}

/// Records the streams that a call may take keys from.
pub fn note_call(machine: &mut Machine<'_>, callee: &Val, receiver: Option<&(Value, Name)>, args: &Args) {
    if machine.recorder.log().streams.made.is_empty() || only_looks(machine, callee, receiver, args) {
        return;
    }
    for value in args.values().cloned().collect::<Vec<_>>() {
        note(machine, &value);
    }
    for value in args.spread.iter().chain(&args.mappings) {
        note(machine, value);
    }
    if let Val::UnknownMethod(method) = callee {
        note(machine, &method.0);
    }
    note(machine, &Value::of(callee.clone()));
}

/// Whether a call takes no key, or is followed with its arguments.
fn only_looks(machine: &Machine<'_>, callee: &Val, receiver: Option<&(Value, Name)>, args: &Args) -> bool {
    let draws_nothing = |(receiver, name): &(Value, Name)| {
        let protocols = machine.program.models.protocols(name);
        protocols.iter().any(|protocol| {
            protocol.no_draw_by_default.is_some() && is_made_by(&machine.state, receiver, &protocol.libraries)
        })
    };
    match callee {
        Val::Function(_) | Val::Method(_) => true,
        Val::Class(class) => machine.state.class_attribute(*class, &"__init__".into()).is_some(),
        Val::Library(path) => {
            let models = machine.program.models;
            let looks = models.callable(path).is_some_and(|callable| match &callable.effect {
                Effect::Builtin(op) => *op == BuiltinOp::Isinstance,
                // The function that it runs shows what is used.
                Effect::Transform(transform) => transform.runs == Runs::Abstract,
                _ => false,
            });
            looks || (machine.library.makes_deterministic_module)(machine.program, path, args)
        }
        Val::UnknownMethod(method) => draws_nothing(method),
        _ => receiver.is_some_and(draws_nothing),
    }
}

fn is_made_by(state: &State, receiver: &Value, libraries: &[String]) -> bool {
    receiver.single().is_some_and(|val| state.is_of_library(val, libraries))
}
