//! Exchanges of axes of key arrays: which of them leave the words of raw keys together.
//!
//! **Invariant:** the words of raw keys are their last axis, which counts as moved unless all axes that the call names are known to be
//! others.

use std::sync::Arc;

use crate::analysis::domain::kinds::{BufferOp, KeyKind};
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Array, Elements, Order, Val, Value};
use crate::analysis::library::shape::Keys;
use crate::analysis::machine::{Frame, Machine, arrays};
use crate::analysis::store::args::Args;
use crate::models::{Callable, ShapeOp};

/// What is exchanged.
pub(super) enum Exchange {
    /// The order of all axes is reversed.
    Reversal,
    /// The new order of the axes.
    Order(Vec<i128>),
    /// Only these axes move.
    Among(Vec<i128>),
    /// Not known.
    Unknown,
}

impl Exchange {
    /// The axes that a call names.
    pub(super) fn of<'p>(
        machine: &mut Machine<'p>,
        frame: &mut Frame<'p>,
        (callable, args): (&'p Callable, &Args),
        op: ShapeOp,
    ) -> Self {
        let names: &[&str] = match op {
            ShapeOp::Transpose => &["axes", "permutation", "args"],
            ShapeOp::Swapaxes => &["axis1", "axis2"],
            ShapeOp::Moveaxis => &["source", "destination"],
            ShapeOp::MatrixTranspose => return Self::Reversal,
            _ => return Self::Unknown,
        };
        if op == ShapeOp::Transpose && args.positional.len() == 1 && args.keywords.is_empty() {
            return Self::Reversal;
        }
        let mut axes = Vec::new();
        for given in names.iter().flat_map(|name| args.all_of(callable, name)) {
            let items = machine.items_of(frame, &given.value);
            let parts = items.map(|items| items.into_iter().map(|item| item.value).collect());
            for part in parts.unwrap_or_else(|| vec![given.value.clone()]) {
                let Some(axis) = machine.state.int_of(&part) else { return Self::Unknown };
                axes.push(axis);
            }
        }
        match (op, axes.is_empty()) {
            (_, true) => Self::Unknown,
            (ShapeOp::Transpose, false) => Self::Order(axes),
            (_, false) => Self::Among(axes),
        }
    }

    /// The lengths of the axes of keys after two of them were exchanged, or all were put in an order; `None` if the rank is not known.
    fn of_dims(&self, dims: Option<&[Option<TermId>]>) -> Option<Arc<[Option<TermId>]>> {
        let dims = dims?;
        let at = |axis: i128| {
            let total = i128::try_from(dims.len()).ok()?.checked_add(1)?;
            usize::try_from(if axis < 0 { axis.checked_add(total)? } else { axis })
                .ok()
                .filter(|axis| *axis < dims.len())
        };
        match self {
            Self::Order(axes) => {
                let of = |axis: &i128| Some(at(*axis).and_then(|axis| dims.get(axis).copied()).flatten());
                axes.split_last()?.1.iter().map(of).collect()
            }
            Self::Among(axes) => match axes.as_slice() {
                [one, other] if dims.len() == 2 => {
                    let mut dims = dims.to_vec();
                    dims.swap(at(*one)?, at(*other)?);
                    Some(dims.into())
                }
                _ => Some(vec![None; dims.len()].into()),
            },
            Self::Reversal | Self::Unknown => None,
        }
    }

    /// Whether the last axis of an array stays where it is; `keys` is the number of the others, where that is known.
    fn keeps_the_last(&self, keys: Option<usize>) -> bool {
        let keys = keys.and_then(|keys| i128::try_from(keys).ok());
        match self {
            Self::Reversal | Self::Unknown => false,
            Self::Order(axes) => {
                let last = i128::try_from(axes.len()).ok().map(|length| length - 1);
                axes.last().is_some_and(|axis| *axis == -1 || Some(*axis) == last)
            }
            Self::Among(axes) => {
                axes.iter().all(|axis| *axis < -1 || *axis >= 0 && keys.is_none_or(|keys| *axis < keys))
            }
        }
    }
}

/// An exchange of axes.
pub(super) fn transpose<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    keys: &Keys<'_>,
    exchange: &Exchange,
) -> Value {
    let Val::Array(array) = keys.val else { return Value::of(keys.val.clone()) };
    if keys.key.kind == KeyKind::Raw {
        if exchange.keeps_the_last(array.dims.as_ref().map(|dims| dims.len())) {
            return exchanged(machine, array, exchange);
        }
        keys.misused(machine, frame, BufferOp::Transpose);
        return machine.state.terms.opaque("<mixed words>", Some(keys.place));
    }
    match exchange {
        Exchange::Reversal => arrays::transposed(&mut machine.state, array),
        Exchange::Order(_) | Exchange::Among(_) | Exchange::Unknown => arrays::reordered(array),
    }
}

/// The array with its axes exchanged: a family of its own, the same for every such exchange of one family.
fn exchanged(machine: &mut Machine<'_>, array: &Arc<Array>, exchange: &Exchange) -> Value {
    let Elements::View { family, start, step, to_end, order: Order::Known } = &array.elements else {
        return arrays::reordered(array);
    };
    let axes: &[i128] = match exchange {
        Exchange::Order(axes) | Exchange::Among(axes) => axes,
        Exchange::Reversal | Exchange::Unknown => return arrays::reordered(array),
    };
    let terms = &mut machine.state.terms;
    let mut marks = vec![*family, *start, terms.int(i128::from(*step))];
    marks.extend(axes.iter().map(|axis| terms.int(*axis)));
    let family = terms.intern(Term::Apply("<exchanged axes>".into(), marks.into()));
    let elements = Elements::View { family, start: terms.int(0), step: 1, to_end: *to_end, order: Order::Known };
    Value::of(Val::Array(Arc::new(Array {
        dims: exchange.of_dims(array.dims.as_deref()),
        elements,
        ..(**array).clone()
    })))
}
