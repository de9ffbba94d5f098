//! Resolves imports to files, from the paths of the project alone.
//!
//! **Invariant:** there is no I/O, and equal lists of paths give equal results. A name is resolved only if Python's own search could find
//! it: an unrelated file elsewhere in the project never shadows a library with the same name.

use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::text::FileId;

/// The stem of the file that makes its folder a package.
const INITIALISER: &str = "__init__";

/// The file that is run by `python -m package`.
const PROGRAM: &str = "__main__.py";

/// The file that would make a module part of a package; `None` for the program of one, and where there is no folder.
pub fn initialiser_of(module: &Path) -> Option<PathBuf> {
    let folder = module.parent().filter(|_| !module.ends_with(PROGRAM))?;
    Some(folder.join(INITIALISER).with_extension("py"))
}

/// The result of resolving an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// A file of the project.
    Module {
        /// The innermost module of the dotted name that is a file.
        file: FileId,
        /// The rest of the name, to be looked up in `file` from left to right.
        rest: Vec<String>,
        /// For `from package import name`, the file of the submodule `name`. Python uses it only if `file` itself does
        /// not bind `name`.
        submodule: Option<FileId>,
    },
    /// Not in the project.
    External,
}

/// The modules of a project.
#[derive(Debug)]
pub struct ModuleGraph {
    files: Vec<Module>,
    /// Module path (`a/b/c`; for a package, its folder) → file.
    by_path: FxHashMap<String, FileId>,
    /// For modules in a package: dotted name within its root → files with this name.
    by_name: FxHashMap<String, Vec<FileId>>,
    packages: FxHashSet<String>,
    /// The paths of `by_path` and all their parent folders. Most imports are of libraries; this set rejects them by their first part.
    prefixes: FxHashSet<String>,
    /// The last parts of `prefixes`, which reject them without making a path.
    parts: FxHashSet<String>,
    /// The first parts of the names in `by_name`, for the same reason.
    top_names: FxHashSet<String>,
}

/// The kind of file, by the suffix of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suffix {
    Module,
    Stub,
    /// Cannot be imported; its own imports are resolved like those of a script.
    Notebook,
}

#[derive(Debug)]
struct Module {
    /// The folder of the file, where relative imports start.
    folder: String,
    /// The nearest enclosing folder that is not a package. Absolute imports are searched from here upwards.
    root: String,
    /// The path without suffix; for a package, its folder.
    path: String,
    /// Dotted names, the longest first.
    names: Vec<String>,
    is_stub: bool,
    is_package: bool,
    /// Whether the file is not in a package. It can only run as a script, so imports find its siblings first.
    is_script: bool,
}

impl ModuleGraph {
    /// The graph of these paths; the index of a path is its [`FileId`].
    pub fn new<P: AsRef<str>>(paths: &[P]) -> Self {
        let split: Vec<(String, String, Suffix)> = paths.iter().map(|path| parts(path.as_ref())).collect();
        let packages: FxHashSet<String> = split
            .iter()
            .filter(|(_, stem, suffix)| stem == INITIALISER && *suffix != Suffix::Notebook)
            .map(|(folder, _, _)| folder.clone())
            .collect();
        let mut graph = Self {
            files: Vec::with_capacity(split.len()),
            by_path: FxHashMap::default(),
            by_name: FxHashMap::default(),
            packages,
            prefixes: FxHashSet::default(),
            parts: FxHashSet::default(),
            top_names: FxHashSet::default(),
        };
        for (index, (folder, stem, suffix)) in split.into_iter().enumerate() {
            let Ok(id) = u32::try_from(index) else { break };
            graph.add(FileId(id), folder, &stem, suffix);
        }
        for path in graph.by_path.keys() {
            let around = std::iter::successors(Some(path.as_str()), |at| parent(at));
            for prefix in around.take_while(|prefix| !graph.prefixes.contains(*prefix)).collect::<Vec<_>>() {
                graph.prefixes.insert(prefix.to_owned());
            }
        }
        let last = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
        graph.parts = graph.prefixes.iter().map(last).collect();
        let top = |name: &String| name.split('.').next().unwrap_or_default().to_owned();
        graph.top_names = graph.by_name.keys().map(top).collect();
        graph
    }

    fn add(&mut self, id: FileId, folder: String, stem: &str, suffix: Suffix) {
        let is_notebook = suffix == Suffix::Notebook;
        let is_stub = suffix == Suffix::Stub;
        let inner_root = self.inner_root(&folder).to_owned();
        let outer_root = self.outer_root(&folder).unwrap_or(&inner_root).to_owned();
        let path = if stem == INITIALISER { folder.clone() } else { join(&folder, stem) };
        let mut names = Vec::new();
        for root in [&outer_root, &inner_root] {
            let within = path.strip_prefix(root.as_str()).unwrap_or(&path).trim_start_matches('/');
            // A package at the top has no enclosing name, so its name comes from the stem of the file.
            let name = if within.is_empty() { stem.to_owned() } else { within.replace('/', ".") };
            if names.contains(&name) {
                continue;
            }
            if *root != folder && !is_notebook {
                self.by_name.entry(name.clone()).or_default().push(id);
            }
            names.push(name);
        }
        if stem != INITIALISER && names.iter().all(|name| name != stem) {
            names.push(stem.to_owned());
        }
        let known = self.by_path.get(&path).copied();
        // A module shadows its stub, because only bodies show what happens to keys. A package shadows a module with the same name.
        let rank = |stub: bool, package: bool| (!stub, package);
        let wins = known
            .and_then(|other| self.files.get(other.0 as usize))
            .is_none_or(|other| rank(is_stub, stem == INITIALISER) > rank(other.is_stub, other.is_package));
        if wins && !is_notebook {
            self.by_path.insert(path.clone(), id);
        }
        let is_script = is_notebook || (!self.packages.contains(&folder) && inner_root == outer_root);
        let is_package = stem == INITIALISER && !is_notebook;
        self.files.push(Module { folder, root: inner_root, path, names, is_stub, is_package, is_script });
    }

    /// The folder above the chain of packages that ends in `folder`; `folder` itself if it is not a package.
    fn inner_root<'a>(&self, folder: &'a str) -> &'a str {
        let mut root = folder;
        while self.packages.contains(root) {
            match parent(root) {
                Some(above) => root = above,
                None => break,
            }
        }
        root
    }

    /// The folder above the outermost package that encloses `folder`; plain folders between packages count as namespace packages.
    fn outer_root<'a>(&self, folder: &'a str) -> Option<&'a str> {
        let outermost =
            std::iter::successors(Some(folder), |at| parent(at)).filter(|at| self.packages.contains(*at)).last()?;
        Some(parent(outermost).unwrap_or(outermost))
    }

    /// The longest dotted name of a file within its package root.
    pub fn name(&self, file: FileId) -> &str {
        self.files.get(file.0 as usize).and_then(|module| module.names.first()).map_or("", String::as_str)
    }

    /// All names of a file: the longest first, and last its stem, by which a script in the same folder imports it.
    pub fn names(&self, file: FileId) -> &[String] {
        self.files.get(file.0 as usize).map_or(&[], |module| &module.names)
    }

    /// Whether the file is the `__init__` of a package.
    pub fn is_package(&self, file: FileId) -> bool {
        self.files.get(file.0 as usize).is_some_and(|module| module.is_package)
    }

    /// Whether the file is what an import of its path denotes, which a notebook never is.
    pub fn can_be_imported(&self, file: FileId) -> bool {
        self.files.get(file.0 as usize).is_some_and(|module| self.by_path.get(&module.path) == Some(&file))
    }

    /// Resolves an import in the file `from`: `import module` (`level` 0, no `name`), `from module import name`,
    /// `from .module import name` (`level` 1), `from . import name` (no `module`).
    pub fn resolve(&self, from: FileId, level: u32, module: Option<&str>, name: Option<&str>) -> Resolution {
        let Some(importer) = self.files.get(from.0 as usize) else { return Resolution::External };
        let dotted: SmallVec<[&str; 8]> =
            module.into_iter().flat_map(|module| module.split('.')).filter(|part| !part.is_empty()).collect();
        if level > 0 {
            let mut base = Some(importer.folder.as_str());
            for _ in 1..level {
                base = base.and_then(parent);
            }
            return base.map_or(Resolution::External, |base| self.descend(base, &dotted, name));
        }
        // Whatever the folder, nothing is found below it then. The first part of a name of a module is one as well.
        if dotted.first().is_none_or(|first| !self.parts.contains(*first)) {
            return Resolution::External;
        }
        // The folder of a package is never searched: in `pkg/sub/mod.py`, `import jax` is not `pkg/jax.py`.
        let searched = std::iter::successors(Some(importer.root.as_str()), |at| parent(at))
            .filter(|at| !self.packages.contains(*at))
            .skip(usize::from(!importer.is_script && importer.root == importer.folder));
        for folder in searched {
            for base in [folder, &join(folder, "src")] {
                let found = self.descend(base, &dotted, name);
                if found != Resolution::External {
                    return found;
                }
            }
        }
        let found = self.elsewhere(importer, &dotted, name);
        if found == Resolution::External && importer.root == importer.folder {
            // Test runners add a plain folder to the search path even if it is within a package.
            return self.descend(&importer.folder, &dotted, name);
        }
        found
    }

    /// Resolves an absolute import that [`ModuleGraph::resolve`] does not find, on the assumption that the file belongs to a script within a
    /// package. Python searches the script's folder first, which is the importer's folder or one above it. The caller must rule out names
    /// of libraries.
    pub fn resolve_from_script(&self, from: FileId, module: &str, name: Option<&str>) -> Resolution {
        let Some(importer) = self.files.get(from.0 as usize) else { return Resolution::External };
        let dotted: SmallVec<[&str; 8]> = module.split('.').filter(|part| !part.is_empty()).collect();
        if dotted.first().is_some_and(|first| !self.parts.contains(*first)) {
            return Resolution::External;
        }
        let folders = std::iter::successors(Some(importer.folder.as_str()), |at| parent(at))
            .take_while(|folder| self.packages.contains(*folder));
        let mut found = folders.map(|folder| self.descend(folder, &dotted, name));
        found.find(|found| *found != Resolution::External).unwrap_or(Resolution::External)
    }

    /// Looks up `dotted` below a folder that Python would search.
    fn descend(&self, base: &str, dotted: &[&str], name: Option<&str>) -> Resolution {
        if dotted.first().is_some_and(|first| !self.prefixes.contains(&join(base, first))) {
            return Resolution::External;
        }
        let mut path = base.to_owned();
        // The base of `from . import name` is the package itself; for all other imports the base is not a module.
        let mut last = if dotted.is_empty() { self.by_path.get(base).copied().map(|file| (file, 0)) } else { None };
        for (index, part) in dotted.iter().enumerate() {
            path = join(&path, part);
            if let Some(file) = self.by_path.get(&path) {
                last = Some((*file, index + 1));
            }
        }
        let submodule = name.and_then(|name| self.by_path.get(&join(&path, name)).copied());
        let Some((file, depth)) = last else {
            // A folder without `__init__` is a namespace package: it binds only its modules.
            return submodule.map_or(Resolution::External, |file| Resolution::Module {
                file,
                rest: Vec::new(),
                submodule: None,
            });
        };
        if depth < dotted.len()
            && let Some(file) = submodule
        {
            return Resolution::Module { file, rest: Vec::new(), submodule: None };
        }
        let rest = dotted[depth..].iter().copied().chain(name).map(str::to_owned).collect();
        Resolution::Module { file, rest, submodule }
    }

    /// Looks up a package of the project whose root does not enclose the importer, such as the package under test.
    fn elsewhere(&self, importer: &Module, dotted: &[&str], name: Option<&str>) -> Resolution {
        if dotted.first().is_none_or(|first| !self.top_names.contains(*first)) {
            return Resolution::External;
        }
        for length in (1..=dotted.len()).rev() {
            let Some(files) = self.by_name.get(&dotted[..length].join(".")) else { continue };
            if let Some(found) = self.best(files, &importer.folder)
                && let Some(module) = self.files.get(found.0 as usize)
            {
                let base = std::iter::successors(Some(module.path.as_str()), |at| parent(at)).nth(length);
                return base.map_or(Resolution::External, |base| self.descend(base, dotted, name));
            }
        }
        Resolution::External
    }

    /// Among files with one name, the nearest to `folder`; then modules before stubs; then the first by path.
    fn best(&self, files: &[FileId], folder: &str) -> Option<FileId> {
        files.iter().copied().max_by_key(|id| {
            let module = &self.files[id.0 as usize];
            let shared = module.folder.split('/').zip(folder.split('/')).take_while(|(a, b)| a == b).count();
            (shared, !module.is_stub, std::cmp::Reverse((&module.path, id.0)))
        })
    }
}

/// Folder, stem, and suffix.
fn parts(path: &str) -> (String, String, Suffix) {
    let mut components: Vec<&str> = Vec::new();
    for part in path.split(std::path::is_separator) {
        match part {
            "" | "." => {}
            ".." if components.last().is_some_and(|last| *last != "..") => {
                components.pop();
            }
            _ => components.push(part),
        }
    }
    let name = components.pop().unwrap_or_default();
    let (stem, suffix) = name.rsplit_once('.').unwrap_or((name, ""));
    let suffix = match suffix {
        "pyi" => Suffix::Stub,
        "ipynb" => Suffix::Notebook,
        _ => Suffix::Module,
    };
    let lead = if path.starts_with(std::path::is_separator) { "/" } else { "" };
    (format!("{lead}{}", components.join("/")), stem.to_owned(), suffix)
}

fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        "/" => format!("/{name}"),
        _ => format!("{folder}/{name}"),
    }
}

/// The parent folder. The empty path is the folder to which the given paths are relative; it has no parent.
fn parent(folder: &str) -> Option<&str> {
    match folder {
        "" | "/" => None,
        _ if folder == ".." || folder.ends_with("/..") => None,
        _ => Some(match folder.rsplit_once('/') {
            None => "",
            Some(("", _)) => "/",
            Some((above, _)) => above,
        }),
    }
}
