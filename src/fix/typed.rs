//! Typed keys for raw ones (KEY301), with conversions where the raw words of a key are needed.
//!
//! **Invariant:** all calls of a file are rewritten or none. If a finding about the words of a key has its own fix, that fix comes first: a
//! conversion would make the mistake permanent.

use super::context::{FixContext, Proof, Proposal};
use super::jax;
use super::names::Action;
use super::tree;
use super::typed_uses::{is_key, maker};
use crate::finding::{BufferPart, Family, Finding};
use crate::models::Effect;
use crate::python::ast::{Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// Codes of findings about the words, shape or dtype of keys.
const BUFFERS: Family = Family::Buffer;

/// `PRNGKey` becomes `key`, in the whole file.
pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let finding = &findings[index];
    let touches = cx.matching(findings, |other| other.rule.family() == BUFFERS);
    if touches.iter().any(|touch| cx.is_resolved(*touch)) {
        return Vec::new();
    }
    let mut places = vec![finding.primary];
    places.extend(finding.related.iter().map(|label| label.place));
    // Arithmetic on words is a mistake that a conversion would hide.
    let is_sum = |other: &Finding| other.buffer_access.as_ref().is_some_and(|access| access.what == BufferPart::Sum);
    let hides = !cx.matching(findings, is_sum).is_empty();
    let mut proposal = Proposal::new(
        "create typed keys; the numbers stay the same, but shapes and checkpoints of keys change".to_owned(),
        renamed(cx, finding).unwrap_or_default(),
        vec![index],
    )
    .proved_by(Proof::Keys(places))
    .display_only_if(hides, "the file does arithmetic on words of keys, which the conversion would hide");
    let older = |expr: &Expr| cx.path_of(expr).filter(|path| cx.models.is_older(path));
    let own = || tree::expressions(cx.module).into_iter().find_map(older);
    if let Some(path) = cx.older().map(str::to_owned).or_else(own) {
        proposal.make_display_only(&format!("JAX removed `{path}`, which this project uses, before it had typed keys"));
    }
    vec![proposal]
}

fn renamed(cx: &FixContext<'_>, finding: &Finding) -> Option<Vec<Edit>> {
    let places = std::iter::once(finding.primary).chain(finding.related.iter().map(|label| label.place));
    let mut edits = Vec::new();
    let mut by_name = 0;
    for place in places {
        match tree::expression_at(cx.module, cx.here(place)?)? {
            Expr::Attribute(attribute) => {
                edits.push(Edit::replace(span_of(&attribute.attr), "key"));
            }
            Expr::Name(name) => {
                by_name += 1;
                edits.push(Edit::replace(span_of(name), imported_name(cx, name.id.as_str())?));
            }
            _ => return None,
        }
    }
    if by_name > 0 {
        edits.push(import(cx, by_name)?);
    }
    edits.sort_by_key(|edit| edit.span);
    Some(edits)
}

/// The name under which `key` is imported if `PRNGKey` was imported by name.
fn imported_name(cx: &FixContext<'_>, old: &str) -> Option<String> {
    let is_free = |name: &&str| cx.names.occurrences(name).is_empty();
    // If it is imported under another name, only the import changes.
    (old == "PRNGKey")
        .then(|| ["make_key", "new_key", "random_key"].into_iter().find(is_free).map(str::to_owned))
        .flatten()
}

/// The edit of the one import of `PRNGKey`, provided that all reads of the name are rewritten as well.
fn import(cx: &FixContext<'_>, rewritten: usize) -> Option<Edit> {
    let occurrences = cx.names.occurrences("PRNGKey");
    let reads = occurrences.iter().filter(|one| one.action == Action::Read).count();
    let mut bound = occurrences.iter().filter(|one| one.action != Action::Read);
    let only = bound.next().filter(|one| one.action == Action::Import)?;
    if bound.next().is_some() || reads != rewritten {
        return None;
    }
    Some(Edit::replace(only.span, format!("key as {}", imported_name(cx, "PRNGKey")?)))
}

/// The proposal with a conversion wherever the analysis found that the fixed program uses the words of its keys; the unchanged proposal if
/// it found none, and `None` if a place does not show which expression is the key.
pub fn converted(cx: &FixContext<'_>, proposal: &Proposal, after: &[Finding]) -> Option<Proposal> {
    let Proof::Keys(_) = proposal.proof else { return Some(proposal.clone()) };
    let mut edits = proposal.edits.clone();
    let needs_words = |finding: &&Finding| {
        let always_raises = finding.fix_hints.as_ref().is_some_and(|hints| hints.always_raises);
        finding.rule.family() == BUFFERS && !always_raises
    };
    for finding in after.iter().filter(needs_words) {
        let (start, end) = (finding.primary.span.start, finding.primary.span.end);
        let span = Span::new(before(start, &proposal.edits)?, before(end, &proposal.edits)?);
        let keys = keys_at(cx, span);
        if keys.is_empty() || makes_keys(cx, span) {
            return None;
        }
        for key in keys {
            let at = span_of(key);
            let convert = cx.spelled(at.start, jax::KEY_DATA, maker(cx, key))?;
            for edit in [Edit::insert(at.start, format!("{convert}(")), Edit::insert(at.end, ")")] {
                if !edits.contains(&edit) {
                    edits.push(edit);
                }
            }
        }
    }
    edits.sort_by_key(|edit| edit.span);
    let is_new = edits.len() > proposal.edits.len();
    let message =
        "create typed keys, and take their words where the code needs them; the numbers stay the same".to_owned();
    Some(if is_new { Proposal { message, edits, ..proposal.clone() } } else { proposal.clone() })
}

/// Whether a call makes keys from words, or like other keys: its results from words are not typed keys.
pub(super) fn makes_keys(cx: &FixContext<'_>, span: Span) -> bool {
    let callable = tree::call_at(cx.module, span).and_then(|call| cx.model_of(&call.func));
    callable.is_some_and(|callable| matches!(callable.effect, Effect::Fabricate { .. } | Effect::Wrap { .. }))
}

/// The keys whose words are touched by the operation at a span.
pub(super) fn keys_at<'a>(cx: &FixContext<'a>, span: Span) -> Vec<&'a Expr> {
    let statement = cx.steps(span).pop().map(tree::Step::statement);
    // An unpacked value may be recognised by the names that are bound.
    if let Some(Stmt::Assign(assign)) = statement
        && assign.targets.iter().any(|target| span_of(target).covers(span))
    {
        return Some(&*assign.value).filter(|value| is_key(cx, value)).into_iter().collect();
    }
    if let Some(expr) = tree::expression_at(cx.module, span) {
        let mut keys: Vec<&Expr> = key_of(cx, expr).into_iter().collect();
        if keys.is_empty() {
            // A test of a key is part of a comparison: any expression in it that looks like a key is one.
            for within in tree::expressions_within(expr) {
                let is_inner = keys.iter().any(|outer| span_of(*outer).covers(span_of(within)));
                if !is_inner && is_key(cx, within) {
                    keys.push(within);
                }
            }
        }
        return keys;
    }
    // A whole statement unpacks.
    match statement {
        Some(Stmt::Assign(assign)) if is_key(cx, &assign.value) => vec![&assign.value],
        _ => Vec::new(),
    }
}

fn key_of<'a>(cx: &FixContext<'a>, expr: &'a Expr) -> Option<&'a Expr> {
    match expr {
        Expr::Subscript(subscript) => Some(&subscript.value),
        Expr::Attribute(attribute) => Some(&attribute.value),
        Expr::Call(call) => {
            let receiver = match &*call.func {
                Expr::Attribute(method) if cx.path_of(&method.value).is_none() => Some(&*method.value),
                _ => None,
            };
            only(receiver.into_iter().chain(tree::arguments(call)).filter(|one| is_key(cx, one)))
        }
        Expr::BinOp(sum) => only([&*sum.left, &*sum.right].into_iter().filter(|one| is_key(cx, one))),
        Expr::UnaryOp(of) if is_key(cx, &of.operand) => Some(&of.operand),
        _ => None,
    }
}

fn only<'a>(mut keys: impl Iterator<Item = &'a Expr>) -> Option<&'a Expr> {
    let first = keys.next()?;
    keys.next().is_none().then_some(first)
}

/// Where an offset was before edits; `None` within text that they wrote.
pub(super) fn before(offset: u32, edits: &[Edit]) -> Option<u32> {
    let mut moved = 0_i64;
    for edit in edits {
        let length = i64::try_from(edit.content.len()).ok()?;
        let start = i64::from(edit.span.start) + moved;
        if i64::from(offset) <= start {
            break;
        }
        if i64::from(offset) < start + length {
            return None;
        }
        moved += length - i64::from(edit.span.len());
    }
    u32::try_from(i64::from(offset) - moved).ok()
}
