//! Calls of methods: of built-in things, of libraries, and unknown ones.
//!
//! **Invariant:** what a method of a library does with keys is read from its model or a protocol; nothing here knows a path of a
//! library.

use std::cell::RefCell;
use std::rc::Rc;

use super::DrawKind;
use super::annotated;
use super::frame::{Eval, Signal};
use super::library;
use super::machine::Machine;
use super::step::{ELEMENTS, put_pair};
use super::value::{Args, Value};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{ARRAY, ProtocolEffect, Yield};

/// A method of something built in, of a library, or unknown.
pub(super) fn call_method<'p>(
    machine: &mut Machine<'p>,
    receiver: &Value<'p>,
    name: &Name,
    args: Args<'p>,
    place: Place,
) -> Eval<'p, Value<'p>> {
    match receiver {
        Value::List(_) | Value::Dict(_) | Value::Set(_) | Value::Tuple(_) | Value::Text(_) => {
            if let Some(value) = container_method(machine, receiver, name, &args, place)? {
                return Ok(value);
            }
            let symbol = machine.symbol_of(receiver);
            let mut parts = vec![symbol];
            parts.extend(args.values().take(16).map(|value| machine.symbol_of(value)).collect::<Vec<_>>());
            return Ok(Value::Unknown(machine.symbols.apply(name, &parts)));
        }
        Value::Keys(_) | Value::Family(_) | Value::Stack(_) => {
            let path: Name = format!("{ARRAY}.{name}").into();
            if let Some(callable) = machine.project.models.callable(&path).filter(|callable| callable.exact) {
                return library::apply(machine, callable, &path, args.with_receiver(receiver.clone()), place);
            }
            let symbol = machine.symbol_of(receiver);
            return Ok(Value::Unknown(machine.symbols.apply(name, &[symbol])));
        }
        Value::Stream(stream) => {
            let class = machine.project.models.class(&stream.0);
            let given = class.and_then(|class| class.method(name)).unwrap_or(Yield::Unknown);
            let path = stream.0.clone();
            return Ok(stream_result(machine, given, &path));
        }
        Value::Generator(_) | Value::Iterator(_) if matches!(&**name, "__next__" | "send") => {
            return match machine.next(receiver)? {
                Some(value) => Ok(value),
                None => Err(Signal::Raise(Value::Library("builtins.StopIteration".into()))),
            };
        }
        Value::Property(property) if &**name == "setter" => {
            return Ok(Value::Property(Rc::new((property.0.clone(), args.positional.first().cloned()))));
        }
        Value::Property(_) if &**name == "deleter" => return Ok(receiver.clone()),
        Value::Function(_) | Value::Wrapped(_) if &**name == "__call__" => {
            return machine.call_value(receiver, args, place);
        }
        Value::Super(_) => return Ok(machine.unknown(name)),
        Value::Instance(_) if matches!(&**name, "replace" | "_replace") => {
            return Ok(machine.replaced(receiver, &args));
        }
        Value::Instance(instance) => {
            let bases = instance.class.library_bases();
            let modelled = bases.iter().find_map(|base| {
                let path: Name = format!("{base}.{name}").into();
                let callable = machine.project.models.callable(&path).filter(|callable| callable.exact)?;
                Some((path, callable))
            });
            if let Some((path, callable)) = modelled {
                return library::apply(machine, callable, &path, args.with_receiver(receiver.clone()), place);
            }
            if let Some(changes) = instance.class.changed_by_copy(machine.project.models, name) {
                let mut args = args;
                for field in changes {
                    if args.keyword(field).is_none() {
                        args.keywords.push((field.as_str().into(), machine.unknown(field)));
                    }
                }
                return Ok(machine.replaced(receiver, &args));
            }
        }
        _ => {}
    }
    protocol_or_unknown(machine, receiver, name, &args, place)
}

pub(super) fn protocol_or_unknown<'p>(
    machine: &mut Machine<'p>,
    receiver: &Value<'p>,
    name: &Name,
    args: &Args<'p>,
    place: Place,
) -> Eval<'p, Value<'p>> {
    if let Some(view) = annotated::view(machine, receiver, name) {
        return Ok(view);
    }
    for protocol in machine.project.models.protocols(name) {
        let count = args.positional.len();
        if count < protocol.min_positional || protocol.max_positional.is_some_and(|most| count > most) {
            continue;
        }
        let named = protocol.key.names.iter().find_map(|name| args.keyword(name)).cloned();
        let placed = protocol.key.position.and_then(|position| args.positional.get(position)).cloned();
        let Some(key) = named.clone().or(placed) else { continue };
        // If the claim is about this very call, its argument at the key's position is used as a key; elsewhere only a key is.
        let is_key = named.is_some() || machine.hints.is_target(place) || !machine.held(&key).keys.is_empty();
        if !is_key {
            continue;
        }
        match protocol.effect {
            ProtocolEffect::Consume => {
                library::consume(machine, DrawKind::Consume, &key, name, place);
                machine.escape(args, place)?;
                machine.havoc(receiver);
                return Ok(machine.unknown_result(name));
            }
            ProtocolEffect::Split => {
                library::consume(machine, DrawKind::Split, &key, name, place);
                return Ok(machine.split(&key, None));
            }
            ProtocolEffect::Raises => {
                machine.escape(args, place)?;
                return Ok(machine.expects());
            }
            ProtocolEffect::Supply | ProtocolEffect::Observe | ProtocolEffect::Replace => {
                return Ok(machine.unknown_result(name));
            }
        }
    }
    let is_copied = matches!(&**name, "replace" | "_replace") && args.positional.is_empty();
    if is_copied && !args.keywords.is_empty() && matches!(receiver, Value::Unknown(_)) {
        return Ok(machine.replaced(receiver, args));
    }
    machine.havoc(receiver);
    let function = match receiver {
        Value::Unknown(symbol) => Value::Unknown(machine.symbols.attribute(*symbol, name)),
        _ => Value::Library(name.clone()),
    };
    machine.unresolved(&function, args, place)
}

fn container_method<'p>(
    machine: &mut Machine<'p>,
    receiver: &Value<'p>,
    name: &Name,
    args: &Args<'p>,
    place: Place,
) -> Eval<'p, Option<Value<'p>>> {
    let first = args.positional.first();
    Ok(match (receiver, &**name, first) {
        (Value::List(values), "append", Some(value)) => {
            if values.borrow().len() < ELEMENTS {
                values.borrow_mut().push(value.clone());
            }
            Some(Value::None)
        }
        (Value::Set(values), "add", Some(value)) => {
            if !values.borrow().iter().any(|old| old.equals(value, 4) == Some(true)) {
                values.borrow_mut().push(value.clone());
            }
            Some(Value::None)
        }
        (Value::List(values), "extend", Some(more)) => {
            let more = machine.items_of(&more.clone())?.unwrap_or_default();
            values.borrow_mut().extend(more.into_iter().take(ELEMENTS));
            Some(Value::None)
        }
        (Value::List(values), "insert", Some(index)) => {
            let at = index.int().and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
            if let Some(value) = args.positional.get(1) {
                let mut values = values.borrow_mut();
                let at = at.min(values.len());
                values.insert(at, value.clone());
            }
            Some(Value::None)
        }
        (Value::List(values), "pop" | "popleft", index) => {
            let length = values.borrow().len();
            let at = match index {
                None => {
                    if &**name == "popleft" {
                        Some(0)
                    } else {
                        length.checked_sub(1)
                    }
                }
                Some(index) => index.int().and_then(|at| super::access::position(length, at)),
            };
            at.filter(|at| *at < length).map(|at| values.borrow_mut().remove(at))
        }
        (Value::List(values), "copy", _) => Some(Value::list(values.borrow().clone())),
        (Value::List(values), "clear", _) => {
            values.borrow_mut().clear();
            Some(Value::None)
        }
        (Value::Dict(pairs), "items", _) => {
            let pairs = pairs.borrow();
            Some(Value::list(pairs.iter().map(|(key, value)| Value::tuple(vec![key.clone(), value.clone()])).collect()))
        }
        (Value::Dict(pairs), "keys", _) => {
            Some(Value::list(pairs.borrow().iter().map(|(key, _)| key.clone()).collect()))
        }
        (Value::Dict(pairs), "values", _) => {
            Some(Value::list(pairs.borrow().iter().map(|(_, value)| value.clone()).collect()))
        }
        (Value::Dict(pairs), "copy", added) => {
            let mut copy = pairs.borrow().clone();
            match added.or_else(|| args.keyword("add_or_replace")) {
                Some(Value::Dict(added)) => {
                    for (key, value) in added.borrow().clone() {
                        put_pair(&mut copy, key, value);
                    }
                    Some(Value::dict(copy))
                }
                Some(_) => None,
                None => Some(Value::dict(copy)),
            }
        }
        (Value::Dict(pairs), "get" | "pop" | "setdefault", Some(key)) => {
            item_or_default(pairs, name, key, args.positional.get(1))
        }
        (Value::Dict(pairs), "update", more) => {
            if let Some(Value::Dict(more)) = more {
                let more = more.borrow().clone();
                for (key, value) in more {
                    put_pair(&mut pairs.borrow_mut(), key, value);
                }
            }
            for (key, value) in &args.keywords {
                put_pair(&mut pairs.borrow_mut(), Value::Text(key.clone()), value.clone());
            }
            Some(Value::None)
        }
        (Value::Text(_) | Value::Tuple(_), _, _) => None,
        _ => {
            let held = machine.held_by(args);
            machine.log(DrawKind::Unresolved, name, place, held);
            None
        }
    })
}

/// `object.get(key, default)`, `pop` and `setdefault`, where it is known whether the key is there.
fn item_or_default<'p>(
    pairs: &RefCell<Vec<(Value<'p>, Value<'p>)>>,
    name: &str,
    key: &Value<'p>,
    default: Option<&Value<'p>>,
) -> Option<Value<'p>> {
    let found = pairs.borrow().iter().find(|(old, _)| old.equals(key, 4) == Some(true)).cloned();
    let is_certain = pairs.borrow().iter().all(|(old, _)| old.equals(key, 4).is_some());
    match found {
        Some((_, value)) => {
            if name == "pop" {
                pairs.borrow_mut().retain(|(old, _)| old.equals(key, 4) != Some(true));
            }
            Some(value)
        }
        None if is_certain => {
            let default = default.cloned().unwrap_or(Value::None);
            if name == "setdefault" {
                put_pair(&mut pairs.borrow_mut(), key.clone(), default.clone());
            }
            Some(default)
        }
        None => None,
    }
}

/// What a use of a stream gives.
pub(super) fn stream_result<'p>(machine: &mut Machine<'p>, given: Yield, path: &Name) -> Value<'p> {
    match given {
        Yield::Stream => {
            let symbol = machine.symbols.fresh(path);
            Value::Stream(Rc::new((path.clone(), symbol)))
        }
        Yield::Key | Yield::Keys | Yield::Number | Yield::Streams | Yield::Nothing | Yield::Unknown => {
            machine.unknown_result(path)
        }
    }
}
