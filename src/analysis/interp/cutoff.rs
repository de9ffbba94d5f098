//! Calls that a budget cuts off.
//!
//! Nothing is kept of a call whose paths are too many to be told apart but what it did to keys until then. A function that did
//! nothing to them would be cut off again with the same budget or a smaller one: it is run again only where a key is in its reach.
//!
//! **Invariant:** a call that is left out is answered like one that was cut off.

use crate::analysis::domain::kinds::Role;
use crate::analysis::domain::value::{Closure, Value};
use crate::finding::Place;
use crate::ir::Function;

use super::Machine;
use super::bind::Args;

/// What a call may cost, and where the log stood when it began.
pub(super) struct Share {
    nodes: usize,
    events: usize,
    derivations: usize,
}

impl Machine<'_> {
    /// What a call that is made now may cost.
    pub(super) fn share(&self) -> Share {
        Share {
            nodes: self.paths.guards.share(),
            events: self.recorder.log.consumptions.len(),
            derivations: self.recorder.log.derivations.len(),
        }
    }

    /// Whether a call would be cut off before it touches a key, as one was before it that could cost as much.
    pub(super) fn would_be_cut_off(&self, closure: &Closure, args: &Args) -> bool {
        let known = self.budget.fruitless.borrow().get(&(closure.module, closure.function)).copied().unwrap_or(0);
        self.paths.guards.share() <= known && !self.hands_keys(closure, args)
    }

    /// Notes that a call was cut off since it had too many paths.
    pub(super) fn note_cut_off(&mut self, closure: &Closure, share: &Share) {
        let touches = self.recorder.log.consumptions[share.events..].iter().any(|event| event.role != Role::Unresolved);
        if touches || self.recorder.log.derivations.len() > share.derivations {
            return;
        }
        let mut known = self.budget.fruitless.borrow_mut();
        let most = known.entry((closure.module, closure.function)).or_default();
        *most = share.nodes.max(*most);
    }

    /// The result of a call that does what nobody knows with what it is given.
    pub(super) fn unknown_result(&mut self, given: &[Value], code: &Function, place: Place) -> Value {
        for value in given {
            self.ask(value);
            self.take(value);
            self.havoc(value);
        }
        self.opaque(self.call_text(&code.name), Some(place))
    }
}
