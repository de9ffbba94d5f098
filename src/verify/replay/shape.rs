//! Arrays of keys that are concatenated, split and reshaped.
//!
//! **Invariant:** only whole keys are rearranged here; if that is not certain, the result holds no known keys.

use std::rc::Rc;

use super::frame::Eval;
use super::library::{argument, arguments};
use super::machine::Machine;
use super::symbol::Symbol;
use super::value::{Args, KeyArray, KeyKind, Stack, Value};
use crate::arrays;
use crate::models::{Callable, ShapeOp};

/// Most copies of a key, in an array in which each key is several times.
const COPIES: usize = 16;

/// Whether the axes that an operation copies along are those of keys of this kind: raw ones have one more.
fn fits_axes(op: ShapeOp, array: Option<&KeyArray>, args: &Args<'_>) -> bool {
    let axes = args.values().filter_map(|value| match value {
        Value::Tuple(axes) => Some(axes.len()),
        Value::Int(_) if op == ShapeOp::Tile => Some(1),
        _ => None,
    });
    match (array, axes.last().filter(|_| op != ShapeOp::Repeat)) {
        (Some(array), Some(axes)) => match array.kind {
            KeyKind::Typed => axes <= array.keys.shape().len().max(1),
            KeyKind::Raw => axes > array.keys.shape().len().max(1),
            KeyKind::Unknown => true,
        },
        _ => true,
    }
}

/// The lengths of `reshape`, as one argument or several.
fn axes_of<'p>(args: &Args<'p>, callable: &Callable) -> Vec<Value<'p>> {
    let mut parts = arguments(args, callable, "shape");
    if parts.is_empty() {
        parts = arguments(args, callable, "args");
    }
    match &parts[..] {
        [Value::Tuple(values)] => values.to_vec(),
        [Value::List(values)] => values.borrow().clone(),
        _ => parts,
    }
}

/// `keys.reshape(shape)`
fn reshaped<'p>(array: &KeyArray, args: &Args<'p>, callable: &Callable) -> Option<Value<'p>> {
    let shape: Option<Vec<i128>> = axes_of(args, callable).iter().map(Value::int).collect();
    let mut shape = shape.filter(|shape| !shape.is_empty())?;
    if array.kind == KeyKind::Raw {
        // The last axis holds the words, and stays whole or there are no keys any more.
        let width = i128::try_from(array.keys.implementation().width()).ok()?;
        shape.pop().filter(|last| *last == width || *last == -1 && !shape.contains(&-1))?;
    }
    let shape = arrays::reshaped(array.keys.len(), &shape)?;
    Some(array.with(array.keys.clone().reshape(&shape).ok()?))
}

/// Rearranges arrays of keys; `None` where the result holds no known keys.
pub(super) fn rearranged<'p>(
    machine: &mut Machine<'p>,
    op: ShapeOp,
    given: &[Value<'p>],
    args: &Args<'p>,
    callable: &Callable,
) -> Eval<'p, Option<Value<'p>>> {
    let Some(first) = given.first() else { return Ok(None) };
    let array = if let Value::Keys(array) = first { Some(array.clone()) } else { None };
    Ok(match op {
        ShapeOp::Array | ShapeOp::Stack | ShapeOp::Vstack | ShapeOp::Concatenate => match first {
            Value::Unknown(_) if op != ShapeOp::Array => None,
            Value::Keys(_)
            | Value::Family(_)
            | Value::Stack(_)
            | Value::Unknown(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Bool(_) => Some(first.clone()),
            Value::List(_) | Value::Tuple(_) => {
                let items = machine.items_of(first)?.unwrap_or_default();
                let is_number = |item: &Value<'p>| matches!(item, Value::Int(_));
                if op == ShapeOp::Array && !items.is_empty() && items.iter().all(is_number) {
                    return Ok(Some(whole_stack(machine, items)));
                }
                let is_key = |item: &Value<'p>| matches!(item, Value::Keys(_) | Value::Family(_) | Value::Unknown(_));
                let holds = items.iter().any(is_key);
                if !holds {
                    return Ok(None);
                }
                if op == ShapeOp::Concatenate {
                    let mut all = Vec::new();
                    for item in &items {
                        match machine.items_of(item)? {
                            Some(inner) => all.extend(inner),
                            None => return Ok(None),
                        }
                    }
                    return Ok(Some(whole_stack(machine, all)));
                }
                Some(whole_stack(machine, items))
            }
            _ => None,
        },
        ShapeOp::Ravel => array.filter(|array| array.kind != KeyKind::Raw).and_then(|array| {
            let length = array.keys.len();
            Some(array.with(array.keys.clone().reshape(&[length]).ok()?))
        }),
        ShapeOp::Reshape if matches!(first, Value::Family(_)) => kept_shape(machine, first, args, callable),
        ShapeOp::Reshape => array.and_then(|array| reshaped(&array, args, callable)),
        ShapeOp::Repeat | ShapeOp::Tile if is_row_of_keys(first) => several_times(machine, op, first, args, callable),
        ShapeOp::Repeat | ShapeOp::BroadcastTo | ShapeOp::Tile => {
            let fits = fits_axes(op, array.as_deref(), args);
            let copied = match first {
                _ if !fits => None,
                Value::Unknown(_) => Some(first.clone()),
                Value::Keys(array) if array.keys.shape().is_empty() => Some(first.clone()),
                Value::Keys(array) if array.keys.shape().first() == Some(&1) => super::keys::element(array, 0),
                Value::Stack(stack) if stack.is_whole && stack.items.len() == 1 => stack.items.first().cloned(),
                _ => None,
            };
            copied.map(|copied| {
                let rest = machine.symbols.fresh("<copies>");
                Value::Stack(Rc::new(Stack { items: vec![copied; 4], rest, is_whole: false }))
            })
        }
        ShapeOp::Take | ShapeOp::Index => {
            let index = ["indices", "index"].iter().find_map(|name| argument(args, callable, name)).cloned();
            match (first, index) {
                (Value::Keys(_) | Value::Family(_) | Value::Unknown(_) | Value::Stack(_), Some(index)) => {
                    Some(machine.item(first, &index)?)
                }
                _ => None,
            }
        }
        ShapeOp::Slice => match slice_of(machine, args, callable)? {
            Some(slice) if array.is_some() || matches!(first, Value::Family(_)) => Some(machine.item(first, &slice)?),
            _ => None,
        },
        ShapeOp::Squeeze | ShapeOp::Atleast | ShapeOp::ExpandDims if array.is_some() => array.and_then(|array| {
            let mut shape: Vec<usize> = array.keys.shape().to_vec();
            if op == ShapeOp::Squeeze {
                shape.retain(|length| *length != 1);
            } else if op == ShapeOp::ExpandDims || shape.is_empty() {
                shape.insert(0, 1);
            }
            Some(array.with(array.keys.clone().reshape(&shape).ok()?))
        }),
        _ => None,
    })
}

/// Whether a value is an array of several keys with one axis.
fn is_row_of_keys(value: &Value<'_>) -> bool {
    match value {
        Value::Keys(array) => matches!(array.keys.shape(), [length] if *length > 1),
        Value::Family(family) => family.rank <= 1,
        _ => false,
    }
}

/// An array in which each key of another is a known number of times; if the number of keys is not known, only the first elements are.
fn several_times<'p>(
    machine: &mut Machine<'p>,
    op: ShapeOp,
    keys: &Value<'p>,
    args: &Args<'p>,
    callable: &Callable,
) -> Option<Value<'p>> {
    let axis = argument(args, callable, "axis").map(Value::int);
    let counts = arguments(args, callable, if op == ShapeOp::Repeat { "repeats" } else { "reps" });
    let count = match counts.first()? {
        Value::Tuple(counts) => counts.first()?.int()?,
        count => count.int()?,
    };
    let count = usize::try_from(count).ok().filter(|count| (1..=COPIES).contains(count))?;
    if axis.is_some_and(|axis| axis != Some(0)) || !fits_axes(op, None, args) {
        return None;
    }
    match (keys, op) {
        (Value::Keys(array), _) => {
            let length = array.keys.len();
            let element = |index: usize| if op == ShapeOp::Repeat { index / count } else { index % length };
            let elements: Vec<usize> = (0..length.checked_mul(count)?).map(element).collect();
            super::keys::taken(array, &elements)
        }
        (Value::Family(family), ShapeOp::Repeat) => {
            let rest = machine.symbols.fresh("<copies>");
            Some(Value::Stack(Rc::new(Stack {
                items: vec![super::keys::child(family, 0); count],
                rest,
                is_whole: false,
            })))
        }
        _ => None,
    }
}

/// The slice that `dynamic_slice` and similar functions take along the only axis, if its bounds are numbers.
fn slice_of<'p>(machine: &mut Machine<'p>, args: &Args<'p>, callable: &Callable) -> Eval<'p, Option<Value<'p>>> {
    let mut bounds = Vec::new();
    for names in [["start_indices", "start_index"], ["limit_indices", "limit_index"], ["slice_sizes", "slice_size"]] {
        let given = names.iter().find_map(|name| argument(args, callable, name)).cloned();
        let one = match &given {
            Some(Value::Tuple(_) | Value::List(_)) => match given.as_ref().map(|given| machine.items_of(given)) {
                Some(items) => {
                    items?.filter(|items| items.len() == 1).and_then(|items| items.first().and_then(Value::int))
                }
                None => None,
            },
            given => given.as_ref().and_then(Value::int),
        };
        bounds.push(one);
    }
    let is_plain = ["axis", "strides", "stride"].iter().all(|name| argument(args, callable, name).is_none());
    let (Some(lower), true) = (bounds[0], is_plain) else { return Ok(None) };
    let Some(upper) = bounds[1].or_else(|| lower.checked_add(bounds[2]?)) else { return Ok(None) };
    Ok(Some(Value::Slice(Rc::new([Value::Int(lower), Value::Int(upper), Value::None]))))
}

/// `split(key, n).reshape((n, -1))`, which leaves raw keys unchanged.
fn kept_shape<'p>(
    machine: &mut Machine<'p>,
    keys: &Value<'p>,
    args: &Args<'p>,
    callable: &Callable,
) -> Option<Value<'p>> {
    let Value::Family(family) = keys else { return None };
    let (axes, count) = (axes_of(args, callable), family.count?);
    let [length, Value::Int(-1)] = &axes[..] else { return None };
    (family.kind != KeyKind::Typed && machine.symbol_of(length) == count).then(|| keys.clone())
}

pub(super) fn whole_stack<'p>(machine: &mut Machine<'p>, items: Vec<Value<'p>>) -> Value<'p> {
    let parts: Vec<Symbol> = items.iter().take(64).map(|item| machine.symbol_of(item)).collect();
    let rest = machine.symbols.apply("stack", &parts);
    Value::Stack(Rc::new(Stack { items, rest, is_whole: true }))
}
