//! Functions of Python itself.
//!
//! **Invariant:** an operation that returns its argument returns the same keys; an operation that is not listed here returns something that
//! depends on its arguments only.

use std::sync::Arc;

use crate::analysis::domain::constraint::{MAXIMUM, MINIMUM};
use crate::analysis::domain::kinds::BufferOp;
use crate::analysis::domain::term::{Symbol, Term, TermId, Terms};
use crate::analysis::domain::value::{Partial, PartialKind, Val, Value};
use crate::analysis::library::{callbacks, container_construction, functions, iterators};
use crate::analysis::machine::notes::{self, BufferUse};
use crate::analysis::machine::{Frame, Machine, exec, getters, instances, name_cache, operate};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::ObjectKind;
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::BuiltinOp;

/// An object of which any attribute may have changed.
fn changed(machine: &mut Machine<'_>, object: &Value) -> Value {
    machine.state.havoc(object);
    machine.state.terms.none()
}

/// `setattr(object, "name", value)` stores like `object.name = value`; returns whether the name is known.
fn set_attribute<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, args: &Args, place: Place) -> bool {
    let [object, name, value] = args.positional.as_slice() else { return false };
    let Some(Val::Term(name)) = name.value.single() else { return false };
    let Term::Text(name) = machine.state.terms.get(*name).clone() else { return false };
    let code = frame.code;
    let Some(op) = code.ops.iter().find(|op| op.span == place.span) else { return false };
    machine.store_attribute(frame, &object.value, &name, &value.value, op);
    true
}

/// Whether `hasattr` tests for a function of a library that has a model and was not removed in any version.
fn is_modelled_member(machine: &Machine<'_>, parts: &[Value]) -> bool {
    let [of, name] = parts else { return false };
    let (Some(Val::Library(path)), Some(Val::Term(name))) = (of.single(), name.single()) else { return false };
    let Term::Text(name) = machine.state.terms.get(*name) else { return false };
    let callable = machine.program.models.callable(&format!("{path}.{name}"));
    callable.is_some_and(|callable| callable.exact && callable.removed.is_none())
}

/// `hasattr(object, name)`: known if visible code stored the attribute, or if the class has a method of the name, otherwise a function of
/// the arguments. Once `if not hasattr(self, "rng"): self.rng = …` has run, it does not run again.
fn has_attribute(machine: &mut Machine<'_>, path: &Name, args: &Args) -> Value {
    let parts: Vec<Value> = args.positional.iter().map(|arg| arg.value.clone()).collect();
    if is_modelled_member(machine, &parts) {
        return Value::term(machine.state.terms.intern(Term::Bool(true)));
    }
    let state = &mut machine.state;
    let answer = applied(state, path, args);
    let [of, name] = parts.as_slice() else { return answer };
    let id = match of.single() {
        Some(Val::Object(id)) => Some(*id),
        Some(Val::Term(term)) => state.store.shadows.get(term).copied(),
        _ => None,
    };
    let (Some(id), Some(Val::Term(name))) = (id, name.single()) else { return answer };
    let Term::Text(name) = state.terms.get(*name) else { return answer };
    let object = &state.store.objects[id.0 as usize];
    let (symbol, name) = (object.symbol, name.clone());
    let inherited = object.class.and_then(|class| state.class_attribute(class, &name));
    if inherited.is_some_and(|value| matches!(value.single(), Some(Val::Function(_)))) {
        return Value::term(state.terms.intern(Term::Bool(true)));
    }
    let object = &state.store.objects[id.0 as usize];
    let Some(stored) = object.attributes.get(&name).filter(|stored| !stored.is_unbound()).cloned() else {
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

/// Runs a function of Python.
pub fn builtin<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    op: BuiltinOp,
    path: &Name,
    args: Args,
    place: Place,
) -> Value {
    let args = &args;
    let first = args.positional.first().map(|arg| arg.value.clone());
    match op {
        BuiltinOp::Len => operate::length(machine, frame, args.positional.first(), place),
        BuiltinOp::Range | BuiltinOp::Count => iterators::range(&mut machine.state, op, args, place),
        BuiltinOp::Enumerate => iterators::enumerate(machine, frame, args, place),
        BuiltinOp::Zip => iterators::zip(machine, frame, args, place),
        BuiltinOp::Chain => iterators::chain(machine, frame, args, place),
        BuiltinOp::Map => iterators::map(machine, frame, args, place),
        BuiltinOp::Repeat => iterators::repeat(&mut machine.state, args, place),
        BuiltinOp::Cycle => iterators::cycle(machine, frame, first, place),
        BuiltinOp::Reversed => iterators::reversed(machine, frame, first, place),
        BuiltinOp::Islice => iterators::islice(machine, frame, args, place),
        BuiltinOp::Iter => machine.iterator_of(frame, &first.unwrap_or_default(), Some(place)),
        BuiltinOp::Next => iterators::next(machine, frame, args.positional.first(), place),
        BuiltinOp::Starmap => callbacks::starmap(machine, frame, args, place),
        BuiltinOp::List | BuiltinOp::Deque | BuiltinOp::Set | BuiltinOp::Frozenset | BuiltinOp::Sorted => {
            let listed = container_construction::list_of(machine, frame, op, first, place);
            callbacks::run_key_function(machine, frame, args, &listed, place);
            container_construction::put_in_order(machine, op, args, &listed);
            listed
        }
        BuiltinOp::Tuple => tuple(machine, frame, first, place),
        BuiltinOp::Dict | BuiltinOp::OrderedDict | BuiltinOp::Defaultdict => {
            container_construction::dict_of(machine, frame, (op, path), args, place)
        }
        BuiltinOp::Partial
        | BuiltinOp::PartialMethod
        | BuiltinOp::Cached
        | BuiltinOp::SingleDispatch
        | BuiltinOp::ContextManager
        | BuiltinOp::Wraps
        | BuiltinOp::CachedProperty
        | BuiltinOp::Staticmethod
        | BuiltinOp::Classmethod => wrapper(&mut machine.state.terms, op, path, args, place),
        BuiltinOp::Property => property(&mut machine.state.terms, args, place),
        BuiltinOp::Copy => container_construction::copy(&mut machine.state, &first.unwrap_or_default()),
        BuiltinOp::Deepcopy => container_construction::deep_copy(&mut machine.state, &first.unwrap_or_default()),
        BuiltinOp::Replace => {
            let rest = Args { positional: Vec::new(), ..args.clone() };
            machine.state.replaced(&first.unwrap_or_default(), &rest, place)
        }
        BuiltinOp::Itemgetter | BuiltinOp::Attrgetter => getters::getter(&mut machine.state.terms, op, args, place),
        BuiltinOp::Super => super_of(machine, frame, args, place),
        BuiltinOp::Getattr => get_attribute(machine, frame, args, place),
        BuiltinOp::Setattr if set_attribute(machine, frame, args, place) => machine.state.terms.none(),
        BuiltinOp::Setattr | BuiltinOp::Vars | BuiltinOp::Delattr => changed(machine, &first.unwrap_or_default()),
        BuiltinOp::Isinstance => is_instance(machine, args, place),
        BuiltinOp::Hasattr => has_attribute(machine, path, args),
        BuiltinOp::Print
        | BuiltinOp::Repr
        | BuiltinOp::Str
        | BuiltinOp::Callable
        | BuiltinOp::Type
        | BuiltinOp::Issubclass => applied(&mut machine.state, path, args),
        BuiltinOp::Field => field(args),
        BuiltinOp::Namedtuple => {
            let fields = args.positional.get(1).or_else(|| args.keyword("field_names")).map(|arg| arg.value.clone());
            machine.state.record_factory(fields, path, place)
        }
        BuiltinOp::Object => Value::term(machine.state.terms.fresh(Symbol::Unique, "<object>", Some(place))),
        BuiltinOp::Namespace => namespace(&mut machine.state, args, place),
        BuiltinOp::Sum | BuiltinOp::Min | BuiltinOp::Max | BuiltinOp::Any | BuiltinOp::All => {
            reduced(machine, frame, op, path, args, place)
        }
        BuiltinOp::Bool => truth(machine, frame, args, place),
        BuiltinOp::Hash | BuiltinOp::Abs | BuiltinOp::Round => number(machine, frame, op, path, args, place),
        BuiltinOp::Clock => name_cache::unknown_result(machine, path, place),
        BuiltinOp::Exit => {
            machine.exit();
            Value::unbound()
        }
        BuiltinOp::Raises => Value::term(machine.state.terms.intern(Term::Apply(exec::EXPECTS.into(), Box::new([])))),
        BuiltinOp::Suppress => applied(&mut machine.state, &exec::SUPPRESSES.into(), args),
        BuiltinOp::Nullcontext => first.unwrap_or_else(|| machine.state.terms.none()),
        // The results of these hold no known key, and their arguments may be called.
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
        | BuiltinOp::Slice => escaped(machine, path, args, place),
    }
}

/// An unknown result; the arguments may be called.
pub fn escaped(machine: &mut Machine<'_>, path: &Name, args: &Args, place: Place) -> Value {
    machine.escape_arguments(args);
    name_cache::unknown_result(machine, path, place)
}

/// A function of the positional arguments: equal ones give equal results.
fn applied(state: &mut State, path: &Name, args: &Args) -> Value {
    let parts: Vec<TermId> = args.positional.iter().map(|arg| state.term_of(&arg.value)).collect();
    Value::term(state.terms.intern(Term::Apply(path.into(), parts.into())))
}

fn tuple<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, first: Option<Value>, place: Place) -> Value {
    let Some(value) = first else { return Value::of(Val::Tuple([].into())) };
    // An iterator is empty afterwards, so its elements are listed first.
    let is_iterator = |of: &Val| {
        matches!(of, Val::Object(id)
            if matches!(machine.state.store.objects[id.0 as usize].kind, ObjectKind::Iterator(..)))
    };
    let value = if value.single().is_some_and(is_iterator) {
        container_construction::list_of(machine, frame, BuiltinOp::List, Some(value), place)
    } else {
        value
    };
    match machine.items_of(frame, &value) {
        Some(items) if items.iter().all(|item| item.guard.is_true()) => {
            Value::of(Val::Tuple(items.into_iter().map(|item| item.value).collect()))
        }
        _ => value,
    }
}

/// Functions that wrap functions, or determine how they are looked up.
fn wrapper(terms: &mut Terms, op: BuiltinOp, path: &Name, args: &Args, place: Place) -> Value {
    let first = args.positional.first().map(|arg| arg.value.clone());
    let kind = match (op, &first) {
        (BuiltinOp::Partial | BuiltinOp::PartialMethod, Some(function)) => {
            let positional = args.positional.iter().skip(1).map(|arg| arg.value.clone()).collect();
            let keywords = args.keywords.iter().map(|(name, arg)| (name.clone(), arg.value.clone())).collect();
            // `partial(jax.jit, static_argnums=0)` as a decorator is the transform with options.
            let (kind, function) = (PartialKind::Bound, function.clone());
            return Value::of(Val::Partial(Arc::new(Partial { kind, function, positional, keywords })));
        }
        (BuiltinOp::Wraps, _) => return Value::of(Val::Library("builtins.<identity>".into())),
        (BuiltinOp::ContextManager, Some(function)) => return function.clone(),
        (BuiltinOp::Cached | BuiltinOp::ContextManager, None) => return Value::of(Val::Library(path.clone())),
        (BuiltinOp::Cached, Some(_)) => PartialKind::Cached,
        // Which implementation runs depends on the type of the first argument.
        (BuiltinOp::SingleDispatch, _) => PartialKind::Dispatched,
        (BuiltinOp::CachedProperty, _) => PartialKind::CachedProperty,
        (BuiltinOp::Staticmethod, _) => PartialKind::StaticMethod,
        (BuiltinOp::Classmethod, _) => PartialKind::ClassMethod,
        _ => PartialKind::Bound,
    };
    match first {
        Some(function) => Value::of(Val::Partial(Arc::new(Partial::of(kind, function)))),
        None => terms.opaque("<partial>", Some(place)),
    }
}

/// `property(getter, setter)`
fn property(terms: &mut Terms, args: &Args, place: Place) -> Value {
    let given =
        |at: usize, name: &str| args.positional.get(at).or_else(|| args.keyword(name)).map(|arg| arg.value.clone());
    let Some(getter) = given(0, "fget") else { return terms.opaque("<property>", Some(place)) };
    let setter = given(1, "fset").filter(|setter| matches!(setter.single(), Some(Val::Function(_))));
    Value::of(Val::Partial(Arc::new(Partial::of(PartialKind::Property(setter), getter))))
}

/// `getattr(object, name)`
fn get_attribute<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, args: &Args, place: Place) -> Value {
    let [object, name, ..] = args.positional.as_slice() else {
        return machine.state.terms.opaque("<attribute>", Some(place));
    };
    let name = machine.state.term_of(&name.value);
    let Term::Text(name) = machine.state.terms.get(name).clone() else {
        return machine.state.terms.opaque("<attribute>", Some(place));
    };
    let object = machine.state.possible(&object.value);
    paths::on_alternatives(machine, &object, |this, val| this.attribute_of_val(frame, val, &name, place))
}

/// `isinstance(value, class)`
fn is_instance(machine: &mut Machine<'_>, args: &Args, place: Place) -> Value {
    let [value, class] = args.positional.as_slice() else {
        return machine.state.terms.opaque("<isinstance>", Some(place));
    };
    instances::test(machine, &value.value, &class.value)
}

/// `field(default=…)`: what the construction of a record reads.
fn field(args: &Args) -> Value {
    let keyword = |name: &str| args.keyword(name).map(|arg| arg.value.clone());
    let (kind, value) = match (keyword("default_factory"), keyword("default")) {
        (Some(function), _) => (PartialKind::FieldFactory, function),
        (None, Some(value)) => (PartialKind::FieldDefault, value),
        _ => return Value::unbound(),
    };
    Value::of(Val::Partial(Arc::new(Partial::of(kind, value))))
}

/// `SimpleNamespace(name=value)`
fn namespace(state: &mut State, args: &Args, place: Place) -> Value {
    let object = state.allocate(ObjectKind::Instance, "<namespace>", Some(place));
    let attributes = args.keywords.iter().map(|(name, arg)| (name.clone(), arg.value.clone()));
    state.store.objects[object.0 as usize].attributes.extend(attributes);
    Value::of(Val::Object(object))
}

/// One number from several: `sum`, `min`, `max`, `any`, `all`.
fn reduced<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    op: BuiltinOp,
    path: &Name,
    args: &Args,
    place: Place,
) -> Value {
    let first = args.positional.first().map(|arg| arg.value.clone());
    let is_alone = args.positional.len() == 1 && args.keyword("key").is_none();
    if let Some(Val::Key(key)) = first.as_ref().and_then(Value::single).cloned()
        && is_alone
    {
        let text = format!("{}(…)", functions::short_name(path));
        notes::buffer_use(machine, frame, key, place, BufferUse::new(BufferOp::Numeric, text, true));
    }
    if args.positional.len() > 1 {
        let compared = args.positional.iter().map(|arg| arg.value.clone()).collect();
        callbacks::run_key_function(machine, frame, args, &Value::of(Val::Tuple(compared)), place);
    } else if args.keyword("key").is_some() {
        let listed = container_construction::list_of(machine, frame, BuiltinOp::List, first, place);
        callbacks::run_key_function(machine, frame, args, &listed, place);
    } else if let Some(value) = &first {
        // The iterable runs to its end.
        iterators::drain(machine, frame, value);
    }
    of_numbers(machine, op, path, args, place)
}

/// `bool(value)`
fn truth<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, args: &Args, place: Place) -> Value {
    let Some(value) = args.positional.first().map(|arg| arg.value.clone()) else {
        return Value::term(machine.state.terms.intern(Term::Bool(false)));
    };
    if let Some(val @ (Val::Key(_) | Val::Array(_))) = value.single().cloned()
        && let Some(key) = operate::evident_key(machine, &val)
    {
        let text = format!("bool({})", written_of(args));
        notes::buffer_use(machine, frame, key, place, BufferUse::new(BufferOp::Number, text, true));
    }
    let holds = machine.state.truth(&value);
    if holds.is_true() || holds.is_false() {
        return Value::term(machine.state.terms.intern(Term::Bool(holds.is_true())));
    }
    match value.single() {
        Some(Val::Term(_) | Val::Library(_) | Val::Import(_)) => value,
        _ => machine.state.terms.opaque("<bool>", Some(place)),
    }
}

/// A number from one value: `hash`, `abs`, `round`.
fn number<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    op: BuiltinOp,
    path: &Name,
    args: &Args,
    place: Place,
) -> Value {
    let value = args.positional.first().map(|arg| arg.value.clone()).unwrap_or_default();
    if let Some(val) = value.single().cloned()
        && let Some(key) = operate::evident_key(machine, &val)
    {
        let text = format!("{}({})", functions::short_name(path), written_of(args));
        let kind = if op == BuiltinOp::Hash { BufferOp::Number } else { BufferOp::Arithmetic };
        notes::buffer_use(machine, frame, key, place, BufferUse::new(kind, text, true));
    }
    let term = machine.state.term_of(&value);
    Value::term(machine.state.terms.intern(Term::Apply(path.into(), Box::new([term]))))
}

/// `min(n, 1)`, `any(flags)`: a function of its arguments, unless they are mutable objects.
fn of_numbers(machine: &mut Machine<'_>, op: BuiltinOp, path: &Name, args: &Args, place: Place) -> Value {
    let is_plain = args.is_positional();
    let given: Option<Vec<TermId>> = args
        .positional
        .iter()
        .map(|arg| match arg.value.single() {
            Some(Val::Term(term)) => Some(*term),
            _ => None,
        })
        .collect();
    let Some(mut parts) = given.filter(|_| is_plain) else {
        return name_cache::unknown_result(machine, path, place);
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
        _ => name_cache::unknown_result(machine, path, place),
    }
}

/// `super()`: attributes of the bases, bound to the instance.
fn super_of<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, args: &Args, place: Place) -> Value {
    let state = &mut machine.state;
    let receiver = args.positional.last().map(|arg| arg.value.clone());
    // `super(C, self)` also works in a function within a method.
    let named = match args.positional.as_slice() {
        [class, _] => class.value.single(),
        _ => None,
    };
    let named = if let Some(Val::Class(class)) = named { Some(*class) } else { frame.class };
    let (Some(receiver), Some(class)) = (receiver, named) else {
        return state.terms.opaque("super()", Some(place));
    };
    let Some(Val::Object(id)) = receiver.single().cloned() else {
        return state.terms.opaque("super()", Some(place));
    };
    let of = state.store.objects[id.0 as usize].class.unwrap_or(class);
    let proxy = state.allocate_with(ObjectKind::Instance, state.store.objects[id.0 as usize].symbol, None, true);
    let lineage = state.lineage(of);
    let from = lineage.iter().position(|candidate| *candidate == class).map_or(0, |position| position + 1);
    let mut bound = std::collections::BTreeMap::new();
    for base in lineage[from.min(lineage.len())..].iter().rev() {
        let attributes = state.store.classes[base.0 as usize].attributes.clone();
        for (name, value) in attributes {
            if matches!(value.single(), Some(Val::Function(_) | Val::Wrapped(_))) {
                let method = Partial { positional: vec![receiver.clone()], ..Partial::of(PartialKind::Super, value) };
                bound.insert(name, Value::of(Val::Partial(Arc::new(method))));
            }
        }
    }
    let init: Name = "__init__".into();
    if !bound.contains_key(&init)
        && let Some(constructor) = machine.inherited_constructor(&lineage[from.saturating_sub(1)..])
    {
        bound.insert(init, constructor);
    }
    machine.state.store.objects[proxy.0 as usize].attributes = bound;
    Value::of(Val::Object(proxy))
}

fn written_of(args: &Args) -> String {
    args.positional.first().and_then(|arg| arg.written.as_deref()).unwrap_or("…").to_owned()
}
