//! Two calls that belong together, so that they need one draw: a loss and its gradients, or two kinds of derivatives.
//!
//! **Invariant:** derivatives are taken of one function. Beside the function itself, its other arguments are the same, apart from the one
//! that is differentiated.

use crate::analysis::record::{Callee, Consumption, Recording};
use crate::finding::{Intent, IntentKind, Place};
use crate::ir::{Argument, Function, OpKind, Operator, Temp, Variable, is_written_alike};
use crate::judge::intent::{Calls, Pair, because, calls_apart};
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
    if calls.once == calls.again {
        return None;
    }
    if !runs_one_function(run, once, again) {
        let gradient = match derivatives {
            [None, Some(_)] => (pair.first, calls.once, once),
            [Some(_), None] => (pair.second, calls.again, again),
            _ => return None,
        };
        let (draw, call, place) = gradient;
        return takes_gradient_of(run, &calls, draw, call)
            .then(|| because(IntentKind::PairedCalls, "a loss and its gradients use the same draw", place));
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

/// Whether calls in two places may run one function of the program.
pub(super) fn runs_one_function(run: &Recording<'_>, once: Place, again: Place) -> bool {
    let functions = |place| {
        callees(run, place).iter().filter_map(|callee| match callee {
            Callee::Function(module, id, _) => Some((*module, *id)),
            _ => None,
        })
    };
    functions(once).any(|one| functions(again).any(|other| one == other))
}

/// Whether a call takes the gradient of a function of one parameter that only returns, perhaps negated, what the other call returns: `loss(w,
/// key)`, `grad(lambda w: loss(w, key))(w)`.
fn takes_gradient_of(run: &Recording<'_>, calls: &Calls<'_>, draw: &Consumption, gradient: Temp) -> bool {
    let plain = if gradient == calls.once { calls.again } else { calls.once };
    let chain = draw.chain();
    let place = calls.place(gradient);
    let below = chain.iter().position(|(_, within)| *within == place).and_then(|at| chain.get(at + 1));
    let Some((activation, inner)) = below else { return false };
    let code = run.code(activation);
    let Some(inner_call) = run.call_at(activation, *inner) else { return false };
    let is_variable =
        |one: Temp, other: Temp| match (&code.ops[one as usize].kind, &calls.code.ops[other as usize].kind) {
            (OpKind::Load(Variable::Outer(1, slot)), OpKind::Load(variable @ Variable::Local(of))) => {
                slot == of && !is_rebound(calls, variable)
            }
            (OpKind::Load(Variable::Global(global)), OpKind::Load(variable @ Variable::Global(of))) => {
                global == of && !is_rebound(calls, variable)
            }
            _ => false,
        };
    let is_same = |(one, other): (&Argument, &Argument)| match (one, other) {
        (Argument::Positional(one), Argument::Positional(other)) => is_variable(*one, *other),
        (Argument::Keyword(name, one), Argument::Keyword(named, other)) => name == named && is_variable(*one, *other),
        _ => false,
    };
    let (within, beside, at) = (given(code, inner_call), given(calls.code, plain), given(calls.code, gradient));
    let ([Argument::Positional(parameter), rest @ ..], [Argument::Positional(point), others @ ..]) = (within, beside)
    else {
        return false;
    };
    let is_at_point = matches!(at, [Argument::Positional(at)] if is_unchanged(calls, *point, *at));
    code.parameters.len() == 1
        && matches!(code.ops[*parameter as usize].kind, OpKind::Load(Variable::Local(0)))
        && returns_only(code, inner_call)
        && is_at_point
        && rest.len() == others.len()
        && rest.iter().zip(others).all(is_same)
        && runs_one_function(run, *inner, calls.place(plain))
}

/// The arguments of a call.
fn given(code: &Function, call: Temp) -> &[Argument] {
    match &code.ops[call as usize].kind {
        OpKind::Call(_, given) => given,
        _ => &[],
    }
}

/// Whether a function returns what a call returns, or its negative, and nothing else.
fn returns_only(code: &Function, call: Temp) -> bool {
    let is_it = |value: Temp| {
        value == call
            || matches!(&code.ops[value as usize].kind, OpKind::Operate(Operator::Neg, [Some(of), None], _) if *of == call)
    };
    let mut returned = code.ops.iter().filter_map(|op| match op.kind {
        OpKind::Return(value) => Some(value),
        _ => None,
    });
    returned.next().flatten().is_some_and(is_it) && returned.next().is_none()
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
    if !is_written_alike(calls.code, one, other) {
        return false;
    }
    // Operands come before what reads them, so this ends.
    let mut work = vec![one];
    while let Some(temp) = work.pop() {
        let kind = &ops[temp as usize].kind;
        if matches!(kind, OpKind::Load(variable) if is_rebound(calls, variable)) {
            return false;
        }
        kind.operands(&mut |operand| work.push(operand));
    }
    true
}

/// Whether a variable is rebound between two calls.
fn is_rebound(calls: &Calls<'_>, variable: &Variable) -> bool {
    let mut between = calls.once.min(calls.again)..calls.once.max(calls.again);
    between.any(|temp| matches!(&calls.code.ops[temp as usize].kind, OpKind::Store(of, _) if of == variable))
}
