//! Objects of the program's own classes with `__jax_array__` around a key.
//!
//! Functions that convert such an object get the array, so a wrapped key is the same key. Passing one to any other function is recorded.
//!
//! **Invariant:** every recorded object holds a key; whether its class is registered, and whether that matters, is
//! decided later. Programs without such a class pay for one check.

use crate::analysis::domain::kinds::WrapperWay;
use crate::analysis::domain::size::Walk;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{ClassHandle, Val, Value};
use crate::analysis::machine::{Frame, Machine, notes};
use crate::analysis::record::LoggedWrapper;
use crate::analysis::store::args::{Arg, Args};
use crate::analysis::store::heap::{ObjectKind, Registration};
use crate::analysis::store::paths;
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{ArrayObject, Callable, Effect, Registers, Takes, Transform};

/// How deep a tree is searched for objects.
const NESTED: u32 = 4;

/// Applies the effect of a library function on such objects, before its model: returns the arguments as the model gets
/// them.
pub fn taken<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    callable: Option<&'p Callable>,
    path: &Name,
    args: Args,
    place: Place,
) -> Args {
    if !machine.program.relevance.has_array_wrappers() {
        return args;
    }
    let Some(row) = machine.program.models.array_object(path) else { return args };
    if let Some(registers @ (Registers::Class | Registers::Family)) = row.registers {
        register(machine, registers, &args);
        return args;
    }
    let transform = callable.and_then(|callable| match &callable.effect {
        Effect::Transform(transform) => Some(&**transform),
        _ => None,
    });
    if transform.is_some() {
        return args;
    }
    match row.takes {
        Takes::Anything => args,
        Takes::Converted => converted(machine, frame, args, place),
        Takes::Data => {
            let sink = Sink { way: WrapperWay::Handed, path, place, takes: row.takes };
            let sampler = callable.and_then(|callable| match &callable.effect {
                Effect::Sample { keys, .. } => Some((callable, keys)),
                _ => None,
            });
            for key in
                sampler.into_iter().flat_map(|(callable, keys)| keys.iter().filter_map(|key| args.of(callable, key)))
            {
                note(machine, frame, &key.value, key.written.as_ref(), sink, &mut Walk::to(NESTED));
            }
            converted(machine, frame, args, place)
        }
        Takes::Registered | Takes::Never => {
            let sink = Sink { way: WrapperWay::Handed, path, place, takes: row.takes };
            for arg in args.positional.iter().chain(args.keywords.iter().map(|(_, arg)| arg)) {
                note(machine, frame, &arg.value, arg.written.as_ref(), sink, &mut Walk::to(NESTED));
            }
            args
        }
    }
}

/// The consumer of objects.
#[derive(Clone, Copy)]
struct Sink<'a> {
    way: WrapperWay,
    path: &'a Name,
    place: Place,
    takes: Takes,
}

/// Registers the classes among the arguments of a call.
fn register(machine: &mut Machine<'_>, registers: Registers, args: &Args) {
    let how = if registers == Registers::Family { Registration::Family } else { Registration::Own };
    let classes: Vec<ClassHandle> = args
        .values()
        .flat_map(Value::alternatives)
        .filter_map(|of| match of.val {
            Val::Class(class) => Some(class),
            _ => None,
        })
        .collect();
    for class in classes {
        machine.state.register(class, how);
    }
}

/// The method that converts an object to an array.
fn method_of(machine: &mut Machine<'_>, val: &Val) -> Option<(ClassHandle, Value)> {
    let Val::Object(id) = val else { return None };
    let object = &machine.state.store.objects[id.0 as usize];
    let class = object.class.filter(|_| object.kind == ObjectKind::Instance)?;
    let program = machine.program;
    let names = program.models.array_methods(program.roots);
    let method = names.iter().find_map(|name| machine.state.instance_method(val, &Name::from(name.as_str())))?;
    Some((class, method))
}

/// The arguments of a function that converts objects, including those in lists.
fn converted<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, mut args: Args, place: Place) -> Args {
    let all = args.positional.iter_mut().chain(args.keywords.iter_mut().map(|(_, arg)| arg));
    for arg in all {
        arg.value = array_of(machine, frame, &arg.value, place, &mut Walk::to(2));
    }
    args
}

fn array_of<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    value: &Value,
    place: Place,
    walk: &mut Walk,
) -> Value {
    let is_object = |val: &Val| matches!(val, Val::Object(_) | Val::Tuple(_));
    if !value.alternatives().iter().any(|alternative| is_object(&alternative.val)) || !walk.down() {
        return value.clone();
    }
    let value = value.clone();
    let array = paths::on_alternatives(machine, &value, |this, val| {
        if let Some((_, method)) = method_of(this, val) {
            return this.call_value(frame, &method, Args::default(), Some(place));
        }
        let items = match val {
            Val::Tuple(parts) => parts.to_vec(),
            Val::Object(id) => match &this.state.store.objects[id.0 as usize].kind {
                ObjectKind::List { items, unknown: false } => items.iter().map(|item| item.value.clone()).collect(),
                _ => return Value::of(val.clone()),
            },
            _ => return Value::of(val.clone()),
        };
        let arrays: Vec<Value> = items.iter().map(|item| array_of(this, frame, item, place, walk)).collect();
        if arrays == items { Value::of(val.clone()) } else { Value::of(Val::Tuple(arrays.into())) }
    });
    walk.back();
    array
}

/// Records the objects around keys in a value.
fn note<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    value: &Value,
    written: Option<&Name>,
    sink: Sink<'_>,
    walk: &mut Walk,
) {
    if machine.state.paths.pc.is_false() || !walk.down() {
        return;
    }
    for alternative in value.alternatives() {
        let parts: Vec<Value> = match &alternative.val {
            Val::Tuple(parts) => parts.to_vec(),
            Val::Object(id) => match &machine.state.store.objects[id.0 as usize].kind {
                ObjectKind::Instance => {
                    paths::under(machine, alternative.guard, |this| {
                        note_object(this, frame, &alternative.val, written, sink);
                    });
                    // The fields of a named tuple are parts of the tree.
                    let object = &machine.state.store.objects[id.0 as usize];
                    let is_sequence = |class: ClassHandle| machine.state.store.classes[class.0 as usize].sequence;
                    let is_tuple = object.items.is_some() || object.class.is_some_and(is_sequence);
                    object.attributes.values().filter(|_| is_tuple).cloned().collect()
                }
                kind => kind.held().map(|(_, value)| value.clone()).collect(),
            },
            _ => continue,
        };
        paths::under(machine, alternative.guard, |this| {
            for part in &parts {
                note(this, frame, part, None, sink, walk);
            }
        });
    }
    walk.back();
}

fn note_object<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    val: &Val,
    written: Option<&Name>,
    sink: Sink<'_>,
) {
    let Some((class, method)) = method_of(machine, val) else { return };
    let is_pytree = machine.state.store.classes[class.0 as usize].is_pytree();
    if is_pytree && sink.takes == Takes::Registered {
        return;
    }
    let array = machine.call_value(frame, &method, Args::default(), Some(sink.place));
    if !is_key(machine, &array) {
        return;
    }
    machine.recorder.wrap(LoggedWrapper {
        way: sink.way,
        class,
        callee: sink.path.clone(),
        place: sink.place,
        written: written.cloned(),
        guard: machine.state.paths.pc,
        activation: frame.activation.clone(),
    });
}

/// Whether a value is a key, or keys.
fn is_key(machine: &Machine<'_>, value: &Value) -> bool {
    value.alternatives().iter().any(|alternative| match &alternative.val {
        Val::Key(_) | Val::Array(_) => true,
        Val::Term(term) => machine.recorder.is_known_key(*term) || notes::looks_like_a_key(machine, *term, None),
        _ => false,
    })
}

/// A transform, as called.
#[derive(Clone, Copy)]
pub struct TransformCall<'a> {
    /// Its qualified name.
    pub path: &'a Name,
    /// The place at which a transform runs its function.
    pub place: Place,
}

/// Records the objects among the arguments of a function that a transform runs; `option` gives the options of the
/// transform.
pub fn note_arguments<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    (transform, crossing): (&Transform, TransformCall<'_>),
    args: &Args,
    option: &dyn Fn(&str) -> Option<Value>,
) {
    let Some(row) = crossed(machine, crossing.path) else { return };
    let sink = Sink { way: WrapperWay::Argument, path: crossing.path, place: crossing.place, takes: Takes::Registered };
    let chosen = row.only.as_deref().map(|name| match option(name) {
        Some(value) => listed(machine, &value),
        None => vec![Listed::Number(0)],
    });
    let statics: Vec<Listed> =
        transform.statics.iter().filter_map(|name| option(name)).flat_map(|value| listed(machine, &value)).collect();
    let axes = transform.axes.as_deref().filter(|_| row.mapped).and_then(option);
    let crosses = |machine: &Machine<'p>, at: Listed| {
        !statics.contains(&at)
            && chosen.as_ref().is_none_or(|chosen| chosen.contains(&at))
            && !axes.as_ref().is_some_and(|axes| is_unmapped(machine, axes, &at))
    };
    let mut given: Vec<&Arg> = Vec::new();
    for (number, arg) in args.positional.iter().enumerate() {
        if crosses(machine, Listed::Number(i128::try_from(number).unwrap_or(i128::MAX))) {
            given.push(arg);
        }
    }
    given.extend(
        args.keywords
            .iter()
            .filter(|(name, _)| chosen.is_none() && crosses(machine, Listed::Name(name.clone())))
            .map(|(_, arg)| arg),
    );
    for arg in given {
        note(machine, frame, &arg.value, arg.written.as_ref(), sink, &mut Walk::to(NESTED));
    }
}

/// Records the objects that a transform's function gets or returns.
pub fn note_crossing<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    crossing: TransformCall<'_>,
    way: WrapperWay,
    arg: &Arg,
) {
    if crossed(machine, crossing.path).is_none_or(|row| way == WrapperWay::Result && row.only.is_some()) {
        return;
    }
    let sink = Sink { way, path: crossing.path, place: crossing.place, takes: Takes::Registered };
    note(machine, frame, &arg.value, arg.written.as_ref(), sink, &mut Walk::to(NESTED));
}

/// The row of a transform that takes registered pytrees only.
fn crossed<'p>(machine: &Machine<'p>, path: &Name) -> Option<&'p ArrayObject> {
    let models = machine.program.models;
    let row = machine.program.relevance.has_array_wrappers().then(|| models.array_object(path))??;
    (row.takes == Takes::Registered).then_some(row)
}

/// An argument, as options list them.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Listed {
    Number(i128),
    Name(Name),
}

/// The arguments that an option lists: `0`, `(0, 1)`, `"box"`.
fn listed(machine: &Machine<'_>, value: &Value) -> Vec<Listed> {
    let of = |val: &Val| match val {
        Val::Term(term) => match machine.state.terms.get(*term) {
            Term::Text(name) => Some(Listed::Name(name.clone())),
            _ => machine.state.terms.as_int(*term).map(Listed::Number),
        },
        _ => None,
    };
    let parts: Vec<Value> = match value.single() {
        Some(Val::Tuple(parts)) => parts.to_vec(),
        Some(Val::Object(id)) => match &machine.state.store.objects[id.0 as usize].kind {
            ObjectKind::List { items, .. } => items.iter().map(|item| item.value.clone()).collect(),
            _ => Vec::new(),
        },
        _ => vec![value.clone()],
    };
    parts.iter().filter_map(|part| of(part.single()?)).collect()
}

/// Whether axes exclude an argument from mapping.
fn is_unmapped(machine: &Machine<'_>, axes: &Value, at: &Listed) -> bool {
    let is_none = |value: &Value| match value.single() {
        Some(Val::Term(term)) => *machine.state.terms.get(*term) == Term::None,
        _ => false,
    };
    match (axes.single(), at) {
        (Some(Val::Tuple(parts)), Listed::Number(number)) => {
            usize::try_from(*number).ok().and_then(|number| parts.get(number)).is_some_and(is_none)
        }
        _ => is_none(axes),
    }
}
