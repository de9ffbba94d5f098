//! Tests of `python::statement_spans`.

use keylint::python::{SourceKind, StatementKind, parse, statement_spans};
use keylint::text::Span;

/// The text of each header, and whether the statement is longer than its header.
fn headers(text: &str) -> Vec<String> {
    let parsed = parse(text, SourceKind::Py);
    let slice = |span: Span| &text[span.start as usize..span.end as usize];
    statement_spans(&parsed.module, text)
        .into_iter()
        .map(|entry| {
            assert!(entry.full.covers(entry.header) && entry.full.start == entry.header.start);
            let more = if entry.full == entry.header { "" } else { " …" };
            format!("{}{more}", slice(entry.header))
        })
        .collect()
}

#[test]
fn statements_know_what_documents_them() {
    let text = "\
def f():
    'says'
    'not'
async def g(): x
class C:
    \"\"\"documents\"\"\"
    b'bytes'
if (\"__main__\" == __name__): f()
if __name__ != \"__main__\": g()
async for x in y: pass
while x: pass
else: pass
";
    let parsed = parse(text, SourceKind::Py);
    let slice = |span: Span| &text[span.start as usize..span.end as usize];
    let kinds = statement_spans(&parsed.module, text).into_iter().filter_map(|entry| match entry.kind {
        StatementKind::Function { name, docstring } => Some((slice(name), docstring.map(slice))),
        StatementKind::Class { docstring } => Some(("class", docstring.map(slice))),
        StatementKind::DirectRun => Some((slice(entry.header), None)),
        StatementKind::Loop => Some(("loop", None)),
        StatementKind::Other => None,
    });
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [
            ("f", Some("'says'")),
            ("g", None),
            ("class", Some("\"\"\"documents\"\"\"")),
            ("if (\"__main__\" == __name__):", None),
            ("loop", None),
            ("loop", None),
        ]
    );
}

#[test]
fn headers_end_with_the_colon() {
    let text = "\
@a.b(c)
@d
def f[T](
    x: int = {1: 2},  # not: here
) -> T:  # nor: here
    return x[1:2]
class C[T](B, m={1: 2}): y = 1
class D: pass
for x in (
    y  # no: colon
): pass
else: pass
while (x): pass
if (x): a
elif x[1:]: b
else : c
with (open(a) as b, c): pass
match x[1:]:
    case {1: y} if (y): pass
    case _: pass
try: a
except (A, B) as e: b
except: c
else: d
finally: e
";
    assert_eq!(
        headers(text),
        [
            "@a.b(c)\n@d\ndef f[T](\n    x: int = {1: 2},  # not: here\n) -> T: …",
            "return x[1:2]",
            "class C[T](B, m={1: 2}): …",
            "y = 1",
            "class D: …",
            "pass",
            "for x in (\n    y  # no: colon\n): …",
            "pass",
            "pass",
            "while (x): …",
            "pass",
            "if (x): …",
            "a",
            "elif x[1:]: …",
            "b",
            "else : …",
            "c",
            "with (open(a) as b, c): …",
            "pass",
            "match x[1:]: …",
            "case {1: y} if (y): …",
            "pass",
            "case _: …",
            "pass",
            "try: …",
            "a",
            "except (A, B) as e: …",
            "b",
            "except: …",
            "c",
            "d",
            "e",
        ]
    );
}

#[test]
fn headers_of_broken_statements_end_within_them() {
    for text in [
        "if x",
        "def f(",
        "class",
        "for x in",
        "with a as",
        "try",
        "match x:",
        "if x # a: b\n    y\n",
        "while :\n pass",
    ] {
        headers(text);
    }
}
