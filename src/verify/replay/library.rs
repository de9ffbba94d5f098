//! Calls of library functions, according to their models.
//!
//! **Invariant:** what a function does with keys is read from its model; nothing here knows a path of a library.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::DrawKind;
use super::access::is_exception;
use super::builtin::deep_copy;
use super::frame::{Eval, Signal};
use super::keys::{ExpandedKeys, constants};
use super::machine::{Library, Machine};
use super::methods;
use super::shape;
use super::symbol::Symbol;
use super::transform;
use super::value::{Args, KeyKind, Value, Wrapped, contents, like, sequence};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{self, Callable, Construct, Effect, Returns, SeedKind, Takes, TreeOp};
use crate::prng::keys::Keys;

/// The models of libraries, as the machine sees them.
pub(super) static MODELS: Library = Library {
    call_function: call_library,
    call_method: methods::call_method,
    protocol_or_unknown: methods::protocol_or_unknown,
    call_wrapped: transform::call_wrapped,
    stream_result: methods::stream_result,
    whole_stack: shape::whole_stack,
};

/// The argument that is bound to a parameter.
pub(super) fn argument<'a, 'p>(args: &'a Args<'p>, callable: &Callable, name: &str) -> Option<&'a Value<'p>> {
    match callable.position(name) {
        Some(position) if position < args.positional.len() => args.positional.get(position),
        _ => args.keyword(name),
    }
}

/// All arguments that are bound to a parameter, which may take any number.
pub(super) fn arguments<'p>(args: &Args<'p>, callable: &Callable, name: &str) -> Vec<Value<'p>> {
    models::bound(&callable.params, name, &args.positional, &args.keywords).into_iter().cloned().collect()
}

/// What looks like keys and has zeros for words.
fn zeroed<'p>(like: Option<&Value<'p>>) -> Option<Value<'p>> {
    let Some(Value::Keys(array)) = like else { return None };
    let words = vec![0; array.keys.words().len()];
    let keys = Keys::new(array.keys.implementation(), array.keys.shape(), words).ok()?;
    Some(Value::keys(keys, array.is_known, array.kind))
}

pub(super) fn call_library<'p>(
    machine: &mut Machine<'p>,
    path: &Name,
    args: Args<'p>,
    place: Place,
) -> Eval<'p, Value<'p>> {
    let models = machine.project.models;
    let args = converted(machine, path, args, place)?;
    if let Some(class) = models.class(path) {
        let construct = class.construct.clone();
        return construct_library(machine, path, &construct, &args, place);
    }
    if let Some(callable) = models.callable(path) {
        return apply(machine, callable, path, args, place);
    }
    if path.strip_prefix("builtins.").is_some_and(is_exception) {
        return Ok(Value::Library(path.clone()));
    }
    machine.unresolved(&Value::Library(path.clone()), &args, place)
}

/// The arguments of a function that converts objects to arrays.
fn converted<'p>(machine: &mut Machine<'p>, path: &Name, mut args: Args<'p>, place: Place) -> Eval<'p, Args<'p>> {
    let project = machine.project;
    let may_convert = |value: &Value<'p>| matches!(value, Value::Instance(_) | Value::List(_) | Value::Tuple(_));
    if !args.values().any(may_convert)
        || project.models.array_object(path).is_none_or(|row| !matches!(row.takes, Takes::Converted | Takes::Data))
    {
        return Ok(args);
    }
    let names = project.models.array_methods(project.roots);
    for value in args.positional.iter_mut().chain(args.keywords.iter_mut().map(|(_, value)| value)) {
        *value = match sequence(value) {
            Some(parts) => {
                let parts: Eval<'p, Vec<_>> = parts.iter().map(|part| array_of(machine, &names, part, place)).collect();
                like(value, parts?)
            }
            None => array_of(machine, &names, value, place)?,
        };
    }
    Ok(args)
}

/// The array to which an object converts.
fn array_of<'p>(machine: &mut Machine<'p>, names: &[String], value: &Value<'p>, place: Place) -> Eval<'p, Value<'p>> {
    let Value::Instance(instance) = value else { return Ok(value.clone()) };
    let Some(name) = names.iter().find(|name| instance.class.find(name).is_some()) else { return Ok(value.clone()) };
    let method = machine.attribute(value, &Name::from(name.as_str()))?;
    machine.call_value(&method, Args::default(), place)
}

fn construct_library<'p>(
    machine: &mut Machine<'p>,
    path: &Name,
    construct: &Construct,
    args: &Args<'p>,
    place: Place,
) -> Eval<'p, Value<'p>> {
    match construct {
        Construct::Record { fields, .. } if !fields.is_empty() => Ok(machine.record(fields, args)),
        Construct::Record { .. } => match args.positional.first() {
            // The class decorator.
            Some(Value::Class(class)) => {
                class.is_record.set(true);
                Ok(Value::Class(class.clone()))
            }
            None => Ok(Value::Library(path.clone())),
            Some(_) => Ok(machine.unknown_result(path)),
        },
        Construct::Stream { seeds, .. } => {
            let mut given = constructed(machine, path, seeds, args);
            for value in given.iter_mut().filter(|value| value.int().is_some()) {
                *value = machine.seed(value, KeyKind::Typed);
            }
            consume_all(machine, &given, path, place);
            let symbol = machine.symbols.fresh(path);
            Ok(Value::Stream(Rc::new((path.clone(), symbol))))
        }
        Construct::Plain { consumes } => {
            for given in constructed(machine, path, consumes, args) {
                consume(machine, DrawKind::Consume, &given, path, place);
            }
            machine.escape(args, place)?;
            Ok(machine.unknown_result(path))
        }
    }
}

/// The arguments of a constructor that are bound to these parameters.
fn constructed<'p>(machine: &Machine<'p>, path: &Name, names: &[String], args: &Args<'p>) -> Vec<Value<'p>> {
    let Some(class) = machine.project.models.class(path) else { return Vec::new() };
    let of = |name: &String| models::bound(&class.params, name, &args.positional, &args.keywords);
    names.iter().flat_map(of).cloned().collect()
}

/// A function that takes one key raises if it gets an array of keys, a container that holds keys, or a number.
fn single<'p>(key: &Value<'p>) -> Eval<'p, ()> {
    let error = match key {
        Value::Keys(array) if array.keys.shape().is_empty() => return Ok(()),
        Value::Keys(_) | Value::Family(_) | Value::Stack(_) => "builtins.ValueError",
        Value::None
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::Tuple(_)
        | Value::List(_)
        | Value::Set(_)
        | Value::Dict(_)
        | Value::Function(_)
        | Value::Class(_)
        | Value::Stream(_)
        | Value::Iterator(_)
        | Value::Generator(_) => "builtins.TypeError",
        Value::Instance(instance) if !instance.class.may_be_array() => "builtins.TypeError",
        _ => return Ok(()),
    };
    Err(Signal::Raise(Value::Library(error.into())))
}

/// Logs keys that are passed.
pub(super) fn consume<'p>(machine: &mut Machine<'p>, kind: DrawKind, value: &Value<'p>, path: &Name, place: Place) {
    let expanded = machine.expand_keys(value);
    machine.log(kind, path, place, expanded);
}

/// Logs several values that may be keys, at once.
fn consume_all<'p>(machine: &mut Machine<'p>, given: &[Value<'p>], path: &Name, place: Place) {
    let mut expanded = ExpandedKeys { keys: Vec::new(), is_known: true };
    for value in given {
        let more = machine.expand_keys(value);
        expanded.keys.extend(more.keys);
        expanded.is_known &= more.is_known;
    }
    machine.log(DrawKind::Consume, path, place, expanded);
}

/// A call of a function with a model.
#[derive(Clone, Copy)]
struct ModelCall<'a, 'p> {
    callable: &'a Callable,
    path: &'a Name,
    args: &'a Args<'p>,
    place: Place,
}

impl<'a, 'p> ModelCall<'a, 'p> {
    /// The argument that is bound to a parameter.
    fn argument(&self, name: &str) -> Option<&'a Value<'p>> {
        argument(self.args, self.callable, name)
    }
}

/// A draw from keys.
fn sample<'p>(machine: &mut Machine<'p>, call: ModelCall<'_, 'p>, keys: &[String]) -> Eval<'p, Value<'p>> {
    let ModelCall { callable, path, args, place } = call;
    let mut parts: Vec<Symbol> = Vec::new();
    for name in keys {
        let Some(key) = call.argument(name) else { continue };
        single(key)?;
        let expanded = machine.expand_keys(key);
        for words in &expanded.keys {
            parts.extend(words.iter().map(|word| machine.symbols.int(i128::from(*word))));
        }
        let numbers = constants(args, name, callable.position(name));
        machine.log_with(DrawKind::Sample, path, place, expanded, numbers, Vec::new());
    }
    let others: Vec<Symbol> = args.values().take(16).map(|value| machine.symbol_of(value)).collect();
    parts.extend(others);
    // What is drawn is a function of the key and the other arguments.
    Ok(Value::Unknown(machine.symbols.apply(path, &parts)))
}

/// A pure function of its arguments.
fn pure<'p>(machine: &mut Machine<'p>, path: &Name, args: &Args<'p>) -> Value<'p> {
    if args.keywords.is_empty() && machine.project.models.is_counting(path) {
        match &args.positional[..] {
            [Value::Int(to)] => return Value::Range(0, *to, 1),
            [Value::Int(from), Value::Int(to)] => return Value::Range(*from, *to, 1),
            _ => {}
        }
    }
    let parts: Vec<Symbol> = args.values().take(32).map(|value| machine.symbol_of(value)).collect();
    let symbol = if args.is_open { machine.symbols.fresh(path) } else { machine.symbols.apply(path, &parts) };
    Value::Unknown(symbol)
}

/// `key(seed)`, which raises if its seed is a key.
fn seeded<'p>(machine: &mut Machine<'p>, call: ModelCall<'_, 'p>, seed: &str, kind: SeedKind) -> Eval<'p, Value<'p>> {
    let seed = call.argument(seed).unwrap_or(&Value::None);
    if matches!(seed, Value::Keys(_) | Value::Family(_)) {
        return Err(Signal::Raise(Value::Library("builtins.TypeError".into())));
    }
    let kind = match kind {
        SeedKind::Typed => KeyKind::Typed,
        SeedKind::Raw => KeyKind::Raw,
    };
    Ok(match machine.seed(seed, kind) {
        Value::Keys(array) if machine.project.chooses || call.argument("impl").is_some() => {
            // Another implementation has other numbers.
            Value::keys(array.keys.clone(), false, array.kind)
        }
        other => other,
    })
}

/// `split(key, num)`
fn splits<'p>(machine: &mut Machine<'p>, call: ModelCall<'_, 'p>, key: &str, num: Option<&str>) -> Eval<'p, Value<'p>> {
    let Some(key) = call.argument(key) else { return Ok(machine.unknown_result(call.path)) };
    let num = num.and_then(|num| call.argument(num));
    single(key)?;
    consume(machine, DrawKind::Split, key, call.path, call.place);
    if call.args.is_open && num.is_none() {
        let open = machine.unknown("<num>");
        return Ok(machine.split(key, Some(&open)));
    }
    Ok(machine.split(key, num))
}

/// What is modelled as consuming its keys.
fn consumes<'p>(machine: &mut Machine<'p>, call: ModelCall<'_, 'p>, keys: &[String]) -> Eval<'p, Value<'p>> {
    let given: Vec<Value<'p>> = keys.iter().flat_map(|name| arguments(call.args, call.callable, name)).collect();
    consume_all(machine, &given, call.path, call.place);
    machine.escape(call.args, call.place)?;
    Ok(machine.unknown_result(call.path))
}

/// Whether a call sets a flag with which it draws nothing.
fn sets_flag(call: ModelCall<'_, '_>, flags: &BTreeMap<String, bool>) -> bool {
    flags.iter().any(|(name, wanted)| matches!(call.argument(name), Some(Value::Bool(given)) if given == wanted))
}

/// Applies a model to a call.
pub(super) fn apply<'p>(
    machine: &mut Machine<'p>,
    callable: &'p Callable,
    path: &Name,
    args: Args<'p>,
    place: Place,
) -> Eval<'p, Value<'p>> {
    let call = ModelCall { callable, path, args: &args, place };
    Ok(match &callable.effect {
        Effect::Seed { seed, kind } => seeded(machine, call, seed, *kind)?,
        Effect::Split { key, num } => splits(machine, call, key, num.as_deref())?,
        Effect::Fold { key, data } => {
            let Some(key) = call.argument(key) else { return Ok(machine.unknown_result(path)) };
            single(key)?;
            consume(machine, DrawKind::Fold, key, path, place);
            machine.fold_in(key, call.argument(data).unwrap_or(&Value::None))
        }
        Effect::Clone { key } | Effect::KeyData { key } => call.argument(key).cloned().unwrap_or(Value::None),
        Effect::Wrap { data: of } | Effect::Forward { of, .. } => match call.argument(of) {
            Some(of) if matches!(callable.effect, Effect::Forward { copies: true, .. }) => deep_copy(of),
            Some(of) => of.clone(),
            None if callable.params.len() > 1 && args.positional.is_empty() && !args.keywords.is_empty() => {
                // A decorator with arguments.
                Value::Library(path.clone())
            }
            None => machine.unknown_result(path),
        },
        Effect::Sample { keys, .. } => sample(machine, call, keys)?,
        Effect::Consume { no_draw_when, .. } if sets_flag(call, no_draw_when) => {
            machine.escape(&args, place)?;
            machine.unknown_result(path)
        }
        Effect::Consume { keys, .. } => consumes(machine, call, keys)?,
        Effect::Observe => {
            machine.escape(&args, place)?;
            machine.unknown_result(path)
        }
        Effect::Fabricate { of, zeros } => match zeroed(call.argument(of).filter(|_| *zeros)) {
            Some(value) => value,
            None => pure(machine, path, &args),
        },
        Effect::Pure { .. } | Effect::ShapeOf { .. } => pure(machine, path, &args),
        Effect::Number { of, .. } => match call.argument(of) {
            Some(value @ (Value::Int(_) | Value::Bool(_))) => value.clone(),
            Some(Value::Unknown(symbol)) => Value::Unknown(*symbol),
            _ => pure(machine, path, &args),
        },
        Effect::Shape { leaves: true, .. } if args.positional.first().is_some_and(transform::is_branch) => {
            let tree = args.positional.first().cloned().unwrap_or(Value::None);
            transform::on_leaves(machine, &tree, 6, &mut |this, leaf| {
                apply(this, callable, path, Args::of(vec![leaf.clone()]), place)
            })?
        }
        Effect::Shape { op, of, .. } => {
            let given: Vec<Value<'p>> = of.iter().flat_map(|name| arguments(&args, callable, name)).collect();
            match shape::rearranged(machine, *op, &given, &args, callable)? {
                Some(value) => value,
                None => pure(machine, path, &args),
            }
        }
        Effect::Supply { .. } => machine.unknown_result(path),
        Effect::Tree { op, of } => match call.argument(of) {
            Some(tree) => tree_op(machine, *op, tree, path),
            None => machine.unknown_result(path),
        },
        Effect::Transform(transform) => match transform.returns {
            Returns::Function => {
                let function = transform.function.as_deref().and_then(|name| call.argument(name)).cloned();
                Value::Wrapped(Rc::new(Wrapped { path: path.clone(), function, args }))
            }
            Returns::Result => transform::run_transform(machine, transform, callable, path, &args, place)?,
        },
        Effect::Factory { .. } => Value::Wrapped(Rc::new(Wrapped { path: path.clone(), function: None, args })),
        Effect::Builtin(op) => machine.builtin(*op, path, &args, place)?,
        Effect::Prelude { definition } => super::prelude::run_prelude(machine, (path, definition), args, place)?,
    })
}

fn tree_op<'p>(machine: &mut Machine<'p>, op: TreeOp, tree: &Value<'p>, path: &Name) -> Value<'p> {
    // Only draws that the analysis reports are compared, and it reports hardly any that a flag turns off.
    if op == TreeOp::Quiet {
        return tree.clone();
    }
    let mut leaves = Vec::new();
    let is_known = leaves_of(tree, &mut leaves, 8);
    let symbol = machine.symbol_of(tree);
    match op {
        TreeOp::Leaves if is_known => Value::list(leaves),
        TreeOp::Flatten if is_known => {
            let structure = machine.symbols.apply("structure", &[symbol]);
            Value::tuple(vec![Value::list(leaves), Value::Unknown(structure)])
        }
        // What replaces the parts is not computed.
        TreeOp::At => machine.unknown_result(path),
        _ => Value::Unknown(machine.symbols.apply(path, &[symbol])),
    }
}

/// The leaves of a tree; whether all of it is known.
pub(super) fn leaves_of<'p>(tree: &Value<'p>, leaves: &mut Vec<Value<'p>>, depth: u32) -> bool {
    if depth == 0 {
        return false;
    }
    match tree {
        Value::None => true,
        Value::Tuple(_) | Value::List(_) | Value::Dict(_) => {
            contents(tree).unwrap_or_default().iter().all(|value| leaves_of(value, leaves, depth - 1))
        }
        Value::Unknown(_) | Value::Instance(_) => false,
        other => {
            leaves.push(other.clone());
            true
        }
    }
}
