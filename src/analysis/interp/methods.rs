//! Methods of what is known by its kind only: lists, dicts, arrays of keys, streams, transformed functions, and protocols.
//!
//! **Invariant:** a method of something from outside consumes a key only if a protocol says so, and either the file uses the library
//! or what is handed over is known to be a key or called one.

use crate::analysis::domain::claim::TEXT_METHODS;
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{ModuleIndex, ObjectId, Val, Value};
use crate::analysis::facts::{BufferOp, KeyKind, Role};
use crate::analysis::heap::{Entry, Item, Kind, Source};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{ARRAY, Protocol, ProtocolEffect, Yield};

use super::bind::{Arg, Args};
use super::{Frame, Interp};

/// Operations that a method which a library runs may take.
const RUN_FUEL: u32 = 6_000;

impl<'p> Interp<'p> {
    /// `receiver.name(…)` where no function of that name is in sight.
    pub(super) fn call_method(
        &mut self,
        frame: &mut Frame<'p>,
        receiver: &Value,
        name: &Name,
        args: Args,
        place: Place,
        written: Option<Name>,
    ) -> Value {
        let receiver = self.possible(receiver);
        self.on_alternatives(&receiver, |this, val| {
            this.method_of_val(frame, val, name, args.clone(), place, written.clone())
        })
    }

    fn method_of_val(
        &mut self,
        frame: &mut Frame<'p>,
        val: &Val,
        name: &Name,
        args: Args,
        place: Place,
        written: Option<Name>,
    ) -> Value {
        let receiver = Value::of(val.clone());
        match val {
            Val::Object(id) => match self.objects[id.0 as usize].kind.clone() {
                Kind::List { items, unknown } => self.list_method(frame, *id, &items, unknown, name, &args, place),
                Kind::Dict { entries, unknown } => self.dict_method(*id, &entries, unknown, name, &args, place),
                Kind::Stream(path) => {
                    let given = self.program.models.class(&path).and_then(|class| class.method(name));
                    for arg in args.positional.clone() {
                        self.havoc(&arg.value);
                    }
                    self.stream_result(given.unwrap_or(Yield::Unknown), &path, place)
                }
                Kind::Iterator(..) if &**name == "__next__" => self.next_of(frame, &receiver, place.span),
                Kind::Instance if matches!(&**name, "replace" | "_replace") => self.replaced(&receiver, &args, place),
                _ => self.protocol_or_unknown(frame, val, name, args, place, written),
            },
            Val::Key(_) | Val::Array(_) => {
                let path: Name = format!("{ARRAY}.{name}").into();
                if let Val::Array(array) = val
                    && !self.is_evident(array)
                {
                    return self.protocol_or_unknown(frame, val, name, args, place, written);
                }
                match self.program.models.callable(&path) {
                    Some(callable) if callable.exact => {
                        self.apply_model(frame, callable, &path, args.with_receiver(receiver), place)
                    }
                    _ => self.opaque(name.clone(), Some(place)),
                }
            }
            Val::Term(_) if &**name == "sort" && args.keyword("key").is_some() => {
                self.run_key_function(frame, &args, &receiver, place);
                self.protocol_or_unknown(frame, val, name, args, place, written)
            }
            Val::Tuple(_) if &**name == "_replace" => self.opaque("<replaced>", Some(place)),
            Val::Wrapped(_) => match &**name {
                // The rules of a custom derivative replay what its function draws.
                "defvjp" | "defjvp" | "defjvps" | "def_vmap" => {
                    for value in args.values().cloned().collect::<Vec<_>>() {
                        for alternative in value.alternatives() {
                            if let Val::Function(closure) = &alternative.val {
                                self.replays.insert((closure.module, closure.function));
                                self.idle.remove(&closure.identity);
                            }
                        }
                    }
                    self.none()
                }
                "lower" | "trace" | "eval_shape" => {
                    self.abstract_depth += 1;
                    self.call_value(frame, &receiver, args, Some(place));
                    self.abstract_depth -= 1;
                    receiver
                }
                "compile" => receiver,
                _ => self.opaque(name.clone(), Some(place)),
            },
            Val::UnknownMethod(outer) => {
                // `keys.at[i].set(key)`: the index is gone; some keys are others now.
                let (inner, attribute) = (**outer).clone();
                if &*attribute.to_string() == "at" {
                    return self.updated_at(frame, &inner, name, place);
                }
                // `property.setter`
                self.opaque(name.clone(), Some(place))
            }
            Val::Partial(partial) => {
                // `@name.setter` adds a setter to a property.
                if &**name == "setter"
                    && let Some(function) = args.positional.first()
                {
                    let mut with_setter = (**partial).clone();
                    with_setter.keywords.push(("<setter>".into(), function.value.clone()));
                    return Value::of(Val::Partial(std::rc::Rc::new(with_setter)));
                }
                self.opaque(name.clone(), Some(place))
            }
            Val::Term(_) if matches!(&**name, "replace" | "_replace") && args.positional.is_empty() => {
                self.replaced(&receiver, &args, place)
            }
            Val::Term(_) if let Some(callable) = self.text_method(name, &args) => {
                let path: Name = callable.path.as_str().into();
                self.apply_model(frame, callable, &path, args.with_receiver(receiver), place)
            }
            Val::Term(term) if &**name == "get" && !args.positional.is_empty() => {
                let key = self.term_of(&args.positional[0].value);
                match self.shadow_item(*term, key) {
                    Some(value) => value,
                    None => Value::term(self.terms.intern(Term::Item(*term, key, 0))),
                }
            }
            _ => self.protocol_or_unknown(frame, val, name, args, place, written),
        }
    }

    /// The method of texts that a call on something from outside is, by its name and the number of its arguments.
    fn text_method(&self, name: &Name, args: &Args) -> Option<&'p crate::models::Callable> {
        let is_plain = args.keywords.is_empty() && args.spread.is_empty() && args.mappings.is_empty();
        let callable = self.program.models.callable(&format!("{TEXT_METHODS}{name}"))?;
        (callable.exact && is_plain && callable.params.len() == args.positional.len() + 1).then_some(callable)
    }

    /// `x.at[i].set(…)` and kin.
    fn updated_at(&mut self, frame: &mut Frame<'p>, value: &Value, name: &Name, place: Place) -> Value {
        let value = value.clone();
        self.on_alternatives(&value, |this, val| match val {
            Val::Key(key) if key.kind != KeyKind::Unknown => {
                let key = *key;
                this.buffer_use(frame, BufferOp::Arithmetic, key, place, format!(".at[…].{name}"), true);
                let edited = this.terms.intern(Term::Apply("<edited key>".into(), Box::new([key.term])));
                Value::of(Val::Key(crate::analysis::domain::value::Key { term: edited, derivation: 0, ..key }))
            }
            Val::Array(array) => this.subset(&array.clone()),
            _ => this.opaque(format!("at.{name}"), Some(place)),
        })
    }

    /// The name of a method of the program that is one of a library's of which a model says that it perhaps draws nothing.
    pub(super) fn idle_method(&self, function: &Value) -> Option<Name> {
        let Some(Val::Function(closure)) = function.single() else { return None };
        let module = self.module(closure.module);
        let name = &module.function(closure.function).name;
        let protocols = self.program.models.protocols(name);
        let mut idle = protocols.iter().filter(|protocol| protocol.idle).peekable();
        idle.peek()?;
        let path = self.program.resolver.absolute(module.file, 1, name);
        let root = path.split('.').next().unwrap_or_default();
        idle.any(|protocol| protocol.libraries.iter().any(|library| library == root)).then(|| name.clone())
    }

    pub(super) fn protocol_or_unknown(
        &mut self,
        frame: &mut Frame<'p>,
        val: &Val,
        name: &Name,
        args: Args,
        place: Place,
        written: Option<Name>,
    ) -> Value {
        let receiver = Value::of(val.clone());
        let text = written.clone().unwrap_or_else(|| name.clone());
        let models = self.program.models;
        let (mut matched, mut has_run) = (None, false);
        let relevance = &self.program.relevance;
        let is_imported =
            |protocol: &&'p Protocol| protocol.libraries.iter().any(|library| relevance.imports(frame.module, library));
        let (imported, elsewhere): (Vec<&Protocol>, Vec<&Protocol>) =
            models.protocols(name).iter().filter(|protocol| !self.is_keyless(val, protocol)).partition(is_imported);
        // Where a library in use has a method of this name, it says which position is the key's.
        let is_strange = imported.is_empty();
        // Two methods of one name may have their keys in different places: what is evidently a key decides between them.
        let mut possible = None;
        let mut forms = 0;
        for protocol in imported {
            let Some(key) = Self::key_of_protocol(protocol, &args) else { continue };
            if let Some(method) = &protocol.runs
                && self.is_of_library(val, &protocol.libraries)
            {
                has_run |= self.run_named(frame, val, method, &args, place);
            }
            let named = protocol.key.names.iter().any(|name| args.keyword(name).is_some())
                || self.is_of_library(val, &protocol.libraries);
            match (protocol.effect, key) {
                (ProtocolEffect::Supply, _) => return self.supplied_key(place),
                (ProtocolEffect::Replace, _) => return self.replaced_by(protocol, &receiver, args, place),
                (ProtocolEffect::Raises, _) => {
                    return Value::term(self.terms.intern(Term::Apply(super::exec::EXPECTS.into(), Box::new([]))));
                }
                (_, Some(key)) if self.holds_key(&key.value) || self.is_called_a_key(key) => {
                    matched = Some((protocol, key.clone(), named));
                    break;
                }
                (_, Some(key)) => {
                    forms += 1;
                    if possible.is_none() && (named || self.may_hold_key(&key.value)) {
                        possible = Some((protocol, key.clone(), named));
                    }
                }
                _ => {}
            }
        }
        // Of several forms that all may be meant, the library vouches for none.
        let possible = possible.map(|(protocol, key, named)| (protocol, key, named && forms == 1));
        let mut matched = matched.or(possible).map(|(protocol, key, named)| {
            if named {
                self.take_for_keys(&key.value, 3);
            }
            (protocol, key)
        });
        // The library may be that of whoever made the receiver; then the key itself has to be the evidence.
        if matched.is_none() && !has_run {
            matched = elsewhere.into_iter().filter(|protocol| protocol.effect == ProtocolEffect::Consume).find_map(
                |protocol| {
                    let key = Self::key_of_protocol(protocol, &args)??;
                    let is_named = protocol.key.names.iter().any(|name| args.keyword(name).is_some());
                    let is_evident = self.holds_key(&key.value) || self.is_called_a_key(key);
                    ((is_named || is_strange) && is_evident).then(|| (protocol, key.clone()))
                },
            );
        }
        match matched.map(|(protocol, key)| (protocol.effect, protocol, key)) {
            Some((ProtocolEffect::Consume, protocol, key)) => {
                // What is told to be deterministic is given keys for the sake of one signature and perhaps draws nothing.
                let is_idle = self.is_idle(protocol, &args) || self.draws_nothing(val, protocol);
                for (part, is_idle_stream) in self.streams_of(protocol, &key) {
                    let role = if is_idle || is_idle_stream { Role::Unresolved } else { Role::Protocol };
                    self.consume(frame, &part, role, &text, place);
                }
                for value in args.values().cloned().collect::<Vec<_>>() {
                    self.run_escaping(frame, &value, place);
                }
                self.havoc(&receiver);
                self.opaque(self.call_text(&text), Some(place))
            }
            Some((ProtocolEffect::Split, _, key)) => self.split(frame, &key, None, &text, place),
            // What ran was seen to consume what it consumes.
            None if has_run => {
                self.havoc(&receiver);
                self.opaque(self.call_text(&text), Some(place))
            }
            Some(_) => self.opaque(self.call_text(&text), Some(place)),
            None => {
                // `rng.integers(…)` is asked of no key.
                if let Val::Term(term) = val
                    && models.callable(&format!("jax.Array.{name}")).is_none()
                {
                    self.log.otherwise.insert(*term);
                }
                let result =
                    self.unresolved(frame, &args, place, Some(&(receiver.clone(), name.clone())), written, Some(val));
                self.note_changed(val, name, &args);
                if let ("items" | "keys" | "values", [], Val::Term(of), Some(Val::Term(term))) =
                    (&**name, args.positional.as_slice(), val, result.single())
                {
                    let lengths = [Some(self.length_of_term(*of))];
                    self.lengths_of.insert(*term, lengths.into());
                }
                // What an array is asked for by this method has these lengths.
                if let Some(callable) = models.of_array(name)
                    && callable.lengths.is_some()
                {
                    self.note_lengths(callable, &args.with_receiver(receiver), &result);
                }
                result
            }
        }
    }

    /// A copy of a state with the fields that a method of its library replaces.
    fn replaced_by(&mut self, protocol: &Protocol, receiver: &Value, mut args: Args, place: Place) -> Value {
        for field in &protocol.changes {
            if args.keyword(field).is_none() {
                let value = self.opaque(Name::from(field.as_str()), Some(place));
                args.keywords.push((field.as_str().into(), Arg { value, written: None }));
            }
        }
        self.replaced(receiver, &args, place)
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

    /// Whether nothing is drawn by default, or a flag among the arguments says so: `deterministic=True`, `train=False`.
    fn is_idle(&self, protocol: &Protocol, args: &Args) -> bool {
        let is_value = |val: &Val| !matches!(val, Val::Term(term) if matches!(self.terms.get(*term), Term::None));
        let is_given =
            |name: &String| args.keyword(name).is_some_and(|given| given.value.single().is_some_and(is_value));
        protocol.idle
            || protocol.idle_with.iter().any(is_given)
            || protocol.idle_when.iter().any(|(name, wanted)| {
                args.keyword(name).and_then(|given| given.value.single()).is_some_and(|val| {
                matches!(val, Val::Term(term) if matches!(self.terms.get(*term), Term::Bool(flag) if flag == wanted))
            })
            })
    }

    /// The keys that a call is given, each with whether it is for a stream that mostly nobody asks:
    /// `apply(variables, x, rngs={"params": key})`, `init({"params": key, "batch_stats": key_2}, x)`.
    fn streams_of(&self, protocol: &Protocol, given: &Arg) -> Vec<(Arg, bool)> {
        let whole = || vec![(given.clone(), false)];
        let Some(Val::Object(id)) = given.value.single() else { return whole() };
        let Kind::Dict { entries, unknown: false } = &self.objects[id.0 as usize].kind else { return whole() };
        let is_idle = |term| matches!(self.terms.get(term), Term::Text(name) if protocol.idle_streams.iter().any(|idle| **name == **idle));
        if !entries.iter().any(|entry| is_idle(entry.key)) {
            return whole();
        }
        let part = |value: &Value| Arg { value: value.clone(), written: None };
        entries.iter().map(|entry| (part(&entry.value), is_idle(entry.key))).collect()
    }

    /// Runs a method of an object on what follows the first argument, as `apply` runs `__call__`, where keys are among that;
    /// whether there was such a method.
    fn run_named(&mut self, frame: &mut Frame<'p>, val: &Val, method: &str, args: &Args, place: Place) -> bool {
        if args.keyword("method").is_some() {
            return false;
        }
        let Some(bound) = self.instance_method(val, &method.into()) else { return false };
        let Some(Val::Method(parts)) = bound.single() else { return false };
        let Some(Val::Function(closure)) = parts.1.single() else { return false };
        let parameters = &self.module(closure.module).function(closure.function).parameters;
        let takes = |name: &Name| parameters.iter().any(|parameter| parameter.name == *name);
        let given = Args {
            positional: args.positional.iter().skip(1).cloned().collect(),
            keywords: args.keywords.iter().filter(|(name, _)| takes(name)).cloned().collect(),
            spread: args.spread.clone(),
            mappings: args.mappings.clone(),
        };
        if !given.values().cloned().collect::<Vec<_>>().iter().any(|value| self.holds_key(value)) {
            return false;
        }
        // What the library does before and after is not in sight: the call is taken to return, whatever was made of its body.
        let (pc, alive, fuel) = (self.pc, self.alive, self.fuel);
        self.fuel = fuel.min(RUN_FUEL);
        let given_fuel = self.fuel;
        self.call_value(frame, &bound, given, Some(place));
        self.fuel = fuel - (given_fuel - self.fuel);
        (self.pc, self.alive) = (pc, alive);
        true
    }

    /// Whether an object was made by one of these libraries, or is an instance of a class based on theirs.
    pub(super) fn is_of_library(&self, val: &Val, libraries: &[String]) -> bool {
        let of = |path: &str| {
            let root = path.split('.').next().unwrap_or_default();
            libraries.iter().any(|library| library == root)
        };
        match val {
            Val::Object(id) => self.objects[id.0 as usize].class.is_some_and(|class| {
                self.lineage(class).iter().any(|class| {
                    self.classes[class.0 as usize]
                        .bases
                        .iter()
                        .any(|base| matches!(base.single(), Some(Val::Library(path)) if of(path)))
                })
            }),
            Val::Term(term) => match self.terms.get(*term) {
                Term::Apply(path, _) => of(path),
                _ => self.terms.symbol(*term).is_some_and(|info| info.text.contains('.') && of(&info.text)),
            },
            _ => false,
        }
    }

    /// Whether a receiver was made by what leaves the key out.
    fn is_keyless(&self, val: &Val, protocol: &Protocol) -> bool {
        let Val::Term(term) = val else { return false };
        protocol.keyless.iter().any(|path| {
            self.terms.symbol(*term).is_some_and(|info| *info.text == *self.call_text(&path.as_str().into()))
        })
    }

    /// What a protocol's keyword is given are keys.
    fn take_for_keys(&mut self, value: &Value, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for alternative in value.alternatives().to_vec() {
            match &alternative.val {
                Val::Term(term) if self.may_be_key(*term) => {
                    self.log.scalar_keys.insert(*term);
                }
                Val::Object(id) => {
                    if let Kind::Dict { entries, .. } = self.objects[id.0 as usize].kind.clone() {
                        for entry in entries {
                            self.take_for_keys(&entry.value, depth);
                        }
                    }
                }
                Val::Tuple(parts) => {
                    for part in parts.clone().iter() {
                        self.take_for_keys(part, depth);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether a value could be a key: something from outside of which nothing says otherwise.
    fn may_hold_key(&self, value: &Value) -> bool {
        matches!(value.single(), Some(Val::Term(term)) if self.may_be_key(*term))
    }

    /// Whether what is handed over could be a key and is called one.
    fn is_called_a_key(&self, arg: &Arg) -> bool {
        matches!(arg.value.single(), Some(Val::Term(term)) if self.is_named_for_a_key(*term, arg.written.as_deref()))
    }

    /// Whether a library that a module uses has a method of this name that takes a key.
    pub(super) fn has_protocol(&self, module: ModuleIndex, callee: &str) -> bool {
        let name = callee.rsplit('.').next().unwrap_or(callee);
        let mut libraries = self.program.models.protocols(name).iter().flat_map(|protocol| &protocol.libraries);
        libraries.any(|library| self.program.relevance.imports(module, library))
    }

    /// Whether a value is, or holds, something known to be a key.
    pub(super) fn holds_key(&mut self, value: &Value) -> bool {
        value.alternatives().to_vec().iter().any(|alternative| match &alternative.val {
            Val::Key(_) => true,
            Val::Array(array) => self.is_evident(array),
            Val::Term(term) => self.log.declared.contains(term) || self.log.scalar_keys.contains(term),
            Val::Tuple(parts) => parts.clone().iter().any(|part| self.holds_key(part)),
            Val::Object(id) => match self.objects[id.0 as usize].kind.clone() {
                Kind::Dict { entries, .. } => entries.iter().any(|entry| self.holds_key(&entry.value)),
                Kind::List { items, .. } => items.iter().any(|item| self.holds_key(&item.value)),
                _ => false,
            },
            _ => false,
        })
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one call")]
    fn list_method(
        &mut self,
        frame: &mut Frame<'p>,
        id: ObjectId,
        items: &[Item],
        unknown: bool,
        name: &Name,
        args: &Args,
        place: Place,
    ) -> Value {
        let certain = self.guards.without(self.alive, self.pc).is_false();
        let guard = if certain { Guard::TRUE } else { self.pc };
        let first = args.positional.first().map(|arg| arg.value.clone());
        match (&**name, first) {
            ("append" | "add", Some(value)) => {
                self.mutations += 1;
                if let Kind::List { items, .. } = &mut self.objects[id.0 as usize].kind {
                    items.push(Item { guard, value });
                }
                self.none()
            }
            ("extend", Some(value)) => {
                let added = self.items_of(frame, &value);
                self.extend_list(id, added);
                self.none()
            }
            ("insert" | "appendleft", _) => {
                let at = if &**name == "appendleft" {
                    Some(0)
                } else {
                    let index = args.positional.first().map(|arg| arg.value.clone()).unwrap_or_default();
                    let index = self.term_of(&index);
                    self.terms.as_int(index).and_then(|index| usize::try_from(index).ok())
                };
                let value = args.positional.last().map(|arg| arg.value.clone()).unwrap_or_default();
                self.mutations += 1;
                if let Kind::List { items, unknown } = &mut self.objects[id.0 as usize].kind {
                    match at.filter(|at| *at <= items.len()) {
                        Some(at) => items.insert(at, Item { guard, value }),
                        None => *unknown = true,
                    }
                }
                self.none()
            }
            ("pop" | "popleft", index) => {
                let index = match (&**name, index) {
                    ("popleft", _) => Some(0),
                    (_, None) => Some(-1),
                    (_, Some(index)) => {
                        let index = self.term_of(&index);
                        self.terms.as_int(index)
                    }
                };
                self.mutations += 1;
                let length = i128::try_from(items.len()).unwrap_or(0);
                let position = index
                    .map(|index| if index < 0 { index + length } else { index })
                    .and_then(|index| usize::try_from(index).ok())
                    .filter(|index| *index < items.len());
                // On the paths on which nothing is taken, nothing may stay behind either.
                let is_whole = certain
                    || items.first().is_some_and(|item| {
                        self.is_there(item.guard) && self.guards.without(item.guard, self.pc).is_false()
                    });
                let sure = is_whole && !unknown && items.iter().all(|item| item.guard == items[0].guard);
                match position {
                    Some(position) if sure => {
                        if let Kind::List { items, .. } = &mut self.objects[id.0 as usize].kind {
                            items.remove(position);
                        }
                        items[position].value.clone()
                    }
                    _ => {
                        // Which element is taken is not known; it is not taken again.
                        if let Kind::List { items, unknown } = &mut self.objects[id.0 as usize].kind {
                            items.clear();
                            *unknown = true;
                        }
                        self.objects[id.0 as usize].epoch += 1;
                        self.supplied_or_opaque(items, place)
                    }
                }
            }
            ("copy", _) => {
                let kind = Kind::List { items: items.to_vec(), unknown };
                Value::of(Val::Object(self.allocate(kind, "<list>", Some(place))))
            }
            ("clear", _) => {
                if let Kind::List { items, unknown } = &mut self.objects[id.0 as usize].kind {
                    items.clear();
                    *unknown = !certain;
                }
                self.none()
            }
            ("reverse" | "sort" | "rotate" | "remove", _) => {
                self.run_key_function(frame, args, &Value::of(Val::Object(id)), place);
                self.mutations += 1;
                let object = &mut self.objects[id.0 as usize];
                if let Kind::List { items, unknown } = &mut object.kind {
                    if &**name == "reverse" && certain {
                        items.reverse();
                    } else {
                        items.clear();
                        *unknown = true;
                    }
                }
                object.epoch += 1;
                self.none()
            }
            _ => self.opaque(name.clone(), Some(place)),
        }
    }

    /// A key if the elements are keys, equal to nothing.
    fn supplied_or_opaque(&mut self, items: &[Item], place: Place) -> Value {
        let keys = items.iter().any(|item| matches!(item.value.single(), Some(Val::Key(_))));
        if keys { self.supplied_key(place) } else { self.opaque("<element>", Some(place)) }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    fn dict_method(
        &mut self,
        id: ObjectId,
        entries: &[Entry],
        unknown: bool,
        name: &Name,
        args: &Args,
        place: Place,
    ) -> Value {
        let key = args.positional.first().map(|arg| arg.value.clone());
        match (&**name, key) {
            ("get", Some(key)) => {
                let key = self.term_of(&key);
                let absent =
                    !unknown && !entries.iter().any(|entry| entry.key == key || !self.terms.is_constant(entry.key));
                if absent {
                    return match args.positional.get(1) {
                        Some(default) => default.value.clone(),
                        None => self.none(),
                    };
                }
                self.dict_item(id, entries, unknown, key)
            }
            ("pop", Some(key)) => {
                let key = self.term_of(&key);
                let value = self.dict_item(id, entries, unknown, key);
                self.mutations += 1;
                if let Kind::Dict { entries, .. } = &mut self.objects[id.0 as usize].kind {
                    entries.retain(|entry| entry.key != key);
                }
                value
            }
            ("setdefault", Some(key_value)) => {
                let key = self.term_of(&key_value);
                if entries.iter().any(|entry| entry.key == key) {
                    return self.dict_item(id, entries, unknown, key);
                }
                let value = args.positional.get(1).map(|arg| arg.value.clone()).unwrap_or_default();
                if unknown {
                    return self.dict_item(id, entries, unknown, key);
                }
                let guard = self.pc;
                if let Kind::Dict { entries, .. } = &mut self.objects[id.0 as usize].kind {
                    entries.push(Entry { key, key_value, guard, value: value.clone() });
                }
                value
            }
            ("items" | "keys" | "values", _) if !unknown => {
                let items = entries
                    .iter()
                    .map(|entry| {
                        let value = match &**name {
                            "keys" => entry.key_value.clone(),
                            "values" => entry.value.clone(),
                            _ => Value::of(Val::Tuple([entry.key_value.clone(), entry.value.clone()].into())),
                        };
                        Item { guard: entry.guard, value }
                    })
                    .collect();
                let kind = Kind::List { items, unknown: false };
                Value::of(Val::Object(self.allocate(kind, "<view>", Some(place))))
            }
            ("copy", _) => {
                let kind = Kind::Dict { entries: entries.to_vec(), unknown };
                Value::of(Val::Object(self.allocate(kind, "<dict>", Some(place))))
            }
            ("update", other) => {
                self.mutations += 1;
                let guard = if self.guards.without(self.alive, self.pc).is_false() { Guard::TRUE } else { self.pc };
                let mut added: Vec<Entry> = Vec::new();
                let mut more = false;
                if let Some(other) = other {
                    match self.entries_of(&other) {
                        Some((entries, unknown)) => {
                            added = entries;
                            more = unknown;
                        }
                        None => more = true,
                    }
                }
                for (name, arg) in &args.keywords {
                    let key = self.terms.intern(Term::Text(name.clone()));
                    added.push(Entry {
                        key,
                        key_value: Value::term(key),
                        guard: Guard::TRUE,
                        value: arg.value.clone(),
                    });
                }
                if more {
                    self.havoc(&Value::of(Val::Object(id)));
                }
                for mut entry in added {
                    entry.guard = self.guards.and(entry.guard, guard);
                    if let Kind::Dict { entries, .. } = &mut self.objects[id.0 as usize].kind {
                        if entry.guard.is_true() {
                            entries.retain(|old| old.key != entry.key);
                        }
                        entries.push(entry);
                    }
                }
                self.none()
            }
            ("clear", _) => {
                if let Kind::Dict { entries, .. } = &mut self.objects[id.0 as usize].kind {
                    entries.clear();
                }
                self.none()
            }
            _ => self.opaque(name.clone(), Some(place)),
        }
    }

    /// Attributes of keys: what JAX computes at once runs here, methods wait for their call.
    pub(super) fn key_attribute(&mut self, frame: &mut Frame<'p>, val: &Val, name: &Name, place: Place) -> Value {
        let path: Name = format!("{ARRAY}.{name}").into();
        let is_property = matches!(
            &**name,
            "T" | "mT" | "shape" | "ndim" | "size" | "dtype" | "real" | "imag" | "flat" | "itemsize" | "nbytes"
        );
        if matches!(&**name, "shape" | "ndim" | "size" | "dtype") {
            let term: TermId = match self.evident_key(val) {
                Some(key) => key.term,
                None => self.term_of_val(val),
            };
            return Value::term(self.terms.intern(Term::Attribute(term, name.clone(), 0)));
        }
        if is_property
            && let Some(callable) = self.program.models.callable(&path)
            && callable.exact
        {
            let args = Args::positional(vec![Value::of(val.clone())]);
            return self.apply_model(frame, callable, &path, args, place);
        }
        Value::of(Val::UnknownMethod(std::rc::Rc::new((Value::of(val.clone()), name.clone()))))
    }

    /// Entering a context manager.
    pub(super) fn enter(&mut self, frame: &mut Frame<'p>, manager: &Value, op: &'p crate::ir::Op) -> Value {
        let place = self.place(frame, op.span);
        let manager = self.possible(manager);
        self.on_alternatives(&manager, |this, val| {
            let dunder: Name = "__enter__".into();
            if let Some(method) = this.instance_method(val, &dunder) {
                return this.call_value(frame, &method, Args::default(), Some(place));
            }
            // A generator under `contextmanager` gives what it yields first.
            if let Val::Object(id) = val
                && matches!(this.objects[id.0 as usize].kind, Kind::Iterator(Source::Generator(_), _))
            {
                return this.next_of(frame, &Value::of(val.clone()), place.span);
            }
            Value::of(val.clone())
        })
    }
}
