//! The paths: which of them run now, which are left, and what is known about their conditions.
//!
//! **Invariant:** `pc` implies `live`.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::State;
use crate::analysis::domain::guard::{Guard, Guards};
use crate::analysis::domain::term::TermId;
use crate::analysis::domain::value::{Val, Value};

/// The paths of one analysis.
#[derive(Clone)]
pub struct Paths {
    /// Conditions, as decision diagrams.
    pub guards: Guards,
    /// Results about the feasibility of guards.
    pub feasibility: FxHashMap<Guard, bool>,
    /// Whether two guards were found to hold on one path.
    pub compatible: FxHashMap<(Guard, Guard), bool>,
    /// The paths on which the current operation runs.
    pub pc: Guard,
    /// The paths on which the program has not ended: all on which anything reads an object or a global. A function that is called on some
    /// of them changes nothing on the others.
    pub live: Guard,
    /// The paths on which the running function has not ended: all on which it reads its variables. A function made in it may read them
    /// later on others, which is not modelled.
    pub frame_live: Guard,
    /// The `try` statements whose bodies are running, outermost first.
    pub catching: Rc<RefCell<Vec<Catching>>>,
    /// Numbers that something was divided by, and on which paths.
    pub divisors: Vec<(TermId, Guard)>,
    /// Values that were operands or whose attributes were read, and on which paths: they are not `None` there.
    pub present: FxHashMap<TermId, Guard>,
    /// Numbers of iterations of loops over keys.
    pub bounds: Vec<TermId>,
    /// Whether a loop that involves keys has run.
    pub has_key_loop: bool,
    /// The number of elements of the iterator whose first element was requested.
    pub counted: Option<TermId>,
}

/// A `try` whose body is running.
pub struct Catching {
    /// The paths on which its body raised.
    pub raised: Guard,
    /// An operation raised that hardly ever does, if there is no other: the paths on which it did, and those on which it did not.
    pub unlikely: Option<[Guard; 2]>,
    /// Whether exceptions that end the program are not caught.
    pub passes_system_exit: bool,
    /// Whether its body has a `raise` statement.
    pub raises: bool,
    /// Depth of its activation.
    pub depth: u32,
    /// Number of writes to the store when the last exception edge was made.
    pub seen: u64,
}

impl Catching {
    /// Something else may raise on these paths: what hardly ever does is assumed not to, unless a handler is then reached on fewer paths.
    pub fn drop_unlikely(&mut self, guards: &mut Guards, raising: Guard) {
        if let Some([raised, went_on]) = self.unlikely
            && guards.without(went_on, raising).is_false()
        {
            self.raised = guards.without(self.raised, raised);
            self.unlikely = None;
        }
    }
}

impl Paths {
    /// The paths without any assumption.
    pub fn of(guards: Guards) -> Self {
        Self {
            guards,
            feasibility: FxHashMap::default(),
            compatible: FxHashMap::default(),
            pc: Guard::TRUE,
            live: Guard::TRUE,
            frame_live: Guard::TRUE,
            catching: Rc::default(),
            divisors: Vec::new(),
            present: FxHashMap::default(),
            bounds: Vec::new(),
            has_key_loop: false,
            counted: None,
        }
    }
}

/// Which paths run, and which have ended.
#[derive(Clone, Copy)]
pub struct Running {
    pc: Guard,
    live: Guard,
    frame_live: Guard,
}

impl Running {
    /// Some paths, as if there were no others.
    pub fn on(paths: Guard) -> Self {
        Self { pc: paths, live: paths, frame_live: paths }
    }
}

impl Paths {
    /// Which paths run now.
    pub fn running(&self) -> Running {
        Running { pc: self.pc, live: self.live, frame_live: self.frame_live }
    }

    /// Lets these paths run.
    pub fn run(&mut self, running: Running) {
        (self.pc, self.live, self.frame_live) = (running.pc, running.live, running.frame_live);
    }

    /// Ends the current paths for the whole program.
    pub fn end(&mut self) {
        self.live = self.guards.without(self.live, self.pc);
        self.frame_live = self.guards.without(self.frame_live, self.pc);
        self.pc = Guard::FALSE;
    }
}

impl Default for Paths {
    fn default() -> Self {
        Self::of(Guards::default())
    }
}

/// Runs `each` for every alternative that is possible here, on its paths only, and joins the results.
pub fn on_alternatives<H: AsMut<State>>(
    host: &mut H,
    value: &Value,
    mut each: impl FnMut(&mut H, &Val) -> Value,
) -> Value {
    let before = host.as_mut().paths.pc;
    if let [only] = value.alternatives()
        && (only.guard.is_true() || only.guard == before)
    {
        return each(host, &only.val);
    }
    let mut after = Guard::FALSE;
    let mut result = Value::unbound();
    let mut feasible = 0;
    for alternative in value.alternatives() {
        let state = host.as_mut();
        let paths = state.paths.guards.and(before, alternative.guard);
        if paths.is_false() || !state.feasible(paths) {
            continue;
        }
        feasible += 1;
        state.paths.pc = paths;
        let part = each(host, &alternative.val);
        let paths = &mut host.as_mut().paths;
        for piece in part.alternatives() {
            let guard = paths.guards.and(piece.guard, alternative.guard);
            result.push(&mut paths.guards, guard, piece.val.clone());
        }
        after = paths.guards.or(after, paths.pc);
    }
    let state = host.as_mut();
    state.paths.pc = if feasible == 0 { before } else { after };
    if result.is_too_various() { state.terms.opaque("<one of many>", None) } else { result }
}

/// Runs a function on the current paths that satisfy a guard, and continues with all of them.
pub fn on<H: AsMut<State>, R>(host: &mut H, guard: Guard, body: impl FnOnce(&mut H) -> R) -> R {
    let paths = &mut host.as_mut().paths;
    let before = paths.pc;
    paths.pc = paths.guards.and(before, guard);
    let result = body(host);
    host.as_mut().paths.pc = before;
    result
}

/// Runs a function, and restores the paths afterwards, even if some of them ended.
pub fn preserving<H: AsMut<State>, R>(host: &mut H, body: impl FnOnce(&mut H) -> R) -> R {
    let running = host.as_mut().paths.running();
    let result = body(host);
    host.as_mut().paths.run(running);
    result
}

/// Runs a function that does not depend on the path condition, as if on the only path, and restores the paths
/// afterwards.
pub fn on_the_only_path<H: AsMut<State>, R>(host: &mut H, body: impl FnOnce(&mut H) -> R) -> R {
    preserving(host, |host| {
        host.as_mut().paths.run(Running::on(Guard::TRUE));
        body(host)
    })
}

/// Runs a function on the current paths that satisfy a guard, if there are any, and continues with all of them.
pub fn under<H: AsMut<State>>(host: &mut H, guard: Guard, body: impl FnOnce(&mut H)) {
    let state = host.as_mut();
    let before = state.paths.pc;
    state.paths.pc = state.paths.guards.and(before, guard);
    if state.feasible(state.paths.pc) {
        body(host);
    }
    host.as_mut().paths.pc = before;
}
