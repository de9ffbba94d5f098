//! What expressions are believed to be, where that is a key: for people who ask about a place of the program.
//!
//! **Invariant:** nothing is noted unless the program is analysed for that purpose; what is noted changes nothing that is
//! concluded otherwise.

use std::collections::BTreeSet;

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{DerivationId, Elements, Val, Value};
use crate::analysis::facts::{Facts, KeyKind, KeyUse, KeyValue};
use crate::finding::Place;
use crate::ir::{FunctionId, Op, OpKind};
use crate::text::FileId;

use super::{Frame, Machine};

/// Most keys that are noted of one place: a helper that many call is handed many.
const KEYS_OF_A_PLACE: usize = 8;

/// An expression that was a key when it was run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Observed {
    place: Place,
    /// Whether it ran on behalf of a caller, with what that handed over.
    is_called: bool,
    term: TermId,
    derivation: DerivationId,
    kind: KeyKind,
    is_array: bool,
    /// Whether only its being consumed shows that it is a key.
    is_guess: bool,
    function: FunctionId,
}

impl<'p> Machine<'p> {
    /// Notes what an operation came to.
    pub(super) fn observe(&mut self, frame: &Frame<'p>, op: &Op, value: &Value) {
        let stored;
        let value = match &op.kind {
            OpKind::Load(_) | OpKind::Call(..) | OpKind::Item(..) | OpKind::Attribute(..) => value,
            OpKind::Store(variable, temp) => {
                // The span of a store may be that of the whole statement.
                if Self::variable_text(frame, variable).len() != op.span.len() as usize {
                    return;
                }
                stored = frame.temps.get(*temp as usize).cloned().unwrap_or_default();
                &stored
            }
            OpKind::StoreAttribute(_, _, temp) => {
                stored = frame.temps.get(*temp as usize).cloned().unwrap_or_default();
                &stored
            }
            _ => return,
        };
        let place = self.place(frame, op.span);
        self.observe_value(frame, place, value);
    }

    /// Notes what the parameters of a function are given.
    pub(super) fn observe_parameters(&mut self, frame: &Frame<'p>) {
        let environment = frame.environment.0 as usize;
        for (index, parameter) in frame.code.parameters.iter().enumerate() {
            let slot = self.store.environments[environment].slots.get(index).cloned();
            let place = self.place(frame, parameter.span);
            self.observe_value(frame, place, &slot.unwrap_or_default());
        }
    }

    fn observe_value(&mut self, frame: &Frame<'p>, place: Place, value: &Value) {
        if frame.module != self.context.home {
            return;
        }
        let is_called = !frame.activation.root && frame.activation.caller.is_some();
        for alternative in value.alternatives() {
            let (term, derivation, kind, is_array, is_guess) = match &alternative.val {
                Val::Key(key) => (key.term, key.derivation, key.kind, false, false),
                Val::Array(array) => match &array.elements {
                    Elements::View { family, .. } => (*family, array.derivation, array.kind, true, false),
                    _ => continue,
                },
                Val::Term(term)
                    if matches!(self.terms.get(*term), Term::Symbol(_) | Term::Attribute(..) | Term::Item(..)) =>
                {
                    (*term, 0, KeyKind::Unknown, false, true)
                }
                _ => continue,
            };
            let function = frame.activation.function;
            self.recorder.log.observed.insert(Observed {
                place,
                is_called,
                term,
                derivation,
                kind,
                is_array,
                is_guess,
                function,
            });
        }
    }

    /// Everything that was noted of the home module and is a key.
    pub(super) fn conclude_values(&self, facts: &mut Facts, file: FileId) {
        let observed: BTreeSet<&Observed> =
            self.recorder.log.observed.iter().filter(|seen| seen.place.file == file).collect();
        let mut last: Option<(Place, usize)> = None;
        for seen in observed {
            let events =
                self.recorder.log.consumptions.iter().filter(|event| {
                    event.target.term == seen.term || (seen.is_array && event.target.family == seen.term)
                });
            let mut uses: Vec<KeyUse> = Vec::new();
            for event in events {
                let used = KeyUse { place: event.place, callee: event.callee.to_string(), role: event.role };
                if !uses.contains(&used) {
                    uses.push(used);
                }
            }
            if seen.is_guess && uses.is_empty() && !self.recorder.log.declared.contains(&seen.term) {
                continue;
            }
            let count = last.filter(|(place, _)| *place == seen.place).map_or(0, |(_, count)| count);
            last = Some((seen.place, count + 1));
            if count >= KEYS_OF_A_PLACE {
                continue;
            }
            let code = self.module(self.context.home).function(seen.function);
            facts.values.push(KeyValue {
                place: seen.place,
                is_called: seen.is_called,
                derivation: self.describe(seen.term),
                kind: seen.kind,
                is_array: seen.is_array,
                origin: self.origin(seen.term, seen.derivation),
                uses,
                function: code.qualified.to_string(),
                within: code.full,
            });
        }
    }
}
