//! Arrays of keys: elements, rows, columns and slices as views of a family.
//!
//! A view is row-major: an array with axes `(a, b)` holds element `start + (i * b + j) * step` of its family at `[i, j]`.
//!
//! **Invariant:** a view whose elements cannot be told is a family of its own, equal to nothing else.

use std::rc::Rc;

use crate::analysis::domain::kinds::KeyKind;
use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::domain::value::{Array, Elements, Key, Order, Val, Value};
use crate::ir::Operator;

use super::Machine;

/// Most parts that an array is taken apart into to be put together in another order.
const LISTED: i128 = 16;

impl Machine<'_> {
    /// The member of a family with this flat index.
    pub(super) fn member(&mut self, family: TermId, index: TermId, of: &Array) -> Value {
        let term = match *self.terms.get(family) {
            Term::Children(parent) => self.terms.intern(Term::Child(parent, index)),
            _ => self.terms.intern(Term::Item(family, index, 0)),
        };
        if !self.is_evident(of) {
            return Value::term(term);
        }
        Value::of(Val::Key(Key { term, kind: of.kind, derivation: of.derivation }))
    }

    /// `array[index]`
    pub(super) fn array_element(&mut self, array: &Rc<Array>, index: TermId) -> Value {
        match &array.elements {
            Elements::View { family, start, step, order, .. } => {
                let (family, start, step, order) = (*family, *start, *step, *order);
                let dims = array.dims.clone();
                let inner: Vec<Option<TermId>> = match &dims {
                    Some(dims) => dims.iter().skip(1).copied().collect(),
                    // An array of unknown rank: its elements are known by their index only.
                    None => Vec::new(),
                };
                if order != Order::Known {
                    let place = self.terms.fresh(Symbol::Opaque, "<some element>", None);
                    if inner.is_empty() {
                        return self.member(family, place, array);
                    }
                    let row = Self::row(array, family, place, &inner);
                    return match row.single() {
                        Some(Val::Array(row)) => self.subset(&row.clone()),
                        _ => row,
                    };
                }
                let index = self.in_range(index, dims.as_deref());
                let mut flat = index;
                for length in &inner {
                    let Some(length) = length else {
                        let row = self.terms.intern(Term::Item(family, index, 0));
                        let zero = self.zero();
                        return Self::row(array, row, zero, &inner);
                    };
                    flat = self.terms.operate(Operator::Mul, &[flat, *length]);
                }
                let step_term = self.terms.int(i128::from(step));
                let offset = self.terms.operate(Operator::Mul, &[flat, step_term]);
                let position = self.terms.operate(Operator::Add, &[start, offset]);
                if inner.is_empty() {
                    self.member(family, position, array)
                } else {
                    Value::of(Val::Array(Rc::new(Array {
                        dims: Some(inner.into()),
                        elements: Elements::View { family, start: position, step, to_end: false, order },
                        ..(**array).clone()
                    })))
                }
            }
            Elements::Listed(parts) => match self.terms.as_int(index) {
                Some(number) => {
                    let length = i128::try_from(parts.len()).unwrap_or(i128::MAX);
                    let number = if number < 0 { number + length } else { number.min(length - 1) };
                    let part = usize::try_from(number).ok().and_then(|number| parts.get(number));
                    part.cloned().unwrap_or_else(|| self.some_member(array))
                }
                None => self.some_member(array),
            },
            Elements::Copies(of) => {
                let rank = array.dims.as_ref().map_or(1, |dims| dims.len());
                if rank <= 1 {
                    (**of).clone()
                } else {
                    let dims = array.dims.as_ref().map(|dims| dims.iter().skip(1).copied().collect());
                    Value::of(Val::Array(Rc::new(Array { dims, ..(**array).clone() })))
                }
            }
            Elements::Joined(parts) => {
                // The first element of a concatenation is that of its first part.
                if self.terms.as_int(index) == Some(0)
                    && let Some(Val::Array(first)) = parts.first().and_then(|part| part.single()).cloned()
                {
                    return self.array_element(&first, index);
                }
                self.some_member(array)
            }
        }
    }

    fn zero(&mut self) -> TermId {
        self.terms.int(0)
    }

    /// Some key of an array, equal to nothing known.
    fn some_member(&mut self, array: &Array) -> Value {
        let term = self.terms.fresh(Symbol::Opaque, "<some element>", None);
        if !self.is_evident(array) {
            return Value::term(term);
        }
        Value::of(Val::Key(Key { term, kind: array.kind, derivation: array.derivation }))
    }

    fn row(array: &Array, family: TermId, start: TermId, inner: &[Option<TermId>]) -> Value {
        Value::of(Val::Array(Rc::new(Array {
            dims: Some(inner.into()),
            elements: Elements::View { family, start, step: 1, to_end: true, order: Order::Known },
            ..array.clone()
        })))
    }

    /// JAX counts negative indices from the end and clamps static ones that are out of range, which is held against a program only
    /// where it happens on all paths: nobody knows whether a loop over something from outside runs that often.
    fn in_range(&mut self, index: TermId, dims: Option<&[Option<TermId>]>) -> TermId {
        let length = dims.and_then(|dims| dims.first().copied().flatten());
        match (self.terms.as_int(index), length) {
            (Some(number), Some(length)) if number < 0 => self.terms.offset(length, number),
            (Some(number), None) if number < 0 => {
                let number = self.terms.int(number);
                self.terms.intern(Term::Apply("<from the end>".into(), Box::new([number])))
            }
            (Some(number), Some(length)) => match self.terms.as_int(length) {
                Some(length) if number >= length && length > 0 && self.paths.pc.is_true() => self.terms.int(length - 1),
                _ => index,
            },
            _ => index,
        }
    }

    /// `array[start:stop:step]` along the first axis.
    pub(super) fn array_slice(&mut self, array: &Rc<Array>, bounds: [Option<TermId>; 3]) -> Value {
        let [lower, upper, stride] = bounds;
        let stride = match stride.map(|stride| self.terms.as_int(stride)) {
            None => 1,
            Some(Some(stride)) if stride != 0 => stride,
            Some(_) => return self.subset(array),
        };
        if let Elements::Listed(parts) = &array.elements {
            let known = |this: &Self, bound: Option<TermId>| bound.map(|bound| this.terms.as_int(bound));
            if let (None | Some(Some(_)), None | Some(Some(_))) = (known(self, lower), known(self, upper)) {
                let length = i128::try_from(parts.len()).unwrap_or(i128::MAX);
                let (from, to) = (known(self, lower).flatten(), known(self, upper).flatten());
                let chosen: Vec<Value> = slice_indices(from, to, stride, length)
                    .into_iter()
                    .filter_map(|index| parts.get(index).cloned())
                    .collect();
                return self.listed(chosen, array.kind);
            }
            return self.subset(array);
        }
        let Elements::View { family, start, step, to_end, order } = &array.elements else {
            return self.subset(array);
        };
        let (family, start, step, to_end, order) = (*family, *start, *step, *to_end, *order);
        if lower.is_none() && upper.is_none() {
            if stride == 1 {
                return Value::of(Val::Array(array.clone()));
            }
            if stride == -1 {
                return self.reversed(array);
            }
        }
        if order != Order::Known || stride < 0 {
            return self.subset(array);
        }
        let length = array.dims.as_ref().and_then(|dims| dims.first().copied().flatten());
        let inner: Vec<Option<TermId>> =
            array.dims.as_ref().map_or_else(Vec::new, |dims| dims.iter().skip(1).copied().collect());
        let from_end = |this: &mut Self, bound: TermId| match (this.terms.as_int(bound), length) {
            (Some(number), Some(length)) if number < 0 => Some(this.terms.offset(length, number)),
            (Some(number), None) if number < 0 => None,
            _ => Some(bound),
        };
        let zero = self.terms.int(0);
        let Some(lower) = lower.map_or(Some(zero), |bound| from_end(self, bound)) else { return self.subset(array) };
        let stop = match upper {
            None => length,
            Some(bound) => match from_end(self, bound) {
                Some(bound) => Some(bound),
                None => return self.subset_from(array, lower),
            },
        };
        let reaches_end = to_end && (upper.is_none() || stop.is_some() && stop == length);
        let count = stop.map(|stop| {
            let span = self.terms.operate(Operator::Sub, &[stop, lower]);
            if stride == 1 {
                span
            } else {
                let rounded = self.terms.offset(span, stride - 1);
                let stride = self.terms.int(stride);
                self.terms.operate(Operator::FloorDiv, &[rounded, stride])
            }
        });
        let mut row = self.terms.int(i128::from(step));
        for dim in &inner {
            let Some(dim) = dim else { return self.subset(array) };
            row = self.terms.operate(Operator::Mul, &[row, *dim]);
        }
        let skipped = self.terms.operate(Operator::Mul, &[lower, row]);
        let start = self.terms.operate(Operator::Add, &[start, skipped]);
        let (step, to_end) = if stride == 1 {
            (step, reaches_end)
        } else {
            if !inner.is_empty() {
                return self.subset(array);
            }
            (step.saturating_mul(i64::try_from(stride).unwrap_or(1)), reaches_end)
        };
        let dims: Vec<Option<TermId>> = std::iter::once(count).chain(inner).collect();
        Value::of(Val::Array(Rc::new(Array {
            dims: Some(dims.into()),
            elements: Elements::View { family, start, step, to_end, order },
            ..(**array).clone()
        })))
    }

    /// `array[:, i]` and the lanes of `in_axes=1`: one element of each row.
    pub(super) fn column_of(&mut self, array: &Rc<Array>, axis: i128, index: TermId) -> Value {
        if axis == 1
            && let (Elements::View { family, start, step, to_end, order: Order::Known }, Some(dims)) =
                (&array.elements, &array.dims)
            && let [rows, Some(columns)] = **dims
            && let Some(width) = self.terms.as_int(columns).and_then(|width| i64::try_from(width).ok())
        {
            let (family, start, step, to_end) = (*family, *start, *step, *to_end);
            let index = match self.terms.as_int(index) {
                Some(number) if number < 0 => self.terms.int(number + i128::from(width)),
                _ => index,
            };
            let step_term = self.terms.int(i128::from(step));
            let offset = self.terms.operate(Operator::Mul, &[index, step_term]);
            let start = self.terms.operate(Operator::Add, &[start, offset]);
            let step = step.saturating_mul(width);
            return Value::of(Val::Array(Rc::new(Array {
                dims: Some(vec![rows].into()),
                elements: Elements::View { family, start, step, to_end, order: Order::Known },
                ..(**array).clone()
            })));
        }
        let whole = self.term_of(&Value::of(Val::Array(array.clone())));
        let axis = self.terms.int(axis);
        let family = self.terms.intern(Term::Apply("<column>".into(), Box::new([whole, axis, index])));
        let start = self.terms.int(0);
        let dims = array.dims.as_ref().map(|dims| {
            let rest: Vec<Option<TermId>> = dims.iter().skip(1).copied().collect();
            rest.into()
        });
        Value::of(Val::Array(Rc::new(Array {
            dims,
            elements: Elements::View { family, start, step: 1, to_end: true, order: Order::Known },
            ..(**array).clone()
        })))
    }

    /// `array[::-1]`
    fn reversed(&mut self, array: &Rc<Array>) -> Value {
        let length = array.dims.as_ref().and_then(|dims| dims.first().copied().flatten());
        let Some(length) = length.and_then(|length| self.terms.as_int(length)).filter(|length| *length <= LISTED)
        else {
            return Self::reordered(array);
        };
        let parts = (0..length).rev().map(|index| {
            let index = self.terms.int(index);
            self.array_element(array, index)
        });
        let parts = parts.collect();
        self.listed(parts, array.kind)
    }

    /// `array.T` of two axes.
    pub(super) fn transposed(&mut self, array: &Rc<Array>) -> Value {
        let columns = match array.dims.as_deref() {
            Some([_, Some(columns)]) => self.terms.as_int(*columns),
            _ => None,
        };
        let Some(columns) = columns.filter(|columns| *columns <= LISTED) else { return Self::reordered(array) };
        let parts = (0..columns).map(|index| {
            let index = self.terms.int(index);
            self.column_of(array, 1, index)
        });
        let parts = parts.collect();
        self.listed(parts, array.kind)
    }

    /// The same keys in an order that is not known.
    pub(super) fn reordered(array: &Rc<Array>) -> Value {
        let mut copy = (**array).clone();
        if let Elements::View { order, .. } = &mut copy.elements
            && *order == Order::Known
        {
            *order = Order::Permuted;
        } else if let Elements::Listed(parts) = &copy.elements {
            copy.elements = Elements::Joined(parts.clone());
        }
        Value::of(Val::Array(Rc::new(copy)))
    }

    /// Some of the keys, not known which.
    pub(super) fn subset(&mut self, array: &Rc<Array>) -> Value {
        let mut copy = (**array).clone();
        match &mut copy.elements {
            Elements::View { order, .. } => *order = Order::Subset,
            Elements::Copies(_) => {}
            Elements::Listed(_) | Elements::Joined(_) => {
                let family = self.terms.fresh(Symbol::Opaque, "<some of the keys>", None);
                let start = self.terms.int(0);
                copy.elements = Elements::View { family, start, step: 1, to_end: true, order: Order::Known };
            }
        }
        if let Some(dims) = &copy.dims {
            let mut dims = dims.to_vec();
            if let Some(first) = dims.first_mut() {
                *first = None;
            }
            copy.dims = Some(dims.into());
        }
        Value::of(Val::Array(Rc::new(copy)))
    }

    /// The keys from `start` to a bound that counts from an end that is not known.
    fn subset_from(&mut self, array: &Rc<Array>, start: TermId) -> Value {
        let value = self.subset(array);
        if let (Some(Val::Array(subset)), true) = (value.single(), self.terms.as_int(start) == Some(0)) {
            // `keys[:-1]` begins with the first key: claim no more.
            return Value::of(Val::Array(subset.clone()));
        }
        value
    }

    /// Keys put together along a new first axis.
    pub(super) fn listed(&mut self, parts: Vec<Value>, kind: KeyKind) -> Value {
        let length = self.terms.int(i128::try_from(parts.len()).unwrap_or(0));
        let mut dims = vec![Some(length)];
        if let Some(Val::Array(inner)) = parts.first().and_then(Value::single) {
            match &inner.dims {
                Some(inner) => dims.extend(inner.iter().copied()),
                None => dims.push(None),
            }
        }
        Value::of(Val::Array(Rc::new(Array {
            kind,
            derivation: 0,
            dims: Some(dims.into()),
            elements: Elements::Listed(parts.into()),
        })))
    }
}

/// Python's `range(*slice(lower, upper, step).indices(length))`, for at most 64 elements.
pub(super) fn slice_indices(lower: Option<i128>, upper: Option<i128>, step: i128, length: i128) -> Vec<usize> {
    let clamp = |bound: i128, low: i128, high: i128| {
        let bound = if bound < 0 { bound + length } else { bound };
        bound.clamp(low, high)
    };
    let (mut index, stop) = if step > 0 {
        (lower.map_or(0, |b| clamp(b, 0, length)), upper.map_or(length, |b| clamp(b, 0, length)))
    } else {
        (lower.map_or(length - 1, |b| clamp(b, -1, length - 1)), upper.map_or(-1, |b| clamp(b, -1, length - 1)))
    };
    let mut indices = Vec::new();
    while step != 0 && (if step > 0 { index < stop } else { index > stop }) && indices.len() < 64 {
        if let Ok(position) = usize::try_from(index) {
            indices.push(position);
        }
        index += step;
    }
    indices
}
