//! `tree_at(where, tree, replace)`: a copy of a tree in which the parts that `where` selects are replaced.
//!
//! **Invariant:** a field that `where` may select is replaced or unknown; if `where` is not a plain selection, all fields of the result are
//! unknown.

use crate::analysis::domain::term::Symbol;
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::machine::{Frame, Machine};
use crate::analysis::store::args::{Arg, Args};
use crate::analysis::store::heap::ObjectKind;
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::{Collection, Element, Function, Name, OpKind, ParameterKind, Temp, Variable};
use crate::models::Callable;

/// What a selection reads from its tree.
struct Selection {
    parts: Vec<Part>,
    /// Whether it returns the parts in a sequence.
    is_sequence: bool,
}

/// A part of a tree.
struct Part {
    /// The fields on the way to it, from the tree on.
    fields: Vec<Name>,
    /// Whether it is the last of them itself, and not within it.
    is_whole: bool,
}

/// The result of `tree_at`.
pub fn tree_at<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    callable: &Callable,
    of: &str,
    args: &Args,
    place: Place,
) -> Value {
    let tree = args.of(callable, of).map(|arg| arg.value.clone()).unwrap_or_default();
    if is_made_by_library(machine, &tree) {
        return tree;
    }
    let given = args.of(callable, "replace").map(|arg| arg.value.clone());
    let replace = args.of(callable, "replace_fn").map(|arg| arg.value.clone());
    let selection = match args.of(callable, "where").and_then(|arg| arg.value.single()) {
        Some(Val::Function(closure)) => selected_by(machine.module(closure.module).function(closure.function)),
        _ => None,
    };
    let Some(Selection { parts, is_sequence }) = selection else { return with_unknown_fields(machine, &tree, place) };
    let values: Option<Vec<Value>> = match given.as_ref().and_then(Value::single) {
        Some(Val::Tuple(values)) if is_sequence => (values.len() == parts.len()).then(|| values.to_vec()),
        _ if is_sequence => None,
        _ => given.map(|value| vec![value]),
    };
    let mut result = tree;
    for (index, Part { fields, is_whole }) in parts.into_iter().enumerate() {
        let value = match (&values, &replace) {
            (Some(values), _) => Some(values[index].clone()),
            (None, Some(replace)) => {
                let old = machine.state.terms.opaque("<part>", Some(place));
                Some(machine.call_value(frame, replace, Args::positional(vec![old]), Some(place)))
            }
            (None, None) => None,
        };
        let value = value.filter(|_| is_whole).unwrap_or_else(|| machine.state.terms.opaque("<part>", Some(place)));
        result = with_field(&mut machine.state, &result, &fields, value, place);
    }
    result
}

/// Whether a tree is an object of a library, `eqx.nn.Dropout(0.1)`, whose fields are weights and numbers.
fn is_made_by_library(machine: &Machine<'_>, tree: &Value) -> bool {
    let libraries = &machine.state.store.libraries;
    matches!(tree.single(), Some(val @ Val::Term(_)) if machine.state.is_of_library(val, libraries))
}

/// A copy of a tree with another value in a field of a field.
fn with_field(state: &mut State, tree: &Value, fields: &[Name], value: Value, place: Place) -> Value {
    let [field, inner @ ..] = fields else { return value };
    let value = if inner.is_empty() {
        value
    } else {
        let held = field_of(state, tree, field, place);
        with_field(state, &held, inner, value, place)
    };
    let replaced = Args { keywords: vec![(field.clone(), Arg { value, written: None })], ..Args::default() };
    state.replaced(tree, &replaced, place)
}

fn field_of(state: &mut State, tree: &Value, field: &Name, place: Place) -> Value {
    let held = match tree.single() {
        Some(Val::Object(id)) => state.store.objects[id.0 as usize].attributes.get(field).cloned(),
        _ => None,
    };
    held.unwrap_or_else(|| state.terms.opaque(field.clone(), Some(place)))
}

/// A copy of a tree of the same class, all of whose fields may differ.
fn with_unknown_fields(machine: &mut Machine<'_>, tree: &Value, place: Place) -> Value {
    paths::on_alternatives(machine, &tree.clone(), |machine, val| {
        let class = match val {
            Val::Object(id) => machine.state.store.objects[id.0 as usize].class,
            _ => None,
        };
        let Some(class) = class else { return machine.state.terms.opaque("<replaced>", Some(place)) };
        let symbol = machine.state.terms.fresh(Symbol::Opaque, "<replaced>", Some(place));
        Value::of(Val::Object(machine.state.allocate_with(ObjectKind::Instance, symbol, Some(class), true)))
    })
}

/// The parts that a selection reads from its tree: `lambda t: t.key`, `lambda t: (t.key, t.layers[0].weight)`.
fn selected_by(code: &Function) -> Option<Selection> {
    let is_bound = |kind: &OpKind| matches!(kind, OpKind::Store(Variable::Local(0), _));
    let is_plain = matches!(&code.parameters[..], [only] if matches!(only.kind, ParameterKind::Normal | ParameterKind::PositionalOnly));
    if !is_plain || code.ops.iter().any(|op| is_bound(&op.kind)) {
        return None;
    }
    let mut returned = code.ops.iter().filter_map(|op| match op.kind {
        OpKind::Return(value) => Some(value),
        _ => None,
    });
    let (Some(Some(value)), None) = (returned.next(), returned.next()) else { return None };
    let (parts, is_sequence) = match &code.ops[value as usize].kind {
        OpKind::Build(Collection::Tuple | Collection::List, elements) => {
            (elements.iter().map(element).collect::<Option<Vec<Temp>>>()?, true)
        }
        _ => (vec![value], false),
    };
    let parts = parts.into_iter().map(|part| selected(code, part)).collect::<Option<Vec<Part>>>()?;
    Some(Selection { parts, is_sequence })
}

fn element(element: &Element) -> Option<Temp> {
    match element {
        Element::Value(part) => Some(*part),
        _ => None,
    }
}

/// How a value is read from the only parameter. Fields after an item are within that item's field.
fn selected(code: &Function, part: Temp) -> Option<Part> {
    let mut steps = Vec::new();
    let mut at = part;
    // Operands come before the operations that read them, so this ends.
    while !matches!(code.ops[at as usize].kind, OpKind::Load(Variable::Local(0))) {
        let (of, name) = match &code.ops[at as usize].kind {
            OpKind::Attribute(of, name) => (*of, Some(name.clone())),
            OpKind::Item(of, _) => (*of, None),
            _ => return None,
        };
        steps.push(name);
        at = of;
    }
    let count = steps.len();
    let fields: Vec<Name> = steps.into_iter().rev().map_while(|step| step).collect();
    (!fields.is_empty()).then_some(Part { is_whole: fields.len() == count, fields })
}
