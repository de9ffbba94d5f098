//! The replay's values in a run that computes numbers.
//!
//! **Invariant:** in nested [`Value::Lanes`] levels rise from the outside in, and all lanes of one value have the same
//! type and shape.

use std::rc::Rc;

use super::super::value::{KeyKind, Tensor, Value};
pub(super) use super::super::value::{like, sequence};
use crate::ir::Name;
use crate::prng::array::Array;
use crate::prng::error::shape_text;
use crate::prng::keys::Keys;
use crate::text::Span;

/// An argument as written: its name where it has one, its value, its place.
#[derive(Clone)]
pub struct Argument<'a> {
    /// The keyword.
    pub name: Option<Name>,
    /// The value.
    pub value: Value<'a>,
    /// The place.
    pub span: Span,
}

/// The options of `vmap`.
pub struct Vmap<'a> {
    /// Which axis of each argument holds the lanes.
    pub in_axes: Value<'a>,
    /// Which axis of the result holds the lanes.
    pub out_axes: Value<'a>,
    /// The number of lanes, if it is given.
    pub size: Option<usize>,
}

/// Typed keys.
pub fn typed<'a>(keys: Keys) -> Value<'a> {
    Value::keys(keys, true, KeyKind::Typed)
}

impl Value<'_> {
    /// An array whose type is its own.
    pub fn array(array: Array) -> Self {
        Self::Array(Tensor { array: Rc::new(array), weak: false })
    }

    /// A shape, as the tuple it is in Python.
    pub fn shape(shape: &[usize]) -> Self {
        Self::tuple(shape.iter().map(|&length| Self::Int(length as i128)).collect())
    }

    /// One of the lanes, which has the type and shape of all; the value itself where there are none.
    pub fn any_lane(&self) -> &Self {
        match self {
            Self::Lanes(_, lanes) => lanes.first().map_or(self, Self::any_lane),
            _ => self,
        }
    }

    /// What the value is, for messages.
    pub fn description(&self) -> String {
        match self {
            Self::None => "None".to_owned(),
            Self::Bool(_) => "a truth value".to_owned(),
            Self::Int(_) => "an integer".to_owned(),
            Self::Float(_) => "a floating-point number".to_owned(),
            Self::Complex(..) => "a complex number".to_owned(),
            Self::Text(_) => "a string".to_owned(),
            Self::Array(tensor) => {
                format!("an array of dtype {} and shape {}", tensor.array.dtype(), shape_text(tensor.array.shape()))
            }
            Self::Keys(array) => {
                let (dtype, shape) = (array.keys.implementation().key_dtype(), shape_text(array.keys.shape()));
                format!("a typed key array of dtype {dtype} and shape {shape}")
            }
            Self::Tuple(_) => "a tuple".to_owned(),
            Self::List(_) => "a list".to_owned(),
            Self::DType(_) | Self::KeyDType(_) => "a dtype".to_owned(),
            Self::Lanes(..) => format!("{}, mapped by vmap", self.any_lane().description()),
            _ if is_function(self) => "a function".to_owned(),
            _ => "an object".to_owned(),
        }
    }

    /// The shape of an array or of typed keys, lanes not counted.
    pub fn own_shape(&self) -> Option<&[usize]> {
        match self.any_lane() {
            Self::Array(tensor) => Some(tensor.array.shape()),
            Self::Keys(array) => Some(array.keys.shape()),
            _ => None,
        }
    }
}

/// Whether a value can be called.
pub fn is_function(value: &Value<'_>) -> bool {
    value.is_function() || matches!(value, Value::DType(_) | Value::Method(_))
}
