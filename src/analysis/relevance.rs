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
    /// Global names that it loads.
    names: FxHashSet<Name>,
    /// Attributes that it asks for.
    attributes: FxHashSet<Name>,
    /// Attributes that it asks an imported name for.
    members: FxHashSet<Name>,
    /// Absolute imports in it.
    imports: Vec<Name>,
    /// Whether it names a source or sink of keys, or something that a rule about names is after.
    speaks: bool,
}

/// What mentions are read against.
struct Context<'a> {
    models: &'a Models,
    roots: &'a [String],
    vocabulary: &'a Vocabulary,
}

/// Names of the library that the rules about names are after.
const NAMES_OF_RULES: &[&str] = &[
    "KeyArray",
    "PRNGKey",
    "PRNGKeyArray",
    "default_prng_impl",
    "prng",
    "rbg_key",
    "shuffle",
    "threefry2x32_key",
    "threefry2x32_p",
    "threefry_2x32",
    "unsafe_rbg_key",
];

/// The private module behind `jax.random`.
const PRIVATE_RANDOM: &str = "jax._src.random";

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
        let cx = Context { models, roots, vocabulary: &vocabulary };
        let mut mentions: Vec<Vec<Mentions>> = Vec::with_capacity(modules.len());
        let mut relevant: Vec<Vec<bool>> = Vec::with_capacity(modules.len());
        // Modules of the program that each module imports from.
        let mut imported: Vec<Vec<ModuleIndex>> = Vec::with_capacity(modules.len());
        for module in modules {
            let aliases = aliases_of(module, &cx);
            let own: Vec<Mentions> = module.functions.iter().map(|f| mentions_of(f, &aliases, &cx)).collect();
            relevant.push(own.iter().map(|m| m.speaks).collect());
            let mut links: Vec<ModuleIndex> = Vec::new();
            for function in &module.functions {
                for op in &function.ops {
                    let targets: [Option<(u32, String)>; 2] = match &op.kind {
                        OpKind::Import { path, .. } => [Some((0, path.to_string())), None],
                        OpKind::ImportFrom { level, module, name } => {
                            let inner = if module.is_empty() { name.to_string() } else { format!("{module}.{name}") };
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
    let mut roots: Vec<Name> = functions
        .iter()
        .flat_map(|m| &m.imports)
        .map(|path| path.split('.').next().unwrap_or_default().into())
        .collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}

/// Spreads relevance from functions to those that call them by name, to a fixed point.
fn close(modules: &[&Module], mentions: &[Vec<Mentions>], imported: &[Vec<ModuleIndex>], relevant: &mut [Vec<bool>]) {
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
                let own = &mentions[index][number];
                let here = own.names.iter().chain(&own.attributes).any(|name| names[index].contains(name));
                let there = || {
                    imported[index]
                        .iter()
                        .any(|other| own.names.iter().chain(&own.members).any(|name| names[*other].contains(name)))
                };
                // What a class stores is judged with what its methods consume.
                let constructor = matches!(&*function.name, "__init__" | "__post_init__")
                    && function.class.is_some_and(|class| names[index].contains(&module.class(class).name));
                if nested && number != 0 || constructor || here || there() {
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

/// Library paths that the names of a module stand for: by import, and by assignment of a name imported so.
fn aliases_of(module: &Module, cx: &Context<'_>) -> FxHashMap<Name, String> {
    let mut aliases: FxHashMap<Name, String> = FxHashMap::default();
    for function in &module.functions {
        for op in &function.ops {
            let OpKind::Store(variable, value) = &op.kind else { continue };
            let name = match variable {
                Variable::Global(name) => name.clone(),
                Variable::Local(slot) => match function.slots.get(*slot as usize) {
                    Some(name) => name.clone(),
                    None => continue,
                },
                Variable::Outer(..) => continue,
            };
            let path = match &function.ops[*value as usize].kind {
                OpKind::Import { path, whole: true } => Some(path.to_string()),
                OpKind::Import { path, whole: false } => path.split('.').next().map(str::to_owned),
                OpKind::ImportFrom { level: 0, module, name } => Some(format!("{module}.{name}")),
                OpKind::Attribute(..) => chain_of(function, *value, &aliases).map(|(path, _)| path),
                _ => None,
            };
            if let Some(path) = path {
                aliases.insert(name, cx.models.rooted(&path, cx.roots).into_owned());
            }
        }
    }
    aliases
}

/// The path that an attribute chain stands for, and the name that it begins with.
fn chain_of(
    function: &crate::ir::Function,
    temp: crate::ir::Temp,
    aliases: &FxHashMap<Name, String>,
) -> Option<(String, Name)> {
    let mut names: Vec<&Name> = Vec::new();
    let mut current = temp;
    loop {
        match &function.ops.get(current as usize)?.kind {
            OpKind::Attribute(object, name) => {
                names.push(name);
                current = *object;
            }
            OpKind::Load(variable) => {
                let root = match variable {
                    Variable::Global(name) => name,
                    Variable::Local(slot) => function.slots.get(*slot as usize)?,
                    Variable::Outer(..) => return None,
                };
                let mut path = aliases.get(root)?.clone();
                for name in names.into_iter().rev() {
                    path.push('.');
                    path.push_str(name);
                }
                return Some((path, root.clone()));
            }
            _ => return None,
        }
    }
}

fn mentions_of(function: &crate::ir::Function, aliases: &FxHashMap<Name, String>, cx: &Context<'_>) -> Mentions {
    let mut mentions = Mentions::default();
    for (temp, op) in (0u32..).zip(&function.ops) {
        match &op.kind {
            OpKind::Load(Variable::Global(name)) => {
                if let Some(path) = aliases.get(name) {
                    mentions.speaks |= cx.vocabulary.speaks_of(path, cx);
                }
                mentions.names.insert(name.clone());
            }
            OpKind::Load(Variable::Local(slot)) => {
                // A name that an import within the function binds.
                if let Some(path) = function.slots.get(*slot as usize).and_then(|name| aliases.get(name)) {
                    mentions.speaks |= cx.vocabulary.speaks_of(path, cx);
                }
            }
            OpKind::Attribute(_, name) => {
                mentions.attributes.insert(name.clone());
                if let Some((path, _)) = chain_of(function, temp, aliases) {
                    mentions.members.insert(name.clone());
                    mentions.speaks |= cx.vocabulary.speaks_of(&path, cx);
                }
            }
            OpKind::Call(callee, arguments) => {
                if let Some((path, _)) = chain_of(function, *callee, aliases)
                    && let Some(callable) = cx.models.callable(&path)
                    && let Effect::Consume { keys } = &callable.effect
                {
                    mentions.speaks |= arguments.iter().any(
                        |argument| matches!(argument, Argument::Keyword(name, _) if keys.iter().any(|key| **key == **name)),
                    );
                }
                let Some(OpKind::Attribute(_, method)) = function.ops.get(*callee as usize).map(|op| &op.kind) else {
                    continue;
                };
                if !mentions.speaks {
                    mentions.speaks = may_follow_protocol(method, arguments, aliases, cx);
                }
            }
            OpKind::Import { path, .. } => {
                let path: Name = cx.models.rooted(path, cx.roots).into();
                mentions.speaks |= cx.vocabulary.speaks_of(&path, cx);
                mentions.imports.push(path);
            }
            OpKind::ImportFrom { module, name, level: 0 } => {
                let path: Name = format!("{}.{name}", cx.models.rooted(module, cx.roots)).into();
                mentions.speaks |= cx.vocabulary.speaks_of(&path, cx);
                mentions.imports.push(path);
            }
            OpKind::Annotate(_, annotation) => mentions.speaks |= names_a_key(annotation, aliases, cx),
            _ => {}
        }
    }
    // Private parts of a key's dtype, which may come by way of a variable or a caller.
    mentions.speaks |= ["_impl", "_rules"].iter().any(|name| mentions.attributes.contains(*name));
    mentions.speaks |= function
        .parameters
        .iter()
        .filter_map(|parameter| parameter.annotation.as_ref())
        .chain(function.returns.as_ref())
        .any(|annotation| names_a_key(annotation, aliases, cx));
    mentions
}

/// Whether a method call may be one that a protocol of a library in use takes to handle keys.
fn may_follow_protocol(
    method: &str,
    arguments: &[Argument],
    aliases: &FxHashMap<Name, String>,
    cx: &Context<'_>,
) -> bool {
    let positional = arguments.iter().filter(|argument| matches!(argument, Argument::Positional(_))).count();
    cx.models.protocols(method).iter().any(|protocol| {
        let named = arguments
            .iter()
            .any(|argument| matches!(argument, Argument::Keyword(name, _) if protocol.key.names.iter().any(|k| **k == **name)));
        let placed = protocol.key.position.is_some_and(|position| position < positional)
            && positional >= protocol.min_positional
            && protocol.max_positional.is_none_or(|most| positional <= most);
        (named || placed)
            && aliases
                .values()
                .any(|path| protocol.libraries.iter().any(|library| path.split('.').next() == Some(library.as_str())))
    })
}

/// Whether an annotation may name a key.
fn names_a_key(annotation: &Annotation, aliases: &FxHashMap<Name, String>, cx: &Context<'_>) -> bool {
    match annotation {
        Annotation::Path(path, _) => {
            let known = path.first().and_then(|first| aliases.get(first)).is_some_and(|root| {
                let full = path[1..].iter().fold(root.clone(), |full, name| format!("{full}.{name}"));
                cx.models.annotation(&full).is_some()
            });
            known || path.last().is_some_and(|name| name.contains("PRNGKey") || name.contains("KeyArray"))
        }
        Annotation::Subscript(base, arguments) => {
            names_a_key(base, aliases, cx) || arguments.iter().any(|argument| names_a_key(argument, aliases, cx))
        }
        Annotation::Union(parts) => parts.iter().any(|part| names_a_key(part, aliases, cx)),
        Annotation::Text(_) | Annotation::None | Annotation::Other => false,
    }
}

/// The names that matter, from the models.
struct Vocabulary {
    /// Packages whose members make, take or hand out keys.
    packages: FxHashSet<String>,
}

impl Vocabulary {
    fn of(models: &Models) -> Self {
        let mut packages: FxHashSet<String> = FxHashSet::default();
        for callable in models.callables() {
            if touches_keys(&callable.effect)
                && let Some((package, _)) = callable.path.rsplit_once('.')
                && package.contains("random")
            {
                packages.insert(package.to_owned());
            }
        }
        Self { packages }
    }

    /// Whether a path makes, takes or hands out keys, or is one that a rule about names is after.
    fn speaks_of(&self, path: &str, cx: &Context<'_>) -> bool {
        if !cx.models.mentions(path, cx.roots) {
            return false;
        }
        let is_private = path.strip_prefix(PRIVATE_RANDOM).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        if self.packages.contains(path) || is_private {
            return true;
        }
        if path.starts_with("jax.") && path.split('.').any(|segment| NAMES_OF_RULES.contains(&segment)) {
            return true;
        }
        match cx.models.class(path).map(|class| &class.construct) {
            Some(Construct::Stream { .. }) => return true,
            Some(Construct::Plain { consumes }) => return !consumes.is_empty(),
            Some(Construct::Record { .. }) => return false,
            None => {}
        }
        // What a whole namespace does by default counts only where a call hands it a key by keyword.
        cx.models.callable(path).is_some_and(|callable| callable.exact && touches_keys(&callable.effect))
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
