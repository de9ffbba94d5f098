//! What an expression can be while it is evaluated.
//!
//! **Invariant:** in nested [`Value::Lanes`] levels rise from the outside in, and all lanes of one value have the same
//! type and shape.

use std::sync::Arc;

use super::numpy::Method;
use super::walk::{Builtin, Lambda};
use crate::prng::array::Array;
use crate::prng::dtype::DType;
use crate::prng::implementation::Implementation;
use crate::prng::keys::Keys;
use crate::text::Span;

/// A value, or under `vmap` one for each lane.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// `None`.
    None,
    /// A Python truth value.
    Bool(bool),
    /// A Python integer.
    Int(i128),
    /// A Python floating-point number.
    Float(f64),
    /// A string.
    Str(Arc<str>),
    /// An array of numbers; a raw key is one of `uint32`.
    Array(Tensor),
    /// Typed keys.
    Keys(Arc<Keys>),
    /// A tuple or a list.
    Sequence(Sequence, Arc<[Value<'a>]>),
    /// An element type, which is also a function that makes arrays of it.
    DType(DType),
    /// The element type of typed keys.
    KeyDType(Implementation),
    /// A function of the libraries.
    Builtin(&'static Builtin),
    /// A method, with the array it belongs to.
    Method(Method, Arc<Value<'a>>),
    /// A function written in the expression.
    Lambda(Arc<Lambda<'a>>),
    /// `partial(function, …)`.
    Partial(Arc<Partial<'a>>),
    /// `vmap(function, …)`.
    Vmap(Arc<Vmap<'a>>),
    /// A value of its own for each lane of the `vmap` at a level.
    Lanes(usize, Arc<[Value<'a>]>),
}

/// An array, with what type promotion has to know of it.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The elements.
    pub array: Arc<Array>,
    /// JAX's weak type: made of Python numbers only, it gives way to the type of any other array.
    pub weak: bool,
}

/// The kinds of Python sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// `(a, b)`
    Tuple,
    /// `[a, b]`
    List,
}

/// An argument as written: its name where it has one, its value, its place.
#[derive(Clone, Debug)]
pub struct Argument<'a> {
    /// The keyword.
    pub name: Option<Arc<str>>,
    /// The value.
    pub value: Value<'a>,
    /// The place.
    pub span: Span,
}

/// A function some of whose arguments are given.
#[derive(Clone, Debug)]
pub struct Partial<'a> {
    /// The function.
    pub function: Value<'a>,
    /// Its first positional arguments, and keywords.
    pub arguments: Vec<Argument<'a>>,
}

/// A function over lanes.
#[derive(Clone, Debug)]
pub struct Vmap<'a> {
    /// The function of one lane.
    pub function: Value<'a>,
    /// Which axis of each argument holds the lanes.
    pub in_axes: Value<'a>,
    /// Which axis of the result holds the lanes.
    pub out_axes: Value<'a>,
    /// The number of lanes, where it is given.
    pub size: Option<usize>,
}

impl Value<'_> {
    /// An array whose type is its own.
    pub fn array(array: Array) -> Self {
        Self::Array(Tensor { array: Arc::new(array), weak: false })
    }

    /// Typed keys.
    pub fn keys(keys: Keys) -> Self {
        Self::Keys(Arc::new(keys))
    }

    /// A tuple.
    pub fn tuple(items: impl IntoIterator<Item = Self>) -> Self {
        Self::Sequence(Sequence::Tuple, items.into_iter().collect())
    }

    /// A shape, as the tuple it is in Python.
    pub fn shape(shape: &[usize]) -> Self {
        Self::tuple(shape.iter().map(|&length| Self::Int(length as i128)))
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
            Self::Str(_) => "a string".to_owned(),
            Self::Array(tensor) => {
                let shape = crate::prng::error::shape_text(tensor.array.shape());
                format!("an array of dtype {} and shape {shape}", tensor.array.dtype())
            }
            Self::Keys(keys) => {
                let shape = crate::prng::error::shape_text(keys.shape());
                format!("a typed key array of dtype {} and shape {shape}", keys.implementation().key_dtype())
            }
            Self::Sequence(Sequence::Tuple, _) => "a tuple".to_owned(),
            Self::Sequence(Sequence::List, _) => "a list".to_owned(),
            Self::DType(_) | Self::KeyDType(_) => "a dtype".to_owned(),
            Self::Builtin(_) | Self::Method(..) | Self::Lambda(_) | Self::Partial(_) | Self::Vmap(_) => {
                "a function".to_owned()
            }
            Self::Lanes(..) => format!("{}, mapped by vmap", self.any_lane().description()),
        }
    }

    /// The shape of an array or of typed keys, lanes not counted.
    pub fn own_shape(&self) -> Option<&[usize]> {
        match self.any_lane() {
            Self::Array(tensor) => Some(tensor.array.shape()),
            Self::Keys(keys) => Some(keys.shape()),
            _ => None,
        }
    }
}
