//! Code that evaluates or shows what a program computes: viewers, renderings, plots, benchmarks, rollouts of a trained policy.
//!
//! Such code starts the same way each time so that its results can be compared, or its numbers do not matter at all.
//!
//! **Invariant:** both draws are within the function whose name says so, or directly in the module or `main` function
//! of a script whose name does. A name between the draws and that function that indicates training, or any name that
//! indicates an evolutionary search, is evidence against it. Draws that meet or are returned together are not excused,
//! since an average over equal episodes is not an average, and a renderer may be what a training step differentiates.
//! Nor are the steps of one episode, each of which continues with what the earlier ones drew. Only a split of a key that
//! was used before is.

use crate::finding::{ConsequenceKind, Finding, Intent, IntentKind, Level, Place, RuleId};
use crate::models::Words;
use crate::text::Span;

use super::said_so::Written;

/// Rules on keys that are used twice, or that are the same in each call.
const REUSE: [RuleId; 8] = [
    RuleId::KeyReused,
    RuleId::KeyReusedInLoop,
    RuleId::KeyUsedAfterSplit,
    RuleId::KeyDerivedTwice,
    RuleId::SeedReused,
    RuleId::CapturedKeyInTransform,
    RuleId::StoredKeyNotAdvanced,
    RuleId::ConstantKeyInTrace,
];

/// The name of the function that a script runs.
const MAIN: &str = "main";

/// Makes reuse in code that evaluates or shows something a note. `script` is the name of the file without its ending.
pub fn note_evaluations(written: Written<'_>, words: &Words, script: &str, findings: &mut [Finding]) {
    for finding in findings.iter_mut() {
        if !REUSE.contains(&finding.rule) || finding.level <= Level::Note || is_certain_mistake(finding) {
            continue;
        }
        if let Some((reason, span)) = evaluation(written, words, script, finding) {
            let place = span.map(|span| Place { file: finding.primary.file, span });
            finding.note_intent(Intent::because(IntentKind::Evaluation, &reason, place));
        }
    }
}

/// Whether draws meet, are returned together or are carried on, other than by a split of a key that was used before: an
/// episode often splits the key from which its initial state was drawn. That one draw decides whether the next one happens is
/// no mistake: training stops early if a validation says so, and each validation may use the same key.
fn is_certain_mistake(finding: &Finding) -> bool {
    let Some(consequence) = &finding.consequence else { return false };
    let joins = [ConsequenceKind::Meet, ConsequenceKind::Returned, ConsequenceKind::Carried];
    let meet = joins.contains(&consequence.kind) && !consequence.is_decision;
    let ends_in_split = finding.evidence.as_ref().is_some_and(|evidence| evidence.ends_in_split);
    meet && !(ends_in_split && matches!(finding.rule, RuleId::KeyUsedAfterSplit | RuleId::KeyDerivedTwice))
}

/// The reason why a finding is in code that evaluates or shows something, and the definition that says so.
fn evaluation(written: Written<'_>, words: &Words, script: &str, finding: &Finding) -> Option<(String, Option<Span>)> {
    let around = written.definitions(finding.primary.span);
    if around.iter().any(|(name, ..)| words.names_a_search(name)) || words.names_a_search(script) {
        return None;
    }
    let first = finding.evidence.as_ref().and_then(|evidence| evidence.first.first());
    let mut inner = around.iter().take_while(|(name, ..)| !words.names_training(name));
    if let Some((name, header, full)) = inner.find(|(name, ..)| words.names_an_evaluation(name)) {
        let has_both = first.is_none_or(|first| first.file == finding.primary.file && full.covers(first.span));
        let reason = format!("`{name}` evaluates or shows something; such code usually starts the same way each time");
        return has_both.then_some((reason, Some(*header)));
    }
    let is_script = words.names_an_evaluation(script) && !words.names_training(script);
    let is_direct = match around.as_slice() {
        [] => true,
        [.., (outermost, ..)] => {
            outermost.split('_').any(|word| word == MAIN) && !around.iter().any(|(name, ..)| words.names_training(name))
        }
    };
    let is_here = first.is_none_or(|first| first.file == finding.primary.file);
    let reason = || {
        format!("the script `{script}` evaluates or shows something; such code usually starts the same way each time")
    };
    (is_script && is_direct && is_here).then(|| (reason(), None))
}
