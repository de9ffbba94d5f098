//! Loops that are left before their end.
//!
//! **Invariant:** what the iterations that are not run would write is unknown afterwards.

use super::frame::{Frame, at, put};
use super::havoc::{DEPTH, Reach, is_container};
use super::machine::Machine;
use crate::ir::{Function, OpKind, Temp, Variable};

/// What a loop's blocks touch.
#[derive(Default)]
struct Touched {
    stored: Vec<Variable>,
    loaded: Vec<Variable>,
    /// Objects whose attributes or items are written, and collections that are filled.
    written: Vec<Temp>,
    filled: Vec<Temp>,
    /// What they call.
    called: Vec<Temp>,
}

impl<'p> Machine<'p> {
    /// Whether a loop without a place in question has cost its part of what was left when it began.
    pub(super) fn is_overrun(&self, frame: &Frame<'p>, temp: Temp) -> bool {
        if self.hints.leads(frame.module, frame.id, temp) {
            return false;
        }
        let began = frame.began.get(&temp).copied().unwrap_or(0);
        self.part_of(frame, began).is_some_and(|part| began.saturating_sub(self.left()) > part)
    }

    /// Leaves a loop whose further iterations are not run.
    pub(super) fn leave_loop(&mut self, frame: &mut Frame<'p>, temp: Temp) {
        self.is_bounded = true;
        let code: &'p Function = frame.code;
        let Some(OpKind::Loop { head, body, .. }) = code.ops.get(temp as usize).map(|op| &op.kind) else { return };
        let mut touched = Touched::default();
        touched.block(code, head, 32);
        touched.block(code, body, 32);
        for temp in touched.written {
            let value = at(frame, temp);
            self.havoc(&value);
        }
        for temp in touched.filled {
            let value = self.unknown("<filled>");
            put(frame, temp, value);
        }
        for variable in touched.loaded {
            let value = self.load(frame, &variable);
            if is_container(&value) {
                self.havoc(&value);
            }
        }
        let mut reach = Reach::default();
        for called in touched.called {
            reach.value(&at(frame, called), DEPTH);
        }
        self.havoc_reached(reach);
        for variable in touched.stored {
            let value = self.unknown("<written>");
            self.store(frame, &variable, Some(value));
        }
    }
}

impl Touched {
    fn block(&mut self, code: &Function, block: &[Temp], depth: u32) {
        for op in block.iter().filter_map(|temp| code.ops.get(*temp as usize)) {
            match &op.kind {
                OpKind::Store(variable, _) | OpKind::Delete(variable) => add(&mut self.stored, variable.clone()),
                OpKind::Load(variable) => add(&mut self.loaded, variable.clone()),
                OpKind::StoreAttribute(object, ..)
                | OpKind::DeleteAttribute(object, _)
                | OpKind::StoreItem(object, ..)
                | OpKind::DeleteItem(object, _) => add(&mut self.written, *object),
                OpKind::Append(collection, _) => add(&mut self.filled, *collection),
                OpKind::Call(function, _) => add(&mut self.called, *function),
                OpKind::If { then, orelse, .. } if depth > 0 => {
                    self.block(code, then, depth - 1);
                    self.block(code, orelse, depth - 1);
                }
                OpKind::Loop { head, body, orelse, .. } if depth > 0 => {
                    for block in [head, body, orelse] {
                        self.block(code, block, depth - 1);
                    }
                }
                OpKind::Try { body, handlers, orelse, finally } if depth > 0 => {
                    for block in [body, orelse, finally].into_iter().chain(handlers.iter().map(|handler| &handler.body))
                    {
                        self.block(code, block, depth - 1);
                    }
                }
                _ => {}
            }
        }
    }
}

fn add<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}
