//! The prelude: what functions of Python's library do, written in Python (`rules/prelude/*.py`) and lowered once for all programs.
//!
//! A definition is named by its file and its name there: `itertools.pairwise` is `def pairwise` of `itertools.py`.
//!
//! **Invariant:** the modules import nothing, and no finding names a place in them: a function of the prelude runs as part of the calling
//! operation.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::{FunctionId, FunctionKind, Module, Name, lower};
use crate::python::{SourceKind, parse};
use crate::text::FileId;

/// The sources, by the name of the module.
const SOURCES: [(&str, &str); 5] = [
    ("builtins", include_str!("../../rules/prelude/builtins.py")),
    ("concurrent", include_str!("../../rules/prelude/concurrent.py")),
    ("flax", include_str!("../../rules/prelude/flax.py")),
    ("itertools", include_str!("../../rules/prelude/itertools.py")),
    ("operator", include_str!("../../rules/prelude/operator.py")),
];

/// The modules, in the order of the sources.
static MODULES: LazyLock<[Module; SOURCES.len()]> = LazyLock::new(|| {
    let mut next = u32::MAX;
    SOURCES.map(|(_, text)| {
        // Counted down from the greatest number, which no project reaches.
        next -= 1;
        lower(FileId(next), &parse(text, SourceKind::Py).module, &|_| Vec::new())
    })
});

/// A function of the prelude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its module, as an index into [`modules`].
    pub module: usize,
    /// The function within the module.
    pub function: FunctionId,
}

/// The lowered modules of the prelude.
pub fn modules() -> &'static [Module] {
    &*MODULES
}

/// The definitions, by name.
static DEFINITIONS: LazyLock<FxHashMap<Name, Definition>> = LazyLock::new(|| {
    let mut definitions = FxHashMap::default();
    for (module, (lowered, (source, _))) in modules().iter().zip(&SOURCES).enumerate() {
        for (number, function) in (0u32..).zip(&lowered.functions) {
            if function.kind == FunctionKind::Def && function.parent == Some(Module::BODY) {
                let name = format!("{source}.{}", function.name).into();
                definitions.insert(name, Definition { module, function: FunctionId(number) });
            }
        }
    }
    definitions
});

/// The function of this name.
pub fn definition(name: &str) -> Option<Definition> {
    DEFINITIONS.get(name).copied()
}

/// The module in which a class of this name would be, and its name there.
pub fn class(name: &str) -> Option<(usize, Name)> {
    let (source, class) = name.split_once('.')?;
    let module = SOURCES.iter().position(|(module, _)| *module == source)?;
    let is_it = |one: &&super::Class| *one.name == *class;
    modules()[module].classes.iter().find(is_it).map(|one| (module, one.name.clone()))
}
