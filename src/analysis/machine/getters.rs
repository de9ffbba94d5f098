//! Functions that extract something from their argument: `operator.itemgetter` and `operator.attrgetter`.
//!
//! **Invariant:** a getter returns what a subscript or an attribute in its place would return.

use std::sync::Arc;

use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::analysis::domain::value::{Partial, PartialKind, Val, Value};
use crate::analysis::machine::{Frame, Machine, arrays};
use crate::analysis::store::args::Args;
use crate::analysis::store::{items, paths};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::BuiltinOp;

/// `itemgetter("a", "b")`
pub fn getter(terms: &mut Terms, op: BuiltinOp, args: &Args, place: Place) -> Value {
    if args.positional.is_empty() || !args.spread.is_empty() {
        return terms.opaque("<getter>", Some(place));
    }
    let kind = if op == BuiltinOp::Itemgetter { PartialKind::Items } else { PartialKind::Attributes };
    let positional = args.positional.iter().map(|arg| arg.value.clone()).collect();
    Value::of(Val::Partial(Arc::new(Partial { positional, ..Partial::of(kind, Value::unbound()) })))
}

/// A call of a getter.
pub fn got<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    partial: &Partial,
    args: &Args,
    place: Place,
) -> Value {
    let [of] = args.positional.as_slice() else { return machine.state.terms.opaque("<got>", Some(place)) };
    let of = machine.state.possible(&of.value);
    let is_item = partial.kind == PartialKind::Items;
    let mut parts: Vec<Value> = Vec::new();
    for name in &partial.positional {
        let name = machine.state.term_of(name);
        parts.push(if is_item {
            get_items(machine, &of, name, place)
        } else {
            get_attributes(machine, frame, &of, name, place)
        });
    }
    match parts.as_slice() {
        [only] => only.clone(),
        _ => Value::of(Val::Tuple(parts.into())),
    }
}

fn get_items(machine: &mut Machine<'_>, of: &Value, index: TermId, place: Place) -> Value {
    paths::on_alternatives(machine, of, |this, val| match val {
        Val::Tuple(parts) => {
            let position = this.state.terms.as_int(index).and_then(|index| usize::try_from(index).ok());
            position
                .and_then(|at| parts.get(at).cloned())
                .unwrap_or_else(|| this.state.terms.opaque("<got>", Some(place)))
        }
        Val::Array(array) => arrays::array_element(this, &array.clone(), index),
        Val::Term(term) => {
            let term = *term;
            let epoch = this.state.epoch_of(term);
            match this.state.shadow_item(term, index) {
                Some(value) => value,
                None => Value::term(this.state.terms.intern(Term::Item(term, index, epoch))),
            }
        }
        Val::Object(_) => items::item_by_term(&mut this.state, &Value::of(val.clone()), index),
        _ => this.state.terms.opaque("<got>", Some(place)),
    })
}

fn get_attributes<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    of: &Value,
    path: TermId,
    place: Place,
) -> Value {
    let Term::Text(path) = machine.state.terms.get(path).clone() else {
        return machine.state.terms.opaque("<got>", Some(place));
    };
    let mut value = of.clone();
    for name in path.split('.') {
        let name: Name = name.into();
        value = paths::on_alternatives(machine, &value, |this, val| this.attribute_of_val(frame, val, &name, place));
    }
    value
}
