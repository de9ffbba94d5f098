//! What an expression evaluates to, as plain data.
//!
//! **Invariant:** JSON has exact integers and floating-point numbers in the shortest form that reads back to the same number in their type,
//! so that no bit of a result is lost. The text format is JAX's.

use std::fmt;

use super::super::value::Value;
use super::layout::{Place, WIDTH, element, layout};
use super::value::{is_function, sequence};
use super::{Outcome, Problem};
use crate::prng::array::Array;
use crate::prng::dtype::DType;
use crate::prng::error::shape_text;
use crate::prng::keys::Keys;
use crate::text::Span;

/// How deep tuples and lists of a result may nest, and how many items they may have together: one may hold another many times.
const NESTING: usize = 64;
const ITEMS: usize = 1 << 16;

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// What statements leave: nothing to show.
    Nothing,
    /// A Python number, as the `NumPy` array of it.
    Number(Array),
    /// An array.
    Array(Array),
    /// Typed keys.
    Keys {
        /// The keys.
        keys: Keys,
        /// How the first of them came about, each as an expression.
        lineage: Vec<String>,
    },
    /// `None` of Python.
    None,
    /// A string: the name of an implementation.
    Text(String),
    /// An element type, by its name.
    Type(String),
    /// A tuple or a list.
    Sequence {
        /// Whether it is a tuple.
        is_tuple: bool,
        /// Its items.
        items: Vec<Answer>,
    },
}

impl Answer {
    /// A value as a result, if it is one.
    pub(super) fn new(value: &Value<'_>, span: Span) -> Outcome<Self> {
        Self::of(value, span, NESTING, &mut { ITEMS })
    }

    fn of(value: &Value<'_>, span: Span, depth: usize, items: &mut usize) -> Outcome<Self> {
        let refused = |what: &str| Err(Problem::new(span, format!("the result is {what}")));
        if depth == 0 || *items == 0 {
            return refused("too deep or too long to be shown");
        }
        *items -= 1;
        Ok(match value {
            Value::Bool(flag) => Self::Number(Array::integer(DType::Bool, i128::from(*flag))),
            Value::Int(number) => {
                let fits = |dtype: &DType| (dtype.bounds().0..=dtype.bounds().1).contains(number);
                match [DType::Int64, DType::Uint64].into_iter().find(fits) {
                    Some(dtype) => Self::Number(Array::integer(dtype, *number)),
                    None => return refused("an integer of more than 64 bits"),
                }
            }
            Value::Float(number) => Self::Number(Array::real(DType::Float64, *number)),
            Value::Complex(real, imaginary) => {
                let number = Array::from_complexes(DType::Complex128, &[], [(*real, *imaginary)]);
                Self::Number(number.map_err(|error| Problem::new(span, error.to_string()))?)
            }
            Value::Text(text) => Self::Text(text.to_string()),
            Value::DType(dtype) => Self::Type(dtype.name().to_owned()),
            Value::KeyDType(implementation) => Self::Type(implementation.key_dtype()),
            Value::Array(tensor) => Self::Array((*tensor.array).clone()),
            Value::Keys(array) => Self::Keys { keys: array.keys.clone(), lineage: Vec::new() },
            Value::Tuple(_) | Value::List(_) => {
                let parts = sequence(value).unwrap_or_default();
                let parts = parts.iter().map(|item| Self::of(item, span, depth - 1, items)).collect::<Outcome<_>>()?;
                Self::Sequence { is_tuple: matches!(value, Value::Tuple(_)), items: parts }
            }
            Value::None => Self::None,
            Value::Lanes(..) => return refused("mapped by vmap"),
            _ if is_function(value) => return refused("a function: call it"),
            _ => return refused("an object that has no numbers"),
        })
    }

    /// The result as one line of JSON.
    pub fn json(&self) -> String {
        let array = |array: &Array| {
            format!(r#"{{"dtype": "{}", "shape": {}, "data": {array}}}"#, array.dtype(), lengths(array.shape()))
        };
        match self {
            Self::Nothing | Self::None => "null".to_owned(),
            Self::Number(number) => array(number),
            Self::Array(elements) => array(elements),
            Self::Keys { keys, .. } => {
                let dtype = keys.implementation().key_dtype();
                let data = keys.data().map(|data| data.to_string()).unwrap_or_default();
                format!(r#"{{"dtype": "{dtype}", "shape": {}, "key_data": {data}}}"#, lengths(keys.shape()))
            }
            Self::Text(text) | Self::Type(text) => {
                format!(r#"{{"dtype": "str", "shape": [], "data": {}}}"#, serde_json::Value::from(text.as_str()))
            }
            Self::Sequence { items, .. } => {
                let items: Vec<String> = items.iter().map(Self::json).collect();
                format!(r#"{{"tuple": [{}]}}"#, items.join(", "))
            }
        }
    }
}

/// A shape as JSON.
fn lengths(shape: &[usize]) -> String {
    format!("[{}]", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))
}

/// The text before the elements of an array.
const ARRAY: &str = "Array(";

/// As Python prints it.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Number(number) => f.write_str(&element(number, 0)),
            Self::Array(array) => {
                let elements = if array.is_empty() {
                    format!("[], shape={}", shape_text(array.shape()))
                } else {
                    layout(array, &Place { before: ARRAY.len(), after: ",".len(), separator: ", " })
                };
                let dtype = format!("dtype={})", array.dtype());
                // Where the type does not fit on the last line, JAX indents it and does not break the line.
                let last = elements.rfind('\n').map_or(elements.len() + 2, |at| elements.len() - at + 1);
                let is_long = last + dtype.len() + 1 > WIDTH;
                let gap = " ".repeat(if is_long { ARRAY.len() } else { 1 });
                write!(f, "{ARRAY}{elements},{gap}{dtype}")
            }
            Self::Keys { keys, .. } => {
                let dtype = keys.implementation().key_dtype();
                writeln!(f, "Array({}, dtype={dtype}) overlaying:", shape_text(keys.shape()))?;
                let place = Place { before: 0, after: 0, separator: " " };
                f.write_str(&keys.data().map(|data| layout(&data, &place)).unwrap_or_default())
            }
            Self::None => f.write_str("None"),
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Type(name) if name.starts_with("key<") => f.write_str(name),
            Self::Type(name) => write!(f, "dtype('{name}')"),
            Self::Sequence { is_tuple, items } => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                match (is_tuple, &*items) {
                    (true, [only]) => write!(f, "({only},)"),
                    (true, items) => write!(f, "({})", items.join(", ")),
                    (false, items) => write!(f, "[{}]", items.join(", ")),
                }
            }
        }
    }
}
