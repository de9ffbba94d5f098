//! Arguments that clap refuses.
//!
//! **Invariant:** a tip is printed only if following it does what the user probably meant.

use std::io::Write;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::output::{Colour, ColourChoice};
use super::{Process, Status};
use crate::config::suggest;
use crate::report;

/// Options of ruff that keylint has under another name.
const RUFF: [(&str, &str); 4] = [
    ("--add-noqa", "`keylint check --add-ignores REASON` adds a comment at each finding"),
    ("--add-ignore", "`keylint check --add-ignores REASON` adds a comment at each finding"),
    ("--show-settings", "`keylint config PATH` shows the settings that apply to a path"),
    ("--silent", "redirect the output, and use the exit status"),
];

/// The options that write the files of the user. A misspelt word never leads to them.
const WRITING: [&str; 4] = ["--fix", "--fix-only", "--add-ignores", "--write"];

/// What makes an option its own opposite.
const OPPOSITES: [(&str, &str); 3] = [("no-", ""), ("un", ""), ("max", "min")];

/// Prints clap's output: help and version are results, anything else is a wrong argument.
pub(super) fn refuse(mut error: clap::Error, process: &mut Process<'_>) -> Status {
    let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let colour = Colour::new(ColourChoice::Auto, process.env);
    let tip = if is_answer { None } else { tip(&mut error, process) };
    let (out, terminal): (&mut dyn Write, bool) = if is_answer {
        (process.stdout, process.stdout_is_terminal)
    } else {
        (process.stderr, process.stderr_is_terminal)
    };
    let text = error.render();
    let text = if colour.on(terminal) { text.ansi().to_string() } else { text.to_string() };
    let text = match tip {
        Some(tip) => {
            let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
            format!("{first}\n\n  tip: {tip}\n{rest}")
        }
        None => text,
    };
    // If writing fails, the message is lost.
    let _ = write!(out, "{text}");
    if is_answer { Status::Clean } else { Status::Failed }
}

/// A tip of our own, in place of those of clap that mislead.
fn tip(error: &mut clap::Error, process: &Process<'_>) -> Option<String> {
    let text = |error: &clap::Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let written = text(error, ContextKind::InvalidSubcommand)?;
            let is_path = written.contains(['/', '\\', '.']) || process.cwd.join(&written).exists();
            if written == "explain" {
                error.remove(ContextKind::SuggestedSubcommand);
                return Some(
                    "`keylint rule KEY101` explains a rule, `keylint why FILE:LINE` the keys of a line".to_owned(),
                );
            }
            is_path.then(|| {
                error.remove(ContextKind::SuggestedSubcommand);
                let written = report::neutral(&written);
                // The usage line, for a command that was given without arguments of its own.
                let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
                if usage.contains(" baseline ") {
                    format!("to accept the findings of a file or folder, write `keylint baseline create {written}`")
                } else {
                    format!("to check a file or folder, write `keylint check {written}`")
                }
            })
        }
        ErrorKind::UnknownArgument => {
            // Text that looks like an option is not assumed to be a path.
            error.remove(ContextKind::Suggested);
            let written = text(error, ContextKind::InvalidArg)?;
            if let Some((_, tip)) = RUFF.iter().find(|(option, _)| *option == written) {
                error.remove(ContextKind::SuggestedArg);
                return Some((*tip).to_owned());
            }
            let similar = text(error, ContextKind::SuggestedArg)?;
            let core =
                |option: &str| OPPOSITES.iter().fold(option.to_owned(), |text, (from, to)| text.replace(from, to));
            let is_opposite = core(&written) == core(&similar);
            if !is_close(&written, &similar) || is_opposite || WRITING.contains(&similar.as_str()) {
                error.remove(ContextKind::SuggestedArg);
                error.remove(ContextKind::Usage);
            }
            None
        }
        ErrorKind::InvalidValue => {
            let written = text(error, ContextKind::InvalidValue)?;
            let similar = text(error, ContextKind::SuggestedValue)?;
            if !is_close(&written, &similar) {
                error.remove(ContextKind::SuggestedValue);
            }
            None
        }
        _ => None,
    }
}

/// Whether a word is probably a misspelling of another.
fn is_close(written: &str, similar: &str) -> bool {
    suggest(written, [similar]).is_some() && strsim::osa_distance(written, similar) <= 2
}
