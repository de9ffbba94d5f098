//! Attributes and globals whose key is consumed although no new one is stored.
//!
//! **Invariant:** a store anywhere in the class or module counts as a new key. The exception is a method that consumes the key in an
//! attribute and stores there: another method that leaves the same key in the attribute is reported.

use std::collections::BTreeSet;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::domain::value::{ClassHandle, ModuleIndex, Val, Value};
use crate::analysis::record::{Activation, Consumption, Holder, LoggedRead, LoggedStore, LoggedWrite, Recording};
use crate::finding::{Confidence, Place};
use crate::ir::{
    Argument, Constant, Function, FunctionId, FunctionKind, Module, Name, Op, OpKind, Operator, Temp, Variable,
    is_written_alike, prelude,
};
use crate::judge::derivation::derivation;
use crate::judge::facts::{CaptureKind, CapturedUse, CarriedKey, CarryKind, Facts, Role, StaleState, Use};
use crate::judge::intent::of_captured;
use crate::judge::memoised::{is_memoised, sets_attribute};
use crate::judge::naming::leaf_use;
use crate::judge::paths::PathQueries;
use crate::judge::reuse::{is_known_key, is_tested_for_a_class, use_at};
use crate::judge::stale_places;
use crate::models::Effect;

/// Most enclosing functions, up to the module's body, that are searched.
const CALLERS: u32 = 4;

/// Most functions that are searched for calls that lead to one function.
const LEADING: usize = 16;

/// A method that consumes an attribute of its instance, or a function that consumes a global, and stores nothing.
#[derive(Clone)]
struct Candidate {
    class: Option<ClassHandle>,
    name: Name,
    /// Whether unknown code that got the object may have replaced the key.
    may_be_replaced: bool,
    /// Whether the method splits the key, and nothing reads the next one.
    loses_next: bool,
    /// Whether a callee consumes it only if it is of a class.
    is_tested: bool,
    fact: StaleState,
}

impl Candidate {
    /// A key that no attribute of an instance holds.
    fn of(name: Name, fact: StaleState) -> Self {
        Self { class: None, name, may_be_replaced: false, loses_next: false, is_tested: false, fact }
    }
}

/// What functions store, and what they consume without storing, accumulated over all runs of a module.
#[derive(Clone, Default)]
pub struct Stale {
    candidates: Vec<Candidate>,
    stores: Vec<LoggedStore>,
    left: Vec<ConsumedAttribute>,
    /// The attributes that methods advance.
    advanced: Vec<Advance>,
}

/// A method consumes the key in an attribute and replaces it.
#[derive(Clone)]
struct Advance {
    class: ClassHandle,
    name: Name,
    /// The name of the method.
    function: Name,
    /// Where it consumes the key.
    place: Place,
}

/// A key that a method consumes and leaves in an attribute.
#[derive(Clone)]
struct ConsumedAttribute {
    class: ClassHandle,
    name: Name,
    fact: CarriedKey,
}

impl Stale {
    /// Adds what another run stored and consumed.
    pub fn absorb(&mut self, other: Self) {
        self.candidates.extend(other.candidates);
        self.stores.extend(other.stores);
        self.left.extend(other.left);
        self.advanced.extend(other.advanced);
    }

    /// Collects what a run stored.
    pub fn note_stores(&mut self, run: &Recording<'_>) {
        self.stores.extend(run.log.stores.iter().cloned());
    }

    /// Collects what a function consumes without storing a new key.
    pub fn note_candidates(&mut self, run: &Recording<'_>, paths: &mut PathQueries<'_>, id: FunctionId) {
        self.candidates.extend(candidates(run, paths, id));
        self.left.extend(consumed_attributes(run, id));
        if !is_constructor(&run.module(run.home).function(id).name) {
            self.advanced.extend(advanced(run, id));
        }
    }

    /// The stale attributes of the module, the captures, and what methods leave to those that follow.
    pub fn extract(self, run: &Recording<'_>, facts: &mut Facts) {
        let Self { candidates, stores, left, advanced } = self;
        let mut stale = attributes_of(run, candidates, &stores, &advanced);
        facts.captured.retain(|captured| stale.iter().all(|fact| fact.used.place != captured.used.place));
        facts.captured.extend(captured_globals(run, &mut stale));
        facts.stale.extend(stale);
        for ConsumedAttribute { class, name, mut fact } in left {
            let is_it = |of: &ClassHandle| run.lineage(*of).contains(&class);
            if let Some(advance) = advanced.iter().find(|advance| advance.name == name && is_it(&advance.class)) {
                fact.place = advance.place;
                facts.carried.push(fact);
            }
        }
    }
}

/// Attributes and globals whose key this function consumes without storing a new one.
fn candidates(run: &Recording<'_>, paths: &mut PathQueries<'_>, id: FunctionId) -> Vec<Candidate> {
    let file = run.module(run.home).file;
    let code = run.module(run.home).function(id);
    if &*code.name == "__init__" {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    for event in run.log.consumptions.clone() {
        let consumes = match event.role {
            Role::Sample | Role::Split => true,
            // A method's name alone does not make its argument a key.
            Role::Protocol => is_known_key(run, &event),
            _ => false,
        };
        if !consumes {
            continue;
        }
        let (outermost, place) = event.chain()[0].clone();
        let is_own = outermost.module == run.home && place.file == file;
        if !is_own || !is_within(run.module(run.home), outermost.function, id) {
            continue;
        }
        let is_kept = event.activation.outwards().any(|activation| is_memoised(run, activation));
        if is_kept || happens_once(run, paths, code, event.guard) {
            continue;
        }
        let used = Use { place, ..leaf_use(run, &event) };
        let (held, element) = held_in(run, &event);
        if let Some((name, stored_at)) = stale_places::left_in(run, &event) {
            let code = run.module(run.home).function(outermost.function);
            let mut fact = StaleState { stored_at: Some(stored_at), ..stale_fact(used, name.clone(), code) };
            let is_part_of_setup = run.program.models.words.names_a_first_construction(&code.name);
            if is_part_of_setup || is_called_once(run, code) || runs_once(run, code, CALLERS) {
                fact.confidence = Confidence::Low;
            }
            candidates.push(Candidate::of(name.into(), fact));
            continue;
        }
        // What a nested function leaves in attributes and globals is known where it runs.
        if outermost.function != id {
            continue;
        }
        if let Some((class, name)) = attribute_of_self(run, held) {
            if run.log.stores.iter().any(|store| store.name == name) || is_passed_on(run, &event, &name) {
                continue;
            }
            let owner = run.terms.owner(held).and_then(|owner| run.terms.symbol(owner));
            let owner = owner.map_or("self", |info| &*info.text);
            let mut fact = stale_fact(used, format!("{owner}.{name}{element}"), code);
            let is_part_of_setup = run.program.models.words.names_a_first_construction(&code.name);
            if is_part_of_setup || is_called_once(run, code) || is_run_by_python(run, code, class) {
                fact.confidence = Confidence::Low;
            }
            let owner = run.terms.owner(held);
            let may_be_replaced = run.objects.iter().any(|object| Some(object.symbol) == owner && object.key_epoch > 0);
            // A copy that still holds the key is reported where it leaves.
            let is_copied = || run.log.exits.iter().any(|exit| exit.term == event.target.term);
            let loses_next = code.class.is_some() && stale_places::leaves_out_the_next(run, &event) && !is_copied();
            let is_tested = is_tested_for_a_class(run, paths, &event);
            candidates.push(Candidate { class: Some(class), name, may_be_replaced, loses_next, is_tested, fact });
        } else if let Some(read) = global_read(run, event.target.term)
            && !run.log.global_stores.contains(&read.name)
            && !is_rebound(run, &read.name)
            && !is_replaced_by_the_body(run, code, &read.name)
        {
            let name = read.name.clone();
            let mut fact = stale_fact(used, name.to_string(), code);
            if runs_once(run, code, CALLERS) {
                fact.confidence = Confidence::Low;
            }
            candidates.push(Candidate::of(name, fact));
        }
    }
    candidates
}

/// Whether a function is another one, or defined within it.
fn is_within(module: &Module, inner: FunctionId, outer: FunctionId) -> bool {
    let around = |id: &FunctionId| module.function(*id).parent;
    std::iter::successors(Some(inner), around).take(module.functions.len()).any(|id| id == outer)
}

/// Where a function of the module reads a key from a global.
fn global_read<'r>(run: &'r Recording<'_>, key: TermId) -> Option<&'r LoggedRead> {
    run.log.reads.iter().find(|read| read.holder == Holder::Global && read.key.term == key)
}

/// The keys that a method consumes and leaves in attributes of its instance, and that it made from those that were there; those that it stores
/// later are reported there. A constructor may have them from elsewhere.
fn consumed_attributes(run: &Recording<'_>, id: FunctionId) -> Vec<ConsumedAttribute> {
    let events = (0..).zip(&run.log.consumptions);
    let constructs = is_constructor(&run.module(run.home).function(id).name);
    let mut left = Vec::new();
    for (index, event) in events.filter(|(_, event)| matches!(event.role, Role::Sample | Role::Split)) {
        let chain = event.chain();
        let (outermost, place) = &chain[0];
        let is_own = outermost.function == id && outermost.module == run.home;
        let is_later = |write: &LoggedWrite| {
            let mut exits = run.log.exits.iter().filter(|exit| exit.place == write.place);
            exits.any(|exit| exit.after > index)
        };
        let held =
            run.log.writes.iter().filter(|write| {
                write.term == event.target.term && write.activation.id == outermost.id && !is_later(write)
            });
        for write in held.filter(|_| is_own) {
            let Some(store) = run.log.stores.iter().find(|store| store.place == write.place) else { continue };
            // A key from a caller is replaced when the method is called again.
            let is_next = |ancestor: &TermId| matches!(run.terms.get(*ancestor), Term::Attribute(_, name, _) if *name == store.name);
            if !constructs && !run.terms.ancestors(write.term).iter().any(is_next) {
                continue;
            }
            // `self.rng, x = f(self.rng)`: the stored value replaces the key, whatever it is.
            let is_below = |other: &LoggedStore| {
                (other.class, &other.name) == (store.class, &store.name)
                    && other.place.span.start > store.place.span.start
            };
            // A method that splits the key replaces it by a child.
            let is_by_child = |other: &LoggedWrite| {
                event.role == Role::Split
                    && chain.iter().skip(1).any(|(consumer, _)| consumer.id == other.activation.id)
                    && run.terms.ancestors(other.term).contains(&event.target.term)
            };
            if run.log.stores.iter().any(is_below)
                || run.log.writes.iter().any(is_by_child)
                || run.exhausted.is_some() && is_stored_again(run, outermost, store)
            {
                continue;
            }
            let fact = CarriedKey {
                kind: CarryKind::Left,
                place: *place,
                used: use_at(run, event, &chain, 0),
                derivation: derivation(run.terms, event.target.term),
                confidence: Confidence::Medium,
                function: run.qualified(outermost),
            };
            left.push(ConsumedAttribute { class: store.class, name: store.name.clone(), fact });
        }
    }
    left
}

/// Whether the code of a function stores the attribute at another place too, where a run that a limit cut off may not have come.
fn is_stored_again(run: &Recording<'_>, activation: &Activation, store: &LoggedStore) -> bool {
    let code = run.code(activation);
    let stores = || {
        code.ops.iter().filter_map(|op| match &op.kind {
            OpKind::StoreAttribute(object, name, _) if *name == store.name => Some((op.span, *object)),
            _ => None,
        })
    };
    let Some((_, object)) = stores().find(|(span, _)| *span == store.place.span) else { return false };
    stores().any(|(span, other)| span != store.place.span && is_written_alike(code, object, other))
}

/// The attributes that a method consumes and replaces.
fn advanced(run: &Recording<'_>, id: FunctionId) -> Vec<Advance> {
    let function = &run.module(run.home).function(id).name;
    let events = run.log.consumptions.iter().filter(|event| matches!(event.role, Role::Sample | Role::Split));
    events
        .filter_map(|event| {
            let (class, name) = attribute_of_self(run, event.target.term)?;
            let is_stored = run.log.stores.iter().any(|store| store.name == name);
            is_stored.then(|| Advance { class, name, function: function.clone(), place: event.place })
        })
        .collect()
}

/// Whether a function around a consumption passes on something by the attribute's name: `state.replace(rng=rng)`.
fn is_passed_on(run: &Recording<'_>, event: &Consumption, name: &Name) -> bool {
    event.activation.outwards().any(|activation| {
        let code = run.module(activation.module).function(activation.function);
        code.ops.iter().any(|op| match &op.kind {
            OpKind::Call(_, arguments) => {
                arguments.iter().any(|argument| matches!(argument, Argument::Keyword(given, _) if given == name))
            }
            _ => false,
        })
    })
}

/// Whether a consumption happens only if an attribute or global is not set yet: `if self.w is None: self.w = …`. Or only if a flag that the
/// function sets is not: `if not self.built: …; self.built = True`.
fn happens_once(run: &Recording<'_>, paths: &PathQueries<'_>, code: &Function, guard: Guard) -> bool {
    let is_set =
        |flag: &Name| code.ops.iter().any(|op| matches!(&op.kind, OpKind::StoreAttribute(_, name, _) if name == flag));
    paths.support(guard).iter().any(|literal| match run.terms.get(*literal) {
        Term::Attribute(_, flag, _) => is_set(flag),
        Term::Operate(Operator::Is, parts) => {
            matches!(run.terms.get(parts[0]), Term::Attribute(..)) && matches!(run.terms.get(parts[1]), Term::None)
        }
        Term::Apply(name, _) => &**name == "builtins.hasattr",
        _ => false,
    })
}

/// Whether the module only calls a function in one place outside loops, in its own statements or in such a function: it is a part of a
/// script, and no second call is visible.
fn runs_once(run: &Recording<'_>, code: &Function, callers: u32) -> bool {
    let is_it = |kind: &OpKind| matches!(kind, OpKind::Load(Variable::Global(name)) if *name == code.name);
    let mut reads = operations(run, &is_it);
    let (Some((id, reader, read)), None) = (reads.next(), reads.next()) else { return false };
    code.name == code.qualified
        && is_called_outside_loops(run, id, read)
        && match reader.kind {
            FunctionKind::Module => true,
            FunctionKind::Def => callers > 0 && runs_once(run, reader, callers - 1),
            _ => false,
        }
}

/// Whether a method's module only calls methods of that name, outside loops, in its own statements, in constructors, or in functions that
/// run once: they are also parts of a script. A second call on one object would be visible there.
fn is_called_once(run: &Recording<'_>, code: &Function) -> bool {
    let is_it = |kind: &OpKind| matches!(kind, OpKind::Attribute(_, name) if *name == code.name);
    // Others may call a public method again.
    let is_setup = |reader: &Function| is_constructor(&reader.name) && code.name.starts_with('_');
    let mut reads = operations(run, &is_it).peekable();
    reads.peek().is_some()
        && reads.all(|(id, reader, read)| {
            (reader.kind == FunctionKind::Module || is_setup(reader) || runs_once(run, reader, CALLERS))
                && is_called_outside_loops(run, id, read)
        })
}

/// Whether a method is run by Python's own library, as `run` of `threading.Thread` is, for each instance once: it overrides one of the
/// methods that the library defines there.
fn is_run_by_python(run: &Recording<'_>, code: &Function, class: ClassHandle) -> bool {
    let is_run = |base: &Value| match base.single() {
        Some(Val::Library(path)) => {
            let callable = run.program.models.callable(path).filter(|callable| callable.exact);
            let definition = callable.and_then(|callable| match &callable.effect {
                Effect::Prelude { definition } => prelude::definition(definition),
                _ => None,
            });
            definition.is_some_and(|definition| {
                let functions = &prelude::modules()[definition.module].functions;
                functions.iter().any(|method| method.class.is_some() && method.name == code.name)
            })
        }
        _ => false,
    };
    run.lineage(class).iter().any(|handle| run.classes[handle.0 as usize].bases.iter().any(is_run))
}

/// The operations of a kind in the home module, with the functions that hold them.
fn operations<'r>(
    run: &Recording<'r>,
    is_it: &dyn Fn(&OpKind) -> bool,
) -> impl Iterator<Item = (FunctionId, &'r Function, Temp)> {
    let functions = (0u32..).map(FunctionId).zip(&run.module(run.home).functions);
    functions.flat_map(move |(id, code)| {
        let found = (0u32..).zip(&code.ops).filter(|(_, op)| is_it(&op.kind));
        found.map(move |(temp, _)| (id, code, temp))
    })
}

/// Whether a function calls the value that one of its operations reads, outside loops.
fn is_called_outside_loops(run: &Recording<'_>, id: FunctionId, read: Temp) -> bool {
    let code = run.module(run.home).function(id);
    let is_call = |reader: &Temp| matches!(code.ops[*reader as usize].kind, OpKind::Call(callee, _) if callee == read);
    let uses = run.uses_of(run.home, id);
    uses.readers(read).iter().any(|reader| is_call(reader) && !uses.is_in_loop(code, *reader))
}

/// Whether the function that defines another only calls it, in one place outside loops: `def local(k=key): …` and
/// `local()`.
pub fn is_called_once_where_defined(run: &Recording<'_>, id: FunctionId) -> bool {
    let module = run.module(run.home);
    let code = module.function(id);
    let Some(outer) = code.parent else { return false };
    let (definer, uses) = (module.function(outer), run.uses_of(run.home, outer));
    let stored = definer.ops.iter().find_map(|op| match &op.kind {
        OpKind::Store(variable, value) if matches!(definer.ops[*value as usize].kind, OpKind::Function(made, _) if made == id) => {
            Some(variable.clone())
        }
        _ => None,
    });
    let is_it = |kind: &OpKind| matches!(kind, OpKind::Load(variable) if Some(variable) == stored.as_ref());
    let is_own = match &stored {
        Some(Variable::Local(slot)) => !uses.is_captured(*slot) && uses.stores_of(*slot).len() == 1,
        Some(Variable::Global(_)) => runs_once(run, code, CALLERS),
        _ => false,
    };
    let mut loads = (0u32..).zip(&definer.ops).filter(|(_, op)| is_it(&op.kind)).map(|(load, _)| load);
    let only = loads.next().filter(|_| is_own && loads.next().is_none());
    only.is_some_and(|load| is_called_outside_loops(run, outer, load))
}

/// Whether a function of the module binds a global: the module's own statements give it its first value.
fn is_rebound(run: &Recording<'_>, name: &Name) -> bool {
    let functions = run.module(run.home).functions.iter().filter(|code| code.kind != FunctionKind::Module);
    functions
        .flat_map(|code| &code.ops)
        .any(|op| matches!(&op.kind, OpKind::Store(Variable::Global(bound), _) if bound == name))
}

/// Whether the module's own statements bind a global again after the first one that leads to a call of a function, or in a loop that does:
/// calls between which it stays the same are visible there.
fn is_replaced_by_the_body(run: &Recording<'_>, code: &Function, global: &Name) -> bool {
    let module = run.module(run.home);
    let body = module.function(Module::BODY);
    let ids = || (0u32..).map(FunctionId).zip(&module.functions).filter(|(_, code)| code.kind != FunctionKind::Module);
    let Some((own, _)) = ids().find(|(_, other)| std::ptr::eq(*other, code)) else { return false };
    let mut leading = vec![outermost(module, own)];
    // A function is called through its name, others where they are made.
    let leads = |op: &Op, to: FunctionId| match &op.kind {
        OpKind::Load(Variable::Global(name)) => {
            let callee = module.function(to);
            callee.kind == FunctionKind::Def && *name == callee.name
        }
        OpKind::Function(made, _) => *made == to && module.function(to).kind != FunctionKind::Def,
        _ => false,
    };
    let mut at = 0;
    while let Some(callee) = leading.get(at).copied() {
        at += 1;
        for (id, _) in ids().filter(|(_, caller)| caller.ops.iter().any(|op| leads(op, callee))) {
            let caller = outermost(module, id);
            if leading.len() < LEADING && !leading.contains(&caller) {
                leading.push(caller);
            }
        }
    }
    let uses = run.uses_of(run.home, Module::BODY);
    let places = |is_it: &dyn Fn(&Op) -> bool| -> Vec<Temp> {
        (0u32..).zip(&body.ops).filter(|(_, op)| is_it(op)).map(|(temp, _)| temp).collect()
    };
    let calls = places(&|op| leading.iter().any(|callee| leads(op, *callee)));
    let stores = places(&|op| matches!(&op.kind, OpKind::Store(Variable::Global(name), _) if name == global));
    let Some(first) = calls.first() else { return false };
    let is_repeated = calls.iter().any(|call| uses.is_in_loop(body, *call));
    stores.iter().any(|store| store > first || is_repeated && uses.is_in_loop(body, *store))
}

/// The function of the module's body that holds a function, or the function itself.
fn outermost(module: &Module, id: FunctionId) -> FunctionId {
    let around = |id: &FunctionId| module.function(*id).parent.filter(|parent| *parent != Module::BODY);
    std::iter::successors(Some(id), around).take(module.functions.len()).last().unwrap_or(id)
}

pub fn is_constructor(function: &str) -> bool {
    matches!(function, "__init__" | "__post_init__")
}

/// Whether other code may replace the key that a method leaves in an attribute: a method that calls this one, as private ones are for, or
/// code that stores into the attribute of something else than `self`.
fn is_left_to_others(run: &Recording<'_>, function: &str, attribute: &Name) -> bool {
    let method = function.rsplit('.').next().unwrap_or_default();
    if method.starts_with('_') && !method.ends_with("__") {
        return true;
    }
    let replaces = |code: &Function| {
        let is_self = |temp: Temp| matches!(code.ops[temp as usize].kind, OpKind::Load(Variable::Local(0)));
        code.ops.iter().any(|op| match &op.kind {
            OpKind::Attribute(of, name) => &**name == method && code.class.is_some() && is_self(*of),
            OpKind::StoreAttribute(of, name, _) => name == attribute && !(code.class.is_some() && is_self(*of)),
            _ => false,
        })
    };
    run.program.modules().iter().any(|module| module.functions.iter().any(replaces))
}

/// Whether a method, apart from those that only advance the key, stores a new one, also by another name (`cls._key = …`,
/// `setattr(self, name, …)`), or passes it to a new instance of its class: then instances are immutable values, each with its own key.
fn stores_a_new_key(
    run: &Recording<'_>,
    lineage: &[ClassHandle],
    attribute: &Name,
    advances: &dyn Fn(&Function) -> bool,
) -> bool {
    lineage.iter().any(|handle| {
        let info = &run.classes[handle.0 as usize];
        let module = run.module(info.module);
        let methods = module.functions.iter().filter(|code| code.class == Some(info.class));
        methods.filter(|code| !is_constructor(&code.name) && !advances(code)).any(|code| {
            code.ops.iter().any(|op| stores_by_other_name(run, lineage, code, &op.kind, attribute))
                || makes_another(run, lineage, info.module, code, attribute)
        })
    })
}

fn stores_by_other_name(
    run: &Recording<'_>,
    lineage: &[ClassHandle],
    code: &Function,
    kind: &OpKind,
    attribute: &Name,
) -> bool {
    let of = |temp: Temp| &code.ops[temp as usize].kind;
    let is_it = |name: Temp| match of(name) {
        OpKind::Constant(Constant::Str(name)) => name == attribute,
        _ => true,
    };
    match kind {
        OpKind::StoreAttribute(owner, name, _) if name == attribute => match of(*owner) {
            OpKind::Load(Variable::Local(0)) => true,
            _ => is_class(run, lineage, run.home, code, *owner),
        },
        // `self.keys[i] = key`, `self.__dict__[name] = key`
        OpKind::StoreItem(owner, index, _) => match of(*owner) {
            OpKind::Attribute(of_item, name) => {
                name == attribute && matches!(of(*of_item), OpKind::Load(Variable::Local(0)))
                    || &**name == "__dict__" && is_it(*index)
            }
            _ => false,
        },
        OpKind::Call(callee, given) => {
            sets_attribute(of(*callee))
                && matches!(&**given, [.., Argument::Positional(name), Argument::Positional(_)] if is_it(*name))
        }
        _ => false,
    }
}

/// Whether a method makes another instance of its class, and reads the attribute for it: `Rng(jax.random.fold_in(self._key, i))`.
fn makes_another(
    run: &Recording<'_>,
    lineage: &[ClassHandle],
    module: ModuleIndex,
    code: &Function,
    attribute: &Name,
) -> bool {
    let reads = code.ops.iter().any(|op| match &op.kind {
        OpKind::Attribute(of, name) => {
            name == attribute && matches!(code.ops[*of as usize].kind, OpKind::Load(Variable::Local(0)))
        }
        _ => false,
    });
    reads
        && code.ops.iter().any(|op| {
            matches!(&op.kind, OpKind::Call(callee, given)
                if !given.is_empty() && is_class(run, lineage, module, code, *callee))
        })
}

/// Whether an expression is the class itself: its name, `type(self)`, `self.__class__`.
fn is_class(run: &Recording<'_>, lineage: &[ClassHandle], module: ModuleIndex, code: &Function, temp: Temp) -> bool {
    match &code.ops[temp as usize].kind {
        OpKind::Attribute(_, name) if &**name == "__class__" => true,
        OpKind::Call(callee, given) => {
            let is_type =
                matches!(&code.ops[*callee as usize].kind, OpKind::Load(Variable::Global(name)) if &**name == "type");
            is_type && given.len() == 1
        }
        _ => match run.named(module, code, temp).as_ref().and_then(Value::single) {
            Some(Val::Class(class)) => lineage.contains(class),
            _ => false,
        },
    }
}

/// The array that holds a key at a constant index, and the index as written: `self.rngs[2]`. A key that no array holds is its own.
fn held_in(run: &Recording<'_>, event: &Consumption) -> (TermId, String) {
    let key = event.target.term;
    let is_written = event.written.as_deref().is_some_and(|written| written.ends_with(']'));
    match run.terms.get(key) {
        Term::Item(array, index, 0) if is_written => match run.terms.as_int(*index) {
            Some(index) => (*array, format!("[{index}]")),
            None => (key, String::new()),
        },
        _ => (key, String::new()),
    }
}

fn stale_fact(used: Use, name: String, code: &Function) -> StaleState {
    StaleState {
        used,
        name,
        stored_at: None,
        advanced_at: None,
        confidence: Confidence::Medium,
        function: code.qualified.to_string(),
    }
}

/// Whether the module binds this function under a transform.
fn is_transformed(run: &Recording<'_>, name: &str) -> bool {
    run.modules
        .get(&run.home)
        .and_then(|state| state.globals.get(name))
        .is_some_and(|value| matches!(value.single(), Some(Val::Wrapped(_))))
}

/// Globals whose key a transformed function captures.
fn captured_globals(run: &Recording<'_>, stale: &mut Vec<StaleState>) -> Vec<CapturedUse> {
    let file = run.module(run.home).file;
    let (captured, rest): (Vec<_>, Vec<_>) =
        std::mem::take(stale).into_iter().partition(|fact| is_transformed(run, &fact.function));
    *stale = rest;
    captured
        .into_iter()
        .filter_map(|fact| {
            let module = run.module(run.home);
            let code = module.functions.iter().find(|code| *code.qualified == *fact.function)?;
            Some(CapturedUse {
                kind: CaptureKind::Transformed,
                callee: code.name.to_string(),
                defined_at: Place { file, span: code.span },
                intent: of_captured(&fact.used),
                used: fact.used,
                origin: None,
                name: fact.name,
                confidence: Confidence::Medium,
                function: fact.function,
            })
        })
        .collect()
}

/// Whether the program makes copies with another value of a field: `dataclasses.replace(state, key=key)`.
fn is_replaced_in_copies(run: &Recording<'_>, field: &Name) -> bool {
    let replaces = |code: &Function, op: &Op| match &op.kind {
        OpKind::Call(callee, arguments) => {
            let is_copy = match &code.ops[*callee as usize].kind {
                OpKind::Attribute(_, name) | OpKind::Load(Variable::Global(name)) => name.contains("replace"),
                _ => false,
            };
            is_copy && arguments.iter().any(|argument| matches!(argument, Argument::Keyword(name, _) if name == field))
        }
        _ => false,
    };
    let mut functions = run.program.modules().iter().flat_map(|module| &module.functions);
    functions.any(|code| code.ops.iter().any(|op| replaces(code, op)))
}

/// Whether what a constructor stores is an instance of a class of no known library, by its name: `self.seeds = SeedGenerator(seed)`.
fn stores_an_object(run: &Recording<'_>, stored: &LoggedStore) -> bool {
    let mut modules = run.program.modules().iter().enumerate();
    let Some((index, module)) = modules.find(|(_, module)| module.file == stored.place.file) else { return false };
    let makes = |code: &Function, value: Temp| {
        let OpKind::Call(callee, _) = &code.ops[value as usize].kind else { return false };
        match &code.ops[*callee as usize].kind {
            OpKind::Attribute(_, name) | OpKind::Load(Variable::Global(name)) => {
                name.starts_with(char::is_uppercase) && run.library_named(index, code, *callee).is_none()
            }
            _ => false,
        }
    };
    module.functions.iter().any(|code| {
        code.ops.iter().any(|op| match &op.kind {
            OpKind::StoreAttribute(_, name, value) => {
                op.span == stored.place.span && *name == stored.name && makes(code, *value)
            }
            _ => false,
        })
    })
}

/// The class and name of an attribute of the instance that a method was called on.
fn attribute_of_self(run: &Recording<'_>, term: TermId) -> Option<(ClassHandle, Name)> {
    let Term::Attribute(owner, name, 0) = run.terms.get(term) else { return None };
    run.terms.symbol(*owner).filter(|info| info.symbol == Symbol::Parameter)?;
    let object = run.objects.iter().find(|object| object.symbol == *owner && object.class.is_some())?;
    Some((object.class?, name.clone()))
}

/// The candidates whose attribute is known to get a key from the class itself.
fn attributes_of(
    run: &Recording<'_>,
    candidates: Vec<Candidate>,
    stores: &[LoggedStore],
    advanced: &[Advance],
) -> Vec<StaleState> {
    let mut facts = Vec::new();
    let mut seen = BTreeSet::new();
    for candidate in candidates {
        let mut fact = candidate.fact;
        if let Some(class) = candidate.class {
            let info = &run.classes[class.0 as usize];
            if info.frozen {
                continue;
            }
            let lineage = run.lineage(class);
            let mut own =
                stores.iter().filter(|store| store.name == candidate.name && lineage.contains(&store.class)).peekable();
            let stored = own.peek().copied();
            // The field of a dataclass gets its key from the caller.
            let is_field = || {
                let fields = &run.module(info.module).class(info.class).fields;
                candidate.loses_next
                    && fields.iter().any(|field| field.name == candidate.name)
                    && !is_replaced_in_copies(run, &candidate.name)
            };
            let is_object = || candidate.is_tested && stored.is_some_and(|stored| stores_an_object(run, stored));
            if stored.is_none() && !is_field() || is_object() {
                continue;
            }
            let advances = |function: &Name| {
                let of = |one: &&Advance| one.name == candidate.name && lineage.contains(&one.class);
                advanced.iter().find(|one| of(one) && one.function == *function)
            };
            if stores_a_new_key(run, &lineage, &candidate.name, &|code| advances(&code.name).is_some()) {
                continue;
            }
            // If another method replaces the key, this one may rely on it, unless that one derives the new key from the same one.
            let mut others = own.filter(|store| !is_constructor(&store.function)).peekable();
            if others.peek().is_some() {
                let advancing = others.map(|store| advances(&store.function));
                let may_be_replaced =
                    candidate.may_be_replaced || is_left_to_others(run, &fact.function, &candidate.name);
                let first =
                    advancing.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().min_by_key(|one| one.place));
                let Some(advance) = first.filter(|_| !may_be_replaced) else { continue };
                fact.advanced_at = Some((advance.function.to_string(), advance.place));
            }
            fact.stored_at = stored.map(|stored| stored.place);
        }
        if seen.insert(fact.used.place) {
            facts.push(fact);
        }
    }
    facts
}
