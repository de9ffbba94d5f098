//! Two calls that belong together, so that they need one draw: a loss and its gradients, or two kinds of derivatives.
//!
//! **Invariant:** derivatives are taken of one function. Beside the function itself, its other arguments are the same, apart from the one
//! that is differentiated.

use crate::analysis::record::{Callee, Recording};
use crate::finding::{Intent, IntentKind, Place};
use crate::ir::{Argument, OpKind, Temp, Variable};
use crate::judge::intent::{Calls, Pair, because, calls_apart, is_written_alike};
use crate::models::{Effect, TransformResult};

/// Two draws happen within calls of one function on the same data, one of which takes the gradient: `loss(w, key, x)`, `grad(loss)(w +
/// step, key, x)`.
pub fn paired_gradients(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    if pair.repeated_by.is_some() || pair.first.place != pair.second.place {
        return None;
    }
    let calls = calls_apart(run, pair, 1)?;
    let (once, again) = (calls.place(calls.once), calls.place(calls.again));
    let derivatives = [again, once].map(|place| derivative(run, place));
    if calls.once == calls.again || !runs_one_function(run, once, again) {
        return None;
    }
    match derivatives {
        [None, None] => None,
        [Some(one), Some(other)] if one != other && takes_one_argument(&calls) => {
            Some(because(IntentKind::PairedCalls, "two derivatives of one function use the same draw", again))
        }
        [one, _] => has_one_batch(&calls).then(|| {
            let gradient = if one.is_some() { again } else { once };
            because(IntentKind::PairedCalls, "a loss and its gradients use the same draw", gradient)
        }),
    }
}

fn callees<'r>(run: &Recording<'r>, place: Place) -> &'r [Callee] {
    run.log.callees.get(&place).map_or(&[], Vec::as_slice)
}

/// Which kind of derivative a call takes; a gradient with the value of the function counts as a gradient.
fn derivative(run: &Recording<'_>, place: Place) -> Option<TransformResult> {
    callees(run, place).iter().find_map(|callee| {
        let Callee::Library(path) = callee else { return None };
        match &run.program.models.callable(path)?.effect {
            Effect::Transform(transform) => match transform.result {
                TransformResult::Grad | TransformResult::ValueAndGrad => Some(TransformResult::Grad),
                kind @ (TransformResult::Jvp | TransformResult::Vjp) => Some(kind),
                TransformResult::Value | TransformResult::Opaque => None,
            },
            _ => None,
        }
    })
}

fn runs_one_function(run: &Recording<'_>, once: Place, again: Place) -> bool {
    let functions = |place| {
        callees(run, place).iter().filter_map(|callee| match callee {
            Callee::Function(module, id, _) => Some((*module, *id)),
            _ => None,
        })
    };
    functions(once).any(|one| functions(again).any(|other| one == other))
}

/// Whether both calls pass the function one argument only, so that its data are those that it captures: `grad(f)(w)`, `vjp(f, w)`,
/// `jvp(f, (w,), (v,))`.
fn takes_one_argument(calls: &Calls<'_>) -> bool {
    [calls.once, calls.again].into_iter().all(|call| match &calls.code.ops[call as usize].kind {
        OpKind::Call(_, given) => match &given[..] {
            [_] | [_, Argument::Positional(_)] => true,
            [_, Argument::Positional(primals), Argument::Positional(_)] => {
                matches!(&calls.code.ops[*primals as usize].kind, OpKind::Build(_, elements) if elements.len() == 1)
            }
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
    let is_same = |(one, other): (&Argument, &Argument)| match (one, other) {
        (Argument::Positional(one), Argument::Positional(other)) => is_unchanged(calls, *one, *other),
        (Argument::Keyword(name, one), Argument::Keyword(named, other)) => {
            name == named && is_unchanged(calls, *one, *other)
        }
        _ => false,
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
}

/// Whether two operations, written alike, give the same value: nothing that they read is rebound between the calls.
fn is_unchanged(calls: &Calls<'_>, one: Temp, other: Temp) -> bool {
    let ops = &calls.code.ops;
    let between = calls.once.min(calls.again)..calls.once.max(calls.again);
    let is_rebound = |variable: &Variable| {
        between.clone().any(|temp| matches!(&ops[temp as usize].kind, OpKind::Store(of, _) if of == variable))
    };
    if !is_written_alike(calls.code, one, other) {
        return false;
    }
    // Operands come before what reads them, so this ends.
    let mut work = vec![one];
    while let Some(temp) = work.pop() {
        let kind = &ops[temp as usize].kind;
        if matches!(kind, OpKind::Load(variable) if is_rebound(variable)) {
            return false;
        }
        kind.operands(&mut |operand| work.push(operand));
    }
    true
}
