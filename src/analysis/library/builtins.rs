//! Functions of Python itself.
//!
//! **Invariant:** an operation that hands its argument on hands on the same keys; whatever is not listed here answers with something
//! that depends on its arguments only.

use std::rc::Rc;

use crate::analysis::domain::claim::{MAXIMUM, MINIMUM};
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::BufferOp;
use crate::analysis::domain::term::{Symbol, Term, TermId, Terms};
use crate::analysis::domain::value::{ObjectId, Partial, Val, Value};
use crate::analysis::library::{callbacks, container_construction, derive, functions, transform};
use crate::analysis::machine::call::DISPATCHED;
use crate::analysis::machine::{Frame, Machine, arrays, getters, iterate, name_cache, notes, operate};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{Item, Kind, Source};
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::{Name, Operator};
use crate::models::{BuiltinOp, Yield};

/// Whether `hasattr` asks for a function of a library that a model describes, and no version has removed.
fn is_modelled_member(machine: &Machine<'_>, parts: &[Value]) -> bool {
    let [of, name] = parts else { return false };
    let (Some(Val::Library(path)), Some(Val::Term(name))) = (of.single(), name.single()) else { return false };
    let Term::Text(name) = machine.state.terms.get(*name) else { return false };
    let callable = machine.program.models.callable(&format!("{path}.{name}"));
    callable.is_some_and(|callable| callable.exact && callable.removed.is_none())
}

/// Whether an object has an attribute, where it was stored in sight, else the answer as it stands: once
/// `if not hasattr(self, "rng"): self.rng = …` has run, it does not run again.
fn has_attribute(state: &mut State, parts: &[Value], answer: Value) -> Value {
    let [of, name] = parts else { return answer };
    let id = match of.single() {
        Some(Val::Object(id)) => Some(*id),
        Some(Val::Term(term)) => state.store.shadows.get(term).copied(),
        _ => None,
    };
    let (Some(id), Some(Val::Term(name))) = (id, name.single()) else { return answer };
    let Term::Text(name) = state.terms.get(*name) else { return answer };
    let object = &state.store.objects[id.0 as usize];
    let symbol = object.symbol;
    let Some(stored) = object.attributes.get(&**name).filter(|stored| !stored.is_unbound()).cloned() else {
        return answer;
    };
    paths::on_alternatives(state, &stored, |this, val| {
        let is_own = |term| matches!(this.terms.get(term), Term::Attribute(of, ..) if *of == symbol);
        let is_deleted = |term| this.terms.symbol(term).is_some_and(|info| info.symbol == Symbol::Deleted);
        match val {
            Val::Term(term) if is_own(*term) || is_deleted(*term) => answer.clone(),
            _ => Value::term(this.terms.intern(Term::Bool(true))),
        }
    })
}

#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
pub fn builtin<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    op: BuiltinOp,
    path: &Name,
    args: Args,
    place: Place,
) -> Value {
    let first = args.positional.first().map(|arg| arg.value.clone());
    match op {
        BuiltinOp::Len => operate::length(machine, frame, args.positional.first(), place),
        BuiltinOp::Range | BuiltinOp::Count => range(&mut machine.state, op, &args, place),
        BuiltinOp::Enumerate => {
            let inner = machine.iterator_of(frame, &first.unwrap_or_default(), Some(place));
            let start = args.positional.get(1).or_else(|| args.keyword("start")).map(|arg| arg.value.clone());
            let start = match start {
                Some(start) => machine.state.term_of(&start),
                None => machine.state.terms.int(0),
            };
            iterate::new_iterator(&mut machine.state, Source::Enumerate(inner, start), Some(place))
        }
        BuiltinOp::Zip => {
            let inner = iterators(machine, frame, &args, 0, place);
            iterate::new_iterator(&mut machine.state, Source::Zip(inner), Some(place))
        }
        BuiltinOp::Chain => {
            let inner = iterators(machine, frame, &args, 0, place);
            iterate::new_iterator(&mut machine.state, Source::Chain(inner), Some(place))
        }
        BuiltinOp::Map => {
            let inner = iterators(machine, frame, &args, 1, place);
            iterate::new_iterator(&mut machine.state, Source::Map(first.unwrap_or_default(), inner), Some(place))
        }
        BuiltinOp::Repeat => match (first, args.positional.get(1).map(|arg| arg.value.clone())) {
            (Some(value), Some(times)) => {
                let times = machine.state.term_of(&times);
                match machine.state.terms.as_int(times).and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= 16) {
                    Some(times) => {
                        let items = vec![Item { guard: Guard::TRUE, value }; times];
                        iterate::new_iterator(&mut machine.state, Source::Items(items), Some(place))
                    }
                    None => iterate::new_iterator(&mut machine.state, Source::Repeat(value), Some(place)),
                }
            }
            (Some(value), None) => iterate::new_iterator(&mut machine.state, Source::Repeat(value), Some(place)),
            _ => machine.state.terms.opaque("<repeat>", Some(place)),
        },
        BuiltinOp::Cycle => {
            if let Some(items) = first.and_then(|value| machine.items_of(frame, &value)) {
                iterate::new_iterator(&mut machine.state, Source::Cycle(items), Some(place))
            } else {
                let term = machine.state.terms.fresh(Symbol::Opaque, "<cycle>", Some(place));
                iterate::new_iterator(&mut machine.state, Source::Opaque(term), Some(place))
            }
        }
        BuiltinOp::Iter => machine.iterator_of(frame, &first.unwrap_or_default(), Some(place)),
        BuiltinOp::Next => next_builtin(machine, frame, first, place),
        BuiltinOp::List | BuiltinOp::Deque | BuiltinOp::Set | BuiltinOp::Frozenset | BuiltinOp::Sorted => {
            let listed = container_construction::list_of(machine, frame, op, first, place);
            callbacks::run_key_function(machine, frame, &args, &listed, place);
            listed
        }
        BuiltinOp::Tuple => match first {
            None => Value::of(Val::Tuple([].into())),
            Some(value) => match machine.items_of(frame, &value) {
                Some(items) if items.iter().all(|item| item.guard.is_true()) => {
                    Value::of(Val::Tuple(items.into_iter().map(|item| item.value).collect()))
                }
                _ => value,
            },
        },
        BuiltinOp::Reversed => match first {
            Some(value) => match machine.items_of(frame, &value) {
                Some(mut items) => {
                    items.reverse();
                    iterate::new_iterator(&mut machine.state, Source::Items(items), Some(place))
                }
                None => paths::on_alternatives(machine, &value, |this, val| match val {
                    Val::Array(array) => {
                        let reversed = arrays::reordered(&array.clone());
                        iterate::new_iterator(&mut this.state, Source::Array(reversed), Some(place))
                    }
                    Val::Object(id) if let Some(source) = counted_down(&mut this.state, *id) => {
                        iterate::new_iterator(&mut this.state, source, Some(place))
                    }
                    _ => this.state.terms.opaque("<reversed>", Some(place)),
                }),
            },
            None => machine.state.terms.opaque("<reversed>", Some(place)),
        },
        BuiltinOp::Islice => match (first, args.positional.get(1).map(|arg| arg.value.clone())) {
            (Some(value), Some(stop)) if args.positional.len() == 2 => {
                let iterator = machine.iterator_of(frame, &value, Some(place));
                let stop = machine.state.term_of(&stop);
                match machine.state.terms.as_int(stop).filter(|n| (0..=16).contains(n)) {
                    Some(stop) => {
                        let items = (0..stop)
                            .map(|_| {
                                let step = machine.next_step(frame, &iterator, place.span);
                                Item { guard: step.present, value: step.value }
                            })
                            .collect();
                        iterate::new_iterator(&mut machine.state, Source::Items(items), Some(place))
                    }
                    None => iterator,
                }
            }
            _ => machine.state.terms.opaque("<islice>", Some(place)),
        },
        BuiltinOp::Dict | BuiltinOp::OrderedDict | BuiltinOp::Defaultdict => {
            container_construction::dict_of(machine, frame, op, &args, place)
        }
        BuiltinOp::Partial | BuiltinOp::PartialMethod => {
            let Some(function) = first else { return machine.state.terms.opaque("<partial>", Some(place)) };
            let positional = args.positional.iter().skip(1).map(|arg| arg.value.clone()).collect();
            let keywords = args.keywords.iter().map(|(name, arg)| (name.clone(), arg.value.clone())).collect();
            // `partial(jax.jit, static_argnums=0)` as a decorator is the transform with options.
            Value::of(Val::Partial(Rc::new(Partial { function, positional, keywords })))
        }
        BuiltinOp::Copy | BuiltinOp::Deepcopy => {
            let value = first.unwrap_or_default();
            container_construction::copied(&mut machine.state, &value)
        }
        BuiltinOp::Cached => match first {
            Some(function) => marked(&mut machine.state.terms, "<cached>", function),
            None => Value::of(Val::Library(path.clone())),
        },
        // Which of its implementations runs depends on the type of what it is given.
        BuiltinOp::SingleDispatch => match first {
            Some(function) => marked(&mut machine.state.terms, DISPATCHED, function),
            None => machine.state.terms.opaque("<dispatch>", Some(place)),
        },
        BuiltinOp::ContextManager => first.unwrap_or_else(|| Value::of(Val::Library(path.clone()))),
        BuiltinOp::Itemgetter | BuiltinOp::Attrgetter => getters::getter(&mut machine.state.terms, op, &args, place),
        BuiltinOp::Wraps => Value::of(Val::Library("builtins.<identity>".into())),
        BuiltinOp::Property => descriptor(&mut machine.state.terms, "<property>", first, place),
        BuiltinOp::CachedProperty => descriptor(&mut machine.state.terms, "<cached property>", first, place),
        BuiltinOp::Staticmethod => descriptor(&mut machine.state.terms, "<static>", first, place),
        BuiltinOp::Classmethod => descriptor(&mut machine.state.terms, "<class>", first, place),
        BuiltinOp::Super => super_of(&mut machine.state, frame, &args, place),
        BuiltinOp::Getattr => {
            let name = args.positional.get(1).map(|arg| machine.state.term_of(&arg.value));
            match (first, name.map(|name| machine.state.terms.get(name).clone())) {
                (Some(object), Some(Term::Text(name))) => {
                    let object = machine.state.possible(&object);
                    paths::on_alternatives(machine, &object, |this, val| {
                        this.attribute_of_val(frame, val, &name, place)
                    })
                }
                _ => machine.state.terms.opaque("<attribute>", Some(place)),
            }
        }
        BuiltinOp::Clock => machine.state.terms.opaque(name_cache::call_text(machine, path), Some(place)),
        BuiltinOp::Setattr | BuiltinOp::Vars | BuiltinOp::Delattr => {
            if let Some(object) = first {
                machine.state.havoc(&object);
            }
            machine.state.terms.none()
        }
        BuiltinOp::Isinstance => {
            if let [value, class] = args.positional.as_slice()
                && functions::is_other_than(machine, &value.value, &class.value)
            {
                return Value::term(machine.state.terms.intern(Term::Bool(false)));
            }
            let parts: Vec<_> = args.positional.iter().map(|arg| machine.state.term_of(&arg.value)).collect();
            match parts.as_slice() {
                [value, class] => Value::term(machine.state.terms.operate(Operator::MatchClass, &[*value, *class])),
                _ => machine.state.terms.opaque("<isinstance>", Some(place)),
            }
        }
        BuiltinOp::Replace => {
            let rest = Args { positional: Vec::new(), ..args.clone() };
            machine.state.replaced(&first.unwrap_or_default(), &rest, place)
        }
        BuiltinOp::Field => {
            let keyword = |name: &str| args.keyword(name).map(|arg| arg.value.clone());
            match (keyword("default_factory"), keyword("default")) {
                (Some(function), _) => marked(&mut machine.state.terms, "<factory>", function),
                (None, Some(value)) => marked(&mut machine.state.terms, "<default>", value),
                _ => Value::unbound(),
            }
        }
        BuiltinOp::Sum | BuiltinOp::Min | BuiltinOp::Max | BuiltinOp::Any | BuiltinOp::All => {
            let is_alone = args.positional.len() == 1 && args.keyword("key").is_none();
            if let Some(Val::Key(key)) = first.as_ref().and_then(Value::single).cloned()
                && is_alone
            {
                let text = format!("{}(…)", crate::analysis::library::functions::short_name(path));
                notes::buffer_use(machine, frame, key, place, notes::BufferUse::new(BufferOp::Numeric, text, true));
            }
            if args.positional.len() > 1 {
                let compared = args.positional.iter().map(|arg| arg.value.clone()).collect();
                callbacks::run_key_function(machine, frame, &args, &Value::of(Val::Tuple(compared)), place);
            } else if args.keyword("key").is_some() {
                let listed = container_construction::list_of(machine, frame, BuiltinOp::List, first, place);
                callbacks::run_key_function(machine, frame, &args, &listed, place);
            } else if let Some(value) = &first {
                // The iterable runs to its end.
                drain(machine, frame, value);
            }
            of_numbers(machine, op, path, &args, place)
        }
        BuiltinOp::Bool => match first {
            Some(value) => {
                if let Some(val @ (Val::Key(_) | Val::Array(_))) = value.single().cloned()
                    && let Some(key) = operate::evident_key(machine, &val)
                {
                    let text = format!("bool({})", written_of(&args));
                    notes::buffer_use(machine, frame, key, place, notes::BufferUse::new(BufferOp::Number, text, true));
                }
                let holds = machine.state.truth(&value);
                if holds.is_true() || holds.is_false() {
                    return Value::term(machine.state.terms.intern(Term::Bool(holds.is_true())));
                }
                match value.single() {
                    Some(Val::Term(_)) => value,
                    _ => machine.state.terms.opaque("<bool>", Some(place)),
                }
            }
            None => Value::term(machine.state.terms.intern(Term::Bool(false))),
        },
        BuiltinOp::Hash | BuiltinOp::Abs | BuiltinOp::Round => {
            let value = first.unwrap_or_default();
            if let Some(val) = value.single().cloned()
                && let Some(key) = operate::evident_key(machine, &val)
            {
                let text = format!("{}({})", crate::analysis::library::functions::short_name(path), written_of(&args));
                let kind = if op == BuiltinOp::Hash { BufferOp::Number } else { BufferOp::Arithmetic };
                notes::buffer_use(machine, frame, key, place, notes::BufferUse::new(kind, text, true));
            }
            let term = machine.state.term_of(&value);
            Value::term(machine.state.terms.intern(Term::Apply(path.into(), Box::new([term]))))
        }
        BuiltinOp::Exit => {
            machine.exit();
            Value::unbound()
        }
        BuiltinOp::Raises => Value::term(
            machine.state.terms.intern(Term::Apply(crate::analysis::machine::exec::EXPECTS.into(), Box::new([]))),
        ),
        BuiltinOp::Suppress => {
            let types: Vec<TermId> = args.positional.iter().map(|arg| machine.state.term_of(&arg.value)).collect();
            Value::term(
                machine
                    .state
                    .terms
                    .intern(Term::Apply(crate::analysis::machine::exec::SUPPRESSES.into(), types.into())),
            )
        }
        BuiltinOp::Namedtuple => {
            let fields = args.positional.get(1).or_else(|| args.keyword("field_names")).map(|arg| arg.value.clone());
            machine.state.record_factory(fields, path, place)
        }
        BuiltinOp::Nullcontext => first.unwrap_or_else(|| machine.state.terms.none()),
        BuiltinOp::Object => Value::term(machine.state.terms.fresh(Symbol::Own, "<object>", Some(place))),
        BuiltinOp::Namespace => {
            let object = machine.state.allocate(Kind::Instance, "<namespace>", Some(place));
            for (name, arg) in &args.keywords {
                machine.state.store.objects[object.0 as usize].attributes.insert(name.clone(), arg.value.clone());
            }
            Value::of(Val::Object(object))
        }
        BuiltinOp::Starmap => callbacks::starmap(machine, frame, &args, place),
        BuiltinOp::Print
        | BuiltinOp::Repr
        | BuiltinOp::Str
        | BuiltinOp::Hasattr
        | BuiltinOp::Callable
        | BuiltinOp::Type
        | BuiltinOp::Issubclass => {
            let parts: Vec<Value> = args.positional.iter().map(|arg| arg.value.clone()).collect();
            if op == BuiltinOp::Hasattr && is_modelled_member(machine, &parts) {
                return Value::term(machine.state.terms.intern(Term::Bool(true)));
            }
            let terms: Vec<_> = parts.iter().map(|part| machine.state.term_of(part)).collect();
            let answer = Value::term(machine.state.terms.intern(Term::Apply(path.into(), terms.into())));
            if op == BuiltinOp::Hasattr { has_attribute(&mut machine.state, &parts, answer) } else { answer }
        }
        // Whatever these answer with holds no key that is known, and what they are given may be run.
        BuiltinOp::Asdict
        | BuiltinOp::Astuple
        | BuiltinOp::Counter
        | BuiltinOp::Eval
        | BuiltinOp::Fields
        | BuiltinOp::Globals
        | BuiltinOp::Id
        | BuiltinOp::Input
        | BuiltinOp::Locals
        | BuiltinOp::Open
        | BuiltinOp::Slice => {
            for value in args.values().cloned().collect::<Vec<_>>() {
                machine.run_escaping(frame, &value, place);
            }
            machine.state.terms.opaque(name_cache::call_text(machine, path), Some(place))
        }
    }
}

/// `min(n, 1)`, `any(flags)`: a function of what it is given, where that is no object that may change.
fn of_numbers(machine: &mut Machine<'_>, op: BuiltinOp, path: &Name, args: &Args, place: Place) -> Value {
    let is_plain = args.keywords.is_empty() && args.spread.is_empty() && args.mappings.is_empty();
    let given: Option<Vec<TermId>> = args
        .positional
        .iter()
        .map(|arg| match arg.value.single() {
            Some(Val::Term(term)) => Some(*term),
            _ => None,
        })
        .collect();
    let Some(mut parts) = given.filter(|_| is_plain) else {
        return machine.state.terms.opaque(name_cache::call_text(machine, path), Some(place));
    };
    let several = match op {
        BuiltinOp::Min => Some(MINIMUM),
        BuiltinOp::Max => Some(MAXIMUM),
        _ => None,
    };
    match (several, parts.as_slice()) {
        (_, [of]) => {
            let epoch = machine.state.epoch_of(*of);
            if epoch > 0 {
                parts.push(machine.state.terms.int(i128::from(epoch)));
            }
            Value::term(machine.state.terms.intern(Term::Apply(path.into(), parts.into())))
        }
        (Some(name), [_, _, ..]) => {
            parts.sort_unstable();
            parts.dedup();
            let numbers: Option<Vec<i128>> = parts.iter().map(|part| machine.state.terms.as_int(*part)).collect();
            let known = numbers.and_then(|numbers| {
                if op == BuiltinOp::Min { numbers.into_iter().min() } else { numbers.into_iter().max() }
            });
            match (known, parts.as_slice()) {
                (Some(known), _) => Value::term(machine.state.terms.int(known)),
                (None, [only]) => Value::term(*only),
                _ => Value::term(machine.state.terms.intern(Term::Apply(name.into(), parts.into()))),
            }
        }
        _ => machine.state.terms.opaque(name_cache::call_text(machine, path), Some(place)),
    }
}

fn range(state: &mut State, op: BuiltinOp, args: &Args, place: Place) -> Value {
    let terms: Vec<_> = args.positional.iter().map(|arg| arg.value.clone()).collect::<Vec<_>>();
    let terms: Vec<_> = terms.iter().map(|value| state.term_of(value)).collect();
    let (zero, one) = (state.terms.int(0), state.terms.int(1));
    if op == BuiltinOp::Count {
        let start = terms.first().copied().unwrap_or(zero);
        let end = state.terms.fresh(Symbol::Opaque, "<endless>", Some(place));
        let step = terms.get(1).copied().unwrap_or(one);
        return iterate::new_iterator(state, Source::Range(start, end, step), Some(place));
    }
    let source = match terms.as_slice() {
        [stop] => Source::Range(zero, *stop, one),
        [start, stop] => Source::Range(*start, *stop, one),
        [start, stop, step] => Source::Range(*start, *stop, *step),
        _ => Source::Opaque(state.terms.fresh(Symbol::Opaque, "<range>", Some(place))),
    };
    iterate::new_iterator(state, source, Some(place))
}

/// The numbers of a range in single steps, from the last to the first.
fn counted_down(state: &mut State, id: ObjectId) -> Option<Source> {
    let Kind::Iterator(Source::Range(start, stop, step), Some(0)) = state.store.objects[id.0 as usize].kind.clone()
    else {
        return None;
    };
    state.terms.as_int(step).filter(|step| *step == 1)?;
    let (last, end, step) = (state.terms.offset(stop, -1), state.terms.offset(start, -1), state.terms.int(-1));
    Some(Source::Range(last, end, step))
}

fn iterators<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    args: &Args,
    skip: usize,
    place: Place,
) -> Vec<Value> {
    let mut iterators: Vec<Value> = Vec::new();
    for arg in args.positional.iter().skip(skip) {
        iterators.push(machine.iterator_of(frame, &arg.value, Some(place)));
    }
    for value in &args.spread {
        let term = machine.state.term_of(value);
        iterators.push(iterate::new_iterator(&mut machine.state, Source::Opaque(term), Some(place)));
    }
    iterators
}

fn next_builtin<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, iterator: Option<Value>, place: Place) -> Value {
    let Some(iterator) = iterator else { return machine.state.terms.opaque("<next>", Some(place)) };
    let iterator = machine.state.possible(&iterator);
    paths::on_alternatives(machine, &iterator, |this, val| match val {
        Val::Object(id) => match &this.state.store.objects[id.0 as usize].kind {
            Kind::Stream(path) => {
                let path = path.clone();
                let given = functions::stream_next(this.program, &path);
                let stream = this.state.store.objects[id.0 as usize].symbol;
                match given {
                    Yield::Key => derive::supplied_by(this, stream, place),
                    given => functions::stream_result(this, given, &path, place),
                }
            }
            Kind::Instance => {
                let dunder: Name = "__next__".into();
                match this.state.instance_method(val, &dunder) {
                    Some(method) => {
                        let args = Args { put_before: Some(0), ..Args::default() };
                        this.call_value(frame, &method, args, Some(place))
                    }
                    None => derive::supplied_key(&mut this.state.terms, place),
                }
            }
            _ => this.next_of(frame, &Value::of(val.clone()), place.span),
        },
        // The next element of an iterator from outside was not handed out before.
        _ => this.state.terms.opaque("<next>", Some(place)),
    })
}

/// Runs an iterable to its end, where that is known to be short.
fn drain<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, value: &Value) {
    if let Some(Val::Object(id)) = value.single().cloned() {
        machine.force_generator(frame, id, machine.context.here);
        if let Kind::Iterator(Source::Map(..), Some(_)) = &machine.state.store.objects[id.0 as usize].kind {
            let known = iterate::known_length(&mut machine.state, value);
            let place = machine.context.here;
            let value = value.clone();
            transform::repeat(machine, frame, known, place, |this, frame, _| {
                this.next_step(frame, &value, place.span);
            });
        }
    }
}

fn descriptor(terms: &mut Terms, mark: &'static str, function: Option<Value>, place: Place) -> Value {
    match function {
        Some(function) => marked(terms, mark, function),
        None => terms.opaque(mark, Some(place)),
    }
}

/// A function with a mark that says how it is looked up.
fn marked(terms: &mut Terms, mark: &str, function: Value) -> Value {
    let none = terms.none();
    Value::of(Val::Partial(Rc::new(Partial { function, positional: Vec::new(), keywords: vec![(mark.into(), none)] })))
}

/// `super()`: attributes of the bases, bound to the instance.
fn super_of(state: &mut State, frame: &Frame<'_>, args: &Args, place: Place) -> Value {
    let receiver = args.positional.last().map(|arg| arg.value.clone());
    let (Some(receiver), Some(class)) = (receiver, frame.class) else {
        return state.terms.opaque("super()", Some(place));
    };
    let Some(Val::Object(id)) = receiver.single().cloned() else {
        return state.terms.opaque("super()", Some(place));
    };
    let of = state.store.objects[id.0 as usize].class.unwrap_or(class);
    let proxy = state.allocate_with(Kind::Instance, state.store.objects[id.0 as usize].symbol, None, true);
    let lineage = state.lineage(of);
    let from = lineage.iter().position(|candidate| *candidate == class).map_or(0, |position| position + 1);
    let mut bound = std::collections::BTreeMap::new();
    for base in lineage[from.min(lineage.len())..].iter().rev() {
        let attributes = state.store.classes[base.0 as usize].attributes.clone();
        for (name, value) in attributes {
            if matches!(value.single(), Some(Val::Function(_) | Val::Wrapped(_))) {
                let method = Value::of(Val::Method(Rc::new((receiver.clone(), value))));
                bound.insert(name, method);
            }
        }
    }
    state.store.objects[proxy.0 as usize].attributes = bound;
    Value::of(Val::Object(proxy))
}

fn written_of(args: &Args) -> String {
    args.positional.first().and_then(|arg| arg.written.as_deref()).unwrap_or("…").to_owned()
}
