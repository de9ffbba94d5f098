//! Which functions can have anything to do with keys, by the names that they mention.
//!
//! Most functions of a program never touch a key. Reading the names that each mentions (what it loads, the attributes it asks for, the
//! keywords it passes) against the names of the models, and closing over the calls of functions so found, leaves the few
//! that are worth interpreting.
//!
//! **Invariant:** names over-approximate: a function that is left out reaches no modelled source, sink or removed name, by itself or
//! through a function of the program that it calls by name.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{Annotation, Argument, FunctionId, Module, Name, OpKind, Variable};
use crate::models::{Construct, Effect, Models};

use super::domain::value::ModuleIndex;
use super::program::Resolver;

/// The functions worth interpreting, by module.
#[derive(Debug, Default)]
pub struct Relevance {
    functions: Vec<Vec<bool>>,
    /// Roots of the libraries that each module, or a module of the program that it imports, imports; sorted.
    roots: Vec<Vec<Name>>,
}

/// What one function mentions.
#[derive(Default)]
struct Mentions {
    names: FxHashSet<Name>,
    keywords: FxHashSet<Name>,
    imports: Vec<Name>,
    annotated: bool,
}

/// Names whose mention matters to the rules about names, under any import of the library.
const NAMES_OF_RULES: &[&str] = &[
    "KeyArray",
    "PRNGKey",
    "PRNGKeyArray",
    "_impl",
    "_rules",
    "_src",
    "default_prng_impl",
    "prng",
    "rbg_key",
    "shuffle",
    "threefry2x32_key",
    "threefry2x32_p",
    "threefry_2x32",
    "unsafe_rbg_key",
];

impl Relevance {
    /// Whether a function is worth interpreting.
    pub fn of(&self, module: ModuleIndex, function: FunctionId) -> bool {
        self.functions.get(module).and_then(|functions| functions.get(function.0 as usize)).copied().unwrap_or(true)
    }

    /// Whether a module, or one of the program that it imports, imports this library.
    pub fn imports(&self, module: ModuleIndex, library: &str) -> bool {
        self.roots.get(module).is_some_and(|roots| roots.binary_search_by(|root| (**root).cmp(library)).is_ok())
    }

    /// Whether anything in a module is.
    pub fn any(&self, module: ModuleIndex) -> bool {
        self.functions.get(module).is_none_or(|functions| functions.iter().any(|relevant| *relevant))
    }

    /// Computes the relevant functions of a program.
    pub fn compute(
        modules: &[&Module],
        by_file: &FxHashMap<crate::text::FileId, ModuleIndex>,
        resolver: &dyn Resolver,
        models: &Models,
        roots: &[String],
    ) -> Self {
        let vocabulary = Vocabulary::of(models);
        let mut mentions: Vec<Vec<Mentions>> = Vec::with_capacity(modules.len());
        let mut relevant: Vec<Vec<bool>> = Vec::with_capacity(modules.len());
        // Modules of the program that each module imports from.
        let mut imported: Vec<Vec<ModuleIndex>> = Vec::with_capacity(modules.len());
        for module in modules {
            let own: Vec<Mentions> = module.functions.iter().map(|f| mentions_of(f, models, roots)).collect();
            let mut paths: Vec<&str> = own.iter().flat_map(|m| &m.imports).map(|path| &**path).collect();
            paths.sort_unstable();
            paths.dedup();
            let known: Vec<&str> = paths.iter().copied().filter(|path| models.mentions(path, roots)).collect();
            let flags =
                own.iter().map(|m| m.annotated && !known.is_empty() || vocabulary.speaks(m, &known)).collect();
            relevant.push(flags);
            let mut links: Vec<ModuleIndex> = Vec::new();
            for function in &module.functions {
                for op in &function.ops {
                    let targets: [Option<(u32, String)>; 2] = match &op.kind {
                        OpKind::Import { path, .. } => [Some((0, path.to_string())), None],
                        OpKind::ImportFrom { level, module, name } => {
                            let inner =
                                if module.is_empty() { name.to_string() } else { format!("{module}.{name}") };
                            [Some((*level, module.to_string())), Some((*level, inner))]
                        }
                        _ => continue,
                    };
                    for (level, path) in targets.into_iter().flatten() {
                        let file = resolver.module(module.file, level, &path);
                        links.extend(file.and_then(|file| by_file.get(&file)).copied());
                    }
                }
            }
            links.sort_unstable();
            links.dedup();
            imported.push(links);
            mentions.push(own);
        }
        close(modules, &mentions, &imported, &mut relevant);
        let own: Vec<Vec<Name>> = mentions.iter().map(|functions| roots_of(functions)).collect();
        let roots = (0..modules.len())
            .map(|index| {
                let mut all = own[index].clone();
                all.extend(imported[index].iter().flat_map(|other| own[*other].iter().cloned()));
                all.sort_unstable();
                all.dedup();
                all
            })
            .collect();
        Self { functions: relevant, roots }
    }
}

/// Roots of the absolute imports of a module.
fn roots_of(functions: &[Mentions]) -> Vec<Name> {
    let mut roots: Vec<Name> =
        functions.iter().flat_map(|m| &m.imports).map(|path| path.split('.').next().unwrap_or_default().into()).collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}

/// Spreads relevance from functions to those that call them by name, to a fixed point.
fn close(
    modules: &[&Module],
    mentions: &[Vec<Mentions>],
    imported: &[Vec<ModuleIndex>],
    relevant: &mut [Vec<bool>],
) {
    let mut names: Vec<FxHashSet<Name>> = vec![FxHashSet::default(); modules.len()];
    let publish = |names: &mut Vec<FxHashSet<Name>>, index: usize, function: &crate::ir::Function| {
        names[index].insert(function.name.clone());
        // Constructing a class runs its methods; calling an instance runs `__call__`.
        if let Some(class) = function.class {
            names[index].insert(modules[index].class(class).name.clone());
        }
    };
    for (index, module) in modules.iter().enumerate() {
        for (function, flag) in module.functions.iter().zip(&relevant[index]) {
            if *flag {
                publish(&mut names, index, function);
            }
        }
    }
    // Each round makes at least one more function relevant.
    let total: usize = relevant.iter().map(Vec::len).sum();
    for _ in 0..=total {
        let mut changed = false;
        for (index, module) in modules.iter().enumerate() {
            for (number, function) in module.functions.iter().enumerate() {
                if relevant[index][number] {
                    continue;
                }
                let nested = module
                    .functions
                    .iter()
                    .zip(&relevant[index])
                    .any(|(inner, flag)| *flag && inner.parent.is_some_and(|parent| parent.0 as usize == number));
                let own = &mentions[index][number].names;
                let calls = |other: usize| own.iter().any(|name| names[other].contains(name));
                if nested && number != 0 || calls(index) || imported[index].iter().any(|other| calls(*other)) {
                    relevant[index][number] = true;
                    publish(&mut names, index, function);
                    changed = true;
                }
            }
        }
        if !changed {
            return;
        }
    }
}

fn mentions_of(function: &crate::ir::Function, models: &Models, roots: &[String]) -> Mentions {
    let mut mentions = Mentions::default();
    for op in &function.ops {
        match &op.kind {
            OpKind::Load(Variable::Global(name)) | OpKind::Attribute(_, name) | OpKind::StoreAttribute(_, name, _) => {
                mentions.names.insert(name.clone());
            }
            // A name bound in an enclosing function, or by an import within this one.
            OpKind::Load(Variable::Local(slot)) => {
                if let Some(name) = function.slots.get(*slot as usize) {
                    mentions.names.insert(name.clone());
                }
            }
            OpKind::Call(_, arguments) => {
                for argument in arguments {
                    if let Argument::Keyword(name, _) = argument {
                        mentions.keywords.insert(name.clone());
                    }
                }
            }
            OpKind::Import { path, .. } => mentions.imports.push(models.rooted(path, roots).into()),
            OpKind::ImportFrom { module, name, level: 0 } => {
                mentions.imports.push(format!("{}.{name}", models.rooted(module, roots)).into());
            }
            OpKind::Annotate(_, annotation) => mentions.annotated |= names_something(annotation),
            _ => {}
        }
    }
    mentions.annotated |= function
        .parameters
        .iter()
        .filter_map(|parameter| parameter.annotation.as_ref())
        .chain(function.returns.as_ref())
        .any(names_something);
    mentions
}

/// Whether an annotation may name a key.
fn names_something(annotation: &Annotation) -> bool {
    match annotation {
        Annotation::Path(path, _) => {
            path.last().is_some_and(|name| name.contains("Key") || name.contains("PRNG") || name.contains("Rng"))
        }
        Annotation::Subscript(base, arguments) => names_something(base) || arguments.iter().any(names_something),
        Annotation::Union(parts) => parts.iter().any(names_something),
        Annotation::Text(_) | Annotation::None | Annotation::Other => false,
    }
}

/// The names that matter, from the models.
struct Vocabulary {
    /// Canonical paths of functions and classes that make, take or hand out keys, by last segment.
    by_last: FxHashMap<String, Vec<Vec<String>>>,
    /// Keywords by which protocols take keys.
    keywords: FxHashSet<String>,
}

impl Vocabulary {
    fn of(models: &Models) -> Self {
        let mut by_last: FxHashMap<String, Vec<Vec<String>>> = FxHashMap::default();
        let mut add = |path: &str| {
            let segments: Vec<String> = path.split('.').map(str::to_owned).collect();
            if let Some(last) = segments.last() {
                by_last.entry(last.clone()).or_default().push(segments);
            }
        };
        for callable in models.callables() {
            if touches_keys(&callable.effect) {
                add(&callable.path);
            }
        }
        for class in models.classes() {
            let keyed = match &class.construct {
                Construct::Stream { .. } => true,
                Construct::Plain { consumes } => !consumes.is_empty(),
                Construct::Record { .. } => false,
            };
            if keyed {
                add(&class.path);
            }
        }
        for (from, to) in models.aliases() {
            if models.callable(to).is_some_and(|callable| callable.exact && touches_keys(&callable.effect)) {
                add(from);
            }
        }
        let keywords = models.all_protocols().into_iter().flat_map(|protocol| protocol.key.names.clone()).collect();
        Self { by_last, keywords }
    }

    /// Whether a function that mentions these names, in a module with these imports, speaks of keys.
    fn speaks(&self, mentions: &Mentions, imports: &[&str]) -> bool {
        if imports.is_empty() {
            return false;
        }
        if NAMES_OF_RULES.iter().any(|name| mentions.names.contains(*name))
            || mentions.imports.iter().any(|path| NAMES_OF_RULES.iter().any(|name| path.split('.').any(|s| s == *name)))
            || mentions.keywords.iter().any(|keyword| self.keywords.contains(&**keyword))
        {
            return true;
        }
        // Functions imported by name (whatever they are called here), and those reached through a module.
        let last = |path: &&str| path.rsplit('.').next().is_some_and(|last| self.by_last.contains_key(last));
        imports.iter().any(|path| last(path) && self.is_path(path) && !mentions.names.is_empty())
            || mentions.names.iter().any(|name| {
                self.by_last.get(&**name).is_some_and(|paths| {
                    paths.iter().any(|segments| {
                        imports.iter().any(|import| segments.first().is_some_and(|root| import.split('.').next() == Some(root)))
                    })
                })
            })
    }

    fn is_path(&self, path: &str) -> bool {
        let segments: Vec<&str> = path.split('.').collect();
        segments.last().and_then(|last| self.by_last.get(*last)).is_some_and(|paths| {
            paths.iter().any(|known| known.iter().map(String::as_str).eq(segments.iter().copied()))
        })
    }
}

fn touches_keys(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Seed { .. }
            | Effect::Split { .. }
            | Effect::Fold { .. }
            | Effect::Clone { .. }
            | Effect::KeyData { .. }
            | Effect::Wrap { .. }
            | Effect::Sample { .. }
            | Effect::Consume { .. }
            | Effect::Supply { .. }
            | Effect::Factory { .. }
    )
}
