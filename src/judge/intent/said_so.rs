//! A comment or docstring that says that a key is shared on purpose, or that a draw is not used.
//!
//! A comment applies to the statement that it is in or above, to the statements that follow without an empty line, and to what they
//! contain. A docstring applies to its function, and has to be more explicit, because it covers much else.
//!
//! Where each use creates its key anew from a constant, a comment at that call may also say that the key is fixed.
//!
//! **Invariant:** a clause that denies (`never use the same key`) or complains (`bug: same key`) is no evidence. The words are those
//! of `models/words.toml`.

use std::collections::BTreeSet;

use crate::finding::{Finding, Intent, IntentKind, Place};
use crate::models::Words;
use crate::python::{StatementKind, StatementSpan};
use crate::text::{LineIndex, Span};

/// Most lines without an empty one between a comment and the last statement that it applies to.
const BLOCK: u32 = 12;

/// Most characters of a quotation.
const QUOTED: usize = 72;

/// Finds the clause of a text that says so, if there is one; whether the text is a docstring, which has to be more explicit.
type Clause<'a, 'w> = dyn Fn(&'a str, bool) -> Option<&'a str> + 'w;

/// A file as its author wrote it.
#[derive(Clone, Copy)]
pub struct Written<'a> {
    /// The text.
    pub text: &'a str,
    /// Its lines.
    pub lines: &'a LineIndex,
    /// Comments in source order.
    pub comments: &'a [Span],
    /// Statements and clauses, sorted by where they start, outer before inner.
    pub statements: &'a [StatementSpan],
}

/// A comment or docstring beside one of the finding's places says that the key is shared on purpose.
pub fn said_so(written: Written<'_>, words: &Words, finding: &Finding) -> Option<Intent> {
    let labels = finding.related.iter().chain(&finding.flow).map(|label| label.place);
    let places: BTreeSet<Place> =
        labels.chain([finding.primary]).filter(|place| place.file == finding.primary.file).collect();
    let shares = |text, is_docstring| words.clause_on_sharing(text, is_docstring);
    let fixes = |text, _| words.clause_on_fixing(text);
    let created = finding.created_anew.filter(|place| place.file == finding.primary.file);
    // A function's docstring speaks of what happens in it: of one use in it, and not of another elsewhere.
    let uses = finding.evidence.iter().flat_map(|evidence| [evidence.first.last(), evidence.second.last()]).flatten();
    let uses: Vec<&Place> = uses.collect();
    let speaks = |function: Span| {
        let is_within = |place: &Place| place.file == finding.primary.file && function.covers(place.span);
        is_within(&finding.primary) || uses.iter().all(|place| is_within(place))
    };
    let said = places.iter().find_map(|place| written.said_about(place.span, &shares, &speaks));
    let (span, clause) = said.or_else(|| written.said_about(created?.span, &fixes, &speaks))?;
    let reason = format!("the program says so: \"{}\"", quote(written.slice(span), clause));
    Some(Intent { reason, ..Intent::new(IntentKind::SaidSo, Some(Place { file: finding.primary.file, span })) })
}

impl<'a> Written<'a> {
    /// The statements and clauses around a place, innermost first.
    pub(super) fn around(&self, place: Span) -> Vec<&'a StatementSpan> {
        let before = self.statements.partition_point(|statement| statement.full.start <= place.start);
        self.statements[..before].iter().rev().filter(|statement| statement.full.end >= place.end).collect()
    }

    /// The comment or docstring about a place that has a clause which says so, and that clause.
    fn said_about(&self, place: Span, says: &Clause<'a, '_>, speaks: &dyn Fn(Span) -> bool) -> Option<(Span, &'a str)> {
        let around = self.around(place);
        let beside = self.beside(says, &around).or_else(|| self.above(says, &around));
        beside.or_else(|| self.documented(says, &around, speaks))
    }

    /// The comment at the end of a line of the innermost statement, if it says so.
    fn beside(&self, says: &Clause<'a, '_>, around: &[&StatementSpan]) -> Option<(Span, &'a str)> {
        let header = around.first()?.header;
        let end = self.lines.line(self.text, self.lines.row(header.end)).end;
        self.comments_within(Span::new(header.start, end))
            .find_map(|comment| Some((comment, says(self.slice(comment), false)?)))
    }

    /// The comment above a statement around the place, up to its function, if it says so.
    fn above(&self, says: &Clause<'a, '_>, around: &[&StatementSpan]) -> Option<(Span, &'a str)> {
        for statement in around {
            let is_definition = matches!(statement.kind, StatementKind::Function { .. });
            let comment = self.comment_above(statement.header);
            let said = comment.and_then(|comment| Some((comment, says(self.slice(comment), is_definition)?)));
            if said.is_some() || is_definition {
                return said;
            }
        }
        None
    }

    /// The lines of comments, of one indentation with a statement, that are the last before it or before those that it follows
    /// without an empty line.
    fn comment_above(&self, header: Span) -> Option<Span> {
        let line = |row: u32| self.text.get(self.lines.line(self.text, row).range()).unwrap_or_default();
        let indented = |row: u32| line(row).len() - line(row).trim_start().len();
        let last = self.lines.row(header.start);
        let first = last.saturating_sub(BLOCK).max(1);
        let depth = indented(last);
        let mut block: Option<Span> = None;
        for row in (first..last).rev() {
            let text = line(row);
            let is_comment = text.trim_start().starts_with('#');
            let ends = text.trim().is_empty() || indented(row) < depth || block.is_some() && !is_comment;
            if ends {
                break;
            }
            if is_comment && indented(row) == depth {
                let span = self.lines.line(self.text, row);
                let span = Span::new(span.start + u32::try_from(depth).unwrap_or(0), span.end);
                block = Some(block.map_or(span, |block| Span::new(span.start, block.end)));
            }
        }
        block
    }

    /// The functions around a place, innermost first: the name, the header, and all of it.
    pub(super) fn definitions(&self, place: Span) -> Vec<(&'a str, Span, Span)> {
        let around = self.around(place).into_iter().filter_map(|statement| match statement.kind {
            StatementKind::Function { name, .. } => Some((self.slice(name), statement.header, statement.full)),
            _ => None,
        });
        around.collect()
    }

    /// The docstring of the enclosing function, if it speaks of the uses and says so.
    fn documented(
        &self,
        says: &Clause<'a, '_>,
        around: &[&StatementSpan],
        speaks: &dyn Fn(Span) -> bool,
    ) -> Option<(Span, &'a str)> {
        let docstring = around.iter().find_map(|statement| match statement.kind {
            StatementKind::Function { docstring, .. } => Some(docstring.filter(|_| speaks(statement.full))),
            _ => None,
        })??;
        says(self.slice(docstring), true).map(|clause| (docstring, clause))
    }

    /// The docstrings of the functions and classes around a place, innermost first.
    pub(super) fn docstrings(&self, place: Span) -> Vec<Span> {
        let around = self.around(place).into_iter().filter_map(|statement| match statement.kind {
            StatementKind::Function { docstring, .. } | StatementKind::Class { docstring } => docstring,
            _ => None,
        });
        around.collect()
    }

    /// The docstring of the innermost function around a place that has one.
    pub(super) fn docstring_of_function(&self, place: Span) -> Option<Span> {
        self.around(place).into_iter().find_map(|statement| match statement.kind {
            StatementKind::Function { docstring, .. } => docstring,
            _ => None,
        })
    }

    fn comments_within(&self, span: Span) -> impl Iterator<Item = Span> + use<'a> {
        let from = self.comments.partition_point(|comment| comment.start < span.start);
        let comments = self.comments;
        comments[from..].iter().copied().take_while(move |comment| comment.end <= span.end)
    }

    pub(super) fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or_default()
    }
}

/// The quoted part of a comment or docstring: all of it if it is short, otherwise the clause that says so.
fn quote(said: &str, clause: &str) -> String {
    let plain = |text: &str| {
        let words = text.split_whitespace().filter(|word| !word.bytes().all(|letter| letter == b'#'));
        words.collect::<Vec<_>>().join(" ").trim_matches(['#', '"', '\'', ' ']).to_owned()
    };
    let text = Some(plain(said)).filter(|text| text.chars().count() <= QUOTED).unwrap_or_else(|| plain(clause));
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    }
}
