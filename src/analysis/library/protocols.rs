//! Methods that protocols of libraries describe, on objects of unknown class.
//!
//! **Invariant:** a method of an object from outside consumes a key only if a protocol says so, and either the file uses the library, or
//! the argument is known to be a key or named like one.

use std::sync::Arc;

use crate::analysis::domain::kinds::Role;
use crate::analysis::domain::size::Walk;
use crate::analysis::domain::term::{Term, Terms};
use crate::analysis::domain::value::{ModuleIndex, Val, Value};
use crate::analysis::library::consume::Sink;
use crate::analysis::library::tree::NESTED;
use crate::analysis::library::{consume, derive, flags, keyless, parameters, submodules};
use crate::analysis::machine::exec::EXPECTS;
use crate::analysis::machine::{Frame, Machine, annotate, arrays, name_cache, notes, stored_callables};
use crate::analysis::program::Program;
use crate::analysis::record::DrawnIn;
use crate::analysis::store::args::{Arg, Args, Call};
use crate::analysis::store::heap::ObjectKind;
use crate::analysis::store::{State, evidence, paths};
use crate::finding::Place;
use crate::ir::{Argument, Name, Op, OpKind};
use crate::models::{Protocol, ProtocolEffect, UndrawnResult};

/// Most operations of a method that a library runs.
pub const RUN_FUEL: u32 = 6_000;

pub fn protocol_or_unknown<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    val: &Val,
    name: &Name,
    call: Call,
) -> Value {
    let Call { args, place, written } = call;
    let receiver = Value::of(val.clone());
    let text = written.clone().unwrap_or_else(|| name.clone());
    let models = machine.program.models;
    let (mut matched, mut has_run) = (None, false);
    let relevance = &machine.program.relevance;
    // One without a key says nothing of where a key is.
    let has_key = |protocol: &&'p Protocol| {
        protocol.effect != ProtocolEffect::Observe || protocol.key.position.is_some() || !protocol.key.names.is_empty()
    };
    let is_imported =
        |protocol: &&'p Protocol| protocol.libraries.iter().any(|library| relevance.imports(frame.module, library));
    let (imported, elsewhere): (Vec<&Protocol>, Vec<&Protocol>) = models
        .protocols(name)
        .iter()
        .filter(has_key)
        .filter(|protocol| !is_keyless(machine, val, protocol))
        .partition(is_imported);
    // If a library in use has a method of this name, its protocol gives the position of the key.
    let is_strange = imported.is_empty();
    // Two methods of one name may have their keys in different positions: the argument that is clearly a key decides.
    let mut possible = None;
    let mut forms = 0;
    for protocol in imported {
        let Some(key) = key_of_protocol(protocol, &args) else { continue };
        if let Some(method) = &protocol.runs
            && machine.state.is_of_library(val, &protocol.libraries)
        {
            has_run |= run_named(machine, frame, val, method, &args, place);
        }
        let named = protocol.key.names.iter().any(|name| args.keyword(name).is_some())
            || machine.state.is_of_library(val, &protocol.libraries);
        match (protocol.effect, key) {
            (ProtocolEffect::Supply, _) => return derive::supplied_key(&mut machine.state.terms, place),
            (ProtocolEffect::Replace, _) => return replaced_by(&mut machine.state, protocol, &receiver, args, place),
            (ProtocolEffect::Raises, _) => {
                return Value::term(machine.state.terms.intern(Term::Apply(EXPECTS.into(), Box::new([]))));
            }
            (_, Some(key)) if is_of_keys(machine, &key.value) || is_named_like_a_key(machine, key) => {
                matched = Some((protocol, key.clone(), named));
                break;
            }
            (_, Some(key)) => {
                forms += 1;
                if possible.is_none() && (named || may_hold_key(&machine.state.terms, &key.value)) {
                    possible = Some((protocol, key.clone(), named));
                }
            }
            _ => {}
        }
    }
    // If several forms are possible, the library in use is evidence for none of them. A known key where a method of another library takes
    // its key is better evidence than either.
    let possible = possible.map(|(protocol, key, named)| (protocol, key, named && forms == 1));
    let is_strange = is_strange || possible.is_some();
    let other =
        if matched.is_none() && !has_run { of_other_library(machine, elsewhere, &args, is_strange) } else { None };
    let is_certain = other.as_ref().is_some_and(|(_, key)| is_of_keys(machine, &key.value));
    let possible = possible.filter(|_| !is_certain);
    let matched = matched.or(possible).map(|(protocol, key, named)| {
        if named {
            assume_keys(machine, &key.value, &mut Walk::to(3));
        }
        (protocol, key)
    });
    match matched.or(other).map(|(protocol, key)| (protocol.effect, protocol, key)) {
        Some((ProtocolEffect::Consume, protocol, key)) => {
            consume_streams(machine, frame, val, (protocol, &key), (&args, &text, place));
            machine.escape_arguments(&args);
            stored_callables::havoc_receiver(machine, frame, (&receiver, name), place);
            name_cache::unknown_result(machine, &text, place)
        }
        Some((ProtocolEffect::Split, _, key)) => derive::split(machine, frame, &key, None, &text, place),
        // The analysis has seen what the code that ran consumes.
        None if has_run => {
            stored_callables::havoc_receiver(machine, frame, (&receiver, name), place);
            name_cache::unknown_result(machine, &text, place)
        }
        Some(_) => name_cache::unknown_result(machine, &text, place),
        None => {
            let result =
                machine.unresolved(frame, &args, place, Some(&(receiver.clone(), name.clone())), written, Some(val));
            note_unresolved(machine, val, name, &args, &result);
            result
        }
    }
}

/// The protocol of a library that only the code that created the receiver uses; then the key itself has to be the evidence.
fn of_other_library<'p>(
    machine: &mut Machine<'p>,
    protocols: Vec<&'p Protocol>,
    args: &Args,
    is_strange: bool,
) -> Option<(&'p Protocol, Arg)> {
    let consuming = protocols.into_iter().filter(|protocol| protocol.effect == ProtocolEffect::Consume);
    let matched = consuming.filter_map(|protocol| Some((protocol, key_of_protocol(protocol, args)??)));
    let (protocol, key) = matched.into_iter().find(|(protocol, key)| {
        let is_named = protocol.key.names.iter().any(|name| args.keyword(name).is_some());
        (is_named || is_strange) && (is_of_keys(machine, &key.value) || is_named_like_a_key(machine, key))
    })?;
    // `rng=rng` may pass a generator of another library; a dict of streams holds keys.
    if matches!(key.value.single(), Some(Val::Object(_))) {
        assume_keys(machine, &key.value, &mut Walk::to(3));
    }
    Some((protocol, key.clone()))
}

/// Consumes the keys of a call, each as what its stream is drawn from.
fn consume_streams<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    receiver: &Val,
    (protocol, key): (&Protocol, &Arg),
    (args, callee, place): (&Args, &Name, Place),
) {
    if keyless::requests_no_key(machine, receiver, protocol, (args, &key.value)) {
        machine.leave_undrawn(args, place);
        return;
    }
    // A deterministic network may take keys only to have a uniform signature, and draw nothing.
    let may_draw_nothing = flags::may_draw_nothing(machine, receiver, protocol, key, (args, place))
        || parameters::is_deterministic_init(machine, receiver, protocol);
    let is_constant = may_draw_nothing && is_constant(machine, frame.module, receiver, protocol);
    let in_receiver = submodules::drawn_in(machine, receiver, protocol, args);
    for (part, stream) in streams_of(&machine.state, protocol, key) {
        let may_draw_nothing = may_draw_nothing || stream == Stream::NoDraw;
        let role = if may_draw_nothing { Role::Unresolved } else { Role::Protocol };
        let is_dropped = stream == Stream::Dropped || is_constant;
        let drawn_in = if is_dropped { &DrawnIn::Nothing } else { &in_receiver };
        consume::consume_at(machine, frame, &part, Sink { role, callee, place, drawn_in });
    }
}

/// Whether the result is the same for every key: the library made the receiver, and no constructor in the module is told to draw.
fn is_constant(machine: &Machine<'_>, module: ModuleIndex, receiver: &Val, protocol: &Protocol) -> bool {
    let is_told = |op: &Op| {
        match &op.kind {
        OpKind::Call(_, arguments) => arguments.iter().any(|argument| {
            matches!(argument, Argument::Keyword(name, _) if protocol.drawn_with.iter().any(|keyword| **keyword == **name))
        }),
        _ => false,
    }
    };
    protocol.no_draw_by_default == Some(UndrawnResult::Constant)
        && machine.state.is_of_library(receiver, &protocol.libraries)
        && !machine.program.module(module).functions.iter().any(|code| code.ops.iter().any(is_told))
}

/// Records what an unresolved method may change, and how long its result is.
fn note_unresolved(machine: &mut Machine<'_>, val: &Val, name: &Name, args: &Args, result: &Value) {
    machine.state.note_changed(val, name, args);
    if let ("items" | "keys" | "values", [], Val::Term(of), Some(Val::Term(term))) =
        (&**name, args.positional.as_slice(), val, result.single())
    {
        let lengths = [Some(machine.state.length_of_term(*of))];
        machine.state.store.axis_lengths.insert(*term, lengths.into());
        annotate::note_view(&mut machine.state, *of, name, *term);
    }
    // The array that this method returns has these lengths.
    if let Some(callable) = machine.program.models.of_array(name)
        && callable.lengths.is_some()
    {
        machine.state.note_lengths(callable, &args.clone().with_receiver(Value::of(val.clone()), None), result);
    }
}

/// A copy of a state with the fields that a method of its library replaces.
fn replaced_by(state: &mut State, protocol: &Protocol, receiver: &Value, mut args: Args, place: Place) -> Value {
    for field in &protocol.changes {
        if args.keyword(field).is_none() {
            let value = state.terms.opaque(Name::from(field.as_str()), Some(place));
            args.keywords.push((field.as_str().into(), Arg { value, written: None }));
        }
    }
    state.replaced(receiver, &args, place)
}

/// The argument that is the key if a call is one of a protocol's, where it has one; nothing for a call of another form.
#[expect(clippy::option_option, reason = "some protocols take no key")]
fn key_of_protocol<'a>(protocol: &Protocol, args: &'a Args) -> Option<Option<&'a Arg>> {
    let count = args.positional.len();
    if count < protocol.min_positional || protocol.max_positional.is_some_and(|most| count > most) {
        return None;
    }
    let named = protocol.key.names.iter().find_map(|name| args.keyword(name));
    Some(named.or_else(|| protocol.key.position.and_then(|position| args.positional.get(position))))
}

/// What a call draws from one of the streams that it is given keys for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    /// Parts of its result, perhaps.
    Result,
    /// Only what the call drops: `init` returns no output, so no dropout.
    Dropped,
    /// Nothing, as a rule.
    NoDraw,
}

/// The keys of a call, each with its stream: `apply(variables, x, rngs={"params": key})`, `init({"params": key, "dropout": key_2}, x)`.
fn streams_of(state: &State, protocol: &Protocol, given: &Arg) -> Vec<(Arg, Stream)> {
    let whole = || vec![(given.clone(), Stream::Result)];
    let Some(Val::Object(id)) = given.value.single() else { return whole() };
    let ObjectKind::Dict { entries, unknown: false } = &state.store.objects[id.0 as usize].kind else { return whole() };
    let Protocol { no_draw_streams, dropped_streams, .. } = protocol;
    let is_among = |streams: &[String], name: &str| streams.iter().any(|stream| stream == name);
    let stream = |term| match state.terms.get(term) {
        Term::Text(name) if is_among(no_draw_streams, name) => Stream::NoDraw,
        Term::Text(name) if is_among(dropped_streams, name) => Stream::Dropped,
        _ => Stream::Result,
    };
    if entries.iter().all(|entry| stream(entry.key) == Stream::Result) {
        return whole();
    }
    let part = |value: &Value| Arg { value: value.clone(), written: None };
    entries.iter().map(|entry| (part(&entry.value), stream(entry.key))).collect()
}

/// The method of an object that a call runs: the usual one, one by its name, or a function that gets the object first.
fn selected(machine: &mut Machine<'_>, object: &Val, usual: &str, given: Option<&Arg>) -> Option<Value> {
    let Some(given) = given else { return machine.state.instance_method(object, &usual.into()) };
    let function = match given.value.single()? {
        Val::Term(term) => {
            let name = match machine.state.terms.get(*term) {
                Term::None => usual.into(),
                Term::Text(name) => name.clone(),
                _ => return None,
            };
            return machine.state.instance_method(object, &name);
        }
        Val::Method(parts) => parts.1.clone(),
        Val::Function(_) => given.value.clone(),
        _ => return None,
    };
    Some(Value::of(Val::Method(Arc::new((Value::of(object.clone()), function)))))
}

/// Runs a method of an object on the arguments after the first, as `apply` runs `__call__` or the one that its argument `method` selects, if
/// keys may be among them; returns whether there was such a method. A key that the method makes from a constant may be that of fixed
/// features: the method then has to draw alike in each call.
fn run_named<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    val: &Val,
    method: &str,
    args: &Args,
    place: Place,
) -> bool {
    let Some(bound) = selected(machine, val, method, args.keyword("method")) else { return false };
    let Some(Val::Method(parts)) = bound.single() else { return false };
    let Some(Val::Function(closure)) = parts.1.single() else { return false };
    let parameters = &machine.module(closure.module).function(closure.function).parameters;
    let takes = |name: &Name| parameters.iter().any(|parameter| parameter.name == *name);
    let given = Args {
        positional: args.positional.iter().skip(1).cloned().collect(),
        keywords: args.keywords.iter().filter(|(name, _)| takes(name)).cloned().collect(),
        spread: args.spread.clone(),
        placed: args.placed.map(|count| count.saturating_sub(1)),
        mappings: args.mappings.clone(),
        prebound: None,
    };
    let gets_key = given.positional.iter().any(|arg| is_named_like_a_key(machine, arg))
        || given.values().cloned().collect::<Vec<_>>().iter().any(|value| holds_key(machine, value));
    if !gets_key {
        return false;
    }
    // The library's own code before and after is unknown: the call is assumed to return, whatever happens in the
    // method's body.
    let kept = machine.budget.portion(RUN_FUEL);
    paths::preserving(machine, |machine| machine.call_value(frame, &bound, given, Some(place)));
    machine.budget.rejoin(kept);
    true
}

/// Whether a receiver was made by a function whose results take no key.
fn is_keyless(machine: &Machine<'_>, val: &Val, protocol: &Protocol) -> bool {
    let Val::Term(term) = val else { return false };
    protocol.keyless.iter().any(|path| {
        machine
            .state
            .terms
            .symbol(*term)
            .is_some_and(|info| *info.text == *name_cache::call_text(machine, &path.as_str().into()))
    })
}

/// The argument of a protocol's keyword consists of keys.
fn assume_keys(machine: &mut Machine<'_>, value: &Value, walk: &mut Walk) {
    if !walk.down() {
        return;
    }
    for alternative in value.alternatives().to_vec() {
        match &alternative.val {
            Val::Term(term) if evidence::may_be_key(&machine.state.terms, *term) => {
                machine.recorder.assume_scalar(*term);
            }
            Val::Object(id) => {
                if let ObjectKind::Dict { entries, .. } = machine.state.store.objects[id.0 as usize].kind.clone() {
                    for entry in entries {
                        assume_keys(machine, &entry.value, walk);
                    }
                }
            }
            Val::Tuple(parts) => {
                for part in parts.clone().iter() {
                    assume_keys(machine, part, walk);
                }
            }
            _ => {}
        }
    }
    walk.back();
}

/// Whether a value could be a key: it comes from outside, and nothing shows that it is something else.
fn may_hold_key(terms: &Terms, value: &Value) -> bool {
    matches!(value.single(), Some(Val::Term(term)) if evidence::may_be_key(terms, *term))
}

/// Whether an argument could be a key and is named like one, or is a dict of such values: `rngs={"dropout": key}`.
fn is_named_like_a_key(machine: &Machine<'_>, arg: &Arg) -> bool {
    let is_named = |value: &Value, written: Option<&str>| matches!(value.single(), Some(Val::Term(term)) if notes::looks_like_a_key(machine, *term, written));
    match arg.value.single() {
        Some(Val::Object(id)) => match &machine.state.store.objects[id.0 as usize].kind {
            ObjectKind::Dict { entries, unknown: false } => {
                !entries.is_empty() && entries.iter().all(|entry| is_named(&entry.value, None))
            }
            _ => false,
        },
        _ => is_named(&arg.value, arg.written.as_deref()),
    }
}

/// Whether a value is a key, or a container of only keys: `{"params": key, "dropout": key_2}`. A state that holds a key beside other values
/// is not that key.
fn is_of_keys(machine: &mut Machine<'_>, value: &Value) -> bool {
    let contents: Vec<Vec<Value>> = value
        .alternatives()
        .iter()
        .filter_map(|alternative| match &alternative.val {
            Val::Tuple(parts) => Some(parts.to_vec()),
            Val::Object(id) => {
                let object = &machine.state.store.objects[id.0 as usize];
                Some(object.kind.held().map(|(_, value)| value.clone()).collect())
            }
            _ => None,
        })
        .collect();
    holds_key(machine, value) && contents.iter().flatten().all(|part| holds_key(machine, part))
}

/// Whether a value is, or holds, something known to be a key.
pub fn holds_key(machine: &mut Machine<'_>, value: &Value) -> bool {
    holds_key_within(machine, value, &mut Walk::to(NESTED))
}

fn holds_key_within(machine: &mut Machine<'_>, value: &Value, walk: &mut Walk) -> bool {
    if !walk.down() {
        return false;
    }
    let holds = value.alternatives().to_vec().iter().any(|alternative| match &alternative.val {
        Val::Key(_) => true,
        Val::Array(array) => arrays::is_evident(machine, array),
        Val::Term(term) => machine.recorder.is_known_key(*term),
        Val::Tuple(parts) => parts.clone().iter().any(|part| holds_key_within(machine, part, walk)),
        Val::Object(id) => {
            let kind = machine.state.store.objects[id.0 as usize].kind.clone();
            kind.held().any(|(_, value)| holds_key_within(machine, value, walk))
        }
        _ => false,
    });
    walk.back();
    holds
}

/// If a method of the program implements a library method that may draw nothing according to its model, the name of that method.
pub fn method_without_draws<'p>(program: &'p Program<'p>, function: &Value) -> Option<Name> {
    let Some(Val::Function(closure)) = function.single() else { return None };
    let module = program.module(closure.module);
    let name = &module.function(closure.function).name;
    let protocols = program.models.protocols(name);
    let mut without_draws = protocols.iter().filter(|protocol| protocol.no_draw_by_default.is_some()).peekable();
    without_draws.peek()?;
    let path = program.resolver.absolute(module.file, 1, name);
    let root = path.split('.').next().unwrap_or_default();
    without_draws.any(|protocol| protocol.libraries.iter().any(|library| library == root)).then(|| name.clone())
}
