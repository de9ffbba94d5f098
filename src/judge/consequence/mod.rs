//! What becomes of two draws from one key.
//!
//! A reuse matters if both draws influence something observable. Each draw is followed along def-use chains, through
//! calls of functions of the program, from its frame out to the entry: a result that is returned, stored, printed or
//! passed to unknown code is observed; a result that is never read, or of which only the shape is used, is not.
//!
//! **Invariant:** what cannot be followed counts as observed, so a draw that is reported as unobserved is in fact
//! unobserved.

mod awaited;
pub mod body;
mod calls;
pub mod captured;
mod choice;
mod compiled;
mod exclusive;
mod meet;
mod numbered;
mod objects;
mod positions;
pub mod repeating_loop;
mod settings;
pub mod unused_children;

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::value::{EnvironmentId, ModuleIndex};
use crate::analysis::record::{Activation, Callee, Consumption, DrawnIn, Recording};
use crate::finding::{Consequence, ConsequenceKind, Place};
use crate::ir::{Constant, Function, FunctionId, FunctionKind, Name, Op, OpKind, Temp, Variable};
use crate::judge::consequence::body::{Body, Effects, Part, Passed, Path, Sinks};
use crate::judge::facts::Role;
use crate::models::{Effect, Runs, Transform, TransformResult};
use crate::text::Span;

/// How many functions deep a value is followed into calls.
const DEPTH: u32 = 6;

/// Most functions that are followed into for one recording.
const BODIES: usize = 20_000;

/// Most steps in following the draws of one recording.
const ALL_STEPS: usize = 200_000;

/// Most parts of a carry that are followed.
const CARRIES: usize = 32;

/// Most children of a split that are distinguished.
const CHILDREN: u32 = 8;

/// A part of a function's parameter, or of a value that it loads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Start {
    Parameter(u32, Path),
    Load(Temp, Path),
}

/// A function of the program.
pub type Code = (ModuleIndex, FunctionId);

/// The summaries of functions by part of a parameter; `None` while one is being computed.
type Summaries = FxHashMap<(Code, Start), Option<Rc<Effects>>>;

/// The operations of functions within a function that read one of its variables; `None` if they cannot be told.
type Readers = Option<Rc<[(FunctionId, Temp)]>>;

/// The value flow of a recording, computed on demand for each draw.
pub struct Flows<'r> {
    /// What is followed.
    pub run: &'r Recording<'r>,
    summaries: RefCell<Summaries>,
    /// The results for whole draws.
    draws: RefCell<FxHashMap<usize, Rc<Reach>>>,
    /// What becomes of values in frames without excluded operations.
    frames: RefCell<FxHashMap<Entering, Known>>,
    /// The readers of variables that functions within their function read or write.
    captured: RefCell<FxHashMap<(Code, u32), Readers>>,
    /// Whether a draw that only determines a position, as the start of a slice or a test of `where`, counts as not observed.
    ignores_positions: bool,
    /// Steps that may still be taken.
    steps: Cell<usize>,
    /// What becomes of the arguments of unknown functions; `None` while that is being found out.
    by_unknown: RefCell<FxHashMap<(Code, Temp), Option<Sinks>>>,
    /// The modules of classes that ran, in no order.
    modules_of_classes: OnceCell<Vec<ModuleIndex>>,
    /// Calls that have a model for their effect on keys.
    modelled: FxHashMap<Place, usize>,
    /// Calls whose results are the same for every key.
    constant: FxHashSet<Place>,
    /// Calls that always draw nothing, with the positions of their arguments that are keys.
    undrawn: FxHashMap<Place, &'r [usize]>,
}

/// What a draw reaches.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// What becomes of it.
    pub sinks: Sinks,
    /// What it reaches in each frame, innermost first: the activation and its operations.
    pub frames: Vec<Frame>,
}

/// What a draw reaches in one frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The number of the activation.
    pub activation: u32,
    /// Its function.
    pub code: Code,
    /// What becomes of the draw in it.
    pub effects: Rc<Effects>,
}

/// What determines what becomes of a value in a frame. Of the program's state it depends only on its variables, and only if they are asked for.
#[derive(PartialEq, Eq, Hash)]
struct Entering {
    code: Code,
    /// The call that yields the value.
    place: Place,
    /// What the call's function passes of it.
    left: CalleeEffects,
    only_keys: bool,
    renewed: Option<(Variable, Name)>,
    unread: Sinks,
    /// The values of the frame's variables, if they were asked for.
    environment: Option<EnvironmentId>,
}

/// What becomes of a value in a frame.
#[derive(Clone)]
struct Known {
    /// What becomes of it on the way into the frame.
    sinks: Sinks,
    effects: Rc<Effects>,
    /// The steps that it takes to find this once all callees are known.
    steps: usize,
}

/// What a function passes of a draw to its caller.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct CalleeEffects {
    /// The function; `None` where the draw itself is.
    by: Option<Code>,
    /// Parts of its result.
    returned: Vec<Path>,
    /// Parts of its parameters that it changed.
    changed: Vec<(u32, Path)>,
}

/// A query about a draw: which part of its result, and on which paths.
struct Query<'a> {
    path: Path,
    /// For frames, by activation: the operations that do not run.
    excluded: &'a FxHashMap<u32, FxHashSet<Temp>>,
    /// Whether a key that replaces the split one counts as observed.
    sees_renewal: bool,
    /// Whether only keys are followed, and not the draws from them.
    only_keys: bool,
}

impl<'a> Query<'a> {
    /// What becomes of a part of a result.
    fn of(path: Path, excluded: &'a FxHashMap<u32, FxHashSet<Temp>>) -> Self {
        Self { path, excluded, sees_renewal: true, only_keys: false }
    }
}

impl<'r> Flows<'r> {
    /// The flows of a recording.
    pub fn new(run: &'r Recording<'r>) -> Self {
        let modelled = (0..).zip(&run.log.consumptions).filter(|(_, event)| event.role != Role::Unresolved);
        let draws = |event: &&Consumption| event.drawn_in != DrawnIn::Nothing;
        let drawn: FxHashSet<Place> = run.log.consumptions.iter().filter(draws).map(|event| event.place).collect();
        let places = run.log.consumptions.iter().map(|event| event.place);
        let constant = places.filter(|place| !drawn.contains(place)).collect();
        let undrawn = run.log.undrawn.iter().filter(|(place, _)| !drawn.contains(place));
        Self {
            run,
            undrawn: undrawn.map(|(place, keys)| (*place, keys.as_slice())).collect(),
            constant,
            summaries: RefCell::default(),
            draws: RefCell::default(),
            frames: RefCell::default(),
            captured: RefCell::default(),
            by_unknown: RefCell::default(),
            modules_of_classes: OnceCell::new(),
            ignores_positions: false,
            steps: Cell::new(ALL_STEPS),
            modelled: modelled.map(|(index, event)| (event.place, index)).collect(),
        }
    }

    /// Takes a step, if the budget allows.
    fn step(&self) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0
    }

    /// Whether a module is a script, whose variables no other module reads.
    fn is_program(&self, module: ModuleIndex) -> bool {
        !self.run.program.relevance.is_imported(module)
    }

    /// Whether code reads a variable of its module: nothing does yet, or functions do, into which it is not followed.
    fn readers_of_global(&self, module: ModuleIndex, name: &Name) -> Sinks {
        let mut readers = self.run.module(module).functions.iter().filter(|code| {
            code.ops.iter().any(|op| matches!(&op.kind, OpKind::Load(Variable::Global(read)) if read == name))
        });
        match readers.next() {
            None => Sinks::UNREAD,
            Some(code) if code.kind == FunctionKind::Module && readers.next().is_none() => Sinks::default(),
            Some(_) => Sinks::SHARED,
        }
    }

    /// The operations of functions within a function that read one of its variables.
    fn readers_within(&self, code: Code, slot: u32) -> Readers {
        let mut captured = self.captured.borrow_mut();
        captured
            .entry((code, slot))
            .or_insert_with(|| captured::readers_within(self.run.module(code.0), code.1, slot))
            .clone()
    }

    /// Whether a class has a method of this name.
    fn is_method(&self, name: &Name) -> bool {
        let modules = self.modules_of_classes.get_or_init(|| {
            let modules: FxHashSet<ModuleIndex> = self.run.classes.iter().map(|class| class.module).collect();
            modules.into_iter().collect()
        });
        modules.iter().any(|module| self.run.module(*module).has_method(name))
    }

    /// Whether a call has a model for its effect on keys.
    fn is_modelled(&self, place: Place) -> bool {
        self.modelled.contains_key(&place)
    }

    /// The summary of a function for a part of a parameter; `None` if it is unknown.
    fn of_parameter(&self, code: Code, slot: u32, path: &Path, depth: u32) -> Option<Rc<Effects>> {
        self.summary(code, Start::Parameter(slot, path.clone()), depth)
    }

    /// What becomes of a value in the function that it is passed to.
    pub fn of_passed(&self, passed: &Passed) -> Option<Rc<Effects>> {
        self.of_parameter(passed.to, passed.slot, &passed.part, DEPTH)
    }

    /// The summary of a function for a part of a value that it loads.
    fn of_load(&self, code: Code, load: Temp, path: &Path, depth: u32) -> Option<Rc<Effects>> {
        self.summary(code, Start::Load(load, path.clone()), depth)
    }

    fn summary(&self, code: Code, start: Start, depth: u32) -> Option<Rc<Effects>> {
        let depth = depth.checked_sub(1)?;
        let key = (code, start);
        if let Some(known) = self.summaries.borrow().get(&key) {
            // A recursive function: it does with the rest what it does with this.
            return Some(known.clone().unwrap_or_default());
        }
        if self.summaries.borrow().len() > BODIES {
            return None;
        }
        self.summaries.borrow_mut().insert(key.clone(), None);
        let none = FxHashSet::default();
        let mut body = Body::new(self, code, &none, depth);
        match &key.1 {
            Start::Parameter(slot, path) => body.hold_parameter(*slot, path),
            Start::Load(load, path) => body.hold(*load, path.clone()),
        }
        let effects = Rc::new(body.finish().0);
        self.summaries.borrow_mut().insert(key, Some(effects.clone()));
        Some(effects)
    }

    /// What a draw reaches.
    pub fn reach(&self, consumption: usize) -> Rc<Reach> {
        if let Some(known) = self.draws.borrow().get(&consumption) {
            return known.clone();
        }
        let excluded = FxHashMap::default();
        let event = &self.run.log.consumptions[consumption];
        let mut reach = self.follow(event, &Query::of(Path::new(), &excluded));
        if event.role == Role::Split && !reach.sinks.is_observed() {
            let keys = Query { only_keys: true, ..Query::of(Path::new(), &excluded) };
            reach.sinks.add(self.follow(event, &keys).sinks);
        }
        let reach = Rc::new(reach);
        self.draws.borrow_mut().insert(consumption, reach.clone());
        reach
    }

    /// What becomes of the arguments of an unknown function, by what the function that calls it does with the result.
    fn by_unknown(&self, code: Code, call: Temp) -> Sinks {
        if let Some(known) = self.by_unknown.borrow().get(&(code, call)) {
            return known.unwrap_or(Sinks::ESCAPES);
        }
        self.by_unknown.borrow_mut().insert((code, call), None);
        let none = FxHashSet::default();
        let mut body = Body::new(self, code, &none, DEPTH);
        body.hold(call, Path::new());
        let (effects, _) = body.finish();
        let sinks = match () {
            () if effects.sinks.is_observed() || !effects.mutated.is_empty() => Sinks::ESCAPES,
            () if !effects.returned.is_empty() => Sinks::PASSED,
            () if effects.sinks.has_all(Sinks::EXAMPLE) => Sinks::default(),
            () => Sinks::ESCAPES,
        };
        self.by_unknown.borrow_mut().insert((code, call), Some(sinks));
        sinks
    }

    /// Whether the numbers of an operation's result enter what a function computes, and whether it returns them.
    pub fn enters_results(&self, code: Code, temp: Temp) -> [bool; 2] {
        let none = FxHashSet::default();
        let mut body = Body::new(self, code, &none, DEPTH);
        body.hold(temp, Path::new());
        let (effects, _) = body.finish();
        [effects.sinks.enters_results() || !effects.mutated.is_empty(), !effects.returned.is_empty()]
    }

    /// The consequence of a draw in a mapped function, if it cannot be observed. Storing the next key of a split in its attribute does not
    /// observe: a stream that only advances is not drawn from.
    pub fn unseen(&self, consumption: usize) -> Option<Consequence> {
        let event = &self.run.log.consumptions[consumption];
        let excluded = FxHashMap::default();
        let query = Query { sees_renewal: false, ..Query::of(Path::new(), &excluded) };
        if unused_children::is_split_for_nothing(self.run, event) {
            return Some(Consequence::of(ConsequenceKind::Unobserved, Some(event.place)));
        }
        let sinks =
            if event.role == Role::Split { self.follow(event, &query).sinks } else { self.reach(consumption).sinks };
        (!sinks.is_observed()).then(|| Consequence::of(unobserved(sinks), Some(event.place)))
    }

    /// What happens to the keys of a split, apart from draws.
    pub fn keys_reach(&self, consumption: usize) -> Sinks {
        let excluded = FxHashMap::default();
        let keys = Query { only_keys: true, ..Query::of(Path::new(), &excluded) };
        self.follow(&self.run.log.consumptions[consumption], &keys).sinks
    }

    /// The operations that do not run where both draws happen with one key.
    fn excluded(&self, draw: &Consumption, other: &Consumption) -> FxHashMap<u32, FxHashSet<Temp>> {
        // Finding them reads the whole function.
        let size = self.run.code(&draw.activation).ops.len();
        self.steps.set(self.steps.get().saturating_sub(size / 8));
        if self.steps.get() == 0 { FxHashMap::default() } else { exclusive::excluded(self.run, draw, other) }
    }

    /// The children of a split that are observed; `None` if they cannot be distinguished.
    pub fn children_seen(&self, consumption: usize) -> Option<Vec<u32>> {
        let event = &self.run.log.consumptions[consumption];
        let excluded = FxHashMap::default();
        let is_seen =
            |index: u32| self.follow(event, &Query::of(vec![Part::Index(index)], &excluded)).sinks.is_observed();
        (!is_seen(CHILDREN)).then(|| (0..CHILDREN).filter(|index| is_seen(*index)).collect())
    }

    /// Follows a draw from the frame in which it happened outwards.
    fn follow(&self, event: &Consumption, query: &Query<'_>) -> Reach {
        let mut reach = Reach::default();
        if self.steps.get() == 0 {
            reach.sinks.add(Sinks::ESCAPES);
            return reach;
        }
        if event.chain().iter().any(|(activation, place)| self.is_compilation(activation, *place)) {
            return reach;
        }
        let mut left = CalleeEffects { returned: vec![query.path.clone()], ..CalleeEffects::default() };
        for (activation, place) in event.chain().iter().rev() {
            if self.follow_within(event, query, (activation, *place), &mut left, &mut reach).is_break() {
                return reach;
            }
        }
        if !left.returned.is_empty() {
            reach.sinks.add(Sinks::RETURNED);
        }
        if !left.changed.is_empty() {
            reach.sinks.add(Sinks::STORED);
        }
        reach
    }

    /// Follows a draw within one frame. Stops if nothing of it reaches the enclosing frame, or if that is unknown.
    fn follow_within(
        &self,
        event: &Consumption,
        query: &Query<'_>,
        (activation, place): (&Activation, Place),
        left: &mut CalleeEffects,
        reach: &mut Reach,
    ) -> ControlFlow<()> {
        let code = (activation.module, activation.function);
        let function = self.run.code(activation);
        let call = self.run.call_at(activation, place).or_else(|| method_run_at(function, place.span));
        let advanced = if call.is_none() { advanced_at(function, place.span) } else { None };
        let Some(call) = call.or(advanced) else {
            reach.sinks.add(Sinks::ESCAPES);
            return ControlFlow::Break(());
        };
        if advanced.is_some() {
            // The later state of the iterator is not followed, nor the positions of elements within an element.
            reach.sinks.add(Sinks::ESCAPES);
            left.changed.clear();
            left.returned.iter_mut().for_each(Path::clear);
        }
        let is_dropped = !left.returned.is_empty() && self.run.uses_of(code.0, code.1).readers(call).is_empty();
        let (mut by_draw, mut unread_sink) = (None, Sinks::default());
        if left.by.is_none() {
            reach.sinks.add(by_itself(event));
            // An expression statement that discards its draw, or a key, is unfinished code.
            if is_dropped && initialised(function, call).is_none() {
                reach.sinks.add(if event.role == Role::Sample { Sinks::DROPPED } else { Sinks::ESCAPES });
            }
            if self.uses_only_blank_parts(event, code, call) {
                reach.sinks.add(Sinks::SHAPE);
                return ControlFlow::Break(());
            }
            by_draw = if query.sees_renewal { None } else { renewed(function, event) };
            unread_sink = unread(event);
        } else if is_dropped && query.only_keys {
            reach.sinks.add(Sinks::ESCAPES);
        }
        let entering = Entering {
            code,
            place,
            left: std::mem::take(left),
            only_keys: query.only_keys,
            renewed: by_draw,
            unread: unread_sink,
            environment: None,
        };
        let Known { sinks, effects, .. } =
            self.within(entering, (call, activation.environment), query.excluded.get(&activation.id));
        reach.sinks.add(sinks);
        reach.sinks.add(effects.sinks);
        *left = CalleeEffects { by: Some(code), returned: effects.returned.clone(), changed: effects.mutated.clone() };
        reach.frames.push(Frame { activation: activation.id, code, effects });
        if left.returned.is_empty() && left.changed.is_empty() {
            return ControlFlow::Break(());
        }
        if function.is_async || function.kind == FunctionKind::ClassBody {
            reach.sinks.add(Sinks::ESCAPES);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// What becomes of a value in the frame that it enters.
    fn within(
        &self,
        mut entering: Entering,
        (call, environment): (Temp, EnvironmentId),
        excluded: Option<&FxHashSet<Temp>>,
    ) -> Known {
        for asked in [None, Some(environment)] {
            entering.environment = asked;
            if excluded.is_none()
                && let Some(known) = self.frames.borrow().get(&entering)
                // Where the steps run out, what is found depends on how many are left.
                && let Some(left) = self.steps.get().checked_sub(known.steps)
            {
                self.steps.set(left);
                return known.clone();
            }
        }
        let none = FxHashSet::default();
        let mut body = Body::new(self, entering.code, excluded.unwrap_or(&none), DEPTH);
        body.environment = Some(environment);
        body.only_keys = entering.only_keys;
        body.renewed.clone_from(&entering.renewed);
        body.unread = entering.unread;
        let left = &entering.left;
        let sinks = if let Some(below) = left.by {
            self.apply_effects(&mut body, (call, entering.place), below, left)
        } else {
            left.returned.iter().for_each(|path| body.hold(call, path.clone()));
            if let Some(object) = initialised(body.code, call).or_else(|| body.absorbing(call)) {
                left.returned.iter().for_each(|path| body.put_into(object, path));
            }
            Sinks::default()
        };
        let (effects, cost) = body.finish();
        let known = Known { sinks, effects: Rc::new(effects), steps: cost.steps };
        if excluded.is_none() && self.steps.get() > 0 {
            entering.environment = Some(environment).filter(|_| cost.asks_environment);
            self.frames.borrow_mut().insert(entering, known.clone());
        }
        known
    }

    /// Continues, in the frame of a call, with the effects of the function that it runs.
    fn apply_effects(
        &self,
        body: &mut Body<'_, '_>,
        (call, place): (Temp, Place),
        below: Code,
        left: &CalleeEffects,
    ) -> Sinks {
        let (prebound, keeps) = self.prebound(place, below);
        if let OpKind::Call(_, arguments) = &body.code.ops[call as usize].kind {
            for (slot, path) in &left.changed {
                body.change(call, arguments, (prebound, *slot), path);
            }
        }
        if prebound.is_none() && !left.returned.is_empty() {
            body.return_to_caller(call);
        }
        if !keeps && let Some(scanned) = self.scanned(place, below, &left.returned) {
            for path in scanned.returned {
                body.hold(call, path);
            }
            return scanned.sinks;
        }
        for path in &left.returned {
            body.hold(call, if keeps { path.clone() } else { Path::new() });
        }
        Sinks::default()
    }

    /// How many arguments are bound before the explicit ones, if the call passes its arguments on to a function; and whether it returns
    /// that function's result.
    fn prebound(&self, place: Place, below: Code) -> (Option<usize>, bool) {
        let callees = self.run.log.callees.get(&place).map_or(&[][..], Vec::as_slice);
        let count = callees.iter().find_map(|callee| match callee {
            Callee::Function(module, id, prebound) if (*module, *id) == below => *prebound,
            _ => None,
        });
        (count, count.is_some() && callees.iter().all(|callee| self.keeps_result(callee)))
    }

    /// The position in the result of a `scan` of a part of its body's result: the carry goes through the body again, and the rest is
    /// stacked. `None` if it is unknown.
    fn scanned(&self, place: Place, below: Code, held: &[Path]) -> Option<Effects> {
        self.runs_as(place, |runs| *runs == Runs::Scan)?;
        let body = self.run.module(below.0).function(below.1);
        if body.class.is_some() || body.parameters.len() != 2 {
            return None;
        }
        let mut all = Effects { returned: held.to_vec(), ..Effects::default() };
        let mut at = 0;
        while let Some(path) = all.returned.get(at).cloned() {
            at += 1;
            match path.split_first() {
                Some((Part::Index(0), rest)) => {
                    let effects = self.of_parameter(below, 0, &rest.to_vec(), DEPTH)?;
                    all.sinks.add(effects.sinks);
                    if !effects.mutated.is_empty() || at > CARRIES {
                        return None;
                    }
                    let more: Vec<Path> =
                        effects.returned.iter().filter(|path| !all.returned.contains(path)).cloned().collect();
                    all.returned.extend(more);
                }
                Some((Part::Index(1), _)) => {}
                _ => return None,
            }
        }
        Some(all)
    }

    /// The transform with which a call runs a function, if there is one.
    fn runs_as(&self, place: Place, is_it: impl Fn(&Runs) -> bool) -> Option<&'r Transform> {
        let callees = self.run.log.callees.get(&place)?;
        callees.iter().find_map(|callee| match callee {
            Callee::Library(path) => match &self.run.program.models.callable(path)?.effect {
                Effect::Transform(transform) if is_it(&transform.runs) => Some(&**transform),
                _ => None,
            },
            _ => None,
        })
    }

    /// Whether a transform returns the result of the function that it runs, as `vmap` does and `value_and_grad` does
    /// not.
    fn keeps_result(&self, callee: &Callee) -> bool {
        let Callee::Library(path) = callee else { return true };
        match self.run.program.models.callable(path).map(|callable| &callable.effect) {
            Some(Effect::Transform(transform)) => transform.result == TransformResult::Value,
            _ => true,
        }
    }

    /// Whether the code reads only those parts of an initialisation that need no draw: `model.init(key, x)["cache"]`.
    fn uses_only_blank_parts(&self, event: &Consumption, (module, id): Code, call: Temp) -> bool {
        if event.role != Role::Protocol {
            return false;
        }
        let method = event.callee.rsplit('.').next().unwrap_or(&event.callee);
        let protocols = self.run.program.models.protocols(method);
        if protocols.iter().all(|protocol| protocol.blank.is_empty()) {
            return false;
        }
        let (code, uses) = (self.run.module(module).function(id), self.run.uses_of(module, id));
        let is_blank = |name: &str| protocols.iter().any(|protocol| protocol.blank.iter().any(|blank| blank == name));
        let asks = |reader: &Temp| match &code.ops[*reader as usize].kind {
            OpKind::Item(_, index) => {
                matches!(&code.ops[*index as usize].kind, OpKind::Constant(Constant::Str(name)) if is_blank(name))
            }
            _ => false,
        };
        let readers = uses.readers(call);
        let read = |reader: &Temp| match &code.ops[*reader as usize].kind {
            OpKind::Store(variable @ Variable::Local(slot), _) if !uses.is_captured(*slot) => {
                let reaching = uses.reaching(code, variable);
                let loads = reaching.loads_of(*reader);
                !loads.is_empty() && loads.iter().all(|load| uses.readers(*load).iter().all(asks))
            }
            _ => asks(reader),
        };
        !readers.is_empty() && readers.iter().all(read)
    }
}

/// The effects of a draw other than through its result.
fn by_itself(event: &Consumption) -> Sinks {
    if event.role == Role::Unresolved { Sinks::ESCAPES } else { Sinks::default() }
}

/// The consequence of binding a draw to a variable that nothing reads: the callee may also store it, unless it is a sampler.
fn unread(event: &Consumption) -> Sinks {
    match event.role {
        Role::Split => Sinks::default(),
        Role::Sample => Sinks::UNREAD,
        _ => Sinks::ESCAPES,
    }
}

/// The attribute that a key was read from to be split, as variable and name.
fn renewed(code: &Function, event: &Consumption) -> Option<(Variable, crate::ir::Name)> {
    let (owner, name) = event.written.as_deref()?.rsplit_once('.')?;
    let slot = code.slots.iter().take(code.named as usize).position(|slot| **slot == *owner)?;
    Some((Variable::Local(u32::try_from(slot).ok()?), name.into()))
}

/// What becomes of two draws.
pub fn consequence(flows: &Flows<'_>, first: usize, second: usize) -> Consequence {
    let (one, other) = (flows.reach(first), flows.reach(second));
    let (a, b) = (&flows.run.log.consumptions[first], &flows.run.log.consumptions[second]);
    // One draw is used and the other is not; if neither is used, the code is unfinished.
    let unseen = |reach: &Reach, draw: usize, other: &Reach| {
        let event = &flows.run.log.consumptions[draw];
        // What dropout draws while parameters are initialised, its library drops.
        let is_for_nothing = event.drawn_in == DrawnIn::Nothing
            || unused_children::is_split_for_nothing(flows.run, event)
            || is_unused_stream(flows.run, draw);
        if is_for_nothing {
            return Some(Consequence::of(ConsequenceKind::Unobserved, Some(event.place)));
        }
        let is_unseen = if other.sinks.is_used() { !reach.sinks.is_read() } else { !reach.sinks.is_observed() };
        is_unseen.then(|| Consequence::of(unobserved(reach.sinks), Some(event.place)))
    };
    if let Some(fate) = unseen(&one, first, &other).or_else(|| unseen(&other, second, &one)) {
        return fate;
    }
    // Of the code that both reach, only what runs on a path with both draws counts.
    let excluded = flows.excluded(a, b);
    if !excluded.is_empty() {
        let query = Query::of(Path::new(), &excluded);
        if let Some(fate) = unseen(&flows.follow(a, &query), first, &other) {
            return fate;
        }
    }
    let excluded = flows.excluded(b, a);
    if !excluded.is_empty() {
        let query = Query::of(Path::new(), &excluded);
        if let Some(fate) = unseen(&flows.follow(b, &query), second, &one) {
            return fate;
        }
    }
    if let Some(meeting) = meet::meeting(flows, (a, &one), (b, &other)) {
        return meeting;
    }
    if let Some(decision) = meet::decision(flows, &one, b) {
        return decision;
    }
    let both = |sink: Sinks| one.sinks.has(sink) && other.sinks.has(sink);
    let kind = match () {
        () if both(Sinks::RETURNED) => ConsequenceKind::Returned,
        () if both(Sinks::STORED) => ConsequenceKind::Stored,
        () => ConsequenceKind::Escapes,
    };
    Consequence::of(kind, None)
}

/// The selection whose branches are the two draws, so that each element is one of them: `where(c, normal(key), uniform(key))`.
pub fn alternatives(flows: &Flows<'_>, first: usize, second: usize) -> Option<Place> {
    let (one, other) = (flows.reach(first), flows.reach(second));
    let log = &flows.run.log.consumptions;
    let (activation, call, place) = choice::choice(flows.run, [&log[first], &log[second]], &one, &other)?;
    let excluded = FxHashMap::from_iter([(activation, FxHashSet::from_iter([call]))]);
    let goes_elsewhere = |draw: usize| {
        let query = Query::of(Path::new(), &excluded);
        flows.follow(&log[draw], &query).sinks.is_observed()
    };
    (!goes_elsewhere(first) && !goes_elsewhere(second)).then_some(place)
}

/// Whether a draw is the creation of a stream from which nothing takes a key. Creating a stream counts as consuming its
/// key, because nearly every stream yields a key sooner or later. That none is taken can be shown only if the stream is
/// passed to visible functions only. If a bound ended the analysis, later code may.
fn is_unused_stream(run: &Recording<'_>, draw: usize) -> bool {
    let made = run.log.streams.made.get(&draw);
    run.exhausted.is_none() && made.is_some_and(|stream| !run.log.streams.used.contains(stream))
}

/// The kind of the consequence of a draw that is not observed.
fn unobserved(sinks: Sinks) -> ConsequenceKind {
    match () {
        () if sinks.has(Sinks::TIMED) => ConsequenceKind::Timed,
        () if sinks.has(Sinks::SHAPE) => ConsequenceKind::ShapeOnly,
        () => ConsequenceKind::Unobserved,
    }
}

/// The object that a call initialises, as written: `super().__init__(size, key=key)`.
fn initialised(code: &Function, call: Temp) -> Option<Temp> {
    let OpKind::Call(callee, _) = &code.ops[call as usize].kind else { return None };
    match &code.ops[*callee as usize].kind {
        OpKind::Attribute(object, name) if &**name == "__init__" => Some(*object),
        _ => None,
    }
}

/// The operation that advances an iterator, if there is only one loop at a span.
fn advanced_at(code: &Function, span: Span) -> Option<Temp> {
    let mut advanced = code.ops.iter().filter(|op| op.span == span).filter_map(|op| match &op.kind {
        OpKind::Loop { head, .. } => {
            head.last().filter(|last| matches!(code.ops[**last as usize].kind, OpKind::Next(_)))
        }
        _ => None,
    });
    advanced.next().filter(|_| advanced.next().is_none()).copied()
}

/// The operation at a span that runs a method without calling it by name: `keys[name]`, `self.key`, `a + b`, `with keys:`.
fn method_run_at(code: &Function, span: Span) -> Option<Temp> {
    let runs_a_method =
        |op: &Op| matches!(op.kind, OpKind::Item(..) | OpKind::Attribute(..) | OpKind::Operate(..) | OpKind::Enter(_));
    let found = code.ops.iter().position(|op| op.span == span && runs_a_method(op))?;
    Temp::try_from(found).ok()
}
