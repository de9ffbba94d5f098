//! Loads an edited file again from a remembered version, if the edit is within the body of one function or class of the module.
//!
//! Python's parser and the lowering treat such a definition alike wherever it stands: it begins and ends a line, outside of any brackets. So
//! only this definition is parsed and lowered.
//!
//! **Invariant:** the result is what parsing and lowering the whole text gives. A text with syntax errors is always parsed as a whole, because
//! the parser's recovery depends on what follows.

use super::effects::Effects;
use super::memory::Read;
use super::steady::{Change, Difference, EditWithin, Steady};
use crate::ir::{self, ClassId, FunctionId};
use crate::python::{self, Comment, SourceKind, StatementSpan, ast};
use crate::text::Span;

/// The remembered version of a file.
pub(super) struct Before<'a> {
    pub(super) text: &'a str,
    pub(super) steady: &'a Steady,
    pub(super) read: &'a Read,
    pub(super) module: &'a ir::Module,
}

/// The file after the edit.
pub(super) struct After {
    pub(super) steady: Steady,
    pub(super) difference: Difference,
    pub(super) read: Read,
    pub(super) module: ir::Module,
}

/// Loads a text that differs from a remembered one within the body of one definition.
pub(super) fn reloaded(before: &Before<'_>, text: &str, kind: SourceKind) -> Option<After> {
    let EditWithin { steady, difference, change } = before.steady.edited_within(before.text, text)?;
    let (old, new) = (difference.old, difference.new);
    let (old_text, new_text) = (before.text.get(old.range())?, text.get(new.range())?);
    let is_last = new.end as usize == text.len();
    let stands_alone = !continues(&text[..new.start as usize]) && !continues(new_text);
    let imports = |text: &str| text.contains("import");
    if !before.read.problems.is_empty() || !stands_alone || imports(old_text) || imports(new_text) {
        return None;
    }
    if !is_last && !new_text.ends_with('\n') {
        return None;
    }
    let header = only_header(&before.read.statements, old, change)?;
    let parsed = python::parse(new_text, kind);
    let [ast::Stmt::FunctionDef(_) | ast::Stmt::ClassDef(_)] = &*parsed.module.body else { return None };
    let statements = python::statement_spans(&parsed.module, new_text);
    let shifted = |span: Span| Span::new(span.start + new.start, span.end + new.start);
    if !parsed.problems.is_empty() || statements.first().map(|first| shifted(first.header)) != Some(header) {
        return None;
    }
    let mut module =
        lowered_again(before.module, &parsed, new_text, (difference.steady, &|span| steady.of_place(shifted(span))))?;
    let whole = Span::new(0, u32::try_from(text.len()).ok()?);
    module.functions.first_mut()?.full = steady.of_place(whole);
    let moved = |span: Span| change.moved_span(span);
    let new_comments = parsed.comments.into_iter().map(|comment| Comment { span: shifted(comment.span), ..comment });
    let (first, last) = range(&before.read.comments, old, |comment| comment.span.start);
    let mut comments = before.read.comments[..first].to_vec();
    comments.extend(new_comments);
    comments
        .extend(before.read.comments[last..].iter().map(|comment| Comment { span: moved(comment.span), ..*comment }));
    let (first, last) = range(&before.read.statements, old, |statement| statement.full.start);
    let mut all = before.read.statements[..first].to_vec();
    all.extend(statements.into_iter().map(|statement| statement.moved(&shifted)));
    all.extend(before.read.statements[last..].iter().map(|statement| statement.moved(&moved)));
    let read = Read { problems: Vec::new(), comments, statements: all, targets: before.read.targets.clone() };
    Some(After { steady, difference, read, module })
}

/// Whether the last line of a text continues on the next one.
fn continues(text: &str) -> bool {
    let line = text.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    line.unwrap_or(text).ends_with('\\')
}

/// The header of the only statement of the module in a part of the text, if a change is within its body.
fn only_header(statements: &[StatementSpan], part: Span, change: Change) -> Option<Span> {
    let (first, last) = range(statements, part, |statement| statement.full.start);
    let (only, inner) = statements.get(first..last)?.split_first()?;
    let is_only = inner.iter().all(|statement| only.full.covers(statement.full));
    let is_within = only.header.end <= change.span.start && change.span.end <= only.full.end;
    (is_only && is_within).then_some(only.header)
}

/// The items that begin in a part of the text.
fn range<T>(items: &[T], part: Span, start: impl Fn(&T) -> u32) -> (usize, usize) {
    (items.partition_point(|item| start(item) < part.start), items.partition_point(|item| start(item) < part.end))
}

/// The module with the only statement of a part lowered again.
fn lowered_again(
    old: &ir::Module,
    parsed: &python::Parsed,
    text: &str,
    (part, place): (Span, &dyn Fn(Span) -> Span),
) -> Option<ir::Module> {
    let is_within = |span: Span| part.start <= span.start && span.start < part.end;
    let numbered = (0u32..).zip(&old.functions).skip(1);
    let mut known = numbered.filter(|(_, function)| is_within(function.full)).map(|(number, _)| number);
    let first = known.next()?;
    let count = known.enumerate().try_fold(1, |count, (at, number)| {
        // Those of one statement follow each other.
        (number as usize == first as usize + at + 1).then_some(count + 1)
    })?;
    let first_class = old.classes.partition_point(|class| class.span.start < part.start);
    let class_count = old.classes.iter().filter(|class| is_within(class.span)).count();
    let effects = Effects::of(text, &parsed.comments);
    let lookup = |header: Span| effects.on(header);
    let (mut functions, mut classes) =
        ir::lower_again(&parsed.module, &lookup, FunctionId(first), old.classes.get(..first_class)?);
    if functions.len() != count || classes.len() != class_count {
        return None;
    }
    for function in &mut *functions {
        function.replace_spans(place);
    }
    for class in &mut *classes {
        class.replace_spans(place);
    }
    let mut module = old.clone();
    let first_class = ClassId(u32::try_from(first_class).ok()?);
    module.replace((FunctionId(first), functions), (first_class, classes));
    Some(module)
}
