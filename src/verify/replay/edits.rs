//! Maps places and choices from a program to its fixed version.
//!
//! **Invariant:** a place is mapped only if no edit replaces its start or its end. Choices are identified by their place and by how often a
//! choice was made there before, so what a fix adds or moves does not shift those of others.

use rustc_hash::FxHashMap;

use super::machine::Choice;
use crate::finding::Place;
use crate::text::{Edit, FileId, Span};

/// The edits of one file.
pub type FileEdits<'a> = (FileId, &'a [Edit]);

/// Carries places over from before the edits to after them.
#[derive(Clone, Copy)]
pub(super) struct MovedPlaces<'a> {
    /// No file occurs twice.
    pub(super) files: &'a [FileEdits<'a>],
}

impl<'a> MovedPlaces<'a> {
    /// The edits of a file.
    fn of(self, file: FileId) -> Option<&'a [Edit]> {
        self.files.iter().find(|(edited, _)| *edited == file).map(|(_, edits)| *edits)
    }

    /// The place after the edits; `None` where an edit replaces its start or end.
    pub(super) fn place(self, place: Place) -> Option<Place> {
        let Some(edits) = self.of(place.file) else { return Some(place) };
        let inside = |at: u32| edits.iter().any(|edit| edit.span.start < at && at < edit.span.end);
        // What an edit replaces from the very start of the place on is not what it was.
        let replaced = edits.iter().any(|edit| edit.span.start == place.span.start && edit.span.end > place.span.start);
        if inside(place.span.start) || inside(place.span.end) || replaced {
            return None;
        }
        let start = start(edits, place.span.start)?;
        // An insertion at the very end of the place goes after it.
        let end = shifted(edits, place.span.end, |edit| {
            edit.span.end < place.span.end || edit.span.end == place.span.end && edit.span.start < edit.span.end
        })?;
        Some(Place { file: place.file, span: Span::new(start, end) })
    }

    /// Whether a place in the fixed program starts in text that an edit wrote.
    pub(super) fn is_inserted(self, place: Place) -> bool {
        let edits = self.of(place.file).unwrap_or_default();
        let mut moved = 0_i64;
        edits.iter().any(|edit| {
            let start = i64::from(edit.span.start) + moved;
            let length = i64::try_from(edit.content.len()).unwrap_or_default();
            moved += length - i64::from(edit.span.len());
            (start..start + length).contains(&i64::from(place.span.start))
        })
    }

    /// The start of something in the fixed program; code that an edit replaces is identified by the edit.
    fn choice_point(self, place: Place) -> ChoicePoint {
        let at = place.span.start;
        let edits = self.of(place.file).unwrap_or_default();
        match edits.iter().position(|edit| edit.span.contains(at)) {
            Some(edit) => ChoicePoint::Edit(place.file, edit),
            None => ChoicePoint::At(place.file, start(edits, at).unwrap_or(at)),
        }
    }
}

/// The new position of an offset that no edit replaces.
fn start(edits: &[Edit], at: u32) -> Option<u32> {
    shifted(edits, at, |edit| edit.span.end <= at)
}

fn shifted(edits: &[Edit], at: u32, counts: impl Fn(&Edit) -> bool) -> Option<u32> {
    let mut shifted = i64::from(at);
    for edit in edits.iter().filter(|edit| counts(edit)) {
        shifted += i64::try_from(edit.content.len()).ok()? - i64::from(edit.span.len());
    }
    u32::try_from(shifted).ok()
}

/// Where a run makes a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ChoicePoint {
    /// By an operation that starts at this offset of the fixed program.
    At(FileId, u32),
    /// By what an edit replaces, or puts in its place.
    Edit(FileId, usize),
}

/// The choices of a run of the original program.
pub(super) struct RecordedChoices {
    /// What each edit of a file puts into the fixed program.
    written: FxHashMap<FileId, Vec<Span>>,
    given: FxHashMap<ChoicePoint, Vec<u8>>,
}

impl RecordedChoices {
    pub(super) fn new(choices: &[Choice], places: MovedPlaces<'_>) -> Self {
        let mut given: FxHashMap<ChoicePoint, Vec<u8>> = FxHashMap::default();
        for choice in choices {
            given.entry(places.choice_point(choice.place)).or_default().push(choice.value);
        }
        let written = places.files.iter().map(|(file, edits)| (*file, written(edits))).collect();
        Self { written, given }
    }

    /// The point that a place of the fixed program is.
    pub(super) fn choice_point(&self, place: Place) -> ChoicePoint {
        let written = self.written.get(&place.file).map_or(&[][..], Vec::as_slice);
        match written.iter().position(|span| span.contains(place.span.start)) {
            Some(edit) => ChoicePoint::Edit(place.file, edit),
            None => ChoicePoint::At(place.file, place.span.start),
        }
    }

    /// The n-th choice at a place.
    pub(super) fn get(&self, point: ChoicePoint, taken: usize) -> Option<u8> {
        self.given.get(&point)?.get(taken).copied()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.given.values().map(Vec::len).sum()
    }
}

/// The spans of the edits' texts in the edited text.
fn written(edits: &[Edit]) -> Vec<Span> {
    let mut written = Vec::with_capacity(edits.len());
    let mut moved = 0_i64;
    for edit in edits {
        let length = i64::try_from(edit.content.len()).unwrap_or_default();
        let start = i64::from(edit.span.start) + moved;
        moved += length - i64::from(edit.span.len());
        let at = |offset: i64| u32::try_from(offset).unwrap_or(u32::MAX);
        written.push(Span::new(at(start), at(start + length)));
    }
    written
}
