//! Colours and links of a terminal.
//!
//! **Invariant:** without colours, text is unchanged.

use crate::finding::Level;

/// Bold.
pub(super) const BOLD: &str = "1";
/// Removed lines.
pub(super) const RED: &str = "31";
/// Added lines.
pub(super) const GREEN: &str = "32";
/// Positions of changes.
pub(super) const CYAN: &str = "36";

/// Colours text, if colours are on.
#[derive(Clone, Copy)]
pub(super) struct Paint(pub(super) bool);

impl Paint {
    /// The text in a style (the parameters of an `SGR` sequence).
    pub(super) fn with(self, style: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// The style of a level.
pub(super) fn of_level(level: Level) -> &'static str {
    match level {
        Level::Note => "1;36",
        Level::Warning => "1;33",
        Level::Error => "1;31",
    }
}

/// The text as a link, for terminals that support links (`OSC 8`).
pub(super) fn link(address: &str, text: &str) -> String {
    format!("\u{1b}]8;;{address}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\")
}

/// Colours a unified diff; line endings are unchanged.
pub fn coloured_diff(diff: &str) -> String {
    let paint = Paint(true);
    let line = |line: &str| {
        let text = line.trim_end_matches(['\r', '\n']);
        let style = match text.as_bytes() {
            [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] => BOLD,
            [b'-', ..] => RED,
            [b'+', ..] => GREEN,
            [b'@', b'@', ..] => CYAN,
            _ => return line.to_owned(),
        };
        paint.with(style, text) + &line[text.len()..]
    };
    diff.split_inclusive('\n').map(line).collect()
}
