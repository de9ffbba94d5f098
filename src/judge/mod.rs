//! Everything that decides: what a recording means.
//!
//! The interpreter runs and records. When the run is over, this room decides what is a fact, how it is reported, how
//! certain it is, and whether it is intended.
//!
//! **Invariant:** a recording is only read. Every decision is a function of it, of the guards' diagrams and of the program.

mod bridges;
mod broadcasts;
mod callee_model;
mod carried;
mod closures;
mod computed;
mod computed_from;
mod consequence;
mod default_fields;
mod default_keys;
mod derivation;
mod equality;
mod extract;
pub mod facts;
mod forward;
mod frozen;
mod guarded;
mod host;
mod implementation_facts;
mod implementations;
mod intent;
pub use intent::{demonstration, documented, evaluation, gap, notebook, said_so};
mod denotation;
mod memoised;
mod naming;
mod number_words;
mod origin;
mod passed_seeds;
mod paths;
mod reconcile;
pub use reconcile::reconcile;
mod reuse;
mod seeds;
mod slice;
mod stale;
mod stale_places;
mod trace_facts;
mod traced;
mod untyped;
mod unused;
mod values;
mod wrappers;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::value::ModuleIndex;
use crate::analysis::program::imported::ImportedNames;
use crate::analysis::record::{Shown, Stage};
use crate::analysis::{ImportSnapshot, KeptRuns, Program, run};
use crate::ir::{FunctionId, Module};
use facts::Facts;
use paths::PathQueries;
use seeds::Seeded;
use stale::Stale;
use values::Values;

/// What the last analysis of a module found, entry by entry, so that the next one repeats only those that an edit can affect.
#[derive(Default)]
pub struct Remembered {
    runs: KeptRuns,
    found: FxHashMap<FunctionId, (Facts, Stale)>,
    /// What the code of each function shows without being run, and the functions whose operations were read for that.
    shown: FxHashMap<FunctionId, (Facts, Vec<FunctionId>)>,
}

impl Remembered {
    /// How many entries the last analysis took from the one before.
    pub fn taken(&self) -> usize {
        self.runs.taken
    }

    /// Drops what depends on functions whose operations have changed. If anything else has changed, nothing may be kept.
    pub fn drop_changed(&mut self, changed: &FxHashSet<FunctionId>) {
        self.runs.drop_changed(changed);
        self.found.retain(|id, _| self.runs.has(*id));
        self.shown.retain(|_, (_, read)| !read.iter().any(|function| changed.contains(function)));
    }

    fn drop_entries(&mut self, entries: &FxHashSet<FunctionId>) {
        self.runs.drop_entries(entries);
        self.found.retain(|id, _| !entries.contains(id));
    }
}

/// What the code of a module shows without being run.
fn shown(
    program: &Program<'_>,
    index: ModuleIndex,
    mut kept: Option<&mut FxHashMap<FunctionId, (Facts, Vec<FunctionId>)>>,
) -> Facts {
    let module = program.module(index);
    let names = ImportedNames::of(module, program.models, program.roots);
    let seeded = Seeded::default();
    let mut facts = Facts::default();
    implementations::extract_choices(program, index, &mut facts);
    for id in (0u32..).map(FunctionId).take(module.functions.len()) {
        let Some(kept) = &mut kept else {
            seeds::extract_seeds(program, &names, &seeded, id, &mut facts);
            bridges::extract_bridges(&names, id, &mut facts);
            continue;
        };
        let (found, _) = kept.entry(id).or_insert_with(|| {
            module.take_read();
            let mut found = Facts::default();
            seeds::extract_seeds(program, &names, &seeded, id, &mut found);
            bridges::extract_bridges(&names, id, &mut found);
            (found, module.take_read())
        });
        facts.absorb(found.clone());
    }
    facts
}

/// Analyses one module of a program in a snapshot of that program, or of one that differs in the text of this module only and
/// has the same functions in it. What is remembered of an earlier analysis is not repeated; that analysis may have selected other functions.
pub fn analyse(
    snapshot: &mut ImportSnapshot,
    program: &Program<'_>,
    index: ModuleIndex,
    mut remembered: Option<&mut Remembered>,
) -> Facts {
    let mut facts = Facts::default();
    let (mut stale, mut values) = (Stale::default(), Values::default());
    let file = program.module(index).file;
    // Entries whose facts depend on those before them.
    let mut dependent: FxHashSet<FunctionId> = FxHashSet::default();
    let (runs, mut found_before, shown_before) = remembered
        .as_deref_mut()
        .map_or((None, None, None), |Remembered { runs, found, shown }| (Some(runs), Some(found), Some(shown)));
    let read = shown(program, index, shown_before);
    run(snapshot, program, index, runs, &mut |shown| {
        let (run, guards) = match shown {
            Shown::Recorded(run, guards) => (run, guards),
            Shown::AsBefore(id) => {
                if let Some((found, noted)) = found_before.as_ref().and_then(|found| found.get(&id)) {
                    facts.operations += found.operations;
                    values.count(&found.values);
                    facts.absorb(found.clone());
                    stale.absorb(noted.clone());
                }
                return;
            }
        };
        let paths = &mut PathQueries::new(guards, run.terms);
        match run.stage {
            Stage::Body => {
                facts = extract::facts(run, paths);
                values.extract(run, &mut facts, file);
                // No entry depends on these, which read all functions.
                run.module(index).unrecorded(|| {
                    facts.intent = extract::test_code(run);
                    facts.random = naming::random_module(run);
                });
                stale.note_stores(run);
            }
            Stage::Entry(id) => {
                let mut noted = Stale::default();
                noted.note_stores(run);
                noted.note_candidates(run, paths, id);
                let mut found = extract::facts(run, paths);
                if !values.extract(run, &mut found, file) {
                    dependent.insert(id);
                }
                extract::defaults(run, &mut found, id);
                default_fields::extract_fields(run, &mut found, id);
                untyped::extract_untyped_keys(run, paths, &mut found, id);
                found.ran.insert(id, run.log.ran.clone());
                found.operations = run.operations;
                if let Some(known) = &mut found_before {
                    known.insert(id, (found.clone(), noted.clone()));
                }
                facts.operations += found.operations;
                facts.absorb(found);
                stale.absorb(noted);
            }
            Stage::End => {
                std::mem::take(&mut stale).extract(run, &mut facts);
                extract::mark_guarded(run, &mut facts.references);
                host::extract_host_draws(run, &mut facts);
                default_keys::note_other_uses(run, &mut facts);
                default_fields::extract_set_fields(run, &mut facts);
                facts.ran.insert(Module::BODY, run.log.ran.clone());
                facts.operations += run.operations;
            }
        }
    });
    if let Some(remembered) = remembered {
        remembered.drop_entries(&dependent);
    }
    facts.absorb(read);
    facts.sort_and_deduplicate();
    facts
}
