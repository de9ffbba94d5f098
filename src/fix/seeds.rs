//! Seeds: two keys from one seed (KEY105) become one key that is split, and a hash of a string (KEY404) becomes one
//! that is the same in every process.
//!
//! **Invariant:** keys are merged only if plain assignments of one suite make them and nothing between these mentions
//! the second key. No other seed is invented, because replacing one constant by another does not fix the mistake.

use super::context::{FixContext, Proof, Proposal};
use super::jax;
use super::layout;
use super::names::Action;
use super::tree::{self, Step};
use crate::finding::{Finding, Place};
use crate::python::ast::{AnyNodeRef, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let derived = findings[index].fix_hints.as_ref().and_then(|fix_hints| fix_hints.derived_at);
    let superseded = derived.and_then(|derived| superseded(cx, index, derived));
    merged(cx, findings, index).into_iter().chain(superseded).collect()
}

/// `a, b = split(key(0))` right after the statement that made `a` and `b`, and others, from a key of the same seed: it
/// only binds names to keys that already exist.
fn superseded(cx: &FixContext<'_>, index: usize, (first, again): (Place, Place)) -> Option<Proposal> {
    let (first, again) = (cx.here(first)?, cx.here(again)?);
    let seeded = tree::call_at(cx.module, first.max(again))?;
    let step = cx.steps(span_of(seeded)).pop()?;
    let before = Step { suite: step.suite, index: step.index.checked_sub(1)? };
    let split = |step: Step<'_>| match step.statement() {
        Stmt::Assign(assign) => match &*assign.value {
            Expr::Call(call) if cx.is_split(call) => Some(span_of(call)),
            _ => None,
        },
        _ => None,
    };
    let names = |step: Step<'_>| {
        let names = tree::targets(step.statement()).iter().flat_map(tree::names_bound);
        names.map(|name| name.id.to_string()).collect::<Vec<_>>()
    };
    let (bound, others) = (names(step), names(before));
    let is_again = split(step)?.covers(span_of(seeded)) && split(before).is_some();
    let lines = layout::own_lines(cx.text, span_of(step.statement()))?;
    let is_less = bound.len() < others.len() && bound.iter().all(|name| others.contains(name));
    (is_again && is_less).then(|| {
        Proposal::new(
            format!("keep the keys {} that were created before; the numbers change", bound.join(" and ")),
            vec![Edit::delete(lines)],
            vec![index],
        )
    })
}

/// `a = key(0)` … `b = key(0)` becomes `a, b = split(key(0))`.
fn merged(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let (first, again) = findings[index].fix_hints.as_ref()?.derived_at?;
    let (first, again) = (cx.here(first)?, cx.here(again)?);
    let (first, again) = if first.start <= again.start { (first, again) } else { (again, first) };
    let (here, there) = (cx.steps(first), cx.steps(again));
    if here.len() != there.len() || first == again {
        return None;
    }
    let (step, later) = (*here.last()?, *there.last()?);
    if !step.is_beside(later) {
        return None;
    }
    let (left, right) = (assigned(step.statement(), first)?, assigned(later.statement(), again)?);
    if left == right || cx.slice(first) != cx.slice(again) {
        return None;
    }
    let between = Span::new(span_of(step.statement()).end, span_of(later.statement()).start);
    let is_named = cx.names.occurrences(right).iter().any(|one| between.covers(one.span));
    let lines = layout::own_lines(cx.text, span_of(later.statement()))?;
    let call = tree::call_at(cx.module, first)?;
    let split = cx.spelled(first.start, jax::SPLIT, Some(call))?;
    let code = format!("{left}, {right} = {split}({})", cx.slice(first));
    (!is_named).then(|| {
        Proposal::new(
            "create one key from the seed and split it; the numbers change".to_owned(),
            vec![Edit::replace(span_of(step.statement()), code), Edit::delete(lines)],
            vec![index],
        )
    })
}

/// `hash(name)` becomes `zlib.crc32(name.encode())`.
pub(super) fn stable(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    checksum(cx, findings, index).into_iter().collect()
}

fn checksum(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let source = findings[index].related.first()?.place;
    let call = tree::call_at(cx.module, cx.here(source)?)?;
    let ([text], true) = (&call.arguments.args[..], call.arguments.keywords.is_empty()) else { return None };
    if !cx.is_builtin(&call.func, "hash") || !is_text(cx, text) {
        return None;
    }
    let scope = cx.names.scope_at(span_of(call).start);
    let known = cx.imports.spelling(&cx.names, scope, CHECKSUM);
    let import = match known {
        Some(_) => None,
        None if cx.names.occurrences("zlib").is_empty() => Some(cx.import_before_others("import zlib")?),
        None => return None,
    };
    let function = known.unwrap_or_else(|| CHECKSUM.to_owned());
    let code = format!("{function}({}.encode())", cx.code(text));
    let message = "use a checksum, which is the same in every process; the numbers change".to_owned();
    let edits = import.into_iter().chain([Edit::replace(span_of(call), code)]).collect();
    Some(Proposal::new(message, edits, vec![index]).proved_by(Proof::Own { instead: None }))
}

/// A stable hash of bytes.
const CHECKSUM: &str = "zlib.crc32";

/// Whether an expression is clearly a string: a literal, or a parameter that is annotated `str` and not rebound.
fn is_text(cx: &FixContext<'_>, expr: &Expr) -> bool {
    let Expr::Name(name) = expr else { return matches!(expr, Expr::StringLiteral(_) | Expr::FString(_)) };
    let Some(binder) = cx.names.binder(cx.names.scope_at(span_of(name).start), name.id.as_str()) else { return false };
    let own = || cx.names.occurrences(name.id.as_str()).iter().filter(|one| one.scope == binder);
    let is_annotated = |parameter: Span| {
        tree::ancestors(cx.module, parameter).into_iter().any(|node| match node {
            AnyNodeRef::Parameter(parameter) => parameter.annotation.as_deref().is_some_and(|of| cx.code(of) == "str"),
            _ => false,
        })
    };
    let declared = own().find(|one| one.action == Action::Parameter);
    declared.is_some_and(|one| is_annotated(one.span)) && !own().any(|one| one.action == Action::Bind)
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
