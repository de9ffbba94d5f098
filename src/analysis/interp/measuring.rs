//! Functions that measure how long what they are given takes.
//!
//! **Invariant:** a function measures only what comes to it as a parameter, and is called between two readings of a clock.

use crate::analysis::domain::value::{ModuleIndex, Val, Value};
use crate::analysis::log::Consumption;
use crate::ir::{FunctionId, OpKind, Temp, Variable};
use crate::models::{BuiltinOp, Effect};

use super::Machine;

/// A run of something by a function that measures it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Run {
    module: ModuleIndex,
    function: FunctionId,
    activation: u32,
    call: Temp,
}

impl Machine<'_> {
    /// Whether two draws happen in different runs that one function measures: ways to do the same work are compared.
    pub(super) fn are_measured(&mut self, first: &Consumption, second: &Consumption) -> bool {
        let (one, other) = (self.measured_runs(first), self.measured_runs(second));
        one.iter().any(|a| {
            other.iter().any(|b| {
                (a.module, a.function) == (b.module, b.function) && (a.activation, a.call) != (b.activation, b.call)
            })
        })
    }

    /// The runs of measured functions that an event happened in.
    fn measured_runs(&mut self, event: &Consumption) -> Vec<Run> {
        let mut runs = Vec::new();
        for (activation, place) in Self::chain(event) {
            let (module, function) = (activation.module, activation.function);
            let Some(call) = self.uses_of(module, function).call_at(place.span) else { continue };
            if self.module(module).file == place.file
                && let Some(slot) = self.called_parameter(module, function, call)
                && self.measures(module, function, slot)
            {
                runs.push(Run { module, function, activation: activation.id, call });
            }
        }
        runs
    }

    /// The parameter that a call calls.
    fn called_parameter(&self, module: ModuleIndex, function: FunctionId, call: Temp) -> Option<u32> {
        let code = self.module(module).function(function);
        let OpKind::Call(callee, _) = &code.ops[call as usize].kind else { return None };
        match &code.ops[*callee as usize].kind {
            OpKind::Load(Variable::Local(slot)) if (*slot as usize) < code.parameters.len() => Some(*slot),
            _ => None,
        }
    }

    /// Whether a function calls a parameter after it read a clock, and reads one again.
    fn measures(&mut self, module: ModuleIndex, function: FunctionId, slot: u32) -> bool {
        let count = self.module(module).function(function).ops.len();
        let mut stage = 0;
        for temp in 0..u32::try_from(count).unwrap_or(u32::MAX) {
            let is_next = match stage {
                1 => self.called_parameter(module, function, temp) == Some(slot),
                _ => self.reads_clock(module, function, temp),
            };
            stage += u32::from(is_next);
        }
        stage > 2
    }

    fn reads_clock(&mut self, module: ModuleIndex, function: FunctionId, temp: Temp) -> bool {
        let code = self.module(module).function(function);
        let OpKind::Call(callee, _) = &code.ops[temp as usize].kind else { return false };
        let named = self.named(module, code, *callee);
        let Some(Val::Library(path)) = named.as_ref().and_then(Value::single) else { return false };
        let callable = self.program.models.callable(path);
        callable.is_some_and(|callable| callable.effect == Effect::Builtin(BuiltinOp::Clock))
    }
}
