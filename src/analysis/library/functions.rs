//! Calls of library functions, according to their models.
//!
//! **Invariant:** what a function does with keys is read from its model; nothing here knows a path.

use crate::analysis::domain::implementation::Implementation;
use crate::analysis::domain::kinds::{BufferOp, KeyKind, Role};
use crate::analysis::domain::term::{Symbol, Term, TermId, Terms};
use crate::analysis::domain::value::{Elements, Key, Val, Value};
use crate::analysis::library::{
    builtins, consume, container_construction, derive, inference, mixed_implementations, parameters, shape, transform,
    tree, tree_at, wrappers,
};
use crate::analysis::machine::notes::{self, BufferUse};
use crate::analysis::machine::{Frame, Machine, annotate, index, name_cache, operate, prelude};
use crate::analysis::program::names::admits_an_integer;
use crate::analysis::record::RowSelection;
use crate::analysis::store::args::{Arg, Args, Call};
use crate::analysis::store::heap::ObjectKind;
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{self, Callable, Construct, Effect, ShapeQuery, TreeOp, Yield};

pub fn call_library<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, path: &Name, call: Call) -> Value {
    let Call { args, place, written } = call;
    let models = machine.program.models;
    mark_called(machine, frame, place);
    let args = wrappers::taken(machine, frame, models.callable(path), path, args, place);
    if let Some(class) = models.class(path) {
        return construct_library(machine, frame, path, &class.construct.clone(), &args, place);
    }
    let Some(callable) = models.callable(path) else {
        return machine.unresolved(frame, &args, place, None, Some(written.unwrap_or_else(|| path.clone())), None);
    };
    apply_model(machine, frame, callable, path, args, place)
}

/// Applies a model to a call.
pub fn apply_model<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    callable: &'p Callable,
    path: &Name,
    args: Args,
    place: Place,
) -> Value {
    let made = match &callable.effect {
        Effect::Pure { .. }
        | Effect::Sample { .. }
        | Effect::Shape { .. }
        | Effect::Number { .. }
        | Effect::Fabricate { .. } => Some(args.clone()),
        _ => None,
    };
    let result = run_model(machine, frame, callable, path, args, place);
    if let Some(args) = made {
        machine.state.note_lengths(callable, &args, &result);
    }
    result
}

fn run_model<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    callable: &'p Callable,
    path: &Name,
    args: Args,
    place: Place,
) -> Value {
    let unbound = Arg::default();
    match &callable.effect {
        Effect::Seed { seed, kind } => {
            let implementation = implementation(machine, callable, &args);
            derive::seed(machine, frame, args.of(callable, seed), (implementation, *kind), path, place)
        }
        Effect::Split { key, num } => {
            let num = num.as_deref().and_then(|num| args.of(callable, num));
            let key = args.of(callable, key).unwrap_or(&unbound);
            derive::split(machine, frame, key, num, path, place)
        }
        Effect::Fold { key, data } => {
            let key = args.of(callable, key).unwrap_or(&unbound);
            derive::fold_in(machine, frame, key, args.of(callable, data), path, place)
        }
        Effect::Clone { key } => match args.of(callable, key) {
            Some(key) => derive::clone_key(machine, frame, key, path, place),
            None => machine.state.terms.opaque("<clone>", Some(place)),
        },
        Effect::KeyData { key } => match args.of(callable, key) {
            Some(key) => key_data(&mut machine.state, &key.value.clone(), place),
            None => machine.state.terms.opaque("<key_data>", Some(place)),
        },
        Effect::Wrap { data } => match args.of(callable, data) {
            Some(data) => {
                let implementation = implementation(machine, callable, &args);
                wrap(machine, frame, (&data.value.clone(), implementation), path, place)
            }
            None => machine.state.terms.opaque("<wrapped>", Some(place)),
        },
        Effect::Sample { keys, rows } => {
            sample(machine, frame, (keys, rows.as_deref()), (callable, path), &args, place)
        }
        Effect::Consume { keys, no_draw_when, .. } => {
            if inference::draws_nothing(&machine.state, callable, no_draw_when, &args) {
                machine.leave_undrawn(&args, place);
                return builtins::escaped(machine, path, &args, place);
            }
            for key in keys {
                for arg in args.all_of(callable, key) {
                    consume::consume(machine, frame, arg, Role::Library, path, place);
                }
            }
            builtins::escaped(machine, path, &args, place)
        }
        Effect::Observe => {
            machine.escape_arguments(&args);
            let made = machine.state.terms.fresh(Symbol::Opaque, name_cache::call_text(machine, path), Some(place));
            if parameters::makes_deterministic_module(machine.program, path, &args) {
                machine.caches.deterministic.terms.insert(made);
            }
            if let Some(Val::Function(of)) = args.positional.first().and_then(|given| given.value.single()) {
                machine.state.store.transformed.insert(made, (of.module, of.function));
            }
            Value::term(made)
        }
        Effect::Forward { of, copies, .. } => match args.of(callable, of) {
            Some(of) => forwarded(&mut machine.state, &of.value, *copies),
            None => name_cache::unknown_result(machine, path, place),
        },
        Effect::Pure { numeric, .. } => pure(machine, frame, *numeric, path, &args, place),
        Effect::Shape { leaves: true, .. } => tree::shape_leaves(machine, frame, callable, &args, path, place),
        Effect::Shape { .. } => shape::shape_op(machine, frame, callable, &args, path, place),
        Effect::Fabricate { of, zeros } => match made_like(callable, &args, of) {
            Some(of) => shape::fabricate(machine, frame, &of.value.clone(), *zeros, path, place),
            None => name_cache::unknown_result(machine, path, place),
        },
        Effect::Number { of, op, .. } => {
            if let Some(of) = args.of(callable, of) {
                let value = of.value.clone();
                let text = argument_text(path, of);
                return shape::number_of(machine, frame, &value, *op, (&text, path), place);
            }
            name_cache::unknown_result(machine, path, place)
        }
        Effect::ShapeOf { query, of } => {
            let value = args.of(callable, of).map(|of| of.value.clone()).unwrap_or_default();
            shape_of(&mut machine.state, &value, *query)
        }
        Effect::Supply { many: false } => derive::supplied_key(&mut machine.state.terms, place),
        Effect::Supply { many: true } => derive::supplied_keys(machine, place),
        Effect::Transform(transform) => transform::transform(machine, frame, (transform, callable), path, args, place),
        Effect::Tree { op: TreeOp::At, of } => tree_at::tree_at(machine, frame, callable, of, &args, place),
        Effect::Tree { op: TreeOp::Quiet, of } => inference::quiet(machine, callable, (path, of), &args, place),
        Effect::Tree { op, of } => tree::tree(&mut machine.state, *op, callable, of, &args, place),
        Effect::Factory { makes } => {
            annotate::made_by_factory(path.clone(), inference::kept_options(callable, makes, &args))
        }
        Effect::Builtin(op) => builtins::builtin(machine, frame, *op, path, args, place),
        Effect::Prelude { definition } => prelude::run_prelude(machine, frame, (path, definition), args, place),
    }
}

/// The implementation of the keys that a call makes, according to its arguments.
fn implementation(machine: &mut Machine<'_>, callable: &Callable, args: &Args) -> Implementation {
    let argument = args.of(callable, "impl").or_else(|| args.of(callable, "dtype"));
    mixed_implementations::given(machine, argument.map(|arg| arg.value.clone()).as_ref())
}

/// A draw of a sampler from its keys, which may reorder or select rows.
fn sample<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    (keys, rows): (&[String], Option<&str>),
    (callable, path): (&'p Callable, &Name),
    args: &Args,
    place: Place,
) -> Value {
    let before = machine.recorder.log().consumptions.len();
    for key in keys {
        if let Some(key) = args.of(callable, key) {
            consume::consume(machine, frame, key, Role::Sample, path, place);
        }
    }
    let text = name_cache::call_text(machine, path);
    let drawn = machine.state.terms.fresh(Symbol::Opaque, text, Some(place));
    if let Some(rows) = rows
        && let Some(source) = args.of(callable, rows).map(|arg| machine.state.term_of(&arg.value))
    {
        let others = callable.params.iter().map(|param| &param.name);
        let others = others.filter(|name| *name != rows && !keys.contains(name));
        let others = others.map(|name| {
            let other = machine.state.term_of(&args.of(callable, name)?.value);
            // The first axis is the axis of rows, whether it is named or not.
            (&**name != "axis" || machine.state.terms.as_int(other) != Some(0)).then_some(other)
        });
        let others = others.collect();
        // `permutation(key, 4)` and `permutation(key, arange(n))` give each number once.
        let replaces = callable.params.iter().any(|param| &*param.name == "replace");
        if !replaces && (transform::counted(machine, source).is_some() || machine.state.terms.as_int(source).is_some())
        {
            machine.state.terms.vary(drawn);
        }
        // `choice(key, n)` gives one number and selects no rows.
        let gives_one =
            args.of(callable, "shape").is_none() && callable.params.iter().any(|param| &*param.name == "shape");
        if !gives_one {
            let selection = RowSelection { rows: source, others, is_whole: !replaces };
            let events = before..machine.recorder.log().consumptions.len();
            machine.recorder.select_rows(events, &selection);
        }
    }
    Value::term(drawn)
}

/// An argument, or a copy of it.
fn forwarded(state: &mut State, of: &Value, copies: bool) -> Value {
    if copies { container_construction::deep_copy(state, of) } else { of.clone() }
}

/// A pure function: its result depends on its arguments only, and a key among them is used as a number.
fn pure<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    numeric: bool,
    path: &Name,
    args: &Args,
    place: Place,
) -> Value {
    if numeric {
        for arg in args.positional.iter().chain(args.keywords.iter().map(|(_, arg)| arg)) {
            let value = machine.state.possible(&arg.value);
            for alternative in value.alternatives() {
                if let Some(key) = operate::evident_key(machine, &alternative.val) {
                    let short = short_name(path);
                    let text = format!("{short}({})", arg.written.as_deref().unwrap_or("…"));
                    notes::buffer_use(machine, frame, key, place, BufferUse::new(BufferOp::Numeric, text, true));
                }
            }
        }
    }
    if !args.spread.is_empty() || !args.mappings.is_empty() {
        return name_cache::unknown_result(machine, path, place);
    }
    let mut parts: Vec<TermId> = Vec::new();
    for arg in &args.positional {
        parts.push(machine.state.term_of(&arg.value));
    }
    for (name, arg) in &args.keywords {
        parts.push(machine.state.terms.intern(Term::Text(name.clone())));
        parts.push(machine.state.term_of(&arg.value));
    }
    // A call without arguments differs from the function itself.
    let name = if parts.is_empty() { format!("{path}()").into() } else { path.into() };
    Value::term(machine.state.terms.intern(Term::Apply(name, parts.into())))
}

fn key_data(state: &mut State, value: &Value, place: Place) -> Value {
    paths::on_alternatives(state, value, |this, val| match consume::as_key(&mut this.terms, val) {
        Some(key) => Value::of(Val::Words(key, None)),
        None => match val {
            Val::Array(array) => match &array.elements {
                Elements::View { family, .. } => Value::term(this.terms.intern(Term::Words(*family, None))),
                _ => this.terms.opaque("<key_data>", Some(place)),
            },
            _ => this.terms.opaque("<key_data>", Some(place)),
        },
    })
}

/// `wrap_key_data(data)`: unchanged data gives its original key; edited data gives a fabricated key.
fn wrap<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    (value, given): (&Value, Implementation),
    path: &Name,
    place: Place,
) -> Value {
    paths::on_alternatives(machine, value, |this, val| {
        mixed_implementations::note_wrapped(this, frame, val, given, place);
        let of_another = |this: &mut Machine<'_>, key: Key| {
            let words = this.state.terms.intern(Term::Words(key.term, None));
            Value::of(Val::Key(Key { term: wrapped(&mut this.state.terms, path, words, given), ..key }))
        };
        match val {
            // Words from outside may be those of several keys.
            Val::Words(key, None) if index::may_be_many(this, *key) => Value::term(key.term),
            Val::Words(key, None) => {
                let key = Key { kind: KeyKind::Typed, ..*key };
                // Under another implementation the same words are another key.
                match mixed_implementations::of(this, key.term) {
                    Some(own) if own != given => of_another(this, key),
                    _ => Value::of(Val::Key(key)),
                }
            }
            Val::Words(key, Some(_)) => {
                notes::buffer_use(this, frame, *key, place, BufferUse::new(BufferOp::Rewrap, short_name(path), false));
                derive::supplied_key(&mut this.state.terms, place)
            }
            Val::Key(key) if key.kind == KeyKind::Raw => match mixed_implementations::of(this, key.term) {
                Some(own) if own != given => of_another(this, Key { kind: KeyKind::Typed, ..*key }),
                _ => Value::of(Val::Key(Key { kind: KeyKind::Typed, ..*key })),
            },
            Val::Term(term) => {
                // Numbers computed from a key's words.
                let is_whole = is_chosen_whole(this, *term);
                let edited = words_within(&this.state.terms, *term).filter(|key| {
                    let are_many = matches!(this.state.terms.get(key.term), Term::Children(_));
                    !is_whole && !((are_many || index::may_be_many(this, *key)) && is_selection(this, *term))
                });
                if let Some(key) = edited {
                    let used = BufferUse::new(BufferOp::Rewrap, short_name(path), false);
                    notes::buffer_use(this, frame, key, place, used);
                }
                let term = wrapped(&mut this.state.terms, path, *term, given);
                Value::of(Val::Key(Key { term, kind: KeyKind::Typed, derivation: 0 }))
            }
            _ => derive::supplied_key(&mut this.state.terms, place),
        }
    })
}

/// The key that is made from words.
fn wrapped(terms: &mut Terms, path: &Name, words: TermId, given: Implementation) -> TermId {
    let parts: Box<[TermId]> = match given {
        Implementation::Default => Box::new([words]),
        Implementation::Given(implementation) => Box::new([words, implementation]),
    };
    terms.intern(Term::Apply(path.into(), parts))
}

/// Most parts of a term that are tested for being selections.
const PARTS: usize = 256;

/// Whether a term is all words of one key: as they are, or by a choice between those of several, `where(test, key_data(a), key_data(b))`.
fn is_chosen_whole(machine: &Machine<'_>, term: TermId) -> bool {
    let mut work = vec![term];
    for _ in 0..PARTS {
        let Some(term) = work.pop() else { return true };
        match machine.state.terms.get(term) {
            Term::Words(_, None) => {}
            Term::Apply(path, parts) if parts.len() > 2 => {
                let Some(callable) = machine.program.models.callable(path) else { return false };
                let Effect::Shape { chosen: Some(chosen), .. } = &callable.effect else { return false };
                let test = callable.position(chosen);
                work.extend(parts.iter().enumerate().filter(|(at, _)| Some(*at) != test).map(|(_, side)| *side));
            }
            _ => return false,
        }
    }
    false
}

/// Whether a term only selects among the buffers of keys, or arranges them.
fn is_selection(machine: &Machine<'_>, term: TermId) -> bool {
    let mut work = vec![term];
    for _ in 0..PARTS {
        let Some(term) = work.pop() else { return true };
        match machine.state.terms.get(term) {
            Term::Words(..) => {}
            // A second part of a subscript selects among the words.
            Term::Item(_, index, _) if is_tuple(&machine.state.terms, *index) => return false,
            Term::Item(of, ..) => work.push(*of),
            Term::Choice(parts) => work.extend(parts.iter().map(|(_, part)| *part)),
            Term::Apply(path, parts) => {
                let callable = machine.program.models.callable(path);
                match parts.first() {
                    Some(first) if callable.is_some_and(|of| matches!(of.effect, Effect::Shape { .. })) => {
                        work.push(*first);
                    }
                    _ => return false,
                }
            }
            _ => return false,
        }
    }
    false
}

fn is_tuple(terms: &Terms, term: TermId) -> bool {
    matches!(terms.get(term), Term::Apply(name, _) if &**name == "<tuple>")
}

/// The key whose words a term computes with.
pub fn words_within(terms: &Terms, term: TermId) -> Option<Key> {
    let mut found = None;
    let cell = std::cell::Cell::new(None);
    if terms.mentions(term, &|part| match terms.get(part) {
        Term::Words(key, _) => {
            cell.set(Some(*key));
            true
        }
        _ => false,
    }) && let Some(key) = cell.get()
    {
        found = Some(Key { term: key, kind: KeyKind::Unknown, derivation: 0 });
    }
    found
}

fn shape_of(state: &mut State, value: &Value, query: ShapeQuery) -> Value {
    let name = match query {
        ShapeQuery::Shape => "shape",
        ShapeQuery::Ndim => "ndim",
        ShapeQuery::Size => "size",
        ShapeQuery::Dtype => "dtype",
    };
    let of = state.term_of(value);
    Value::term(state.terms.intern(Term::Attribute(of, name.into(), 0)))
}

/// Constructing a library class.
fn construct_library<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    path: &Name,
    construct: &Construct,
    args: &Args,
    place: Place,
) -> Value {
    let models = machine.program.models;
    let Some(class) = models.class(path) else {
        return name_cache::unknown_result(machine, path, place);
    };
    let named = |name: &str| models::bound(&class.params, name, &args.positional, &args.keywords);
    match construct {
        Construct::Stream { seeds, .. } => {
            let before = machine.recorder.log().consumptions.len();
            for seed in seeds {
                for arg in named(seed) {
                    consume_stream_seed(machine, frame, arg, path, place);
                }
            }
            let stream = machine.state.allocate(ObjectKind::Stream(path.clone()), short_name(path), Some(place));
            let events = before..machine.recorder.log().consumptions.len();
            machine.recorder.make_stream(events, stream);
            Value::of(Val::Object(stream))
        }
        Construct::Plain { consumes } => {
            for name in consumes {
                for arg in named(name) {
                    consume::consume(machine, frame, arg, Role::Library, path, place);
                }
            }
            name_cache::unknown_result(machine, path, place)
        }
        Construct::Record { fields, .. } if !fields.is_empty() => {
            let names: Vec<Name> = fields.iter().map(|field| Name::from(field.as_str())).collect();
            machine.make_record(frame, &names, args, place)
        }
        Construct::Record { frozen, .. } => record_decorator(machine, path, *frozen, args, place),
    }
}

/// `@dataclass` and similar decorators: the class becomes a record; with options only, the result is a decorator.
fn record_decorator(machine: &mut Machine<'_>, path: &Name, frozen: bool, args: &Args, place: Place) -> Value {
    let frozen =
        frozen || args.keyword("frozen").is_some_and(|arg| transform::is_true(&mut machine.state, &arg.value.clone()));
    match args.positional.first().and_then(|arg| arg.value.single()).cloned() {
        Some(Val::Class(class)) => {
            let info = &mut machine.state.store.classes[class.0 as usize];
            info.record = true;
            info.frozen |= frozen;
            Value::of(Val::Class(class))
        }
        None if args.positional.is_empty() => Value::of(Val::Library(path.clone())),
        _ => name_cache::unknown_result(machine, path, place),
    }
}

/// A stream made from a key consumes it; made from a number, it consumes the key with that seed.
fn consume_stream_seed<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, arg: &Arg, path: &Name, place: Place) {
    let value = machine.state.possible(&arg.value);
    if let Some(Val::Term(term)) = value.single()
        && (matches!(machine.state.terms.get(*term), Term::Int(_) | Term::Offset(..) | Term::Operate(..))
            || is_named_like_a_seed(machine, frame, arg, *term))
    {
        let given = mixed_implementations::given(machine, None);
        let key = derive::seed(machine, frame, Some(arg), (given, crate::models::SeedKind::Typed), path, place);
        let arg = Arg { value: key, written: None };
        return consume::consume(machine, frame, &arg, Role::Library, path, place);
    }
    consume::consume(machine, frame, arg, Role::Library, path, place);
}

/// Whether a value is a number by its name, as `seed` and `config.seed` are, and nothing shows that it is a key. An attribute of the
/// object may be a key, and so may a parameter whose annotation admits no integer.
fn is_named_like_a_seed(machine: &Machine<'_>, frame: &Frame<'_>, arg: &Arg, term: TermId) -> bool {
    let Some(written) = arg.written.as_deref() else { return false };
    let is_own = written.starts_with("self.");
    let words = &machine.program.models.words;
    let mut parameters = frame.code.parameters.iter().filter(|parameter| &*parameter.name == written);
    let is_number = parameters
        .all(|parameter| parameter.annotation.as_ref().is_none_or(|annotation| admits_an_integer(words, annotation)));
    let name = written.rsplit('.').next().unwrap_or(written);
    !is_own && is_number && !machine.recorder.is_known_key(term) && words.names_a_seed(name)
}

/// What a stream's call or method gives.
pub fn stream_result(machine: &mut Machine<'_>, given: Yield, path: &Name, place: Place) -> Value {
    match given {
        Yield::Stream => Value::of(Val::Object(machine.state.allocate(
            ObjectKind::Stream(path.clone()),
            short_name(path),
            Some(place),
        ))),
        Yield::Keys => derive::supplied_keys(machine, place),
        other => machine.yielded(other, place),
    }
}

/// Records that a reference is a call.
fn mark_called(machine: &mut Machine<'_>, frame: &Frame<'_>, place: Place) {
    let file = machine.module(frame.module).file;
    machine.recorder.call(file, place.span.start);
}

/// The last part of a path.
pub fn short_name(path: &str) -> String {
    path.rsplit('.').next().unwrap_or(path).to_owned()
}

/// `int(key)`, for people.
fn argument_text(path: &str, arg: &Arg) -> String {
    format!("{}({})", short_name(path), arg.written.as_deref().unwrap_or("…"))
}

/// The array after which another one is created, unless the new one gets a dtype that no key has: `zeros_like(key,
/// dtype=jnp.int32)`.
fn made_like<'a>(callable: &Callable, args: &'a Args, of: &str) -> Option<&'a Arg> {
    let dtype = args.of(callable, "dtype").and_then(|dtype| dtype.value.single());
    let is_other = matches!(dtype, Some(Val::Library(path)) if !path.ends_with(".uint32"));
    args.of(callable, of).filter(|_| !is_other)
}
