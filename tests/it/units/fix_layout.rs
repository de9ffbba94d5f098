//! Where fixes put statements.

use keylint::fix::layout::{before, own_lines, with_comment};
use keylint::text::{Span, apply_edits};

fn inserted(text: &str, at: &str) -> String {
    let start = u32::try_from(text.find(at).unwrap()).unwrap();
    apply_edits(text, &[before(text, start, "new")]).unwrap()
}

#[test]
fn statements_go_before_others_in_every_layout() {
    assert_eq!(inserted("if p:\n\tx\n", "x"), "if p:\n\tnew\n\tx\n");
    assert_eq!(inserted("if p: x\n", "x"), "if p: new; x\n");
    assert_eq!(inserted("a; x\n", "x"), "a; new; x\n");
    assert_eq!(inserted("a\r\nx", "x"), "a\r\nnew\r\nx");
    assert_eq!(inserted("if p: \\\n  x\n", "x"), "if p: \\\n  new; x\n");
    assert_eq!(inserted("é = 1\n  # note\nx", "x"), "é = 1\n  # note\nnew\nx");
}

#[test]
fn comments_stay_with_their_statement() {
    let above = |text: &str| {
        let start = u32::try_from(text.find("draw").unwrap()).unwrap();
        let at = with_comment(text, start);
        text[at as usize..].lines().next().unwrap().to_owned()
    };
    assert_eq!(above("x\n    # why\n    # so\n    draw"), "# why");
    assert_eq!(above("x\n  # of another block\n    draw"), "draw");
    assert_eq!(above("# of the file\ndraw"), "draw");
    assert_eq!(above("x\n# ---- heading ----\ndraw"), "draw");
    assert_eq!(above("x\n# type: ignore\ndraw"), "draw");
    assert_eq!(above("x\n# a\n# b\n# c\n# d\n# e\ndraw"), "draw");
}

#[test]
fn own_lines_are_whole() {
    let own = |text: &str, at: &str| {
        let start = u32::try_from(text.find(at).unwrap()).unwrap();
        own_lines(text, Span::new(start, start + u32::try_from(at.len()).unwrap()))
    };
    assert_eq!(own("a\n  xx \nb", "xx"), Some(Span::new(2, 8)));
    assert_eq!(own("a; xx\n", "xx"), None);
    assert_eq!(own("xx # why\n", "xx"), None);
}
