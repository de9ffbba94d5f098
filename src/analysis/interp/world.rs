//! What modules leave behind: the state that the analyses of one program have in common.
//!
//! Most functions of a program are analysed on their own, and each starts with the modules that it can reach having run. They are
//! run once, here, and what they leave is shared.
//!
//! **Invariant:** a world depends on its program alone, so that any number of them, on any number of threads, are the same. What
//! an analysis adds is taken away before the next begins; the module that is analysed runs anew in its own analysis.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::extent::Extent;
use crate::analysis::domain::guard::{Guard, Guards};
use crate::analysis::domain::term::{TermId, Terms};
use crate::analysis::domain::value::{Closure, ModuleIndex, ObjectId, Value};
use crate::analysis::heap::{ClassInfo, Environment, Kind, Layered, Object, Shared};
use crate::analysis::log::{Derivation, Target};
use crate::analysis::program::Program;
use crate::finding::Place;
use crate::ir::{FunctionId, OpKind};
use crate::text::{FileId, Span};

use super::modules::submodule;
use super::{FUEL, Interp, Log, ModuleState, memo};

/// The state after the modules of a program that others import have run.
///
/// The world of no program is that in which nothing has run: modules then run when something of theirs is asked for.
#[derive(Default)]
pub struct World {
    memo: Rc<RefCell<memo::Memo>>,
    terms: Terms,
    guards: Guards,
    objects: Shared<Object>,
    shadows: Layered<TermId, ObjectId>,
    environments: Shared<Environment>,
    classes: Shared<ClassInfo>,
    modules: Layered<ModuleIndex, ModuleState>,
    made: Layered<(ModuleIndex, FunctionId), Rc<Closure>>,
    lane_extents: FxHashMap<TermId, Extent>,
    lengths: FxHashMap<ObjectId, Vec<(u32, Kind)>>,
    lane_keys: FxHashMap<TermId, Vec<Target>>,
    memoised: FxHashMap<Vec<TermId>, (Guard, Value)>,
    replays: FxHashSet<(ModuleIndex, FunctionId)>,
    declared: FxHashSet<TermId>,
    derivations: Vec<Derivation>,
    activations: u32,
    loop_instances: u32,
    closures: u32,
    mutations: u64,
}

impl World {
    /// Runs the modules of a program that others of its modules import.
    pub fn of(program: &Program<'_>) -> Self {
        let mut world = Self::default();
        let Some(first) = (0..program.len()).next() else { return world };
        let mut run = Interp::within(&mut world, program, first);
        for index in imported(program) {
            run.ensure_module(index);
        }
        let Interp { memo, terms, guards, mut objects, mut shadows, mut environments, .. } = run;
        let Interp { mut classes, mut modules, mut made, lane_extents, lengths, lane_keys, .. } = run;
        let Interp { memoised, replays, activations, loop_instances, closures, mutations, .. } = run;
        objects.freeze();
        environments.freeze();
        classes.freeze();
        shadows.freeze();
        modules.freeze();
        made.freeze();
        let Log { declared, derivations, .. } = run.log;
        Self {
            memo,
            terms,
            guards,
            objects,
            shadows,
            environments,
            classes,
            modules,
            made,
            lane_extents,
            lengths,
            lane_keys,
            memoised,
            replays,
            declared,
            derivations,
            activations,
            loop_instances,
            closures,
            mutations,
        }
    }

    /// How far terms and guards are filled, for [`World::take_back`].
    pub(super) fn marks(&self) -> ((usize, usize), (usize, usize)) {
        (self.terms.mark(), self.guards.mark())
    }

    /// Takes back the terms and guards that were lent to an analysis, without what it added.
    pub(super) fn take_back(&mut self, run: Interp<'_>, (terms, guards): ((usize, usize), (usize, usize))) {
        self.terms = run.terms;
        self.guards = run.guards;
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
        for op in module.functions.iter().flat_map(|function| &function.ops) {
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
    (0..program.len()).filter(|index| is_imported[*index]).collect()
}

impl<'p> Interp<'p> {
    /// The interpreter of one module in a world, which lends its terms and guards.
    pub(super) fn within(world: &mut World, program: &'p Program<'p>, home: ModuleIndex) -> Self {
        world.memo.borrow_mut().forget_functions();
        let mut guards = std::mem::take(&mut world.guards);
        guards.renew();
        let file = program.modules().get(home).map_or(FileId(0), |module| module.file);
        Self {
            program,
            uses: Rc::default(),
            memo: Rc::clone(&world.memo),
            terms: std::mem::take(&mut world.terms),
            guards,
            feasible: FxHashMap::default(),
            met: FxHashMap::default(),
            pc: Guard::TRUE,
            alive: Guard::TRUE,
            objects: world.objects.clone(),
            shadows: world.shadows.clone(),
            environments: world.environments.clone(),
            classes: world.classes.clone(),
            modules: world.modules.clone(),
            followed: FxHashMap::default(),
            home,
            log: Log { declared: world.declared.clone(), derivations: world.derivations.clone(), ..Log::default() },
            fuel: FUEL,
            here: Place { file, span: Span::default() },
            exhausted: None,
            is_cut_off: false,
            cut_off: Rc::default(),
            activations: world.activations,
            loop_instances: world.loop_instances,
            loop_depth: 0,
            closures: world.closures,
            mutations: world.mutations,
            iteration: None,
            position: None,
            lanes: Vec::new(),
            lane_extents: world.lane_extents.clone(),
            lengths: world.lengths.clone(),
            lengths_of: FxHashMap::default(),
            drawless: super::parameters::Drawless::default(),
            lane_keys: world.lane_keys.clone(),
            abstract_depth: 0,
            catching: Rc::new(RefCell::new(Vec::new())),
            stack: Vec::new(),
            idle: BTreeMap::new(),
            memoised: world.memoised.clone(),
            made: world.made.clone(),
            stored: FxHashMap::default(),
            replays: world.replays.clone(),
            escaped: BTreeMap::new(),
        }
    }
}
