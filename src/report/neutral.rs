//! Neutralises text for terminals and for readers of raw JSON.
//!
//! **Invariant:** the result contains no character that moves the cursor, reorders its neighbours or is invisible, except
//! tabs in source lines.

use std::fmt::Write;

/// The maximum length of a printed message or path.
pub const LONGEST: usize = 600;

/// Puts `text` on one line, makes dangerous characters visible, and cuts it if it is too long.
pub fn neutral(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST));
    for (index, c) in text.chars().enumerate() {
        if index == LONGEST {
            out.push('…');
            break;
        }
        match c {
            '\t' | '\n' => out.push(' '),
            '\r' => {}
            c => push(&mut out, c),
        }
    }
    out
}

/// Makes dangerous characters visible in a text; tabs and line endings stay.
pub fn neutral_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' { out.push('\n') } else { push(&mut out, c) }
    }
    out
}

/// Appends `c`, or its replacement.
pub(super) fn push(out: &mut String, c: char) {
    match c {
        '\t' => out.push('\t'),
        '\u{7f}' => out.push('\u{2421}'),
        // Unicode's control pictures are in the order of the control characters.
        c if u32::from(c) < 0x20 => out.extend(char::from_u32(0x2400 + u32::from(c))),
        c if is_dangerous(c) => out.extend(c.escape_unicode()),
        c => out.push(c),
    }
}

/// Escapes dangerous characters in JSON text. They occur only within strings, where an escape is equivalent.
pub fn escape_json(json: &str) -> String {
    if !json.chars().any(is_dangerous) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_dangerous(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a terminal may obey the character, or it reorders or hides text (apart from ASCII's control characters).
pub fn is_dangerous(c: char) -> bool {
    matches!(c,
        '\u{7f}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}
