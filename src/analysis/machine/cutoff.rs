//! Calls that a budget cuts off.
//!
//! If a call has too many paths, only its effects on keys so far are kept. A function without such an effect would be
//! cut off again with the same budget or a smaller one, so it is run again only if it can reach a key.
//!
//! **Invariant:** a call that is skipped has the result of one that was cut off.

use crate::analysis::domain::kinds::Role;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{Closure, ObjectId, Val, Value};
use crate::analysis::machine::{Frame, Machine, captured, name_cache, notes, split_escape, stream_use};
use crate::analysis::record::uses_of;
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::ObjectKind;
use crate::finding::Place;
use crate::ir::{Function, OpKind, Operator, Temp, Variable};

/// The budget of a call, and the position of the log when it began.
pub struct Share {
    nodes: usize,
    events: usize,
    derivations: usize,
}

/// The budget of a call that is made now.
pub fn share(machine: &Machine<'_>) -> Share {
    Share {
        nodes: machine.state.paths.guards.share(),
        events: machine.recorder.log().consumptions.len(),
        derivations: machine.recorder.log().derivations.len(),
    }
}

/// Whether a call would be cut off before it touches a key, as an earlier one with the same budget was.
pub fn would_be_cut_off(machine: &Machine<'_>, closure: &Closure, args: &Args) -> bool {
    let known = machine.budget.fruitless.borrow().get(&(closure.module, closure.function)).copied().unwrap_or(0);
    machine.state.paths.guards.share() <= known && !captured::passes_keys(machine, closure, args)
}

/// Records that a call was cut off because it had too many paths.
pub fn note_cut_off(machine: &mut Machine<'_>, closure: &Closure, share: &Share) {
    let touches =
        machine.recorder.log().consumptions[share.events..].iter().any(|event| event.role != Role::Unresolved);
    if touches || machine.recorder.log().derivations.len() > share.derivations {
        return;
    }
    let mut known = machine.budget.fruitless.borrow_mut();
    let most = known.entry((closure.module, closure.function)).or_default();
    *most = share.nodes.max(*most);
}

/// Records that a bound cut off a call: if a key was passed to it, findings may be missing.
pub fn note_limited(machine: &mut Machine<'_>, given: &[Value], bound: (Place, &'static str)) {
    if machine.budget.limited.is_none() && captured::hold_keys(machine, given) {
        machine.budget.limited = Some(bound);
    }
}

/// The result of a call with unknown effects on its arguments.
pub fn unknown_result<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    given: &[Value],
    code: &Function,
    place: Place,
) -> Value {
    for value in given {
        stream_use::note(machine, value);
        split_escape::escape(machine, value);
        change(machine, frame, value, place);
    }
    name_cache::unknown_result(machine, &code.name, place)
}

/// Unknown code gets a value, and may change it. Code written for JAX returns new data: a call whose result is used leaves the keys in data
/// as they are.
pub fn change<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, value: &Value, place: Place) {
    if let Some(Val::Object(id)) = value.single()
        && is_record(machine, *id)
    {
        return machine.state.havoc_data(*id);
    }
    let Some(objects) = data(machine, value).filter(|_| is_used(machine, frame, place)) else {
        return machine.state.havoc(value);
    };
    for object in objects {
        machine.state.havoc_data(object);
    }
}

/// Whether an object of unknown class is a record that the program copies with `.replace(…)` instead of changing it, and that holds no
/// containers, which may change.
fn is_record(machine: &Machine<'_>, id: ObjectId) -> bool {
    let object = &machine.state.store.objects[id.0 as usize];
    let is_container = |value: &Value| value.alternatives().iter().any(|one| matches!(one.val, Val::Object(_)));
    object.class.is_none() && object.copied.is_some() && !object.attributes.values().any(is_container)
}

/// The objects of a value that is data as far as the program shows: it comes from outside, nothing stores to it, and it is not named like a
/// key or a stream of keys.
fn data(machine: &mut Machine<'_>, value: &Value) -> Option<Vec<ObjectId>> {
    let is_stored_to = |machine: &Machine<'_>, id: ObjectId| {
        let object = &machine.state.store.objects[id.0 as usize];
        !object.attributes.is_empty() || !object.changed.is_empty()
    };
    let mut objects = Vec::new();
    for alternative in value.alternatives() {
        let term = match &alternative.val {
            Val::Term(term) => *term,
            // A record that is annotated: `config: Config`. The methods of other classes may store what they draw from.
            Val::Object(id) if machine.state.is_record(*id) => {
                let object = &machine.state.store.objects[id.0 as usize];
                let is_from_outside = machine.state.terms.is_parameter(object.symbol) && object.copied.is_none();
                (matches!(object.kind, ObjectKind::Instance) && is_from_outside).then_some(object.symbol)?
            }
            _ => return None,
        };
        let is_open = matches!(machine.state.terms.get(term), Term::Symbol(_) | Term::Attribute(..) | Term::Item(..));
        if !is_open || notes::looks_like_a_key(machine, term, None) {
            return None;
        }
        let id = match &alternative.val {
            Val::Object(id) => *id,
            _ => machine.state.shadow_of(term),
        };
        if is_stored_to(machine, id) {
            return None;
        }
        objects.push(id);
    }
    Some(objects)
}

/// Whether the program uses the result of a call as a value: a test of it, and `_ = step(sim)`, show that it is a status.
pub fn is_used(machine: &Machine<'_>, frame: &Frame<'_>, place: Place) -> bool {
    // A frame of the prelude has the activation of its caller.
    if frame.inlined.is_some() {
        return true;
    }
    let (module, function) = (frame.activation.module, frame.activation.function);
    let uses = uses_of(&machine.caches.uses, machine.module(module), (module, function));
    let code = machine.module(module).function(function);
    let is_value = |reader: &Temp| match &code.ops[*reader as usize].kind {
        OpKind::If { .. } | OpKind::Enter(_) | OpKind::Operate(Operator::Not, ..) => false,
        OpKind::Store(Variable::Local(slot), _) => code.slots.get(*slot as usize).is_none_or(|name| &**name != "_"),
        OpKind::Store(Variable::Global(name), _) => &**name != "_",
        _ => true,
    };
    uses.call_at(place.span).is_some_and(|call| uses.readers(call).iter().any(is_value))
}
