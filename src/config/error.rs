//! Errors in the configuration.
//!
//! **Invariant:** an error about a value carries the text that contains the value and its byte range, so that an excerpt can be shown.

use std::fmt;
use std::ops::Range;

/// An error in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file or command-line option that contains the error.
    pub origin: String,
    /// The text that contains the error; empty if there is none to show.
    pub text: String,
    /// The bytes of the error within `text`.
    pub span: Option<Range<usize>>,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// What to do instead.
    pub help: Option<String>,
}

impl ConfigError {
    /// An error that concerns a whole file: it cannot be read, or it is part of a cycle.
    pub(crate) fn of_file(origin: impl Into<String>, message: impl Into<String>) -> Self {
        Self { origin: origin.into(), text: String::new(), span: None, message: message.into(), help: None }
    }

    /// The 1-based row and column (in characters) of the error.
    pub fn location(&self) -> Option<(usize, usize)> {
        let before = self.text.get(..self.span.as_ref()?.start)?;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)?;
        if let Some((row, column)) = self.location() {
            write!(f, ":{row}:{column}")?;
        }
        write!(f, ": {}", self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ConfigError {}
