//! Indices and slices, as JAX takes them.
//!
//! **Invariant:** an index out of bounds selects the nearest element, as JAX clamps it, so `split(key, 3)[3]` is the last key again; a
//! typed key has no elements, a raw key has its words.

use super::super::value::Value;
use super::arguments::{elements, integer};
use super::numpy::rearranged;
use super::{Outcome, Problem};
use crate::arrays::{self, Entry, Map};
use crate::prng::dtype::DTypeKind;
use crate::prng::error::shape_text;
use crate::text::Span;

/// One entry of a subscript.
#[derive(Clone)]
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

impl<'a> Index<'a> {
    /// The entry that a value is.
    pub fn of(value: Value<'a>, span: Span) -> Outcome<Self> {
        let bound = |part: &Value<'a>| match part {
            Value::None => Ok(None),
            part => integer(part, span).map(Some),
        };
        match value {
            Value::None => Ok(Self::NewAxis),
            Value::Ellipsis => Ok(Self::Ellipsis),
            Value::Slice(parts) => Ok(Self::Slice(bound(&parts[0])?, bound(&parts[1])?, bound(&parts[2])?)),
            Value::Bool(_) => Err(Problem::new(span, "truth values as indices are not supported")),
            Value::Int(_) | Value::Array(_) | Value::Lanes(..) => Ok(Self::At(value)),
            value => {
                let found = value.description();
                Err(Problem::new(span, format!("an index must be an integer, a slice or None, not {found}")))
            }
        }
    }
}

/// Applies a subscript to an array or typed keys.
pub fn subscript<'a>(value: &Value<'a>, indices: &[Index<'a>], span: Span) -> Outcome<Value<'a>> {
    let Some(shape) = value.own_shape() else {
        return Err(Problem::new(span, format!("{} has no elements to select", value.description())));
    };
    let entries = entries(shape, indices, span)?;
    let taken = entries.iter().filter(|entry| matches!(entry, Entry::Take(..))).count();
    let mut result: Vec<usize> = entries.iter().flat_map(lengths).collect();
    result.extend(shape.iter().skip(taken));
    elements(&result, span)?;
    let outside = || Problem::new(span, "the index is out of bounds");
    let map = Map::select(shape, &entries).ok_or_else(outside)?;
    rearranged(value, &map, span)
}

/// The axes that an entry indexes.
fn lengths(entry: &Entry) -> Vec<usize> {
    match entry {
        Entry::Take(_, own) => own.clone(),
        Entry::NewAxis => vec![1],
    }
}

/// What the indices select along each axis.
fn entries(shape: &[usize], indices: &[Index<'_>], span: Span) -> Outcome<Vec<Entry>> {
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
    let mut entries = Vec::new();
    let mut axis = 0;
    for index in indices {
        match index {
            Index::NewAxis => entries.push(Entry::NewAxis),
            Index::Ellipsis => {
                let all = |length: &usize| Entry::Take((0..*length).collect(), vec![*length]);
                entries.extend(shape[axis..axis + untouched].iter().map(all));
                axis += untouched;
            }
            Index::Slice(lower, upper, step) => {
                let elements = arrays::slice(shape[axis], *lower, *upper, *step)
                    .ok_or_else(|| problem("slice step cannot be zero".to_owned()))?;
                let own = vec![elements.len()];
                entries.push(Entry::Take(elements, own));
                axis += 1;
            }
            Index::At(value) => {
                entries.push(elements_at(shape[axis], axis, value, span)?);
                axis += 1;
            }
        }
    }
    Ok(entries)
}

fn elements_at(length: usize, axis: usize, value: &Value<'_>, span: Span) -> Outcome<Entry> {
    let problem = |message: String| Problem::new(span, message);
    let (numbers, shape) = match value {
        Value::Int(number) => (vec![*number], Vec::new()),
        Value::Array(tensor) if matches!(tensor.array.dtype().kind(), DTypeKind::Signed | DTypeKind::Unsigned) => {
            (tensor.array.integers(), tensor.array.shape().to_vec())
        }
        _ => {
            return Err(problem(format!("an index must be an integer, a slice or None, not {}", value.description())));
        }
    };
    let named: Option<Vec<usize>> = numbers.into_iter().map(|number| arrays::nearest(length, number)).collect();
    named
        .map(|named| Entry::Take(named, shape))
        .ok_or_else(|| problem(format!("the index is out of bounds for axis {axis}, which has size 0")))
}
