//! Parameters of public functions that take raw keys as well as typed ones.
//!
//! **Invariant:** a parameter counts if its value itself is drawn from, split or folded, and no code on the path tested its dtype.

use std::collections::BTreeSet;

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::record::Recording;
use crate::finding::{Confidence, Place};
use crate::ir::{FunctionId, Operator, Parameter};
use crate::judge::facts::{Facts, Role, UntypedKey};
use crate::judge::paths::PathQueries;
use crate::judge::reuse::use_at;

/// The parameters of an entry that are keys of either kind.
pub fn extract_untyped_keys(run: &Recording<'_>, paths: &PathQueries<'_>, facts: &mut Facts, id: FunctionId) {
    let module = run.module(run.home);
    let code = module.function(id);
    if !is_public(&code.qualified) {
        return;
    }
    let Some(given) = run.log.entered.as_ref() else { return };
    let mut seen = BTreeSet::new();
    for event in &run.log.consumptions {
        if !matches!(event.role, Role::Sample | Role::Split | Role::Fold) {
            continue;
        }
        let mut parameters = code.parameters.iter().zip(given);
        let is_given = |(_, value): &(&Parameter, &Value)| term_of(value) == Some(event.target.term);
        let Some((parameter, _)) = parameters.find(is_given) else { continue };
        let asks = |term: TermId| match run.terms.get(term) {
            Term::Attribute(of, name, _) => *of == event.target.term && &**name == "dtype",
            // A value whose class is tested may be a stream as well.
            Term::Operate(Operator::MatchClass, parts) => parts.first() == Some(&event.target.term),
            _ => false,
        };
        let is_checked = paths.support(event.guard).into_iter().any(|literal| run.terms.mentions(literal, &asks));
        let chain = event.chain();
        if chain[0].0.function != id || !seen.insert(parameter.span) || is_checked {
            continue;
        }
        facts.untyped.push(UntypedKey {
            place: Place { file: module.file, span: parameter.span },
            name: parameter.name.to_string(),
            used: use_at(run, event, &chain, 0),
            function: code.qualified.to_string(),
            confidence: Confidence::High,
        });
    }
}

/// Whether no part of a qualified name is private.
fn is_public(qualified: &str) -> bool {
    qualified.split('.').all(|name| !name.starts_with('_') || name == "__init__" || name == "__call__")
}

/// The symbol of a parameter's value.
fn term_of(value: &Value) -> Option<TermId> {
    match value.single()? {
        Val::Term(term) => Some(*term),
        Val::Key(key) => Some(key.term),
        _ => None,
    }
}
