//! Places that edits elsewhere do not move.

use keylint::engine::steady::Steady;
use keylint::python::{SourceKind, parse};
use keylint::text::Span;

fn steady(text: &str) -> Steady {
    Steady::of(text, &parse(text, SourceKind::Py).module)
}

#[test]
fn places_and_steady_places_correspond() {
    let text = "import a\n# of f\ndef f(x):\n    return x\n\nx = 1; y = 2\n\nclass C:\n    z = 3\n    # m\n    def m(self):\n        pass\n# end";
    let steady = steady(text);
    assert_eq!(
        steady.parts.iter().map(|part| part.is_outer).collect::<Vec<_>>(),
        [true, true, true, true, false, true]
    );
    let length = u32::try_from(text.len()).unwrap();
    for start in 0..length {
        let place = Span::new(start, start + 1);
        assert_eq!(steady.place(steady.of_place(place)), place);
    }
    let whole = Span::new(0, length);
    assert_eq!(steady.place(steady.of_place(whole)), whole);
    assert_eq!(steady.of_place(Span::default()), Span::default());
}

#[test]
fn an_edit_in_one_statement_moves_no_other() {
    let (old, new) = ("import a\ndef f():\n    pass\nx = 1\n", "import a\ndef f():\n    return 12\nx = 1\n");
    let before = steady(old);
    let (after, difference) = before.edited((old, &[]), (new, &[]), &parse(new, SourceKind::Py).module).unwrap();
    let place = |text: &str, part: &str| {
        let start = u32::try_from(text.find(part).unwrap()).unwrap();
        Span::new(start, start + 1)
    };
    assert_eq!(before.of_place(place(old, "x")), after.of_place(place(new, "x")));
    assert_eq!(before.of_place(place(old, "def")), after.of_place(place(new, "def")));
    assert!(difference.holds(after.of_place(place(new, "return"))));
    assert!(!difference.holds(after.of_place(place(new, "x"))));
    assert!(difference.new.covers(place(new, "12")) && !difference.new.covers(place(new, "x")));
    assert!(difference.old.covers(place(old, "pass")) && !difference.old.covers(place(old, "x")));
    let within = before.edited_within(old, new).unwrap();
    assert_eq!((within.steady, within.difference), (after, difference));
}

#[test]
fn another_number_of_statements_or_no_room_has_no_difference() {
    let old = "def f():\n    pass\nx = 1\n";
    let before = steady(old);
    for new in
        ["def f():\n    pass\nx = 1\ny = 1\n".to_owned(), format!("def f():\n    {}\nx = 1\n", "y; ".repeat(2_000))]
    {
        assert_eq!(before.edited((old, &[]), (&new, &[]), &parse(&new, SourceKind::Py).module).map(|_| ()), None);
    }
}
