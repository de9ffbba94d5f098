//! Exchanges of axes of key arrays: which of them leave the words of raw keys together.
//!
//! **Invariant:** the words of raw keys are their last axis, which counts as moved unless all axes that the call names are known to be
//! others.

use crate::analysis::domain::kinds::{BufferOp, KeyKind};
use crate::analysis::domain::value::{Val, Value};
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
            ShapeOp::MatrixTranspose => &[],
            _ => return Self::Unknown,
        };
        if names.is_empty() || op == ShapeOp::Transpose && args.positional.len() == 1 && args.keywords.is_empty() {
            return Self::Reversal;
        }
        let given = names.iter().flat_map(|name| args.all_of(callable, name)).map(|arg| arg.value.clone());
        let given: Vec<Value> = given.collect();
        let mut axes = Vec::new();
        for value in &given {
            let parts = machine.items_of(frame, value).map(|items| items.into_iter().map(|item| item.value).collect());
            for part in parts.unwrap_or_else(|| vec![value.clone()]) {
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
            return arrays::reordered(array);
        }
        keys.misused(machine, frame, BufferOp::Transpose);
        return machine.state.terms.opaque("<mixed words>", Some(keys.place));
    }
    match exchange {
        Exchange::Reversal => arrays::transposed(&mut machine.state, array),
        Exchange::Order(_) | Exchange::Among(_) | Exchange::Unknown => arrays::reordered(array),
    }
}
