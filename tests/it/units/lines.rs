//! Tests of `text::LineIndex`.

use keylint::text::{EditorPosition, LineColumn, LineIndex, Span, Unit};
use proptest::prelude::*;

fn place(text: &str, offset: u32) -> (u32, u32) {
    let found = LineIndex::new(text).line_column(text, offset);
    (found.row, found.column)
}

#[test]
fn counts_rows_of_every_line_end() {
    let text = "a\nb\rc\r\nd";
    let rows: Vec<_> = (0..=8).map(|offset| place(text, offset)).collect();
    // Byte 6 is within the CRLF, and is treated as the end of `c`.
    assert_eq!(rows, [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2), (3, 2), (4, 1), (4, 2)]);
    assert_eq!(LineIndex::new("").line_count(), 1);
    assert_eq!(LineIndex::new("a\n").line_count(), 2);
}

#[test]
fn counts_columns_in_each_unit() {
    let text = "x = 'é😀' # k";
    let index = LineIndex::new(text);
    let end = u32::try_from(text.find('#').unwrap()).unwrap();
    let at = |unit| index.position(text, end, unit).character;
    assert_eq!((at(Unit::Utf8), at(Unit::Utf16), at(Unit::Utf32)), (13, 10, 9));
    assert_eq!(index.line_column(text, end), LineColumn { row: 1, column: 10 });
    // The middle of a surrogate pair is treated as the character's start.
    assert_eq!(index.offset_at(text, EditorPosition { line: 0, character: 7 }, Unit::Utf16), 7);
}

#[test]
fn clamps_what_lies_outside() {
    let text = "ab\r\nc";
    let index = LineIndex::new(text);
    assert_eq!(index.line_column(text, 99), LineColumn { row: 2, column: 2 });
    assert_eq!(index.offset(text, LineColumn { row: 1, column: 99 }), 2);
    assert_eq!(index.offset(text, LineColumn { row: 0, column: 0 }), 0);
    assert_eq!(index.offset(text, LineColumn { row: u32::MAX, column: u32::MAX }), 5);
    assert_eq!(index.line(text, 1), Span::new(0, 2));
    assert_eq!(index.full_line(text, 1), Span::new(0, 4));
    assert_eq!(index.line(text, 7), Span::new(4, 5));
}

fn texts() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "é", "漢", "😀", "\n", "\r", "\r\n", " ", "\u{feff}"]), 0..40)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn positions_round_trip(text in texts(), offset in 0_u32..200) {
        let index = LineIndex::new(&text);
        let place = index.line_column(&text, offset);
        let normal = index.offset(&text, place);
        prop_assert!(normal <= offset);
        prop_assert!(text.is_char_boundary(normal as usize));
        prop_assert_eq!(index.line_column(&text, normal), place);
        for unit in [Unit::Utf8, Unit::Utf16, Unit::Utf32] {
            let position = index.position(&text, offset, unit);
            prop_assert_eq!(index.offset_at(&text, position, unit), normal);
            prop_assert_eq!(position.line + 1, place.row);
        }
        prop_assert!(place.row <= index.line_count());
    }

    #[test]
    fn offsets_of_characters_are_kept(text in texts()) {
        let index = LineIndex::new(&text);
        for (at, character) in text.char_indices() {
            let within_ending = character == '\n' && text[..at].ends_with('\r');
            let at = u32::try_from(at).unwrap();
            if !within_ending {
                prop_assert_eq!(index.offset(&text, index.line_column(&text, at)), at);
            }
        }
    }

    #[test]
    fn lines_tile_the_text(text in texts()) {
        let index = LineIndex::new(&text);
        let mut end = 0;
        for row in 1..=index.line_count() {
            let full = index.full_line(&text, row);
            prop_assert_eq!(full.start, end);
            let line = index.line(&text, row);
            prop_assert!(full.covers(line));
            prop_assert!(!text[line.start as usize..line.end as usize].contains(['\n', '\r']));
            end = full.end;
        }
        prop_assert_eq!(end as usize, text.len());
    }

    #[test]
    fn never_panics_on_another_text(built in texts(), text in texts(), offset: u32, line: u32, character: u32) {
        let index = LineIndex::new(&built);
        index.line_column(&text, offset);
        index.offset_at(&text, EditorPosition { line, character }, Unit::Utf16);
        index.offset(&text, LineColumn { row: line, column: character });
    }
}
