//! Methods of values that are known only by kind: keys and arrays of keys, strings, streams, transformed functions.
//!
//! **Invariant:** a method that no kind has is left to protocols; a method with a model does what the model says.

use crate::analysis::domain::constraint::TEXT_METHODS;
use crate::analysis::domain::kinds::{BufferOp, ImplementationConflict, KeyKind};
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{ObjectId, Partial, PartialKind, Val, Value};
use crate::analysis::library::{callbacks, containers, functions, mixed_implementations, protocols};
use crate::analysis::machine::notes::{self, BufferUse};
use crate::analysis::machine::{Frame, Machine, annotate, arrays, held_keys, instances, operate, suspend, writes};
use crate::analysis::program::Program;
use crate::analysis::record::UPDATES;
use crate::analysis::store::args::{Args, Call};
use crate::analysis::store::heap::{DICT, ObjectKind, Source};
use crate::analysis::store::paths;
use crate::finding::Place;
use crate::ir::{Name, Op, OpKind};
use crate::models::{ARRAY, Yield};

/// `receiver.name(…)` where no function of the program has that name.
pub fn call_method<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    receiver: &Value,
    name: &Name,
    call: Call,
) -> Value {
    let receiver = machine.state.possible(receiver);
    paths::on_alternatives(machine, &receiver, |this, val| {
        let before = contents(this, val);
        let result = method_of_val(this, frame, val, name, call.clone());
        note_contents(this, frame, before, (name, &call));
        result
    })
}

/// Whether a call passes keys by keyword: a known key, an array of keys, or anything whose keyword is named like a key.
fn holds_keys(machine: &Machine<'_>, args: &Args) -> bool {
    args.keywords.iter().any(|(name, arg)| {
        machine.program.models.words.names_a_key(name)
            || arg.value.alternatives().iter().any(|of| matches!(of.val, Val::Key(_) | Val::Array(_)))
    })
}

fn method_of_val<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, val: &Val, name: &Name, call: Call) -> Value {
    let Call { args, place, written } = call;
    let receiver = Value::of(val.clone());
    match val {
        Val::Object(id) => match machine.state.store.objects[id.0 as usize].kind.clone() {
            ObjectKind::List { items, unknown } => {
                containers::list_method(machine, frame, *id, (&items, unknown), name, (&args, place))
            }
            ObjectKind::Dict { entries, unknown } => {
                containers::dict_method(&mut machine.state, *id, (&entries, unknown), name, &args, place)
            }
            ObjectKind::Stream(path) => {
                let owner = owner_of(written.as_ref());
                stream_method(machine, frame, (*id, &path), name, (&args, &owner, place))
            }
            ObjectKind::Iterator(..) if &**name == "__next__" => machine.next_of(frame, &receiver, place.span),
            ObjectKind::Instance if UPDATES.contains(&&**name) => machine.state.replaced(&receiver, &args, place),
            _ => protocols::protocol_or_unknown(machine, frame, val, name, Call { args, place, written }),
        },
        Val::Key(_) | Val::Array(_) => {
            let path: Name = format!("{ARRAY}.{name}").into();
            if let Val::Array(array) = val
                && !arrays::is_evident(machine, array)
            {
                return protocols::protocol_or_unknown(machine, frame, val, name, Call { args, place, written });
            }
            match machine.program.models.callable(&path) {
                Some(callable) if callable.exact => {
                    functions::apply_model(machine, frame, callable, &path, args.with_receiver(receiver, None), place)
                }
                _ => machine.state.terms.opaque(name.clone(), Some(place)),
            }
        }
        Val::Term(_) if &**name == "sort" && args.keyword("key").is_some() => {
            callbacks::run_key_function(machine, frame, &args, &receiver, place);
            protocols::protocol_or_unknown(machine, frame, val, name, Call { args, place, written })
        }
        Val::Class(class) if machine.is_maker(*class, name) && holds_keys(machine, &args) => {
            machine.construct(frame, *class, args, place)
        }
        Val::Tuple(_) if &**name == "_replace" => machine.state.terms.opaque("<replaced>", Some(place)),
        Val::Wrapped(made) => match &**name {
            // The rules of a custom derivative replay what its function draws.
            "defvjp" | "defjvp" | "defjvps" | "def_vmap" => {
                replay_later(machine, &args);
                machine.state.terms.none()
            }
            "lower" | "trace" | "eval_shape" => {
                machine.transforms.abstract_depth += 1;
                machine.call_value(frame, &receiver, args, Some(place));
                machine.transforms.abstract_depth -= 1;
                receiver
            }
            "compile" => receiver,
            // `nn.Dropout(0.1).apply(…)`
            _ if instances::is_layer(machine, &made.transform) => {
                protocols::protocol_or_unknown(machine, frame, val, name, Call { args, place, written })
            }
            _ => machine.state.terms.opaque(name.clone(), Some(place)),
        },
        Val::UnknownMethod(outer) => {
            let (inner, attribute) = &**outer;
            if &**attribute == "at"
                && let Some(Val::Tuple(parts)) = inner.single()
                && let [array, index] = &**parts
            {
                return updated_at(machine, frame, (array, index), name, &args, place);
            }
            // `property.setter`
            machine.state.terms.opaque(name.clone(), Some(place))
        }
        Val::Partial(partial) => {
            // `@name.setter` adds a setter to a property.
            if &**name == "setter"
                && let Some(function) = args.positional.first()
            {
                let kind = PartialKind::Property(Some(function.value.clone()));
                let with_setter = Partial { kind, ..(**partial).clone() };
                return Value::of(Val::Partial(std::sync::Arc::new(with_setter)));
            }
            machine.state.terms.opaque(name.clone(), Some(place))
        }
        Val::Term(_) if UPDATES.contains(&&**name) && args.positional.is_empty() => {
            machine.state.replaced(&receiver, &args, place)
        }
        Val::Term(_) if let Some(callable) = text_method(machine.program, name, &args) => {
            let path: Name = callable.path.as_str().into();
            functions::apply_model(machine, frame, callable, &path, args.with_receiver(receiver, None), place)
        }
        Val::Term(term) => match mapping_method(machine, *term, name, &args, place) {
            Some(value) => value,
            None => protocols::protocol_or_unknown(machine, frame, val, name, Call { args, place, written }),
        },
        _ => protocols::protocol_or_unknown(machine, frame, val, name, Call { args, place, written }),
    }
}

/// What a method of a value from outside returns if that is a mapping, as the name and the arguments suggest.
fn mapping_method(machine: &mut Machine<'_>, mapping: TermId, name: &Name, args: &Args, place: Place) -> Option<Value> {
    match (&**name, args.positional.first()) {
        ("copy", None) => {
            let (entries, unknown) = held_keys::entries_of(machine, &Value::term(mapping))?;
            let kind = ObjectKind::Dict { entries, unknown };
            Some(Value::of(Val::Object(machine.state.allocate(kind, DICT, Some(place)))))
        }
        // A class of the module may have a method of this name that is no look-up.
        ("get", Some(key)) if !has_stateful_method(machine, name) => {
            let key = machine.state.term_of(&key.value);
            Some(machine.state.shadow_item(mapping, key).unwrap_or_else(|| {
                let item = machine.state.terms.intern(Term::Item(mapping, key, 0));
                annotate::item(&mut machine.state, mapping, item)
            }))
        }
        _ => None,
    }
}

/// Whether a class of the analysed module has a method of this name that stores something: two calls may return different values.
fn has_stateful_method(machine: &Machine<'_>, name: &Name) -> bool {
    let stores = |op: &Op| matches!(op.kind, OpKind::StoreAttribute(..) | OpKind::StoreItem(..));
    let mut functions = machine.module(machine.context.home).functions.iter();
    functions.any(|function| function.class.is_some() && function.name == *name && function.ops.iter().any(stores))
}

/// The functions among the arguments run where the function runs for which they are rules.
fn replay_later(machine: &mut Machine<'_>, args: &Args) {
    for value in args.values().cloned().collect::<Vec<_>>() {
        for alternative in value.alternatives() {
            if let Val::Function(closure) = &alternative.val {
                machine.context.replays.insert((closure.module, closure.function));
                machine.context.pending.remove(&closure.identity);
            }
        }
    }
}

/// The method of strings that a call on a value from outside denotes, by its name and the number of its arguments.
fn text_method<'p>(program: &'p Program<'p>, name: &Name, args: &Args) -> Option<&'p crate::models::Callable> {
    let callable = program.models.callable(&format!("{TEXT_METHODS}{name}"))?;
    (callable.exact && args.is_positional() && callable.params.len() == args.positional.len() + 1).then_some(callable)
}

/// `x.at[i].set(…)` and similar methods.
fn updated_at<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    (value, index): (&Value, &Value),
    name: &Name,
    args: &Args,
    place: Place,
) -> Value {
    let number = machine.state.int_of(index);
    let is_of_keys = |value: &Value| value.alternatives().iter().any(|one| matches!(one.val, Val::Array(_)));
    if let Some(new) = args.positional.first().filter(|_| &**name == "set" && is_of_keys(value)) {
        let joined = [value.clone(), new.value.clone()];
        mixed_implementations::note(machine, frame, ImplementationConflict::Joined, &joined, place);
    }
    paths::on_alternatives(machine, value, |this, val| match val {
        Val::Key(key) if key.kind != KeyKind::Unknown => {
            let key = *key;
            let used = BufferUse::new(BufferOp::Arithmetic, format!(".at[…].{name}"), true);
            notes::buffer_use(this, frame, key, place, used);
            let edited = this.state.terms.intern(Term::Apply("<edited key>".into(), Box::new([key.term])));
            Value::of(Val::Key(crate::analysis::domain::value::Key { term: edited, derivation: 0, ..key }))
        }
        Val::Array(array) if &**name == "get" => match number {
            Some(number) => {
                let number = this.state.terms.int(number);
                arrays::array_element(this, array, number)
            }
            None => arrays::subset(&mut this.state.terms, array),
        },
        Val::Array(array) => match (number, args.positional.first()) {
            (Some(number), Some(new)) if &**name == "set" => arrays::with_element(this, array, number, &new.value),
            _ => arrays::subset(&mut this.state.terms, array),
        },
        _ => this.state.terms.opaque(format!("at.{name}"), Some(place)),
    })
}

/// Attributes of keys: values are computed here, methods when they are called.
pub fn key_attribute<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    val: &Val,
    name: &Name,
    place: Place,
) -> Value {
    let path: Name = format!("{ARRAY}.{name}").into();
    let is_property = matches!(
        &**name,
        "T" | "mT" | "shape" | "ndim" | "size" | "dtype" | "real" | "imag" | "flat" | "itemsize" | "nbytes"
    );
    if matches!(&**name, "shape" | "ndim" | "size" | "dtype") {
        let term: TermId = match operate::evident_key(machine, val) {
            Some(key) => key.term,
            None => machine.state.term_of_val(val),
        };
        return Value::term(machine.state.terms.intern(Term::Attribute(term, name.clone(), 0)));
    }
    if is_property
        && let Some(callable) = machine.program.models.callable(&path)
        && callable.exact
    {
        let args = Args::positional(vec![Value::of(val.clone())]);
        return functions::apply_model(machine, frame, callable, &path, args, place);
    }
    Value::of(Val::UnknownMethod(std::sync::Arc::new((Value::of(val.clone()), name.clone()))))
}

fn stream_method<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    (id, path): (ObjectId, &Name),
    name: &Name,
    (args, owner, place): (&Args, &Name, Place),
) -> Value {
    let given = machine.program.models.class(path).and_then(|class| class.method(name));
    for arg in &args.positional {
        machine.state.havoc(&arg.value);
    }
    let result = functions::stream_result(machine, given.unwrap_or(Yield::Unknown), path, place);
    writes::note_advance(machine, frame, &result, (id, owner), place);
    result
}

/// The receiver of a method, as written: `keys` in `keys.append`.
fn owner_of(written: Option<&Name>) -> Name {
    written.and_then(|written| written.rsplit_once('.')).map_or("", |(owner, _)| owner).into()
}

/// Methods that remove elements of containers.
const REMOVING: [&str; 4] = ["clear", "pop", "popitem", "popleft"];

/// A container, how many elements of it are known, and how many changes there have been.
struct Contents {
    container: ObjectId,
    elements: usize,
    changes: u64,
}

fn contents(machine: &Machine<'_>, val: &Val) -> Option<Contents> {
    let Val::Object(container) = *val else { return None };
    let elements = match &machine.state.store.objects[container.0 as usize].kind {
        ObjectKind::List { items, .. } => items.len(),
        ObjectKind::Dict { entries, .. } => entries.len(),
        _ => return None,
    };
    Some(Contents { container, elements, changes: machine.state.store.mutations })
}

/// Records what a method adds to a container, or that it removes something: `keys.append(key)`, `keys.pop()`.
fn note_contents<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    before: Option<Contents>,
    (name, call): (&Name, &Call),
) {
    let Some(before) = before else { return };
    let container = Val::Object(before.container);
    let Some(after) = contents(machine, &container) else { return };
    // Of a container whose elements are not all known, what is removed may be an unknown one.
    let removes_any = REMOVING.contains(&&**name) && call.args.positional.is_empty();
    if after.elements < before.elements || removes_any {
        writes::note_removal(machine, after.container);
    } else if after.elements > before.elements || after.changes > before.changes {
        let owner = owner_of(call.written.as_ref());
        for value in call.args.values() {
            writes::note_object(machine, frame, value, &Value::of(container.clone()), &owner, call.place);
        }
    }
}

/// Entering a context manager.
pub fn enter<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, manager: &Value, op: &'p crate::ir::Op) -> Value {
    let place = machine.place(frame, op.span);
    let manager = machine.state.possible(manager);
    paths::on_alternatives(machine, &manager, |this, val| {
        let dunder: Name = "__enter__".into();
        if let Some(method) = this.state.instance_method(val, &dunder) {
            return this.call_value(frame, &method, Args::default(), Some(place));
        }
        if let Val::Object(id) = val
            && let Some(yielded) = suspend::enter(this, frame, *id, place)
        {
            return yielded;
        }
        // A generator under `contextmanager` gives what it yields first.
        if let Val::Object(id) = val
            && matches!(this.state.store.objects[id.0 as usize].kind, ObjectKind::Iterator(Source::Generator(_), _))
        {
            return this.next_of(frame, &Value::of(val.clone()), place.span);
        }
        Value::of(val.clone())
    })
}

/// Leaving a context manager: its `__exit__` runs, as if nothing had been raised.
pub fn leave<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, manager: &Value, op: &'p crate::ir::Op) {
    let place = machine.place(frame, op.span);
    let manager = machine.state.possible(manager);
    paths::on_alternatives(machine, &manager, |this, val| {
        let dunder: Name = "__exit__".into();
        let Some(method) = this.state.instance_method(val, &dunder) else {
            if let Val::Object(id) = val {
                suspend::leave(this, *id);
            }
            return Value::unbound();
        };
        let none = this.state.terms.none();
        this.call_value(frame, &method, Args::positional(vec![none; 3]), Some(place))
    });
}
