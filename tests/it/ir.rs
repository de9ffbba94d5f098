//! Lowering: the IR of programs, that it is valid, and that interpreting it does what Python does.
//!
//! **Invariant:** tests feed program text; the order in which Python evaluates comes from a recording of `CPython`
//! (`fixtures/ir/order.py`).

mod generated;
mod machine;
mod objects;
mod shown;
mod validate;
mod values;

use keylint::ir::{Module, lower};
use keylint::python::{SourceKind, WORKER_STACK_BYTES, parse};
use keylint::text::FileId;

use machine::Machine;
use validate::validate;

/// Lowers a text, broken or not.
fn lowered(text: &str) -> Module {
    let parsed = parse(text, SourceKind::Py);
    let module = lower(FileId(0), &parsed.module, &|_| Vec::new());
    assert_eq!(validate(&module), Vec::<String>::new(), "{text}");
    module
}

/// Runs on a stack that is deep enough for everything that parses.
fn on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(WORKER_STACK_BYTES).spawn_scoped(scope, work).unwrap();
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[derive(serde::Deserialize)]
struct Row {
    name: String,
    source: String,
    log: Vec<String>,
}

#[test]
fn evaluation_order_is_that_of_python() {
    let rows: Vec<Row> = serde_json::from_str(include_str!("../../fixtures/ir/order.json")).unwrap();
    assert!(rows.len() >= 80);
    let mut wrong = Vec::new();
    for row in &rows {
        let parsed = parse(&row.source, SourceKind::Py);
        assert!(parsed.problems.is_empty(), "{}: {:?}", row.name, parsed.problems);
        let module = lowered(&row.source);
        let log = Machine::new(&module).run_module();
        if log != row.log {
            wrong.push(format!(
                "## {}\n{}python: {}\nir:     {}\n",
                row.name,
                row.source,
                row.log.join(" "),
                log.join(" ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn declared_parameters_stay_parameters() {
    // Python rejects these; the parser does not.
    for text in [
        "def f(a):\n    global a\n    return a\n",
        "def f(a):\n    def g(b, **a):\n        nonlocal a\n        return a\n",
    ] {
        let module = lowered(text);
        let given = module.functions.iter().flat_map(|function| &function.parameters).filter(|one| &*one.name == "a");
        assert_eq!(given.count(), text.matches("a)").count(), "{text}");
    }
}
