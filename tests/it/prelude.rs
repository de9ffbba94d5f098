//! The prelude: its functions do what Python's do, and every model that names one of them resolves.
//!
//! **Invariant:** `CPython` runs the files themselves, next to the functions that they replace.

use std::path::Path;
use std::process::Command;

use keylint::ir::prelude;
use keylint::models::{Effect, Models};

/// The number of random arguments for each function.
const TRIALS: &str = "200";

#[test]
fn functions_do_what_python_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = Command::new("python3")
        .arg(root.join("fixtures/programs/prelude.py"))
        .args([root.join("rules/prelude").as_os_str()])
        .args(["1", TRIALS])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output();
    let Ok(run) = run else {
        eprintln!("skipped: the prelude is compared with python3, which is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}\n{}", String::from_utf8_lossy(&run.stderr));
    // What could not be compared, and why.
    eprint!("{said}");
}

#[test]
fn models_name_what_the_prelude_defines() {
    for callable in Models::builtin().callables() {
        if let Effect::Prelude { definition } = &callable.effect {
            let is_defined = prelude::definition(definition).is_some() || prelude::class(definition).is_some();
            assert!(is_defined, "{}: no `{definition}` in rules/prelude", callable.path);
        }
    }
}
