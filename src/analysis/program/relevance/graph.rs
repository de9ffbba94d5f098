//! The graph of mentions, and its transitive closure.
//!
//! **Invariant:** an edge leads from the function that mentions a name to what the name denotes, so relevance is only
//! propagated backwards.

mod reach;

use rustc_hash::FxHashMap;

use self::reach::Nesting;
pub(super) use self::reach::names_a_key;
use crate::analysis::domain::value::ModuleIndex;
use crate::analysis::program::vocabulary::Mentions;
use crate::ir::{Function, FunctionKind, Module, Name, OpKind, Temp, Variable};
use crate::models::Words;

use super::{Project, REEXPORTS, SymbolTable, Target};

/// The graph: functions first, then the names and attributes by which they are mentioned.
pub(super) struct Graph<'a> {
    pub(super) tables: &'a [SymbolTable],
    /// The number of the first function of each module.
    pub(super) starts: Vec<usize>,
    /// What each function itself mentions.
    pub(super) mentions: Vec<Mentions>,
    /// By node, the nodes that mention it.
    callers: Vec<Vec<usize>>,
    names: FxHashMap<(ModuleIndex, Name), usize>,
    attributes: FxHashMap<(ModuleIndex, Name), usize>,
    /// By module and name of a function or method, the node of the functions that it gets.
    registered: FxHashMap<(ModuleIndex, Name), usize>,
    /// Nodes of attributes that involve keys according to their annotation.
    pub(super) key_nodes: Vec<usize>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(project: &Project<'_>, tables: &'a [SymbolTable]) -> Self {
        let mut total = 0;
        let mut starts = Vec::with_capacity(project.modules.len());
        for module in project.modules {
            starts.push(total);
            total += module.functions.len();
        }
        let (names, attributes) = (FxHashMap::default(), FxHashMap::default());
        Self {
            tables,
            starts,
            mentions: vec![Mentions::Nothing; total],
            callers: vec![Vec::new(); total],
            names,
            attributes,
            registered: FxHashMap::default(),
            key_nodes: Vec::new(),
        }
    }

    pub(super) fn edge(&mut self, caller: usize, callee: usize) {
        self.callers[callee].push(caller);
    }

    /// The node of a global name of a module, with edges to what it may denote.
    pub(super) fn name(&mut self, module: ModuleIndex, name: &Name) -> usize {
        if let Some(node) = self.names.get(&(module, name.clone())) {
            return *node;
        }
        let first = self.add_name(module, name);
        let mut work = vec![(first, module, name)];
        while let Some((node, module, name)) = work.pop() {
            let table = &self.tables[module];
            for number in table.definitions.get(name).into_iter().flatten() {
                self.edge(node, self.starts[module] + number);
            }
            let imports = table.bindings.get(name).into_iter().flatten().filter_map(|target| match target {
                Target::Member(other, name) => Some((*other, name)),
                Target::Module(_) | Target::Everything(_) => None,
            });
            let is_known = table.definitions.contains_key(name) || table.bindings.contains_key(name);
            let stars = if is_known { &[][..] } else { &table.stars };
            for (other, inner) in imports.chain(stars.iter().map(|other| (*other, name))) {
                let target = if let Some(known) = self.names.get(&(other, inner.clone())) {
                    *known
                } else {
                    let fresh = self.add_name(other, inner);
                    work.push((fresh, other, inner));
                    fresh
                };
                self.edge(node, target);
            }
        }
        first
    }

    fn add_name(&mut self, module: ModuleIndex, name: &Name) -> usize {
        self.callers.push(Vec::new());
        self.names.insert((module, name.clone()), self.callers.len() - 1);
        self.callers.len() - 1
    }

    /// The node of what a function or method of a module gets and puts into a container.
    pub(super) fn registered(&mut self, module: ModuleIndex, name: &Name) -> usize {
        let next = self.callers.len();
        let node = *self.registered.entry((module, name.clone())).or_insert(next);
        if node == next {
            self.callers.push(Vec::new());
        }
        node
    }

    /// The node of an attribute that is read in a module, with edges to the methods that it may denote.
    pub(super) fn attribute(&mut self, module: ModuleIndex, name: &Name) -> usize {
        if let Some(node) = self.attributes.get(&(module, name.clone())) {
            return *node;
        }
        self.callers.push(Vec::new());
        let node = self.callers.len() - 1;
        self.attributes.insert((module, name.clone()), node);
        for home in std::iter::once(&module).chain(&self.tables[module].imported) {
            for number in self.tables[*home].methods.get(name).into_iter().flatten() {
                self.edge(node, self.starts[*home] + number);
            }
        }
        node
    }

    /// The functions that run when the result of a call is called: the methods that make an instance of a class
    /// callable, and the functions nested in the called function: `layer = Dropout()` and `init, apply = make()`, and
    /// later `layer(x)` and `apply(x)`.
    pub(super) fn callable_results(
        &self,
        project: &Project<'_>,
        index: ModuleIndex,
        (function, value): (&Function, Temp),
    ) -> Vec<usize> {
        let op = |temp: Temp| function.ops.get(temp as usize).map(|op| &op.kind);
        let whole = match op(value) {
            Some(OpKind::Project(unpacked, _)) => match op(*unpacked) {
                Some(OpKind::Unpack { value, .. }) => *value,
                _ => return Vec::new(),
            },
            _ => value,
        };
        let Some(OpKind::Call(callee, _)) = op(whole) else { return Vec::new() };
        let Some(OpKind::Load(Variable::Global(name))) = op(*callee) else { return Vec::new() };
        let (mut found, mut work) = (Vec::new(), vec![(index, name.clone(), REEXPORTS)]);
        while let Some((index, name, left)) = work.pop() {
            let Some(left) = left.checked_sub(1) else { continue };
            let (module, table, start) = (project.modules[index], &self.tables[index], self.starts[index]);
            for target in table.bindings.get(&name).into_iter().flatten() {
                if let Target::Member(other, inner) = target {
                    work.push((*other, inner.clone(), left));
                }
            }
            for number in table.definitions.get(&name).into_iter().flatten() {
                let is_within = |inner: &Function| inner.parent.is_some_and(|parent| parent.0 as usize == *number);
                let is_class = module.functions[*number].kind == FunctionKind::ClassBody;
                let runs = |inner: &Function| is_within(inner) && (!is_class || &*inner.name == "__call__");
                let before = found.len();
                let inner = module.functions.iter().enumerate().filter(|(_, inner)| runs(inner));
                found.extend(inner.map(|(inner, _)| start + inner));
                if is_class && found.len() == before {
                    let bases = table.bases.get(number).into_iter().flatten();
                    let named = bases.filter(|base| base.member.is_none());
                    work.extend(named.map(|base| (index, base.name.clone(), left)));
                }
            }
        }
        found
    }

    /// Propagates relevance to callers. Returns what each function mentions, and which functions are run on their own.
    pub(super) fn propagate(mut self, modules: &[&Module], words: &Words) -> (Vec<Vec<Mentions>>, Vec<Vec<bool>>) {
        self.mentions.resize(self.callers.len(), Mentions::Nothing);
        for node in std::mem::take(&mut self.key_nodes) {
            self.mentions[node] = Mentions::Keys;
        }
        let nesting = Nesting::of(modules, &self.starts);
        let near = reach::near(&nesting, &self.callers, &self.mentions);
        let own = self.mentions.clone();
        let mentions_keys = |node: &usize| self.mentions[*node] == Mentions::Keys;
        let mut work: Vec<usize> = (0..self.mentions.len()).filter(mentions_keys).collect();
        while let Some(node) = work.pop() {
            for caller in self.callers[node].iter().chain(nesting.parent(node)) {
                if self.mentions[*caller] != Mentions::Keys {
                    self.mentions[*caller] = Mentions::Keys;
                    work.push(*caller);
                }
            }
        }
        let mut by_module: Vec<Vec<Mentions>> = Vec::with_capacity(modules.len());
        for (start, module) in self.starts.iter().zip(modules) {
            let mut own = self.mentions[*start..start + module.functions.len()].to_vec();
            for number in 0..own.len() {
                if own[number] == Mentions::Names {
                    mark_enclosing(module, number, &mut own);
                }
            }
            by_module.push(own);
        }
        let entries = by_module.iter().zip(&self.starts).zip(modules).map(|((mentions, start), module)| {
            let all = *start..start + module.functions.len();
            reach::entries(module, &own[all.clone()], mentions, &near[all], words)
        });
        let entries = entries.collect();
        (by_module, entries)
    }
}

/// A nested function runs only if its enclosing function runs it: it is followed there, and the outermost function has
/// to run.
fn mark_enclosing(module: &Module, number: usize, mentions: &mut [Mentions]) {
    let mut current = number;
    while let Some(parent) = module.functions[current].parent {
        if matches!(module.function(parent).kind, FunctionKind::Module | FunctionKind::ClassBody) {
            return;
        }
        mentions[current] = Mentions::Keys;
        current = parent.0 as usize;
        mentions[current] = mentions[current].max(Mentions::Names);
    }
}
