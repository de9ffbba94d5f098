//! Value flow into functions that capture a variable.
//!
//! **Invariant:** what a captured value becomes is found in each function that reads it, however deep, and in those that run it.

use std::rc::Rc;

use crate::ir::{Function, FunctionId, Module, Op, OpKind, Temp, Variable};
use crate::judge::consequence::body::{Body, Path, Sinks};

impl Body<'_, '_> {
    /// A variable that functions within this one read: what they do with it, and what holds them.
    pub(super) fn hold_captured(&mut self, slot: u32, path: &Path) {
        let Some(readers) = self.flows.readers_within((self.module, self.id), slot) else {
            self.add(Sinks::STORED);
            return;
        };
        for (id, load) in readers.iter().copied() {
            let Some(effects) = self.flows.of_load((self.module, id), load, path, self.depth) else {
                self.add(Sinks::ESCAPES);
                continue;
            };
            self.effects.sinks.add(effects.sinks);
            if !effects.mutated.is_empty() {
                self.add(Sinks::STORED);
            }
            if !effects.returned.is_empty() {
                self.hold_function(id);
            }
        }
    }

    /// A function within this one returns something of a value that it captured: code that runs the function gets it, in this function or in
    /// those between.
    fn hold_function(&mut self, id: FunctionId) {
        let module = self.flows.run.module(self.module);
        let makers = |code: &Function, id: FunctionId| {
            let makes_it = |op: &Op| matches!(op.kind, OpKind::Function(made, _) if made == id);
            (0u32..).zip(&code.ops).filter(|(_, op)| makes_it(op)).map(|(temp, _)| temp).collect::<Vec<Temp>>()
        };
        let Some(around) = module.function(id).parent else { return };
        if around == self.id {
            for temp in makers(self.code, id) {
                if !self.excluded.contains(&temp) {
                    self.hold(temp, Path::new());
                }
            }
            return;
        }
        let mut is_returned = false;
        for temp in makers(module.function(around), id) {
            let Some(effects) = self.flows.of_load((self.module, around), temp, &Path::new(), self.depth) else {
                self.add(Sinks::ESCAPES);
                continue;
            };
            self.effects.sinks.add(effects.sinks);
            if !effects.mutated.is_empty() {
                self.add(Sinks::STORED);
            }
            is_returned |= !effects.returned.is_empty();
        }
        // Functions are nested as deep as the text, which is bounded.
        if is_returned {
            self.hold_function(around);
        }
    }
}

/// The operations of functions within a function that read one of its variables; `None` if one of them binds it.
pub fn readers_within(module: &Module, id: FunctionId, slot: u32) -> Option<Rc<[(FunctionId, Temp)]>> {
    let code = module.function(id);
    let mut readers = Vec::new();
    for (inner_id, inner) in (0u32..).map(FunctionId).zip(&module.functions) {
        if inner_id == id || !code.full.covers(inner.full) {
            continue;
        }
        // How many functions outwards this one is.
        let outwards = std::iter::successors(inner.parent, |around| module.function(*around).parent);
        let Some(depth) = (1u32..).zip(outwards).find(|(_, around)| *around == id).map(|(depth, _)| depth) else {
            continue;
        };
        for (temp, op) in (0u32..).zip(&inner.ops) {
            match &op.kind {
                OpKind::Load(Variable::Outer(of, read)) if (*of, *read) == (depth, slot) => {
                    readers.push((inner_id, temp));
                }
                OpKind::Store(Variable::Outer(of, bound), _) if (*of, *bound) == (depth, slot) => return None,
                _ => {}
            }
        }
    }
    Some(readers.into())
}
