//! The place in `keylint why`.

use keylint::cli::why::place;

#[test]
fn places_are_parsed_as_reports_print_them() {
    assert_eq!(place("a.py:7"), Some(("a.py", None, 7)));
    assert_eq!(place("a.py:7:13"), Some(("a.py", None, 7)));
    assert_eq!(place("c:a.py:7"), Some(("c:a.py", None, 7)));
    assert_eq!(place("x/n.ipynb:7"), Some(("x/n.ipynb", None, 7)));
    assert_eq!(place("x/n.ipynb:3:7"), Some(("x/n.ipynb", Some(3), 7)));
    assert_eq!(place("x/n.ipynb:cell 3:7"), Some(("x/n.ipynb", Some(3), 7)));
    assert_eq!(place("x/n.ipynb:cell 3:7:13"), Some(("x/n.ipynb", Some(3), 7)));
    assert_eq!(place("a.py:cell 3:7"), Some(("a.py:cell 3", None, 7)));
    for wrong in ["", "a.py", "a.py:0", ":7", "a.py:x", "a.py:cell 3"] {
        assert_eq!(place(wrong), None, "{wrong}");
    }
}
