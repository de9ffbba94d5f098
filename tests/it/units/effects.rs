//! Effect comments.

use keylint::engine::effects::Effects;
use keylint::ir;
use keylint::python::{SourceKind, parse};
use keylint::text::FileId;

fn declared(text: &str) -> Vec<String> {
    let parsed = parse(text, SourceKind::Py);
    let effects = Effects::of(text, &parsed.comments);
    let module = ir::lower(FileId(0), &parsed.module, &|header| effects.on(header));
    let functions = module.functions.iter().filter(|function| !function.effects.is_empty());
    functions
        .map(|function| {
            let names: Vec<&str> = function.effects.iter().map(|effect| &*effect.parameter).collect();
            format!("{} {}", function.name, names.join(" "))
        })
        .collect()
}

#[test]
fn effect_comments_belong_to_their_def() {
    let text = "\
# keylint: consumes(far)

# keylint: consumes(a)
# keylint: observes(b)
def f(a, b):
    pass  # keylint: derives(a)
def g(
    key,  # keylint: derives(key)
): pass
def h(k): pass  # KEYLINT: consumes(k)
def plain(k):
    pass
";
    assert_eq!(declared(text), ["f b a", "g key", "h k"]);
}
