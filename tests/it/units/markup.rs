//! The terminal as markup.

use keylint::report::markup::terminal;

#[test]
fn colours_become_svg_elements() {
    let text = "\u{1b}[1m\u{1b}[38;5;9ma<b\u{1b}[0m & \u{1b}[36mc\u{1b}[0m\n";
    assert_eq!(terminal(text), "<span class=\"bold c1\">a&lt;b</span> &amp; <span class=\"c6\">c</span>\n");
}
