//! `keylint migrate`: from raw keys to typed ones, as one diff.
//!
//! **Invariant:** without `--write` no file changes; with it each file is replaced atomically, and failures are reported. What is left to
//! the user is always listed.

use std::collections::BTreeSet;

use super::args::{Args, Migrate};
use super::backend::{Backend, CheckRequest};
use super::output::Colour;
use super::progress::ProgressLine;
use super::questions::Answers;
use super::{Failure, Process, Status, check, fix};
use crate::engine::{Decisions, FixOutcome, Fixes, Migrated, Outcome};
use crate::finding::{Applicability, Family};
use crate::fix::{Change, unified};
use crate::report;
use crate::text::apply_edits;

/// What to do once nothing is left.
const ADVICE: &str = "To keep raw keys out, set `jax.config.update(\"jax_legacy_prng_key\", \"error\")` where the program and its tests \
                      start (or JAX_LEGACY_PRNG_KEY=error in their environment).";

pub(super) fn run(
    command: &Migrate,
    args: &Args,
    backend: &dyn Backend,
    process: &mut Process<'_>,
) -> Result<Status, Failure> {
    let resolver = check::resolver(&command.selection, &command.paths, process)?;
    let ticker = ProgressLine::new(process.stderr_is_terminal && !args.quiet);
    let cwd = process.cwd.clone();
    let request = CheckRequest {
        cwd: &cwd,
        paths: &command.paths,
        stdin: None,
        resolver: &resolver,
        force_exclude: false,
        use_cache: false,
        fixes: Fixes::None,
        verify: true,
        progress: &|done, total| ticker.update(done, total),
    };
    let mut answers = Answers::default();
    let mut decided = Decisions::default();
    if command.interactive {
        let outcome = backend.check(&CheckRequest { fixes: Fixes::All, ..request.clone() })?;
        ticker.clear();
        decided.fixes = ask_which_to_fix(&outcome, &mut answers, process)?;
    }
    let mut migrated = backend.migrate(&request, &decided)?;
    ticker.clear();
    if command.interactive {
        decided.kept = ask_which_to_keep(&migrated, &mut answers, process)?;
        if !decided.kept.is_empty() {
            migrated = backend.migrate(&request, &decided)?;
            ticker.clear();
        }
    }
    check::report_warnings(&resolver, process)?;
    check::report_missing(&migrated.outcome.missing, process)?;
    let failed = migrated.outcome.failed;
    let fixed = FixOutcome { changed: std::mem::take(&mut migrated.changed), ..FixOutcome::default() };
    let is_changed = !fixed.changed.is_empty();
    if !command.write {
        let colour = Colour::new(args.color, process.env).on(process.stdout_is_terminal);
        process.stdout.write_all(fix::diff(&fixed, process.stdout_is_terminal, colour).as_bytes())?;
        process.stdout.flush()?;
    }
    let question = format!("Write these changes to {}?", counted(fixed.changed.len(), "file"));
    let is_agreed = command.interactive && is_changed && !command.write && answers.ask(&question, false, process)?;
    let writes = command.write || is_agreed;
    if writes {
        fix::write(&fixed, None, process)?;
    }
    let summary = summary(&migrated, fixed.changed.len(), writes);
    // If nothing could be read, there is nothing to sum up.
    let is_void = migrated.outcome.checked == 0 && failed;
    if !args.quiet && !is_void {
        for line in summary {
            writeln!(process.stderr, "{}", report::neutral_line(&line))?;
        }
    }
    Ok(match (failed, is_changed && !writes) {
        (true, _) => Status::Failed,
        (false, true) => Status::Findings,
        (false, false) => Status::Clean,
    })
}

/// The mistakes with words of keys that are to be fixed first, by fingerprint.
fn ask_which_to_fix(
    outcome: &Outcome,
    answers: &mut Answers,
    process: &mut Process<'_>,
) -> Result<BTreeSet<String>, Failure> {
    let mut wanted = BTreeSet::new();
    let mut seen = Vec::new();
    for reported in outcome.findings.iter().filter(|reported| reported.shown) {
        let finding = &reported.finding;
        let fix = finding.fix.as_ref().filter(|fix| fix.applicability >= Applicability::Unsafe);
        let Some(fix) = fix.filter(|_| finding.rule.family() == Family::Buffer) else { continue };
        // A fix that resolves several findings is asked about once.
        if seen.contains(&&fix.edits) {
            continue;
        }
        seen.push(&fix.edits);
        let file = finding.primary.file;
        let text = outcome.files.text(file);
        let fixed = apply_edits(text, &fix.edits).unwrap_or_default();
        let diff = unified(&outcome.files.path(file).display().to_string(), text, &fixed);
        let locus = outcome.files.locus(finding.primary);
        let shown = format!("{locus}: {} {}\n{diff}", finding.rule.code(), finding.message);
        writeln!(process.stderr, "{}", report::neutral_line(&shown))?;
        let question = format!(
            "Fix this first ({})? Otherwise the code keeps using the words, and the numbers stay the same.",
            fix.message
        );
        if answers.ask(&question, false, process)? {
            wanted.insert(finding.fingerprint.clone());
        }
    }
    Ok(wanted)
}

/// The files that are not fully verified and that the user wants to keep raw.
fn ask_which_to_keep(
    migrated: &Migrated,
    answers: &mut Answers,
    process: &mut Process<'_>,
) -> Result<BTreeSet<String>, Failure> {
    let mut kept = BTreeSet::new();
    let mut places = migrated.unverified.iter().peekable();
    while let Some(first) = places.next() {
        writeln!(process.stderr, "{}: not verified: {}", report::neutral_line(&first.locus), first.reason)?;
        while let Some(place) = places.next_if(|place| place.path == first.path) {
            writeln!(process.stderr, "{}: not verified: {}", report::neutral_line(&place.locus), place.reason)?;
        }
        let question = format!("Migrate `{}` anyway?", report::neutral_line(&first.path));
        if !answers.ask(&question, true, process)? {
            kept.insert(first.path.clone());
        }
    }
    Ok(kept)
}

/// What changes, what is verified, what is left and why, and the next steps.
fn summary(migrated: &Migrated, files: usize, writes: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let count = |change: Change| migrated.changes.get(&change).copied().unwrap_or_default();
    let parts = [
        (count(Change::Constructor), "constructor"),
        (count(Change::Annotation), "annotation"),
        (count(Change::Shape), "test of shape or dtype"),
        (count(Change::Words), "use of key data"),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what)).collect();
    if files == 0 {
        lines.push("Nothing to migrate.".to_owned());
    } else {
        let verb = if writes { "Migrated" } else { "Would migrate" };
        lines.push(format!("{verb} {}: {}.", counted(files, "file"), parts.join(", ")));
    }
    if migrated.verified > 0 {
        let functions = counted(migrated.verified, "changed function");
        let verb = if migrated.verified == 1 { "passes" } else { "pass" };
        lines.push(format!("Verified by replay: {functions} {verb} the same key data to the same draws."));
    }
    if !migrated.unverified.is_empty() {
        lines.push(format!("Not verified: {}:", counted(migrated.unverified.len(), "changed function")));
        lines.extend(migrated.unverified.iter().map(|place| format!("  {}: {}", place.locus, place.reason)));
    }
    if !migrated.left.is_empty() {
        lines.push(format!("Left to you: {}:", counted(migrated.left.len(), "place")));
        lines.extend(migrated.left.iter().map(|place| format!("  {}: {}", place.locus, place.reason)));
    }
    if files > 0 && !writes {
        lines.push("Nothing was written; `--write` applies the diff.".to_owned());
    }
    lines.push(ADVICE.to_owned());
    lines
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        return format!("1 {noun}");
    }
    let plural = match noun.split_once(' ') {
        Some((head, rest)) if rest.starts_with("of ") => format!("{head}s {rest}"),
        _ => format!("{noun}s"),
    };
    format!("{count} {plural}")
}
