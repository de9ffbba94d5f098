//! Variables that fixes leave unbound.

use std::collections::BTreeSet;

use keylint::fix::definite_assignment::is_worse;
use keylint::ir::{Module, lower};
use keylint::python::{SourceKind, parse};
use keylint::text::{Edit, FileId, Span, apply_edits};

fn module(text: &str) -> Module {
    lower(FileId(0), &parse(text, SourceKind::Py).module, &|_| Vec::new())
}

/// Whether a fix that puts `sub` in the place of the last `key` of a function reads it unbound.
fn breaks(body: &str) -> bool {
    let text = format!("def f(key, p, n):\n{body}");
    let at = u32::try_from(text.rfind("key").unwrap()).unwrap();
    let edits = [Edit::replace(Span::new(at, at + 3), "sub")];
    let swallowing = BTreeSet::from(["suppress".to_owned()]);
    is_worse(&module(&text), &module(&apply_edits(&text, &edits).unwrap()), &edits, &swallowing)
}

#[test]
fn a_name_is_read_only_where_every_path_binds_it() {
    assert!(!breaks("    key, sub = s(key)\n    g(key)\n"));
    assert!(breaks("    if p:\n        key, sub = s(key)\n    g(key)\n"));
    assert!(!breaks("    if p:\n        key, sub = s(key)\n    else:\n        sub = n\n    g(key)\n"));
    assert!(!breaks("    if p:\n        key, sub = s(key)\n    else:\n        return n\n    g(key)\n"));
    assert!(breaks("    key, sub = s(key)\n    del sub\n    g(key)\n"));
    assert!(breaks("    key, sub = s(key)\n    if p:\n        del sub\n    g(key)\n"));
    assert!(breaks("    h(n)\n    g(key)\n    sub = n\n"));
    assert!(breaks("    match p:\n        case 1:\n            key, sub = s(key)\n    g(key)\n"));
    assert!(!breaks(
        "    match p:\n        case 1:\n            sub = n\n        case _:\n            sub = p\n    g(key)\n"
    ));
}

#[test]
fn loops_may_run_no_iteration() {
    assert!(breaks("    for _ in n:\n        key, sub = s(key)\n    g(key)\n"));
    assert!(!breaks("    for _ in n:\n        key, sub = s(key)\n        g(key)\n"));
    assert!(breaks("    while p:\n        key, sub = s(key)\n    else:\n        g(key)\n"));
    assert!(!breaks("    while True:\n        key, sub = s(key)\n        if p:\n            break\n    g(key)\n"));
    assert!(breaks("    while True:\n        if p:\n            break\n        key, sub = s(key)\n    g(key)\n"));
    assert!(breaks(
        "    for _ in n:\n        if p:\n            continue\n        sub = n\n    else:\n        g(key)\n"
    ));
    assert!(breaks("    for _ in n:\n        if p:\n            sub = n\n        g(key)\n"));
}

#[test]
fn try_bodies_may_have_raised() {
    assert!(breaks("    try:\n        key, sub = s(key)\n    except E:\n        pass\n    g(key)\n"));
    assert!(!breaks("    try:\n        key, sub = s(key)\n    except E:\n        raise\n    g(key)\n"));
    assert!(breaks("    try:\n        key, sub = s(key)\n    except E:\n        g(key)\n"));
    assert!(breaks("    try:\n        key, sub = s(key)\n    finally:\n        g(key)\n"));
    assert!(!breaks(
        "    try:\n        key, sub = s(key)\n    except E:\n        return n\n    else:\n        g(key)\n"
    ));
    assert!(!breaks("    with p:\n        key, sub = s(key)\n    g(key)\n"));
    assert!(breaks("    with suppress(E):\n        key, sub = s(key)\n    g(key)\n"));
    assert!(breaks("    with suppress(E):\n        n(p)\n        key, sub = s(key)\n        n(p)\n    g(key)\n"));
    assert!(!breaks("    with suppress(E):\n        key, sub = s(key)\n        g(key)\n"));
}

#[test]
fn a_handler_unbinds_the_name_of_the_exception() {
    let caught = "    except E as sub:\n        pass\n";
    assert!(breaks(&format!("    key, sub = s(key)\n    try:\n        n(p)\n{caught}    g(key)\n")));
    assert!(breaks(&format!(
        "    key, sub = s(key)\n    try:\n        n(p)\n{}    g(key)\n",
        caught.replace("except", "except*")
    )));
    assert!(!breaks(
        "    key, sub = s(key)\n    try:\n        n(p)\n    except E as sub:\n        raise\n    g(key)\n"
    ));
    assert!(!breaks("    key, sub = s(key)\n    try:\n        n(p)\n    except E as e:\n        pass\n    g(key)\n"));
}

#[test]
fn functions_within_read_what_is_bound_where_they_are_made() {
    assert!(!breaks("    key, sub = s(key)\n    return [g(key) for _ in n]\n"));
    assert!(breaks("    if p:\n        key, sub = s(key)\n    return [g(key) for _ in n]\n"));
    assert!(breaks("    if p:\n        key, sub = s(key)\n    return [lambda: (x, g(key)) for x in n]\n"));
    assert!(!breaks("    key, sub = s(key)\n    return lambda x: g(key)\n"));
    assert!(breaks("    if p:\n        key, sub = s(key)\n    def h():\n        return g(key)\n    return h\n"));
    assert!(breaks("    [sub for sub in n]\n    if p:\n        sub = n\n    g(key)\n"));
}

#[test]
fn variables_of_the_module_are_bound_when_its_functions_run() {
    let reads = |before: &str, from: &str, to: &str| {
        let at = u32::try_from(before.rfind(from).unwrap()).unwrap();
        let end = at + u32::try_from(from.len()).unwrap();
        let edits = [Edit::replace(Span::new(at, end), to)];
        is_worse(&module(before), &module(&apply_edits(before, &edits).unwrap()), &edits, &BTreeSet::new())
    };
    assert!(!reads("sub = 1\ndef f(key):\n    g(key)\n", "key", "sub"));
    assert!(!reads("def f(key):\n    g(k)\nsub = 1\n", "k)", "sub)"));
    assert!(reads("def f(key):\n    g(k)\nif f:\n    sub = 1\n", "k)", "sub)"));
    assert!(reads("if f:\n    key, sub = s(1)\ng(key)\n", "key", "sub"));
    assert!(!reads("from jax import *\ng(key)\n", "key", "split(key)"));
    // The edit removes the binding.
    assert!(reads("def f(key):\n    sub = s(key)\n    g(sub)\n", "sub = s", "s"));
}

#[test]
fn reads_that_were_unbound_before_are_allowed() {
    let text = "def f(p, n):\n    if p:\n        key = n\n    if p:\n        g(key)\n        h(key)\n";
    let at = u32::try_from(text.find("g(key)").unwrap()).unwrap();
    let split = |at: u32, indent: &str| Edit::insert(at, format!("key, sub = s(key)\n{indent}"));
    let drawn = Edit::replace(Span::new(at + 2, at + 5), "sub");
    let within = [split(at, "        "), drawn.clone()];
    let before = [split(u32::try_from(text.rfind("if p").unwrap()).unwrap(), "    "), drawn];
    let after = |edits: &[Edit]| module(&apply_edits(text, edits).unwrap());
    let reads = |edits: &[Edit]| is_worse(&module(text), &after(edits), edits, &BTreeSet::new());
    assert!(!reads(&within));
    assert!(reads(&before));
}
