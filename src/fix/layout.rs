//! Where new statements go: before another, in its indentation, or on its line if it does not start the line.
//!
//! **Invariant:** an insertion changes nothing about the statements around it, be they in one-line suites, after semicolons or
//! after a continued line, and ends its lines as the file does.

use crate::text::{Edit, Span};

/// The edit that puts the simple statement `code` right before the statement that starts at `start`.
pub fn before(text: &str, start: u32, code: &str) -> Edit {
    let content = match indentation(text, start) {
        Some(indent) => format!("{code}{}{indent}", line_end(text)),
        None => format!("{code}; "),
    };
    Edit::insert(start, content)
}

/// Longer comments describe more than the statement below them.
const COMMENT: usize = 4;

/// The start of the comment directly above a statement: new statements go before it. The statement's own start if there is none, or if the
/// comment is a heading or a directive for a tool.
pub fn with_comment(text: &str, start: u32) -> u32 {
    let Some(indent) = indentation(text, start) else { return start };
    let own = start as usize - indent.len();
    let mut first = own;
    loop {
        let Some(above) = text[..first].strip_suffix('\n').map(|head| head.trim_end_matches('\r')) else {
            return start;
        };
        let line = above.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let Some(comment) = above[line..].strip_prefix(indent).filter(|rest| rest.starts_with('#')) else { break };
        let said = comment.trim_start_matches('#').trim_start();
        let is_heading = ["---", "===", "***", "###"].iter().any(|rule| comment[1..].contains(rule));
        let is_for_tools =
            comment[1..].starts_with(['@', '|', '!', ':', '%']) || said.starts_with('%') || said.contains(": ");
        let is_long = memchr::memchr_iter(b'\n', &text.as_bytes()[line..own]).count() > COMMENT;
        if line == 0 || is_long || said.is_empty() || is_heading || is_for_tools {
            return start;
        }
        first = line;
    }
    u32::try_from(first + indent.len()).unwrap_or(start)
}

/// The indentation of a statement that starts its line; `None` if something else precedes it.
pub(super) fn indentation(text: &str, start: u32) -> Option<&str> {
    let head = text.get(..start as usize)?;
    let line = head.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let indent = &head[line..];
    let is_blank = indent.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\x0c'));
    let is_continued = head[..line].trim_end_matches(['\n', '\r']).ends_with('\\');
    (is_blank && !is_continued).then_some(indent)
}

/// How the lines of a text end.
pub(super) fn line_end(text: &str) -> &'static str {
    match memchr::memchr2(b'\n', b'\r', text.as_bytes()) {
        Some(at) if text.as_bytes()[at] == b'\n' => "\n",
        Some(at) if text.as_bytes().get(at + 1) == Some(&b'\n') => "\r\n",
        Some(_) => "\r",
        None => "\n",
    }
}

/// The span of a statement that is alone on its lines, with the end of the last line; `None` if it shares a line with something, including
/// a comment.
pub fn own_lines(text: &str, statement: Span) -> Option<Span> {
    let indent = indentation(text, statement.start)?;
    let rest = text.get(statement.end as usize..)?;
    let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let ending = match rest.as_bytes().get(blank..)? {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        [] => 0,
        _ => return None,
    };
    let end = statement.end + u32::try_from(blank + ending).ok()?;
    Some(Span::new(statement.start - u32::try_from(indent.len()).ok()?, end))
}

/// The span of a statement that is alone on its lines except for a trailing comment, with the end of the last line, and that comment.
pub(super) fn own_lines_with_comment(text: &str, statement: Span) -> Option<(Span, &str)> {
    let rest = text.get(statement.end as usize..)?;
    let line = rest.find(['\n', '\r']).map_or(rest, |end| &rest[..end]);
    let said = line.trim_start_matches([' ', '\t']);
    if !said.starts_with('#') {
        return own_lines(text, statement).map(|lines| (lines, ""));
    }
    let end = statement.end + u32::try_from(line.len()).ok()?;
    let lines = own_lines(text, Span::new(statement.start, end))?;
    Some((lines, line.trim_end()))
}

/// The text of a comment that is alone on the line before a statement.
pub(super) fn comment_above(text: &str, statement: Span) -> Option<&str> {
    let head = text.get(..statement.start as usize).unwrap_or_default();
    let line = head.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    head[..line].lines().next_back()?.trim_start().strip_prefix('#')
}

/// The text of the comments on the lines of a statement, and on the line before if that is a comment only; a `#` in a string counts as one.
pub(super) fn comments_around(text: &str, statement: Span) -> impl Iterator<Item = &str> {
    let head = text.get(..statement.start as usize).unwrap_or_default();
    let line = head.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let above = head[..line].lines().next_back().filter(|above| above.trim_start().starts_with('#'));
    let rest = text.get(statement.end as usize..).unwrap_or_default();
    let end = statement.end as usize + rest.find(['\n', '\r']).unwrap_or(rest.len());
    let own = text.get(line..end).unwrap_or_default();
    above.into_iter().chain(own.lines()).filter_map(|line| Some(line.split_once('#')?.1))
}
