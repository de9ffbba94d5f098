//! What the machine records along the way: buffer uses, exits, stores, reads of globals.
//!
//! **Invariant:** a record has the paths on which it holds; records about other modules are dropped.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::{BufferOp, CarryKind, KeyKind};
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{ClassHandle, Key, ObjectId, Val, Value};
use crate::analysis::machine::{Frame, Machine, held_keys, text, writes};
use crate::analysis::program::names::is_named_for_a_key;
use crate::analysis::record::{Holder, LoggedBuffer, LoggedExit, LoggedStore};
use crate::analysis::store::heap::ObjectKind;
use crate::analysis::store::{State, evidence, paths};
use crate::finding::Place;
use crate::ir::{Block, Name, Op, OpKind, Operator, Variable};
use crate::models::Effect;

/// Whether a value from outside is named like a key.
pub fn looks_like_a_key(machine: &Machine<'_>, term: TermId, written: Option<&str>) -> bool {
    is_named_for_a_key(
        &machine.program.models.words,
        (&machine.state.terms, &machine.recorder.log().otherwise),
        term,
        written,
    )
}

/// What is done with a key's buffer.
pub struct BufferUse {
    op: BufferOp,
    /// As written.
    text: String,
    /// Whether JAX raises for a typed key.
    raises: bool,
}

impl BufferUse {
    /// A use of a buffer.
    pub fn new(op: BufferOp, text: String, raises: bool) -> Self {
        Self { op, text, raises }
    }
}

/// Records a use of a key's buffer. Words from outside may make many keys, which have elements.
pub fn buffer_use<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, key: Key, place: Place, used: BufferUse) {
    let if_scalar = matches!(used.op, BufferOp::Index | BufferOp::Unpack) && is_made_of_words(machine, key);
    log_buffer(machine, frame, key, place, used, if_scalar);
}

/// Whether a key is made of words that are no key's, or are selected from those of several keys.
fn is_made_of_words(machine: &Machine<'_>, key: Key) -> bool {
    match machine.state.terms.get(key.term) {
        Term::Apply(path, _) => {
            let callable = machine.program.models.callable(path);
            callable.is_some_and(|callable| matches!(callable.effect, Effect::Wrap { .. }))
        }
        _ => false,
    }
}

fn log_buffer<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    key: Key,
    place: Place,
    used: BufferUse,
    if_scalar: bool,
) {
    let BufferUse { op, text, raises } = used;
    let is_noted = frame.module == machine.context.home || machine.program.follows;
    if machine.state.paths.pc.is_false() || !is_noted {
        return;
    }
    let raises = raises && (key.kind == KeyKind::Typed || op == BufferOp::Number || op.always_raises());
    machine.recorder.buffer(LoggedBuffer {
        op,
        key,
        place,
        text,
        raises,
        guard: machine.state.paths.pc,
        activation: frame.activation.clone(),
        if_scalar,
    });
}

/// An index or unpacking of a value that may turn out to be one key.
pub fn note_index<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    term: TermId,
    place: Place,
    written: Option<&str>,
    index: Option<&Value>,
) {
    if !evidence::may_be_key(&machine.state.terms, term) {
        return;
    }
    let key = Key { term, kind: KeyKind::Unknown, derivation: 0 };
    let (op, text) = match index {
        None => (BufferOp::Unpack, written.unwrap_or_default().to_owned()),
        Some(index) => {
            (BufferOp::Index, format!("{}[{}]", written.unwrap_or("…"), text::index_text(&mut machine.state, index)))
        }
    };
    log_buffer(machine, frame, key, place, BufferUse::new(op, text, false), true);
}

/// Arithmetic on values that are named like keys and may turn out to be some.
pub fn note_arithmetic<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    operands: [&Value; 2],
    names: &[Option<Name>; 2],
    (place, text): (Place, &dyn Fn() -> String),
) {
    for (value, name) in operands.into_iter().zip(names) {
        let is_named = name.as_ref().is_some_and(|name| machine.program.models.words.ends_like_a_key(name));
        if let Some(Val::Term(term)) = value.single().filter(|_| is_named)
            && evidence::may_be_key(&machine.state.terms, *term)
        {
            let key = Key { term: *term, kind: KeyKind::Unknown, derivation: 0 };
            log_buffer(machine, frame, key, place, BufferUse::new(BufferOp::Arithmetic, text(), false), true);
        }
    }
}

/// Iterating over one key iterates over its words.
pub fn touch_iterated<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, value: &Value, op: &Op) {
    if let Some(Val::Key(key)) = value.single().cloned()
        && (key.kind != KeyKind::Unknown || machine.recorder.log().declared.contains(&key.term))
    {
        let place = machine.place(frame, op.span);
        let raises = key.kind == KeyKind::Typed;
        buffer_use(machine, frame, key, place, BufferUse::new(BufferOp::Unpack, String::new(), raises));
    }
}

/// Records what a function returns.
pub fn note_return<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, value: &Value, op: &'p Op) {
    if frame.inlined.is_some() {
        return;
    }
    let place = machine.place(frame, op.span);
    if frame.activation.root {
        note_exit(machine, frame, value, Exit { kind: CarryKind::Returned, place, name: None }, 3);
        for (guard, key, kind) in held_keys::still_held(machine, value, machine.state.paths.pc) {
            log_exit(machine, frame, key, guard, Exit { kind, place, name: None });
        }
    }
    mark_stored(machine, value, 3);
}

/// How keys leave a function: as what, where, and under which name.
#[derive(Clone, Copy)]
struct Exit<'a> {
    kind: CarryKind,
    place: Place,
    name: Option<&'a Name>,
}

fn note_exit<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, value: &Value, exit: Exit<'_>, depth: u32) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for alternative in value.alternatives() {
        let guard = machine.state.paths.guards.and(machine.state.paths.pc, alternative.guard);
        if !machine.state.feasible(guard) {
            continue;
        }
        let term = match &alternative.val {
            Val::Key(key) => key.term,
            Val::Term(term) if evidence::may_be_key(&machine.state.terms, *term) => *term,
            Val::Tuple(parts) => {
                let parts = parts.clone();
                paths::under(machine, guard, |this| {
                    for part in parts.iter() {
                        note_exit(this, frame, part, exit, depth);
                    }
                });
                continue;
            }
            Val::Object(id) => {
                let held: Vec<(Guard, Option<Name>, Value)> = match &machine.state.store.objects[id.0 as usize].kind {
                    ObjectKind::Instance => {
                        let fields = fields_set(&machine.state, *id).into_iter();
                        fields.map(|(name, field)| (Guard::TRUE, Some(name), field)).collect()
                    }
                    ObjectKind::Dict { entries, .. } => {
                        let given = entries.iter().filter(|entry| {
                            let owner = held_keys::taken_over(&machine.state.terms, entry);
                            !owner.is_some_and(|owner| machine.state.terms.is_parameter(owner))
                        });
                        given.map(|entry| (entry.guard, None, entry.value.clone())).collect()
                    }
                    kind => kind.held().map(|(guard, value)| (guard, None, value.clone())).collect(),
                };
                for (there, field, value) in held {
                    let paths = machine.state.paths.guards.and(guard, there);
                    let name = field.as_ref().filter(|_| exit.kind == CarryKind::Returned).or(exit.name);
                    let exit = Exit { name, ..exit };
                    paths::under(machine, paths, |this| note_exit(this, frame, &value, exit, depth));
                }
                continue;
            }
            _ => continue,
        };
        log_exit(machine, frame, term, guard, exit);
    }
}

fn log_exit<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, term: TermId, guard: Guard, exit: Exit<'_>) {
    machine.recorder.exit(LoggedExit {
        kind: exit.kind,
        place: exit.place,
        term,
        guard,
        name: exit.name.cloned(),
        activation: frame.activation.clone(),
        after: machine.recorder.log().consumptions.len(),
    });
}

/// The fields of a record that were set by a call only: a value that a constructor of the program stores is reported
/// there, and a value that a copy kept is reported where it is not replaced.
fn fields_set(state: &State, id: ObjectId) -> Vec<(Name, Value)> {
    let object = &state.store.objects[id.0 as usize];
    let is_plain = |class: ClassHandle| {
        state.store.classes[class.0 as usize].record && state.class_attribute(class, &"__init__".into()).is_none()
    };
    let is_given = object.copied.is_some() || !state.terms.is_parameter(object.symbol);
    // `namedtuple("State", "x key")` makes no class, and the class of a parameter that is copied may be unknown.
    let is_record = || object.items.is_some() || object.copied.is_some();
    if !(is_given && object.class.map_or_else(is_record, is_plain)) {
        return Vec::new();
    }
    let is_taken_over = |value: &&Value| match value.single() {
        Some(Val::Key(Key { term, .. }) | Val::Term(term)) => {
            matches!(state.terms.get(*term), Term::Attribute(of, ..) if *of == object.symbol)
        }
        _ => false,
    };
    let set = object.attributes.iter().filter(|(_, value)| !is_taken_over(value));
    set.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Closures in a value that is returned or stored may run any number of times.
pub fn mark_stored(machine: &mut Machine<'_>, value: &Value, depth: u32) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for alternative in value.alternatives() {
        match &alternative.val {
            Val::Function(closure) => {
                if let Some(pending) = machine.context.pending.get_mut(&closure.identity) {
                    pending.stored = true;
                }
            }
            Val::Wrapped(wrapped) => {
                if let Some(function) = wrapped.function.clone() {
                    mark_stored(machine, &function, depth);
                }
            }
            Val::Partial(partial) => {
                let function = partial.function.clone();
                mark_stored(machine, &function, depth);
            }
            Val::Tuple(parts) => {
                for part in parts.clone().iter() {
                    mark_stored(machine, part, depth);
                }
            }
            _ => {}
        }
    }
}

/// Records a store to an attribute or item.
pub fn note_store<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    value: &Value,
    object: &Value,
    name: Option<&Name>,
    op: &'p Op,
) {
    mark_stored(machine, value, 3);
    writes::note_part(machine, frame, value, object, op);
    let place = machine.place(frame, op.span);
    let Some(name) = name else { return };
    let Some(Val::Object(id)) = object.single() else { return };
    let Some(class) = machine.state.store.objects[id.0 as usize].class else { return };
    let is_key = value.alternatives().iter().any(|alternative| match &alternative.val {
        Val::Key(_) | Val::Array(_) => true,
        Val::Term(term) => machine.recorder.is_known_key(*term),
        _ => false,
    });
    machine.recorder.store(LoggedStore { class, name: name.clone(), place, function: frame.code.name.clone() });
    if frame.activation.root && is_key {
        let written: Name = format!("self.{name}").into();
        note_exit(machine, frame, value, Exit { kind: CarryKind::Stored, place, name: Some(&written) }, 1);
    } else if frame.activation.root
        && let Some(Val::Object(record)) = value.single()
        && record != id
    {
        note_exit(machine, frame, &value.clone(), Exit { kind: CarryKind::Stored, place, name: None }, 2);
    }
}

/// A key has no truth value: JAX raises for `if key`.
pub fn note_truth<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, test: &Value, written: Option<Name>, op: &Op) {
    if let Some(Val::Key(key)) = test.single().cloned()
        && key.kind != KeyKind::Unknown
    {
        let place = machine.place(frame, op.span);
        let text = written.as_deref().unwrap_or("…").to_owned();
        buffer_use(machine, frame, key, place, BufferUse::new(BufferOp::Truth, text, true));
    } else if let Some(Val::Term(term)) = test.single().cloned()
        && evidence::may_be_key(&machine.state.terms, term)
        && let Some(written) = written
    {
        let key = Key { term, kind: KeyKind::Unknown, derivation: 0 };
        let place = machine.place(frame, op.span);
        let used = BufferUse::new(BufferOp::Truth, written.to_string(), true);
        log_buffer(machine, frame, key, place, used, true);
    }
}

/// Whether a value is not known to be `None` here.
fn may_be_given(state: &mut State, term: TermId) -> bool {
    let none = state.terms.intern(Term::None);
    let is_none = Value::term(state.terms.operate(Operator::Is, &[term, none]));
    let is_none = state.truth(&is_none);
    let given = state.paths.guards.without(state.paths.pc, is_none);
    state.feasible(given)
}

/// `key or jax.random.key(0)`: what a new key stands in for is a key. A parameter has to be named like one as well.
pub fn note_default<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    (test, written): (&Value, Option<Name>),
    otherwise: &Block,
    op: &Op,
) {
    let Some(OpKind::Store(Variable::Local(slot), default)) =
        otherwise.last().map(|last| &Machine::op(frame, *last).kind)
    else {
        return;
    };
    // A variable of the scope may get another key by a statement.
    let is_operand = *slot >= frame.code.named;
    let is_made = matches!(Machine::op(frame, *default).kind, OpKind::Call(..));
    let is_key = is_made && matches!(frame.value(*default).single(), Some(Val::Key(_)));
    if let Some(Val::Term(term)) = test.single().cloned()
        && let Some(written) = written
        && is_operand
        && is_key
        && machine.state.terms.is_parameter(term)
        && is_named_for_a_key(
            &machine.program.models.words,
            (&machine.state.terms, &machine.recorder.log().otherwise),
            term,
            None,
        )
        && may_be_given(&mut machine.state, term)
    {
        let key = Key { term, kind: KeyKind::Unknown, derivation: 0 };
        let place = machine.place(frame, op.span);
        log_buffer(machine, frame, key, place, BufferUse::new(BufferOp::Truth, written.to_string(), true), false);
    }
}

/// A key has no hash: JAX raises for `key in cache` if that is a dict or a set.
pub fn note_hash<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    operator: Operator,
    [element, container]: [&Value; 2],
    [written, of]: &[Option<Name>; 2],
    op: &Op,
) {
    let is_hashed = container.single().is_some_and(|container| {
        matches!(container, Val::Object(id)
            if matches!(machine.state.store.objects[id.0 as usize].kind, ObjectKind::Dict { .. } | ObjectKind::Set(_)))
    });
    if let Some(Val::Key(key)) = element.single().cloned()
        && key.kind != KeyKind::Unknown
        && is_hashed
    {
        let place = machine.place(frame, op.span);
        let [written, of] = [written, of].map(|text| text.as_deref().unwrap_or("…"));
        let text = format!("{written} {} {of}", operator.sign());
        buffer_use(machine, frame, key, place, BufferUse::new(BufferOp::Search, text, true));
    }
}

/// Records that a function writes a global.
pub fn note_global_store<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, name: &Name, value: &Value, op: &Op) {
    mark_stored(machine, value, 3);
    let place = machine.place(frame, op.span);
    writes::note(machine, frame, value, Holder::Global, name, place);
    if frame.code.kind != crate::ir::FunctionKind::Module {
        machine.recorder.store_global(name);
    }
}

/// Logic on the shape of a key holds for one kind of keys only: `key.shape == (2,)`, `key.ndim == 1`, `key.shape[:-1]`.
pub fn note_shape_logic<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    left: &Value,
    right: &Value,
    texts: &[Option<Name>; 2],
    place: Place,
) {
    let (a, b) = (machine.state.term_of(left), machine.state.term_of(right));
    for (term, other) in [(a, b), (b, a)] {
        let Term::Attribute(of, name, _) = machine.state.terms.get(term).clone() else { continue };
        let op = match &*name {
            "shape" | "ndim" | "size" => BufferOp::ShapeLogic,
            "dtype" => BufferOp::DtypeLogic,
            _ => continue,
        };
        let literal = match machine.state.terms.get(other) {
            // A typed key has no axes, or an empty shape; a raw key never does. Code that tests for this handles both kinds.
            Term::Int(number) => op == BufferOp::ShapeLogic && *number != 0,
            Term::Apply(apply, parts) if &**apply == "<tuple>" => {
                op == BufferOp::ShapeLogic
                    && !parts.is_empty()
                    && parts.iter().all(|part| machine.state.terms.is_constant(*part))
            }
            Term::Apply(apply, _) => op == BufferOp::DtypeLogic && apply.ends_with("uint32"),
            _ => false,
        };
        if !literal {
            continue;
        }
        let text = texts.iter().flatten().find(|text| text.ends_with(&*name));
        let text = text.map_or_else(|| format!("….{name}"), ToString::to_string);
        log_shape_use(machine, frame, op, of, place, text);
    }
}

/// Logic on the shape or dtype of a value that may be a key.
pub fn log_shape_use<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    op: BufferOp,
    of: TermId,
    place: Place,
    text: String,
) {
    let known = known_kind(machine, of);
    let key = Key { term: of, kind: known.unwrap_or(KeyKind::Unknown), derivation: 0 };
    log_buffer(machine, frame, key, place, BufferUse::new(op, text, false), known.is_none());
}

/// The kind of a derived key, where its derivation shows that it is a key.
fn known_kind(machine: &Machine<'_>, term: TermId) -> Option<KeyKind> {
    match machine.state.terms.get(term) {
        Term::Seed(_) | Term::Child(..) | Term::Fold(..) | Term::Children(_) => Some(KeyKind::Unknown),
        _ if machine.recorder.log().declared.contains(&term) => Some(KeyKind::Unknown),
        _ => None,
    }
}
