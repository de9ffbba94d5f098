//! The outcome of a run, as plain data.
//!
//! **Invariant:** findings are complete: those that are not shown are included and marked. They are sorted by file,
//! place and code.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::{HiddenCounts, Settings, Shown};
use crate::finding::{Finding, Intent, Place, RuleId};
use crate::source::Problem;
use crate::suppress::Baseline;
use crate::text::FileId;

use super::{CacheUse, FileTable};

/// The result of checking a set of files.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The files that findings refer to.
    pub files: FileTable,
    /// All findings, at the levels that the settings give them.
    pub findings: Vec<Reported>,
    /// How many are not shown, by the option that would show them.
    pub hidden: HiddenCounts,
    /// How many files were checked.
    pub checked: usize,
    /// The absolute paths, sorted, of further files that were read because something imports them.
    pub read: Vec<PathBuf>,
    /// The given paths that do not exist.
    pub missing: Vec<Problem>,
    /// Whether the run itself failed: a file could not be read or does not exist, or a rule panicked.
    pub failed: bool,
    /// Findings that their replay refuted: bugs in keylint.
    pub refuted: Vec<Refuted>,
    /// What came from the cache.
    pub cache_use: CacheUse,
}

/// A finding that its replay refuted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Refuted {
    /// Its primary location.
    pub place: Place,
    /// Its rule.
    pub rule: RuleId,
}

/// A finding, and whether the settings show it.
#[derive(Debug)]
pub struct Reported {
    /// The finding.
    pub finding: Finding,
    /// Whether it is shown.
    pub shown: bool,
}

impl Outcome {
    /// Hides those findings that a baseline accepts, in the files to which it applies.
    pub fn accept(&mut self, baseline: &Baseline, is_for: impl Fn(&Finding) -> bool) {
        let accepted = baseline.fingerprints();
        for reported in self.findings.iter_mut().filter(|reported| reported.shown) {
            let finding = &reported.finding;
            let is_known = Baseline::can_accept(finding) && accepted.contains(finding.fingerprint.as_str());
            if is_known && is_for(finding) {
                reported.shown = false;
                self.hidden.accepted += 1;
            }
        }
    }

    /// Adds the findings of one file at the levels of its settings, without those that are not selected.
    pub(super) fn judge(&mut self, findings: Vec<Finding>, settings: &Settings, file: FileId) {
        if findings.is_empty() {
            return;
        }
        let settings = settings.for_file(self.files.path(file));
        for mut finding in findings {
            let judgement = settings.judge(&finding);
            self.hidden.add(&finding, judgement);
            finding.level = judgement.level;
            if let Some(kind) = judgement.intent {
                finding.intent.get_or_insert_with(|| Intent::new(kind, None));
            }
            if judgement.shown != Shown::Unselected {
                self.findings.push(Reported { finding, shown: judgement.shown == Shown::Yes });
            }
        }
    }
}
