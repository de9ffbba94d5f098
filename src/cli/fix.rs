//! `keylint check --fix` and `--diff`.
//!
//! **Invariant:** a file is written whole or not at all, in its own encoding, and only if something changed; `--diff` writes
//! none.

use std::fmt::Write as _;

use super::args::Check;
use super::output::write_file;
use super::{Failure, Process};
use crate::engine::{Changed, FixOutcome, Outcome};
use crate::finding::{Applicability, RuleId};
use crate::fix;
use crate::report;
use crate::source::{self, SourceFile};
use crate::text::{Cell, Edit, FileId, Span, apply_edits};

/// The least safe kind of fixes to apply.
pub(super) fn least(command: &Check) -> Applicability {
    if command.unsafe_fixes { Applicability::Unsafe } else { Applicability::Safe }
}

/// Writes the fixed files; the one from standard input goes to standard output.
pub(super) fn write(fixed: &FixOutcome, stdin: Option<&SourceFile>, process: &mut Process<'_>) -> Result<(), Failure> {
    let mut failures: Vec<String> = Vec::new();
    for changed in &fixed.changed {
        if stdin.is_some() {
            process.stdout.write_all(&changed.bytes)?;
        } else {
            let name = report::neutral(&changed.before.path);
            let is_readonly = std::fs::metadata(&changed.path).is_ok_and(|found| found.permissions().readonly());
            match write_file(&changed.path, &changed.bytes) {
                Ok(()) if is_readonly => {
                    writeln!(process.stderr, "warning: overwrote read-only file `{name}`")?;
                }
                Ok(()) => {}
                // A file that cannot be written does not prevent the others.
                Err(error) => failures.push(format!("cannot write `{name}`: {error}")),
            }
        }
    }
    if !failures.is_empty() {
        return Err(Failure::Usage(failures.join("\nerror: ")));
    }
    if let (Some(source), []) = (stdin, &fixed.changed[..]) {
        let bytes = source.encode(&source.text);
        process.stdout.write_all(&bytes.map_err(|problem| Failure::Usage(problem.message))?)?;
    }
    Ok(process.stdout.flush()?)
}

/// The changes as one unified diff, fit for a terminal where it goes to one.
pub(super) fn diff(fixed: &FixOutcome, to_terminal: bool, colour: bool) -> String {
    let mut diff = String::new();
    for changed in &fixed.changed {
        let one = changed.diff();
        let one = if to_terminal { report::neutral_line(&one) } else { one };
        diff.push_str(&if colour { report::coloured_diff(&one) } else { one });
    }
    diff
}

/// Fixes that are only displayed.
pub(super) struct Unverified {
    /// Each after a line that says why, as a diff of the file with the fixes that would be applied.
    pub diff: String,
    /// How many findings they are for.
    pub count: usize,
}

impl Unverified {
    /// How many findings have such a fix.
    pub(super) fn summary(&self) -> Option<String> {
        let verb = if self.count == 1 { "has a fix that is" } else { "have fixes that are" };
        let findings = counted(self.count, "finding");
        (self.count > 0).then(|| format!("{findings} {verb} not verified, shown above and never applied."))
    }
}

/// The fixes of the findings that remain, if no option applies them.
pub(super) fn unverified(outcome: &Outcome, to_terminal: bool, colour: bool) -> Unverified {
    let mut found = Unverified { diff: String::new(), count: 0 };
    let mut shown: Vec<(FileId, &[Edit])> = Vec::new();
    let findings = outcome.findings.iter().filter(|reported| reported.shown).map(|reported| &reported.finding);
    for finding in findings {
        let Some(fix) = finding.fix.as_ref().filter(|fix| fix.applicability == Applicability::Display) else {
            continue;
        };
        found.count += 1;
        let file = finding.primary.file;
        if shown.contains(&(file, &fix.edits)) {
            continue;
        }
        shown.push((file, &fix.edits));
        let reason = fix.reason.as_deref().unwrap_or("nothing shows that it is right");
        let place = outcome.files.locus(finding.primary);
        let head = format!("# not verified: {place} {}: {reason}\n", finding.rule);
        let one = head + &difference(outcome, file, &fix.edits);
        let one = if to_terminal { report::neutral_line(&one) } else { one };
        found.diff.push_str(&if colour { report::coloured_diff(&one) } else { one });
    }
    found
}

/// What edits of a file change, as a unified diff; of a notebook, one for each cell.
fn difference(outcome: &Outcome, file: FileId, edits: &[Edit]) -> String {
    let path = outcome.files.path(file).display().to_string();
    let (text, cells) = (outcome.files.text(file), outcome.files.cells(file));
    if cells.is_empty() {
        let after = apply_edits(text, edits).unwrap_or_default();
        return fix::unified(&path, text, &after);
    }
    let of_cell = |cell: Cell| {
        let own = edits.iter().filter(|edit| cell.span.covers(edit.span)).map(|edit| {
            let moved = |offset: u32| offset - cell.span.start;
            Edit::replace(Span::new(moved(edit.span.start), moved(edit.span.end)), edit.content.clone())
        });
        let before = text.get(cell.span.range()).unwrap_or_default();
        let after = apply_edits(before, &own.collect::<Vec<_>>()).unwrap_or_default();
        fix::unified(&format!("{path}:cell {}", cell.number), before, &after)
    };
    cells.iter().map(of_cell).collect()
}

impl Changed {
    /// A unified diff; of a notebook, one for each cell that changed.
    fn diff(&self) -> String {
        let Self { before, after, bytes, .. } = self;
        // Fixes neither add nor remove cells.
        let again = source::decode(&before.path, bytes.clone()).ok().filter(|again| !again.cells.is_empty());
        let Some(again) = again else { return fix::unified(&before.path, &before.text, after) };
        let code = |text: &str, cell: Cell| text.get(cell.span.range()).unwrap_or_default().to_owned();
        let cells = before.cells.iter().zip(again.cells.iter());
        let diff = |(old, new): (Cell, Cell)| {
            let (before, after) = (code(&before.text, old), code(&again.text, new));
            let name = format!("{}:cell {}", self.before.path, old.number);
            if before == after { String::new() } else { fix::unified(&name, &before, &after) }
        };
        cells.map(diff).collect()
    }
}

/// How many findings were resolved, and on request which.
pub(super) fn summary(fixed: &FixOutcome, lists: bool) -> Vec<String> {
    let (findings, files) = (fixed.resolved, fixed.changed.len());
    if findings == 0 {
        return Vec::new();
    }
    let end = if lists { ":" } else { "." };
    let mut lines = vec![format!("Fixed {} in {}{end}", counted(findings, "finding"), counted(files, "file"))];
    for changed in fixed.changed.iter().filter(|_| lists) {
        lines.push(format!("- {}:", report::neutral(&changed.before.path)));
        lines.extend(changed.resolved.iter().map(|(rule, count)| format!("    {count} × {rule} ({})", rule.name())));
    }
    lines
}

/// How many of the findings shown have a fix, by the option that applies it. If findings about raw keys are counted in one line, their fixes
/// are not counted, because they may not have been searched.
pub(super) fn available(outcome: &Outcome, command: &Check, folds_raw_keys: bool) -> Option<String> {
    let shown = outcome.findings.iter().filter(|reported| reported.shown).map(|reported| &reported.finding);
    let listed = shown.filter(|finding| !folds_raw_keys || finding.rule != RuleId::LegacyPrngkey);
    let fixes: Vec<Applicability> =
        listed.filter_map(|finding| finding.fix.as_ref()).map(|fix| fix.applicability).collect();
    let count = |wanted: Applicability| fixes.iter().filter(|one| **one == wanted).count();
    let (safe, risky) = (count(Applicability::Safe), count(Applicability::Unsafe));
    let mut line = String::new();
    if safe > 0 && !command.fix {
        let _ = write!(line, "{} can be fixed with --fix", counted(safe, "finding"));
    }
    if risky > 0 && !(command.fix && command.unsafe_fixes) {
        let gap = if line.is_empty() { "" } else { "; " };
        let verb = if risky == 1 { "fix would be" } else { "fixes would be" };
        let fix = if command.fix { "" } else { "--fix " };
        let _ = write!(line, "{gap}{risky} {verb} applied with {fix}--unsafe-fixes");
        if folds_raw_keys {
            let _ = write!(line, ", not counting those of {}", RuleId::LegacyPrngkey);
        }
    }
    (!line.is_empty()).then(|| format!("{line}."))
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
