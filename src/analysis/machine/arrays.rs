//! Arrays of keys: elements, rows, columns and slices as views of a family.
//!
//! A view is row-major: an array with axes `(a, b)` holds element `start + (i * b + j) * step` of its family at `[i, j]`.
//!
//! **Invariant:** a view whose elements are unknown is a separate family, which equals no other.

use std::sync::Arc;

use crate::analysis::domain::kinds::KeyKind;
use crate::analysis::domain::term::{Symbol, Term, TermId, Terms};
use crate::analysis::domain::value::{Array, Elements, Key, Order, Val, Value};
use crate::analysis::machine::Machine;
use crate::analysis::store::State;
use crate::arrays;
use crate::ir::Operator;

/// Most parts into which an array is split to reorder it.
pub const LISTED: i128 = 16;

/// The member of a family with this flat index.
pub fn member(machine: &mut Machine<'_>, family: TermId, index: TermId, of: &Array) -> Value {
    let term = match *machine.state.terms.get(family) {
        Term::Children(parent) => machine.state.terms.intern(Term::Child(parent, index)),
        _ => machine.state.terms.intern(Term::Item(family, index, 0)),
    };
    if !is_evident(machine, of) {
        return Value::term(term);
    }
    Value::of(Val::Key(Key { term, kind: of.kind, derivation: of.derivation }))
}

/// `array[index]`
pub fn array_element(machine: &mut Machine<'_>, array: &Arc<Array>, index: TermId) -> Value {
    match &array.elements {
        Elements::View { family, start, step, order, .. } => {
            let (family, start, step, order) = (*family, *start, *step, *order);
            let dims = array.dims.clone();
            let inner: Vec<Option<TermId>> = match &dims {
                Some(dims) => dims.iter().skip(1).copied().collect(),
                // An array of unknown rank: its elements are known only by their index.
                None => Vec::new(),
            };
            if order != Order::Known {
                let place = machine.state.terms.fresh(Symbol::Opaque, "<some element>", None);
                if inner.is_empty() {
                    return member(machine, family, place, array);
                }
                let row = row_of(array, family, place, &inner);
                return match row.single() {
                    Some(Val::Array(row)) => subset(&mut machine.state.terms, &row.clone()),
                    _ => row,
                };
            }
            let index = in_range(&mut machine.state, index, dims.as_deref());
            let mut flat = index;
            for length in &inner {
                let Some(length) = length else {
                    let row = machine.state.terms.intern(Term::Item(family, index, 0));
                    let zero = zero(&mut machine.state.terms);
                    return row_of(array, row, zero, &inner);
                };
                flat = machine.state.terms.operate(Operator::Mul, &[flat, *length]);
            }
            let step_term = machine.state.terms.int(i128::from(step));
            let offset = machine.state.terms.operate(Operator::Mul, &[flat, step_term]);
            let position = machine.state.terms.operate(Operator::Add, &[start, offset]);
            if inner.is_empty() {
                member(machine, family, position, array)
            } else {
                Value::of(Val::Array(Arc::new(Array {
                    dims: Some(inner.into()),
                    elements: Elements::View { family, start: position, step, to_end: false, order },
                    ..(**array).clone()
                })))
            }
        }
        Elements::Listed(parts) => match machine.state.terms.as_int(index) {
            Some(number) => {
                let length = i128::try_from(parts.len()).unwrap_or(i128::MAX);
                let number = if number < 0 { number + length } else { number.min(length - 1) };
                let part = usize::try_from(number).ok().and_then(|number| parts.get(number));
                part.cloned().unwrap_or_else(|| some_member(machine, array))
            }
            None => match &**parts {
                [only] => only.clone(),
                _ => some_member(machine, array),
            },
        },
        Elements::Copies(of) => {
            let rank = array.dims.as_ref().map_or(1, |dims| dims.len());
            if rank <= 1 || matches!(of.single(), Some(Val::Array(_))) {
                (**of).clone()
            } else {
                let dims = array.dims.as_ref().map(|dims| dims.iter().skip(1).copied().collect());
                Value::of(Val::Array(Arc::new(Array { dims, ..(**array).clone() })))
            }
        }
        Elements::Joined(parts) => {
            // The first element of a concatenation is that of its first part.
            if machine.state.terms.as_int(index) == Some(0)
                && let Some(Val::Array(first)) = parts.first().and_then(|part| part.single()).cloned()
            {
                return array_element(machine, &first, index);
            }
            some_member(machine, array)
        }
    }
}

fn zero(terms: &mut Terms) -> TermId {
    terms.int(0)
}

/// Some key of an array, equal to nothing known.
fn some_member(machine: &mut Machine<'_>, array: &Array) -> Value {
    let term = machine.state.terms.fresh(Symbol::Opaque, "<some element>", None);
    if !is_evident(machine, array) {
        return Value::term(term);
    }
    Value::of(Val::Key(Key { term, kind: array.kind, derivation: array.derivation }))
}

fn row_of(array: &Array, family: TermId, start: TermId, inner: &[Option<TermId>]) -> Value {
    Value::of(Val::Array(Arc::new(Array {
        dims: Some(inner.into()),
        elements: Elements::whole(family, start),
        ..array.clone()
    })))
}

/// JAX counts negative indices from the end and clamps static ones that are out of range. For numbers this is reported only if it
/// happens on all paths, because the iterations of a loop over a value from outside are unknown.
fn in_range(state: &mut State, index: TermId, dims: Option<&[Option<TermId>]>) -> TermId {
    let length = dims.and_then(|dims| dims.first().copied().flatten());
    // `keys[n]` of `split(key, n)`.
    if let Some(length) = length.filter(|length| state.terms.as_int(*length).is_none())
        && state.terms.difference(index, length).is_some_and(|beyond| beyond >= 0)
    {
        return state.terms.offset(length, -1);
    }
    match (state.terms.as_int(index), length) {
        (Some(number), Some(length)) if number < 0 => state.terms.offset(length, number),
        (Some(number), None) if number < 0 => {
            let number = state.terms.int(number);
            state.terms.intern(Term::Apply("<from the end>".into(), Box::new([number])))
        }
        (Some(number), Some(length)) => match state.terms.as_int(length) {
            Some(length) if number >= length && length > 0 && state.paths.pc.is_true() => state.terms.int(length - 1),
            _ => index,
        },
        _ => index,
    }
}

/// `array[start:stop:step]` along the first axis.
pub fn array_slice<'p>(machine: &mut Machine<'p>, array: &Arc<Array>, bounds: [Option<TermId>; 3]) -> Value {
    let [lower, upper, stride] = bounds;
    let stride = match stride.map(|stride| machine.state.terms.as_int(stride)) {
        None => 1,
        Some(Some(stride)) if stride != 0 => stride,
        Some(_) => return subset(&mut machine.state.terms, array),
    };
    if let Elements::Listed(parts) = &array.elements {
        let known = |this: &Machine<'p>, bound: Option<TermId>| bound.map(|bound| this.state.terms.as_int(bound));
        if let (None | Some(Some(_)), None | Some(Some(_))) = (known(machine, lower), known(machine, upper)) {
            let (from, to) = (known(machine, lower).flatten(), known(machine, upper).flatten());
            let chosen: Vec<Value> = arrays::slice(parts.len(), from, to, Some(stride))
                .into_iter()
                .flatten()
                .filter_map(|index| parts.get(index).cloned())
                .collect();
            return listed(&mut machine.state.terms, chosen, array.kind);
        }
        return subset(&mut machine.state.terms, array);
    }
    let Elements::View { family, start, step, to_end, order } = &array.elements else {
        return subset(&mut machine.state.terms, array);
    };
    let (family, start, step, to_end, order) = (*family, *start, *step, *to_end, *order);
    if lower.is_none() && upper.is_none() {
        if stride == 1 {
            return Value::of(Val::Array(array.clone()));
        }
        if stride == -1 {
            return reversed(machine, array);
        }
    }
    if order != Order::Known || stride < 0 {
        return subset(&mut machine.state.terms, array);
    }
    let length = array.dims.as_ref().and_then(|dims| dims.first().copied().flatten());
    let inner: Vec<Option<TermId>> =
        array.dims.as_ref().map_or_else(Vec::new, |dims| dims.iter().skip(1).copied().collect());
    let from_end = |this: &mut Machine<'p>, bound: TermId| match (this.state.terms.as_int(bound), length) {
        (Some(number), Some(length)) if number < 0 => Some(this.state.terms.offset(length, number)),
        (Some(number), None) if number < 0 => None,
        _ => Some(bound),
    };
    let zero = machine.state.terms.int(0);
    let Some(lower) = lower.map_or(Some(zero), |bound| from_end(machine, bound)) else {
        return subset(&mut machine.state.terms, array);
    };
    let stop = match upper {
        None => length,
        Some(bound) => match from_end(machine, bound) {
            Some(bound) => Some(bound),
            None => return subset_from(&mut machine.state.terms, array, lower),
        },
    };
    let reaches_end = to_end && (upper.is_none() || stop.is_some() && stop == length);
    let count = stop.map(|stop| {
        let span = machine.state.terms.operate(Operator::Sub, &[stop, lower]);
        if stride == 1 {
            span
        } else {
            let rounded = machine.state.terms.offset(span, stride - 1);
            let stride = machine.state.terms.int(stride);
            machine.state.terms.operate(Operator::FloorDiv, &[rounded, stride])
        }
    });
    let mut row = machine.state.terms.int(i128::from(step));
    for dim in &inner {
        let Some(dim) = dim else { return subset(&mut machine.state.terms, array) };
        row = machine.state.terms.operate(Operator::Mul, &[row, *dim]);
    }
    let skipped = machine.state.terms.operate(Operator::Mul, &[lower, row]);
    let start = machine.state.terms.operate(Operator::Add, &[start, skipped]);
    let (step, to_end) = if stride == 1 {
        (step, reaches_end)
    } else {
        if !inner.is_empty() {
            return subset(&mut machine.state.terms, array);
        }
        (step.saturating_mul(i64::try_from(stride).unwrap_or(1)), reaches_end)
    };
    let dims: Vec<Option<TermId>> = std::iter::once(count).chain(inner).collect();
    Value::of(Val::Array(Arc::new(Array {
        dims: Some(dims.into()),
        elements: Elements::View { family, start, step, to_end, order },
        ..(**array).clone()
    })))
}

/// `array[:, i]` and the lanes of `in_axes=1`: one element of each row.
pub fn column_of(state: &mut State, array: &Arc<Array>, axis: i128, index: TermId) -> Value {
    if axis == 1
        && let (Elements::View { family, start, step, to_end, order: Order::Known }, Some(dims)) =
            (&array.elements, &array.dims)
        && let [rows, Some(columns)] = **dims
        && let Some(width) = state.terms.as_int(columns).and_then(|width| i64::try_from(width).ok())
    {
        let (family, start, step, to_end) = (*family, *start, *step, *to_end);
        let index = match state.terms.as_int(index) {
            Some(number) if number < 0 => state.terms.int(number + i128::from(width)),
            _ => index,
        };
        let step_term = state.terms.int(i128::from(step));
        let offset = state.terms.operate(Operator::Mul, &[index, step_term]);
        let start = state.terms.operate(Operator::Add, &[start, offset]);
        let step = step.saturating_mul(width);
        return Value::of(Val::Array(Arc::new(Array {
            dims: Some(vec![rows].into()),
            elements: Elements::View { family, start, step, to_end, order: Order::Known },
            ..(**array).clone()
        })));
    }
    let whole = state.term_of(&Value::of(Val::Array(array.clone())));
    let axis = state.terms.int(axis);
    let family = state.terms.intern(Term::Apply("<column>".into(), Box::new([whole, axis, index])));
    let start = state.terms.int(0);
    let dims = array.dims.as_ref().map(|dims| {
        let rest: Vec<Option<TermId>> = dims.iter().skip(1).copied().collect();
        rest.into()
    });
    Value::of(Val::Array(Arc::new(Array { dims, elements: Elements::whole(family, start), ..(**array).clone() })))
}

/// `array[::-1]`
fn reversed(machine: &mut Machine<'_>, array: &Arc<Array>) -> Value {
    let length = array.dims.as_ref().and_then(|dims| dims.first().copied().flatten());
    let Some(length) = length.and_then(|length| machine.state.terms.as_int(length)).filter(|length| *length <= LISTED)
    else {
        return reordered(array);
    };
    let parts = (0..length).rev().map(|index| {
        let index = machine.state.terms.int(index);
        array_element(machine, array, index)
    });
    let parts = parts.collect();
    listed(&mut machine.state.terms, parts, array.kind)
}

/// `array.T` of two axes.
pub fn transposed(state: &mut State, array: &Arc<Array>) -> Value {
    let columns = match array.dims.as_deref() {
        Some([_, Some(columns)]) => state.terms.as_int(*columns),
        _ => None,
    };
    let Some(columns) = columns.filter(|columns| *columns <= LISTED) else { return reordered(array) };
    let parts = (0..columns).map(|index| {
        let index = state.terms.int(index);
        column_of(state, array, 1, index)
    });
    let parts = parts.collect();
    listed(&mut state.terms, parts, array.kind)
}

/// The same keys in an unknown order.
pub fn reordered(array: &Arc<Array>) -> Value {
    let mut copy = (**array).clone();
    if let Elements::View { order, .. } = &mut copy.elements
        && *order == Order::Known
    {
        *order = Order::Permuted;
    } else if let Elements::Listed(parts) = &copy.elements {
        copy.elements = Elements::Joined(parts.clone());
    }
    Value::of(Val::Array(Arc::new(copy)))
}

/// Some of the keys; it is unknown which.
pub fn subset(terms: &mut Terms, array: &Arc<Array>) -> Value {
    with_order(terms, array, Order::Subset)
}

/// Each key of an array several times.
pub fn repeated(terms: &mut Terms, array: &Arc<Array>) -> Value {
    with_order(terms, array, Order::Repeated)
}

fn with_order(terms: &mut Terms, array: &Arc<Array>, of: Order) -> Value {
    let mut copy = (**array).clone();
    match &mut copy.elements {
        Elements::View { order, .. } => *order = of,
        Elements::Copies(_) => {}
        Elements::Listed(_) | Elements::Joined(_) => {
            let family = terms.fresh(Symbol::Opaque, "<some of the keys>", None);
            let start = terms.int(0);
            copy.elements = Elements::whole(family, start);
        }
    }
    if let Some(dims) = &copy.dims {
        let mut dims = dims.to_vec();
        if let Some(first) = dims.first_mut() {
            *first = None;
        }
        copy.dims = Some(dims.into());
    }
    Value::of(Val::Array(Arc::new(copy)))
}

/// The keys from `start` to a bound that counts from an unknown end.
fn subset_from(terms: &mut Terms, array: &Arc<Array>, start: TermId) -> Value {
    let value = subset(terms, array);
    if let (Some(Val::Array(subset)), true) = (value.single(), terms.as_int(start) == Some(0)) {
        // `keys[:-1]` begins with the first key; nothing more is claimed.
        return Value::of(Val::Array(subset.clone()));
    }
    value
}

/// Keys stacked along a new first axis.
pub fn listed(terms: &mut Terms, parts: Vec<Value>, kind: KeyKind) -> Value {
    let length = terms.int(i128::try_from(parts.len()).unwrap_or(0));
    let mut dims = vec![Some(length)];
    if let Some(Val::Array(inner)) = parts.first().and_then(Value::single) {
        match &inner.dims {
            Some(inner) => dims.extend(inner.iter().copied()),
            None => dims.push(None),
        }
    }
    Value::array(kind, 0, Some(dims.into()), Elements::Listed(parts.into()))
}

/// A key, or an array of keys, with an axis of length one more: `keys[:, None]`.
pub fn with_axis(terms: &mut Terms, value: &Value, at: usize) -> Value {
    let Some(val) = value.single() else { return value.clone() };
    let array = match val {
        Val::Key(key) => return listed(terms, vec![value.clone()], key.kind),
        Val::Array(array) => array,
        _ => return value.clone(),
    };
    let one = terms.int(1);
    let dims = array.dims.as_ref().map(|dims| {
        let mut dims = dims.to_vec();
        dims.insert(at.min(dims.len()), Some(one));
        dims.into()
    });
    let elements = match &array.elements {
        Elements::Listed(_) | Elements::Joined(_) if at == 0 => Elements::Listed([value.clone()].into()),
        Elements::Listed(parts) => Elements::Listed(parts.iter().map(|part| with_axis(terms, part, at - 1)).collect()),
        // A view is row-major, wherever axes of length one are; copies are equal.
        elements @ (Elements::View { .. } | Elements::Copies(_)) => elements.clone(),
        elements @ Elements::Joined(_) => {
            return Value::of(Val::Array(Arc::new(Array {
                dims: None,
                elements: elements.clone(),
                ..(**array).clone()
            })));
        }
    };
    Value::of(Val::Array(Arc::new(Array { dims, elements, ..(**array).clone() })))
}

/// `array.at[number].set(new)`: the other keys remain known if their number is known.
pub fn with_element(machine: &mut Machine<'_>, array: &Arc<Array>, number: i128, new: &Value) -> Value {
    let is_one = matches!(new.single(), Some(Val::Key(_)));
    let length = array.dims.as_ref().filter(|dims| dims.len() == 1).and_then(|dims| dims[0]);
    let length = length.and_then(|length| machine.state.terms.as_int(length)).filter(|length| *length <= LISTED);
    let Some(length) = length.filter(|length| is_one && (-length..*length).contains(&number)) else {
        return subset(&mut machine.state.terms, array);
    };
    let parts = (0..length).map(|index| {
        if index == number.rem_euclid(length) {
            return new.clone();
        }
        let index = machine.state.terms.int(index);
        array_element(machine, array, index)
    });
    let parts = parts.collect();
    listed(&mut machine.state.terms, parts, array.kind)
}

/// Whether an array is known to hold keys, rather than being a view of a value from outside.
pub fn is_evident(machine: &Machine<'_>, array: &Array) -> bool {
    if array.kind != KeyKind::Unknown {
        return true;
    }
    let evident = |value: &Value| {
        value.alternatives().iter().any(|alternative| match &alternative.val {
            Val::Key(_) => true,
            Val::Array(inner) => is_evident(machine, inner),
            Val::Term(term) => machine.recorder.log().declared.contains(term),
            _ => false,
        })
    };
    match &array.elements {
        Elements::View { family, .. } => {
            array.derivation != 0
                || machine.recorder.log().declared.contains(family)
                || matches!(machine.state.terms.get(*family), Term::Children(_))
        }
        Elements::Listed(parts) | Elements::Joined(parts) => parts.iter().any(evident),
        Elements::Copies(of) => evident(of),
    }
}
