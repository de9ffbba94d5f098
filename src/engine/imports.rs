//! The imports of a module, anywhere in it.
//!
//! **Invariant:** every import statement of the tree is seen, in conditions and functions too; none is resolved here.

use crate::python::ast::{self, Stmt};
use crate::python::suites;

/// One imported name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// Number of leading dots.
    pub level: u32,
    /// The dotted path; `None` for `from . import x`.
    pub module: Option<String>,
    /// The name taken from it.
    pub name: Option<String>,
}

/// The imports of a module, sorted and without duplicates.
pub fn imports(module: &ast::ModModule) -> Vec<Import> {
    let mut found = Vec::new();
    let mut bodies: Vec<&[Stmt]> = vec![&module.body];
    while let Some(body) = bodies.pop() {
        for statement in body {
            match statement {
                Stmt::Import(import) => {
                    for alias in &import.names {
                        let path = alias.name.as_str();
                        // `import a.b` runs `a` and binds it.
                        let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
                        found.extend(ends.map(|end| Import {
                            level: 0,
                            module: Some(path[..end].to_owned()),
                            name: None,
                        }));
                    }
                }
                Stmt::ImportFrom(import) => {
                    for alias in &import.names {
                        let name = Some(alias.name.as_str()).filter(|name| *name != "*").map(str::to_owned);
                        let module = import.module.as_ref().map(|module| module.as_str().to_owned());
                        found.push(Import { level: import.level, module, name });
                    }
                }
                other => bodies.extend(suites(other)),
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
