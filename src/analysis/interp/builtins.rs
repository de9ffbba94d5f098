//! Functions of Python itself.
//!
//! **Invariant:** an operation that hands its argument on hands on the same keys; whatever is not listed here answers with something
//! that depends on its arguments only.

use std::rc::Rc;

use crate::analysis::domain::claim::{MAXIMUM, MINIMUM};
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::BufferOp;
use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::domain::value::{ObjectId, Partial, Val, Value};
use crate::analysis::heap::{Item, Kind, Source};
use crate::finding::Place;
use crate::ir::{Name, Operator};
use crate::models::BuiltinOp;

use super::bind::Args;
use super::{Frame, Machine};

/// The mark of a function that stands for several, by the type of what it is given.
pub(super) const DISPATCHED: &str = "<dispatched>";

impl<'p> Machine<'p> {
    /// Whether `hasattr` asks for a function of a library that a model describes, and no version has removed.
    fn is_modelled_member(&self, parts: &[Value]) -> bool {
        let [of, name] = parts else { return false };
        let (Some(Val::Library(path)), Some(Val::Term(name))) = (of.single(), name.single()) else { return false };
        let Term::Text(name) = self.terms.get(*name) else { return false };
        let callable = self.program.models.callable(&format!("{path}.{name}"));
        callable.is_some_and(|callable| callable.exact && callable.removed.is_none())
    }

    /// Whether an object has an attribute, where it was stored in sight, else the answer as it stands: once
    /// `if not hasattr(self, "rng"): self.rng = …` has run, it does not run again.
    fn has_attribute(&mut self, parts: &[Value], answer: Value) -> Value {
        let [of, name] = parts else { return answer };
        let id = match of.single() {
            Some(Val::Object(id)) => Some(*id),
            Some(Val::Term(term)) => self.store.shadows.get(term).copied(),
            _ => None,
        };
        let (Some(id), Some(Val::Term(name))) = (id, name.single()) else { return answer };
        let Term::Text(name) = self.terms.get(*name) else { return answer };
        let object = &self.store.objects[id.0 as usize];
        let symbol = object.symbol;
        let Some(stored) = object.attributes.get(&**name).filter(|stored| !stored.is_unbound()).cloned() else {
            return answer;
        };
        self.on_alternatives(&stored, |this, val| {
            let is_own = |term| matches!(this.terms.get(term), Term::Attribute(of, ..) if *of == symbol);
            let is_deleted = |term| this.terms.symbol(term).is_some_and(|info| info.symbol == Symbol::Deleted);
            match val {
                Val::Term(term) if is_own(*term) || is_deleted(*term) => answer.clone(),
                _ => Value::term(this.terms.intern(Term::Bool(true))),
            }
        })
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    pub(super) fn builtin(
        &mut self,
        frame: &mut Frame<'p>,
        op: BuiltinOp,
        path: &Name,
        args: Args,
        place: Place,
    ) -> Value {
        let first = args.positional.first().map(|arg| arg.value.clone());
        match op {
            BuiltinOp::Len => self.length(frame, args.positional.first(), place),
            BuiltinOp::Range | BuiltinOp::Count => self.range(op, &args, place),
            BuiltinOp::Enumerate => {
                let inner = self.iterator_of(frame, &first.unwrap_or_default(), Some(place));
                let start = args.positional.get(1).or_else(|| args.keyword("start")).map(|arg| arg.value.clone());
                let start = match start {
                    Some(start) => self.term_of(&start),
                    None => self.terms.int(0),
                };
                self.new_iterator(Source::Enumerate(inner, start), Some(place))
            }
            BuiltinOp::Zip | BuiltinOp::ZipLongest => {
                let inner = self.iterators(frame, &args, 0, place);
                self.new_iterator(Source::Zip(inner), Some(place))
            }
            BuiltinOp::Chain => {
                let inner = self.iterators(frame, &args, 0, place);
                self.new_iterator(Source::Chain(inner), Some(place))
            }
            BuiltinOp::Map => {
                let inner = self.iterators(frame, &args, 1, place);
                self.new_iterator(Source::Map(first.unwrap_or_default(), inner), Some(place))
            }
            BuiltinOp::Repeat => match (first, args.positional.get(1).map(|arg| arg.value.clone())) {
                (Some(value), Some(times)) => {
                    let times = self.term_of(&times);
                    match self.terms.as_int(times).and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= 16) {
                        Some(times) => {
                            let items = vec![Item { guard: Guard::TRUE, value }; times];
                            self.new_iterator(Source::Items(items), Some(place))
                        }
                        None => self.new_iterator(Source::Repeat(value), Some(place)),
                    }
                }
                (Some(value), None) => self.new_iterator(Source::Repeat(value), Some(place)),
                _ => self.opaque("<repeat>", Some(place)),
            },
            BuiltinOp::Cycle => {
                if let Some(items) = first.and_then(|value| self.items_of(frame, &value)) {
                    self.new_iterator(Source::Cycle(items), Some(place))
                } else {
                    let term = self.terms.fresh(Symbol::Opaque, "<cycle>", Some(place));
                    self.new_iterator(Source::Opaque(term), Some(place))
                }
            }
            BuiltinOp::Iter => self.iterator_of(frame, &first.unwrap_or_default(), Some(place)),
            BuiltinOp::Next => self.next_builtin(frame, first, place),
            BuiltinOp::List | BuiltinOp::Deque | BuiltinOp::Set | BuiltinOp::Frozenset | BuiltinOp::Sorted => {
                let listed = self.list_of(frame, op, first, place);
                self.run_key_function(frame, &args, &listed, place);
                listed
            }
            BuiltinOp::Tuple => match first {
                None => Value::of(Val::Tuple([].into())),
                Some(value) => match self.items_of(frame, &value) {
                    Some(items) if items.iter().all(|item| item.guard.is_true()) => {
                        Value::of(Val::Tuple(items.into_iter().map(|item| item.value).collect()))
                    }
                    _ => value,
                },
            },
            BuiltinOp::Reversed => match first {
                Some(value) => match self.items_of(frame, &value) {
                    Some(mut items) => {
                        items.reverse();
                        self.new_iterator(Source::Items(items), Some(place))
                    }
                    None => self.on_alternatives(&value, |this, val| match val {
                        Val::Array(array) => {
                            let reversed = Self::reordered(&array.clone());
                            this.new_iterator(Source::Array(reversed), Some(place))
                        }
                        Val::Object(id) if let Some(source) = this.counted_down(*id) => {
                            this.new_iterator(source, Some(place))
                        }
                        _ => this.opaque("<reversed>", Some(place)),
                    }),
                },
                None => self.opaque("<reversed>", Some(place)),
            },
            BuiltinOp::Islice => match (first, args.positional.get(1).map(|arg| arg.value.clone())) {
                (Some(value), Some(stop)) if args.positional.len() == 2 => {
                    let iterator = self.iterator_of(frame, &value, Some(place));
                    let stop = self.term_of(&stop);
                    match self.terms.as_int(stop).filter(|n| (0..=16).contains(n)) {
                        Some(stop) => {
                            let items = (0..stop)
                                .map(|_| {
                                    let step = self.next_step(frame, &iterator, place.span);
                                    Item { guard: step.present, value: step.value }
                                })
                                .collect();
                            self.new_iterator(Source::Items(items), Some(place))
                        }
                        None => iterator,
                    }
                }
                _ => self.opaque("<islice>", Some(place)),
            },
            BuiltinOp::Dict | BuiltinOp::OrderedDict | BuiltinOp::Defaultdict => self.dict_of(frame, op, &args, place),
            BuiltinOp::DictFromkeys => {
                let value = args.positional.get(1).map(|arg| arg.value.clone());
                let value = value.unwrap_or_else(|| self.none());
                self.dict_from_keys(frame, &first.unwrap_or_default(), &value, place)
            }
            BuiltinOp::Partial | BuiltinOp::PartialMethod => {
                let Some(function) = first else { return self.opaque("<partial>", Some(place)) };
                let positional = args.positional.iter().skip(1).map(|arg| arg.value.clone()).collect();
                let keywords = args.keywords.iter().map(|(name, arg)| (name.clone(), arg.value.clone())).collect();
                // `partial(jax.jit, static_argnums=0)` as a decorator is the transform with options.
                Value::of(Val::Partial(Rc::new(Partial { function, positional, keywords })))
            }
            BuiltinOp::Copy | BuiltinOp::Deepcopy => {
                let value = first.unwrap_or_default();
                self.copied(&value)
            }
            BuiltinOp::Cached => match first {
                Some(function) => self.marked("<cached>", function),
                None => Value::of(Val::Library(path.clone())),
            },
            // Which of its implementations runs depends on the type of what it is given.
            BuiltinOp::SingleDispatch => match first {
                Some(function) => self.marked(DISPATCHED, function),
                None => self.opaque("<dispatch>", Some(place)),
            },
            BuiltinOp::ContextManager => first.unwrap_or_else(|| Value::of(Val::Library(path.clone()))),
            BuiltinOp::Itemgetter | BuiltinOp::Attrgetter => self.getter(op, &args, place),
            BuiltinOp::Wraps => Value::of(Val::Library("builtins.<identity>".into())),
            BuiltinOp::Property => self.descriptor("<property>", first, place),
            BuiltinOp::CachedProperty => self.descriptor("<cached property>", first, place),
            BuiltinOp::Staticmethod => self.descriptor("<static>", first, place),
            BuiltinOp::Classmethod => self.descriptor("<class>", first, place),
            BuiltinOp::Super => self.super_of(frame, &args, place),
            BuiltinOp::Getattr => {
                let name = args.positional.get(1).map(|arg| self.term_of(&arg.value));
                match (first, name.map(|name| self.terms.get(name).clone())) {
                    (Some(object), Some(Term::Text(name))) => {
                        let object = self.possible(&object);
                        self.on_alternatives(&object, |this, val| this.attribute_of_val(frame, val, &name, place))
                    }
                    _ => self.opaque("<attribute>", Some(place)),
                }
            }
            BuiltinOp::Clock => self.opaque(self.call_text(path), Some(place)),
            BuiltinOp::Setattr | BuiltinOp::Vars | BuiltinOp::Delattr => {
                if let Some(object) = first {
                    self.havoc(&object);
                }
                self.none()
            }
            BuiltinOp::Isinstance => {
                if let [value, class] = args.positional.as_slice()
                    && self.is_other_than(&value.value, &class.value)
                {
                    return Value::term(self.terms.intern(Term::Bool(false)));
                }
                let parts: Vec<_> = args.positional.iter().map(|arg| self.term_of(&arg.value)).collect();
                match parts.as_slice() {
                    [value, class] => Value::term(self.terms.operate(Operator::MatchClass, &[*value, *class])),
                    _ => self.opaque("<isinstance>", Some(place)),
                }
            }
            BuiltinOp::Replace => {
                let rest = Args { positional: Vec::new(), ..args.clone() };
                self.replaced(&first.unwrap_or_default(), &rest, place)
            }
            BuiltinOp::Field => {
                let keyword = |name: &str| args.keyword(name).map(|arg| arg.value.clone());
                match (keyword("default_factory"), keyword("default")) {
                    (Some(function), _) => self.marked("<factory>", function),
                    (None, Some(value)) => self.marked("<default>", value),
                    _ => Value::unbound(),
                }
            }
            BuiltinOp::Sum | BuiltinOp::Min | BuiltinOp::Max | BuiltinOp::Any | BuiltinOp::All => {
                let is_alone = args.positional.len() == 1 && args.keyword("key").is_none();
                if let Some(Val::Key(key)) = first.as_ref().and_then(Value::single).cloned()
                    && is_alone
                {
                    let text = format!("{}(…)", super::library::short_name(path));
                    self.buffer_use(frame, BufferOp::Numeric, key, place, text, true);
                }
                if args.positional.len() > 1 {
                    let compared = args.positional.iter().map(|arg| arg.value.clone()).collect();
                    self.run_key_function(frame, &args, &Value::of(Val::Tuple(compared)), place);
                } else if args.keyword("key").is_some() {
                    let listed = self.list_of(frame, BuiltinOp::List, first, place);
                    self.run_key_function(frame, &args, &listed, place);
                } else if let Some(value) = &first {
                    // The iterable runs to its end.
                    self.drain(frame, value);
                }
                self.of_numbers(op, path, &args, place)
            }
            BuiltinOp::Bool => match first {
                Some(value) => {
                    if let Some(val @ (Val::Key(_) | Val::Array(_))) = value.single().cloned()
                        && let Some(key) = self.evident_key(&val)
                    {
                        let text = format!("bool({})", written_of(&args));
                        self.buffer_use(frame, BufferOp::Number, key, place, text, true);
                    }
                    let holds = self.truth(&value);
                    if holds.is_true() || holds.is_false() {
                        return Value::term(self.terms.intern(Term::Bool(holds.is_true())));
                    }
                    match value.single() {
                        Some(Val::Term(_)) => value,
                        _ => self.opaque("<bool>", Some(place)),
                    }
                }
                None => Value::term(self.terms.intern(Term::Bool(false))),
            },
            BuiltinOp::Hash | BuiltinOp::Abs | BuiltinOp::Round => {
                let value = first.unwrap_or_default();
                if let Some(val) = value.single().cloned()
                    && let Some(key) = self.evident_key(&val)
                {
                    let text = format!("{}({})", super::library::short_name(path), written_of(&args));
                    let kind = if op == BuiltinOp::Hash { BufferOp::Number } else { BufferOp::Arithmetic };
                    self.buffer_use(frame, kind, key, place, text, true);
                }
                let term = self.term_of(&value);
                Value::term(self.terms.intern(Term::Apply(path.into(), Box::new([term]))))
            }
            BuiltinOp::Exit => {
                self.exit();
                Value::unbound()
            }
            BuiltinOp::Raises => Value::term(self.terms.intern(Term::Apply(super::exec::EXPECTS.into(), Box::new([])))),
            BuiltinOp::Suppress => {
                let types: Vec<TermId> = args.positional.iter().map(|arg| self.term_of(&arg.value)).collect();
                Value::term(self.terms.intern(Term::Apply(super::exec::SUPPRESSES.into(), types.into())))
            }
            BuiltinOp::Namedtuple => {
                let fields =
                    args.positional.get(1).or_else(|| args.keyword("field_names")).map(|arg| arg.value.clone());
                self.record_factory(fields, path, place)
            }
            BuiltinOp::Nullcontext => first.unwrap_or_else(|| self.none()),
            BuiltinOp::Object => Value::term(self.terms.fresh(Symbol::Own, "<object>", Some(place))),
            BuiltinOp::Namespace => {
                let object = self.allocate(Kind::Instance, "<namespace>", Some(place));
                for (name, arg) in &args.keywords {
                    self.store.objects[object.0 as usize].attributes.insert(name.clone(), arg.value.clone());
                }
                Value::of(Val::Object(object))
            }
            BuiltinOp::Filter | BuiltinOp::Starmap => {
                let iterable = args.positional.get(1).map(|arg| arg.value.clone()).unwrap_or_default();
                self.selected(frame, op, &first.unwrap_or_default(), &iterable, place)
            }
            BuiltinOp::Print
            | BuiltinOp::Repr
            | BuiltinOp::Str
            | BuiltinOp::Hasattr
            | BuiltinOp::Callable
            | BuiltinOp::Type
            | BuiltinOp::Issubclass => {
                let parts: Vec<Value> = args.positional.iter().map(|arg| arg.value.clone()).collect();
                if op == BuiltinOp::Hasattr && self.is_modelled_member(&parts) {
                    return Value::term(self.terms.intern(Term::Bool(true)));
                }
                let terms: Vec<_> = parts.iter().map(|part| self.term_of(part)).collect();
                let answer = Value::term(self.terms.intern(Term::Apply(path.into(), terms.into())));
                if op == BuiltinOp::Hasattr { self.has_attribute(&parts, answer) } else { answer }
            }
            _ => {
                for value in args.values().cloned().collect::<Vec<_>>() {
                    self.run_escaping(frame, &value, place);
                }
                self.opaque(self.call_text(path), Some(place))
            }
        }
    }

    /// `min(n, 1)`, `any(flags)`: a function of what it is given, where that is no object that may change.
    fn of_numbers(&mut self, op: BuiltinOp, path: &Name, args: &Args, place: Place) -> Value {
        let is_plain = args.keywords.is_empty() && args.spread.is_empty() && args.mappings.is_empty();
        let given: Option<Vec<TermId>> = args
            .positional
            .iter()
            .map(|arg| match arg.value.single() {
                Some(Val::Term(term)) => Some(*term),
                _ => None,
            })
            .collect();
        let Some(mut parts) = given.filter(|_| is_plain) else { return self.opaque(self.call_text(path), Some(place)) };
        let several = match op {
            BuiltinOp::Min => Some(MINIMUM),
            BuiltinOp::Max => Some(MAXIMUM),
            _ => None,
        };
        match (several, parts.as_slice()) {
            (_, [of]) => {
                let epoch = self.epoch_of(*of);
                if epoch > 0 {
                    parts.push(self.terms.int(i128::from(epoch)));
                }
                Value::term(self.terms.intern(Term::Apply(path.into(), parts.into())))
            }
            (Some(name), [_, _, ..]) => {
                parts.sort_unstable();
                parts.dedup();
                let numbers: Option<Vec<i128>> = parts.iter().map(|part| self.terms.as_int(*part)).collect();
                let known = numbers.and_then(|numbers| {
                    if op == BuiltinOp::Min { numbers.into_iter().min() } else { numbers.into_iter().max() }
                });
                match (known, parts.as_slice()) {
                    (Some(known), _) => Value::term(self.terms.int(known)),
                    (None, [only]) => Value::term(*only),
                    _ => Value::term(self.terms.intern(Term::Apply(name.into(), parts.into()))),
                }
            }
            _ => self.opaque(self.call_text(path), Some(place)),
        }
    }

    fn range(&mut self, op: BuiltinOp, args: &Args, place: Place) -> Value {
        let terms: Vec<_> = args.positional.iter().map(|arg| arg.value.clone()).collect::<Vec<_>>();
        let terms: Vec<_> = terms.iter().map(|value| self.term_of(value)).collect();
        let (zero, one) = (self.terms.int(0), self.terms.int(1));
        if op == BuiltinOp::Count {
            let start = terms.first().copied().unwrap_or(zero);
            let end = self.terms.fresh(Symbol::Opaque, "<endless>", Some(place));
            let step = terms.get(1).copied().unwrap_or(one);
            return self.new_iterator(Source::Range(start, end, step), Some(place));
        }
        let source = match terms.as_slice() {
            [stop] => Source::Range(zero, *stop, one),
            [start, stop] => Source::Range(*start, *stop, one),
            [start, stop, step] => Source::Range(*start, *stop, *step),
            _ => Source::Opaque(self.terms.fresh(Symbol::Opaque, "<range>", Some(place))),
        };
        self.new_iterator(source, Some(place))
    }

    /// The numbers of a range in single steps, from the last to the first.
    fn counted_down(&mut self, id: ObjectId) -> Option<Source> {
        let Kind::Iterator(Source::Range(start, stop, step), Some(0)) = self.store.objects[id.0 as usize].kind.clone()
        else {
            return None;
        };
        self.terms.as_int(step).filter(|step| *step == 1)?;
        let (last, end, step) = (self.terms.offset(stop, -1), self.terms.offset(start, -1), self.terms.int(-1));
        Some(Source::Range(last, end, step))
    }

    fn iterators(&mut self, frame: &mut Frame<'p>, args: &Args, skip: usize, place: Place) -> Vec<Value> {
        let mut iterators: Vec<Value> = Vec::new();
        for arg in args.positional.iter().skip(skip) {
            iterators.push(self.iterator_of(frame, &arg.value, Some(place)));
        }
        for value in &args.spread {
            let term = self.term_of(value);
            iterators.push(self.new_iterator(Source::Opaque(term), Some(place)));
        }
        iterators
    }

    fn next_builtin(&mut self, frame: &mut Frame<'p>, iterator: Option<Value>, place: Place) -> Value {
        let Some(iterator) = iterator else { return self.opaque("<next>", Some(place)) };
        let iterator = self.possible(&iterator);
        self.on_alternatives(&iterator, |this, val| match val {
            Val::Object(id) => match &this.store.objects[id.0 as usize].kind {
                Kind::Stream(path) => {
                    let path = path.clone();
                    let given = this.stream_next(&path);
                    this.stream_result(given, &path, place)
                }
                Kind::Instance => {
                    let dunder: Name = "__next__".into();
                    match this.instance_method(val, &dunder) {
                        Some(method) => this.call_value(frame, &method, Args::default(), Some(place)),
                        None => this.supplied_key(place),
                    }
                }
                _ => this.next_of(frame, &Value::of(val.clone()), place.span),
            },
            // The next element of an iterator from outside was not handed out before.
            _ => this.opaque("<next>", Some(place)),
        })
    }

    /// Runs an iterable to its end, where that is known to be short.
    fn drain(&mut self, frame: &mut Frame<'p>, value: &Value) {
        if let Some(Val::Object(id)) = value.single().cloned() {
            self.force_generator(frame, id, self.context.here);
            if let Kind::Iterator(Source::Map(..), Some(_)) = &self.store.objects[id.0 as usize].kind {
                let known = self.known_length(value);
                let place = self.context.here;
                let value = value.clone();
                self.repeat(frame, known, place, |this, frame, _| {
                    this.next_step(frame, &value, place.span);
                });
            }
        }
    }

    fn descriptor(&mut self, mark: &'static str, function: Option<Value>, place: Place) -> Value {
        match function {
            Some(function) => self.marked(mark, function),
            None => self.opaque(mark, Some(place)),
        }
    }

    /// A function with a mark that says how it is looked up.
    fn marked(&mut self, mark: &str, function: Value) -> Value {
        let none = self.none();
        Value::of(Val::Partial(Rc::new(Partial {
            function,
            positional: Vec::new(),
            keywords: vec![(mark.into(), none)],
        })))
    }

    /// `super()`: attributes of the bases, bound to the instance.
    fn super_of(&mut self, frame: &Frame<'p>, args: &Args, place: Place) -> Value {
        let receiver = args.positional.last().map(|arg| arg.value.clone());
        let (Some(receiver), Some(class)) = (receiver, frame.class) else {
            return self.opaque("super()", Some(place));
        };
        let Some(Val::Object(id)) = receiver.single().cloned() else {
            return self.opaque("super()", Some(place));
        };
        let of = self.store.objects[id.0 as usize].class.unwrap_or(class);
        let proxy = self.allocate_with(Kind::Instance, self.store.objects[id.0 as usize].symbol, None, true);
        let lineage = self.lineage(of);
        let from = lineage.iter().position(|candidate| *candidate == class).map_or(0, |position| position + 1);
        let mut bound = std::collections::BTreeMap::new();
        for base in lineage[from.min(lineage.len())..].iter().rev() {
            let attributes = self.store.classes[base.0 as usize].attributes.clone();
            for (name, value) in attributes {
                if matches!(value.single(), Some(Val::Function(_) | Val::Wrapped(_))) {
                    let method = Value::of(Val::Method(Rc::new((receiver.clone(), value))));
                    bound.insert(name, method);
                }
            }
        }
        self.store.objects[proxy.0 as usize].attributes = bound;
        Value::of(Val::Object(proxy))
    }
}

fn written_of(args: &Args) -> String {
    args.positional.first().and_then(|arg| arg.written.as_deref()).unwrap_or("…").to_owned()
}
