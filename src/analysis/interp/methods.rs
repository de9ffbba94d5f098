//! Methods of what is known by its kind only: keys and arrays of them, texts, streams, transformed functions.
//!
//! **Invariant:** what no kind knows is left to protocols; a method that a model describes does what the model says.

use crate::analysis::domain::claim::TEXT_METHODS;
use crate::analysis::domain::kinds::{BufferOp, KeyKind};
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::heap::{Kind, Source};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{ARRAY, Yield};

use super::bind::Args;
use super::{Frame, Machine};

impl<'p> Machine<'p> {
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
            Val::Object(id) => match self.store.objects[id.0 as usize].kind.clone() {
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
                                self.context.replays.insert((closure.module, closure.function));
                                self.context.pending.remove(&closure.identity);
                            }
                        }
                    }
                    self.none()
                }
                "lower" | "trace" | "eval_shape" => {
                    self.transforms.abstract_depth += 1;
                    self.call_value(frame, &receiver, args, Some(place));
                    self.transforms.abstract_depth -= 1;
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
                && matches!(this.store.objects[id.0 as usize].kind, Kind::Iterator(Source::Generator(_), _))
            {
                return this.next_of(frame, &Value::of(val.clone()), place.span);
            }
            Value::of(val.clone())
        })
    }
}
