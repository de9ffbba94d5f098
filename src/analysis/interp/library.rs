//! Calls of library functions, by what their models say.
//!
//! **Invariant:** what a function does with keys is read from its model; nothing here knows a path.

use crate::analysis::domain::kinds::{BufferOp, ReferenceKind, Role};
use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::domain::value::{Val, Value, Wrapped};
use crate::analysis::heap::Kind;
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{ARRAY, Callable, Construct, Effect, ShapeQuery, Yield};

use super::bind::{Arg, Args};
use super::{Frame, Machine};
use crate::analysis::record::Arranged;

impl<'p> Machine<'p> {
    pub(super) fn call_library(
        &mut self,
        frame: &mut Frame<'p>,
        path: &Name,
        args: Args,
        place: Place,
        written: Option<Name>,
    ) -> Value {
        let models = self.program.models;
        self.mark_called(frame, place);
        if let Some(class) = models.class(path) {
            return self.construct_library(frame, path, &class.construct.clone(), &args, place);
        }
        let Some(callable) = models.callable(path) else {
            return self.unresolved(frame, &args, place, None, Some(written.unwrap_or_else(|| path.clone())), None);
        };
        self.apply_model(frame, callable, path, args, place)
    }

    /// Does what a model says.
    pub(super) fn apply_model(
        &mut self,
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
        let result = self.run_model(frame, callable, path, args, place);
        if let Some(args) = made {
            self.note_lengths(callable, &args, &result);
        }
        result
    }

    fn run_model(
        &mut self,
        frame: &mut Frame<'p>,
        callable: &'p Callable,
        path: &Name,
        args: Args,
        place: Place,
    ) -> Value {
        let unbound = Arg::default();
        if let Effect::Fabricate { .. } | Effect::ShapeOf { .. } = &callable.effect {
            self.recorder.log.measures.insert(place);
        }
        match &callable.effect {
            Effect::Seed { seed, kind } => {
                let implementation = args.of(callable, "impl").map(|arg| arg.value.clone());
                self.seed(frame, args.of(callable, seed), implementation.as_ref(), *kind, path, place)
            }
            Effect::Split { key, num } => {
                let num = num.as_deref().and_then(|num| args.of(callable, num));
                let key = args.of(callable, key).unwrap_or(&unbound);
                self.split(frame, key, num, path, place)
            }
            Effect::Fold { key, data } => {
                let key = args.of(callable, key).unwrap_or(&unbound);
                self.fold_in(frame, key, args.of(callable, data), path, place)
            }
            Effect::Clone { key } => match args.of(callable, key) {
                Some(key) => self.clone_key(frame, key, path, place),
                None => self.opaque("<clone>", Some(place)),
            },
            Effect::KeyData { key } => match args.of(callable, key) {
                Some(key) => self.key_data(&key.value.clone(), place),
                None => self.opaque("<key_data>", Some(place)),
            },
            Effect::Wrap { data } => match args.of(callable, data) {
                Some(data) => self.wrap(frame, &data.value.clone(), path, place),
                None => self.opaque("<wrapped>", Some(place)),
            },
            Effect::Sample { keys, rows } => self.sample(frame, callable, (keys, rows.as_deref()), path, &args, place),
            Effect::Consume { keys, .. } => {
                for key in keys {
                    for arg in args.all_of(callable, key).into_iter().cloned().collect::<Vec<_>>() {
                        self.consume(frame, &arg, Role::Library, path, place);
                    }
                }
                for value in args.values().cloned().collect::<Vec<_>>() {
                    self.run_escaping(frame, &value, place);
                }
                self.opaque(self.call_text(path), Some(place))
            }
            Effect::Observe => {
                for value in args.values().cloned().collect::<Vec<_>>() {
                    self.run_escaping(frame, &value, place);
                }
                let made = self.terms.fresh(Symbol::Opaque, self.call_text(path), Some(place));
                if self.makes_drawless(path, &args) {
                    self.caches.drawless.terms.insert(made);
                }
                Value::term(made)
            }
            Effect::Forward { of, .. } => match args.of(callable, of) {
                Some(of) => of.value.clone(),
                None => self.opaque(self.call_text(path), Some(place)),
            },
            Effect::Pure { numeric, .. } => self.pure(frame, *numeric, path, &args, place),
            Effect::Shape { op, of, chosen } => {
                self.shape_op(frame, *op, callable, of, chosen.as_deref(), &args, path, place)
            }
            Effect::Fabricate { of, zeros } => match args.of(callable, of) {
                Some(of) => self.fabricate(frame, &of.value.clone(), *zeros, path, place),
                None => self.opaque(self.call_text(path), Some(place)),
            },
            Effect::Number { of, op, .. } => {
                if let Some(of) = args.of(callable, of) {
                    let value = of.value.clone();
                    let text = argument_text(path, of);
                    return self.number_of(frame, &value, *op, &text, path, place);
                }
                self.opaque(self.call_text(path), Some(place))
            }
            Effect::ShapeOf { query, of } => {
                let value = args.of(callable, of).map(|of| of.value.clone()).unwrap_or_default();
                self.shape_of(&value, *query)
            }
            Effect::Supply { many: false } => self.supplied_key(place),
            Effect::Supply { many: true } => self.supplied_keys(place),
            Effect::Transform(transform) => self.transform(frame, transform, callable, path, args, place),
            Effect::Tree { op, of } => self.tree(frame, *op, callable, of, &args, place),
            Effect::Factory { makes: _ } => {
                let options = args.positional.iter().map(|arg| ("".into(), arg.value.clone())).collect();
                Self::made_by_factory(path.clone(), options)
            }
            Effect::Builtin(op) => self.builtin(frame, *op, path, args, place),
        }
    }

    /// What a sampler draws from its keys, perhaps an arrangement of rows.
    fn sample(
        &mut self,
        frame: &mut Frame<'p>,
        callable: &'p Callable,
        (keys, rows): (&[String], Option<&str>),
        path: &Name,
        args: &Args,
        place: Place,
    ) -> Value {
        let before = self.recorder.log.consumptions.len();
        for key in keys {
            if let Some(key) = args.of(callable, key) {
                self.consume(frame, key, Role::Sample, path, place);
            }
        }
        let text = self.call_text(path);
        let drawn = self.terms.fresh(Symbol::Opaque, text, Some(place));
        if let Some(rows) = rows
            && let Some(arranged) = args.of(callable, rows).map(|arg| self.term_of(&arg.value))
        {
            let others = callable.params.iter().map(|param| &param.name);
            let others = others.filter(|name| *name != rows && !keys.contains(name));
            let others = others.map(|name| args.of(callable, name).map(|arg| self.term_of(&arg.value))).collect();
            // `permutation(key, 4)` and `permutation(key, arange(n))` give each number once.
            let replaces = callable.params.iter().any(|param| &*param.name == "replace");
            if !replaces && (self.counted(arranged).is_some() || self.terms.as_int(arranged).is_some()) {
                self.terms.vary(drawn);
            }
            let arranged = Arranged { rows: arranged, others };
            let events = before..self.recorder.log.consumptions.len();
            self.recorder.log.arranged.extend(events.map(|event| (event, arranged.clone())));
        }
        Value::term(drawn)
    }

    /// A callable without a path of its own: what a factory makes.
    pub(super) fn made_by_factory(transform: Name, options: Vec<(Name, Value)>) -> Value {
        let (options, function) = (options.into(), Some(Value::unbound()));
        Value::of(Val::Wrapped(std::rc::Rc::new(Wrapped { transform, options, function })))
    }

    /// A pure function: its result depends on its arguments only; a key among them is taken for numbers.
    fn pure(&mut self, frame: &mut Frame<'p>, numeric: bool, path: &Name, args: &Args, place: Place) -> Value {
        if numeric {
            for arg in args.positional.iter().chain(args.keywords.iter().map(|(_, arg)| arg)) {
                let value = self.possible(&arg.value);
                for alternative in value.alternatives() {
                    if let Some(key) = self.evident_key(&alternative.val) {
                        let short = short_name(path);
                        let text = format!("{short}({})", arg.written.as_deref().unwrap_or("…"));
                        self.buffer_use(frame, BufferOp::Numeric, key, place, text, true);
                    }
                }
            }
        }
        if !args.spread.is_empty() || !args.mappings.is_empty() {
            return self.opaque(self.call_text(path), Some(place));
        }
        let mut parts: Vec<TermId> = Vec::new();
        for arg in &args.positional {
            parts.push(self.term_of(&arg.value));
        }
        for (name, arg) in &args.keywords {
            parts.push(self.terms.intern(Term::Text(name.clone())));
            parts.push(self.term_of(&arg.value));
        }
        // A call without arguments is not the function itself.
        let name = if parts.is_empty() { format!("{path}()").into() } else { path.into() };
        Value::term(self.terms.intern(Term::Apply(name, parts.into())))
    }

    fn key_data(&mut self, value: &Value, place: Place) -> Value {
        self.on_alternatives(value, |this, val| match this.as_key(val) {
            Some(key) => Value::of(Val::Words(key, None)),
            None => this.opaque("<key_data>", Some(place)),
        })
    }

    /// `wrap_key_data(data)`: untouched data gives back its key; edited data gives a key made by hand.
    fn wrap(&mut self, frame: &mut Frame<'p>, value: &Value, path: &Name, place: Place) -> Value {
        self.on_alternatives(value, |this, val| match val {
            Val::Words(key, None) => Value::of(Val::Key(*key)),
            Val::Words(key, Some(_)) => {
                this.buffer_use(frame, BufferOp::Rewrap, *key, place, short_name(path), false);
                this.supplied_key(place)
            }
            Val::Key(key) if key.kind == crate::analysis::domain::kinds::KeyKind::Raw => Value::of(val.clone()),
            Val::Term(term) => {
                // Numbers computed from a key's words.
                let edited = this.words_within(*term);
                if let Some(key) = edited
                    && !(this.may_be_many(key) && this.is_selection(*term))
                {
                    this.buffer_use(frame, BufferOp::Rewrap, key, place, short_name(path), false);
                }
                let wrapped = this.terms.intern(Term::Apply(path.into(), Box::new([*term])));
                Value::of(Val::Key(crate::analysis::domain::value::Key {
                    term: wrapped,
                    kind: crate::analysis::domain::kinds::KeyKind::Typed,
                    derivation: 0,
                }))
            }
            _ => this.supplied_key(place),
        })
    }

    /// Whether a term selects among the buffers of keys, or arranges them, and computes nothing.
    fn is_selection(&self, term: TermId) -> bool {
        match self.terms.get(term) {
            Term::Words(..) => true,
            Term::Item(of, ..) => self.is_selection(*of),
            Term::Choice(parts) => parts.iter().all(|(_, part)| self.is_selection(*part)),
            Term::Apply(path, parts) => {
                self.program
                    .models
                    .callable(path)
                    .is_some_and(|callable| matches!(callable.effect, Effect::Shape { .. }))
                    && parts.first().is_some_and(|first| self.is_selection(*first))
            }
            _ => false,
        }
    }

    /// The key whose words a term computes with.
    pub(super) fn words_within(&self, term: TermId) -> Option<crate::analysis::domain::value::Key> {
        let mut found = None;
        let cell = std::cell::Cell::new(None);
        if self.terms.mentions(term, &|part| match self.terms.get(part) {
            Term::Words(key, _) => {
                cell.set(Some(*key));
                true
            }
            _ => false,
        }) && let Some(key) = cell.get()
        {
            found = Some(crate::analysis::domain::value::Key {
                term: key,
                kind: crate::analysis::domain::kinds::KeyKind::Unknown,
                derivation: 0,
            });
        }
        found
    }

    fn shape_of(&mut self, value: &Value, query: ShapeQuery) -> Value {
        let name = match query {
            ShapeQuery::Shape => "shape",
            ShapeQuery::Ndim => "ndim",
            ShapeQuery::Size => "size",
            ShapeQuery::Dtype => "dtype",
        };
        let of = self.term_of(value);
        Value::term(self.terms.intern(Term::Attribute(of, name.into(), 0)))
    }

    /// Constructing a library class.
    fn construct_library(
        &mut self,
        frame: &mut Frame<'p>,
        path: &Name,
        construct: &Construct,
        args: &Args,
        place: Place,
    ) -> Value {
        let models = self.program.models;
        let Some(class) = models.class(path) else { return self.opaque(self.call_text(path), Some(place)) };
        let named = |name: &str| -> Vec<Arg> {
            let bare = name.trim_start_matches('*');
            let mut position = 0;
            for param in &class.params {
                match param.kind {
                    crate::models::ParamKind::Rest if param.name == bare => {
                        return args.positional.iter().skip(position).cloned().collect();
                    }
                    crate::models::ParamKind::KeywordRest if param.name == bare => {
                        return args
                            .keywords
                            .iter()
                            .filter(|(keyword, _)| !class.params.iter().any(|p| *p.name == **keyword))
                            .map(|(_, arg)| arg.clone())
                            .collect();
                    }
                    crate::models::ParamKind::Positional if param.name == bare => {
                        return args
                            .positional
                            .get(position)
                            .or_else(|| args.keyword(bare))
                            .cloned()
                            .into_iter()
                            .collect();
                    }
                    _ => {}
                }
                if matches!(param.kind, crate::models::ParamKind::Positional) {
                    position += 1;
                }
            }
            args.keyword(bare).cloned().into_iter().collect()
        };
        match construct {
            Construct::Stream { seeds, .. } => {
                let before = self.recorder.log.consumptions.len();
                for seed in seeds {
                    for arg in named(seed) {
                        self.consume_stream_seed(frame, &arg, path, place);
                    }
                }
                let stream = self.allocate(Kind::Stream(path.clone()), short_name(path), Some(place));
                let events = before..self.recorder.log.consumptions.len();
                self.recorder.log.streams.made.extend(events.map(|event| (event, stream)));
                Value::of(Val::Object(stream))
            }
            Construct::Plain { consumes } => {
                for name in consumes {
                    for arg in named(name) {
                        self.consume(frame, &arg, Role::Library, path, place);
                    }
                }
                self.opaque(self.call_text(path), Some(place))
            }
            Construct::Record { frozen, .. } => self.record_decorator(path, *frozen, args, place),
        }
    }

    /// `@dataclass` and kin: the class is a record from here on; with options only, a decorator.
    fn record_decorator(&mut self, path: &Name, frozen: bool, args: &Args, place: Place) -> Value {
        let frozen = frozen || args.keyword("frozen").is_some_and(|arg| self.is_true(&arg.value.clone()));
        match args.positional.first().and_then(|arg| arg.value.single()).cloned() {
            Some(Val::Class(class)) => {
                let info = &mut self.store.classes[class.0 as usize];
                info.record = true;
                info.frozen |= frozen;
                Value::of(Val::Class(class))
            }
            None if args.positional.is_empty() => Value::of(Val::Library(path.clone())),
            _ => self.opaque(self.call_text(path), Some(place)),
        }
    }

    /// A stream made from a key consumes it; made from a number, it consumes the key with that seed.
    fn consume_stream_seed(&mut self, frame: &mut Frame<'p>, arg: &Arg, path: &Name, place: Place) {
        let value = self.possible(&arg.value);
        if let Some(Val::Term(term)) = value.single()
            && self.terms.as_int(*term).is_some()
        {
            let key = self.seed(frame, Some(arg), None, crate::models::SeedKind::Typed, path, place);
            let arg = Arg { value: key, written: None };
            return self.consume(frame, &arg, Role::Library, path, place);
        }
        self.consume(frame, arg, Role::Library, path, place);
    }

    /// Calling a stream.
    pub(super) fn call_stream(&mut self, path: &Name, place: Place) -> Value {
        let given = match self.program.models.class(path).map(|class| &class.construct) {
            Some(Construct::Stream { call, .. }) => *call,
            _ => Yield::Unknown,
        };
        self.stream_result(given, path, place)
    }

    /// What `next` on a stream gives.
    pub(super) fn stream_next(&self, path: &Name) -> Yield {
        match self.program.models.class(path).map(|class| &class.construct) {
            Some(Construct::Stream { next, .. }) => *next,
            _ => Yield::Unknown,
        }
    }

    /// What a subscript of a stream gives.
    pub(super) fn stream_item(&self, path: &Name) -> Yield {
        match self.program.models.class(path).map(|class| &class.construct) {
            Some(Construct::Stream { items, .. }) => *items,
            _ => Yield::Unknown,
        }
    }

    /// Whether a value is no instance of a class, since no stream is an array and no key is a stream.
    pub(super) fn is_other_than(&self, value: &Value, class: &Value) -> bool {
        let Some(Val::Library(path)) = class.single() else { return false };
        match value.single() {
            Some(Val::Object(id)) => {
                matches!(self.store.objects[id.0 as usize].kind, Kind::Stream(_))
                    && *self.program.models.canonical(path, &[]) == *ARRAY
            }
            Some(Val::Key(_)) => {
                let class = self.program.models.class(path);
                class.is_some_and(|class| matches!(class.construct, Construct::Stream { .. }))
            }
            _ => false,
        }
    }

    /// What a stream's call or method gives.
    pub(super) fn stream_result(&mut self, given: Yield, path: &Name, place: Place) -> Value {
        match given {
            Yield::Stream => {
                Value::of(Val::Object(self.allocate(Kind::Stream(path.clone()), short_name(path), Some(place))))
            }
            other => self.yielded(other, place),
        }
    }

    /// Notes that a reference is a call.
    fn mark_called(&mut self, frame: &Frame<'p>, place: Place) {
        let file = self.module(frame.module).file;
        let callee = self
            .recorder
            .log
            .references
            .iter_mut()
            .rev()
            .take(64)
            .find(|reference| reference.place.file == file && reference.place.span.start == place.span.start);
        if let Some(reference) = callee
            && reference.kind == ReferenceKind::Value
        {
            reference.kind = ReferenceKind::Call;
        }
    }
}

/// The last part of a path.
pub(super) fn short_name(path: &str) -> String {
    path.rsplit('.').next().unwrap_or(path).to_owned()
}

/// `int(key)`, for people.
fn argument_text(path: &str, arg: &Arg) -> String {
    format!("{}({})", short_name(path), arg.written.as_deref().unwrap_or("…"))
}
