//! The immutable result of one run of the interpreter: the log, and the tables that it refers to.
//!
//! **Invariant:** nothing here changes what was recorded. The judge gets shared references only; the BDDs of guards are
//! lent as well, because feasibility queries make nodes.

mod log;
pub mod recorder;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::guard::Guards;
use crate::analysis::domain::term::{TermId, Terms};
use crate::analysis::domain::value::{ClassHandle, Closure, DerivationId, ModuleIndex, Val, Value};
use crate::analysis::program::Program;
use crate::analysis::store::ClassesByModule;
use crate::analysis::store::heap::{ClassInfo, Environment, Layered, ModuleState, Object, Shared};
use crate::finding::Place;
use crate::ir::{Function, FunctionId, Module, Name, OpKind, Temp, Uses, Variable};

pub use log::{
    Activation, Callee, Chain, Children, Consumption, Derivation, DrawnIn, Escape, Holder, Iteration, Log,
    LoggedBroadcast, LoggedBuffer, LoggedConflict, LoggedExit, LoggedLoop, LoggedRead, LoggedReference, LoggedStore,
    LoggedTrace, LoggedWrapper, LoggedWrite, Observed, RowSelection, SharingLanes, Streams, Target,
};

/// Definitions and uses of functions, on demand.
pub type UsesOfFunctions = FxHashMap<(ModuleIndex, FunctionId), Rc<Uses>>;

/// The attributes of an array that do not depend on its numbers.
pub const MEASURES: [&str; 4] = ["dtype", "ndim", "shape", "size"];

/// Methods that make a copy of a record with other values in some fields.
pub const UPDATES: [&str; 2] = ["_replace", "replace"];

/// The reader of each run.
pub type Reader<'a> = dyn FnMut(Shown<'_, '_>) + 'a;

/// What a reader is shown of a run.
pub enum Shown<'s, 'r> {
    /// What it recorded, with the diagrams that contain its guards.
    Recorded(&'s Recording<'r>, &'s mut Guards),
    /// It would record what the last analysis of the module showed of this entry.
    AsBefore(FunctionId),
}

/// What was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The module's body.
    Body,
    /// A function of it, with symbols for its parameters.
    Entry(FunctionId),
    /// All of it: the state after the body is read once more.
    End,
}

/// What one run recorded.
#[derive(Clone, Copy)]
pub struct Recording<'r> {
    /// What was run.
    pub stage: Stage,
    /// The program.
    pub program: &'r Program<'r>,
    /// The module whose facts are reported.
    pub home: ModuleIndex,
    /// The log.
    pub log: &'r Log,
    /// The terms.
    pub terms: &'r Terms,
    /// Objects, as the run left them.
    pub objects: &'r Shared<Object>,
    /// Environments, as the run left them.
    pub environments: &'r Shared<Environment>,
    /// Classes.
    pub classes: &'r Shared<ClassInfo>,
    /// Those of them that are frozen, by module.
    pub frozen_classes: &'r ClassesByModule,
    /// Modules, as far as they have run.
    pub modules: &'r Layered<ModuleIndex, ModuleState>,
    /// What names that modules import from each other resolve to, on demand.
    pub followed: &'r FxHashMap<(ModuleIndex, Name), Value>,
    /// The closure of each function, as last made.
    pub made: &'r Layered<(ModuleIndex, FunctionId), Arc<Closure>>,
    /// Activations of closures that run on their own: by number, with how they left and the first term that was made in them.
    pub escaped: &'r BTreeMap<u32, (Escape, TermId)>,
    /// Functions that replay what another has drawn: rules of `custom_vjp` and the like.
    pub replays: &'r FxHashSet<(ModuleIndex, FunctionId)>,
    /// The bound that was hit, and where.
    pub exhausted: Option<(Place, &'static str)>,
    /// The bound that may have hidden findings.
    pub limited: Option<(Place, &'static str)>,
    /// Operations that were run. Those of the module's body and of constructors count at the end.
    pub operations: u64,
    /// Definitions and uses, counted once.
    pub uses: &'r RefCell<UsesOfFunctions>,
}

impl<'r> Recording<'r> {
    /// A module.
    pub fn module(&self, index: ModuleIndex) -> &'r Module {
        self.program.module(index)
    }

    /// The definition of a function, with its header and body.
    pub fn definition(&self, module: ModuleIndex, function: FunctionId) -> Place {
        let module = self.module(module);
        Place { file: module.file, span: module.function(function).full }
    }

    /// The code of an activation.
    pub fn code(&self, activation: &Activation) -> &'r Function {
        self.module(activation.module).function(activation.function)
    }

    /// The qualified name of an activation's function, for people.
    pub fn qualified(&self, activation: &Activation) -> String {
        self.code(activation).qualified.to_string()
    }

    /// The definitions and uses of a function.
    pub fn uses_of(&self, module: ModuleIndex, id: FunctionId) -> Rc<Uses> {
        uses_of(self.uses, self.module(module), (module, id))
    }

    /// The call of an activation's function at a place, if the place contains it.
    pub fn call_at(&self, activation: &Activation, place: Place) -> Option<Temp> {
        let is_there = self.module(activation.module).file == place.file;
        self.uses_of(activation.module, activation.function).call_at(place.span).filter(|_| is_there)
    }

    /// What made a key.
    pub fn derivation(&self, id: DerivationId) -> Option<&'r Derivation> {
        self.log.derivations.get(usize::try_from(id).ok()?.checked_sub(1)?)
    }

    /// The classes that a module made, in order.
    pub fn classes_of(&self, module: ModuleIndex) -> impl Iterator<Item = (ClassHandle, &'r ClassInfo)> {
        let classes = self.classes;
        let frozen = self.frozen_classes.get(&module).into_iter().flatten().copied();
        let own = classes.own().filter(move |(_, info)| info.module == module);
        let own = own.map(|(number, _)| ClassHandle(u32::try_from(number).unwrap_or(u32::MAX)));
        frozen.chain(own).map(|class| (class, &classes[class.0 as usize]))
    }

    /// A class and its bases, as far as they are part of the program.
    pub fn lineage(&self, class: ClassHandle) -> Arc<[ClassHandle]> {
        self.classes[class.0 as usize].lineage.clone()
    }

    /// What a module-level name, or an attribute chain on one, resolves to.
    pub fn named(&self, module: ModuleIndex, code: &Function, temp: Temp) -> Option<Value> {
        match &code.ops[temp as usize].kind {
            OpKind::Load(Variable::Global(name)) => {
                let builtin = || Some(Value::of(Val::Library(self.program.builtin_path(name)?)));
                self.global(module, name).or_else(builtin)
            }
            OpKind::Attribute(of, name) => match self.named(module, code, *of)?.single()? {
                Val::Library(path) => Some(Value::of(Val::Library(format!("{path}.{name}").into()))),
                Val::Module(inner) => self.global(*inner, name),
                _ => None,
            },
            _ => None,
        }
    }

    /// The library path that a name denotes.
    pub fn library_named(&self, module: ModuleIndex, code: &Function, temp: Temp) -> Option<Name> {
        match self.named(module, code, temp)?.single()? {
            Val::Library(path) => Some(path.clone()),
            _ => None,
        }
    }

    /// What a global name of a module holds. An import of a function that did not run is not followed.
    pub fn global(&self, module: ModuleIndex, name: &Name) -> Option<Value> {
        let value = self.modules.get(&module)?.globals.get(name)?;
        let is_import = value.alternatives().iter().any(|alternative| matches!(alternative.val, Val::Import(_)));
        if is_import { self.followed.get(&(module, name.clone())).cloned() } else { Some(value.clone()) }
    }
}

/// The definitions and uses of a function, counted once.
pub fn uses_of(known: &RefCell<UsesOfFunctions>, module: &Module, (index, id): (ModuleIndex, FunctionId)) -> Rc<Uses> {
    let code = module.function(id);
    if let Some(uses) = known.borrow().get(&(index, id)) {
        uses.note_read(module, code);
        return uses.clone();
    }
    let uses = Rc::new(Uses::of(module, code));
    known.borrow_mut().insert((index, id), uses.clone());
    uses
}
