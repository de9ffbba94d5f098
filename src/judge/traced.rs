//! What happens in a function while a transform traces it: Python runs it once, and its effects on Python's state are
//! permanent.
//!
//! Often only another function, or another module, shows that a function is traced, because it passes it to `jit`. So a
//! fact lists the functions in which it happened, and [`reconcile`] decides when all modules are known.
//!
//! **Invariant:** a fact whose functions nothing traces is dropped; of several functions the innermost that is traced counts.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Term, TermId, place_key};
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::record::{Activation, Consumption, Holder, LoggedTrace, LoggedWrite, Recording};
use crate::finding::{Confidence, Place};
use crate::ir::{Argument, Constant, Function, FunctionKind, Module, OpKind, Operator, Temp, Variable};
use crate::judge::consequence::Flows;
use crate::judge::consequence::body::Sinks;
use crate::judge::consequence::unused_children::is_drawn_from;
use crate::judge::derivation::seed_number;
use crate::judge::facts::{ConstantKey, Facts, LeakKind, LeakedKey, Role, Trace, TraceKind, TraceStep, TracedFunction};
use crate::judge::forward::{self, is_noise};
use crate::judge::intent::placeholder::{named_key, names_result};
use crate::judge::intent::repeated_evaluation::is_seeded_for_evaluation;
use crate::judge::naming::leaf_use;
use crate::judge::passed_seeds::passed_to;
use crate::judge::paths::PathQueries;
use crate::models::{Construct, Effect, Runs, Transform};
use crate::text::FileId;

/// Most enclosing functions of a place that are checked.
pub const STEPS: usize = 12;

/// Deepest nesting of parts of an argument that are compared with an object.
const NESTED: u32 = 3;

/// Most parts of an argument that are compared with an object.
const PARTS: usize = 256;

/// The functions that are traced, and what happened in functions that may be.
pub fn extract_leaks(run: &Recording<'_>, paths: &mut PathQueries<'_>, facts: &mut Facts, file: FileId) {
    facts.traced.extend(run.log.traces.iter().filter_map(|trace| traced_function(run, trace)));
    for write in &run.log.writes {
        let kind = match write.holder {
            Holder::Global => LeakKind::Global,
            Holder::Variable(_) => LeakKind::Variable,
            Holder::Class | Holder::Object(_) => LeakKind::Part,
            Holder::Iterator(_) => LeakKind::Iterator,
        };
        let absent = only_without(run, paths, (&write.activation, write.guard));
        let outlives =
            |activation: &Activation| outlives(run, write, activation).filter(|_| !absent.contains(&activation.id));
        let steps = steps(run, (&write.activation, write.place), Some(write.term), file, outlives);
        if steps.iter().any(|step| step.bound.is_some()) {
            let (name, leaf) = (write.name.to_string(), write.place);
            facts.leaked.push(LeakedKey { kind, name, leaf, steps, trace: None, confidence: Confidence::High });
        }
    }
}

/// The activations, by id, in which something happens only if an argument is `None` that their callers pass: they have to, as `rng` in
/// `def step(x, rng): return draw(x, rng=rng)`, or those of the module do. Functions that such a function calls on the way to it count as well.
fn only_without(
    run: &Recording<'_>,
    paths: &mut PathQueries<'_>,
    (within, guard): (&Arc<Activation>, Guard),
) -> BTreeSet<u32> {
    let (mut absent, mut inner) = (BTreeSet::new(), Vec::new());
    for activation in within.outwards().take(STEPS) {
        let (module, code) = (run.module(activation.module), run.code(activation));
        let is_given = |term: TermId| {
            let number = parameter_of(run, term, activation).map(|number| number as usize);
            let parameter = number.and_then(|at| Some((at, code.parameters.get(at)?)));
            parameter.is_some_and(|(at, parameter)| !parameter.has_default || is_passed(module, code, at))
        };
        let asks = |literal: TermId| match run.terms.get(literal) {
            Term::Operate(Operator::Is, parts) => matches!(run.terms.get(parts[1]), Term::None) && is_given(parts[0]),
            _ => false,
        };
        let given = paths.assume(guard, &|literal| asks(literal).then_some(false));
        inner.push(activation.id);
        if given.is_false() && !guard.is_false() {
            absent.extend(&inner);
        }
    }
    absent
}

/// Whether the module calls a function, itself or as it was transformed, and all of these calls pass something else than `None` for the
/// parameter at a position.
pub fn is_passed(module: &Module, code: &Function, at: usize) -> bool {
    let is_given = |(caller, arguments): (&Function, &[Argument])| {
        let value = argument_for(code, arguments, at);
        value.is_some_and(|value| !matches!(caller.ops[value as usize].kind, OpKind::Constant(Constant::None)))
    };
    let mut calls = module.functions.iter().flat_map(|caller| {
        caller.ops.iter().filter_map(move |op| match &op.kind {
            OpKind::Call(callee, arguments) if calls_function(module, caller, *callee, code) => {
                Some((caller, &arguments[..]))
            }
            _ => None,
        })
    });
    calls.next().is_some_and(is_given) && calls.all(is_given)
}

/// The argument that a call writes for a parameter of a function.
pub fn argument_for(code: &Function, arguments: &[Argument], at: usize) -> Option<Temp> {
    let name = code.slots.get(at)?;
    let position = at.checked_sub(usize::from(code.class.is_some()));
    arguments.iter().enumerate().find_map(|(index, argument)| match argument {
        Argument::Positional(value) if Some(index) == position => Some(*value),
        Argument::Keyword(keyword, value) if keyword == name => Some(*value),
        _ => None,
    })
}

/// Whether a callee is a function of the module, or what a call makes of it: `jit(step)`, `jit(self.step).lower`.
fn calls_function(module: &Module, caller: &Function, callee: Temp, called: &Function) -> bool {
    let kind = |temp: Temp| &caller.ops[temp as usize].kind;
    // An object of the class: the first parameter of its methods, or a variable that holds what the class makes.
    let is_instance = |object: Temp| match kind(object) {
        OpKind::Load(Variable::Local(0)) if caller.class.is_some() => caller.class == called.class,
        OpKind::Load(variable) => {
            let class = called.class.and_then(|class| module.classes.get(class.0 as usize));
            caller.sole_value(variable).is_some_and(|value| match kind(value) {
                OpKind::Call(maker, _) => {
                    matches!(kind(*maker), OpKind::Load(Variable::Global(name)) if class.is_some_and(|class| class.name == *name))
                }
                _ => false,
            })
        }
        _ => false,
    };
    let is_it = |temp: Temp| match kind(temp) {
        OpKind::Attribute(object, name) => *name == called.name && called.class.is_some() && is_instance(*object),
        OpKind::Load(Variable::Global(name)) => *name == called.name && called.class.is_none(),
        OpKind::Load(Variable::Local(slot)) => {
            called.class.is_none() && caller.slots.get(*slot as usize) == Some(&called.name)
        }
        _ => false,
    };
    let made_by = match kind(callee) {
        OpKind::Attribute(of, method) if &**method == "lower" => *of,
        _ => callee,
    };
    match kind(made_by) {
        OpKind::Call(_, arguments) => arguments.iter().any(|argument| is_it(argument.value())),
        _ => is_it(callee),
    }
}

/// A function that is passed to a transform, if that traces or maps it.
pub fn traced_function(run: &Recording<'_>, trace: &LoggedTrace) -> Option<TracedFunction> {
    let kind = match &run.program.models.callable(&trace.transform)?.effect {
        Effect::Transform(transform) => kind_of(transform)?,
        _ => return None,
    };
    let module = run.module(trace.module);
    let defined_at = Place { file: module.file, span: module.function(trace.function).span };
    Some(TracedFunction {
        defined_at,
        transform: trace.transform.to_string(),
        at: trace.place,
        bound: trace.bound,
        kind,
        cache: trace.cache,
        made_in: run.definition(trace.made_in.0, trace.made_in.1),
    })
}

/// What a transform does with its functions, if it traces or maps them.
fn kind_of(transform: &Transform) -> Option<TraceKind> {
    match transform.runs {
        Runs::Abstract => Some(TraceKind::Abstract),
        Runs::Lanes if !transform.traced => Some(TraceKind::Mapped),
        _ if !transform.traced => None,
        Runs::Cond | Runs::Switch => Some(TraceKind::Branch),
        Runs::Scan | Runs::Map | Runs::Fori | Runs::While | Runs::Associative => Some(TraceKind::Looped),
        Runs::Once | Runs::Lanes | Runs::Blocks | Runs::TreeMap | Runs::Reduce => Some(TraceKind::Recorded),
    }
}

/// Keys that are made from constant seeds in functions, and drawn from there.
pub fn extract_constant_keys(
    run: &Recording<'_>,
    (flows, paths): (&Flows<'_>, &mut PathQueries<'_>),
    facts: &mut Facts,
    file: FileId,
) {
    let mut seen = BTreeSet::new();
    for (index, event) in run.log.consumptions.iter().enumerate() {
        if !matches!(event.role, Role::Sample | Role::Split | Role::Library | Role::Protocol) {
            continue;
        }
        let is_for_nothing = || is_initialiser(run, event) || named_key(run, event).is_some();
        let seed =
            seed(run, event.target.term).filter(|seed| !(is_for_nothing() || seed.is_split && !is_noise(run, event)));
        let Some(Seed { made, number, is_split }) = seed else { continue };
        let own = run.derivation(event.target.derivation).filter(|_| !is_split);
        let made_here = || {
            let mut derivations = run.log.derivations.iter();
            derivations.find(|one| one.term == made && one.activation.id == event.activation.id)
        };
        let Some(derivation) = own.or_else(made_here) else { continue };
        // Code that tests for a seed wants repeatable numbers: `if self.seed is not None: key = jax.random.key(self.seed)`.
        let asks = |literal: &TermId| run.terms.mentions(*literal, &|part| part == number);
        let is_known = run.terms.as_int(number).is_some();
        if !is_known && paths.support(event.guard).iter().any(asks) {
            continue;
        }
        let passed = passed_to(run, &derivation.activation, derivation.place);
        let absent = only_without(run, paths, (&derivation.activation, event.guard));
        let steps = steps(run, (&derivation.activation, derivation.place), None, file, |activation| {
            let code = run.code(activation);
            let takes_arguments = code.parameters.len() > usize::from(code.class.is_some());
            let makes_it =
                || run.log.derivations.iter().any(|one| one.term == made && is_within(&one.activation, activation));
            let may_be = takes_arguments
                && !passed.contains(&activation.id)
                && !absent.contains(&activation.id)
                && is_within(&event.activation, activation)
                && makes_it();
            let is_intended = || !is_known && draws_from_a_given_key(run, activation);
            let is_anew = || event.iterations().is_empty() && is_of_a_caller(run, event.target.term, activation);
            is_fixed(run, event.target.term, activation).filter(|_| may_be && !is_intended() && !is_anew())
        });
        let is_traceable = steps.iter().any(|step| step.bound.is_some());
        // A draw of which only the shape is used may be repeated.
        if is_traceable && flows.unseen(index).is_none() && seen.insert((derivation.place, steps.clone(), is_split)) {
            let made_in = &derivation.activation;
            let forward = if is_known { forward::noisy_method(run, paths, (event, made_in)) } else { None };
            let is_noise = forward.is_some();
            if is_split && !is_noise {
                continue;
            }
            facts.traced.extend(forward);
            facts.constant.push(ConstantKey {
                made_at: derivation.place,
                maker: derivation.callee.to_string(),
                used: leaf_use(run, event),
                steps,
                trace: None,
                is_noise,
                confidence: match event.role {
                    _ if is_seeded_for_evaluation(run, event) => Confidence::Low,
                    Role::Sample if is_known => Confidence::High,
                    _ if names_result(run, event) => Confidence::Low,
                    // Keys of a state are often not drawn from at all.
                    _ if !is_drawn_from(run, event) && !flows.keys_reach(index).has(Sinks::ESCAPES) => Confidence::Low,
                    _ => Confidence::Medium,
                },
            });
        }
    }
}

/// The key that another one is derived from.
struct Seed {
    /// The key that is made from a number.
    made: TermId,
    /// The number.
    number: TermId,
    /// Whether the other one is a child of a split, and not only folded.
    is_split: bool,
}

/// The key that is made from a number and that a key is, or is derived from.
fn seed(run: &Recording<'_>, key: TermId) -> Option<Seed> {
    let (mut current, mut is_split) = (key, false);
    for _ in 0..STEPS {
        match *run.terms.get(current) {
            Term::Fold(parent, _) => current = parent,
            Term::Child(parent, _) => (current, is_split) = (parent, true),
            _ => return Some(Seed { made: current, number: seed_number(run.terms, current)?, is_split }),
        }
    }
    None
}

/// Whether a key is made only from constants of the program, or from values that are older than an activation: the
/// number of leading arguments that must be the caller's own objects.
fn is_fixed(run: &Recording<'_>, key: TermId, activation: &Activation) -> Option<u32> {
    let receiver = run.code(activation).class.is_some();
    let needs = Cell::new(Some(0));
    run.terms.mentions(key, &|part| {
        if run.terms.symbol(part).is_some() {
            let needed = match object_outlives(run, part, activation) {
                Some(1) if !receiver => None,
                Some(needed) if needed > 1 => None,
                needed => needed,
            };
            needs.set(needs.get().zip(needed).map(|(most, needed): (u32, u32)| most.max(needed)));
        }
        false
    });
    needs.get()
}

/// Whether a key is made from an argument of an enclosing activation: a nested function that its parent calls is traced again in each call.
fn is_of_a_caller(run: &Recording<'_>, key: TermId, activation: &Activation) -> bool {
    let callers = std::iter::successors(activation.caller.as_ref(), |(caller, _)| caller.caller.as_ref());
    let callers: Vec<&Arc<Activation>> = callers.take(STEPS).map(|(caller, _)| caller).collect();
    run.terms.mentions(key, &|part| {
        run.terms.symbol(part).is_some() && callers.iter().any(|caller| parameter_of(run, part, caller).is_some())
    })
}

/// Whether a function also consumes a key that is passed to it, so that its numbers differ: what it also makes from a
/// seed of its object, such as a projection, is constant on purpose.
fn draws_from_a_given_key(run: &Recording<'_>, activation: &Activation) -> bool {
    run.log.consumptions.iter().any(|event| {
        is_within(&event.activation, activation)
            && parameter_of(run, run.terms.root(event.target.term), activation).is_some()
    })
}

/// Whether a key is used to create parameters, which happens once: in `init`, or in a stream with which modules are
/// created.
pub fn is_initialiser(run: &Recording<'_>, event: &Consumption) -> bool {
    let models = run.program.models;
    let method = event.callee.rsplit('.').next().unwrap_or_default();
    let makes_modules = models
        .class(&event.callee)
        .is_some_and(|class| matches!(class.construct, Construct::Stream { lifted: true, .. }));
    makes_modules
        || event.role == Role::Protocol && models.protocols(method).iter().any(|protocol| protocol.reads_shapes)
}

/// The functions of a file in which something happened, possibly to a key, innermost first.
pub fn steps(
    run: &Recording<'_>,
    (innermost, leaf): (&Arc<Activation>, Place),
    key: Option<TermId>,
    file: FileId,
    needs: impl Fn(&Activation) -> Option<u32>,
) -> Vec<TraceStep> {
    let mut steps = Vec::new();
    let mut current = Some((innermost.clone(), leaf));
    while let Some((activation, place)) = current.take().filter(|_| steps.len() < STEPS) {
        let code = run.code(&activation);
        if place.file == file && !matches!(code.kind, FunctionKind::Module | FunctionKind::ClassBody) {
            let source = key.and_then(|key| source(run, key, &activation));
            let is_given = key.is_some_and(|key| !is_made_within(run, key, &activation));
            let step = step(run.module(activation.module), code, (place, leaf), needs(&activation));
            let makes_state = run.program.models.words.names_a_single_construction(&code.name);
            steps.push(TraceStep { source, is_given, makes_state, ..step });
        }
        current.clone_from(&activation.caller);
    }
    steps
}

/// A function in which something happened at a leaf, reached through a place in it.
pub fn step(module: &Module, code: &Function, (place, leaf): (Place, Place), bound: Option<u32>) -> TraceStep {
    TraceStep {
        defined_at: Place { file: module.file, span: code.span },
        // What a nested function does also counts for the enclosing one.
        place: if leaf.file == module.file && code.full.covers(leaf.span) { leaf } else { place },
        function: code.qualified.to_string(),
        bound,
        source: None,
        is_given: false,
        parameters: u32::try_from(code.parameters.len()).unwrap_or(u32::MAX),
        makes_state: false,
    }
}

/// Whether the object that a write changes is older than an activation: the number of leading arguments that must be
/// the caller's own objects.
fn outlives(run: &Recording<'_>, write: &LoggedWrite, activation: &Activation) -> Option<u32> {
    let is_older = match write.holder {
        Holder::Global | Holder::Class => Some(0),
        Holder::Variable(environment) => (environment < activation.environment).then_some(0),
        Holder::Object(object) | Holder::Iterator(object) => {
            object_outlives(run, object, activation).map(|needed| needed.max(carried(run, write, object, activation)))
        }
    };
    // An object whose previous value is restored: `self.rng = old`.
    let is_part = matches!(run.terms.get(write.term), Term::Attribute(..) | Term::Item(..));
    if let Holder::Object(object) = write.holder
        && is_part
        && run.terms.root(object) == run.terms.root(write.term)
    {
        return None;
    }
    let is_iterator = matches!(write.holder, Holder::Iterator(_));
    is_older.filter(|_| {
        is_iterator || is_made_within(run, write.term, activation) || source(run, write.term, activation).is_some()
    })
}

/// The same for an object, by its term.
pub fn object_outlives(run: &Recording<'_>, object: TermId, activation: &Activation) -> Option<u32> {
    let root = run.terms.root(object);
    if let Some(parameter) = parameter_of(run, root, activation).or_else(|| parameter_holding(run, object, activation))
    {
        return Some(parameter + 1);
    }
    let is_global = matches!(run.terms.get(root), Term::Apply(name, _) if &**name == "<module>");
    (is_global || root < activation.born).then_some(0)
}

/// The number of leading arguments up to the one that holds an object in another iteration, or another run, of the function in which the same
/// write happened; 0 if there is none. The first iteration of a loop is passed the object, and a later one what the one before made of it.
fn carried(run: &Recording<'_>, write: &LoggedWrite, object: TermId, activation: &Activation) -> u32 {
    let is_alike = |other: &&Activation| {
        (other.module, other.function) == (activation.module, activation.function) && other.id != activation.id
    };
    let same = run.log.writes.iter().filter(|other| other.place == write.place && other.holder == write.holder);
    let activations = same.filter_map(|other| other.activation.outwards().take(STEPS).find(is_alike));
    let numbers = activations.filter_map(|other| parameter_holding(run, object, other));
    numbers.map(|number| number + 1).max().unwrap_or(0)
}

/// The index of the parameter of an activation's function that a symbol stands for.
fn parameter_of(run: &Recording<'_>, root: TermId, activation: &Activation) -> Option<u32> {
    let info = run.terms.symbol(root).filter(|_| run.terms.is_parameter(root))?;
    let (code, file) = (run.code(activation), run.module(activation.module).file);
    let is_it = |span| info.place == Some(place_key(Place { file, span }));
    let number = code.parameters.iter().position(|parameter| is_it(parameter.span))?;
    u32::try_from(number).ok()
}

/// The number of the parameter of an activation's function that holds an object, or one of which the object is a part; the one that holds it
/// most directly: `_step(self, self.state)` gets the state by its second parameter. A parameter that holds another part of the same whole
/// says nothing: `body(self.params)` writes to `self.key`.
fn parameter_holding(run: &Recording<'_>, object: TermId, activation: &Activation) -> Option<u32> {
    let owner = |term: &TermId| match run.terms.get(*term) {
        Term::Attribute(of, ..) | Term::Item(of, ..) => Some(*of),
        _ => None,
    };
    let wholes: Vec<TermId> = std::iter::successors(Some(object), owner).take(STEPS).collect();
    let environment = &run.environments[activation.environment.0 as usize];
    let passed = environment.passed.iter().map(|(slot, value)| (*slot, value));
    let held = (0..).zip(environment.slots.iter().take(run.code(activation).parameters.len()));
    let given: Vec<(u32, &Value)> = passed.chain(held).collect();
    let holds_it = |depth, whole: &TermId| {
        let holds = |(_, value): &&(u32, &Value)| holds(run, value, *whole, (depth, &Cell::new(PARTS)));
        given.iter().find(holds).map(|(slot, _)| *slot)
    };
    (0..=NESTED).find_map(|depth| wholes.iter().find_map(|whole| holds_it(depth, whole)))
}

/// The last parameter of an activation's function that a key is computed from.
fn source(run: &Recording<'_>, key: TermId, activation: &Activation) -> Option<u32> {
    let slots = &run.environments[activation.environment.0 as usize].slots;
    let holds = |value: &Value, part: TermId| {
        let is_key = |val: &Val| matches!(val, Val::Key(key) if run.terms.root(key.term) == part);
        stands_for(run, value, part) || value.alternatives().iter().any(|alternative| is_key(&alternative.val))
    };
    let is_key = |value: &Value, part: TermId| {
        value.alternatives().iter().any(|alternative| matches!(&alternative.val, Val::Key(key) if key.term == part))
    };
    let position = |is_it: &dyn Fn(&Value) -> bool| {
        let number = slots.iter().take(run.code(activation).parameters.len()).rposition(is_it);
        number.and_then(|number| u32::try_from(number).ok())
    };
    let last = Cell::new(None);
    run.terms.mentions(key, &|part| {
        if run.terms.symbol(part).is_some() {
            let holding = position(&|slot| holds(slot, part));
            last.set(last.get().max(holding).max(parameter_of(run, part, activation)));
        } else {
            // The caller passed a key that it made from a constant.
            last.set(last.get().max(position(&|slot| is_key(slot, part))));
        }
        false
    });
    last.get()
}

/// Whether a value has a term as its root.
fn stands_for(run: &Recording<'_>, value: &Value, root: TermId) -> bool {
    value.alternatives().iter().any(|alternative| match &alternative.val {
        Val::Term(term) => run.terms.root(*term) == root,
        Val::Object(id) => run.terms.root(run.objects[id.0 as usize].symbol) == root,
        _ => false,
    })
}

/// Whether a value, or a part of it down to a depth, is an object; at most so many parts are compared.
fn holds(run: &Recording<'_>, value: &Value, whole: TermId, (depth, parts): (u32, &Cell<usize>)) -> bool {
    let within = |part: &Value| {
        let left = parts.get();
        parts.set(left.saturating_sub(1));
        depth > 0 && left > 0 && holds(run, part, whole, (depth - 1, parts))
    };
    value.alternatives().iter().any(|alternative| match &alternative.val {
        Val::Term(term) => *term == whole,
        Val::Tuple(elements) => elements.iter().any(within),
        Val::Object(id) => {
            let object = &run.objects[id.0 as usize];
            let is_part = || object.kind.held().any(|(_, value)| within(value));
            let own = [Some(object.symbol), object.copied];
            own.into_iter().flatten().any(|own| own == whole) || object.attributes.values().any(within) || is_part()
        }
        _ => false,
    })
}

/// Whether a key is computed in an activation, or passed to it: a key made earlier is not a tracer.
fn is_made_within(run: &Recording<'_>, key: TermId, activation: &Activation) -> bool {
    if parameter_of(run, run.terms.root(key), activation).is_some() {
        return true;
    }
    let ancestors = run.terms.ancestors(key);
    // A split is recorded as the array of all children.
    let family = |term| match run.terms.get(term) {
        Term::Children(parent) => Some(*parent),
        _ => None,
    };
    run.log.derivations.iter().any(|derivation| {
        let is_it = derivation.term == key
            || ancestors.contains(&derivation.term)
            || family(derivation.term).is_some_and(|parent| ancestors.contains(&parent));
        is_it && is_within(&derivation.activation, activation)
    })
}

pub fn is_within(inner: &Activation, outer: &Activation) -> bool {
    inner.outwards().any(|activation| activation.id == outer.id)
}

/// Decides what happened in a trace, when all modules are known.
pub fn reconcile(modules: &mut [Facts]) {
    let mut traced: BTreeMap<Place, Vec<TracedFunction>> = BTreeMap::new();
    for function in modules.iter().flat_map(|facts| &facts.traced) {
        traced.entry(function.defined_at).or_default().push(function.clone());
    }
    for facts in modules.iter_mut() {
        let mut seen = BTreeSet::new();
        for leak in &mut facts.leaked {
            leak.trace = trace_of(&traced, &leak.steps, |step, way| {
                let is_tracer = !step.is_given
                    || leak.kind == LeakKind::Iterator
                    || step.source.is_some_and(|parameter| parameter >= way.bound);
                is_tracer && !matches!(way.kind, TraceKind::Mapped | TraceKind::Forward)
            });
        }
        for draw in &mut facts.host {
            draw.trace =
                trace_of(&traced, &draw.steps, |_, way| !matches!(way.kind, TraceKind::Abstract | TraceKind::Forward));
        }
        // One draw is reported where it is drawn, if that is traced.
        facts
            .host
            .sort_by_key(|draw| (draw.leaf, draw.trace.as_ref().map(|trace| (trace.place != draw.leaf, trace.place))));
        let (mut drawn, mut places) = (BTreeSet::new(), BTreeSet::new());
        facts.host.retain(|draw| {
            draw.trace.as_ref().is_some_and(|trace| drawn.insert(draw.leaf) && places.insert(trace.place))
        });
        // An iterator that advances stores its next key somewhere: that is one cause.
        let is_iterator = |leak: &LeakedKey| leak.kind == LeakKind::Iterator;
        facts.leaked.sort_by_key(|leak| (leak.trace.as_ref().map(|trace| trace.place), !is_iterator(leak), leak.leaf));
        let mut advanced = BTreeSet::new();
        facts.leaked.retain(|leak| {
            let Some(trace) = &leak.trace else { return false };
            if is_iterator(leak) {
                advanced.insert(trace.place);
            }
            (is_iterator(leak) || !advanced.contains(&trace.place))
                && seen.insert((trace.function.clone(), leak.name.clone()))
        });
        // A leak at the same place already says that the key is captured.
        let leaks: BTreeSet<Place> = facts.leaked.iter().filter_map(|leak| Some(leak.trace.as_ref()?.place)).collect();
        facts.captured.retain(|captured| !leaks.contains(&captured.used.place));
        let known = known_otherwise(facts);
        for constant in &mut facts.constant {
            constant.trace = trace_of(&traced, &constant.steps, |step, way| {
                let is_repeated = match way.kind {
                    TraceKind::Recorded | TraceKind::Looped => true,
                    TraceKind::Forward => constant.is_noise,
                    TraceKind::Branch | TraceKind::Abstract | TraceKind::Mapped => false,
                };
                is_repeated && way.bound < step.parameters
            });
        }
        for frozen in &mut facts.frozen {
            frozen.trace = trace_of(&traced, &frozen.steps, |step, _| {
                let ways = traced.get(&step.defined_at).map_or(&[][..], Vec::as_slice);
                frozen.shares_a_trace(ways)
            });
        }
        for ConstantKey { steps, trace, confidence, .. } in &mut facts.constant {
            let is_it = |step: &TraceStep| trace.as_ref().is_some_and(|trace| trace.function == step.function);
            if steps.iter().any(|step| step.makes_state && is_it(step)) {
                *confidence = Confidence::Low;
            }
        }
        facts.constant.sort_by_key(|constant| (constant.made_at, constant.trace.as_ref().map(|trace| trace.place)));
        let mut made = BTreeSet::new();
        facts.constant.retain(|constant| {
            let is_known = known.contains(&constant.made_at) || known.contains(&constant.used.leaf);
            let trace = constant.trace.as_ref().filter(|trace| !is_known && !known.contains(&trace.place));
            trace.is_some() && made.insert(constant.made_at)
        });
        facts.frozen.sort_by_key(|frozen| frozen.trace.as_ref().map(|trace| trace.place));
        let mut read = BTreeSet::new();
        facts.frozen.retain(|frozen| {
            let trace = frozen.trace.as_ref().filter(|_| !known.contains(&frozen.used.leaf));
            trace.is_some_and(|trace| !known.contains(&trace.place) && read.insert(trace.place))
        });
    }
}

/// Where keys are made and drawn from that another fact already reports. A fact that is hidden by default does not count.
fn known_otherwise(facts: &Facts) -> BTreeSet<Place> {
    let mut known = BTreeSet::new();
    let shown = facts.reuses.iter().filter(|reuse| reuse.confidence > Confidence::Low && !reuse.is_harmless());
    for reuse in shown {
        known.extend([reuse.first.leaf, reuse.second.leaf]);
        known.extend(reuse.derived_at.into_iter().flat_map(|(first, second)| [first, second]));
        known.extend(reuse.origin.as_ref().map(|origin| origin.place));
    }
    let broadcasts = || facts.broadcasts.iter().filter(|broadcast| broadcast.confidence > Confidence::Low);
    known.extend(broadcasts().map(|broadcast| broadcast.used.leaf));
    known.extend(broadcasts().filter_map(|broadcast| broadcast.made_at));
    known.extend(facts.ignored.iter().map(|ignored| ignored.place));
    known.extend(facts.leaked.iter().filter_map(|leak| leak.trace.as_ref()).map(|trace| trace.place));
    known
}

/// The innermost of some functions that is traced in a way that counts.
fn trace_of(
    traced: &BTreeMap<Place, Vec<TracedFunction>>,
    steps: &[TraceStep],
    counts: impl Fn(&TraceStep, &TracedFunction) -> bool,
) -> Option<Trace> {
    steps.iter().find_map(|step| {
        let needed = step.bound?;
        let ways = traced.get(&step.defined_at)?;
        let how =
            ways.iter().filter(|way| counts(step, way) && way.bound >= needed).min_by_key(|way| (way.kind, way.at))?;
        Some(Trace {
            place: step.place,
            function: step.function.clone(),
            transform: how.transform.clone(),
            at: how.at,
            kind: how.kind,
            depends_on_argument: step.source.is_some_and(|parameter| parameter >= how.bound),
        })
    })
}
