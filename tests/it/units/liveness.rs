//! Tests of `ir::liveness`.

use keylint::ir::liveness::{Liveness, Point};
use keylint::ir::{FunctionId, Module, lower};
use keylint::python::{SourceKind, parse};
use keylint::text::{FileId, Span};

/// Whether `key` is live after the first call `here()` of the only function, where it is read again if a loop comes back.
fn is_live(body: &str) -> bool {
    let text = format!("def f(key, p, n):\n{body}");
    let parsed = parse(&text, SourceKind::Py);
    let module = lower(FileId(0), &parsed.module, &|_| Vec::new());
    let start = u32::try_from(text.find("here()").unwrap()).unwrap();
    let here = Span::new(start, start + 6);
    let liveness = Liveness::of(&module, FunctionId(1), "key").unwrap();
    liveness.read_on_return_to(Some(here)).is_live(Point::After(here)).unwrap()
}

#[test]
fn values_die_where_every_path_rebinds_them() {
    assert!(is_live("    here()\n    g(key)\n"));
    assert!(!is_live("    here()\n    key, a = g(n)\n    g(key)\n"));
    assert!(is_live("    here()\n    key, a = g(key)\n"));
    assert!(is_live("    here()\n    if p:\n        key = n\n    g(key)\n"));
    assert!(!is_live("    here()\n    if p:\n        key = n\n    else:\n        return n\n    g(key)\n"));
    assert!(!is_live("    if p:\n        here()\n    elif n:\n        g(key)\n    return n\n"));
    assert!(!is_live(
        "    here()\n    match p:\n        case 1:\n            key = n\n        case _:\n            raise\n    g(key)\n"
    ));
    assert!(!is_live("    here()\n    del key\n"));
    assert!(is_live("    here()\n    key += 1\n"));
}

#[test]
fn loops_have_back_edges_and_exits() {
    assert!(is_live("    for _ in n:\n        here()\n"));
    assert!(!is_live("    for _ in n:\n        key = p\n        here()\n"));
    assert!(!is_live("    for key in n:\n        here()\n"));
    assert!(!is_live("    for _ in n:\n        here()\n        key = p\n    g(n)\n"));
    assert!(is_live("    while p:\n        here()\n        if n:\n            break\n        key = p\n    g(key)\n"));
    assert!(is_live("    while g(key):\n        here()\n        if n:\n            continue\n        key = p\n"));
    assert!(!is_live(
        "    for a in n:\n        here()\n        for b in a:\n            if b:\n                break\n        key = p\n"
    ));
    assert!(is_live("    for a in n:\n        here()\n    else:\n        g(key)\n"));
}

#[test]
fn raised_exceptions_may_be_caught() {
    assert!(is_live("    try:\n        here()\n        g(n)\n        key = p\n    except E:\n        g(key)\n"));
    assert!(!is_live("    try:\n        here()\n    except E:\n        key = p\n"));
    assert!(is_live("    try:\n        here()\n        return n\n    finally:\n        g(key)\n"));
    assert!(!is_live("    try:\n        here()\n        return n\n    finally:\n        key = n\n        g(key)\n"));
    assert!(!is_live("    with p:\n        here()\n        key = p\n    g(key)\n"));
}

#[test]
fn comprehensions_read_at_their_place_and_functions_when_called() {
    assert!(is_live("    here()\n    return [g(key) for _ in n]\n"));
    assert!(!is_live("    a = [g(key) for _ in n]\n    here()\n    return a\n"));
    assert!(!is_live("    here()\n    return [key for key in n]\n"));
    assert!(is_live("    def h():\n        return key\n    here()\n"));
    assert!(!is_live("    def h(key):\n        return key\n    here()\n"));
    assert!(is_live("    def h():\n        nonlocal key\n        key = n\n    here()\n"));
}

#[test]
fn globals_are_live_where_functions_read_them() {
    let live = |text: &str| {
        let parsed = parse(text, SourceKind::Py);
        let module = lower(FileId(0), &parsed.module, &|_| Vec::new());
        Liveness::of(&module, Module::BODY, "key").unwrap().is_live(Point::After(Span::new(0, 6))).unwrap()
    };
    assert!(live("here()\ndef f():\n    return key\n"));
    assert!(!live("here()\ndef f(key):\n    return key\n"));
    assert!(!live("here()\nkey = 3\nprint(key)\n"));
    assert!(live("here()\nclass A:\n    k = key\n"));
}
