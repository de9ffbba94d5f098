//! What is analysed: the module's body, then every function and method on its own, with symbols for its parameters.
//!
//! **Invariant:** every function of a module that may involve keys is run at least once: from its module, as an entry, or, if it is a
//! closure that was never called, on its own at the end of the function that created it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::Symbol;
use crate::analysis::domain::value::{ClassHandle, Closure, ModuleIndex, PartialKind, Val, Value};
use crate::analysis::kept::{EntryEnd, EntryStart, KeptRuns, Learned};
use crate::analysis::machine::context::PendingClosure;
use crate::analysis::machine::{Frame, Machine, annotate, call, captured, construct};
use crate::analysis::program::names::{excludes_none, is_of_another_kind};
use crate::analysis::program::{Program, is_entry};
use crate::analysis::record::{Activation, Escape, Reader, Recording, Shown, Stage};
use crate::analysis::snapshot::ImportSnapshot;
use crate::analysis::store::budget::{Budget, FUEL};
use crate::analysis::store::heap::ObjectKind;
use crate::analysis::store::paths::{Paths, Running};
use crate::analysis::{constructors, drawing_defaults, late_writes, snapshot};
use crate::finding::Place;
use crate::ir::{Function, FunctionId, FunctionKind, Module, Name, Op, OpKind, ParameterKind, Temp, Variable};

/// Most closures that are run on their own after one entry.
const CLOSURES: usize = 64;

/// Most closures that are searched for keys after one entry.
const SEARCHED: usize = 1_024;

/// Operations that the analyses of all functions of one module may run; beyond this, each gets as many as its body has,
/// and a share for its calls.
const MODULE_OPERATIONS: u32 = 1_000_000;

/// Most functions that are searched for calls that lead to one function.
const CALLERS: usize = 16;

/// Runs one module of a program, and each of its functions that may involve keys, in a snapshot of that program, or of a program that
/// differs only in the text of this module and has the same functions in it. The reader sees what each run recorded.
///
/// With the runs of an earlier analysis, those that would be the same are not repeated. The caller has dropped those that a change of the
/// program outside of `program.module(index)`, or of anything but operations in it, may affect.
pub fn run(
    snapshot: &mut ImportSnapshot,
    program: &Program<'_>,
    index: ModuleIndex,
    mut kept: Option<&mut KeptRuns>,
    reader: &mut Reader<'_>,
) {
    if !program.relevance.any(index) {
        return;
    }
    let module = program.module(index);
    let marks = snapshot.marks();
    let mut base = snapshot::within(snapshot, program, index);
    // What loops read of all functions is compared as a whole.
    let cyclic = module.unrecorded(|| base.cyclic_attributes(index));
    if kept.is_some() {
        module.take_read();
    }
    base.run_module(index);
    run_pending(&mut base);
    note_annotations(&mut base);
    show(&mut base, Stage::Body, reader);
    let wanted = constructors::run_constructors(&mut base);
    let read = if kept.is_some() { module.take_read() } else { Vec::new() };
    let writes = late_writes::late_writes(&base);
    if let Some(kept) = kept.as_deref_mut() {
        kept.begin(read, Learned { wanted, writes: writes.clone(), cyclic: FxHashSet::clone(&cyclic) });
    }
    let rebound = rebound_globals(module);
    let mut left = MODULE_OPERATIONS;
    for (number, function) in (0u32..).zip(&module.functions) {
        let id = FunctionId(number);
        if !is_entry(module, function) || !program.relevance.is_entry(index, id) || !program.selects(id) {
            continue;
        }
        let fuel = left.clamp(Budget::least_for(function), FUEL);
        let last_mention = last_call(module, &rebound, id);
        let fruitless = base.budget.fruitless.borrow().clone();
        let start = EntryStart { fuel, last_mention, fruitless };
        if let Some(end) = kept.as_deref_mut().and_then(|kept| kept.take(id, &start)) {
            left = left.saturating_sub(end.used);
            *base.budget.fruitless.borrow_mut() = end.fruitless;
            reader(Shown::AsBefore(id));
            continue;
        }
        if kept.is_some() {
            module.take_read();
        }
        let marks = (base.state.terms.mark(), base.state.paths.guards.mark(), base.recorder.log().derivations.len());
        let mut entry = for_entry(&mut base);
        entry.budget.fuel = fuel;
        if let Some(last) = last_mention {
            forget_later_globals(&mut entry, &rebound, last);
        }
        late_writes::forget(&mut entry, &writes);
        run_entry(&mut entry, id);
        run_pending(&mut entry);
        let used = fuel.saturating_sub(entry.budget.fuel);
        left = left.saturating_sub(used);
        show(&mut entry, Stage::Entry(id), reader);
        reclaim(&mut base, entry, marks);
        if let Some(kept) = kept.as_deref_mut() {
            let fruitless = base.budget.fruitless.borrow().clone();
            kept.keep(id, start, module.take_read(), EntryEnd { used, fruitless });
        }
    }
    show(&mut base, Stage::End, reader);
    snapshot.reclaim(base, marks);
}

/// Passes the recording so far to the reader. The reader's queries have their own budget.
fn show(machine: &mut Machine<'_>, stage: Stage, reader: &mut Reader<'_>) {
    let limited = limit(machine);
    machine.state.paths.guards.renew();
    let recording = Recording {
        stage,
        program: machine.program,
        home: machine.context.home,
        log: machine.recorder.log(),
        terms: &machine.state.terms,
        objects: &machine.state.store.objects,
        environments: &machine.state.store.environments,
        classes: &machine.state.store.classes,
        frozen_classes: &machine.state.store.frozen_classes,
        modules: &machine.state.store.modules,
        followed: &machine.caches.imported,
        made: &machine.state.store.definitions,
        escaped: machine.recorder.escaped(),
        replays: &machine.context.replays,
        exhausted: machine.budget.exhausted,
        limited,
        operations: machine.budget.ran,
        uses: &machine.caches.uses,
    };
    reader(Shown::Recorded(&recording, &mut machine.state.paths.guards));
}

/// The bound that may have hidden findings of this run: it ended all paths, or cut off a call with a key.
fn limit(machine: &Machine<'_>) -> Option<(Place, &'static str)> {
    let Budget { cut_off, limited, exhausted, .. } = machine.budget;
    cut_off.or(limited).or(exhausted.filter(|_| machine.state.paths.guards.exhausted()))
}

/// The state after the module's body, with an empty log. Terms, guards and derivations are lent, for [`reclaim`].
fn for_entry<'p>(machine: &mut Machine<'p>) -> Machine<'p> {
    // The recording of the module's body is not copied.
    let mut recorded = std::mem::take(&mut machine.recorder);
    let (terms, mut guards) =
        (std::mem::take(&mut machine.state.terms), std::mem::take(&mut machine.state.paths.guards));
    let (feasibility, compatible) =
        (std::mem::take(&mut machine.state.paths.feasibility), std::mem::take(&mut machine.state.paths.compatible));
    guards.renew();
    let mut run = machine.clone();
    run.state.terms = terms;
    run.state.paths = Paths { feasibility, compatible, ..Paths::of(guards) };
    run.state.store.parts = 0;
    run.recorder = recorded.for_next_run();
    machine.recorder = recorded;
    run.budget.renew();
    run.context.pending.clear();
    run
}

/// The sizes of terms, guards and derivations.
type Marks = ((usize, usize), (usize, usize), usize);

/// Takes back the terms, guards and derivations that were lent to an entry, without those that it added.
fn reclaim<'p>(machine: &mut Machine<'p>, run: Machine<'p>, (terms, guards, derivations): Marks) {
    machine.recorder.take_back(run.recorder, derivations);
    machine.state.terms = run.state.terms;
    machine.state.paths.guards = run.state.paths.guards;
    machine.state.terms.truncate(terms);
    machine.state.paths.guards.truncate(guards);
    (machine.state.paths.feasibility, machine.state.paths.compatible) =
        (run.state.paths.feasibility, run.state.paths.compatible);
    machine.state.paths.feasibility.clear();
    machine.state.paths.compatible.clear();
}

/// The class that a method belongs to.
fn class_of(machine: &Machine<'_>, function: &Function) -> Option<ClassHandle> {
    let class = function.class?;
    let mut own = machine.state.store.classes.own().rev();
    let (found, _) = own.find(|(_, info)| info.module == machine.context.home && info.class == class)?;
    Some(ClassHandle(u32::try_from(found).unwrap_or(u32::MAX)))
}

/// Where the module's body last calls a function, directly or through others, if it rebinds globals.
fn last_call(module: &Module, rebound: &BTreeMap<&Name, (Temp, Temp)>, id: FunctionId) -> Option<Temp> {
    let code = module.function(id);
    let is_global = code.parent == Some(Module::BODY) && code.class.is_none();
    if is_global && !rebound.is_empty() { last_mention(module, &code.name) } else { None }
}

/// Forgets the globals that the module's body rebinds after its last call of a function: the function never sees their current values. A
/// key stays known, because the function only needs to know whether it is one.
fn forget_later_globals(machine: &mut Machine<'_>, rebound: &BTreeMap<&Name, (Temp, Temp)>, last: Temp) {
    let Some(state) = machine.state.store.modules.get_mut(&machine.context.home) else { return };
    for (name, _) in rebound.iter().filter(|(_, (first, end))| *first < last && *end > last) {
        // A function that is wrapped after its definition is still the same function; a key is reported with its final
        // value.
        let stays = |value: &Value| {
            value.alternatives().iter().any(|alternative| {
                matches!(alternative.val, Val::Key(_) | Val::Array(_) | Val::Wrapped(_) | Val::Partial(_))
            })
        };
        if state.globals.get(*name).is_some_and(|value| !stays(value)) {
            Arc::make_mut(&mut state.globals).remove(*name);
        }
    }
}

/// The globals that the module's body binds more than once, with the first store and the last.
fn rebound_globals(module: &Module) -> BTreeMap<&Name, (Temp, Temp)> {
    let mut stores: BTreeMap<&Name, (Temp, Temp)> = BTreeMap::new();
    for (temp, op) in (0u32..).zip(&module.function(Module::BODY).ops) {
        if let OpKind::Store(Variable::Global(name), _) = &op.kind {
            stores.entry(name).or_insert((temp, temp)).1 = temp;
        }
    }
    stores.retain(|_, (first, last)| first < last);
    stores
}

/// The last place at which the module's body mentions a function, directly or through a function of the module; `None`
/// if others may call it, or too many do.
fn last_mention(module: &Module, name: &Name) -> Option<Temp> {
    let mut names = vec![name];
    let (mut at, mut last) = (0, None);
    while let Some(name) = names.get(at).copied() {
        at += 1;
        let is_it = |op: &Op| matches!(&op.kind, OpKind::Load(Variable::Global(read)) if read == name);
        for code in &module.functions {
            if code.kind == FunctionKind::Module {
                let mentions = (0u32..).zip(&code.ops).filter(|(_, op)| is_it(op)).map(|(temp, _)| temp);
                last = last.max(mentions.max());
            } else if code.ops.iter().any(is_it) && !names.contains(&&code.name) {
                let is_global = code.parent == Some(Module::BODY) && code.class.is_none();
                if !is_global || names.len() == CALLERS {
                    return None;
                }
                names.push(&code.name);
            }
        }
    }
    last
}

fn run_entry(machine: &mut Machine<'_>, id: FunctionId) {
    let code = machine.module(machine.context.home).function(id);
    let class = class_of(machine, code);
    let closure = machine.state.store.definitions.get(&(machine.context.home, id)).cloned();
    let mut slots = symbolic_parameters(machine, machine.context.home, code, class);
    if let Some(closure) = &closure {
        drawing_defaults::give(machine, code, &closure.defaults, &mut slots);
    }
    if let (Some(class), Some(instance)) = (class, slots.first()) {
        constructors::set_stored_attributes(machine, id, class, instance);
    }
    machine.recorder.enter(slots.clone());
    let environment =
        call::new_environment(&mut machine.state, slots, closure.as_ref().and_then(|closure| closure.environment));
    let activation = machine.root_activation(machine.context.home, id, environment);
    machine.run_frame(machine.context.home, id, environment, class, activation);
}

/// Symbols for the parameters of a function.
pub fn symbolic_parameters<'p>(
    machine: &mut Machine<'p>,
    module: ModuleIndex,
    code: &'p Function,
    class: Option<ClassHandle>,
) -> Vec<Value> {
    let mut slots = Value::places(code.slots.len());
    let file = machine.module(module).file;
    let lookup = class.and_then(|class| machine.state.class_attribute(class, &code.name));
    let kind = match lookup.as_ref().and_then(Value::single) {
        Some(Val::Partial(partial)) => &partial.kind,
        _ => &PartialKind::Bound,
    };
    for (index, parameter) in code.parameters.iter().enumerate() {
        let place = Place { file, span: parameter.span };
        let receiver = index == 0 && construct::takes_self(code) && *kind != PartialKind::StaticMethod;
        let value = match (receiver, class) {
            (true, Some(class)) if *kind == PartialKind::ClassMethod => Value::of(Val::Class(class)),
            (true, Some(class)) => {
                let symbol = machine.state.terms.fresh(Symbol::Parameter, parameter.name.clone(), Some(place));
                let object = machine.state.allocate_with(ObjectKind::Instance, symbol, Some(class), true);
                machine.state.store.shadows.insert(symbol, object);
                Value::of(Val::Object(object))
            }
            _ => {
                let symbol = machine.state.terms.fresh(Symbol::Parameter, parameter.name.clone(), Some(place));
                let value = Value::term(symbol);
                let words = &machine.program.models.words;
                let annotation = parameter.annotation.as_ref();
                if annotation
                    .is_some_and(|of| is_of_another_kind(words, of) || annotate::admits_stream(machine, module, of))
                {
                    machine.recorder.declare_otherwise(symbol);
                }
                if !parameter.has_default && annotation.is_some_and(|of| excludes_none(words, of)) {
                    machine.recorder.declare_given(symbol);
                }
                match &parameter.annotation {
                    Some(annotation)
                        if !matches!(parameter.kind, ParameterKind::Variadic | ParameterKind::Keywords) =>
                    {
                        annotate::annotated_in(machine, module, &value, annotation)
                    }
                    _ => value,
                }
            }
        };
        if let Some(slot) = slots.get_mut(index) {
            *slot = value;
        }
    }
    slots
}

/// Runs the closures that have not been run.
fn run_pending(machine: &mut Machine<'_>) {
    let mut left = CLOSURES;
    for _ in 0..SEARCHED {
        let Some((_, pending)) = machine.context.pending.pop_first().filter(|_| left > 0) else { break };
        let closure = pending.closure.clone();
        let escape = match (pending.stored, pending.transformed) {
            (true, true) => Escape::Transformed,
            (true, false) => Escape::Stored,
            (false, _) => Escape::Passed,
        };
        left -= usize::from(run_alone(machine, &closure, &pending, escape));
    }
    machine.context.pending.clear();
}

/// Runs a closure on its own, if that can reveal anything; returns whether it ran.
fn run_alone(machine: &mut Machine<'_>, closure: &Arc<Closure>, pending: &PendingClosure, escape: Escape) -> bool {
    let code = machine.module(closure.module).function(closure.function);
    let guard = pending.guard;
    if code.is_stub || !captured::may_reach_keys(machine, closure, pending.in_call) || !machine.state.feasible(guard) {
        return false;
    }
    machine.state.paths.run(Running::on(guard));
    let born = machine.state.terms.fresh(Symbol::Opaque, "<entry>", None);
    // A method of a class that a function defines.
    let class = closure.class.filter(|_| code.class.is_some());
    let slots = symbolic_parameters(machine, closure.module, code, class);
    let environment = call::new_environment(&mut machine.state, slots, closure.environment);
    let activation = machine.root_activation(closure.module, closure.function, environment);
    machine.recorder.escape(machine.context.activations, escape, born);
    let fuel = machine.budget.fuel.max(FUEL / 4);
    machine.budget.fuel = fuel;
    machine.run_frame(closure.module, closure.function, environment, closure.class, activation);
    true
}

/// Records the library names in the annotations of the module.
fn note_annotations(machine: &mut Machine<'_>) {
    let module = machine.module(machine.context.home);
    for (number, function) in (0u32..).zip(&module.functions) {
        let annotations: Vec<_> = function
            .parameters
            .iter()
            .filter_map(|parameter| parameter.annotation.as_ref())
            .chain(function.returns.as_ref())
            .collect();
        if annotations.is_empty() {
            continue;
        }
        let frame = bare_frame(machine, FunctionId(number), function);
        for annotation in annotations {
            annotate::note_annotation(machine, &frame, annotation);
        }
    }
    for class in &module.classes {
        let function = module.function(class.body);
        let frame = bare_frame(machine, class.body, function);
        for field in &class.fields {
            annotate::note_annotation(machine, &frame, &field.annotation);
        }
    }
}

/// A frame that runs nothing: a place to which facts can be attributed.
fn bare_frame<'p>(machine: &Machine<'p>, id: FunctionId, code: &'p Function) -> Frame<'p> {
    Frame {
        module: machine.context.home,
        code,
        environment: crate::analysis::domain::value::EnvironmentId(0),
        class: None,
        temps: Vec::new(),
        returns: Vec::new(),
        yields: Vec::new(),
        loops: Vec::new(),
        left: Guard::FALSE,
        inlined: None,
        may_continue: false,
        activation: Arc::new(Activation {
            id: 0,
            caller: None,
            module: machine.context.home,
            function: id,
            depth: 0,
            environment: crate::analysis::domain::value::EnvironmentId(0),
            root: true,
            born: machine.state.terms.next(),
        }),
    }
}
