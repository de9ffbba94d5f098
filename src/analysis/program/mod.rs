//! The analysed program: lowered modules, and how their imports resolve.
//!
//! **Invariant:** plain data and a pure resolver; the analysis never reads a file.

pub mod choices;
pub mod imported;
pub(crate) mod names;
mod relevance;
mod vocabulary;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use self::choices::Choices;
use crate::analysis::domain::value::ModuleIndex;
use crate::ir::{Function, FunctionId, FunctionKind, Module, Name, Resolver, prelude};
use crate::models::Models;
use crate::text::FileId;
use relevance::Relevance;

/// A program.
pub struct Program<'a> {
    modules: Vec<&'a Module>,
    by_file: Arc<FxHashMap<FileId, ModuleIndex>>,
    /// Which functions may involve keys.
    pub relevance: Arc<Relevance>,
    /// Where the modules choose the implementation of all keys.
    pub choices: Arc<Choices>,
    /// How imports resolve.
    pub resolver: &'a dyn Resolver,
    /// What libraries do.
    pub models: &'a Models,
    /// Names of the library's root packages beyond `jax` and `olympus`.
    pub roots: &'a [String],
    /// Whether the facts of every key are recorded, for hovers.
    pub observes: bool,
    /// Whether these facts say where each key comes from.
    pub traces: bool,
    /// Whether uses of keys by callees in other modules are recorded as well.
    pub follows: bool,
    /// The only functions of the analysed module that are run on their own, if not all are.
    selected: Option<BTreeSet<FunctionId>>,
}

/// What is known of the modules of a program together, without the modules.
pub struct Overview {
    by_file: Arc<FxHashMap<FileId, ModuleIndex>>,
    relevance: Arc<Relevance>,
    /// Where the modules choose the implementation of all keys.
    pub choices: Arc<Choices>,
}

impl Overview {
    /// Whether the same is known of the modules of another program.
    pub fn is_same_as(&self, other: &Self) -> bool {
        (&self.by_file, &self.relevance, &self.choices) == (&other.by_file, &other.relevance, &other.choices)
    }
}

impl<'a> Program<'a> {
    /// The program with these modules.
    pub fn new(modules: Vec<&'a Module>, resolver: &'a dyn Resolver, models: &'a Models, roots: &'a [String]) -> Self {
        let by_file = modules.iter().enumerate().map(|(index, module)| (module.file, index)).collect();
        let relevance = Relevance::compute(&modules, &by_file, resolver, models, roots);
        let choices = Choices::of(&modules, models, roots);
        let overview =
            Overview { by_file: Arc::new(by_file), relevance: Arc::new(relevance), choices: Arc::new(choices) };
        Self::with_overview(modules, resolver, models, roots, overview)
    }

    /// The program with these modules, of which this is known.
    pub fn with_overview(
        modules: Vec<&'a Module>,
        resolver: &'a dyn Resolver,
        models: &'a Models,
        roots: &'a [String],
        overview: Overview,
    ) -> Self {
        let Overview { by_file, relevance, choices } = overview;
        let (observes, traces, follows, selected) = (false, true, false, None);
        Self { modules, by_file, relevance, choices, resolver, models, roots, observes, traces, follows, selected }
    }

    /// What is known of its modules.
    pub fn overview(&self) -> Overview {
        Overview {
            by_file: Arc::clone(&self.by_file),
            relevance: Arc::clone(&self.relevance),
            choices: Arc::clone(&self.choices),
        }
    }

    /// The program with another version of one of its modules. Where the two define the same functions, as after an edit within
    /// one, the functions that matter are those that did before.
    #[must_use]
    pub fn replacing<'b>(&self, index: ModuleIndex, module: &'b Module) -> Program<'b>
    where
        'a: 'b,
    {
        let same = self.has_same_functions(index, module);
        let mut modules: Vec<&'b Module> = self.modules.iter().map(|module| -> &'b Module { module }).collect();
        if let Some(old) = modules.get_mut(index) {
            *old = module;
        }
        if !same {
            return Program::new(modules, self.resolver, self.models, self.roots);
        }
        let (by_file, relevance) = (Arc::clone(&self.by_file), Arc::clone(&self.relevance));
        let Self { resolver, models, roots, observes, traces, follows, .. } = *self;
        let choices = Arc::new(self.choices.replacing(index, module, models, roots));
        Program {
            modules,
            by_file,
            relevance,
            choices,
            resolver,
            models,
            roots,
            observes,
            traces,
            follows,
            selected: None,
        }
    }

    /// The same program with a copy of one of its modules: what is unpacked of the copy goes with it.
    #[must_use]
    pub fn with_copy<'b>(&self, index: ModuleIndex, copy: &'b Module) -> Program<'b>
    where
        'a: 'b,
    {
        let mut modules: Vec<&'b Module> = self.modules.iter().map(|module| -> &'b Module { module }).collect();
        if let Some(original) = modules.get_mut(index) {
            *original = copy;
        }
        let (by_file, relevance) = (Arc::clone(&self.by_file), Arc::clone(&self.relevance));
        let (choices, selected) = (Arc::clone(&self.choices), self.selected.clone());
        let Self { resolver, models, roots, observes, traces, follows, .. } = *self;
        Program { modules, by_file, relevance, choices, resolver, models, roots, observes, traces, follows, selected }
    }

    /// The same program, recording the facts of every key.
    #[must_use]
    pub fn observing(&self) -> Self {
        let Self { modules, by_file, relevance, resolver, models, roots, follows, .. } = self;
        let (modules, by_file, relevance) = (modules.clone(), Arc::clone(by_file), Arc::clone(relevance));
        let choices = Arc::clone(&self.choices);
        Self {
            modules,
            by_file,
            relevance,
            choices,
            resolver: *resolver,
            models,
            roots,
            observes: true,
            traces: self.traces,
            follows: *follows,
            selected: self.selected.clone(),
        }
    }

    /// The same program, recording the facts of every key, in callees of other modules too: nothing in a helper's own module may pass it
    /// keys.
    #[must_use]
    pub fn following(&self) -> Self {
        Self { follows: true, ..self.observing() }
    }

    /// The same program, recording the facts of every key except where it comes from.
    #[must_use]
    pub fn observing_kinds(&self) -> Self {
        Self { traces: false, ..self.observing() }
    }

    /// The same program, with only these functions of the analysed module run on their own.
    #[must_use]
    pub fn selecting(self, functions: Option<BTreeSet<FunctionId>>) -> Self {
        Self { selected: functions, ..self }
    }

    /// Whether a function of the analysed module is run on its own, if it may involve keys.
    pub fn selects(&self, function: FunctionId) -> bool {
        self.selected.as_ref().is_none_or(|selected| selected.contains(&function))
    }

    /// Whether a module defines the same functions as the one at `index`, as after an edit within one. A
    /// [snapshot](crate::analysis::ImportSnapshot) of this program is then also valid for the program with that module in its place.
    pub fn has_same_functions(&self, index: ModuleIndex, module: &Module) -> bool {
        self.modules.get(index).is_some_and(|old| old.functions.len() == module.functions.len())
    }

    /// Whether a module imports a library with a protocol for methods of this name.
    pub fn has_protocol(&self, module: ModuleIndex, callee: &str) -> bool {
        let name = callee.rsplit('.').next().unwrap_or(callee);
        let mut libraries = self.models.protocols(name).iter().flat_map(|protocol| &protocol.libraries);
        libraries.any(|library| self.relevance.imports(module, library))
    }

    /// The path of a built-in name with a model.
    pub fn builtin_path(&self, name: &str) -> Option<Name> {
        let path: Name = format!("builtins.{name}").into();
        Some(path).filter(|path| self.models.mentions(path, &[]) && self.models.is_modelled(path))
    }

    /// The modules, by index.
    pub fn modules(&self) -> &[&'a Module] {
        &self.modules
    }

    /// Number of modules.
    pub fn len(&self) -> usize {
        self.modules.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// A module.
    pub fn module(&self, index: ModuleIndex) -> &'a Module {
        match index.checked_sub(self.modules.len()) {
            Some(of_prelude) => &prelude::modules()[of_prelude],
            None => self.modules[index],
        }
    }

    /// The index of a module of the prelude: they come after the program's own.
    pub fn prelude(&self, module: usize) -> ModuleIndex {
        self.modules.len() + module
    }

    /// Whether a module is one of the prelude.
    pub fn is_prelude(&self, index: ModuleIndex) -> bool {
        index >= self.modules.len()
    }

    /// The module of a file.
    pub fn of_file(&self, file: FileId) -> Option<ModuleIndex> {
        self.by_file.get(&file).copied()
    }
}

/// Whether a function is analysed with symbols for its parameters: those of the module and of its classes.
pub fn is_entry(module: &Module, function: &Function) -> bool {
    if function.kind != FunctionKind::Def || function.is_stub {
        return false;
    }
    let mut parent = function.parent;
    while let Some(id) = parent {
        let outer = module.function(id);
        if !matches!(outer.kind, FunctionKind::Module | FunctionKind::ClassBody) {
            return false;
        }
        parent = outer.parent;
    }
    true
}
