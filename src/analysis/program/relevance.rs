//! Which functions may involve keys, by the names that they mention.
//!
//! Most functions of a program never touch a key. The names that each function mentions (loads, attributes, keywords) are compared with the
//! names of the models, and calls are followed backwards from the matches; only the functions so reached are interpreted. A global name has
//! edges to its definition or through its import; an attribute has edges to the methods of that name in the module and in those that it
//! imports from; both have edges to the functions in the values stored under that name, or put into a container of that name. Imports that
//! the models claim have no edges, as in the interpreter.
//!
//! **Invariant:** names over-approximate: a function that is excluded reaches no modelled source or sink, by itself or through a function
//! of the program that it calls by name, and mentions no name that a rule reports.

mod calls;
mod graph;
mod implementations;
mod registries;

use rustc_hash::{FxHashMap, FxHashSet};

use self::graph::{Graph, names_a_key};
use self::implementations::{BaseName, Implementation, ancestors, bases, implementations};
use super::vocabulary::{Mentions, PathId, Vocabulary};
use crate::analysis::domain::value::ModuleIndex;
use crate::ir::{
    Annotation, Argument, Collection, Element, Function, FunctionId, FunctionKind, Module, Name, OpKind, Resolver,
    Temp, Variable,
};
use crate::models::{Host, Models, ROOT};
use crate::text::FileId;

/// Most re-exports that are followed to the definition of a class.
const REEXPORTS: u32 = 4;

/// Most modules that are searched for an import of a library.
const MODULES_SEARCHED: usize = 64;

/// Deepest nesting of displays and wrappers that are searched for functions.
const NESTED_DISPLAYS: u32 = 4;

/// The relevant functions, by module.
#[derive(Debug, Default, PartialEq)]
pub struct Relevance {
    /// What each function mentions, itself or through its callees.
    mentions: Vec<Vec<Mentions>>,
    /// Which functions are run on their own.
    entries: Vec<Vec<bool>>,
    /// Roots of the libraries that each module, or a module of the program that it imports, imports; sorted.
    roots: Vec<Vec<Name>>,
    /// The modules of the program that each module imports.
    imported: Vec<Vec<ModuleIndex>>,
    /// Pairs of a module and another one, with a class that implements a method of a class of the first and touches keys in it; sorted.
    implementers: Vec<(ModuleIndex, ModuleIndex)>,
    /// Whether any of them imports a library that has generators of Python's own.
    has_host_draws: bool,
    /// Whether any class of the program defines `__jax_array__`.
    has_array_wrappers: bool,
}

impl Relevance {
    /// Whether any module imports a library that has generators of Python's own.
    pub fn has_host_draws(&self) -> bool {
        self.has_host_draws
    }

    /// Whether any class of the program defines `__jax_array__`.
    pub fn has_array_wrappers(&self) -> bool {
        self.has_array_wrappers
    }

    /// Whether another module of the program imports this one.
    pub fn is_imported(&self, module: ModuleIndex) -> bool {
        self.imported.iter().enumerate().any(|(other, imported)| other != module && imported.contains(&module))
    }

    /// The modules of the program from which a module gets names.
    pub fn imported_by(&self, module: ModuleIndex) -> &[ModuleIndex] {
        self.imported.get(module).map_or(&[], Vec::as_slice)
    }

    /// Pairs of a module and another one with a class that inherits from one of the first, and touches keys in a method that has no body
    /// there.
    pub fn implementers(&self) -> &[(ModuleIndex, ModuleIndex)] {
        &self.implementers
    }

    /// Whether calls of a function are interpreted.
    pub fn of(&self, module: ModuleIndex, function: FunctionId) -> bool {
        self.mentions_of(module, function) == Mentions::Keys
    }

    /// Whether a function is interpreted on its own.
    pub fn is_entry(&self, module: ModuleIndex, function: FunctionId) -> bool {
        let known = self.entries.get(module).and_then(|functions| functions.get(function.0 as usize));
        known.copied().unwrap_or(true)
    }

    /// Whether a function mentions keys, or names that rules report.
    pub fn mentions_keys(&self, module: ModuleIndex, function: FunctionId) -> bool {
        self.mentions_of(module, function) > Mentions::Host
    }

    fn mentions_of(&self, module: ModuleIndex, function: FunctionId) -> Mentions {
        let known = self.mentions.get(module).and_then(|functions| functions.get(function.0 as usize));
        known.copied().unwrap_or(Mentions::Keys)
    }

    /// Whether a module, or one of the program that it imports, imports this library.
    pub fn imports(&self, module: ModuleIndex, library: &str) -> bool {
        self.roots.get(module).is_some_and(|roots| roots.binary_search_by(|root| (**root).cmp(library)).is_ok())
    }

    /// Whether a module, or one of the program that it imports directly or indirectly, imports this library.
    pub fn reaches(&self, module: ModuleIndex, library: &str) -> bool {
        let mut known = vec![module];
        let mut at = 0;
        while let Some(module) = known.get(at).copied() {
            if self.imports(module, library) {
                return true;
            }
            at += 1;
            let others = self.imported.get(module).map_or(&[][..], Vec::as_slice);
            let fresh: Vec<ModuleIndex> = others.iter().filter(|other| !known.contains(other)).copied().collect();
            known.extend(fresh.into_iter().take(MODULES_SEARCHED.saturating_sub(known.len())));
        }
        false
    }

    /// Whether a module is run: it has relevant functions, or it may trace functions of an imported module that draw.
    pub fn any(&self, module: ModuleIndex) -> bool {
        let speaks = |module: &ModuleIndex| {
            self.mentions
                .get(*module)
                .is_none_or(|functions| functions.iter().any(|mentions| *mentions != Mentions::Nothing))
        };
        let imports_keys = || self.imported.get(module).is_some_and(|others| others.iter().any(speaks));
        speaks(&module) || self.has_host_draws && self.imports(module, ROOT) && imports_keys()
    }

    /// Computes the relevant functions of a program.
    pub fn compute(
        modules: &[&Module],
        by_file: &FxHashMap<FileId, ModuleIndex>,
        resolver: &dyn Resolver,
        models: &Models,
        roots: &[String],
    ) -> Self {
        let project = Project { modules, by_file, resolver, models, roots };
        let mut vocabulary = Vocabulary::new(models, roots);
        let mut tables: Vec<SymbolTable> =
            (0..modules.len()).map(|index| SymbolTable::of(&project, index, &mut vocabulary)).collect();
        propagate_aliases(&mut tables);
        for table in &mut tables {
            table.collect_libraries(&vocabulary);
        }
        let defining: Vec<Vec<ModuleIndex>> =
            (0..tables.len()).map(|index| defining_modules(&project, &tables, index)).collect();
        for (table, defining) in tables.iter_mut().zip(defining) {
            table.imported = defining;
        }
        let mut graph = Graph::new(&project, &tables);
        let call: Name = "__call__".into();
        for (index, table) in tables.iter().enumerate() {
            let (vocabulary, graph) = (&mut vocabulary, &mut graph);
            Reader { project: &project, index, table, vocabulary, graph, call: &call }.read_module();
        }
        let mut methods: Vec<Implementation> =
            (0..tables.len()).flat_map(|index| implementations(&project, &tables, index)).collect();
        let (mentions, mut entries) = graph.propagate(modules, &models.words);
        methods.retain(|method| mentions[method.module][method.function] == Mentions::Keys);
        for Implementation { module, function, base } in &methods {
            let name = &modules[*module].functions[*function].name;
            for (is_entry, function) in entries[*base].iter_mut().zip(&modules[*base].functions) {
                *is_entry |= implementations::calls_of_self(function, name) && names_a_key(function, &models.words);
            }
        }
        let mut implementers: Vec<_> = methods.iter().map(|method| (method.base, method.module)).collect();
        implementers.sort_unstable();
        implementers.dedup();
        // A unique number becomes random as a seed.
        let draws = |host: Host| host.draws() || host == Host::Unique;
        let hosts = models.callables().into_iter().filter(|callable| callable.host.is_some_and(draws));
        let hosts: FxHashSet<&str> =
            hosts.map(|callable| callable.path.split('.').next().unwrap_or_default()).collect();
        let has_host_draws = tables.iter().flat_map(|table| &table.roots).any(|root| hosts.contains(&**root));
        let converting = models.converting();
        let converts = |function: &Function| {
            // `Column.__jax_array__ = to_jax`, `nnx.Variable`
            let is_set = |kind: &OpKind| match kind {
                OpKind::StoreAttribute(_, name, _) => models.is_array_protocol(name, roots),
                OpKind::Attribute(_, name) | OpKind::ImportFrom { name, .. } => converting.contains(&**name),
                _ => false,
            };
            function.class.is_some() && models.is_array_protocol(&function.name, roots)
                || function.ops.iter().any(|op| is_set(&op.kind))
        };
        let has_array_wrappers = modules.iter().any(|module| module.functions.iter().any(converts));
        let roots = tables
            .iter()
            .map(|table| {
                let others = table.imported.iter().flat_map(|other| &tables[*other].roots);
                let mut all: Vec<Name> = table.roots.iter().chain(others).cloned().collect();
                all.sort_unstable();
                all.dedup();
                all
            })
            .collect();
        let imported = tables.into_iter().map(|table| table.imported).collect();
        Self { mentions, entries, roots, imported, implementers, has_host_draws, has_array_wrappers }
    }
}

/// The program, and how its imports resolve.
struct Project<'a> {
    modules: &'a [&'a Module],
    by_file: &'a FxHashMap<FileId, ModuleIndex>,
    resolver: &'a dyn Resolver,
    models: &'a Models,
    roots: &'a [String],
}

/// What an import in the program resolves to.
#[derive(Clone, Debug)]
enum Target {
    Module(ModuleIndex),
    Member(ModuleIndex, Name),
    Everything(ModuleIndex),
}

impl Project<'_> {
    fn find(&self, from: ModuleIndex, level: u32, path: &str) -> Option<ModuleIndex> {
        let file = self.resolver.module(self.modules[from].file, level, path)?;
        self.by_file.get(&file).copied()
    }

    /// What an operation imports from the program; nothing if the path has a model.
    fn targets(&self, from: ModuleIndex, op: &OpKind) -> Vec<Target> {
        match op {
            OpKind::Import { path, whole } => {
                let rooted = self.models.rooted(path, self.roots);
                let bound = if *whole { &*rooted } else { rooted.split('.').next().unwrap_or_default() };
                if self.models.claims(bound, self.roots) {
                    return Vec::new();
                }
                self.find(from, 0, bound).map(Target::Module).into_iter().collect()
            }
            OpKind::ImportFrom { level, module, name } => {
                if &**name == "*" {
                    return self.find(from, *level, module).map(Target::Everything).into_iter().collect();
                }
                let absolute = if *level == 0 {
                    module.to_string()
                } else {
                    self.resolver.absolute(self.modules[from].file, *level, module)
                };
                let rooted = self.models.rooted(&absolute, self.roots);
                if self.models.claims_member(&format!("{rooted}.{name}"), *level > 0, self.roots) {
                    return Vec::new();
                }
                let inner = if module.is_empty() { name.to_string() } else { format!("{module}.{name}") };
                let member = self.find(from, *level, module).map(|found| Target::Member(found, name.clone()));
                member.into_iter().chain(self.find(from, *level, &inner).map(Target::Module)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The symbol table of a module.
#[derive(Default)]
struct SymbolTable {
    /// Library paths, by import, and by assignment of an imported name.
    aliases: FxHashMap<Name, PathId>,
    /// What each import resolves to, by function and operation.
    targets: FxHashMap<(usize, Temp), Vec<Target>>,
    /// What the program's imports bind globally.
    bindings: FxHashMap<Name, Vec<Target>>,
    /// Modules that are imported with `*`.
    stars: Vec<ModuleIndex>,
    /// Functions and classes of the module, by name.
    definitions: FxHashMap<Name, Vec<usize>>,
    /// Methods of its classes, by name.
    methods: FxHashMap<Name, Vec<usize>>,
    /// The names of the bases of its classes, by the function that runs the class's body.
    bases: FxHashMap<usize, Vec<BaseName>>,
    /// Modules of the program that it imports from.
    imported: Vec<ModuleIndex>,
    /// Roots of its absolute imports.
    roots: Vec<Name>,
    /// Roots of all library paths in `aliases`.
    libraries: FxHashSet<String>,
}

impl SymbolTable {
    fn of(project: &Project<'_>, index: ModuleIndex, vocabulary: &mut Vocabulary<'_>) -> Self {
        let module = &project.modules[index].clone();
        let mut table = Self::default();
        for (number, function) in module.functions.iter().enumerate() {
            match function.parent.map(|parent| module.function(parent).kind) {
                Some(FunctionKind::Module) => {
                    table.definitions.entry(function.name.clone()).or_default().push(number);
                }
                Some(FunctionKind::ClassBody) => {
                    table.methods.entry(function.name.clone()).or_default().push(number);
                }
                _ => {}
            }
            for (temp, op) in (0u32..).zip(&function.ops) {
                match &op.kind {
                    OpKind::Import { path, .. } | OpKind::ImportFrom { level: 0, module: path, .. } => {
                        let rooted = project.models.rooted(path, project.roots);
                        table.roots.push(rooted.split('.').next().unwrap_or_default().into());
                        table.add_targets((number, temp), project.targets(index, &op.kind));
                    }
                    OpKind::ImportFrom { .. } => {
                        table.add_targets((number, temp), project.targets(index, &op.kind));
                    }
                    OpKind::Store(variable, value) => table.bind(number, function, variable, *value, vocabulary),
                    OpKind::Class(id, arguments) if number == 0 => {
                        table.bases.insert(module.class(*id).body.0 as usize, bases(function, arguments));
                    }
                    _ => {}
                }
            }
        }
        table.roots.sort_unstable();
        table.roots.dedup();
        table
    }

    fn collect_libraries(&mut self, vocabulary: &Vocabulary<'_>) {
        let roots = self.aliases.values().map(|path| vocabulary.text(*path).split('.').next().unwrap_or_default());
        self.libraries = roots.map(str::to_owned).collect();
    }

    fn add_targets(&mut self, op: (usize, Temp), targets: Vec<Target>) {
        for target in &targets {
            match target {
                Target::Module(module) | Target::Member(module, _) => self.imported.push(*module),
                Target::Everything(module) => {
                    self.imported.push(*module);
                    self.stars.push(*module);
                }
            }
        }
        if !targets.is_empty() {
            self.targets.insert(op, targets);
        }
    }

    fn bind(
        &mut self,
        number: usize,
        function: &Function,
        variable: &Variable,
        value: Temp,
        vocabulary: &mut Vocabulary<'_>,
    ) {
        let Some(name) = name_of(function, variable) else { return };
        let value = written_part(function, value);
        let path = match &function.ops[value as usize].kind {
            OpKind::Attribute(..) => self.chain(function, value, vocabulary),
            other => other.imported().map(|path| vocabulary.path(&path)),
        };
        if let Some(path) = path {
            self.aliases.insert(name.clone(), path);
        }
        if matches!(variable, Variable::Global(_))
            && let Some(targets) = self.targets.get(&(number, value))
        {
            self.bindings.entry(name.clone()).or_default().extend(targets.iter().cloned());
        }
    }

    /// The path that an attribute chain denotes.
    fn chain(&self, function: &Function, temp: Temp, vocabulary: &mut Vocabulary<'_>) -> Option<PathId> {
        match &function.ops.get(temp as usize)?.kind {
            OpKind::Attribute(object, name) => {
                let object = self.chain(function, *object, vocabulary)?;
                Some(vocabulary.member(object, name))
            }
            OpKind::Load(variable) => self.aliases.get(name_of(function, variable)?).copied(),
            _ => None,
        }
    }
}

/// The name of a variable of the module or of the function itself.
fn name_of<'a>(function: &'a Function, variable: &'a Variable) -> Option<&'a Name> {
    match variable {
        Variable::Global(name) => Some(name),
        Variable::Local(slot) => function.slots.get(*slot as usize),
        Variable::Outer(..) => None,
    }
}

/// The element of a tuple that is unpacked as it is written, `normal, uniform = random.normal, random.uniform`; other values are themselves.
fn written_part(function: &Function, value: Temp) -> Temp {
    let op = |temp: Temp| function.ops.get(temp as usize).map(|op| &op.kind);
    let part = match op(value) {
        Some(OpKind::Project(unpacked, index)) => match op(*unpacked) {
            Some(OpKind::Unpack { value, star: None, .. }) => match op(*value) {
                Some(OpKind::Build(Collection::Tuple | Collection::List, elements)) => elements.get(*index as usize),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    match part {
        Some(Element::Value(part)) => *part,
        _ => value,
    }
}

/// Propagates library names to the modules that import them, by name or by `*`.
fn propagate_aliases(tables: &mut [SymbolTable]) {
    for _ in 0..REEXPORTS {
        let mut fresh: Vec<(ModuleIndex, Name, PathId)> = Vec::new();
        for (index, table) in tables.iter().enumerate() {
            for (name, targets) in &table.bindings {
                for target in targets {
                    if let Target::Member(other, inner) = target
                        && let Some(path) = tables[*other].aliases.get(inner)
                        && table.aliases.get(name) != Some(path)
                    {
                        fresh.push((index, name.clone(), *path));
                    }
                }
            }
            for (name, path) in table.stars.iter().flat_map(|other| &tables[*other].aliases) {
                if !table.aliases.contains_key(name) && !table.definitions.contains_key(name) {
                    fresh.push((index, name.clone(), *path));
                }
            }
        }
        if fresh.is_empty() {
            return;
        }
        for (index, name, path) in fresh {
            tables[index].aliases.insert(name, path);
        }
    }
}

/// The modules that a module imports from, and those that define the names that these only re-export, or methods that an imported class
/// inherits; sorted.
fn defining_modules(project: &Project<'_>, tables: &[SymbolTable], index: ModuleIndex) -> Vec<ModuleIndex> {
    let mut defining = tables[index].imported.clone();
    let inherited = |defining: &mut Vec<ModuleIndex>, module: ModuleIndex, bases: &[BaseName]| {
        defining.extend(ancestors(project, tables, module, bases).into_iter().map(|(module, _)| module));
    };
    let mut work: Vec<(&Target, u32)> =
        tables[index].bindings.values().flatten().map(|target| (target, REEXPORTS)).collect();
    while let Some((target, left)) = work.pop() {
        let (module, name) = match target {
            Target::Member(module, name) => (module, name),
            Target::Module(module) => {
                tables[*module].bases.values().for_each(|bases| inherited(&mut defining, *module, bases));
                continue;
            }
            Target::Everything(_) => continue,
        };
        defining.push(*module);
        let classes = tables[*module].definitions.get(name).into_iter().flatten();
        let bases = classes.filter_map(|class| tables[*module].bases.get(class));
        bases.for_each(|bases| inherited(&mut defining, *module, bases));
        if left > 0
            && let Some(targets) = tables[*module].bindings.get(name)
        {
            work.extend(targets.iter().map(|target| (target, left - 1)));
        }
    }
    defining.sort_unstable();
    defining.dedup();
    defining.retain(|home| *home != index);
    defining
}

/// Reads what the functions of one module mention.
struct Reader<'a, 'b, 'm> {
    project: &'a Project<'a>,
    index: ModuleIndex,
    table: &'a SymbolTable,
    vocabulary: &'a mut Vocabulary<'m>,
    graph: &'a mut Graph<'b>,
    /// The name of the method by which an object is called.
    call: &'a Name,
}

impl Reader<'_, '_, '_> {
    fn read_module(&mut self) {
        let module = &self.project.modules[self.index].clone();
        let start = self.graph.starts[self.index];
        let mut mentioned: FxHashSet<usize> = FxHashSet::default();
        for (number, function) in module.functions.iter().enumerate() {
            mentioned.clear();
            let mentions = self.read(number, function, &mut mentioned);
            self.graph.mentions[start + number] = mentions;
            self.read_stored_functions(function);
            self.read_registries(function);
            self.read_captured(number, function);
            if mentions != Mentions::Keys {
                for node in &mentioned {
                    self.graph.edge(start + number, *node);
                }
            }
            // The stores of a class are analysed together with the consumptions of its methods.
            if matches!(&*function.name, "__init__" | "__post_init__")
                && let Some(class) = function.class
            {
                self.graph.edge(start + number, start + module.class(class).body.0 as usize);
            }
        }
        // Code that names a class may call what the class inherits.
        for (class, bases) in &self.table.bases {
            for (module, base) in ancestors(self.project, self.graph.tables, self.index, bases) {
                self.graph.edge(start + class, self.graph.starts[module] + base);
            }
        }
        // Code that reads a field that holds a layer of a library may call it with a key.
        for field in module.classes.iter().flat_map(|class| &class.fields) {
            if let Some(path) = self.path_of(&field.annotation)
                && self.vocabulary.mentions(path) == Mentions::Keys
            {
                let node = self.graph.attribute(self.index, &field.name);
                self.graph.key_nodes.push(node);
            }
        }
    }

    /// Code that reads a name or an attribute that holds functions may call them: `SAMPLERS = {"normal": random.normal}`.
    fn read_stored_functions(&mut self, function: &Function) {
        for op in &function.ops {
            let (variable, attribute, value) = match &op.kind {
                OpKind::Store(variable, value) => (Some(variable), None, *value),
                OpKind::StoreAttribute(_, name, value) => (None, Some(name), *value),
                _ => continue,
            };
            let called = self.graph.callable_results(self.project, self.index, (function, value));
            let is_function = is_annotated_global(function, value) || self.function_parts(function, value).is_some();
            if called.is_empty() && !is_function {
                continue;
            }
            let node = match (variable, attribute) {
                (Some(Variable::Global(name)), _) => self.graph.name(self.index, name),
                (Some(Variable::Local(slot)), _) if function.kind == FunctionKind::ClassBody => {
                    let Some(name) = function.slots.get(*slot as usize) else { continue };
                    self.graph.attribute(self.index, name)
                }
                (_, Some(name)) => self.graph.attribute(self.index, name),
                _ => continue,
            };
            for callee in called {
                self.graph.edge(node, callee);
            }
            self.read_function_parts(function, node, value);
        }
    }

    /// Code that captures a variable that holds functions may call them: `make = initializers.normal()` around `def init(key): make(key,
    /// 3)`.
    fn read_captured(&mut self, number: usize, function: &Function) {
        let module = self.project.modules[self.index];
        for op in &function.ops {
            let OpKind::Load(Variable::Outer(out, slot)) = &op.kind else { continue };
            let Some(outer) = module.enclosing(function, *out) else { continue };
            let stored = outer.ops.iter().filter_map(|op| match &op.kind {
                OpKind::Store(Variable::Local(target), value) if target == slot => Some(*value),
                _ => None,
            });
            for value in stored {
                let node = self.graph.starts[self.index] + number;
                for callee in self.graph.callable_results(self.project, self.index, (outer, value)) {
                    self.graph.edge(node, callee);
                }
                if self.function_parts(outer, value).is_some() {
                    self.read_function_parts(outer, node, value);
                }
            }
        }
    }

    /// The operands of a display, or of a call that wraps a function; empty for a function itself; `None` for other operations.
    fn function_parts(&mut self, function: &Function, value: Temp) -> Option<Vec<Temp>> {
        match &function.ops.get(value as usize)?.kind {
            OpKind::Function(..) => Some(Vec::new()),
            OpKind::Attribute(..) => {
                let path = self.table.chain(function, value, self.vocabulary)?;
                (self.vocabulary.mentions(path) == Mentions::Keys).then(Vec::new)
            }
            OpKind::Load(Variable::Local(slot)) if *slot as usize >= function.parameters.len() => {
                let defined = function.ops.iter().find_map(|op| match &op.kind {
                    OpKind::Store(Variable::Local(target), of) if target == slot => Some(*of),
                    _ => None,
                });
                defined.filter(|of| *of < value && Self::is_decorated(function, *of)).map(|of| vec![of])
            }
            OpKind::Build(Collection::Tuple | Collection::List | Collection::Set | Collection::Dict, elements) => {
                let parts = elements.iter().map(|element| match element {
                    Element::Value(part)
                    | Element::Spread(part)
                    | Element::Pair(_, part)
                    | Element::SpreadMapping(part) => *part,
                });
                Some(parts.collect())
            }
            OpKind::Call(callee, arguments) => {
                let path = self.table.chain(function, *callee, self.vocabulary);
                let wraps = path.is_some_and(|path| self.wraps(path));
                let parts = arguments.iter().map(|argument| match argument {
                    Argument::Positional(part)
                    | Argument::Spread(part)
                    | Argument::Keyword(_, part)
                    | Argument::SpreadMapping(part) => *part,
                });
                let parts: Vec<Temp> = parts.chain([*callee]).collect();
                let decorates = parts.iter().any(|part| Self::is_decorated(function, *part));
                (wraps || decorates).then_some(parts)
            }
            _ => None,
        }
    }

    /// Whether a temp is a function, or nested calls around one, as decorators are.
    fn is_decorated(function: &Function, temp: Temp) -> bool {
        match function.ops.get(temp as usize).map(|op| &op.kind) {
            Some(OpKind::Function(..)) => true,
            Some(OpKind::Call(_, arguments)) => {
                matches!(&arguments[..], [Argument::Positional(inner)] if *inner < temp && Self::is_decorated(function, *inner))
            }
            _ => false,
        }
    }

    /// Adds edges from a holder to the functions in its value.
    fn read_function_parts(&mut self, function: &Function, node: usize, value: Temp) {
        let mut work = vec![(value, NESTED_DISPLAYS)];
        while let Some((temp, depth)) = work.pop() {
            let Some(depth) = depth.checked_sub(1) else { continue };
            let Some(op) = function.ops.get(temp as usize) else { continue };
            if let Some(path) = self.table.chain(function, temp, self.vocabulary)
                && self.vocabulary.mentions(path) == Mentions::Keys
            {
                self.graph.key_nodes.push(node);
            }
            let target = match &op.kind {
                OpKind::Load(Variable::Global(name)) => Some(self.graph.name(self.index, name)),
                OpKind::Attribute(_, name) => Some(self.graph.attribute(self.index, name)),
                OpKind::Function(id, _) => Some(self.graph.starts[self.index] + id.0 as usize),
                _ => None,
            };
            if let Some(target) = target {
                self.graph.edge(node, target);
            }
            work.extend(self.function_parts(function, temp).unwrap_or_default().into_iter().map(|part| (part, depth)));
        }
    }

    /// The library path that an annotation names.
    fn path_of(&mut self, annotation: &Annotation) -> Option<PathId> {
        let Annotation::Path(path, _) = annotation else { return None };
        let root = *self.table.aliases.get(path.first()?)?;
        Some(path[1..].iter().fold(root, |full, name| self.vocabulary.member(full, name)))
    }

    /// What a function itself mentions; the nodes of the names go into `mentioned`.
    fn read(&mut self, number: usize, function: &Function, mentioned: &mut FxHashSet<usize>) -> Mentions {
        let mut mentions = if function.effects.is_empty() { Mentions::Nothing } else { Mentions::Keys };
        let annotations = function.parameters.iter().filter_map(|parameter| parameter.annotation.as_ref());
        for annotation in annotations.chain(function.returns.as_ref()) {
            mentions = mentions.max(self.annotated(annotation));
        }
        // Library paths and modules of the program, by operation.
        let mut paths: Vec<Option<PathId>> = vec![None; function.ops.len()];
        let mut modules: Vec<Option<ModuleIndex>> = vec![None; function.ops.len()];
        let mut locals: FxHashMap<u32, ModuleIndex> = FxHashMap::default();
        for (temp, op) in function.ops.iter().enumerate() {
            if mentions == Mentions::Keys {
                return mentions;
            }
            match &op.kind {
                OpKind::Load(variable) => {
                    paths[temp] = name_of(function, variable).and_then(|name| self.table.aliases.get(name)).copied();
                    match variable {
                        Variable::Global(name) => {
                            modules[temp] = self.module_named(name);
                            mentioned.insert(self.graph.name(self.index, name));
                        }
                        Variable::Local(slot) => modules[temp] = locals.get(slot).copied(),
                        Variable::Outer(..) => {}
                    }
                }
                OpKind::Store(Variable::Local(slot), value) => {
                    if let Some(found) = modules[*value as usize] {
                        locals.insert(*slot, found);
                    }
                }
                OpKind::Attribute(object, name) => {
                    // The dtype may come from a variable or a caller.
                    if self.vocabulary.is_reported_of_dtype(name) {
                        mentions = mentions.max(Mentions::Names);
                    }
                    paths[temp] = paths[*object as usize].map(|path| self.vocabulary.member(path, name));
                    if let Some(outer) = modules[*object as usize] {
                        modules[temp] = self.project.find(outer, 1, name).filter(|inner| *inner != outer);
                        mentioned.insert(self.graph.name(outer, name));
                    }
                    mentioned.insert(self.graph.attribute(self.index, name));
                }
                OpKind::Call(callee, arguments) => {
                    if let Some(path) = paths[*callee as usize]
                        && arguments.iter().any(|argument| {
                            matches!(argument, Argument::Keyword(name, _) if self.vocabulary.takes_key(path, name))
                        })
                    {
                        return Mentions::Keys;
                    }
                    if let OpKind::Attribute(_, method) = &function.ops[*callee as usize].kind
                        && self.may_follow_protocol(method, arguments)
                    {
                        return Mentions::Keys;
                    }
                    if self.may_hold_method(function, *callee, arguments)
                        || self.may_call_default(function, *callee, arguments)
                    {
                        return Mentions::Keys;
                    }
                    // An object may be called: `layer(x, key=key)`.
                    if self.passes_a_key(function, arguments) {
                        mentioned.insert(self.graph.attribute(self.index, self.call));
                    }
                    if self.wraps_protocol(function, paths[*callee as usize], arguments) {
                        return Mentions::Keys;
                    }
                }
                OpKind::Import { path, .. } => paths[temp] = Some(self.vocabulary.path(path)),
                OpKind::ImportFrom { module, name, level: 0 } => {
                    paths[temp] = Some(self.vocabulary.path(&format!("{module}.{name}")));
                }
                OpKind::Annotate(_, annotation) => mentions = mentions.max(self.annotated(annotation)),
                _ => {}
            }
            if number != 0 && matches!(op.kind, OpKind::Import { .. } | OpKind::ImportFrom { .. }) {
                let temp_of = Temp::try_from(temp).unwrap_or(Temp::MAX);
                for target in self.table.targets.get(&(number, temp_of)).into_iter().flatten() {
                    match target {
                        Target::Module(found) => modules[temp] = Some(*found),
                        Target::Member(other, name) => {
                            mentioned.insert(self.graph.name(*other, name));
                        }
                        Target::Everything(_) => {}
                    }
                }
            }
            if let Some(path) = paths[temp] {
                mentions = mentions.max(self.vocabulary.mentions(path));
            }
        }
        mentions
    }

    /// The module of the program that a global name denotes.
    fn module_named(&self, name: &Name) -> Option<ModuleIndex> {
        self.table.bindings.get(name)?.iter().find_map(|target| match target {
            Target::Module(module) => Some(*module),
            Target::Member(..) | Target::Everything(_) => None,
        })
    }

    /// What an annotation mentions: whether it may name a key.
    fn annotated(&mut self, annotation: &Annotation) -> Mentions {
        if self.names_a_key(annotation) { Mentions::Keys } else { Mentions::Nothing }
    }

    fn names_a_key(&mut self, annotation: &Annotation) -> bool {
        match annotation {
            Annotation::Path(path, _) => {
                if path.last().is_some_and(|name| name.contains("PRNGKey") || name.contains("KeyArray")) {
                    return true;
                }
                let Some(full) = self.path_of(annotation) else { return false };
                // A library layer that is called with keys counts like a key.
                self.vocabulary.mentions(full) == Mentions::Keys
                    || self.project.models.annotation(self.vocabulary.text(full)).is_some()
            }
            Annotation::Subscript(base, arguments) => {
                self.names_a_key(base) || arguments.iter().any(|argument| self.names_a_key(argument))
            }
            Annotation::Union(parts) => parts.iter().any(|part| self.names_a_key(part)),
            Annotation::Text(_) | Annotation::None | Annotation::Other => false,
        }
    }
}

/// Whether a value is a global whose type an annotation states: a field may hold what the module made, `kernel_init: Callable = default_init`.
fn is_annotated_global(function: &Function, value: Temp) -> bool {
    let is_global = matches!(function.ops[value as usize].kind, OpKind::Load(Variable::Global(_)));
    is_global && function.ops.iter().any(|op| matches!(op.kind, OpKind::Annotate(of, _) if of == value))
}
