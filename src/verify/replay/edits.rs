//! Places and answers carried over from a program to its repaired version.
//!
//! **Invariant:** a place is carried over only if no edit replaces where it starts or ends. Answers are identified by where they were
//! asked for and by how often before: what a repair adds or moves does not shift those of others.

use rustc_hash::FxHashMap;

use super::machine::Choice;
use crate::finding::Place;
use crate::text::{Edit, FileId, Span};

/// Carries places over from before the edits to after them.
#[derive(Clone, Copy)]
pub(super) struct MovedPlaces<'a> {
    pub(super) file: FileId,
    pub(super) edits: &'a [Edit],
}

impl MovedPlaces<'_> {
    /// The place after the edits; `None` where an edit replaces its start or end.
    pub(super) fn place(self, place: Place) -> Option<Place> {
        if place.file != self.file {
            return Some(place);
        }
        let inside = |at: u32| self.edits.iter().any(|edit| edit.span.start < at && at < edit.span.end);
        // What an edit replaces from the very start of the place on is not what it was.
        let replaced =
            self.edits.iter().any(|edit| edit.span.start == place.span.start && edit.span.end > place.span.start);
        if inside(place.span.start) || inside(place.span.end) || replaced {
            return None;
        }
        let start = self.start(place.span.start)?;
        // An insertion at the very end of the place stands behind it.
        let end = self.shifted(place.span.end, |edit| {
            edit.span.end < place.span.end || edit.span.end == place.span.end && edit.span.start < edit.span.end
        })?;
        Some(Place { file: place.file, span: Span::new(start, end) })
    }

    /// Where an offset comes to lie that no edit replaces.
    fn start(self, at: u32) -> Option<u32> {
        self.shifted(at, |edit| edit.span.end <= at)
    }

    fn shifted(self, at: u32, counts: impl Fn(&Edit) -> bool) -> Option<u32> {
        let mut shifted = i64::from(at);
        for edit in self.edits.iter().filter(|edit| counts(edit)) {
            shifted += i64::try_from(edit.content.len()).ok()? - i64::from(edit.span.len());
        }
        u32::try_from(shifted).ok()
    }

    /// Where something starts, in terms of the repaired program; what an edit replaces is given by the edit.
    fn asked(self, place: Place) -> Asked {
        let at = place.span.start;
        let replaced = self.edits.iter().position(|edit| edit.span.contains(at));
        match replaced.filter(|_| place.file == self.file) {
            Some(edit) => Asked::Edit(edit),
            None if place.file == self.file => Asked::At(place.file, self.start(at).unwrap_or(at)),
            None => Asked::At(place.file, at),
        }
    }
}

/// Where a question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    /// By an operation that starts at this offset of the repaired program.
    At(FileId, u32),
    /// By what an edit replaces, or puts in its place.
    Edit(usize),
}

/// The answers of a run of the original program.
pub(super) struct Answers {
    file: FileId,
    /// What each edit puts into the repaired program.
    written: Vec<Span>,
    given: FxHashMap<Asked, Vec<u8>>,
}

impl Answers {
    pub(super) fn new(choices: &[Choice], places: MovedPlaces<'_>) -> Self {
        let mut given: FxHashMap<Asked, Vec<u8>> = FxHashMap::default();
        for choice in choices {
            given.entry(places.asked(choice.place)).or_default().push(choice.value);
        }
        let mut written = Vec::with_capacity(places.edits.len());
        let mut moved = 0_i64;
        for edit in places.edits {
            let length = i64::try_from(edit.content.len()).unwrap_or_default();
            let start = i64::from(edit.span.start) + moved;
            moved += length - i64::from(edit.span.len());
            let at = |offset: i64| u32::try_from(offset).unwrap_or(u32::MAX);
            written.push(Span::new(at(start), at(start + length)));
        }
        Self { file: places.file, written, given }
    }

    /// Where a place of the repaired program asks.
    pub(super) fn asked(&self, place: Place) -> Asked {
        let written = self.written.iter().position(|span| span.contains(place.span.start));
        match written.filter(|_| place.file == self.file) {
            Some(edit) => Asked::Edit(edit),
            None => Asked::At(place.file, place.span.start),
        }
    }

    /// The answer that was given there after so many others.
    pub(super) fn get(&self, asked: Asked, taken: usize) -> Option<u8> {
        self.given.get(&asked)?.get(taken).copied()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.given.values().map(Vec::len).sum()
    }
}
