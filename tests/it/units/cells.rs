//! Tests of `text::Cells`.

use keylint::text::{Cell, Cells, Edit, LineColumn, LineIndex, Span};

#[test]
fn places_are_reported_within_their_cell() {
    let text = "a\nb\n\nc\n";
    let lines = LineIndex::new(text);
    let cell = |number, start, end| Cell { number, span: Span::new(start, end) };
    let cells = Cells::new(vec![cell(2, 0, 5), cell(4, 5, 7)]);
    let position = |anchor, offset| {
        let LineColumn { row, column } = cells.line_column(&lines, text, anchor, offset);
        (cells.around(anchor).map(|cell| cell.number), row, column)
    };
    assert_eq!(position(2, 2), (Some(2), 2, 1));
    assert_eq!(position(2, 5), (Some(2), 3, 1));
    assert_eq!(position(5, 6), (Some(4), 1, 2));
    assert_eq!(position(5, 9), (Some(4), 1, 2));
    assert_eq!(Cells::NONE.around(0), None);
    assert_eq!(Cells::NONE.line_column(&lines, text, 0, 5), LineColumn { row: 4, column: 1 });
    assert_eq!(cells.numbered(4), Some(cell(4, 5, 7)));
    let edit = |start, end, content: &str| Edit { span: Span::new(start, end), content: content.to_owned() };
    let edited = cells.edited(&[edit(0, 0, "xy"), edit(2, 3, ""), edit(5, 5, "z"), edit(6, 6, "z")]);
    assert_eq!(edited, Cells::new(vec![cell(2, 0, 6), cell(4, 6, 10)]));
}
