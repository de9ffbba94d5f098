//! The replays of a project's findings.
//!
//! Only findings that the settings show are replayed: a witness is for people and machines that read the finding. The result of an
//! operation on the words of a key is computed from the text, once that is available.
//!
//! **Invariant:** a replay changes only the witness of its finding and, if it refutes it, the confidence. A replay that
//! panics is inconclusive.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::Job;
use super::contain::contained;
use super::file_report::FileReport;
use super::kept_replays::KeptReplays;
use super::load::Loaded;
use super::outcome::Refuted;
use super::project::Project;
use crate::analysis::Overview;
use crate::config::Shown;
use crate::finding::{Confidence, Evidence, Finding, Inconclusive, Place, Witness, WitnessStatus};
use crate::ir;
use crate::text::FileId;
use crate::verify::{buffer, replay};

/// Replays the findings of a project; those that the replay refuted.
pub(super) fn replay_all(
    job: &Job<'_>,
    project: &Project<'_>,
    (loaded, overview): (&[Option<Loaded>], &Overview),
    findings: &mut [Finding],
) -> Vec<Refuted> {
    let modules: Vec<&ir::Module> = loaded.iter().flatten().filter_map(|file| file.module.as_ref()).collect();
    let roots = &project.settings.roots;
    let program = replay::Project::new(modules, project, project.models, roots).choosing(!overview.choices.is_empty());
    // The findings of one file share a budget, so that one file with many findings cannot delay a run.
    let mut by_file: BTreeMap<FileId, Vec<&mut Finding>> = BTreeMap::new();
    for finding in findings {
        by_file.entry(finding.primary.file).or_default().push(finding);
    }
    let by_file: Vec<Vec<&mut Finding>> = by_file.into_values().collect();
    // Replays of several files at a time would record what the others read.
    let edited = loaded.iter().flatten().filter(|_| by_file.len() == 1).find_map(|file| {
        let (memory, edited, module) = (job.memory?, file.edited.as_ref()?, file.module.as_ref()?);
        Some((memory, edited, module, memory.take_replays(edited)?))
    });
    let edited = Mutex::new(edited);
    let refuted_by_file: Vec<Vec<Refuted>> = by_file
        .into_par_iter()
        .map(|findings| {
            let mut budget = replay::Budget::FILE;
            let mut states = replay::EntryStates::default();
            let mut open = Vec::new();
            let mut edited = edited.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut kept = edited.as_mut().map(|(_, _, module, kept)| (&mut *kept, *module));
            if let Some((kept, _)) = kept.as_mut() {
                kept.begin();
            }
            // A hard finding must not use up the budget of easy ones after it.
            for finding in findings {
                let mut part = budget.first_attempt();
                replay_one(job, project, (&program, &mut states), &mut kept, finding, &mut part);
                budget.release(part);
                open.push(finding);
            }
            for finding in &mut open {
                if finding.witness.as_ref().is_some_and(|witness| witness.gap.is_some()) {
                    let mut part = budget.second_attempt();
                    replay_one(job, project, (&program, &mut states), &mut kept, finding, &mut part);
                    budget.release(part);
                }
            }
            if let Some((memory, edited, _, mut kept)) = edited {
                kept.end();
                memory.keep_replays(edited, kept);
            }
            open.into_iter().filter_map(refuted).collect()
        })
        .collect();
    refuted_by_file.into_iter().flatten().collect()
}

/// Computes the results of operations on the words of keys, in one file.
pub(super) fn evaluate_buffer_accesses(job: &Job<'_>, project: &Project<'_>, report: &mut FileReport) {
    let Some(settings) = project.path_of(report.file).map(|path| project.settings.for_file(path)) else { return };
    for finding in &mut report.findings {
        let Some(access) = finding.buffer_access.clone() else { continue };
        if job.verify && settings.judge(finding).shown == Shown::Yes {
            let place = finding.primary;
            finding.witness = contained(|| buffer::witness(&report.text, place, &access)).ok().flatten();
        }
    }
}

fn replay_one<'p>(
    job: &Job<'_>,
    project: &Project<'_>,
    (program, states): (&'p replay::Project<'p>, &mut replay::EntryStates<'p>),
    kept: &mut Option<(&mut KeptReplays, &ir::Module)>,
    finding: &mut Finding,
    budget: &mut replay::Budget,
) {
    let Some(evidence) = finding.evidence.clone() else { return };
    let settings = project.path_of(finding.primary.file).map(|path| project.settings.for_file(path));
    if settings.is_none_or(|settings| settings.judge(finding).shown != Shown::Yes) {
        return;
    }
    let around: Vec<Place> = finding.related.iter().map(|label| label.place).collect();
    finding.witness = Some(match kept {
        _ if !job.verify => Witness::silent(WitnessStatus::NotRun),
        Some((kept, module)) => {
            let claim = (evidence.clone(), around.clone(), *budget);
            // What an earlier replay has read would not be recorded as read by this one.
            let mut none = replay::EntryStates::default();
            kept.witness(module, claim, budget, |budget| replayed(program, &evidence, &around, budget, &mut none))
        }
        None => replayed(program, &evidence, &around, budget, states),
    });
}

/// A finding that its replay refutes gets low confidence.
fn refuted(finding: &mut Finding) -> Option<Refuted> {
    if finding.witness.as_ref()?.status != WitnessStatus::Refuted {
        return None;
    }
    finding.confidence = Confidence::Low;
    Some(Refuted { place: finding.primary, rule: finding.rule })
}

fn replayed<'p>(
    program: &'p replay::Project<'p>,
    evidence: &Evidence,
    around: &[Place],
    budget: &mut replay::Budget,
    states: &mut replay::EntryStates<'p>,
) -> Witness {
    contained(|| replay::witness(program, evidence, around, budget, states))
        .unwrap_or_else(|_| Witness::open(Inconclusive::Failed))
}
