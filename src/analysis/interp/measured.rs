//! Draws of which nothing but the shape is asked.
//!
//! **Invariant:** the answer comes from all reads of a draw in the whole body; one that cannot be followed counts as another use.

use crate::analysis::facts::Role;
use crate::analysis::log::Consumption;
use crate::finding::Place;
use crate::ir::{Constant, FunctionId, FunctionKind, OpKind, Temp, Variable};

use super::Machine;

/// What an array tells without its numbers.
pub(super) const MEASURES: [&str; 4] = ["dtype", "ndim", "shape", "size"];

impl Machine<'_> {
    /// Whether a draw serves no numbers: it is asked for its shape alone, or left lying, or is to raise, or what it is made of
    /// is a stream that nobody asks, or none of the keys that it splits is drawn from.
    pub(super) fn serves_no_numbers(&mut self, event: usize) -> bool {
        if self.is_never_asked(event) {
            return true;
        }
        let event = self.recorder.log.consumptions[event].clone();
        self.serves_shape_only(&event)
            || self.is_left_lying(&event)
            || self.is_split_for_nothing(&event)
            || self.is_expected_to_raise(&event)
    }

    /// Whether nothing of a draw is used but its shape or dtype: `normal(key, n).shape`, `zeros_like(normal(key, n))`; or nothing
    /// of an initialisation but what is empty at first: `model.init(key, x)["cache"]`.
    fn serves_shape_only(&self, event: &Consumption) -> bool {
        let (module, id) = (event.activation.module, event.activation.function);
        if !matches!(event.role, Role::Sample | Role::Library | Role::Protocol)
            || self.module(module).file != event.place.file
        {
            return false;
        }
        let draw = self.uses_of(module, id).call_at(event.place.span);
        draw.is_some_and(|draw| {
            self.is_measured(module, id, draw, true)
                || event.role == Role::Protocol && self.gives_blank_parts(module, id, draw, &event.callee, true)
        }) || self.is_returned_to_be_measured(event)
    }

    /// Whether a draw is handed out by its function, and perhaps by that one's caller, to one who asks for its shape or dtype:
    /// `space.sample().shape`.
    fn is_returned_to_be_measured(&self, event: &Consumption) -> bool {
        for (activation, place) in Self::chain(event).iter().rev() {
            let (module, id) = (activation.module, activation.function);
            let uses = self.uses_of(module, id);
            let Some(given) = uses.call_at(place.span).filter(|_| self.module(module).file == place.file) else {
                return false;
            };
            if self.is_measured(module, id, given, true) {
                return true;
            }
            let (code, readers) = (self.module(module).function(id), uses.readers(given));
            let is_returned = |reader: &Temp| matches!(code.ops[*reader as usize].kind, OpKind::Return(_));
            if readers.is_empty() || !readers.iter().all(is_returned) {
                return false;
            }
        }
        false
    }

    /// Whether all who read a temp take a part of it into which the method that made it draws nothing.
    fn gives_blank_parts(&self, module: usize, id: FunctionId, temp: Temp, callee: &str, may_store: bool) -> bool {
        let method = callee.rsplit('.').next().unwrap_or(callee);
        let protocols = self.program.models.protocols(method);
        let is_blank = |part: &str| protocols.iter().any(|protocol| protocol.blank.iter().any(|name| name == part));
        let code = self.module(module).function(id);
        let uses = self.uses_of(module, id);
        let readers = uses.readers(temp);
        !readers.is_empty()
            && readers.iter().all(|reader| match &code.ops[*reader as usize].kind {
                OpKind::Item(of, index) if *of == temp => {
                    matches!(&code.ops[*index as usize].kind, OpKind::Constant(Constant::Str(part)) if is_blank(part))
                }
                OpKind::Store(Variable::Local(slot), _) if may_store && code.kind != FunctionKind::ClassBody => {
                    let loads = uses.loads_of(*slot);
                    uses.stores_of(*slot) == 1
                        && !uses.is_captured(*slot)
                        && !loads.is_empty()
                        && loads.iter().all(|load| self.gives_blank_parts(module, id, *load, callee, false))
                }
                _ => false,
            })
    }

    /// Whether a function asks its parameters for nothing but shape or dtype.
    pub(super) fn only_measures(&self, module: usize, id: FunctionId) -> bool {
        let code = self.module(module).function(id);
        let uses = self.uses_of(module, id);
        !code.parameters.is_empty()
            && (0u32..).zip(&code.parameters).all(|(slot, _)| {
                let loads = uses.loads_of(slot);
                uses.stores_of(slot) == 0
                    && !uses.is_captured(slot)
                    && !loads.is_empty()
                    && loads.iter().all(|load| self.is_measured(module, id, *load, false))
            })
    }

    /// Whether a temp, or the variable that nothing else is stored in, is read, and all who read it ask for shape or dtype.
    fn is_measured(&self, module: usize, id: FunctionId, temp: Temp, may_store: bool) -> bool {
        let file = self.module(module).file;
        let code = self.module(module).function(id);
        let uses = self.uses_of(module, id);
        let asks = |reader: &Temp| {
            let op = &code.ops[*reader as usize];
            match &op.kind {
                OpKind::Attribute(_, name) => MEASURES.contains(&&**name),
                OpKind::Call(callee, _) => {
                    *callee != temp && self.recorder.log.measures.contains(&Place { file, span: op.span })
                }
                OpKind::Store(Variable::Local(slot), _) if may_store && code.kind != FunctionKind::ClassBody => {
                    let loads = uses.loads_of(*slot);
                    uses.stores_of(*slot) == 1
                        && !uses.is_captured(*slot)
                        && !loads.is_empty()
                        && loads.iter().all(|load| self.is_measured(module, id, *load, false))
                }
                _ => false,
            }
        };
        let readers = uses.readers(temp);
        !readers.is_empty() && readers.iter().all(asks)
    }
}
