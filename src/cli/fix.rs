//! `keylint check --fix` and `--diff`.
//!
//! **Invariant:** a file is written whole or not at all, in its own encoding, and only if something changed; `--diff` writes
//! none.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::args::Check;
use super::output::write_file;
use super::{Failure, World};
use crate::engine::Outcome;
use crate::finding::Applicability;
use crate::fix;
use crate::report;
use crate::source::SourceFile;

/// A file that repairs changed.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Where it is.
    pub path: PathBuf,
    /// What it was.
    pub before: SourceFile,
    /// What its text is now.
    pub after: String,
}

/// What repairs came to.
#[derive(Debug, Default)]
pub struct Repaired {
    /// What is found in the repaired files.
    pub outcome: Outcome,
    /// The files that changed, in the order in which they were given.
    pub changed: Vec<Changed>,
    /// How many findings were mended.
    pub mended: usize,
}

/// Who has to agree before a fix is applied.
pub(super) fn least(command: &Check) -> Applicability {
    if command.unsafe_fixes { Applicability::Unsafe } else { Applicability::Safe }
}

/// Writes the repaired files; the one from standard input goes to standard output.
pub(super) fn write(repaired: &Repaired, stdin: Option<&SourceFile>, world: &mut World<'_>) -> Result<(), Failure> {
    for changed in &repaired.changed {
        let bytes = changed.before.encode(&changed.after);
        let bytes = bytes.map_err(|problem| Failure::Usage(format!("{}: {}", problem.path, problem.message)))?;
        if stdin.is_some() {
            world.stdout.write_all(&bytes)?;
        } else {
            write_file(&changed.path, &bytes)
                .map_err(|error| Failure::Usage(format!("cannot write `{}`: {error}", changed.path.display())))?;
        }
    }
    if let (Some(source), []) = (stdin, &repaired.changed[..]) {
        let bytes = source.encode(&source.text);
        world.stdout.write_all(&bytes.map_err(|problem| Failure::Usage(problem.message))?)?;
    }
    Ok(world.stdout.flush()?)
}

/// The changes as one unified diff, fit for a terminal where it goes to one.
pub(super) fn diff(repaired: &Repaired, to_terminal: bool) -> String {
    let mut diff = String::new();
    for changed in &repaired.changed {
        let one = fix::unified(&changed.before.path, &changed.before.text, &changed.after);
        if to_terminal {
            diff.push_str(&report::neutral_line(&one));
        } else {
            diff.push_str(&one);
        }
    }
    diff
}

/// How many findings were mended.
pub(super) fn summary(repaired: &Repaired) -> Option<String> {
    let (findings, files) = (repaired.mended, repaired.changed.len());
    (findings > 0).then(|| format!("Fixed {} in {}.", counted(findings, "finding"), counted(files, "file")))
}

/// How many of the findings shown have a fix, by the option that applies it.
pub(super) fn available(outcome: &Outcome, command: &Check) -> Option<String> {
    let shown = outcome.findings.iter().filter(|reported| reported.shown);
    let fixes: Vec<Applicability> =
        shown.filter_map(|reported| reported.finding.fix.as_ref()).map(|fix| fix.applicability).collect();
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
    }
    (!line.is_empty()).then(|| format!("{line}."))
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
