//! Two calls that belong together, so that they need one draw: a loss and its gradients.
//!
//! **Invariant:** both run one function. Its other arguments are the same, apart from the one that is differentiated.

use std::sync::Arc;

use crate::analysis::domain::value::Value;
use crate::analysis::record::{Activation, Callee, Recording};
use crate::finding::{Intent, IntentKind, Place};
use crate::ir::{Argument, Function, OpKind, Temp, Variable, is_written_alike};
use crate::judge::intent::pair::{Calls, Pair, because, calls_apart, runs_one_function};
use crate::models::{Effect, TransformResult};

/// Two draws happen within calls of one function on the same data, one of which takes the gradient: `loss(w, key, x)`, `grad(loss)(w +
/// step, key, x)`.
pub fn paired_gradients(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    if pair.repeated_by.is_some() || pair.first.place != pair.second.place {
        return None;
    }
    let calls = calls_apart(run, pair, 1)?;
    let (once, again) = (calls.place(calls.once), calls.place(calls.again));
    let gradient = [again, once].into_iter().find(|place| is_derivative(run, *place))?;
    let are_written_alike = || runs_one_function(run, once, again) && has_one_batch(&calls);
    let are_paired = calls.once != calls.again && (are_written_alike() || run_on_one_batch(run, pair));
    are_paired.then(|| because(IntentKind::PairedCalls, "a loss and its gradients use the same draw", gradient))
}

/// Whether the two calls run one function on the same arguments apart from the first, at once or in closures that only call it:
/// `loss(w, key, x)`, `grad(lambda v: loss(v, key, x))(w)`.
fn run_on_one_batch(run: &Recording<'_>, pair: &Pair<'_>) -> bool {
    let (one, other) = (pair.first.chain(), pair.second.chain());
    let common = one.iter().zip(&other).take_while(|((a, _), (b, _))| a.id == b.id).count();
    let (one, other) = (&one[common..], &other[common..]);
    let same = one.iter().enumerate().find_map(|(at, (a, _))| {
        let is_it = |(b, _): &(Arc<Activation>, Place)| (a.module, a.function) == (b.module, b.function);
        Some((at, other.iter().position(is_it)?))
    });
    let Some((at, to)) = same else { return false };
    let parameters = |(activation, _): &(Arc<Activation>, Place)| {
        let count = run.code(activation).parameters.len();
        let slots = &run.environments[activation.environment.0 as usize].slots;
        slots.iter().take(count).collect::<Vec<&Value>>()
    };
    let (given, passed) = (parameters(&one[at]), parameters(&other[to]));
    let mut between = one[..at].iter().chain(&other[..to]);
    between.all(|(activation, place)| only_calls(run, activation, *place))
        && given.iter().skip(1).eq(passed.iter().skip(1))
}

/// Whether an activation runs a closure that only returns a call, whose first argument is the closure's first parameter.
fn only_calls(run: &Recording<'_>, activation: &Activation, place: Place) -> bool {
    let code = run.code(activation);
    let Some(call) = run.call_at(activation, place) else { return false };
    let returns = code.ops.iter().any(|op| matches!(op.kind, OpKind::Return(Some(value)) if value == call));
    let is_first = |temp: Temp| matches!(code.ops[temp as usize].kind, OpKind::Load(Variable::Local(0)));
    let passes_on = match &code.ops[call as usize].kind {
        OpKind::Call(_, given) => matches!(given.first(), Some(Argument::Positional(first)) if is_first(*first)),
        _ => false,
    };
    code.parent.is_some() && returns && passes_on
}

fn callees<'r>(run: &Recording<'r>, place: Place) -> &'r [Callee] {
    run.log.callees.get(&place).map_or(&[], Vec::as_slice)
}

/// Whether a call takes a derivative.
fn is_derivative(run: &Recording<'_>, place: Place) -> bool {
    use TransformResult::{Grad, Jvp, ValueAndGrad, Vjp};
    callees(run, place).iter().any(|callee| match callee {
        Callee::Library(path) => match run.program.models.callable(path).map(|callable| &callable.effect) {
            Some(Effect::Transform(transform)) => matches!(transform.result, Grad | ValueAndGrad | Jvp | Vjp),
            _ => false,
        },
        _ => false,
    })
}

/// Whether two calls have the same arguments, apart from the first.
fn has_one_batch(calls: &Calls<'_>) -> bool {
    let given = |call: Temp| match &calls.code.ops[call as usize].kind {
        OpKind::Call(_, given) => given.get(1..),
        _ => None,
    };
    let (Some(one), Some(other)) = (given(calls.once), given(calls.again)) else { return false };
    let is_same_value = |one, other| is_unchanged(calls.code, [calls.once, calls.again], one, other);
    let is_same = |(one, other): (&Argument, &Argument)| match (one, other) {
        (Argument::Positional(one), Argument::Positional(other)) => is_same_value(*one, *other),
        (Argument::Keyword(name, one), Argument::Keyword(named, other)) => name == named && is_same_value(*one, *other),
        _ => false,
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
}

/// Whether two operations, written alike, give the same value: nothing that they read is rebound between the calls.
pub(super) fn is_unchanged(code: &Function, calls: [Temp; 2], one: Temp, other: Temp) -> bool {
    let ops = &code.ops;
    if !is_written_alike(code, one, other) {
        return false;
    }
    // Operands come before what reads them, so this ends.
    let mut work = vec![one];
    while let Some(temp) = work.pop() {
        let kind = &ops[temp as usize].kind;
        if matches!(kind, OpKind::Load(variable) if is_rebound(code, calls, variable)) {
            return false;
        }
        kind.operands(&mut |operand| work.push(operand));
    }
    true
}

/// Whether a variable is rebound between two calls.
fn is_rebound(code: &Function, [once, again]: [Temp; 2], variable: &Variable) -> bool {
    let mut between = once.min(again)..once.max(again);
    between.any(|temp| matches!(&code.ops[temp as usize].kind, OpKind::Store(of, _) if of == variable))
}
