//! A key that a traced function makes from a constant (KEY402): it becomes a parameter, and each call passes another one.
//!
//! **Invariant:** all callers are changed together with the function, or nothing is.

use super::callers::{self, Made};
use super::context::{FixContext, Proof, Proposal};
use super::layout;
use super::tree;
use crate::finding::{Finding, Place, RuleId};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// `def f(x): key = key(0); …` becomes `def f(x, key): …`, and `f(x)` becomes `f(x, subkey)`, after `key, subkey = split(key)`.
pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    // A loop that makes its key itself has fixes of its own.
    let made = findings[index].created_anew.and_then(|made| cx.here(made));
    let def = made.and_then(|made| tree::function_around(cx.module, made));
    let place = cx.here(findings[index].primary);
    let is_within = place.zip(def).is_none_or(|(place, def)| span_of(def).covers(place));
    // Outside a trace, a constant key may be what makes the calls comparable.
    let is_traced = def.is_some_and(|def| cx.is_traced(def.name.as_str()));
    if (is_within || !is_traced) && findings[index].rule != RuleId::ConstantKeyInTrace {
        return Vec::new();
    }
    let with = |choice| with_parameter(cx, findings, index, choice);
    let mut proposals: Vec<Proposal> = (0..callers::CHOICES).filter_map(with).collect();
    proposals.dedup_by(|one, other| one.edits == other.edits);
    proposals
}

fn with_parameter(cx: &FixContext<'_>, findings: &[Finding], index: usize, choice: usize) -> Option<Proposal> {
    let made = findings[index].created_anew?;
    let place = cx.here(made)?;
    let call = tree::call_at(cx.module, place)?;
    let seed = cx.seed_of(call)?;
    let def = tree::function_around(cx.module, place)?;
    let scope = cx.names.frame_at(place.start)?;
    // A key beside another one is made from a constant on purpose.
    let has_key = def.parameters.iter().any(|parameter| cx.is_keyish(parameter.name().as_str()));
    if cx.names.scopes[scope].full != span_of(def) || has_key {
        return None;
    }
    let (name, removed) = if let Some((name, statement)) = assigned(def, place) {
        (name, Edit::delete(layout::own_lines(cx.text, span_of(statement))?))
    } else {
        let name = callers::parameter_name(cx, scope)?;
        (name, Edit::replace(place, name))
    };
    // What the names in a seed mean where the function is called is not known.
    let constructor = (is_literal(seed) && call.arguments.keywords.is_empty()).then(|| cx.slice(place));
    let hoisted: Made<'_> = constructor.map(|constructor| (name, constructor));
    let passed = callers::passed(cx, def, name, choice, hoisted)?;
    let mut places: Vec<Place> = vec![made];
    places.extend(passed.places);
    let mut edits = passed.edits;
    edits.push(removed);
    let function = def.name.as_str();
    let resolves = cx.matching(findings, |other| other.created_anew == Some(made));
    let message =
        format!("make `{name}` a parameter of `{function}` and pass a new key in each call; the numbers change");
    // Two draws from one key are compared themselves.
    let proof = if findings[index].evidence.is_some() { Proof::Claim } else { Proof::Draws(places) };
    Some(Proposal::new(message, edits, resolves).proved_by(proof).naming(passed.names))
}

/// The variable and the statement, if a function assigns the value at a span to one on every path.
fn assigned(def: &ast::StmtFunctionDef, value: Span) -> Option<(&str, &Stmt)> {
    let is_value = |statement: &&Stmt| matches!(statement, Stmt::Assign(assign) if span_of(&*assign.value) == value);
    let statement = def.body.iter().find(is_value)?;
    match tree::targets(statement) {
        [Expr::Name(name)] => Some((name.id.as_str(), statement)),
        _ => None,
    }
}

fn is_literal(seed: &Expr) -> bool {
    matches!(seed, Expr::NumberLiteral(_))
}
