//! Indices and slices, as JAX takes them.
//!
//! **Invariant:** an index out of bounds selects the nearest element, as JAX clamps it, so that `split(key, 3)[3]` is the
//! last key once more; a typed key has no elements, a raw key has its words.

use super::arguments::elements;
use super::value::Value;
use super::{Outcome, Problem};
use crate::prng::dtype::Kind;
use crate::prng::error::{Error, shape_text};
use crate::text::Span;

/// One entry of a subscript.
#[derive(Clone, Debug)]
pub enum Index<'a> {
    /// `x[i]`: an integer or an array of integers.
    At(Value<'a>),
    /// `x[lower:upper:step]`
    Slice(Option<i128>, Option<i128>, Option<i128>),
    /// `x[None]`
    NewAxis,
    /// `x[...]`
    Ellipsis,
}

/// The elements an entry selects along an axis, and the axes they form.
struct Selection {
    elements: Vec<usize>,
    shape: Vec<usize>,
}

/// Applies a subscript to an array or typed keys.
pub fn subscript<'a>(value: &Value<'a>, indices: &[Index<'a>], span: Span) -> Outcome<Value<'a>> {
    let failed = |error: Error| Problem::new(span, error.to_string());
    let Some(shape) = value.own_shape() else {
        return Err(Problem::new(span, format!("{} has no elements to select", value.description())));
    };
    let selections = selections(shape, indices, span)?;
    let strides: Vec<usize> = (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect();
    let result: Vec<usize> = selections.iter().flat_map(|(_, selection)| selection.shape.iter().copied()).collect();
    elements(&result, span)?;
    let mut positions = vec![0];
    for (axis, selection) in &selections {
        let stride = axis.map_or(0, |axis| strides[axis]);
        let step = |start: &usize| {
            let start = *start;
            selection.elements.iter().map(move |element| start + element * stride)
        };
        positions = positions.iter().flat_map(step).collect();
    }
    match value {
        Value::Keys(keys) => keys.gather(&result, &positions).map(Value::keys).map_err(failed),
        Value::Array(tensor) => {
            let array = tensor.array.gather(&result, &positions).map_err(failed)?;
            Ok(Value::Array(super::value::Tensor { array: array.into(), weak: tensor.weak }))
        }
        _ => Err(Problem::new(span, format!("{} has no elements to select", value.description()))),
    }
}

/// What the entries select along each axis; new axes belong to none.
fn selections(shape: &[usize], indices: &[Index<'_>], span: Span) -> Outcome<Vec<(Option<usize>, Selection)>> {
    let problem = |message: String| Problem::new(span, message);
    let taken = indices.iter().filter(|index| matches!(index, Index::At(_) | Index::Slice(..))).count();
    let Some(untouched) = shape.len().checked_sub(taken) else {
        return Err(problem(format!(
            "too many indices: the array has {} axes, its shape is {}, but {taken} are indexed",
            shape.len(),
            shape_text(shape)
        )));
    };
    if indices.iter().filter(|index| matches!(index, Index::Ellipsis)).count() > 1 {
        return Err(problem("an index can only have a single ellipsis ('...')".to_owned()));
    }
    let is_array = |index: &&Index<'_>| matches!(index, Index::At(value) if value.own_shape().is_some_and(|shape| !shape.is_empty()));
    let others = indices.iter().filter(|index| matches!(index, Index::At(_))).count();
    if indices.iter().any(|index| is_array(&index)) && others > 1 {
        return Err(problem("an index array combined with other indices is not supported".to_owned()));
    }
    let all = |axis: usize| {
        let length = shape[axis];
        (Some(axis), Selection { elements: (0..length).collect(), shape: vec![length] })
    };
    let mut selections = Vec::new();
    let mut axis = 0;
    for index in indices {
        match index {
            Index::NewAxis => selections.push((None, Selection { elements: vec![0], shape: vec![1] })),
            Index::Ellipsis => {
                selections.extend((axis..axis + untouched).map(all));
                axis += untouched;
            }
            Index::Slice(lower, upper, step) => {
                let elements = slice(shape[axis], *lower, *upper, *step)
                    .ok_or_else(|| problem("slice step cannot be zero".to_owned()))?;
                let shape = vec![elements.len()];
                selections.push((Some(axis), Selection { elements, shape }));
                axis += 1;
            }
            Index::At(value) => {
                selections.push((Some(axis), elements_at(shape[axis], axis, value, span)?));
                axis += 1;
            }
        }
    }
    selections.extend((axis..shape.len()).map(all));
    Ok(selections)
}

fn elements_at(length: usize, axis: usize, value: &Value<'_>, span: Span) -> Outcome<Selection> {
    let problem = |message: String| Problem::new(span, message);
    let (numbers, shape) = match value {
        Value::Int(number) => (vec![*number], Vec::new()),
        Value::Array(tensor) if matches!(tensor.array.dtype().kind(), Kind::Signed | Kind::Unsigned) => {
            (tensor.array.integers(), tensor.array.shape().to_vec())
        }
        _ => {
            return Err(problem(format!("an index must be an integer, a slice or None, not {}", value.description())));
        }
    };
    if length == 0 && !numbers.is_empty() {
        return Err(problem(format!("the index is out of bounds for axis {axis}, which has size 0")));
    }
    let length = length as i128;
    let clamp = |number: i128| {
        let number = if number < 0 { number.saturating_add(length) } else { number };
        usize::try_from(number.clamp(0, length - 1)).unwrap_or(0)
    };
    Ok(Selection { elements: numbers.into_iter().map(clamp).collect(), shape })
}

/// The elements a slice selects, as Python's `slice.indices` has it; `None` where the step is zero.
pub fn slice(length: usize, lower: Option<i128>, upper: Option<i128>, step: Option<i128>) -> Option<Vec<usize>> {
    let step = step.unwrap_or(1);
    let length = length as i128;
    let (least, most) = if step < 0 { (-1, length - 1) } else { (0, length) };
    let bound = |given: Option<i128>, default: i128| {
        given.map_or(default, |given| {
            let given = if given < 0 { given.saturating_add(length) } else { given };
            given.clamp(least, most)
        })
    };
    let (start, stop) = match step {
        0 => return None,
        1.. => (bound(lower, 0), bound(upper, length)),
        _ => (bound(lower, length - 1), bound(upper, -1)),
    };
    let mut elements = Vec::new();
    let mut at = start;
    while (step > 0 && at < stop) || (step < 0 && at > stop) {
        elements.extend(usize::try_from(at));
        at = at.saturating_add(step);
    }
    Some(elements)
}
