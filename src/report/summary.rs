//! The summary of a report for people, and the counts per rule.
//!
//! **Invariant:** hidden findings are always counted, with the options that would show them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::Report;
use crate::config::HiddenCounts;
use crate::finding::{Level, RuleId};

/// One sentence on what was found and what is hidden, and one on functions that were not analysed in full.
pub fn summary(report: &Report<'_>) -> String {
    let mut counts: BTreeMap<Level, usize> = BTreeMap::new();
    for finding in report.findings() {
        *counts.entry(finding.level).or_default() += 1;
    }
    let found: Vec<String> = counts.iter().rev().map(|(level, count)| counted(*count, &level.to_string())).collect();
    let mut line =
        if found.is_empty() { "All checks passed".to_owned() } else { format!("Found {}", found.join(", ")) };
    let hidden = hidden(report.hidden);
    if !hidden.is_empty() {
        let _ = write!(line, " ({hidden})");
    }
    line.push('.');
    match report.hidden.limited {
        0 => {}
        1 => line.push_str("\n1 function was not analysed in full, so findings in it may be missing (KEY006)."),
        count => {
            let _ = write!(
                line,
                "\n{count} functions were not analysed in full, so findings in them may be missing (KEY006)."
            );
        }
    }
    line
}

/// The line that replaces the findings about raw keys, if there is one.
pub(super) fn folded(report: &Report<'_>) -> Option<String> {
    let files = report.folded();
    let code = RuleId::LegacyPrngkey.code();
    (files > 0).then(|| {
        format!(
            "{files} files create raw keys with `PRNGKey` ({code}). List them with `--select {code}`, or migrate them with `keylint \
             migrate`."
        )
    })
}

/// The maximum number of findings without a table.
const FEW: usize = 12;

/// A table of the rules, if there are many findings.
pub fn table(report: &Report<'_>) -> Option<String> {
    let is_long = report.for_people().len() > FEW && per_rule(report).len() > 1;
    is_long.then(|| statistics(report))
}

fn hidden(hidden: &HiddenCounts) -> String {
    let levels = hidden.by_level.iter().rev().map(|(level, count)| counted(*count, &level.to_string()));
    let confidences = hidden
        .by_confidence
        .iter()
        .rev()
        .map(|(confidence, count)| counted(*count, &format!("{confidence}-confidence finding")));
    let parts: Vec<String> = levels.chain(confidences).collect();
    let accepted = match hidden.accepted {
        0 => None,
        count => Some(format!("{count} accepted by the baseline")),
    };
    if parts.is_empty() {
        return accepted.unwrap_or_default();
    }
    let mut options = String::new();
    if let Some((level, _)) = hidden.by_level.first_key_value() {
        let _ = write!(options, "--min-level {level}");
    }
    // A note may also have low confidence, but it is counted as hidden by its level.
    if let Some((confidence, _)) = hidden.by_confidence.first_key_value() {
        let gap = if options.is_empty() { "" } else { " " };
        let _ = write!(options, "{gap}--min-confidence {confidence}");
    }
    let total: usize = hidden.by_level.values().chain(hidden.by_confidence.values()).sum();
    let them = if total == 1 { "it" } else { "them" };
    let rest = accepted.map_or_else(String::new, |accepted| format!("; {accepted}"));
    format!("{} hidden; use {options} to show {them}{rest}", listed(&parts))
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn listed(parts: &[String]) -> String {
    match parts {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.join(""),
    }
}

/// Findings shown per rule, the most frequent first.
fn per_rule(report: &Report<'_>) -> Vec<(RuleId, usize)> {
    let mut counts: BTreeMap<RuleId, usize> = BTreeMap::new();
    for finding in report.findings() {
        *counts.entry(finding.rule).or_default() += 1;
    }
    let mut rules: Vec<_> = counts.into_iter().collect();
    rules.sort_by_key(|(rule, count)| (Reverse(*count), *rule));
    rules
}

/// A table of findings per rule.
pub fn statistics(report: &Report<'_>) -> String {
    let rules = per_rule(report);
    let width = rules.first().map_or(0, |(_, count)| count.to_string().len());
    rules.iter().fold(String::new(), |mut out, (rule, count)| {
        let _ = writeln!(out, "{count:>width$}  {rule}  {}", rule.name());
        out
    })
}

/// Findings per rule as JSON.
pub fn statistics_json(report: &Report<'_>) -> String {
    let rules: Vec<_> = per_rule(report)
        .into_iter()
        .map(|(rule, count)| serde_json::json!({"code": rule.code(), "name": rule.name(), "count": count}))
        .collect();
    format!("{:#}\n", serde_json::Value::Array(rules))
}
