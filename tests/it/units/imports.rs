//! The imports of a module.

use keylint::engine::imports::imports;
use keylint::python::{SourceKind, parse};

#[test]
fn imports_are_found_anywhere() {
    let text = "\
import a.b as c
try:
    from . import x
except ImportError:
    from ..y import *
def f():
    if p: pass
    else: from z import w, v
    with o:
        match m:
            case 1: import a
";
    let found: Vec<String> = imports(&parse(text, SourceKind::Py).module)
        .into_iter()
        .map(|import| {
            let dots = ".".repeat(import.level as usize);
            format!("{dots}{} {}", import.module.unwrap_or_default(), import.name.unwrap_or_default())
        })
        .collect();
    assert_eq!(found, ["a ", "a.b ", "z v", "z w", ". x", "..y "]);
}
