//! KEY104: one derivation is made twice, so that two names hold equal keys.
//!
//! **Invariant:** if the children in use are disjoint, the finding is a note.

use crate::finding::{Finding, IntentKind};
use crate::judge::facts::{Facts, KeyEquality, KeyReuse, ReuseKind};

use super::Rule;
use super::reuse;
use super::wording::{self, Text};

pub(super) fn find(facts: &Facts) -> Vec<&KeyReuse> {
    let mine = |kind| matches!(kind, ReuseKind::SplitTwice | ReuseKind::FoldedTwice | ReuseKind::FoldMeetsChild);
    facts.reuses.iter().filter(|reuse| mine(reuse.kind)).collect()
}

pub(super) fn describe(rule: &Rule, hit: &KeyReuse) -> Finding {
    let subject = reuse::subject(hit);
    let equal = reuse::two_names(hit)
        .map_or_else(|| "two keys are equal".to_owned(), |names| format!("{names} are the same key"));
    let is_disjoint =
        hit.intent.as_ref().is_some_and(|intent| intent.kind == IntentKind::DisjointParts && intent.place.is_none());
    let (message, help) = match hit.kind {
        ReuseKind::FoldedTwice => (
            format!("{equal}: two `fold_in` calls have equal data, and both results are consumed"),
            "fold in different data, or first fold in a distinct constant to separate the streams".to_owned(),
        ),
        ReuseKind::FoldMeetsChild => (
            format!("{equal}: {}, and both are consumed", reuse::folds_like_split(&hit.derivation)),
            "derive from a key with either `split` or `fold_in`, not with both".to_owned(),
        ),
        _ if is_disjoint => (
            format!("{subject} is split twice; both splits return the same keys, but the code uses different ones"),
            "split once and index the result".to_owned(),
        ),
        _ => (
            if hit.equality == KeyEquality::Later {
                format!("{subject} is split twice, and since JAX 0.5 both splits return the same keys")
            } else {
                format!("{subject} is split twice, so both splits return the same keys")
            },
            if hit.second.place == hit.second.leaf {
                "split once into as many keys as you need".to_owned()
            } else {
                wording::split_help(hit.second.name.as_ref())
            },
        ),
    };
    let what = match hit.kind {
        ReuseKind::SplitTwice => "split again",
        _ => "an equal key is consumed",
    };
    reuse::finding(rule, hit, Text { message, label: wording::here(&hit.second, what), help })
}
