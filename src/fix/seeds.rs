//! Two keys from one seed (KEY105): make one key and split it.
//!
//! **Invariant:** the two keys are made by plain assignments of one suite, with nothing between them that names the second.

use super::bench::{Bench, Proposal};
use super::layout;
use super::tree;
use crate::finding::{Applicability, Finding};
use crate::python::ast::{Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

pub(super) fn propose(bench: &Bench<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    merged(bench, findings, index).into_iter().collect()
}

/// `a = key(0)` … `b = key(0)` becomes `a, b = split(key(0))`.
fn merged(bench: &Bench<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let (first, again) = findings[index].repair.as_ref()?.derived_at?;
    let (first, again) = (bench.here(first)?, bench.here(again)?);
    let (first, again) = if first.start <= again.start { (first, again) } else { (again, first) };
    let (here, there) = (bench.steps(first), bench.steps(again));
    if here.len() != there.len() || first == again {
        return None;
    }
    let (step, later) = (*here.last()?, *there.last()?);
    if !step.is_beside(later) {
        return None;
    }
    let (left, right) = (assigned(step.statement(), first)?, assigned(later.statement(), again)?);
    if left == right || bench.slice(first) != bench.slice(again) {
        return None;
    }
    let between = Span::new(span_of(step.statement()).end, span_of(later.statement()).start);
    let is_named = bench.names.occurrences(right).iter().any(|one| between.covers(one.span));
    let lines = layout::own_lines(bench.text, span_of(later.statement()))?;
    let call = tree::call_at(bench.module, first)?;
    let split = bench.spelled(first.start, "jax.random.split", Some(call))?;
    let code = format!("{left}, {right} = {split}({})", bench.slice(first));
    (!is_named).then(|| Proposal {
        message: "make one key from the seed and split it; the numbers change".to_owned(),
        applicability: Applicability::Unsafe,
        edits: vec![
            Edit { span: span_of(step.statement()), content: code },
            Edit { span: lines, content: String::new() },
        ],
        mends: vec![index],
        names: Vec::new(),
    })
}

/// The one variable that a statement assigns the value at a span to.
fn assigned(statement: &Stmt, value: Span) -> Option<&str> {
    match statement {
        Stmt::Assign(assign) if span_of(&*assign.value) == value => match &assign.targets[..] {
            [Expr::Name(name)] => Some(name.id.as_str()),
            _ => None,
        },
        _ => None,
    }
}
