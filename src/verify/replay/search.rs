//! The search of paths: runs that differ in what they choose, likeliest first.
//!
//! **Invariant:** a path is determined by its choices alone, so it can be run again. At most [`PATHS`] are run, within the operations of
//! the budget.

use std::collections::VecDeque;
use std::rc::Rc;

use super::budget::MOST_SPARING;
use super::edits::RecordedChoices;
use super::hints::{Asked, Guide, Hints};
use super::library::MODELS;
use super::machine::{Choice, Decision, Draw, Machine, Script};
use super::symbol::Symbols;
use super::value::Closure;
use super::{Budget, Project};
use crate::finding::Place;
use crate::ir::{FunctionId, FunctionKind, Module};

/// Most paths of one replay.
pub(super) const PATHS: usize = 64;

/// One path of so many differs in a choice outside functions that contain a target place.
const FAR: usize = 4;

/// How many paths may run out of operations before the next budget level is used.
const SPENT: usize = 3;

/// Most paths that wait, of each kind.
const WAITING: usize = 2_048;

/// What is run: a function, or a module's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) module: usize,
    pub(super) function: FunctionId,
}

/// A path that was run.
pub(super) struct Path {
    pub(super) choices: Vec<Choice>,
    /// For each choice, whether it was made in a function with a target place, or in a module's body.
    pub(super) near: Vec<bool>,
    pub(super) draws: Vec<Draw>,
    pub(super) symbols: Symbols,
    pub(super) is_bounded: bool,
    /// How many choices of another run it used.
    pub(super) answered: usize,
    pub(super) spent: u32,
    /// Whether it ended because nothing was left to spend.
    pub(super) is_spent: bool,
    /// How sparing it was.
    pub(super) level: usize,
}

/// The outermost function around a place that can be run on its own, or the module's body.
pub(super) fn start_of(project: &Project<'_>, place: Place) -> Option<Start> {
    let index = project.of_file(place.file)?;
    let module = *project.modules.get(index)?;
    let mut found: Option<(u32, FunctionId)> = None;
    for (number, code) in (0u32..).zip(&module.functions) {
        let holds = code.full.start <= place.span.start && place.span.end <= code.full.end;
        if holds && code.kind == FunctionKind::Def && is_entry(module, FunctionId(number)) {
            // Of several, one encloses the class of the others: take the innermost that is not nested in a function.
            let length = code.full.end - code.full.start;
            if found.is_none_or(|(shortest, _)| length < shortest) {
                found = Some((length, FunctionId(number)));
            }
        }
    }
    Some(Start { module: index, function: found.map_or(Module::BODY, |(_, id)| id) })
}

/// Whether a function is not nested in another.
fn is_entry(module: &Module, id: FunctionId) -> bool {
    let mut parent = module.functions.get(id.0 as usize).and_then(|code| code.parent);
    for _ in 0..1_000 {
        let Some(code) = parent.and_then(|id| module.functions.get(id.0 as usize)) else { return true };
        if !matches!(code.kind, FunctionKind::Module | FunctionKind::ClassBody) {
            return false;
        }
        parent = code.parent;
    }
    false
}

/// Most states that are kept for the replays of one program.
const KEPT: usize = 8;

/// Most paths that are kept, more than one replay explores.
const KEPT_PATHS: usize = 4 * PATHS;

/// Most symbols of all paths that are kept.
const KEPT_SYMBOLS: usize = 200_000;

/// What earlier runs of one program have come to, the latest first.
///
/// Most of the time goes into running modules. Most paths differ only in later choices, and most replays of one file only in what they look
/// for: the next may continue from the state right before a function is entered, or take a whole path as it was.
#[derive(Default)]
pub struct EntryStates<'p> {
    states: Vec<EntryState<'p>>,
    paths: Vec<KnownPath>,
}

/// The state of a run before its function is entered, when its module has run.
struct EntryState<'p> {
    module: usize,
    machine: Machine<'p>,
    /// What the run has asked its hints.
    asked: Rc<Asked>,
    may_continue: bool,
}

impl Drop for EntryState<'_> {
    fn drop(&mut self) {
        self.machine.release();
    }
}

/// A path, and what it depends on.
struct KnownPath {
    start: Start,
    decisions: Vec<Decision>,
    /// What the run has asked its hints before it entered its function, and how many functions it had made then with target places.
    before: Option<(Rc<Asked>, usize)>,
    /// What it has asked since.
    asked: Asked,
    path: Rc<Path>,
}

impl KnownPath {
    /// Whether a run from there with this script and these hints would take the path.
    fn is_taken(&self, start: Start, (script, level): (&Script, usize), hints: &Hints) -> bool {
        let is_same_before = |(asked, listed): &(Rc<Asked>, usize)| asked.fits(hints) && asked.listed(hints) == *listed;
        self.start == start
            && self.path.level == level
            && script.leads_to(&self.decisions)
            && self.asked.fits(hints)
            && self.before.as_ref().is_none_or(is_same_before)
    }
}

/// Moves an element to the front.
fn bring_forward<T>(all: &mut [T], at: usize) {
    all[..=at].rotate_right(1);
}

impl<'p> EntryStates<'p> {
    /// A run that has executed the module of its function, what it has asked its hints, and whether it may continue: from a kept state, if
    /// the script makes the same choices up to there and the hints give the same answers.
    fn enter(
        &mut self,
        (project, hints): (&'p Project<'p>, &Rc<Hints>),
        module: usize,
        (script, level): (Script, usize),
    ) -> (Machine<'p>, Rc<Asked>, bool) {
        let is_same = |state: &EntryState<'p>| {
            state.module == module
                && state.machine.budget.level() == level
                && state.machine.makes_same_choices(&script)
                && state.asked.fits(hints)
        };
        if let Some(at) = self.states.iter().position(is_same) {
            bring_forward(&mut self.states, at);
            let EntryState { machine, asked, may_continue, .. } = &self.states[0];
            if let Some(mut copy) = machine.fork(script.clone()) {
                copy.hints = Guide::after(asked, hints);
                return (copy, asked.clone(), *may_continue);
            }
        }
        let mut machine = Machine::new((project, &MODELS), Guide::not_listing(hints), script, level);
        machine.suspended_logs += 1;
        // What stops a run has been noted by the run itself.
        let may_continue = machine.run_module(module).is_ok();
        let asked = Rc::new(machine.hints.take_asked());
        machine.hints = Guide::after(&asked, hints);
        if let Some(machine) = machine.fork(Script::default()) {
            self.states.truncate(KEPT - 1);
            self.states.insert(0, EntryState { module, machine, asked: asked.clone(), may_continue });
        }
        (machine, asked, may_continue)
    }

    /// Keeps a path, and drops those that were not taken for the longest time.
    fn keep(&mut self, one: KnownPath) {
        self.paths.insert(0, one);
        let mut symbols = 0;
        let fits = |known: &KnownPath| {
            symbols += known.path.symbols.len();
            symbols <= KEPT_SYMBOLS
        };
        let kept = self.paths.iter().take(KEPT_PATHS).map(fits).take_while(|fits| *fits).count();
        self.paths.truncate(kept);
    }
}

/// A path from a function: one that is known, or the one that a run takes. What is kept belongs to this program.
fn run<'p>(
    (project, hints): (&'p Project<'p>, &Rc<Hints>),
    start: Start,
    (script, level): (Script, usize),
    kept: &mut EntryStates<'p>,
) -> Rc<Path> {
    if let Some(at) = kept.paths.iter().position(|known| known.is_taken(start, (&script, level), hints)) {
        bring_forward(&mut kept.paths, at);
        return kept.paths[0].path.clone();
    }
    let is_module = start.function == Module::BODY;
    let (mut machine, before, mut may_continue) = if is_module {
        let mut machine = Machine::new((project, &MODELS), Guide::new(hints), script, level);
        let may_continue = machine.run_module(start.module).is_ok();
        (machine, None, may_continue)
    } else {
        let (machine, asked, may_continue) = kept.enter((project, hints), start.module, (script, level));
        let listed = asked.listed(hints);
        (machine, Some((asked, listed)), may_continue)
    };
    machine.suspended_logs = 0;
    let mut spent = machine.spent();
    if !is_module {
        machine.refill();
        let closure = machine.made.get(&(start.module, start.function)).cloned();
        let closure = closure.or_else(|| machine.detached_closure(start.module, start.function));
        if let Some(closure) = closure {
            may_continue = machine.enter(&closure).is_ok();
        }
        spent += machine.spent();
    }
    let mut at = 0;
    while may_continue && let Some(closure) = machine.closures.get(at).cloned() {
        at += 1;
        if is_uncalled(project, &closure) {
            machine.refill();
            may_continue = machine.enter(&closure).is_ok();
            spent += machine.spent();
        }
    }
    machine.release();
    let (asked, decisions) = (machine.hints.take_asked(), machine.take_decisions());
    let path = Rc::new(Path {
        answered: machine.taken,
        choices: machine.choices,
        near: machine.near,
        draws: machine.draws,
        symbols: machine.symbols,
        is_bounded: machine.is_bounded,
        spent,
        is_spent: !may_continue,
        level,
    });
    kept.keep(KnownPath { start, decisions, before, asked, path: path.clone() });
    path
}

/// Whether a function within another, or a lambda, was never called.
fn is_uncalled(project: &Project<'_>, closure: &Rc<Closure<'_>>) -> bool {
    let in_function = project.modules.get(closure.module).is_some_and(|module| !is_entry(module, closure.id));
    !closure.is_called.get() && (in_function || closure.code.kind == FunctionKind::Lambda)
}

/// What preparing a run costs, in operations.
fn overhead(project: &Project<'_>, start: Start) -> u32 {
    let Some(module) = project.modules.get(start.module) else { return 0 };
    let size = |id: FunctionId| module.functions.get(id.0 as usize).map_or(0, |code| code.ops.len());
    let size = size(Module::BODY).saturating_add(size(start.function)).saturating_add(module.functions.len());
    u32::try_from(size / 2).unwrap_or(u32::MAX)
}

/// Runs paths until `visit` is satisfied; returns whether all paths were run and none reached a bound.
pub(super) fn explore<'p>(
    (project, hints): (&'p Project<'p>, &Rc<Hints>),
    start: Start,
    budget: &mut Budget,
    kept: &mut EntryStates<'p>,
    visit: &mut dyn FnMut(&Path) -> bool,
) -> bool {
    explore_with((project, hints), start, None, budget, kept, visit)
}

/// The same with choices that another run made; it then uses the budget level of that run.
pub(super) fn explore_with<'p>(
    (project, hints): (&'p Project<'p>, &Rc<Hints>),
    start: Start,
    other: Option<(&Rc<RecordedChoices>, usize)>,
    budget: &mut Budget,
    kept: &mut EntryStates<'p>,
    visit: &mut dyn FnMut(&Path) -> bool,
) -> bool {
    // Choices in a function with a target place decide more often whether it is reached.
    let mut near: VecDeque<Vec<u8>> = VecDeque::from([Vec::new()]);
    let mut far: VecDeque<Vec<u8>> = VecDeque::new();
    let mut is_complete = true;
    let overhead = overhead(project, start);
    let mut replay = Budget::ONE.left;
    let (mut level, mut spent_here) = (other.map_or(0, |(_, level)| level), 0);
    let answers = other.map(|(answers, _)| answers);
    for turn in 0..PATHS {
        let next = if turn % FAR == FAR - 1 { far.pop_front() } else { None };
        let Some(prefix) = next.or_else(|| near.pop_front()).or_else(|| far.pop_front()) else { return is_complete };
        let script = Script { prefix: prefix.clone(), answers: answers.cloned() };
        let path = run((project, hints), start, (script, level), kept);
        is_complete &= !path.is_bounded;
        spent_here += usize::from(path.is_spent);
        let again = other.is_none() && level < MOST_SPARING && path.is_spent && spent_here > level * SPENT;
        if again {
            // If callees use up the whole budget, calls get only a part of it from this path on.
            level += 1;
            spent_here = 0;
            near.push_front(prefix.clone());
        }
        let asked = if again { 0..0 } else { prefix.len()..path.choices.len() };
        for at in asked {
            let Some(choice) = path.choices.get(at) else { break };
            let waiting = if path.near.get(at) == Some(&true) { &mut near } else { &mut far };
            for value in (0..choice.options).filter(|value| *value != choice.value) {
                if waiting.len() >= WAITING {
                    is_complete = false;
                    break;
                }
                let mut other: Vec<u8> = path.choices.iter().take(at).map(|choice| choice.value).collect();
                other.push(value);
                waiting.push_back(other);
            }
        }
        let spent = path.spent.saturating_add(overhead);
        budget.left = budget.left.saturating_sub(spent);
        replay = replay.saturating_sub(spent);
        if visit(&path) || budget.left == 0 || replay == 0 {
            return false;
        }
    }
    is_complete && near.is_empty() && far.is_empty()
}

/// A path that was run twice, for tests: all that is observed of it must be the same.
pub struct TwicePath {
    /// The qualified name of the function.
    pub function: String,
    /// What the search observes, which may start from a kept state.
    pub observed: String,
    /// What a run from the beginning observes.
    pub alone: String,
    /// The number of draws.
    pub draws: usize,
}

/// Explores each function of a module that can be run on its own, and runs each path again from the beginning.
pub fn explored_twice<'p>(project: &'p Project<'p>, module: usize, budget: u32) -> Vec<TwicePath> {
    let (mut paths, mut kept) = (Vec::new(), EntryStates::default());
    let Some(lowered) = project.modules.get(module) else { return paths };
    for (number, code) in (0u32..).zip(&lowered.functions) {
        let start = Start { module, function: FunctionId(number) };
        if code.kind != FunctionKind::Def || !is_entry(lowered, start.function) {
            continue;
        }
        let hints = Rc::new(Hints::new(project, &[Place { file: lowered.file, span: code.full }], &[]));
        explore((project, &hints), start, &mut Budget { left: budget }, &mut kept, &mut |path| {
            let script = Script { prefix: path.choices.iter().map(|choice| choice.value).collect(), answers: None };
            let alone = run((project, &hints), start, (script, path.level), &mut EntryStates::default());
            let (observed, alone) = (observed(path), observed(&alone));
            paths.push(TwicePath { function: code.qualified.to_string(), observed, alone, draws: path.draws.len() });
            false
        });
    }
    paths
}

/// All that is observed of a path.
fn observed(path: &Path) -> String {
    let Path { choices, near, draws, symbols, is_bounded, answered, spent, is_spent, level } = path;
    let draws: Vec<_> = draws
        .iter()
        .map(|draw| (draw.kind, &draw.way, &draw.callee, &draw.keys, &draw.maybe, draw.is_known, &draw.lanes))
        .collect();
    let learned = (symbols.len(), symbols.decided());
    format!("{choices:?} {near:?} {draws:?} {learned:?} {is_bounded} {answered} {spent} {is_spent} {level}")
}
