//! Which streams of keys may be asked for a key.
//!
//! **Invariant:** a stream counts as asked once anything but a visible function holds it: a library, an object, a container, a
//! closure, a module, or whoever calls the function that is analysed. What runs for shapes only asks for none: no key is made there.

use crate::analysis::domain::value::{Val, Value};
use crate::analysis::machine::{Frame, Machine};
use crate::analysis::store::State;
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::Kind;
use crate::ir::{Name, OpKind, Variable};
use crate::models::{BuiltinOp, Effect, Runs};

/// Notes that the streams in a value may be asked for keys.
pub fn ask(machine: &mut Machine<'_>, value: &Value) {
    if machine.recorder.log().streams.made.is_empty() || machine.transforms.abstract_depth > 0 {
        return;
    }
    for alternative in value.alternatives() {
        match &alternative.val {
            Val::Object(id) if matches!(machine.state.store.objects[id.0 as usize].kind, Kind::Stream(_)) => {
                machine.recorder.ask_stream(*id);
            }
            Val::Tuple(parts) => parts.iter().for_each(|part| ask(machine, part)),
            Val::Method(method) => ask(machine, &method.0),
            Val::Partial(partial) => partial
                .positional
                .iter()
                .chain(partial.keywords.iter().map(|(_, value)| value))
                .for_each(|bound| ask(machine, bound)),
            _ => {}
        }
    }
}

/// Notes what an operation may ask, other than by a call.
pub fn note_asked(machine: &mut Machine<'_>, frame: &Frame<'_>, kind: &OpKind) {
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
        // Who calls a function that is not the root goes on with what it returns.
        OpKind::Return(_) if !frame.activation.root || frame.inlined.is_some() => {}
        kind => kind.operands(&mut |temp| {
            let value = frame.value(temp);
            ask(machine, &value);
        }),
    }
}

/// Notes what a call may ask of what it is given.
pub fn note_asked_by(machine: &mut Machine<'_>, callee: &Val, receiver: Option<&(Value, Name)>, args: &Args) {
    if machine.recorder.log().streams.made.is_empty() || only_looks(machine, callee, receiver, args) {
        return;
    }
    for value in args.values().cloned().collect::<Vec<_>>() {
        ask(machine, &value);
    }
    for value in args.spread.iter().chain(&args.mappings) {
        ask(machine, value);
    }
    if let Val::UnknownMethod(method) = callee {
        ask(machine, &method.0);
    }
    ask(machine, &Value::of(callee.clone()));
}

/// Whether a call asks nothing, or is followed with what it is given.
fn only_looks(machine: &Machine<'_>, callee: &Val, receiver: Option<&(Value, Name)>, args: &Args) -> bool {
    let is_idle = |(receiver, name): &(Value, Name)| {
        let protocols = machine.program.models.protocols(name);
        protocols
            .iter()
            .any(|protocol| protocol.no_draw_by_default && is_made_by(&machine.state, receiver, &protocol.libraries))
    };
    match callee {
        Val::Function(_) | Val::Method(_) => true,
        Val::Class(class) => machine.state.class_attribute(*class, &"__init__".into()).is_some(),
        Val::Library(path) => {
            let models = machine.program.models;
            let looks = models.callable(path).is_some_and(|callable| match &callable.effect {
                Effect::Builtin(op) => *op == BuiltinOp::Isinstance,
                // What it runs says what is asked.
                Effect::Transform(transform) => transform.runs == Runs::Abstract,
                _ => false,
            });
            looks || (machine.library.makes_drawless)(machine.program, path, args)
        }
        Val::UnknownMethod(method) => is_idle(method),
        _ => receiver.is_some_and(is_idle),
    }
}

fn is_made_by(state: &State, receiver: &Value, libraries: &[String]) -> bool {
    receiver.single().is_some_and(|val| state.is_of_library(val, libraries))
}
