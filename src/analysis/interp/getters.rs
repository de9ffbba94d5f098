//! Functions that take something out of what they are given: `operator.itemgetter` and `operator.attrgetter`.
//!
//! **Invariant:** a getter gives what a subscript or an attribute written in its place would give.

use std::rc::Rc;

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Partial, Val, Value};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::BuiltinOp;

use super::bind::Args;
use super::{Frame, Machine};

/// Marks of the two.
const ITEMS: &str = "<items>";
const ATTRIBUTES: &str = "<attributes>";

impl<'p> Machine<'p> {
    /// `itemgetter("a", "b")`
    pub(super) fn getter(&mut self, op: BuiltinOp, args: &Args, place: Place) -> Value {
        if args.positional.is_empty() || !args.spread.is_empty() {
            return self.opaque("<getter>", Some(place));
        }
        let mark = if op == BuiltinOp::Itemgetter { ITEMS } else { ATTRIBUTES };
        let none = self.none();
        Value::of(Val::Partial(Rc::new(Partial {
            function: Value::unbound(),
            positional: args.positional.iter().map(|arg| arg.value.clone()).collect(),
            keywords: vec![(mark.into(), none)],
        })))
    }

    /// Whether a partial is a getter.
    pub(super) fn is_getter(partial: &Partial) -> bool {
        partial.keywords.first().is_some_and(|(mark, _)| matches!(&**mark, ITEMS | ATTRIBUTES))
    }

    /// A call of a getter.
    pub(super) fn got(&mut self, frame: &mut Frame<'p>, partial: &Partial, args: &Args, place: Place) -> Value {
        let [of] = args.positional.as_slice() else { return self.opaque("<got>", Some(place)) };
        let of = self.possible(&of.value);
        let is_item = partial.keywords.first().is_some_and(|(mark, _)| &**mark == ITEMS);
        let mut parts: Vec<Value> = Vec::new();
        for name in &partial.positional {
            let name = self.term_of(name);
            parts.push(if is_item {
                self.got_item(&of, name, place)
            } else {
                self.got_attribute(frame, &of, name, place)
            });
        }
        match parts.as_slice() {
            [only] => only.clone(),
            _ => Value::of(Val::Tuple(parts.into())),
        }
    }

    fn got_item(&mut self, of: &Value, index: TermId, place: Place) -> Value {
        self.on_alternatives(of, |this, val| match val {
            Val::Tuple(parts) => {
                let position = this.terms.as_int(index).and_then(|index| usize::try_from(index).ok());
                position.and_then(|at| parts.get(at).cloned()).unwrap_or_else(|| this.opaque("<got>", Some(place)))
            }
            Val::Array(array) => this.array_element(&array.clone(), index),
            Val::Term(term) => {
                let term = *term;
                let epoch = this.epoch_of(term);
                match this.shadow_item(term, index) {
                    Some(value) => value,
                    None => Value::term(this.terms.intern(Term::Item(term, index, epoch))),
                }
            }
            Val::Object(_) => this.item_by_term(&Value::of(val.clone()), index),
            _ => this.opaque("<got>", Some(place)),
        })
    }

    fn got_attribute(&mut self, frame: &mut Frame<'p>, of: &Value, path: TermId, place: Place) -> Value {
        let Term::Text(path) = self.terms.get(path).clone() else { return self.opaque("<got>", Some(place)) };
        let mut value = of.clone();
        for name in path.split('.') {
            let name: Name = name.into();
            value = self.on_alternatives(&value, |this, val| this.attribute_of_val(frame, val, &name, place));
        }
        value
    }
}
