//! `IPython`'s commands in scripts that editors run cell by cell.
//!
//! **Invariant:** offsets do not change: each byte of code in another language is replaced by a space.

use std::borrow::Cow;

/// Cell magics whose cells contain Python.
const OF_PYTHON: [&str; 9] = ["capture", "debug", "ipytest", "prun", "pypy", "python", "python3", "time", "timeit"];

/// Blanks out the cells whose magic is for another language (`%%bash`). `marks` are the offsets at which cells start.
pub fn python_only<'a>(text: &'a str, marks: &[u32]) -> Cow<'a, str> {
    let ends = marks.iter().skip(1).map(|mark| *mark as usize).chain([text.len()]);
    let cells = marks.iter().map(|mark| *mark as usize).zip(ends);
    let foreign: Vec<_> =
        cells.filter_map(|(start, end)| Some((start + start_of_foreign(text.get(start..end)?)?, end))).collect();
    if foreign.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut only = String::with_capacity(text.len());
    for (start, end) in foreign {
        only.push_str(text.get(only.len()..start).unwrap_or_default());
        let code = text.get(start..end).unwrap_or_default();
        only.extend(code.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' }));
    }
    only.push_str(text.get(only.len()..).unwrap_or_default());
    Cow::Owned(only)
}

/// The offset of the magic, if it is for another language.
fn start_of_foreign(cell: &str) -> Option<usize> {
    let mut at = 0;
    let is_code = |line: &&str| !line.trim_start().is_empty() && !line.trim_start().starts_with('#');
    let first = cell.split_inclusive('\n').find(|line| {
        is_code(line) || {
            at += line.len();
            false
        }
    })?;
    let command = first.strip_prefix("%%")?.split_whitespace().next()?;
    (!OF_PYTHON.contains(&command)).then_some(at)
}
