//! `tree_at(where, tree, replace)`: a copy of a tree in which the parts that `where` selects are replaced.
//!
//! **Invariant:** a field that `where` may select is replaced or unknown; if `where` is not a plain selection, so is the whole result.

use crate::analysis::domain::value::{Val, Value};
use crate::analysis::machine::{Frame, Machine};
use crate::analysis::store::args::{Arg, Args};
use crate::finding::Place;
use crate::ir::{Collection, Element, Function, Name, OpKind, Temp, Variable};
use crate::models::Callable;

/// A field of a tree that holds a selected part.
struct Selected {
    field: Name,
    /// Whether the part is the field itself.
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
    let given = args.of(callable, "replace").map(|arg| arg.value.clone());
    let selected = match args.of(callable, "where").and_then(|arg| arg.value.single()) {
        Some(Val::Function(closure)) => selected_by(machine.module(closure.module).function(closure.function)),
        _ => None,
    };
    let Some(selected) = selected else { return machine.state.terms.opaque("<replaced>", Some(place)) };
    let parts: Option<Vec<Value>> = match (&selected[..], given.as_ref().and_then(Value::single)) {
        ([_], _) => given.map(|value| vec![value]),
        (_, Some(Val::Tuple(parts))) if parts.len() == selected.len() => Some(parts.to_vec()),
        _ => None,
    };
    let replace = args.of(callable, "replace_fn").map(|arg| arg.value.clone());
    let mut replaced = Args::default();
    for (index, Selected { field, is_whole }) in selected.into_iter().enumerate() {
        let part = match (&parts, &replace) {
            (Some(parts), _) => Some(parts[index].clone()),
            (None, Some(replace)) => {
                let old = machine.state.terms.opaque(field.clone(), Some(place));
                Some(machine.call_value(frame, replace, Args::positional(vec![old]), Some(place)))
            }
            (None, None) => None,
        };
        let value = part.filter(|_| is_whole).unwrap_or_else(|| machine.state.terms.opaque(field.clone(), Some(place)));
        replaced.keywords.push((field, Arg { value, written: None }));
    }
    machine.state.replaced(&tree, &replaced, place)
}

/// The fields that a selection reads from its tree: `lambda t: t.key`, `lambda t: (t.key, t.layers[0].weight)`.
fn selected_by(code: &Function) -> Option<Vec<Selected>> {
    let mut returned = code.ops.iter().filter_map(|op| match op.kind {
        OpKind::Return(value) => Some(value),
        _ => None,
    });
    let (Some(Some(value)), None) = (returned.next(), returned.next()) else { return None };
    let parts = match &code.ops[value as usize].kind {
        OpKind::Build(Collection::Tuple | Collection::List, elements) => elements.iter().map(element).collect(),
        _ => Some(vec![value]),
    };
    parts?.into_iter().map(|part| field_of(code, part)).collect()
}

fn element(element: &Element) -> Option<Temp> {
    match element {
        Element::Value(part) => Some(*part),
        _ => None,
    }
}

/// The field of the only parameter from which a value is read.
fn field_of(code: &Function, part: Temp) -> Option<Selected> {
    let mut at = part;
    loop {
        // Operands come before the operations that read them, so this ends.
        let (of, name) = match &code.ops[at as usize].kind {
            OpKind::Attribute(of, name) => (*of, Some(name)),
            OpKind::Item(of, _) => (*of, None),
            _ => return None,
        };
        if matches!(code.ops[of as usize].kind, OpKind::Load(Variable::Local(0))) {
            return name.map(|name| Selected { field: name.clone(), is_whole: at == part });
        }
        at = of;
    }
}
