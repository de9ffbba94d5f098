//! Steady places: positions that stay valid outside the edited statement of a file.
//!
//! A text is divided into parts, each with one or more whole statements of the module. In steady places every part has room to grow, so
//! an edit within a part moves nothing in those that follow.
//!
//! **Invariant:** steady places are ordered as the places that they stand for, and both directions are exact for spans that end in the
//! part in which they begin, or after the last one.

use memchr::memchr;

use crate::python::{SyntaxProblem, ast, span_of};
use crate::text::Span;

/// How many bytes a part may grow.
const ROOM: u32 = 4_096;

/// The last steady place.
const LAST: u32 = 1 << 31;

/// The parts of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// The last one is empty, and ends the text.
    pub parts: Vec<Part>,
}

/// Where a part begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// In the text.
    place: u32,
    /// In steady places.
    steady: u32,
    /// Whether it begins with a statement of the module, and not with one of a class.
    pub is_outer: bool,
}

/// Which statements of the module differ in two texts; all others have the same text and the same steady places.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Their steady places.
    pub(super) steady: Span,
    /// Their places in the old text.
    pub old: Span,
    /// Their places in the new text.
    pub new: Span,
}

/// The only place where two texts differ.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// What is replaced in the old text.
    pub(super) span: Span,
    /// How much longer the new text is.
    by: i64,
}

/// An edit within one part.
pub struct EditWithin {
    /// The parts after it.
    pub steady: Steady,
    /// The parts of the statement of the module that holds it.
    pub difference: Difference,
    /// The edit.
    pub(super) change: Change,
}

impl Change {
    /// The change from one text to another.
    fn between(old: &str, new: &str) -> Option<Self> {
        let (old_bytes, new_bytes) = (old.as_bytes(), new.as_bytes());
        let is_same = |(one, other): &(&u8, &u8)| one == other;
        let before = old_bytes.iter().zip(new_bytes).take_while(is_same).count();
        let (old_rest, new_rest) = (&old_bytes[before..], &new_bytes[before..]);
        let after = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(is_same).count();
        let start = u32::try_from(before).ok()?;
        let end = length(old).checked_sub(u32::try_from(after).ok()?)?;
        Some(Self { span: Span::new(start, end), by: i64::from(length(new)) - i64::from(length(old)) })
    }

    /// The new offset of an offset after the change.
    fn moved(self, offset: u32) -> u32 {
        u32::try_from(i64::from(offset) + self.by).unwrap_or(u32::MAX)
    }

    /// The new place of a place after the change.
    pub(super) fn moved_span(self, span: Span) -> Span {
        Span::new(self.moved(span.start), self.moved(span.end))
    }
}

impl Difference {
    /// Whether a steady place is in a part that differs.
    pub fn holds(&self, place: Span) -> bool {
        self.steady.start <= place.start && place.start < self.steady.end
    }
}

impl Steady {
    /// The parts of a text with this tree.
    pub fn of(text: &str, module: &ast::ModModule) -> Self {
        let mut parts = starts(text, module);
        let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let room = (LAST.saturating_sub(length(text)) / count).min(ROOM);
        for (number, part) in (0u32..).zip(&mut parts) {
            part.steady = part.place + number * room;
        }
        Self { parts }
    }

    /// The parts of an edited text, and which differ, or may because of problems in the old text or the new one; `None` if statements were
    /// added or removed, or a part has no more room.
    pub fn edited(
        &self,
        (old, old_problems): (&str, &[SyntaxProblem]),
        (text, problems): (&str, &[SyntaxProblem]),
        module: &ast::ModModule,
    ) -> Option<(Self, Difference)> {
        let mut parts = starts(text, module);
        let is_same = |(new, old): (&Part, &Part)| new.is_outer == old.is_outer;
        if parts.len() != self.parts.len() || !parts.iter().zip(&self.parts).all(is_same) {
            return None;
        }
        for (part, old) in parts.iter_mut().zip(&self.parts) {
            part.steady = old.steady;
        }
        let after = Self { parts };
        let last = after.parts.len() - 1;
        let is_same = |number: &usize| {
            old.get(self.part(*number, *number + 1).range()) == text.get(after.part(*number, *number + 1).range())
        };
        let mut from = (0..last).take_while(is_same).count();
        let mut to = last - (from..last).rev().take_while(is_same).count();
        // Around a problem the parser guesses.
        for (parts, problems) in [(&self.parts, old_problems), (&after.parts, problems)] {
            for SyntaxProblem { span, .. } in problems {
                let before = parts.partition_point(|part| part.place < span.start.max(1)).saturating_sub(1);
                let behind = parts.partition_point(|part| part.place <= span.end).min(last);
                (from, to) = (from.min(before), to.max(behind));
            }
        }
        let difference = self.difference(&after, from, to)?;
        Some((after, difference))
    }

    /// The same as [`Steady::edited`], without a tree, for an edit within one part that leaves the end of its last line as it is.
    pub fn edited_within(&self, old: &str, text: &str) -> Option<EditWithin> {
        let change = Change::between(old, text)?;
        let from = self.parts.partition_point(|part| part.place <= change.span.start).checked_sub(1)?;
        if change.span.end >= self.parts.get(from + 1)?.place {
            return None;
        }
        let mut steady = self.clone();
        for part in &mut steady.parts[from + 1..] {
            part.place = change.moved(part.place);
        }
        let difference = self.difference(&steady, from, from + 1)?;
        Some(EditWithin { steady, difference, change })
    }

    /// The difference between some parts, and others of the same statements of the module; `None` if they have no room.
    fn difference(&self, after: &Self, from: usize, to: usize) -> Option<Difference> {
        let from = after.parts.get(..=from)?.iter().rposition(|part| part.is_outer)?;
        let to = to + after.parts.get(to..)?.iter().position(|part| part.is_outer)?;
        let fits = |pair: &[Part]| matches!(pair, [this, next] if next.place - this.place <= next.steady - this.steady);
        if !after.parts.get(from..=to)?.windows(2).all(fits) {
            return None;
        }
        let steady = Span::new(after.parts[from].steady, after.parts[to].steady);
        Some(Difference { steady, old: self.part(from, to), new: after.part(from, to) })
    }

    /// The places of some parts.
    fn part(&self, from: usize, to: usize) -> Span {
        Span::new(self.parts[from].place, self.parts[to].place)
    }

    /// The steady place of a place of the text.
    pub fn of_place(&self, place: Span) -> Span {
        converted(&self.parts, place, |part| part.place, |part| part.steady)
    }

    /// The place of the text of a steady place.
    pub fn place(&self, steady: Span) -> Span {
        converted(&self.parts, steady, |part| part.steady, |part| part.place)
    }
}

fn converted(parts: &[Part], span: Span, from: impl Fn(&Part) -> u32, to: impl Fn(&Part) -> u32) -> Span {
    let at = |offset: u32, number: usize| {
        parts.get(number).map_or(offset, |part| offset.saturating_sub(from(part)).saturating_add(to(part)))
    };
    let first = parts.partition_point(|part| from(part) <= span.start).saturating_sub(1);
    let last = match parts.get(first + 1) {
        Some(next) if from(next) < span.end => parts.partition_point(|part| from(part) < span.end).saturating_sub(1),
        _ => first,
    };
    Span::new(at(span.start, first), at(span.end, last))
}

/// Where the parts of a text begin: on lines that follow the end of a statement. They have no steady places yet.
fn starts(text: &str, module: &ast::ModModule) -> Vec<Part> {
    let first = Part { place: 0, steady: 0, is_outer: true };
    let mut starts = vec![first];
    let mut end = 0;
    for (number, statement) in module.body.iter().enumerate() {
        if number > 0 {
            starts.extend(line_after(text, end, statement).map(|place| Part { place, ..first }));
        }
        add_members(text, statement, &mut starts);
        end = end.max(span_of(statement).end);
    }
    starts.push(Part { place: length(text), ..first });
    starts
}

/// Adds the parts of the statements of a class but for the first.
fn add_members(text: &str, statement: &ast::Stmt, starts: &mut Vec<Part>) {
    let ast::Stmt::ClassDef(class) = statement else { return };
    for pair in class.body.windows(2) {
        let [before, member] = pair else { continue };
        let place = line_after(text, span_of(before).end, member);
        starts.extend(place.map(|place| Part { place, steady: 0, is_outer: false }));
    }
}

/// Where the line begins that follows the end of a statement, if the next statement is on a later line.
fn line_after(text: &str, end: u32, next: &ast::Stmt) -> Option<u32> {
    let between = text.as_bytes().get(end as usize..span_of(next).start as usize)?;
    u32::try_from(memchr(b'\n', between)?).ok().map(|at| end + at + 1)
}

fn length(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}
