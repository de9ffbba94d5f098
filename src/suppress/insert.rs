//! Edits that insert comments which suppress findings.
//!
//! **Invariant:** Python sees the inserted text as comments, or nothing is inserted: the edited text has the same statements, and exactly
//! as many more comments as were inserted.

use std::collections::BTreeMap;

use super::apply::{Reach, Source};
use super::parse::{Directive, parse};
use crate::finding::RuleId;
use crate::python::{self, Comment, SourceKind, StatementSpan};
use crate::text::{Cells, Edit, FileId, LineIndex, Span, apply_edits};

/// A finding to suppress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindingToSuppress {
    /// Its rule.
    pub rule: RuleId,
    /// Its primary span.
    pub span: Span,
}

/// Comments go above a line if they would make it longer than this.
const LONGEST: usize = 100;

/// The edits that suppress these findings, in order. Findings that no comment can suppress are skipped.
pub fn insertions(
    text: &str,
    cells: &Cells,
    kind: SourceKind,
    wanted: &[FindingToSuppress],
    reason: &str,
) -> Vec<Edit> {
    let parsed = python::parse_cells(text, cells, kind);
    // A syntax error in one cell of a notebook does not prevent edits in others.
    let broken = python::broken_cells(&parsed, cells);
    if !parsed.problems.is_empty() && broken.is_empty() {
        return Vec::new();
    }
    let is_sound = |span: Span| !broken.iter().any(|cell| cell.span.contains(span.start));
    let statements = python::statement_spans(&parsed.module, text);
    let lines = LineIndex::new(text);
    let source =
        Source { file: FileId(0), text, lines: &lines, cells, comments: &parsed.comments, statements: &statements };
    let page = Page { source };
    let mut by_reach: BTreeMap<(u32, u32), (Span, Vec<RuleId>)> = BTreeMap::new();
    for finding in wanted.iter().filter(|finding| is_sound(finding.span)) {
        let Reach { first, last } = source.reach(finding.span);
        let rows = (first, last);
        let (_, codes) = by_reach.entry(rows).or_insert_with(|| (finding.span, Vec::new()));
        if !codes.contains(&finding.rule) {
            codes.push(finding.rule);
        }
    }
    let mut edits: Vec<Edit> = Vec::new();
    let mut new_comments = 0;
    for (rows, (span, mut codes)) in by_reach {
        codes.sort_unstable();
        let Some((edit, is_comment)) = page.suppress(rows, span, &codes, reason) else { continue };
        new_comments += usize::from(is_comment);
        edits.push(edit);
    }
    edits.sort();
    let edited = apply_edits(text, &edits).ok().map(|edited| python::parse_cells(&edited, &cells.edited(&edits), kind));
    let is_harmless = edited.is_some_and(|edited| {
        python::is_as_sound(&parsed, &edited)
            && edited.comments.len() == parsed.comments.len() + new_comments
            && edited.module.body.len() == parsed.module.body.len()
    });
    if is_harmless { edits } else { Vec::new() }
}

/// The text to which comments are added.
#[derive(Clone, Copy)]
struct Page<'a> {
    source: Source<'a>,
}

impl Page<'_> {
    /// The edit that suppresses findings of one statement, and whether it adds a comment.
    fn suppress(self, rows: (u32, u32), span: Span, rules: &[RuleId], reason: &str) -> Option<(Edit, bool)> {
        let listed = rules.iter().map(|rule| rule.code()).collect::<Vec<_>>().join(", ");
        if let Some(at) = self.brackets(rows) {
            return Some((insert(at, format!(", {listed}")), false));
        }
        let ours = format!("# keylint: ignore[{listed}] {reason}");
        let ours = ours.trim_end();
        let at_end = self.at_end(rows, span);
        let short = |at: u32| {
            let line = self.source.lines.line(self.source.text, self.source.lines.row(at));
            line.len() as usize + 2 + ours.len() <= LONGEST
        };
        let above = self.above(rows);
        match (at_end, above) {
            (Some((at, is_comment)), None) => Some((insert(at, format!("  {ours}")), !is_comment)),
            (Some((at, false)), Some(_)) if rows.0 == rows.1 && short(at) => {
                Some((insert(at, format!("  {ours}")), true))
            }
            (_, Some((at, indent, end))) => Some((insert(at, format!("{indent}{ours}{end}")), true)),
            (None, None) => None,
        }
    }

    /// The offset at which a code can be added to an existing directive for these rows.
    fn brackets(self, (first, last): (u32, u32)) -> Option<u32> {
        self.source.comments.iter().find_map(|comment| {
            let row = self.source.lines.row(comment.span.start);
            let holds = if comment.own_line {
                self.source.after_comments(row) == first || (first..=last).contains(&row)
            } else {
                (first..=last).contains(&row)
            };
            holds.then(|| self.bracket_of(*comment)).flatten()
        })
    }

    fn bracket_of(self, comment: Comment) -> Option<u32> {
        let text = self.source.text.get(comment.span.range())?;
        let (directives, _) = parse(text);
        directives.into_iter().find_map(|directive| match directive {
            Directive::Ignore { file: false, items, .. } => {
                let last = items.last()?;
                Some(comment.span.start + u32::try_from(last.start + last.written.len()).ok()?)
            }
            Directive::Ignore { .. } | Directive::Noqa { .. } | Directive::Effect { .. } => None,
        })
    }

    /// The end of the statement's last row, if a comment can be added there, and whether the row already has a comment.
    fn at_end(self, (_, last): (u32, u32), span: Span) -> Option<(u32, bool)> {
        let Source { text, lines, comments, statements, .. } = self.source;
        let line = lines.line(text, last);
        if comments.iter().any(|comment| comment.span.end == line.end && comment.span.start >= line.start) {
            return Some((line.end, true));
        }
        let written = text.get(line.range())?;
        // A statement that starts on this row may continue on the next one.
        let runs_on = |statement: &StatementSpan| {
            statement.header.start < line.end && line.end < statement.header.end && statement.header.start >= span.start
        };
        (!written.ends_with('\\') && !statements.iter().any(runs_on)).then_some((line.end, false))
    }

    /// The offset for a comment line above the statement, with the statement's indentation and the file's line ending.
    fn above(self, (first, _): (u32, u32)) -> Option<(u32, String, String)> {
        let Source { text, lines, .. } = self.source;
        let line = lines.line(text, first);
        let written = text.get(line.range())?;
        let indent = &written[..written.len() - written.trim_start_matches([' ', '\t', '\u{c}']).len()];
        let start = line.start + u32::try_from(indent.len()).ok()?;
        let is_first = self.source.statements.iter().any(|statement| statement.header.start == start);
        let is_continued = first > 1 && {
            let before = lines.line(text, first - 1);
            let is_in_cell = self.source.cells.around(before.start) == self.source.cells.around(line.start);
            is_in_cell && text.get(before.range()).is_some_and(|before| before.ends_with('\\'))
        };
        let full = lines.full_line(text, first);
        let end = text.get(line.end as usize..full.end as usize).filter(|end| !end.is_empty()).unwrap_or("\n");
        (is_first && !is_continued).then(|| (line.start, indent.to_owned(), end.to_owned()))
    }
}

fn insert(at: u32, content: String) -> Edit {
    Edit { span: Span::new(at, at), content }
}
