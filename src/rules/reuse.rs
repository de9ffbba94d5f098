//! What the rules about two consumptions of one key have in common: labels, related places and flow.
//!
//! **Invariant:** related places are listed as origin, first use, second use; the flow is in execution order.

use crate::finding::{
    Consequence, ConsequenceKind, Derivation, DerivationKind, Evidence, Finding, FixHints, Label, Level, Sharing,
};
use crate::judge::facts::{KeyEquality, KeyReuse, LoopKind, ReuseKind, Role, Use};

use super::Rule;
use super::wording::{self, Text};

/// How a message about two draws ends.
pub(super) const NOT_INDEPENDENT: &str = ", so the draws are not independent";

/// The finding for a reuse, at its second consumption.
pub(super) fn finding(rule: &Rule, hit: &KeyReuse, mut text: Text) -> Finding {
    if let Some(help) = wording::returned_help(hit.returned_at.as_ref(), hit.first.role) {
        text.help = help;
    }
    // The place where both draws meet is more informative than that they are not independent.
    let is_named = |fate: &&Consequence| fate.kind == ConsequenceKind::Meet && fate.message != fate.kind.sentence();
    if let Some(fate) = hit.consequence.as_ref().filter(is_named)
        && !hit.is_harmless()
    {
        let claim = text.message.trim_end_matches(NOT_INDEPENDENT);
        // No third clause is added with "and" to a message of two clauses.
        let joint = if claim.contains(", and ") || claim.contains(", so ") { ";" } else { ", and" };
        text.message = format!("{claim}{joint} {}", meeting(hit, fate));
    }
    let mut finding = wording::finding(rule, hit.second.place, hit.confidence, &hit.function, text);
    if hit.is_harmless() {
        finding.level = finding.level.min(Level::Note);
    }
    finding.doubt = doubt(hit);
    finding.intent.clone_from(&hit.intent);
    let fate = hit.consequence.as_ref();
    finding.consequence = fate.map(|fate| Consequence { message: meeting(hit, fate), ..fate.clone() });
    let origin = if hit.derived_at.is_some() { Vec::new() } else { wording::origin(hit.origin.as_ref()) };
    let first = wording::steps(&hit.first, &format!("first {}", hit.first.role.participle()));
    let second = wording::steps(&hit.second, &again(&hit.first, &hit.second));
    let (derived_first, derived_again) = derivations(hit);

    wording::relate(&mut finding, origin.iter().chain(&derived_first).chain(&first).chain(&derived_again).cloned());
    wording::relate(&mut finding, wording::inner_steps(&hit.second, &again(&hit.first, &hit.second)));
    wording::relate(
        &mut finding,
        hit.repeated_by.map(|place| wording::label(place, repeats(hit.loop_kind).to_owned())),
    );

    let both_before_use = match (derived_again.first(), first.first()) {
        (Some(again), Some(used)) => again.place.file == used.place.file && again.place.span < used.place.span,
        _ => false,
    };
    let carried = hit.carried_at.map(|place| {
        let spent = hit.first.name.as_ref().map_or_else(|| "the key".to_owned(), |name| wording::code(&name.text));
        wording::label(place, format!("{spent}, already {}, is passed on here", hit.first.role.participle()))
    });
    let returned = hit.returned_at.as_ref().map(|(_, place)| {
        let spent = hit.first.written.as_deref().map_or_else(|| "the key".to_owned(), wording::code);
        wording::label(*place, format!("{spent}, already {}, is returned here", hit.first.role.participle()))
    });
    wording::relate(&mut finding, carried.clone());
    wording::relate(&mut finding, returned.clone());

    let middle = if both_before_use { [derived_again, first] } else { [first, derived_again] };
    let ends_in_split = hit.second.role == Role::Split;
    finding.evidence = Some(Evidence {
        sharing: if hit.kind == ReuseKind::Iterated { Sharing::Iteration } else { Sharing::Twice },
        first: wording::way(&hit.first),
        second: wording::way(&hit.second),
        draws_numbers: hit.first.role == Role::Sample && hit.second.role == Role::Sample,
        ends_in_split,
        is_open: hit.open_end.is_some(),
    });
    finding.fix_hints = Some(FixHints {
        written: [hit.first.written.clone(), hit.second.written.clone()],
        derived_at: hit.derived_at,
        repeated_by: hit.repeated_by,
        is_seeded_alike: hit.kind == ReuseKind::SeededTwice,
        unused: hit.intended_child.as_ref().filter(|_| !ends_in_split).map(|child| child.name.clone()),
        used_at: hit.returned_at.as_ref().map(|_| hit.first.leaf),
        ..FixHints::default()
    });
    let is_one = hit.derived_at.is_none_or(|(first, again)| first == again);
    let is_constant = matches!(hit.derivation.kind(), DerivationKind::Seed(Some(_), _));
    let created = hit.derived_at.map(|(place, _)| place).or_else(|| hit.origin.as_ref().map(|origin| origin.place));
    finding.created_anew = created.filter(|_| hit.is_seeded_again && is_one && is_constant);
    finding.flow = origin
        .into_iter()
        .chain(derived_first)
        .chain(middle.into_iter().flatten())
        .chain(carried)
        .chain(returned)
        .chain(second)
        .collect();
    finding
}

/// What a label says at the loop, or at the call that repeats its function.
fn repeats(kind: LoopKind) -> &'static str {
    match kind {
        LoopKind::Leaves => "called for every leaf here",
        LoopKind::Call => "repeated by this call",
        LoopKind::Statement | LoopKind::Comprehension => "repeated by this loop",
    }
}

/// Where two draws meet, for the message: calls that are no draws themselves lead to them.
fn meeting(hit: &KeyReuse, fate: &Consequence) -> String {
    let (first, second) = (wording::callee(&hit.first.callee), hit.second.role);
    if fate.is_decision {
        let what = if second == Role::Split { "the second split runs" } else { "the second call runs" };
        return match hit.first.role {
            Role::Split => format!("whether {what} depends on numbers drawn from the first split"),
            _ => format!("whether {what} depends on the result of {first}"),
        };
    }
    let splits = [hit.first.role, second].into_iter().filter(|role| *role == Role::Split).count();
    match (fate.message.strip_prefix("both draws "), splits) {
        (Some(rest), 1) => format!("numbers from both {rest}"),
        (Some(rest), 2) => format!("draws from both {rest}"),
        _ => fate.message.clone(),
    }
}

/// Why a reuse is uncertain, if that is known.
fn doubt(hit: &KeyReuse) -> Option<String> {
    let default = "it relies on `jax_threefry_partitionable`, the default since JAX 0.5";
    let by_default = hit.kind == ReuseKind::FoldMeetsChild
        || hit.kind == ReuseKind::Iterated && hit.equality == KeyEquality::ByDefault;
    let assumed = || wording::doubt(&hit.second).or_else(|| wording::doubt(&hit.first));
    if by_default { Some(default.to_owned()) } else { assumed() }
}

/// The name of the key of a reuse.
pub(super) fn subject(hit: &KeyReuse) -> String {
    let subject = wording::subject(hit.second.name.as_ref(), &hit.derivation);
    let origin = hit.origin.as_ref().filter(|_| subject == wording::UNNAMED);
    match origin.filter(|origin| origin.text.starts_with("created by")) {
        Some(origin) => format!("{subject} {}", origin.text),
        None => subject,
    }
}

/// The two names of one key, where the two consumptions know it by different ones: "`a` and `b`".
pub(super) fn two_names(hit: &KeyReuse) -> Option<String> {
    let (first, second) = (hit.first.name.as_ref()?, hit.second.name.as_ref()?);
    (first.text != second.text).then(|| format!("{} and {}", wording::code(&first.text), wording::code(&second.text)))
}

/// An index, as written, that is beyond the keys of a split: JAX then takes the last one.
pub(super) fn index_beyond(hit: &KeyReuse) -> Option<String> {
    let DerivationKind::Child(_, taken) = hit.derivation.kind() else { return None };
    let derivation = hit.derivation.to_string();
    let index = |used: &Use| Some(used.name.as_ref()?.text.strip_suffix(']')?.rsplit_once('[')?.1.to_owned());
    let mut written = [&hit.first, &hit.second].into_iter().filter_map(index);
    match taken {
        Some(taken) => written.find(|index| index.parse::<u32>().is_ok_and(|index| i128::from(index) > *taken)),
        // `keys[n]` of `split(key, n)`
        None => {
            written.find(|index| derivation.ends_with(&format!("[{index} - 1]"))).map(|index| wording::code(&index))
        }
    }
}

/// Why a key that `fold_in` derived equals a child of a `split`.
pub(super) fn folds_like_split(derivation: &Derivation) -> String {
    let (parent, index) = match derivation.kind() {
        DerivationKind::Child(parent, Some(index)) | DerivationKind::Fold(parent, Some(index)) => {
            (parent, index.to_string())
        }
        DerivationKind::Child(parent, None) | DerivationKind::Fold(parent, None) => (parent, "i".to_owned()),
        _ => return "since JAX 0.5 `fold_in(key, i)` equals `split(key)[i]`".to_owned(),
    };
    let parent = if matches!(parent.kind(), DerivationKind::Elsewhere) { parent.to_string() } else { "key".to_owned() };
    format!("since JAX 0.5 `fold_in({parent}, {index})` equals `split({parent})[{index}]`")
}

/// " by `a`" where both consumptions have the same callee, else `separator` and "first by `a`, then by `b`".
pub(super) fn callees(hit: &KeyReuse, separator: &str) -> String {
    if hit.first.callee == hit.second.callee {
        format!(" by {}", wording::callee(&hit.first.callee))
    } else {
        format!(
            "{separator} first by {}, then by {}",
            wording::callee(&hit.first.callee),
            wording::callee(&hit.second.callee)
        )
    }
}

/// What the second consumption does: "consumed again" after another like it, "then consumed" after a `split`.
pub(super) fn again(first: &Use, second: &Use) -> String {
    let (before, now) = (first.role.participle(), second.role.participle());
    if before == now || second.role == Role::Unresolved { format!("{now} again") } else { format!("then {now}") }
}

/// The two places that made equal keys, each as at most one label.
fn derivations(hit: &KeyReuse) -> (Vec<Label>, Vec<Label>) {
    let Some((first, again)) = hit.derived_at else { return (Vec::new(), Vec::new()) };
    let (first_text, again_text) = match hit.kind {
        ReuseKind::SeededTwice => ("first created from this seed here", "created from the same seed again here"),
        ReuseKind::FoldMeetsChild | ReuseKind::Iterated => ("first derived here", "the same key is derived here"),
        ReuseKind::Sampled
        | ReuseKind::SplitAndSampled
        | ReuseKind::SplitTwice
        | ReuseKind::FoldedTwice
        | ReuseKind::FoldAndSampled => ("first derived here", "derived again here"),
    };
    (vec![wording::label(first, first_text.to_owned())], vec![wording::label(again, again_text.to_owned())])
}
