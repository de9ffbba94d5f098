//! The search of paths: runs that differ in what they choose, likeliest first.
//!
//! **Invariant:** a path is determined by its choices alone, so it can be run again. At most [`PATHS`] are run, within the operations of
//! the budget.

use std::collections::VecDeque;
use std::rc::Rc;

use super::budget::MOST_SPARING;
use super::edits::RecordedChoices;
use super::hints::Hints;
use super::library::MODELS;
use super::machine::{Choice, Draw, Machine, Script};
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

/// Most states that are kept for one replay.
const KEPT: usize = 8;

/// The states of the runs of one function right before it is entered, when its module has run. Most of the time goes into running
/// modules, and most paths differ only in later choices.
#[derive(Default)]
pub(super) struct EntryStates<'p> {
    states: Vec<EntryState<'p>>,
}

/// The state of a run before its function is entered.
struct EntryState<'p> {
    machine: Machine<'p>,
    may_continue: bool,
}

impl Drop for EntryState<'_> {
    fn drop(&mut self) {
        self.machine.release();
    }
}

impl<'p> EntryStates<'p> {
    /// A run that has executed the module of its function, and whether it may continue: from a kept state, if the script makes the same
    /// choices up to there.
    fn enter(
        &mut self,
        (project, hints): (&'p Project<'p>, &'p Hints),
        module: usize,
        script: Script,
        level: usize,
    ) -> (Machine<'p>, bool) {
        let is_same = |state: &&EntryState<'p>| {
            state.machine.budget.level() == level && state.machine.makes_same_choices(&script)
        };
        let known = self.states.iter().find(is_same);
        if let Some((copy, may_continue)) =
            known.and_then(|one| Some((one.machine.fork(script.clone())?, one.may_continue)))
        {
            return (copy, may_continue);
        }
        let mut machine = Machine::new((project, &MODELS), hints, script, level);
        machine.suspended_logs += 1;
        // What stops a run has been noted by the run itself.
        let may_continue = machine.run_module(module).is_ok();
        if self.states.len() < KEPT {
            let copy = machine.fork(Script::default());
            self.states.extend(copy.map(|machine| EntryState { machine, may_continue }));
        }
        (machine, may_continue)
    }
}

/// Runs one path. The states in `kept` belong to this function and these hints.
fn run<'p>(
    (project, hints): (&'p Project<'p>, &'p Hints),
    start: Start,
    script: Script,
    level: usize,
    kept: &mut EntryStates<'p>,
) -> Path {
    let is_module = start.function == Module::BODY;
    let (mut machine, mut may_continue) = if is_module {
        let mut machine = Machine::new((project, &MODELS), hints, script, level);
        let may_continue = machine.run_module(start.module).is_ok();
        (machine, may_continue)
    } else {
        kept.enter((project, hints), start.module, script, level)
    };
    machine.suspended_logs = 0;
    let mut spent = machine.spent();
    let made = if is_module { 0 } else { machine.closures.len() };
    if !is_module {
        machine.refill();
        let closure = machine.made.get(&(start.module, start.function)).cloned();
        let closure = closure.or_else(|| machine.detached_closure(start.module, start.function));
        if let Some(closure) = closure {
            may_continue = machine.enter(&closure).is_ok();
        }
        spent += machine.spent();
    }
    let mut at = made;
    while may_continue && let Some(closure) = machine.closures.get(at).cloned() {
        at += 1;
        if is_uncalled(project, &closure) {
            machine.refill();
            may_continue = machine.enter(&closure).is_ok();
            spent += machine.spent();
        }
    }
    machine.release();
    Path {
        answered: machine.taken,
        choices: machine.choices,
        near: machine.near,
        draws: machine.draws,
        symbols: machine.symbols,
        is_bounded: machine.is_bounded,
        spent,
        is_spent: !may_continue,
        level,
    }
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
pub(super) fn explore(
    project: &Project<'_>,
    hints: &Hints,
    start: Start,
    budget: &mut Budget,
    visit: &mut dyn FnMut(Path) -> bool,
) -> bool {
    explore_with((project, hints), start, None, budget, &mut EntryStates::default(), visit)
}

/// The same with choices that another run made; it then uses the budget level of that run.
pub(super) fn explore_with<'p>(
    (project, hints): (&'p Project<'p>, &'p Hints),
    start: Start,
    other: Option<(&Rc<RecordedChoices>, usize)>,
    budget: &mut Budget,
    kept: &mut EntryStates<'p>,
    visit: &mut dyn FnMut(Path) -> bool,
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
        let path = run((project, hints), start, script, level, kept);
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
        if visit(path) || budget.left == 0 || replay == 0 {
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
pub fn explored_twice(project: &Project<'_>, module: usize, budget: u32) -> Vec<TwicePath> {
    let mut paths = Vec::new();
    let Some(lowered) = project.modules.get(module) else { return paths };
    for (number, code) in (0u32..).zip(&lowered.functions) {
        let start = Start { module, function: FunctionId(number) };
        if code.kind != FunctionKind::Def || !is_entry(lowered, start.function) {
            continue;
        }
        let hints = Hints::new(project, &[Place { file: lowered.file, span: code.full }], &[]);
        explore(project, &hints, start, &mut Budget { left: budget }, &mut |path| {
            let script = Script { prefix: path.choices.iter().map(|choice| choice.value).collect(), answers: None };
            let alone = run((project, &hints), start, script, path.level, &mut EntryStates::default());
            let (observed, alone) = (observed(&path), observed(&alone));
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
