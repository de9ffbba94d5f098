//! Keys that are written where other functions can read them: in globals, variables of enclosing functions, attributes,
//! containers.
//!
//! **Invariant:** every write is recorded, whatever the holder; whether the holder is older than the function is decided later.

use crate::analysis::domain::size::Walk;
use crate::analysis::domain::term::TermId;
use crate::analysis::domain::value::{Elements, EnvironmentId, ObjectId, Val, Value};
use crate::analysis::machine::{Frame, Machine, name_cache, notes, text};
use crate::analysis::record::{Holder, LoggedWrite};
use crate::analysis::store::heap::ObjectKind;
use crate::finding::Place;
use crate::ir::{Constant, FunctionKind, Name, Op, OpKind, Variable};
use crate::models::Construct;

/// How deep a value is searched for a key.
const NESTED: u32 = 3;

/// Records a write of a value that is or holds a key. Variables that exist to be written while they are traced are those of the prelude.
pub fn note<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    value: &Value,
    holder: Holder,
    name: &Name,
    place: Place,
) {
    if machine.program.is_prelude(frame.module)
        || machine.state.paths.pc.is_false()
        || matches!(frame.code.kind, FunctionKind::Module | FunctionKind::ClassBody)
    {
        return;
    }
    if matches!(holder, Holder::Global | Holder::Variable(_)) {
        overwrite(machine, holder, Some(name));
    }
    let Some(term) = key_in(machine, value, name, &mut Walk::to(NESTED)) else { return };
    machine.recorder.write(LoggedWrite {
        holder,
        name: name.clone(),
        term,
        place,
        guard: machine.state.paths.pc,
        activation: frame.activation.clone(),
    });
}

/// Records `nonlocal key; key = …`.
pub fn note_variable<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    value: &Value,
    (environment, variable): (EnvironmentId, &Variable),
    op: &Op,
) {
    let Some(name) = text::variable_name(machine.module(frame.module), frame, variable) else { return };
    let place = machine.place(frame, op.span);
    note(machine, frame, value, Holder::Variable(environment), &name, place);
}

/// Records `object.name = …` and `object[index] = …`.
pub fn note_part<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, value: &Value, object: &Value, op: &Op) {
    let written = |machine: &Machine<'p>, temp| name_cache::written_text(machine, frame, temp);
    let name = match &op.kind {
        OpKind::StoreAttribute(of, name, _) | OpKind::DeleteAttribute(of, name) => {
            written(machine, *of).map(|of| format!("{of}.{name}"))
        }
        OpKind::StoreItem(of, index, _) => {
            let index = match &Machine::op(frame, *index).kind {
                OpKind::Constant(Constant::Str(text)) => Some(format!("{text:?}").into()),
                _ => written(machine, *index),
            };
            written(machine, *of).map(|of| format!("{of}[{}]", index.as_deref().unwrap_or("…")))
        }
        _ => None,
    };
    let place = machine.place(frame, op.span);
    let name: Name = name.unwrap_or_default().into();
    // Only variables that exist to be written while they are traced, and arrays of numbers, are written as a whole: `variable[...] = key`.
    if let OpKind::StoreItem(_, index, _) = &op.kind
        && matches!(&Machine::op(frame, *index).kind, OpKind::Constant(Constant::Ellipsis))
    {
        return;
    }
    for holder in holders(machine, object) {
        overwrite(machine, holder, Some(&name));
    }
    note_object(machine, frame, value, object, &name, place);
}

/// Records a write to what an object may be.
pub fn note_object<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    value: &Value,
    object: &Value,
    name: &Name,
    place: Place,
) {
    for holder in holders(machine, object) {
        note(machine, frame, value, holder, name, place);
    }
}

/// The holders that an object may be.
pub fn holders(machine: &Machine<'_>, object: &Value) -> Vec<Holder> {
    let holder = |val: &Val| match val {
        Val::Class(_) => Some(Holder::Class),
        Val::Object(id) => Some(Holder::Object(symbol_of(machine, *id))),
        Val::Term(term) => Some(Holder::Object(*term)),
        _ => None,
    };
    object.alternatives().iter().filter_map(|alternative| holder(&alternative.val)).collect()
}

/// Records that what was written to a holder under a name, or under any, is replaced on the current paths.
fn overwrite(machine: &mut Machine<'_>, holder: Holder, name: Option<&str>) {
    let pc = machine.state.paths.pc;
    let guards = &mut machine.state.paths.guards;
    machine.recorder.overwrite(holder, name, |written| guards.without(written, pc).is_false());
}

/// Records that elements are taken from a container: `keys.pop()`.
pub fn note_removal(machine: &mut Machine<'_>, container: ObjectId) {
    let holder = Holder::Object(symbol_of(machine, container));
    overwrite(machine, holder, None);
}

/// Records that an iterator or a stream in a value was advanced.
pub fn note_advance<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    key: &Value,
    (iterator, name): (ObjectId, &Name),
    place: Place,
) {
    if let ObjectKind::Stream(path) = &machine.state.store.objects[iterator.0 as usize].kind
        && let Some(Construct::Stream { lifted: true, .. }) =
            machine.program.models.class(path).map(|class| &class.construct)
    {
        return;
    }
    let holder = Holder::Iterator(symbol_of(machine, iterator));
    note(machine, frame, key, holder, name, place);
}

/// The environment that holds a variable of an enclosing function.
pub fn environment_of(machine: &Machine<'_>, frame: &Frame<'_>, depth: u32) -> Option<EnvironmentId> {
    machine.state.environment_around(frame.environment, depth)
}

/// The term of an object itself, not of the object from which it was copied.
fn symbol_of(machine: &Machine<'_>, id: ObjectId) -> TermId {
    let object = &machine.state.store.objects[id.0 as usize];
    object.copied.unwrap_or(object.symbol)
}

/// The key that a value is or holds.
fn key_in(machine: &Machine<'_>, value: &Value, name: &Name, walk: &mut Walk) -> Option<TermId> {
    if !walk.down() {
        return None;
    }
    let found = value.alternatives().iter().find_map(|alternative| match &alternative.val {
        Val::Key(key) => Some(key.term),
        Val::Array(array) => match &array.elements {
            Elements::View { family, .. } => Some(*family),
            Elements::Listed(parts) | Elements::Joined(parts) => {
                parts.iter().find_map(|part| key_in(machine, part, name, walk))
            }
            Elements::Copies(key) => key_in(machine, key, name, walk),
        },
        Val::Term(term) => {
            let is_one = machine.recorder.is_known_key(*term)
                || notes::looks_like_a_key(
                    machine,
                    *term,
                    Some(name).filter(|name| !name.is_empty()).map(|name| &**name),
                );
            is_one.then_some(*term)
        }
        Val::Tuple(parts) => parts.iter().find_map(|part| key_in(machine, part, name, walk)),
        Val::Object(id) => {
            // An instance that holds a key is more than that key: it may be a handler, a model or a state.
            let object = &machine.state.store.objects[id.0 as usize];
            object.kind.held().find_map(|(_, value)| key_in(machine, value, name, walk))
        }
        _ => None,
    });
    walk.back();
    found
}
