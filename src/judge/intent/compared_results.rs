//! Two calls whose results the program compares: a finite difference of one function, or a test whether two results are equal.
//!
//! **Invariant:** the results themselves are compared, not what is computed from them; the arguments of a finite difference differ only by
//! what one of them adds or subtracts, and if only one is shifted, the difference is divided by that. Other differences may need independent
//! draws.

use std::collections::BTreeSet;

use crate::analysis::record::Recording;
use crate::finding::{Intent, IntentKind};
use crate::ir::{Argument, Function, OpKind, Operator, ReachingDefinitions, Temp, Uses, Variable, is_written_alike};
use crate::judge::intent::{Pair, STEPS, because, calls_apart};

const DIFFERENCE: &str = "the program takes a finite difference of one function";

const EQUAL: &str = "the program asserts that the two results are equal";

/// The results of two calls that draw are compared: `loss(w + d, key) - loss(w - d, key)`, `assert jnp.allclose(fast(key, x), slow(key, x))`.
pub fn compared_results(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    if pair.repeated_by.is_some() {
        return None;
    }
    let calls = calls_apart(run, pair, 0)?;
    let (code, uses) = (calls.code, &calls.uses);
    if calls.once == calls.again {
        return None;
    }
    let (one, other) = (copies(code, uses, calls.once), copies(code, uses, calls.again));
    let are_both = |a: Temp, b: Temp| one.contains(&a) && other.contains(&b) || one.contains(&b) && other.contains(&a);
    let is_within = calls_apart(run, pair, 1).is_some();
    let differences = || Some((difference(code, uses, calls.once)?, difference(code, uses, calls.again)?));
    if let Some((_, reader)) = is_within.then(differences).flatten() {
        return Some(because(IntentKind::Comparison, DIFFERENCE, calls.place(reader)));
    }
    one.iter().flat_map(|temp| uses.readers(*temp)).find_map(|reader| match &code.ops[*reader as usize].kind {
        OpKind::Operate(operator, [Some(a), Some(b)], _) if are_both(*a, *b) => {
            let is_equality = *operator == Operator::Eq && is_asserted(code, uses, *reader);
            is_equality.then(|| because(IntentKind::Comparison, EQUAL, calls.place(*reader)))
        }
        OpKind::Call(callee, given) => match &given[..] {
            [Argument::Positional(a), Argument::Positional(b), ..]
                if are_both(*a, *b) && asserts_equality(run, pair, (code, uses), (*reader, *callee)) =>
            {
                Some(because(IntentKind::Comparison, EQUAL, calls.place(*reader)))
            }
            _ => None,
        },
        _ => None,
    })
}

/// Whether a call asserts that its arguments are equal: `np.testing.assert_array_equal(a, b)`, or `jnp.allclose(a, b)` under `assert`.
fn asserts_equality(
    run: &Recording<'_>,
    pair: &Pair<'_>,
    (code, uses): (&Function, &Uses),
    (call, callee): (Temp, Temp),
) -> bool {
    let words = &run.program.models.words;
    let library = run.library_named(pair.first.activation.module, code, callee);
    let written = match &code.ops[callee as usize].kind {
        OpKind::Attribute(_, name) | OpKind::Load(Variable::Global(name)) => Some(name),
        _ => None,
    };
    let Some(path) = library.as_ref().or(written) else { return false };
    let name = path.rsplit('.').next().unwrap_or(path);
    words.tests_equality(name) && (name.starts_with(ASSERT) || is_asserted(code, uses, call))
}

/// How the names of functions begin that raise unless what they test holds.
const ASSERT: &str = "assert";

/// Whether a value is the test of an `assert`, perhaps through `bool(…)`, `jnp.all(…)` or `.all()`.
fn is_asserted(code: &Function, uses: &Uses, value: Temp) -> bool {
    let mut temp = value;
    for _ in 0..STEPS {
        let [reader] = uses.readers(temp) else { return false };
        match &code.ops[*reader as usize].kind {
            OpKind::If { then, orelse, .. } => {
                let raises = |temp: &Temp| matches!(code.ops[*temp as usize].kind, OpKind::Raise(_));
                return then.is_empty() && orelse.last().is_some_and(raises);
            }
            // `bool(x)`, `jnp.all(x)`, `x.all()`; another function may negate.
            OpKind::Call(callee, _) if is_whole(code, *callee) => temp = *reader,
            OpKind::Attribute(_, name) if &**name == "all" => temp = *reader,
            _ => return false,
        }
    }
    false
}

/// Whether a callee is `bool`, or `all` of a library or of an array.
fn is_whole(code: &Function, callee: Temp) -> bool {
    match &code.ops[callee as usize].kind {
        OpKind::Load(Variable::Global(name)) => matches!(&**name, "all" | "bool"),
        OpKind::Attribute(_, name) => &**name == "all",
        _ => false,
    }
}

/// The arguments in which two calls of one callee differ, as written; `None` if they are no such calls.
fn differing(code: &Function, once: Temp, again: Temp) -> Option<Vec<(Temp, Temp)>> {
    let (once, again) = (&code.ops[once as usize].kind, &code.ops[again as usize].kind);
    let (OpKind::Call(callee, given), OpKind::Call(other, others)) = (once, again) else { return None };
    if !is_written_alike(code, *callee, *other) || given.len() != others.len() {
        return None;
    }
    let pairs = given.iter().zip(others).map(|pair| match pair {
        (Argument::Positional(one), Argument::Positional(other)) => Some((*one, *other)),
        (Argument::Keyword(name, one), Argument::Keyword(named, other)) if name == named => Some((*one, *other)),
        _ => None,
    });
    let pairs: Vec<(Temp, Temp)> = pairs.collect::<Option<_>>()?;
    Some(pairs.into_iter().filter(|(one, other)| !is_written_alike(code, *one, *other)).collect())
}

/// The finite difference that the result of a call is a side of: `f(x + d, key) - f(x - d, key)`, or `(f(x + d, key) - f(x, key)) / d`. Without
/// the division, the increment of a random walk is `f(t + d, key) - f(t, key)`.
fn difference(code: &Function, uses: &Uses, call: Temp) -> Option<Temp> {
    let sides = copies(code, uses, call);
    sides.iter().flat_map(|temp| uses.readers(*temp)).copied().find(|reader| {
        let OpKind::Operate(Operator::Sub, [Some(a), Some(b)], _) = &code.ops[*reader as usize].kind else {
            return false;
        };
        let others = [*a, *b].into_iter().filter(|side| !sides.contains(side));
        let mut calls = others.filter_map(|side| made_by(code, side));
        calls.any(|other| is_finite(code, uses, (call, other), *reader))
    })
}

/// The call whose result a value is, perhaps through a variable that is stored once.
fn made_by(code: &Function, value: Temp) -> Option<Temp> {
    let is_call = |temp: &Temp| matches!(code.ops[*temp as usize].kind, OpKind::Call(..));
    let OpKind::Load(variable) = &code.ops[value as usize].kind else { return Some(value).filter(is_call) };
    code.sole_value(variable).filter(is_call)
}

/// Whether the difference of two calls is finite: what differs is shifted both ways, or one way by what the difference is divided by.
fn is_finite(code: &Function, uses: &Uses, (call, other): (Temp, Temp), difference: Temp) -> bool {
    let Some(all) = differing(code, call, other).filter(|all| !all.is_empty()) else { return false };
    let shift = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Operate(operator @ (Operator::Add | Operator::Sub), [Some(from), Some(by)], _) => {
            Some((*operator, *from, *by))
        }
        _ => None,
    };
    all.iter().all(|(one, other)| match (shift(*one), shift(*other)) {
        (Some((up, from, _)), Some((down, to, _))) => up != down && is_written_alike(code, from, to),
        (Some((_, from, by)), None) => is_written_alike(code, from, *other) && is_divided(code, uses, difference, by),
        (None, Some((_, from, by))) => is_written_alike(code, from, *one) && is_divided(code, uses, difference, by),
        (None, None) => false,
    })
}

/// Whether a value is only divided, by what is written like a step or by a multiple of it.
fn is_divided(code: &Function, uses: &Uses, value: Temp, step: Temp) -> bool {
    let [reader] = uses.readers(value) else { return false };
    let OpKind::Operate(Operator::Div, [Some(of), Some(by)], _) = &code.ops[*reader as usize].kind else {
        return false;
    };
    let is_step = |temp: Temp| is_written_alike(code, temp, step);
    let is_multiple = match &code.ops[*by as usize].kind {
        OpKind::Operate(Operator::Mul, [Some(one), Some(other)], _) => is_step(*one) || is_step(*other),
        _ => false,
    };
    *of == value && (is_step(*by) || is_multiple)
}

/// A value, and the reads of variables that hold nothing else.
fn copies(code: &Function, uses: &Uses, value: Temp) -> BTreeSet<Temp> {
    let mut found = BTreeSet::from([value]);
    let mut work = vec![value];
    while let Some(temp) = work.pop().filter(|_| found.len() <= STEPS) {
        for reader in uses.readers(temp) {
            let OpKind::Store(variable, _) = &code.ops[*reader as usize].kind else { continue };
            let loads = sole_loads(code, uses, variable, *reader);
            work.extend(loads.iter().filter(|load| found.insert(**load)));
        }
    }
    found
}

/// The reads of a variable in the function that always get what a store put there.
fn sole_loads(code: &Function, uses: &Uses, variable: &Variable, store: Temp) -> Vec<Temp> {
    let loads = uses.reaching(code, variable).loads_of(store).to_vec();
    let before = ReachingDefinitions::before(code, variable, &loads, &|_| false);
    loads.into_iter().filter(|load| before.is_always(*load, store)).collect()
}
