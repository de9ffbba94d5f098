//! Calls that only compile a function, so that the time of later calls can be measured: `step(key, x)` between two readings of the clock.
//!
//! **Invariant:** nothing reads the result, a later call of the same variable is run for its result, and JAX itself compiles the function. A library's
//! own `jit` may carry the state of its objects back.

use crate::analysis::record::{Activation, Callee, Recording};
use crate::finding::Place;
use crate::ir::{Function, OpKind, Temp};
use crate::judge::callee_model::model_of;
use crate::judge::consequence::Flows;
use crate::models::{Effect, Host, ROOT, Runs};

impl Flows<'_> {
    /// Whether what runs at a place of an activation is a call that only compiles a function.
    pub(super) fn is_compilation(&self, activation: &Activation, place: Place) -> bool {
        let callees = self.run.log.callees.get(&place).map_or(&[][..], Vec::as_slice);
        if !callees.iter().any(|callee| compiles(self.run, callee)) {
            return false;
        }
        let Some(call) = self.run.call_at(activation, place) else { return false };
        let (code, uses) = (self.run.code(activation), self.run.uses_of(activation.module, activation.function));
        let Some(compiled) = callee(code, call) else { return false };
        let runs_it = |temp: Temp| callee(code, temp) == Some(compiled) && !uses.readers(temp).is_empty();
        let reads_clock = |temp: Temp| reads_clock(self.run, activation, code, temp);
        let end = Temp::try_from(code.ops.len()).unwrap_or(Temp::MAX);
        let (before, after) = (0..call, call + 1..end);
        uses.readers(call).is_empty() && after.clone().any(runs_it) && { before }.any(reads_clock) && { after }
            .any(reads_clock)
    }
}

/// Whether something that a call reached is a transform of JAX that compiles.
fn compiles(run: &Recording<'_>, callee: &Callee) -> bool {
    let Callee::Library(path) = callee else { return false };
    let is_of_jax = path.split('.').next() == Some(ROOT);
    match run.program.models.callable(path).map(|callable| &callable.effect) {
        Some(Effect::Transform(transform)) => is_of_jax && transform.traced && transform.runs == Runs::Once,
        _ => false,
    }
}

/// What a call calls.
fn callee(code: &Function, call: Temp) -> Option<&OpKind> {
    match &code.ops[call as usize].kind {
        OpKind::Call(callee, _) => Some(&code.ops[*callee as usize].kind),
        _ => None,
    }
}

/// Whether an operation reads the clock.
fn reads_clock(run: &Recording<'_>, activation: &Activation, code: &Function, temp: Temp) -> bool {
    let OpKind::Call(callee, _) = &code.ops[temp as usize].kind else { return false };
    let host = model_of(run, activation.module, code, *callee).and_then(|callable| callable.host);
    host == Some(Host::Clock)
}
