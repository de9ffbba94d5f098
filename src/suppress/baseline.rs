//! The baseline: findings that existed when keylint was adopted, and that are not reported again.
//!
//! A finding is known by its fingerprint, which is made of path, rule, enclosing function, normalised statement and ordinal and of
//! no line; the other fields of an entry are for those who review the file.
//!
//! **Invariant:** entries are sorted and unique, so that equal baselines are equal files and two branches merge line by line.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::finding::{Family, Finding};

/// The version of the format. Another way to make fingerprints is another version, for no entry would match any more.
const VERSION: u32 = 2;

/// One finding that is accepted.
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
    /// The fingerprint, by which the finding is known again.
    pub fingerprint: String,
}

/// The findings that are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    entries: BTreeSet<Entry>,
}

/// The file as written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    findings: Vec<Entry>,
}

/// Why a text is no baseline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}, at row {row}, column {column}")]
pub struct BaselineError {
    /// What is wrong.
    pub message: String,
    /// Where, from 1.
    pub row: usize,
    /// Where, from 1.
    pub column: usize,
}

impl Baseline {
    /// A baseline that accepts these findings of files with these paths.
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

    /// Reads what [`Baseline::render`] wrote.
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let wrong = |error: &serde_json::Error| {
            let whole = error.to_string();
            // The place is reported separately from the message.
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
        // Strings and a number: there is nothing that JSON could not hold.
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        text
    }

    /// How many findings are accepted.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The fingerprints of accepted findings.
    pub fn fingerprints(&self) -> BTreeSet<&str> {
        self.entries.iter().map(|entry| entry.fingerprint.as_str()).collect()
    }

    /// Whether a finding can be accepted: not one about the run itself, for a file that cannot be read or parsed is not
    /// checked.
    pub fn can_accept(finding: &Finding) -> bool {
        finding.rule.family() != Family::Run
    }

    /// The entries that match none of the findings, among those for which `is_decided` tells that the run would have found them.
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

    /// The baseline with the entries of another one; where both know a finding, the other's words count.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let known: BTreeSet<&str> = other.entries.iter().map(|entry| entry.fingerprint.as_str()).collect();
        let kept = self.entries.iter().filter(|entry| !known.contains(entry.fingerprint.as_str()));
        Self { entries: kept.chain(&other.entries).cloned().collect() }
    }
}
