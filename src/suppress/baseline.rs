//! The baseline: accepted findings, usually those that existed when keylint was adopted, which are not reported.
//!
//! A finding is identified by its fingerprint, which depends on path, rule, enclosing function, normalised statement and ordinal, but on
//! no line number. The other fields of an entry are for people who review the file.
//!
//! **Invariant:** entries are sorted and unique, so that equal baselines are equal files, and branches merge line by line.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::finding::{Family, Finding};

/// The version of the format. It changes when fingerprints change, because no old entry would match.
const VERSION: u32 = 2;

/// An accepted finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The file, relative to the folder of the baseline, with forward slashes.
    pub path: String,
    /// The rule's code.
    pub code: String,
    /// The qualified name of the enclosing function.
    pub function: String,
    /// Its message.
    pub message: String,
    /// The fingerprint, which identifies the finding.
    pub fingerprint: String,
}

/// The accepted findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    entries: BTreeSet<Entry>,
}

/// The file format.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    findings: Vec<Entry>,
}

/// Why a text is not a valid baseline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}, at row {row}, column {column}")]
pub struct BaselineError {
    /// What is wrong.
    pub message: String,
    /// The row, from 1.
    pub row: usize,
    /// The column, from 1.
    pub column: usize,
}

impl Baseline {
    /// A baseline that accepts these findings; each comes with the path of its file.
    pub fn of<'a>(findings: impl IntoIterator<Item = (String, &'a Finding)>) -> Self {
        let entry = |(path, finding): (String, &Finding)| Entry {
            path,
            code: finding.rule.to_string(),
            function: finding.function.clone(),
            message: finding.message.lines().next().unwrap_or_default().to_owned(),
            fingerprint: finding.fingerprint.clone(),
        };
        Self { entries: findings.into_iter().map(entry).collect() }
    }

    /// Parses the output of [`Baseline::render`].
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let wrong = |error: &serde_json::Error| {
            let whole = error.to_string();
            // The location is reported separately.
            let message = whole.rsplit_once(" at line ").map_or(whole.as_str(), |(message, _)| message).to_owned();
            BaselineError { message, row: error.line().max(1), column: error.column().max(1) }
        };
        let document: Document = serde_json::from_str(text).map_err(|error| wrong(&error))?;
        if document.version != VERSION {
            let message = if document.version < VERSION {
                format!("version {} uses fingerprints that are computed differently today", document.version)
            } else {
                format!("unknown version {}, expected {VERSION}", document.version)
            };
            return Err(BaselineError { message, row: 1, column: 1 });
        }
        Ok(Self { entries: document.findings.into_iter().collect() })
    }

    /// The text of the file.
    pub fn render(&self) -> String {
        let document = Document { version: VERSION, findings: self.entries.iter().cloned().collect() };
        // Strings and a number always serialise.
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The number of accepted findings.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no finding is accepted.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The fingerprints of accepted findings.
    pub fn fingerprints(&self) -> BTreeSet<&str> {
        self.entries.iter().map(|entry| entry.fingerprint.as_str()).collect()
    }

    /// Whether a finding can be accepted. Findings about files that cannot be read or parsed cannot: such files are not checked.
    pub fn can_accept(finding: &Finding) -> bool {
        finding.rule.family() != Family::Run
    }

    /// The entries that match none of the findings. Only entries count for which `is_decided` holds: this run would have reported the
    /// finding again.
    pub fn stale<'a>(
        &self,
        findings: impl IntoIterator<Item = &'a Finding>,
        is_decided: &dyn Fn(&Entry) -> bool,
    ) -> Vec<&Entry> {
        let present: BTreeSet<&str> = findings.into_iter().map(|finding| finding.fingerprint.as_str()).collect();
        let is_stale = |entry: &&Entry| is_decided(entry) && !present.contains(entry.fingerprint.as_str());
        self.entries.iter().filter(is_stale).collect()
    }

    /// The baseline without some of its entries.
    #[must_use]
    pub fn without(&self, dropped: &[&Entry]) -> Self {
        Self { entries: self.entries.iter().filter(|entry| !dropped.contains(entry)).cloned().collect() }
    }

    /// The union with another baseline; for a finding in both, the other's entry wins.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let known: BTreeSet<&str> = other.entries.iter().map(|entry| entry.fingerprint.as_str()).collect();
        let kept = self.entries.iter().filter(|entry| !known.contains(entry.fingerprint.as_str()));
        Self { entries: kept.chain(&other.entries).cloned().collect() }
    }
}
