//! The import snapshot: the state that modules leave behind, which the analyses of one program share.
//!
//! Most functions of a program are analysed on their own, and each starts in the state after all modules that it can
//! reach have run. The modules are run once, here, and the resulting state is shared.
//!
//! **Invariant:** a snapshot depends on its program alone, so its copies, on any number of threads, are
//! identical. Everything that an analysis adds is removed before the next one begins; the analysed module runs again in
//! its own analysis.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::guard::{Guard, Guards};
use crate::analysis::domain::term::{TermId, Terms};
use crate::analysis::domain::value::{ModuleIndex, Value};
use crate::analysis::library::MODELS;
use crate::analysis::machine::context::{Caches, Context, Transforms};
use crate::analysis::machine::modules::submodule;
use crate::analysis::machine::name_cache::Memo;
use crate::analysis::machine::overrides::Descendants;
use crate::analysis::machine::{Machine, prelude};
use crate::analysis::program::Program;
use crate::analysis::record::recorder::Recorder;
use crate::analysis::record::{Derivation, Log};
use crate::analysis::store::budget::Budget;
use crate::analysis::store::paths::Paths;
use crate::analysis::store::{State, Store};
use crate::finding::Place;
use crate::ir::{FunctionId, OpKind};
use crate::text::{FileId, Span};

/// Fuel for the body of a module that nothing imports. Only its classes matter, which come before what a script does with them.
const IMPLEMENTER_FUEL: u32 = 2_000;

/// The state after the modules of a program that others import have run.
///
/// A copy shares what the modules left; terms and guards, which grow in every analysis, are copied.
///
/// In the snapshot of no program, nothing has run: modules then run when one of their names is read.
#[derive(Clone, Default)]
pub struct ImportSnapshot {
    names: Memo,
    terms: Terms,
    guards: Guards,
    store: Store,
    transforms: Transforms,
    results: FxHashMap<Vec<TermId>, (Guard, Value, Place)>,
    replays: FxHashSet<(ModuleIndex, FunctionId)>,
    declared: FxHashSet<TermId>,
    derivations: Vec<Derivation>,
    activations: u32,
    loop_instances: u32,
    descendants: Descendants,
    /// The modules that have run.
    pub(crate) imported: Vec<ModuleIndex>,
}

impl ImportSnapshot {
    /// Runs the modules of a program that others of its modules import, and those that implement methods of another one, for pairs of the
    /// other and the implementing module that count.
    pub fn of(program: &Program<'_>, counts: &dyn Fn(ModuleIndex, ModuleIndex) -> bool) -> Self {
        let mut snapshot = Self::default();
        let Some(first) = (0..program.len()).next() else { return snapshot };
        let mut run = within(&mut snapshot, program, first);
        let mut imported = imported(program);
        let implementers = program.relevance.implementers().iter().filter(|(base, module)| counts(*base, *module));
        let mut unimported: Vec<ModuleIndex> = implementers.map(|(_, module)| *module).collect();
        unimported.sort_unstable();
        unimported.dedup();
        unimported.retain(|module| imported.binary_search(module).is_err());
        for index in &imported {
            run.ensure_module(*index);
        }
        for index in &unimported {
            run.ensure_module_with(*index, IMPLEMENTER_FUEL);
        }
        imported.extend(&unimported);
        prelude::define(&mut run);
        let Machine { state, recorder, context, transforms, caches, .. } = run;
        let State { terms, paths, mut store } = state;
        store.freeze();
        store.axis_lengths = FxHashMap::default();
        let descendants = Descendants::of(&store.classes, unimported.into());
        Self {
            descendants,
            names: caches.names.take(),
            terms,
            guards: paths.guards,
            store,
            transforms,
            results: caches.results,
            replays: context.replays,
            declared: recorder.log().declared.clone(),
            derivations: recorder.log().derivations.clone(),
            activations: context.activations,
            loop_instances: context.loop_instances,
            imported,
        }
    }

    /// The sizes of terms and guards, for [`ImportSnapshot::reclaim`].
    pub fn marks(&self) -> ((usize, usize), (usize, usize)) {
        (self.terms.mark(), self.guards.mark())
    }

    /// Takes back the names, terms and guards that were lent to an analysis, without the terms and guards that it added.
    pub fn reclaim(&mut self, run: Machine<'_>, (terms, guards): ((usize, usize), (usize, usize))) {
        self.names = run.caches.names.take();
        self.terms = run.state.terms;
        self.guards = run.state.paths.guards;
        self.terms.truncate(terms);
        self.guards.truncate(guards);
    }
}

/// The modules of a program that others import, in order.
fn imported(program: &Program<'_>) -> Vec<ModuleIndex> {
    let mut is_imported = vec![false; program.len()];
    for (index, module) in program.modules().iter().enumerate() {
        let mut note = |level: u32, path: &str| {
            let found = program.resolver.module(module.file, level, path).and_then(|file| program.of_file(file));
            if let Some(found) = found.filter(|found| *found != index) {
                is_imported[found] = true;
            }
        };
        for function in &module.functions {
            for op in &*function.ops.read() {
                match &op.kind {
                    OpKind::Import { path, .. } => {
                        let ends = path.match_indices('.').map(|(end, _)| end).chain([path.len()]);
                        ends.for_each(|end| note(0, &path[..end]));
                    }
                    OpKind::ImportFrom { level, module, name } => {
                        note(*level, module);
                        note(*level, &submodule(module, name));
                    }
                    _ => {}
                }
            }
        }
    }
    (0..program.len()).filter(|index| is_imported[*index]).collect()
}

/// The interpreter of one module in a snapshot, which lends its names, terms and guards.
pub fn within<'p>(snapshot: &mut ImportSnapshot, program: &'p Program<'p>, home: ModuleIndex) -> Machine<'p> {
    snapshot.names.forget_functions();
    let mut guards = std::mem::take(&mut snapshot.guards);
    guards.renew();
    let file = program.modules().get(home).map_or(FileId(0), |module| module.file);
    let libraries = program.models.libraries().iter().map(|library| library.name.clone()).collect();
    let log = Log { declared: snapshot.declared.clone(), derivations: snapshot.derivations.clone(), ..Log::default() };
    Machine {
        program,
        state: State {
            terms: std::mem::take(&mut snapshot.terms),
            paths: Paths::of(guards),
            store: Store { libraries, named: program.models.names(), ..snapshot.store.clone() },
        },
        library: &MODELS,
        budget: Budget::default(),
        recorder: Recorder::of(log),
        context: Context {
            home,
            here: Place { file, span: Span::default() },
            stack: Vec::new(),
            iteration: None,
            position: None,
            loop_depth: 0,
            activations: snapshot.activations,
            loop_instances: snapshot.loop_instances,
            waiting: FxHashMap::default(),
            pending: BTreeMap::new(),
            replays: snapshot.replays.clone(),
        },
        transforms: snapshot.transforms.clone(),
        caches: Caches {
            names: Rc::new(RefCell::new(std::mem::take(&mut snapshot.names))),
            results: snapshot.results.clone(),
            descendants: snapshot.descendants.clone(),
            ..Caches::default()
        },
    }
}
