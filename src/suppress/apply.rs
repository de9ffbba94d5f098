//! Applies suppression comments to findings, and reports invalid and unused comments.
//!
//! **Invariant:** findings keep their order; findings about comments follow at the end, in source order.

use std::collections::BTreeSet;

use super::parse::{Directive, NoqaPlace, Problem, named_elsewhere, parse};
use crate::config::suggest;
use crate::finding::{Applicability, Family, Finding, Fix, Place, RuleId, Verdict};
use crate::python::{Comment, StatementSpan};
use crate::rules;
use crate::text::{Cells, Edit, FileId, LineIndex, Span};

/// The file that contains the comments.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its identity.
    pub file: FileId,
    /// Its decoded text.
    pub text: &'a str,
    /// The lines of the text.
    pub lines: &'a LineIndex,
    /// The cells of a notebook: a comment at the end of a cell does not apply to the first statement of the next one.
    pub cells: &'a Cells,
    /// All comments, in source order.
    pub comments: &'a [Comment],
    /// All statements and clauses.
    pub statements: &'a [StatementSpan],
}

/// The scope of a suppression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One statement.
    Statement,
    /// The whole file.
    File,
}

/// A finding that a comment suppressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppressed {
    /// The finding.
    pub finding: Finding,
    /// The reason in the comment; empty if there is none.
    pub reason: String,
    /// The bytes of the comment.
    pub comment: Span,
    /// The scope of the comment.
    pub scope: Scope,
}

/// The findings of a file after applying its comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The remaining findings, followed by those about comments (KEY002, KEY003).
    pub findings: Vec<Finding>,
    /// The suppressed findings.
    pub suppressed: Vec<Suppressed>,
}

/// Applies the comments of a file to its findings; `is_selected` tells whether a rule is selected for this file.
pub fn apply(source: Source<'_>, is_selected: &dyn Fn(RuleId) -> bool, findings: Vec<Finding>) -> Applied {
    let mut read = Comments::default();
    for comment in source.comments {
        read.add(source, *comment);
    }
    read.suggest_codes(source, &findings);
    let mut applied = Applied::default();
    let (about_comments, findings): (Vec<Finding>, Vec<Finding>) =
        findings.into_iter().partition(|finding| is_about_comments(finding.rule));
    for finding in findings {
        let reach = source.reach(finding.primary.span);
        match read.suppress(finding.rule, reach) {
            Some(index) => applied.suppressed.push(read.suppressions[index].suppressed(finding)),
            None => applied.findings.push(finding),
        }
    }
    let mut own = read.problems;
    own.extend(about_comments);
    own.extend(read.suppressions.iter().filter_map(|suppression| suppression.unused(source, is_selected)));
    own.sort_by_key(|finding| (finding.primary.span, finding.rule));
    for finding in own {
        let by_file = read
            .suppressions
            .iter()
            .find(|suppression| suppression.scope == Scope::File && suppression.covers(finding.rule).is_some());
        match by_file {
            Some(suppression) => applied.suppressed.push(suppression.suppressed(finding)),
            None if is_selected(finding.rule) => applied.findings.push(finding),
            None => {}
        }
    }
    applied
}

/// One code named by a suppression.
#[derive(Debug)]
struct Named {
    rule: RuleId,
    span: Span,
    used: bool,
}

/// A directive that suppresses findings.
#[derive(Debug)]
struct Suppression {
    scope: Scope,
    /// The row to which it applies: its own, or the row below if it is alone on its line.
    line: u32,
    /// Whether it is alone on its line, and so applies only to the statement that starts at `line`.
    own_line: bool,
    /// The rules that it names; `None` for a blanket `noqa`.
    named: Option<Vec<Named>>,
    /// Whether it has keylint's own syntax, so that unused codes are reported.
    ours: bool,
    reason: String,
    span: Span,
}

impl Suppression {
    /// Which of its codes covers `code`; `usize::MAX` for a blanket one.
    fn covers(&self, rule: RuleId) -> Option<usize> {
        match &self.named {
            None => Some(usize::MAX),
            Some(named) => named.iter().position(|named| named.rule == rule),
        }
    }

    fn reaches(&self, reach: Reach) -> bool {
        match self.scope {
            Scope::File => true,
            Scope::Statement if self.own_line => self.line == reach.first || reach.contains(self.line - 1),
            Scope::Statement => reach.contains(self.line),
        }
    }

    fn suppressed(&self, finding: Finding) -> Suppressed {
        Suppressed { finding, reason: self.reason.clone(), comment: self.span, scope: self.scope }
    }

    fn unused(&self, source: Source<'_>, is_selected: &dyn Fn(RuleId) -> bool) -> Option<Finding> {
        if !self.ours {
            return None;
        }
        // Codes of rules about comments never count as unused: their findings are created here, after suppression.
        let is_unused = |named: &&Named| !named.used && is_selected(named.rule) && !is_about_comments(named.rule);
        let named = self.named.as_deref().unwrap_or_default();
        let unused: Vec<&Named> = named.iter().filter(is_unused).collect();
        let first = unused.first()?;
        let span = if unused.len() == named.len() { self.span } else { first.span };
        let codes: Vec<&str> = unused.iter().map(|named| named.rule.code()).collect();
        let mut finding = rules::unused_suppression(Place { file: source.file, span }, &codes.join(", "));
        let edit = if unused.len() == named.len() {
            Edit::delete(source.without(self.span))
        } else {
            shortened(source, named, &unused)?
        };
        finding.fix = Some(Fix {
            message: format!("remove `{}` from the comment", codes.join(", ")),
            applicability: Applicability::Safe,
            verdict: Verdict::Verified,
            reason: None,
            edits: vec![edit],
        });
        finding.help = Some(match (unused.len() == named.len(), self.scope) {
            (true, Scope::Statement) => "remove the comment, or move it to the statement it belongs to".to_owned(),
            (true, Scope::File) => "remove the comment".to_owned(),
            (false, _) => format!("remove `{}` from the comment", codes.join(", ")),
        });
        Some(finding)
    }
}

/// The edit that removes unused codes from the brackets of a comment.
fn shortened(source: Source<'_>, named: &[Named], unused: &[&Named]) -> Option<Edit> {
    let written = |named: &Named| source.text.get(named.span.start as usize..named.span.end as usize);
    let is_kept = |named: &&Named| !unused.iter().any(|one| one.span == named.span);
    let kept: Vec<&str> = named.iter().filter(is_kept).filter_map(written).collect();
    let spans = || named.iter().map(|named| named.span);
    let around = Span::new(spans().map(|span| span.start).min()?, spans().map(|span| span.end).max()?);
    Some(Edit::replace(around, kept.join(", ")))
}

/// The finding about a comment that is for a whole file, is behind code, and concerns rules of keylint: the tools that define it ignore it there.
fn behind_code(file: FileId, span: Span, codes: Option<&[String]>) -> Option<Finding> {
    let concerns = codes.is_none_or(|codes| codes.iter().any(|code| !named_elsewhere(code).is_empty()));
    let message = "a comment for the whole file must be on a line of its own";
    let help = "move it to its own line, or write `# noqa` for this line".to_owned();
    concerns.then(|| invalid(file, span, message, Some(help)))
}

/// The parsed comments of a file.
#[derive(Debug, Default)]
struct Comments {
    suppressions: Vec<Suppression>,
    problems: Vec<Finding>,
}

impl Comments {
    fn add(&mut self, source: Source<'_>, comment: Comment) {
        let text = source.text.get(comment.span.start as usize..comment.span.end as usize).unwrap_or_default();
        let (directives, problems) = parse(text);
        for Problem { message, help, range } in problems {
            self.problems.push(invalid(source.file, within(comment, range), &message, help));
        }
        let line = source.lines.row(comment.span.start);
        for directive in directives {
            match directive {
                Directive::Effect { .. } => {}
                Directive::Noqa { codes, place } => {
                    // The scopes are those of the tools that define these comments: a line, a statement, or (only on a line of its own) the file.
                    let (scope, own_line) = match place {
                        NoqaPlace::Line if !comment.own_line => (Scope::Statement, false),
                        NoqaPlace::Statement => (Scope::Statement, comment.own_line),
                        NoqaPlace::File if comment.own_line => (Scope::File, false),
                        NoqaPlace::File => {
                            self.problems.extend(behind_code(source.file, comment.span, codes.as_deref()));
                            continue;
                        }
                        NoqaPlace::Line => continue,
                    };
                    let named = codes.map(|codes| {
                        let rules = codes.iter().flat_map(|code| named_elsewhere(code));
                        let ours = rules.filter(|rule| !is_reserved(*rule));
                        ours.map(|rule| Named { rule, span: comment.span, used: false }).collect()
                    });
                    self.suppressions.push(Suppression {
                        scope,
                        line: if own_line { source.after_comments(line) } else { line },
                        own_line,
                        named,
                        ours: false,
                        reason: String::new(),
                        span: comment.span,
                    });
                }
                Directive::Ignore { file: whole_file, items, reason, range } => {
                    let mut named: Vec<Named> = Vec::new();
                    for item in items {
                        let span = within(comment, (item.start, item.start + item.written.len()));
                        match resolve(&item.written, whole_file) {
                            Ok(rule) if named.iter().any(|named| named.rule == rule) => {}
                            Ok(rule) => named.push(Named { rule, span, used: false }),
                            Err((message, help)) => {
                                self.problems.push(invalid(source.file, span, &message, Some(help)));
                            }
                        }
                    }
                    let scope = if whole_file { Scope::File } else { Scope::Statement };
                    let line = if comment.own_line { source.after_comments(line) } else { line };
                    let span = within(comment, range);
                    let own_line = comment.own_line;
                    let named = Some(named);
                    self.suppressions.push(Suppression { scope, line, own_line, named, ours: true, reason, span });
                }
            }
        }
    }

    /// Lets the advice about invalid comments name the rules that report something there.
    fn suggest_codes(&mut self, source: Source<'_>, findings: &[Finding]) {
        for problem in &mut self.problems {
            let Some(help) = problem.help.as_mut().filter(|help| help.contains(": ignore[KEY101]")) else { continue };
            let start = problem.primary.span.start;
            let row = source.lines.row(start);
            let is_alone = source.comments.iter().any(|comment| comment.own_line && comment.span.contains(start));
            let row = if is_alone { source.after_comments(row) } else { row };
            let there = findings.iter().filter(|finding| can_be_ignored(finding.rule));
            let there = there.filter(|finding| source.reach(finding.primary.span).contains(row));
            let codes: BTreeSet<&str> = there.map(|finding| finding.rule.code()).collect();
            if !codes.is_empty() {
                let codes: Vec<&str> = codes.into_iter().collect();
                *help = help.replace("[KEY101]", &format!("[{}]", codes.join(", ")));
            }
        }
    }

    /// Finds the suppression that applies to a finding, and marks its code as used. A statement's suppressions win over the file's,
    /// keylint's own over `noqa`.
    fn suppress(&mut self, rule: RuleId, reach: Reach) -> Option<usize> {
        if is_reserved(rule) {
            return None;
        }
        let mut best: Option<((bool, bool), usize, usize)> = None;
        for (index, suppression) in self.suppressions.iter().enumerate() {
            let Some(position) = suppression.covers(rule) else { continue };
            if !suppression.reaches(reach) {
                continue;
            }
            let rank = (suppression.scope == Scope::File, !suppression.ours);
            if best.is_none_or(|(least, _, _)| rank < least) {
                best = Some((rank, index, position));
            }
        }
        let (_, index, position) = best?;
        let named = self.suppressions[index].named.as_mut().and_then(|named| named.get_mut(position));
        if let Some(named) = named {
            named.used = true;
        }
        Some(index)
    }
}

/// Resolves an item to a rule; the error is the problem and what to do about it.
fn resolve(written: &str, whole_file: bool) -> Result<RuleId, (String, String)> {
    let Some(rule) = rules::find(written) else {
        let several = named_elsewhere(if written.eq_ignore_ascii_case("ALL") { "KEY" } else { written });
        if !several.is_empty() {
            let mentioned = several.iter().filter(|rule| !is_reserved(**rule));
            let codes: Vec<String> = mentioned.take(3).map(|rule| format!("`{rule}`")).collect();
            let help = format!("list each rule to ignore, such as {}", codes.join(", "));
            return Err((format!("`{written}` matches {} rules", several.len()), help));
        }
        let near = suggest(written, rules::in_force().flat_map(|rule| [rule.code(), rule.name()]));
        let help = near.map_or_else(
            || "name one rule by its code or name; `keylint rule` lists them".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        return Err((format!("unknown rule `{written}`"), help));
    };
    match rule.id {
        rule if is_reserved(rule) && !is_about_comments(rule) => {
            let help = "this finding means that the file was not checked; use `exclude` to skip the file".to_owned();
            Err((format!("`{written}` cannot be ignored"), help))
        }
        rule if is_about_comments(rule) && !whole_file => {
            let help = format!("write `# keylint: file-ignore[{rule}]`, or ignore it in the configuration");
            Err((format!("`{written}` can be ignored only for a whole file"), help))
        }
        rule => Ok(rule),
    }
}

/// Whether a comment on a statement can suppress findings of a rule.
pub fn can_be_ignored(rule: RuleId) -> bool {
    !is_reserved(rule)
}

/// Rules that no comment on a statement can suppress.
fn is_reserved(rule: RuleId) -> bool {
    rule.family() == Family::Run
}

/// Whether a rule is about the comments themselves.
pub fn is_about_comments(rule: RuleId) -> bool {
    matches!(rule, RuleId::UnusedSuppression | RuleId::InvalidSuppression)
}

fn within(comment: Comment, (start, end): (usize, usize)) -> Span {
    let offset = |at: usize| comment.span.start.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
    Span::new(offset(start).min(comment.span.end), offset(end).min(comment.span.end))
}

fn invalid(file: FileId, span: Span, problem: &str, help: Option<String>) -> Finding {
    let mut finding = rules::invalid_suppression(Place { file, span }, problem);
    finding.help = help.or(finding.help);
    finding
}

/// The rows on which a comment applies to a finding; both are inclusive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Reach {
    fn contains(self, row: u32) -> bool {
        self.first <= row && row <= self.last
    }
}

impl Source<'_> {
    /// The span to delete in order to remove a comment: with the white space before it, and with the line if nothing else is on it.
    fn without(self, comment: Span) -> Span {
        let line = self.lines.line(self.text, self.lines.row(comment.start));
        let before = self.text.get(line.start as usize..comment.start as usize).unwrap_or_default();
        let blank = before.len() - before.trim_end_matches([' ', '\t']).len();
        let start = comment.start.saturating_sub(u32::try_from(blank).unwrap_or_default());
        let rest = self.text.get(comment.end as usize..).unwrap_or_default();
        let ending = ["\r\n", "\n", "\r"].into_iter().find(|ending| rest.starts_with(ending)).map_or(0, str::len);
        let is_alone = start == line.start;
        Span::new(start, comment.end + if is_alone { u32::try_from(ending).unwrap_or_default() } else { 0 })
    }

    /// The first row below `row` that is not a comment: all comments above it apply to it. If there is none in the cell, the result is an
    /// impossible row.
    pub(super) fn after_comments(self, row: u32) -> u32 {
        let is_comment = |row: u32| {
            let span = self.lines.line(self.text, row);
            let line = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
            line.trim_start().starts_with('#')
        };
        let below = (row + 1..=self.lines.line_count()).find(|row| !is_comment(*row)).unwrap_or(row + 1);
        let cell = |row: u32| self.cells.around(self.lines.line(self.text, row).start);
        if cell(below) == cell(row) { below } else { u32::MAX }
    }

    /// The rows of the innermost statement that contains `primary`; for a compound statement, those of its header. If `primary`
    /// is in neither, its own rows.
    pub(super) fn reach(self, primary: Span) -> Reach {
        let holds = |span: Span| span.start <= primary.start && (primary.start < span.end || span == primary);
        // Statements are sorted by where they begin, and nested: the last one that holds the place is the innermost.
        let begun = self.statements.partition_point(|statement| statement.full.start <= primary.start);
        let begun = self.statements.get(..begun).unwrap_or_default();
        let innermost = begun.iter().rposition(|statement| holds(statement.full));
        let around = innermost.and_then(|last| {
            let full = begun[last].full;
            begun[..=last].iter().rev().take_while(|statement| statement.full == full).last()
        });
        let span = match around {
            Some(statement) if holds(statement.header) => statement.header,
            _ => primary,
        };
        Reach { first: self.lines.row(span.start), last: self.lines.row(span.end.max(span.start + 1) - 1) }
    }
}
