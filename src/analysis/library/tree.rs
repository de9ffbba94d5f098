//! Trees: `tree.map`, leaves, flatten.
//!
//! **Invariant:** a tree of known shape is walked leaf by leaf; one of unknown shape represents at least two leaves.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::KeyKind;
use crate::analysis::domain::size::Walk;
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Elements, ObjectId, Val, Value};
use crate::analysis::library::{shape, transform};
use crate::analysis::machine::{Frame, Machine, arrays};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{Entry, Item, ObjectKind};
use crate::analysis::store::{State, evidence, items, paths};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{Callable, TreeOp};

/// Deepest tree that is walked leaf by leaf.
pub const DEPTH: u32 = 6;

/// Deepest tree that is sliced.
pub const NESTED: u32 = 32;

/// The operation on corresponding leaves; the flag tells whether they may stand for many.
pub type EachLeaf<'a, 'p> = dyn FnMut(&mut Machine<'p>, &mut Frame<'p>, &[Value], bool) -> Value + 'a;

/// `tree.map(function, first, *rest)`
pub fn run_tree_map<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    function: &Value,
    trees: &[Value],
    leading: usize,
    place: Place,
) -> Value {
    let run = match function.single() {
        Some(Val::Function(closure)) => Some((closure.module, closure.function)),
        _ => None,
    };
    machine.recorder.map_tree(place, run);
    let (instance, outer) = machine.begin_loop();
    let mut copy = 0;
    let (mut walk, mut slices) = (Walk::to(DEPTH), Walk::to(NESTED));
    let result = map_leaves(machine, frame, trees, &mut walk, &mut |this, frame, leaves, more| {
        let mut result = Value::unbound();
        let mut is_one = true;
        // A leaf of unknown shape may be many.
        for leaf in 0..=u32::from(more) {
            this.begin_copy(instance, copy, place, outer.clone());
            copy += 1;
            let mut values: Vec<Value> = (0..leading).map(|_| this.state.terms.opaque("<path>", Some(place))).collect();
            values.extend(if more {
                let index = this.state.terms.int(i128::from(copy));
                leaves.iter().map(|leaf| transform::slice_within(this, leaf, index, &mut slices)).collect::<Vec<_>>()
            } else {
                leaves.to_vec()
            });
            let mapped = this.call_value(frame, function, Args::positional(values), Some(place));
            is_one &= leaf == 0 || mapped == result;
            result = mapped;
        }
        match result.single() {
            _ if !more => result,
            // `tree.map(lambda _: key, params)`
            Some(Val::Key(key)) if is_one => {
                let (kind, derivation) = (key.kind, key.derivation);
                Value::array(kind, derivation, None, Elements::Copies(Arc::new(result)))
            }
            Some(Val::Term(term)) if is_one && evidence::may_be_key(&this.state.terms, *term) => {
                Value::array(KeyKind::Unknown, 0, None, Elements::Copies(Arc::new(result)))
            }
            _ => this.state.terms.opaque("<mapped tree>", Some(place)),
        }
    });
    machine.end_loop(outer);
    result
}

/// An array function that rearranges each leaf of its first argument.
pub fn shape_leaves<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    callable: &'p Callable,
    args: &Args,
    path: &Name,
    place: Place,
) -> Value {
    let tree = callable.params.first().and_then(|param| args.of(callable, &param.name));
    let tree = tree.map(|arg| arg.value.clone()).unwrap_or_default();
    map_leaves(machine, frame, &[tree], &mut Walk::to(DEPTH), &mut |this, frame, leaves, _| {
        shape::shape_op(this, frame, callable, &Args::positional(leaves.to_vec()), path, place)
    })
}

/// Walks trees of one shape together.
pub fn map_leaves<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    trees: &[Value],
    walk: &mut Walk,
    each: &mut EachLeaf<'_, 'p>,
) -> Value {
    let first = match trees {
        [only] if only.alternatives().len() > 1 => {
            let only = machine.state.possible(only);
            return paths::on_alternatives(machine, &only, |this, val| {
                map_leaves(this, frame, &[Value::of(val.clone())], walk, each)
            });
        }
        _ => trees.first().and_then(Value::single).cloned(),
    };
    let Some(first) = first else {
        return each(machine, frame, trees, true);
    };
    if !walk.down() {
        return if walk.is_over() {
            machine.state.terms.opaque("<mapped tree>", None)
        } else {
            each(machine, frame, trees, true)
        };
    }
    let mapped = map_parts(machine, frame, &first, trees, walk, each);
    walk.back();
    mapped
}

/// Walks trees of one shape together, part by part.
fn map_parts<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    first: &Val,
    trees: &[Value],
    walk: &mut Walk,
    each: &mut EachLeaf<'_, 'p>,
) -> Value {
    match first {
        Val::Tuple(parts) => {
            let parts: Vec<Value> = (0..parts.len())
                .map(|index| {
                    let column: Vec<Value> = trees.iter().map(|tree| tree_part(machine, tree, index)).collect();
                    map_leaves(machine, frame, &column, walk, each)
                })
                .collect();
            Value::of(Val::Tuple(parts.into()))
        }
        Val::Object(id) => match machine.state.store.objects[id.0 as usize].kind.clone() {
            ObjectKind::List { items, unknown: false } => {
                let items: Vec<Item> = items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| {
                        let column: Vec<Value> = trees.iter().map(|tree| tree_part(machine, tree, index)).collect();
                        Item { guard: item.guard, value: map_leaves(machine, frame, &column, walk, each) }
                    })
                    .collect();
                let kind = ObjectKind::List { items, unknown: false };
                Value::of(Val::Object(machine.state.allocate(kind, "<tree>", None)))
            }
            ObjectKind::Dict { entries, unknown: false } => {
                let entries: Vec<Entry> = entries
                    .iter()
                    .map(|entry| {
                        let column: Vec<Value> =
                            trees.iter().map(|tree| named_part(&mut machine.state, tree, entry.key)).collect();
                        Entry { value: map_leaves(machine, frame, &column, walk, each), ..entry.clone() }
                    })
                    .collect();
                let kind = ObjectKind::Dict { entries, unknown: false };
                Value::of(Val::Object(machine.state.allocate(kind, "<tree>", None)))
            }
            ObjectKind::Instance if is_keyed_record(machine, *id) => map_record(machine, frame, *id, trees, walk, each),
            _ => each(machine, frame, trees, true),
        },
        Val::Key(_) | Val::Array(_) => each(machine, frame, trees, false),
        _ if trees.iter().any(|tree| copied(tree).is_some()) => {
            if !matches!(first, Val::Term(term) if machine.state.terms.is_constant(*term)) {
                return each(machine, frame, trees, true);
            }
            let leaves: Vec<Value> = trees.iter().map(|tree| copied(tree).unwrap_or(tree).clone()).collect();
            each(machine, frame, &leaves, false)
        }
        Val::Term(term) if machine.state.terms.is_constant(*term) => each(machine, frame, trees, false),
        Val::Term(term)
            if matches!(
                machine.state.terms.get(*term),
                Term::Apply(name, _) if name.starts_with("jax.numpy")
            ) =>
        {
            each(machine, frame, trees, false)
        }
        _ => each(machine, frame, trees, true),
    }
}

/// Whether an object is a record all of whose fields are known, and that holds keys. Others are not worth the work.
pub fn is_keyed_record(machine: &mut Machine<'_>, id: ObjectId) -> bool {
    !machine.state.store.objects[id.0 as usize].open
        && machine.state.is_record(id)
        && holds_key(machine, &Value::of(Val::Object(id)), &mut Walk::to(DEPTH))
}

/// Whether a tree holds keys, or arrays of what may be one.
fn holds_key(machine: &Machine<'_>, tree: &Value, walk: &mut Walk) -> bool {
    if !walk.down() {
        return false;
    }
    let holds = tree.alternatives().iter().any(|alternative| match &alternative.val {
        Val::Key(_) | Val::Array(_) => true,
        Val::Term(term) => machine.recorder.is_known_key(*term),
        Val::Tuple(parts) => parts.iter().any(|part| holds_key(machine, part, walk)),
        Val::Object(id) => {
            let object = &machine.state.store.objects[id.0 as usize];
            object
                .kind
                .held()
                .map(|(_, value)| value)
                .chain(object.attributes.values())
                .any(|part| holds_key(machine, part, walk))
        }
        _ => false,
    });
    walk.back();
    holds
}

/// Walks records of one class together, field by field.
fn map_record<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    id: ObjectId,
    trees: &[Value],
    walk: &mut Walk,
    each: &mut EachLeaf<'_, 'p>,
) -> Value {
    let fields = machine.state.store.objects[id.0 as usize].attributes.clone();
    let mut mapped = BTreeMap::new();
    for (name, value) in fields {
        let value = if is_static(&machine.state, &value) {
            value
        } else {
            let column: Vec<Value> = trees.iter().map(|tree| field_of(&mut machine.state, tree, &name)).collect();
            map_leaves(machine, frame, &column, walk, each)
        };
        mapped.insert(name, value);
    }
    let whole = machine.state.terms.opaque("<tree>", None);
    let whole = machine.state.term_of(&whole);
    with_fields(&mut machine.state, id, mapped, whole)
}

/// A record of the class of another, with these fields.
pub fn with_fields(state: &mut State, id: ObjectId, fields: BTreeMap<Name, Value>, whole: TermId) -> Value {
    let (class, open, items) = {
        let object = &state.store.objects[id.0 as usize];
        (object.class, object.open, object.items.clone())
    };
    let copy = state.allocate_with(ObjectKind::Instance, whole, class, open);
    let object = &mut state.store.objects[copy.0 as usize];
    (object.attributes, object.items) = (fields, items);
    Value::of(Val::Object(copy))
}

/// Whether a field of a record holds no arrays: functions, settings.
pub fn is_static(state: &State, value: &Value) -> bool {
    match value.single() {
        Some(
            Val::Function(_) | Val::Class(_) | Val::Module(_) | Val::Method(_) | Val::Partial(_) | Val::Wrapped(_),
        ) => true,
        Some(Val::Term(term)) => {
            matches!(state.terms.get(*term), Term::Text(_) | Term::None | Term::Bool(_))
        }
        _ => false,
    }
}

/// The field of a record; for a tree with one key at every leaf, such a tree.
fn field_of(state: &mut State, tree: &Value, name: &Name) -> Value {
    if copied(tree).is_some() {
        return tree.clone();
    }
    if let Some(Val::Object(id)) = tree.single()
        && let Some(value) = state.store.objects[id.0 as usize].attributes.get(name)
    {
        return value.clone();
    }
    let term = state.term_of(tree);
    Value::term(state.terms.intern(Term::Attribute(term, name.clone(), 0)))
}

/// The key that an array consists of copies of.
fn copied(tree: &Value) -> Option<&Value> {
    match tree.single() {
        Some(Val::Array(array)) => match &array.elements {
            Elements::Copies(key) => Some(key),
            _ => None,
        },
        _ => None,
    }
}

/// The part of a tree under a name; for a tree with one key at every leaf, such a tree.
fn named_part(state: &mut State, tree: &Value, name: TermId) -> Value {
    if copied(tree).is_some() { tree.clone() } else { items::item_by_term(state, tree, name) }
}

/// The key that all leaves in a list are equal to.
fn only_leaf(state: &State, leaves: &Value) -> Option<Value> {
    let Some(Val::Object(list)) = leaves.single() else { return None };
    let ObjectKind::List { items, unknown: false } = &state.store.objects[list.0 as usize].kind else { return None };
    let (first, others) = items.split_first()?;
    let is_key = match first.value.single()? {
        Val::Key(_) => true,
        Val::Term(term) => evidence::may_be_key(&state.terms, *term),
        _ => false,
    };
    let is_only = !others.is_empty() && others.iter().all(|other| other.value == first.value);
    (is_key && is_only).then(|| first.value.clone())
}

fn tree_part(machine: &mut Machine<'_>, tree: &Value, index: usize) -> Value {
    if copied(tree).is_some() {
        return tree.clone();
    }
    match tree.single() {
        Some(Val::Tuple(parts)) => parts.get(index).cloned().unwrap_or_default(),
        Some(Val::Object(id)) => match &machine.state.store.objects[id.0 as usize].kind {
            ObjectKind::List { items, .. } => items.get(index).map(|item| item.value.clone()).unwrap_or_default(),
            _ => machine.state.terms.opaque("<part>", None),
        },
        Some(Val::Array(array)) => {
            let array = array.clone();
            let index = machine.state.terms.int(i128::try_from(index).unwrap_or(0));
            arrays::array_element(machine, &array, index)
        }
        _ => {
            let term = machine.state.term_of(tree);
            let index = machine.state.terms.int(i128::try_from(index).unwrap_or(0));
            Value::term(machine.state.terms.intern(Term::Item(term, index, 0)))
        }
    }
}

/// Element `index` of every array in an object.
pub fn slice_object(machine: &mut Machine<'_>, id: ObjectId, index: TermId, walk: &mut Walk) -> Value {
    let kind = match machine.state.store.objects[id.0 as usize].kind.clone() {
        ObjectKind::Dict { entries, unknown } => {
            let entries = entries
                .into_iter()
                .map(|entry| Entry { value: transform::slice_within(machine, &entry.value, index, walk), ..entry })
                .collect();
            ObjectKind::Dict { entries, unknown }
        }
        ObjectKind::List { items, unknown } => {
            let items = items
                .into_iter()
                .map(|item| Item {
                    guard: item.guard,
                    value: transform::slice_within(machine, &item.value, index, walk),
                })
                .collect();
            ObjectKind::List { items, unknown }
        }
        ObjectKind::Instance if machine.state.is_record(id) => {
            let object = machine.state.store.objects[id.0 as usize].clone();
            let copy = machine.state.allocate_with(ObjectKind::Instance, object.symbol, object.class, object.open);
            let whole = machine.state.terms.intern(Term::Item(object.symbol, index, object.epoch));
            let attributes = object
                .attributes
                .into_iter()
                .map(|(name, value)| (name, transform::slice_within(machine, &value, index, walk)));
            let attributes = attributes.collect();
            let target = &mut machine.state.store.objects[copy.0 as usize];
            (target.attributes, target.items, target.symbol) = (attributes, object.items, whole);
            return Value::of(Val::Object(copy));
        }
        _ => {
            let term = machine.state.term_of_val(&Val::Object(id));
            let item = machine.state.terms.intern(Term::Item(term, index, 0));
            return Value::term(item);
        }
    };
    Value::of(Val::Object(machine.state.allocate(kind, "<slice>", None)))
}

fn leaves_of(state: &mut State, value: &Value, leaves: &mut Vec<Item>, walk: &mut Walk) -> bool {
    if !walk.down() {
        return false;
    }
    let is_known = match value.single().cloned() {
        Some(Val::Tuple(parts)) => parts.iter().all(|part| leaves_of(state, part, leaves, walk)),
        Some(Val::Object(id)) => match state.store.objects[id.0 as usize].kind.clone() {
            ObjectKind::List { items, unknown: false } => {
                items.iter().all(|item| leaves_of(state, &item.value, leaves, walk))
            }
            ObjectKind::Dict { mut entries, unknown: false } => {
                // JAX orders the leaves of a dict by key.
                entries.sort_by_key(|entry| state.terms.describe(entry.key));
                entries.iter().all(|entry| leaves_of(state, &entry.value, leaves, walk))
            }
            _ => false,
        },
        Some(Val::Term(term)) if state.terms.get(term) == &Term::None => true,
        Some(Val::Key(_) | Val::Array(_)) => {
            leaves.push(Item { guard: Guard::TRUE, value: value.clone() });
            true
        }
        Some(Val::Term(term)) if state.terms.is_constant(term) || matches!(state.terms.get(term), Term::Apply(..)) => {
            leaves.push(Item { guard: Guard::TRUE, value: value.clone() });
            true
        }
        _ => false,
    };
    walk.back();
    is_known
}

/// Flattening trees and building them.
pub fn tree(state: &mut State, op: TreeOp, callable: &Callable, of: &str, args: &Args, place: Place) -> Value {
    let tree = args.of(callable, of).map(|arg| arg.value.clone()).unwrap_or_default();
    let mut leaves = Vec::new();
    let known = leaves_of(state, &tree, &mut leaves, &mut Walk::to(DEPTH));
    let term = state.term_of(&tree);
    let list = |this: &mut State, leaves: Vec<Item>| {
        if known {
            let kind = ObjectKind::List { items: leaves, unknown: false };
            Value::of(Val::Object(this.allocate(kind, "<leaves>", Some(place))))
        } else {
            let name = "jax.tree.leaves".into();
            Value::term(this.terms.intern(Term::Apply(name, Box::new([term]))))
        }
    };
    match op {
        TreeOp::Leaves => list(state, leaves),
        TreeOp::Flatten => {
            let leaves = list(state, leaves);
            let structure = state.terms.opaque("<structure>", Some(place));
            Value::of(Val::Tuple([leaves, structure].into()))
        }
        TreeOp::Transpose | TreeOp::Combine => tree,
        TreeOp::Partition => Value::of(Val::Tuple([tree.clone(), tree].into())),
        // A tree of one key at every leaf.
        TreeOp::Unflatten if copied(&tree).is_some() => tree,
        TreeOp::Unflatten if let Some(key) = only_leaf(state, &tree) => {
            Value::array(KeyKind::Unknown, 0, None, Elements::Copies(Arc::new(key)))
        }
        TreeOp::Unflatten
        | TreeOp::Structure
        | TreeOp::LeavesWithPath
        | TreeOp::FlattenWithPath
        | TreeOp::All
        | TreeOp::At
        | TreeOp::Quiet => state.terms.opaque("<tree>", Some(place)),
    }
}
