//! The program that is replayed, and lookups in it.
//!
//! **Invariant:** immutable. Lookups are computed once, on demand.

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::finding::Place;
use crate::ir::{Function, FunctionId, FunctionKind, Module, Name, OpKind, Resolver, Variable};
use crate::models::Models;
use crate::text::FileId;

/// A program to replay. Cheap to make: a fixed program is a new one that shares all modules but one.
pub struct Project<'a> {
    /// Its modules, and those of the prelude after them.
    pub(super) modules: Vec<&'a Module>,
    /// How many of the modules are its own.
    pub(super) own: usize,
    /// How imports resolve.
    pub(super) resolver: &'a dyn Resolver,
    /// What libraries do.
    pub(super) models: &'a Models,
    /// Names of the library's root packages beyond `jax` and `olympus`.
    pub(super) roots: &'a [String],
    /// Whether the program chooses the implementation of all keys, so that their numbers are not those of the default.
    pub(super) chooses: bool,
    by_file: FxHashMap<FileId, usize>,
    /// What functions reach through nested functions, by module, on demand.
    reached_within: Vec<OnceLock<Vec<FreeVariables>>>,
    /// Where functions are mentioned, on demand.
    mentions: OnceLock<Mentions>,
}

impl<'a> Project<'a> {
    /// The program made of these modules.
    pub fn new(
        mut modules: Vec<&'a Module>,
        resolver: &'a dyn Resolver,
        models: &'a Models,
        roots: &'a [String],
    ) -> Self {
        let own = modules.len();
        modules.extend(crate::ir::prelude::modules());
        let by_file = modules.iter().enumerate().map(|(index, module)| (module.file, index)).collect();
        let reached_within = modules.iter().map(|_| OnceLock::new()).collect();
        let (chooses, mentions) = (false, OnceLock::new());
        Self { modules, own, resolver, models, roots, chooses, by_file, reached_within, mentions }
    }

    /// The program, which perhaps chooses the implementation of all keys.
    #[must_use]
    pub fn choosing(self, chooses: bool) -> Self {
        Self { chooses, ..self }
    }

    pub(super) fn mentions(&self) -> &Mentions {
        let own = &self.modules[..self.own];
        // They depend on the operations of all functions.
        for module in own {
            module.note_all_read();
        }
        self.mentions.get_or_init(|| mentions(own))
    }

    /// What a function reaches though it is not its own.
    pub(super) fn reached_within(&self, module: usize, function: FunctionId) -> Option<&FreeVariables> {
        let code = self.modules.get(module)?;
        let within = self.reached_within.get(module)?.get_or_init(|| code.unrecorded(|| reached_within(code)));
        code.note_read(function);
        within.get(function.0 as usize)
    }

    /// Whether a module is one of the prelude.
    pub(super) fn is_prelude(&self, module: usize) -> bool {
        module >= self.own
    }

    pub(super) fn of_file(&self, file: FileId) -> Option<usize> {
        self.by_file.get(&file).copied()
    }
}

/// Most mentions of one name that are kept.
const KEPT: usize = 16;

/// Where the functions of a program are mentioned by name.
type Mentions = FxHashMap<Name, Vec<Place>>;

/// Where functions are mentioned, but for their own module's imports.
fn mentions(modules: &[&Module]) -> Mentions {
    let functions = modules.iter().flat_map(|module| &module.functions);
    let names: FxHashSet<&Name> =
        functions.filter(|code| code.kind == FunctionKind::Def).map(|code| &code.name).collect();
    let mut mentions = Mentions::default();
    for module in modules {
        for code in &module.functions {
            for op in &*code.ops.read() {
                let (OpKind::Load(Variable::Global(name)) | OpKind::Attribute(_, name)) = &op.kind else { continue };
                if names.contains(name) {
                    let places = mentions.entry(name.clone()).or_default();
                    if places.len() < KEPT {
                        places.push(Place { file: module.file, span: op.span });
                    }
                }
            }
        }
    }
    mentions
}

/// What a function reaches though it is not its own.
#[derive(Default)]
pub(super) struct FreeVariables {
    pub(super) read: Vec<Variable>,
    /// Members that are read.
    pub(super) members: Vec<(Variable, Name)>,
    pub(super) written: Vec<Variable>,
}

/// What each function of a module reaches from within.
fn reached_within(module: &Module) -> Vec<FreeVariables> {
    let is_own = |variable: &Variable| matches!(variable, Variable::Local(_));
    let of = |code: &Function| {
        let mut within = FreeVariables::default();
        let ops = code.ops.read();
        for op in &*ops {
            match &op.kind {
                OpKind::Load(variable) if !is_own(variable) => add(&mut within.read, variable.clone()),
                OpKind::Store(variable, _) | OpKind::Delete(variable) if !is_own(variable) => {
                    add(&mut within.written, variable.clone());
                }
                OpKind::Attribute(object, name) => {
                    if let Some(OpKind::Load(variable)) = ops.get(*object as usize).map(|op| &op.kind)
                        && !is_own(variable)
                    {
                        add(&mut within.members, (variable.clone(), name.clone()));
                    }
                }
                _ => {}
            }
        }
        within
    };
    module.functions.iter().map(of).collect()
}

/// Adds what is missing.
pub(super) fn add<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}
