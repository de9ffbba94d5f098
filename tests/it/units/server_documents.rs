//! Documents that an editor changes.

use gen_lsp_types::{
    LanguageKind, Position, Range, TextDocumentContentChangeEvent, TextDocumentContentChangePartial,
    TextDocumentContentChangeWholeDocument, TextDocumentItem, Uri,
};
use keylint::server::documents::{Document, position_of};
use keylint::text::{LineIndex, Unit};
use proptest::prelude::*;

fn at(line: u32, character: u32) -> Position {
    Position { line, character }
}

fn replace(start: Position, end: Position, text: &str) -> TextDocumentContentChangeEvent {
    TextDocumentContentChangeEvent::TextDocumentContentChangePartial(TextDocumentContentChangePartial {
        range: Range { start, end },
        text: text.to_owned(),
        ..TextDocumentContentChangePartial::default()
    })
}

fn whole(text: &str) -> TextDocumentContentChangeEvent {
    TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(TextDocumentContentChangeWholeDocument {
        text: text.to_owned(),
    })
}

fn changed(text: &str, changes: &[TextDocumentContentChangeEvent], unit: Unit) -> String {
    let mut document = Document::opened(&TextDocumentItem {
        uri: Uri::parse("file:///a.py").unwrap(),
        language_id: LanguageKind::Python,
        version: 1,
        text: text.to_owned(),
    });
    document.change(2, changes, unit);
    assert_eq!(document.version, 2);
    document.text.to_string()
}

#[test]
fn changes_build_on_each_other() {
    let changes = [replace(at(0, 1), at(0, 1), "bc"), replace(at(0, 2), at(1, 0), ""), replace(at(0, 0), at(0, 1), "")];
    assert_eq!(changed("a\nd\n", &changes, Unit::Utf16), "bd\n");
    assert_eq!(changed("a", &[whole("x\ny"), replace(at(1, 0), at(1, 1), "z")], Unit::Utf8), "x\nz");
}

#[test]
fn positions_are_counted_in_the_unit_agreed_on() {
    let text = "s = '😀é' # x\r\ny\r\n";
    for (unit, character) in [(Unit::Utf8, 11), (Unit::Utf16, 8), (Unit::Utf32, 7)] {
        assert_eq!(changed(text, &[replace(at(0, character), at(0, character), "!")], unit), "s = '😀é!' # x\r\ny\r\n");
    }
}

#[test]
fn positions_beyond_the_text_are_its_end() {
    assert_eq!(changed("a\nb", &[replace(at(2, 9), at(9, 9), "c")], Unit::Utf16), "a\nbc");
    assert_eq!(changed("a\nb", &[replace(at(0, 99), at(0, 99), "c")], Unit::Utf16), "ac\nb");
    // Some clients send the end first.
    assert_eq!(changed("abc", &[replace(at(0, 2), at(0, 1), "")], Unit::Utf16), "ac");
}

proptest! {
    /// An edit by positions gives the same text as the same edit by offsets.
    #[test]
    fn positions_and_offsets_agree(
        parts in prop::collection::vec(prop::sample::select(vec!["a", "é", "😀", "\n", "\r\n", "\t", " "]), 0..30),
        from in 0_usize..40, to in 0_usize..40, inserted in "[a\n😀]{0,4}",
    ) {
        let text = parts.concat();
        let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()])
            .filter(|at| !(text[..*at].ends_with('\r') && text[*at..].starts_with('\n'))).collect();
        let (from, to) = (boundaries[from % boundaries.len()], boundaries[to % boundaries.len()]);
        let (from, to) = (from.min(to), from.max(to));
        let expected = format!("{}{inserted}{}", &text[..from], &text[to..]);
        let lines = LineIndex::new(&text);
        for unit in [Unit::Utf8, Unit::Utf16, Unit::Utf32] {
            let position = |offset: usize| position_of(&lines, &text, u32::try_from(offset).unwrap(), unit);
            prop_assert_eq!(changed(&text, &[replace(position(from), position(to), &inserted)], unit), expected.clone());
        }
    }
}
