//! Which streams of keys may be asked for a key.
//!
//! **Invariant:** a stream counts as asked once anything but a function in sight has it in hand: a library, an object, a container, a
//! closure, a module, or whoever calls the function that is analysed.

use crate::analysis::domain::value::{Val, Value};
use crate::analysis::heap::Kind;
use crate::ir::{Name, OpKind, Variable};
use crate::models::{BuiltinOp, Effect};

use super::bind::Args;
use super::{Frame, Machine};

impl Machine<'_> {
    /// Notes that the streams in a value may be asked for keys.
    pub(super) fn ask(&mut self, value: &Value) {
        if self.recorder.log.streams.made.is_empty() {
            return;
        }
        for alternative in value.alternatives() {
            match &alternative.val {
                Val::Object(id) if matches!(self.store.objects[id.0 as usize].kind, Kind::Stream(_)) => {
                    self.recorder.log.streams.asked.insert(*id);
                }
                Val::Tuple(parts) => parts.iter().for_each(|part| self.ask(part)),
                Val::Method(method) => self.ask(&method.0),
                Val::Partial(partial) => partial
                    .positional
                    .iter()
                    .chain(partial.keywords.iter().map(|(_, value)| value))
                    .for_each(|bound| self.ask(bound)),
                _ => {}
            }
        }
    }

    /// Notes what an operation may ask, other than by a call.
    pub(super) fn note_asked(&mut self, frame: &Frame<'_>, kind: &OpKind) {
        if self.recorder.log.streams.made.is_empty() {
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
            OpKind::Return(_) if !frame.activation.root => {}
            kind => kind.operands(&mut |temp| {
                let value = frame.temps[temp as usize].clone();
                self.ask(&value);
            }),
        }
    }

    /// Notes what a call may ask of what it is given.
    pub(super) fn note_asked_by(&mut self, callee: &Val, receiver: Option<&(Value, Name)>, args: &Args) {
        if self.recorder.log.streams.made.is_empty() || self.only_looks(callee, receiver, args) {
            return;
        }
        for value in args.values().cloned().collect::<Vec<_>>() {
            self.ask(&value);
        }
        for value in args.spread.iter().chain(&args.mappings) {
            self.ask(value);
        }
        if let Val::UnknownMethod(method) = callee {
            self.ask(&method.0);
        }
        self.ask(&Value::of(callee.clone()));
    }

    /// Whether a call asks nothing, or is followed with what it is given.
    fn only_looks(&self, callee: &Val, receiver: Option<&(Value, Name)>, args: &Args) -> bool {
        let is_idle = |(receiver, name): &(Value, Name)| {
            let protocols = self.program.models.protocols(name);
            protocols.iter().any(|protocol| protocol.idle && self.is_made_by(receiver, &protocol.libraries))
        };
        match callee {
            Val::Function(_) | Val::Method(_) => true,
            Val::Class(class) => self.class_attribute(*class, &"__init__".into()).is_some(),
            Val::Library(path) => {
                let models = self.program.models;
                let is_test = models
                    .callable(path)
                    .is_some_and(|callable| callable.effect == Effect::Builtin(BuiltinOp::Isinstance));
                is_test || self.makes_drawless(path, args)
            }
            Val::UnknownMethod(method) => is_idle(method),
            _ => receiver.is_some_and(is_idle),
        }
    }

    fn is_made_by(&self, receiver: &Value, libraries: &[String]) -> bool {
        receiver.single().is_some_and(|val| self.is_of_library(val, libraries))
    }
}
