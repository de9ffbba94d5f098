//! The common parts of HTML pages: colours, escaping, and conversion of terminal output.
//!
//! **Invariant:** nothing in the text of a program or a terminal becomes markup.

/// The colours of the light and the dark theme.
pub(super) const THEME: &str = include_str!("theme.css");

/// Escapes a text, so that nothing in it is markup.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Converts terminal output to HTML: colours become elements of the classes `bold` and `c1` to `c7`.
pub fn terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut is_bold, mut colour) = (false, None);
    for (index, piece) in text.split("\u{1b}[").enumerate() {
        let piece = match piece.split_once('m') {
            Some((parameters, rest)) if index > 0 => {
                let mut numbers = parameters.split(';').map(|number| number.parse().unwrap_or(0_u32));
                while let Some(number) = numbers.next() {
                    match number {
                        1 => is_bold = true,
                        30..=37 => colour = Some(number - 30),
                        90..=97 => colour = Some(number - 90),
                        38 => colour = numbers.nth(1).map(|number| number % 8),
                        _ => (is_bold, colour) = (false, None),
                    }
                }
                rest
            }
            _ => piece,
        };
        let class = match (is_bold, colour) {
            (false, None) => None,
            (true, None) => Some("bold".to_owned()),
            (false, Some(colour)) => Some(format!("c{colour}")),
            (true, Some(colour)) => Some(format!("bold c{colour}")),
        };
        match class.filter(|_| !piece.is_empty()) {
            Some(class) => out.extend([&format!("<span class=\"{class}\">"), &escaped(piece), "</span>"]),
            None => out.push_str(&escaped(piece)),
        }
    }
    out
}
