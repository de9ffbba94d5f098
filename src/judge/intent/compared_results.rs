//! Two calls whose results an assertion compares.
//!
//! **Invariant:** the results themselves are compared, not what is computed from them. Other comparisons may need independent draws.

use std::collections::BTreeSet;

use crate::analysis::record::Recording;
use crate::finding::{Intent, IntentKind};
use crate::ir::{Argument, Function, OpKind, Operator, ReachingDefinitions, Temp, Uses, Variable};
use crate::judge::intent::{Pair, STEPS, because, calls_apart};

const EQUAL: &str = "the program asserts that the two results are equal";

/// The results of two calls that draw are compared: `assert jnp.allclose(fast(key, x), slow(key, x))`.
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
