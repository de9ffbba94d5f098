//! What an expression evaluates to, as plain data.
//!
//! **Invariant:** integers are written exactly and floating-point numbers in the shortest form that reads back to the
//! same number in their type, so that no bit of an answer is lost in print.

use std::fmt;

use super::super::value::Value;
use super::value::{is_function, sequence};
use super::{Outcome, Problem};
use crate::prng::array::Array;
use crate::prng::dtype::{DType, Kind};
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
    /// A Python number, as the array `NumPy` makes of it.
    Number(Array),
    /// An array.
    Array(Array),
    /// Typed keys.
    Keys(Keys),
    /// A string: the name of an implementation, or of a type.
    Text(String),
    /// A tuple or a list.
    Sequence {
        /// Whether it is a tuple.
        is_tuple: bool,
        /// Its items.
        items: Vec<Answer>,
    },
}

impl Answer {
    /// The answer a value is, if it is one.
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
            Value::Text(text) => Self::Text(text.to_string()),
            Value::DType(dtype) => Self::Text(dtype.name().to_owned()),
            Value::KeyDType(implementation) => Self::Text(implementation.key_dtype()),
            Value::Array(tensor) => Self::Array((*tensor.array).clone()),
            Value::Keys(array) => Self::Keys(array.keys.clone()),
            Value::Tuple(_) | Value::List(_) => {
                let parts = sequence(value).unwrap_or_default();
                let parts = parts.iter().map(|item| Self::of(item, span, depth - 1, items)).collect::<Outcome<_>>()?;
                Self::Sequence { is_tuple: matches!(value, Value::Tuple(_)), items: parts }
            }
            Value::None => return refused("None"),
            Value::Lanes(..) => return refused("mapped by vmap"),
            _ if is_function(value) => return refused("a function: call it"),
            _ => return refused("an object that has no numbers"),
        })
    }

    /// The answer as one line of JSON.
    pub fn json(&self) -> String {
        let array = |array: &Array| {
            format!(r#"{{"dtype": "{}", "shape": {}, "data": {array}}}"#, array.dtype(), lengths(array.shape()))
        };
        match self {
            Self::Nothing => "null".to_owned(),
            Self::Number(number) => array(number),
            Self::Array(elements) => array(elements),
            Self::Keys(keys) => {
                let dtype = keys.implementation().key_dtype();
                let data = keys.data().map(|data| data.to_string()).unwrap_or_default();
                format!(r#"{{"dtype": "{dtype}", "shape": {}, "key_data": {data}}}"#, lengths(keys.shape()))
            }
            Self::Text(text) => {
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

/// As Python prints it, but for alignment.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Number(number) => f.write_str(&python(number, 0)),
            Self::Array(array) => {
                let shape =
                    if array.is_empty() { format!("shape={}, ", shape_text(array.shape())) } else { String::new() };
                let elements = if array.is_empty() { "[]".to_owned() } else { lines(array, "Array(".len()) };
                write!(f, "Array({elements}, {shape}dtype={})", array.dtype())
            }
            Self::Keys(keys) => {
                let dtype = keys.implementation().key_dtype();
                writeln!(f, "Array({}, dtype={dtype}) overlaying:", shape_text(keys.shape()))?;
                let data = keys.data().map(|data| lines(&data, 0)).unwrap_or_default();
                f.write_str(&data)
            }
            Self::Text(text) => write!(f, "'{text}'"),
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

/// One element as Python writes it.
fn python(array: &Array, index: usize) -> String {
    let text = array.element_text(index);
    match (array.dtype().kind(), &*text) {
        (Kind::Bool, "true") => "True".to_owned(),
        (Kind::Bool, _) => "False".to_owned(),
        (_, "NaN") => "nan".to_owned(),
        (_, "Infinity") => "inf".to_owned(),
        (_, "-Infinity") => "-inf".to_owned(),
        _ => text,
    }
}

/// The elements in brackets, every row of the last axis on a line of its own, indented to follow `indent` characters.
fn lines(array: &Array, indent: usize) -> String {
    let shape = array.shape();
    let Some((&columns, outer)) = shape.split_last() else { return python(array, 0) };
    let rows: usize = outer.iter().product();
    if columns == 0 || rows == 0 {
        return array.to_string();
    }
    let mut out = String::new();
    for row in 0..rows {
        // An axis opens before its first row, and closes after its last.
        let starts = (0..outer.len()).filter(|&axis| row % outer[axis..].iter().product::<usize>() == 0).count();
        let ends = (0..outer.len()).filter(|&axis| (row + 1) % outer[axis..].iter().product::<usize>() == 0).count();
        if row > 0 {
            out.push_str(&" ".repeat(indent + outer.len() - starts));
        }
        out.push_str(&"[".repeat(starts + 1));
        let elements: Vec<String> = (0..columns).map(|column| python(array, row * columns + column)).collect();
        out.push_str(&elements.join(", "));
        out.push_str(&"]".repeat(ends + 1));
        if row + 1 < rows {
            out.push_str(",\n");
        }
    }
    out
}
