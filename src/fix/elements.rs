//! Elements of one array of keys: `keys[1]` used twice, where `keys = split(key, 3)`.
//!
//! **Invariant:** the array is bound once, by a split into a literal number of keys, and everything that reads it reads
//! an element with a literal index.

use std::collections::BTreeSet;

use super::context::{FixContext, Proposal};
use super::key_uses::{Use, shared};
use super::names::{Action, ScopeId, ScopeKind};
use super::split_apart::loop_below;
use super::tree;
use crate::python::ast::{self, Expr, Number, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// Most elements that a split is extended to.
const MOST: usize = 64;

/// Every use but the first gets an element that nothing reads, and the split makes more if there are too few.
pub(super) fn free(cx: &FixContext<'_>, uses: &[Use<'_>], resolves: &[usize]) -> Option<Proposal> {
    let (first, later) = uses.split_first()?;
    let Expr::Subscript(item) = first.key else { return None };
    let Expr::Name(array) = &*item.value else { return None };
    let array = array.id.as_str();
    if later.is_empty() || uses.iter().any(|one| cx.code(one.key) != cx.code(first.key)) {
        return None;
    }
    let scope = cx.names.frame_at(first.span().start)?;
    let occurrences = cx.names.occurrences(array).iter().filter(|one| one.scope == scope);
    let mut bindings = occurrences.clone().filter(|one| one.action != Action::Read);
    let (binding, None) = (bindings.next()?, bindings.next()) else { return None };
    let step = cx.steps(binding.span).pop()?;
    let Stmt::Assign(assign) = step.statement() else { return None };
    let ([Expr::Name(_)], Expr::Call(split)) = (&assign.targets[..], &*assign.value) else { return None };
    let count = count(split).filter(|_| cx.is_split(split))?;
    let length = number(count)?;
    let depth = cx.steps(binding.span).len() - 1;
    let leads = |one: &Use<'_>| one.steps.iter().any(|other| other.is_beside(step) && step.index < other.index);
    if cx.names.scopes[scope].kind == ScopeKind::Class
        || !uses.iter().all(|one| leads(one) && loop_below(one, depth).is_none())
        || cx.is_exported_from(scope, array)
    {
        return None;
    }
    let read = cx.names.occurrences(array).iter().filter(|one| one.action == Action::Read);
    let mut taken = BTreeSet::new();
    for one in read.filter(|one| cx.names.binder(one.scope, array) == Some(scope)) {
        taken.insert(element(cx, one.span, length)?);
    }
    let mut free = (0..MOST).filter(|index| !taken.contains(index));
    let mut edits = Vec::with_capacity(uses.len());
    let mut most = length;
    for one in later {
        let index = free.next()?;
        most = most.max(index + 1);
        edits.push(Edit::replace(one.span(), format!("{array}[{index}]")));
    }
    let message = if most == length {
        format!("draw from an unused element of `{array}`; the numbers change")
    } else {
        edits.push(Edit::replace(span_of(count), most.to_string()));
        "split into more keys, one for each call; the numbers change".to_owned()
    };
    Some(Proposal::new(message, edits, resolves.to_vec()))
}

/// `a_keys, b_keys = split(key, (2, n))` where `keys = split(key, n)` made one array for several maps.
pub(super) fn rows(cx: &FixContext<'_>, uses: &[Use<'_>], resolves: &[usize]) -> Option<Proposal> {
    let first = uses.first()?;
    let Expr::Name(array) = first.key else { return None };
    let array = array.id.as_str();
    let scope = cx.names.frame_at(first.span().start)?;
    let occurrences = cx.names.occurrences(array).iter().filter(|one| one.scope == scope);
    let mut bindings = occurrences.filter(|one| one.action != Action::Read);
    let (binding, None) = (bindings.next()?, bindings.next()) else { return None };
    let step = cx.steps(binding.span).pop()?;
    let Stmt::Assign(assign) = step.statement() else { return None };
    let ([Expr::Name(target)], Expr::Call(split)) = (&assign.targets[..], &*assign.value) else { return None };
    let count = count(split).filter(|count| cx.is_split(split) && !count.is_tuple_expr())?;
    let depth = cx.steps(binding.span).len() - 1;
    let leads = |one: &Use<'_>| one.steps.iter().any(|other| other.is_beside(step) && step.index < other.index);
    let is_own = |one: &Use<'_>| one.is_mapped(cx) && leads(one) && loop_below(one, depth).is_none();
    let mut read = cx.names.occurrences(array).iter().filter(|one| one.action == Action::Read);
    let is_known = |span: Span| uses.iter().any(|one| one.span() == span);
    let is_read_beside = read.any(|one| cx.names.binder(one.scope, array) == Some(scope) && !is_known(one.span));
    if cx.names.scopes[scope].kind == ScopeKind::Class
        || is_read_beside
        || !uses.iter().all(is_own)
        || !cx.are_near(span_of(assign), first.span())
        || cx.is_exported_from(scope, array)
        || cx.names.deletes(scope, array)
    {
        return None;
    }
    let keys = shared(cx, uses);
    let given: Vec<_> = (0..uses.len()).map_while(|key| uses.get(keys.iter().position(|one| *one == key)?)).collect();
    let range = Span::new(span_of(assign).start, uses.iter().map(|one| one.call_span().end).max()?);
    let names = names_of_rows(cx, scope, array, &given, range)?;
    let mut edits = vec![
        Edit::replace(span_of(target), names.join(", ")),
        Edit::replace(span_of(count), format!("({}, {})", names.len(), cx.code(count))),
    ];
    edits.extend(uses.iter().zip(&keys).map(|(one, key)| Edit::replace(one.span(), names[*key].clone())));
    let message = format!("split into an array of keys for each call instead of `{array}`; the numbers change");
    let proposal = Proposal::new(message, edits, resolves.to_vec());
    (names.len() > 1).then(|| proposal.naming(cx.claim_within(scope, &names, range)))
}

/// Free names for arrays of keys, after their purpose if the program has words for it.
fn names_of_rows(
    cx: &FixContext<'_>,
    scope: ScopeId,
    array: &str,
    uses: &[&Use<'_>],
    range: Span,
) -> Option<Vec<String>> {
    let given: Vec<_> = uses.iter().map(|one| one.given()).collect();
    let several = |name: String| {
        let kind = |(kind, word): (&str, &str)| {
            let several = cx.models.words.key_words().find(|(key, _)| *key == kind)?.1;
            Some(format!("{several}_{word}"))
        };
        name.split_once('_').and_then(kind).unwrap_or_else(|| format!("{name}s"))
    };
    let are_free = |names: &Vec<String>| names.iter().all(|name| cx.is_free_within(scope, name, range));
    let purposes = cx.purposes(scope, array, &given, range).map(|names| names.into_iter().map(several).collect());
    let numbered = || (1..=uses.len()).map(|number| format!("{array}_{number}")).collect();
    purposes.filter(are_free).or_else(|| Some(numbered()).filter(are_free))
}

/// The number of keys that a split makes, as written.
fn count(split: &ast::ExprCall) -> Option<&Expr> {
    match (&split.arguments.args[..], &split.arguments.keywords[..]) {
        ([_, count], []) => Some(count),
        ([_], [count]) => Some(&count.value),
        _ => None,
    }
}

fn number(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(number) => number.as_usize().filter(|number| *number <= MOST),
            _ => None,
        },
        _ => None,
    }
}

/// The element that is read instead of the whole array.
fn element(cx: &FixContext<'_>, name: Span, length: usize) -> Option<usize> {
    let around = tree::ancestors(cx.module, name);
    let item = around.into_iter().rev().find_map(|node| match node {
        ast::AnyNodeRef::ExprSubscript(item) if span_of(&*item.value) == name => Some(item),
        _ => None,
    })?;
    match &*item.slice {
        Expr::UnaryOp(minus) if minus.op == ast::UnaryOp::USub => length.checked_sub(number(&minus.operand)?),
        index => number(index),
    }
}
