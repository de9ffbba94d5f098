//! Methods of which protocols say what they do with keys: those of libraries, on objects of unknown class.
//!
//! **Invariant:** a method of something from outside consumes a key only if a protocol says so, and either the file uses the library
//! or what is handed over is known to be a key or called one.

use crate::analysis::domain::kinds::Role;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::heap::Kind;
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{Protocol, ProtocolEffect};

use super::bind::{Arg, Args};
use super::{Frame, Machine};

/// Operations that a method which a library runs may take.
const RUN_FUEL: u32 = 6_000;

impl<'p> Machine<'p> {
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
                let result =
                    self.unresolved(frame, &args, place, Some(&(receiver.clone(), name.clone())), written, Some(val));
                self.note_changed(val, name, &args);
                if let ("items" | "keys" | "values", [], Val::Term(of), Some(Val::Term(term))) =
                    (&**name, args.positional.as_slice(), val, result.single())
                {
                    let lengths = [Some(self.length_of_term(*of))];
                    self.store.axis_lengths.insert(*term, lengths.into());
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
        let Kind::Dict { entries, unknown: false } = &self.store.objects[id.0 as usize].kind else { return whole() };
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
        let (pc, alive, fuel) = (self.paths.pc, self.paths.alive, self.budget.fuel);
        self.budget.fuel = fuel.min(RUN_FUEL);
        let given_fuel = self.budget.fuel;
        self.call_value(frame, &bound, given, Some(place));
        self.budget.fuel = fuel - (given_fuel - self.budget.fuel);
        (self.paths.pc, self.paths.alive) = (pc, alive);
        true
    }

    /// Whether an object was made by one of these libraries, or is an instance of a class based on theirs.
    pub(super) fn is_of_library(&self, val: &Val, libraries: &[String]) -> bool {
        let of = |path: &str| {
            let root = path.split('.').next().unwrap_or_default();
            libraries.iter().any(|library| library == root)
        };
        match val {
            Val::Object(id) => self.store.objects[id.0 as usize].class.is_some_and(|class| {
                self.lineage(class).iter().any(|class| {
                    self.store.classes[class.0 as usize]
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
                    self.recorder.log.scalar_keys.insert(*term);
                }
                Val::Object(id) => {
                    if let Kind::Dict { entries, .. } = self.store.objects[id.0 as usize].kind.clone() {
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

    /// Whether a value is, or holds, something known to be a key.
    pub(super) fn holds_key(&mut self, value: &Value) -> bool {
        value.alternatives().to_vec().iter().any(|alternative| match &alternative.val {
            Val::Key(_) => true,
            Val::Array(array) => self.is_evident(array),
            Val::Term(term) => {
                self.recorder.log.declared.contains(term) || self.recorder.log.scalar_keys.contains(term)
            }
            Val::Tuple(parts) => parts.clone().iter().any(|part| self.holds_key(part)),
            Val::Object(id) => match self.store.objects[id.0 as usize].kind.clone() {
                Kind::Dict { entries, .. } => entries.iter().any(|entry| self.holds_key(&entry.value)),
                Kind::List { items, .. } => items.iter().any(|item| self.holds_key(&item.value)),
                _ => false,
            },
            _ => false,
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
}
