//! Results of which the program only measures the time: it waits for them, and looks at no number.
//!
//! **Invariant:** every use of the result is followed to a call that waits, or to a name that nothing reads. The number of steps is bounded; a
//! result with more uses is looked at.

use rustc_hash::FxHashSet;

use crate::ir::{OpKind, Temp, Variable};
use crate::judge::callee_model::model_of;
use crate::judge::consequence::body::{Body, Sinks};
use crate::models::Callable;

/// Most operations that pass a result on.
const STEPS: usize = 32;

impl Body<'_, '_> {
    /// Whether the program only waits for the result of a call: `step(x).block_until_ready()`, `y = step(x); jax.block_until_ready(y)`.
    pub(super) fn is_only_awaited(&self, call: Temp) -> bool {
        let (mut work, mut seen) = (vec![call], FxHashSet::default());
        let mut waits = false;
        while let Some(temp) = work.pop() {
            if !seen.insert(temp) {
                continue;
            }
            if seen.len() > STEPS {
                return false;
            }
            for reader in self.uses.readers(temp) {
                match &self.code.ops[*reader as usize].kind {
                    OpKind::Unpack { .. } | OpKind::Project(..) => work.push(*reader),
                    OpKind::Attribute(_, name) if self.flows.run.program.models.awaits(name) => work.push(*reader),
                    OpKind::Call(callee, _) if *callee == temp && temp != call => {
                        waits = true;
                        work.push(*reader);
                    }
                    OpKind::Call(callee, _) if *callee != temp && self.waits_for_arguments(*callee) => {
                        waits = true;
                        work.push(*reader);
                    }
                    OpKind::Store(variable, _) => match self.loads_of(*reader, variable) {
                        Some(loads) => work.extend(loads),
                        None => return false,
                    },
                    _ => return false,
                }
            }
        }
        waits
    }

    /// Whether a function waits for its arguments: `jax.block_until_ready`.
    fn waits_for_arguments(&self, callee: Temp) -> bool {
        model_of(self.flows.run, self.module, self.code, callee).is_some_and(Callable::awaits)
    }

    /// The operations that may read what a store stored; `None` if other functions may.
    fn loads_of(&self, store: Temp, variable: &Variable) -> Option<Vec<Temp>> {
        let is_own = match variable {
            Variable::Local(slot) => !self.uses.is_captured(*slot),
            Variable::Global(name) => {
                let readers = self.flows.readers_of_global(self.module, name);
                readers == Sinks::default() || readers == Sinks::UNREAD
            }
            Variable::Outer(..) => false,
        };
        is_own.then(|| self.uses.reaching(self.code, variable).loads_of(store).to_vec())
    }
}
