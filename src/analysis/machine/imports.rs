//! What an import denotes: a module of the program, or a name of a library.
//!
//! **Invariant:** a path with a model belongs to a library, whether or not the project has a file for it.

use crate::analysis::domain::value::{ModuleIndex, Val, Value};
use crate::analysis::program::Program;
use crate::ir::Name;

pub fn imported<'p>(program: &'p Program<'p>, from: ModuleIndex, path: &Name) -> Value {
    match project_module(program, from, path) {
        Some(module) => Value::of(Val::Module(module)),
        None => Value::of(Val::Library(path.clone())),
    }
}

/// The module of the program that an absolute path denotes, unless the path has a model.
pub fn project_module<'p>(program: &'p Program<'p>, from: ModuleIndex, path: &str) -> Option<ModuleIndex> {
    if program.models.claims(path, program.roots) {
        return None;
    }
    let file = program.resolver.module(program.module(from).file, 0, path)?;
    program.of_file(file)
}

/// The library name that an import denotes, if it has a model.
pub fn imported_library<'p>(
    program: &'p Program<'p>,
    from: ModuleIndex,
    level: u32,
    module: &Name,
    name: &Name,
) -> Option<Name> {
    let path = imported_path(program, from, level, module, name);
    program.models.claims_member(&path, level > 0, program.roots).then_some(path)
}

/// The dotted path of an imported name, under its canonical root.
pub fn imported_path<'p>(program: &'p Program<'p>, from: ModuleIndex, level: u32, module: &Name, name: &Name) -> Name {
    let file = program.module(from).file;
    let absolute: Name =
        if level == 0 { module.clone() } else { program.resolver.absolute(file, level, module).into() };
    let rooted = program.models.rooted(&absolute, program.roots);
    format!("{rooted}.{name}").into()
}
