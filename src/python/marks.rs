//! The comments that start the cells of a script in notebook format.
//!
//! **Invariant:** only comments start cells, never text in a string that looks like one.

use super::Comment;

/// The number of lines at the start of a script that are searched for a jupytext header.
const HEADER: usize = 40;

/// The offsets at which the cells of a script in notebook format start: each `# %%` comment, as in editors, and each `# +` comment if
/// the header says that `jupytext` wrote the script.
pub fn marks(text: &str, comments: &[Comment]) -> Vec<u32> {
    let starts_line = |start: u32| {
        text.get(..start as usize).is_some_and(|before| before.is_empty() || before.ends_with(['\n', '\r']))
    };
    let of_lines = comments.iter().filter(|comment| starts_line(comment.span.start));
    let of_lines: Vec<(u32, &str)> = of_lines
        .filter_map(|comment| Some((comment.span.start, text.get(comment.span.range())?.strip_prefix('#')?)))
        .collect();
    let header: usize = text.split_inclusive(['\n', '\r']).take(HEADER).map(str::len).sum();
    let is_light = of_lines.iter().any(|(start, comment)| (*start as usize) < header && comment.contains("jupytext:"));
    let is_mark = |comment: &str| {
        let comment = comment.trim_start_matches(' ');
        comment.starts_with("%%") || is_light && (comment.trim_end() == "+" || comment.starts_with("+ "))
    };
    of_lines.into_iter().filter(|(_, comment)| is_mark(comment)).map(|(start, _)| start).collect()
}
