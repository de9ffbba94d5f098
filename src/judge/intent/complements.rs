//! A draw and its complement: `x * mask(key)` beside `x * (1 - mask(key))`, `f(normal(key))` beside `f(-normal(key))`.
//!
//! **Invariant:** the two calls are written alike, and everything that reads one result takes its opposite, which nothing does with the other.
//! Of independent draws, the opposite would serve for nothing: it has the same distribution, or that of another parameter.

use crate::analysis::record::Recording;
use crate::finding::{Intent, IntentKind};
use crate::ir::{Constant, Function, OpKind, Operator, Temp, Uses};
use crate::judge::intent::compared_results::copies;
use crate::judge::intent::pair::{Pair, STEPS, because, calls_apart};
use crate::judge::intent::paired_calls::is_unchanged;

const OPPOSITE: &str = "the program uses a draw and its opposite";

/// How an operation uses a draw.
#[derive(Clone, Copy)]
enum Usage {
    /// `-z`, `~mask`, `1 - mask`.
    Opposite,
    /// `u < p`, by its bound, and whether equal numbers count.
    Below(Temp, bool),
    /// `u >= p`, by its bound, and whether equal numbers count.
    Above(Temp, bool),
    /// Anything else.
    Other,
}

/// One of two calls that are written alike is only used by its opposite: `~mask(key)`, `1 - mask(key)`, `-normal(key)`, `uniform(key) >= p`.
pub fn complementary(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let calls = calls_apart(run, pair, 0).filter(|calls| calls.once != calls.again)?;
    let (code, both) = (calls.code, [calls.once, calls.again]);
    let [once, again] = both.map(|call| usages(code, &calls.uses, call));
    let is_opposite = |usages: &[Usage]| usages.iter().all(|usage| matches!(usage, Usage::Opposite));
    let is_plain = |usages: &[Usage]| !usages.iter().any(|usage| matches!(usage, Usage::Opposite));
    let are_bounds = |one: &[Usage], other: &[Usage]| {
        let complete = |below: &Usage, above: &Usage| match (below, above) {
            (Usage::Below(bound, with), Usage::Above(least, without)) => {
                with != without && is_unchanged(code, both, *bound, *least)
            }
            _ => false,
        };
        one.iter().all(|below| other.iter().all(|above| complete(below, above)))
    };
    let are_complements = is_opposite(&once) && is_plain(&again)
        || is_plain(&once) && is_opposite(&again)
        || are_bounds(&once, &again)
        || are_bounds(&again, &once);
    let is_one_draw = !once.is_empty() && !again.is_empty() && is_unchanged(code, both, calls.once, calls.again);
    let place = calls.place(if is_opposite(&once) { calls.once } else { calls.again });
    (is_one_draw && are_complements).then(|| because(IntentKind::DisjointParts, OPPOSITE, place))
}

/// How the operations use the result of a call, or another type of it: `mask(key).astype(float)`.
fn usages(code: &Function, uses: &Uses, call: Temp) -> Vec<Usage> {
    let mut found = Vec::new();
    let mut work = vec![call];
    for _ in 0..STEPS {
        let Some(value) = work.pop() else { break };
        for copy in copies(code, uses, value) {
            for reader in uses.readers(copy) {
                match &code.ops[*reader as usize].kind {
                    OpKind::Store(..) => {}
                    OpKind::Attribute(..) => match uses.readers(*reader) {
                        [method] if matches!(code.ops[*method as usize].kind, OpKind::Call(..)) => work.push(*method),
                        _ => found.push(Usage::Other),
                    },
                    kind => found.push(usage(code, kind, copy)),
                }
            }
        }
    }
    found
}

/// How an operation uses a value.
fn usage(code: &Function, kind: &OpKind, value: Temp) -> Usage {
    let OpKind::Operate(operator, operands, _) = kind else { return Usage::Other };
    let is_one = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Constant(Constant::Int(number)) => i64::try_from(**number) == Ok(1),
        OpKind::Constant(Constant::Float(number)) => (number - 1.0).abs() < f64::EPSILON,
        _ => false,
    };
    match (operator, operands) {
        (Operator::Neg | Operator::Invert, _) => Usage::Opposite,
        (Operator::Sub, [Some(whole), Some(part)]) if *part == value && is_one(*whole) => Usage::Opposite,
        (Operator::Lt | Operator::Le, [Some(small), Some(bound)]) if *small == value => {
            Usage::Below(*bound, *operator == Operator::Le)
        }
        (Operator::Gt | Operator::Ge, [Some(great), Some(bound)]) if *great == value => {
            Usage::Above(*bound, *operator == Operator::Ge)
        }
        (Operator::Lt | Operator::Le, [Some(bound), Some(great)]) if *great == value => {
            Usage::Above(*bound, *operator == Operator::Le)
        }
        (Operator::Gt | Operator::Ge, [Some(bound), Some(small)]) if *small == value => {
            Usage::Below(*bound, *operator == Operator::Ge)
        }
        _ => Usage::Other,
    }
}
