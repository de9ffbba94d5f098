//! Arrays of numbers: the parameters and results of samplers.
//!
//! **Invariant:** the number of elements is the product of the shape, and every element is representable in the
//! dtype; constructors round and wrap, so that no later step has to.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::float_cmp,
    reason = "conversions between element types round and truncate by definition, and equality has to be exact to the bit"
)]

use std::fmt;

use super::dtype::{DType, DTypeKind};
use super::error::{Error, Result};
use super::float::Float;
use super::float::half::{Bfloat16, Float16};
use super::mode::Mode;

/// The most elements one array may have.
pub const MAX_ELEMENTS: usize = 1 << 26;

/// The elements of an array in row-major order, each in the widest type of its family.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Booleans.
    Bool(Vec<bool>),
    /// Two's-complement integers.
    Signed(Vec<i64>),
    /// Non-negative integers.
    Unsigned(Vec<u64>),
    /// Floating-point numbers of any width.
    Real(Vec<f64>),
    /// Complex numbers of any width, as real and imaginary part.
    Complex(Vec<(f64, f64)>),
}

/// An array of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    dtype: DType,
    shape: Vec<usize>,
    data: Data,
}

impl Array {
    /// An array of integers, wrapped if `dtype` is an integer type and converted otherwise.
    pub fn from_integers(dtype: DType, shape: &[usize], values: impl IntoIterator<Item = i128>) -> Result<Self> {
        Self::checked(dtype, shape, integer_data(dtype, values))
    }

    /// An array of floating-point numbers, truncated if `dtype` is an integer type and rounded otherwise.
    pub fn from_reals(dtype: DType, shape: &[usize], values: impl IntoIterator<Item = f64>) -> Result<Self> {
        let values = values.into_iter();
        if dtype.kind() == DTypeKind::Complex {
            return Self::from_complexes(dtype, shape, values.map(|value| (value, 0.0)).collect::<Vec<_>>());
        }
        if dtype.kind() == DTypeKind::Real {
            let data = Data::Real(values.map(|value| round(value, dtype)).collect());
            return Self::checked(dtype, shape, data);
        }
        let (low, high) = dtype.bounds();
        let truncate = |value: f64| (value as i128).clamp(low, high);
        Self::from_integers(dtype, shape, values.map(truncate))
    }

    /// An array of complex numbers; only the real parts are kept if `dtype` is not complex.
    pub fn from_complexes(dtype: DType, shape: &[usize], values: impl IntoIterator<Item = (f64, f64)>) -> Result<Self> {
        let values = values.into_iter();
        if dtype.kind() != DTypeKind::Complex {
            return Self::from_reals(dtype, shape, values.map(|(real, _)| real).collect::<Vec<_>>());
        }
        let rounded = |(real, imaginary)| (round(real, dtype.part()), round(imaginary, dtype.part()));
        Self::checked(dtype, shape, Data::Complex(values.map(rounded).collect()))
    }

    /// An array of booleans.
    pub fn from_bools(shape: &[usize], values: Vec<bool>) -> Result<Self> {
        Self::checked(DType::Bool, shape, Data::Bool(values))
    }

    /// One integer.
    pub fn integer(dtype: DType, value: i128) -> Self {
        Self { dtype, shape: Vec::new(), data: integer_data(dtype, [value]) }
    }

    /// One floating-point number. If `dtype` is not a floating-point type, the number is `float64`.
    pub fn real(dtype: DType, value: f64) -> Self {
        let dtype = if dtype.kind() == DTypeKind::Real { dtype } else { DType::Float64 };
        Self { dtype, shape: Vec::new(), data: Data::Real(vec![round(value, dtype)]) }
    }

    /// A Python `int` as JAX converts it: to the default integer type, which must be able to hold it.
    pub fn python_int(mode: Mode, value: i128) -> Result<Self> {
        let dtype = DType::default_int(mode);
        let (low, high) = dtype.bounds();
        if (low..=high).contains(&value) {
            Ok(Self::integer(dtype, value))
        } else {
            Err(Error::Overflow { value, dtype })
        }
    }

    /// A Python `float` as JAX converts it: to the default floating-point type.
    pub fn python_float(mode: Mode, value: f64) -> Self {
        Self::real(DType::default_float(mode), value)
    }

    /// `jnp.arange(count)`.
    pub fn arange(mode: Mode, count: usize) -> Result<Self> {
        size_of(&[count])?;
        Self::from_integers(DType::default_int(mode), &[count], (0..count).map(|index| index as i128))
    }

    fn checked(dtype: DType, shape: &[usize], data: Data) -> Result<Self> {
        let size = size_of(shape)?;
        let array = Self { dtype, shape: shape.to_vec(), data };
        if array.len() == size {
            Ok(array)
        } else {
            let problem = format!("{} elements do not fill an array of {size}", array.len());
            Err(Error::Argument { function: "array", problem })
        }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The elements.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Bool(values) => values.len(),
            Data::Signed(values) => values.len(),
            Data::Unsigned(values) => values.len(),
            Data::Real(values) => values.len(),
            Data::Complex(values) => values.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as integers; floating-point numbers are truncated, imaginary parts dropped.
    pub fn integers(&self) -> Vec<i128> {
        match &self.data {
            Data::Bool(values) => values.iter().map(|&value| i128::from(value)).collect(),
            Data::Signed(values) => values.iter().map(|&value| i128::from(value)).collect(),
            Data::Unsigned(values) => values.iter().map(|&value| i128::from(value)).collect(),
            Data::Real(values) => values.iter().map(|&value| value as i128).collect(),
            Data::Complex(values) => values.iter().map(|&(real, _)| real as i128).collect(),
        }
    }

    /// The elements as floating-point numbers; imaginary parts are dropped. Exact except for integers of more than 53 bits.
    pub fn reals(&self) -> Vec<f64> {
        match &self.data {
            Data::Bool(values) => values.iter().map(|&value| f64::from(u8::from(value))).collect(),
            Data::Signed(values) => values.iter().map(|&value| value as f64).collect(),
            Data::Unsigned(values) => values.iter().map(|&value| value as f64).collect(),
            Data::Real(values) => values.clone(),
            Data::Complex(values) => values.iter().map(|(real, _)| *real).collect(),
        }
    }

    /// The elements as complex numbers.
    pub fn complexes(&self) -> Vec<(f64, f64)> {
        match &self.data {
            Data::Complex(values) => values.clone(),
            _ => self.reals().into_iter().map(|real| (real, 0.0)).collect(),
        }
    }

    /// The imaginary parts; zeros if the elements are not complex.
    pub fn imaginaries(&self) -> Vec<f64> {
        self.complexes().into_iter().map(|(_, imaginary)| imaginary).collect()
    }

    /// The elements of a `uint32` array; `None` for every other type.
    pub fn words(&self) -> Option<Vec<u32>> {
        match &self.data {
            Data::Unsigned(values) if self.dtype == DType::Uint32 => {
                Some(values.iter().map(|&value| super::words::low(value)).collect())
            }
            _ => None,
        }
    }

    /// The array converted to another type, by rounding, wrapping or truncation.
    #[must_use]
    pub fn cast(&self, dtype: DType) -> Self {
        let data = match (&self.data, dtype.kind()) {
            (Data::Real(values), DTypeKind::Bool) => Data::Bool(values.iter().map(|&value| value != 0.0).collect()),
            (Data::Complex(values), DTypeKind::Bool) => {
                Data::Bool(values.iter().map(|&value| value != (0.0, 0.0)).collect())
            }
            (_, DTypeKind::Complex) => {
                let part = |value| round(value, dtype.part());
                Data::Complex(self.complexes().into_iter().map(|(a, b)| (part(a), part(b))).collect())
            }
            (_, DTypeKind::Real) => Data::Real(self.reals().into_iter().map(|value| round(value, dtype)).collect()),
            (Data::Real(_) | Data::Complex(_), DTypeKind::Signed | DTypeKind::Unsigned) => {
                let (low, high) = dtype.bounds();
                integer_data(dtype, self.integers().into_iter().map(|value| value.clamp(low, high)))
            }
            _ => integer_data(dtype, self.integers()),
        };
        Self { dtype, shape: self.shape.clone(), data }
    }

    /// The same elements in another shape of the same size.
    pub fn reshape(mut self, shape: &[usize]) -> Result<Self> {
        if size_of(shape)? != self.len() {
            return Err(Error::Broadcast { function: "reshape", from: self.shape, to: shape.to_vec() });
        }
        self.shape = shape.to_vec();
        Ok(self)
    }

    /// The array whose element *i* is element `positions[i]` of this one; positions beyond the end are clamped.
    pub fn gather(&self, shape: &[usize], positions: &[usize]) -> Result<Self> {
        fn pick<T: Copy>(values: &[T], positions: &[usize]) -> Vec<T> {
            let last = values.len().saturating_sub(1);
            positions.iter().filter_map(|&position| values.get(position.min(last)).copied()).collect()
        }
        let data = match &self.data {
            Data::Bool(values) => Data::Bool(pick(values, positions)),
            Data::Signed(values) => Data::Signed(pick(values, positions)),
            Data::Unsigned(values) => Data::Unsigned(pick(values, positions)),
            Data::Real(values) => Data::Real(pick(values, positions)),
            Data::Complex(values) => Data::Complex(pick(values, positions)),
        };
        Self::checked(self.dtype, shape, data)
    }

    /// For each element of an array of `shape`, the position of the element of this array that broadcasts to it.
    pub fn broadcast_positions(&self, function: &'static str, shape: &[usize]) -> Result<Vec<usize>> {
        let fits = self.rank() <= shape.len()
            && self.shape.iter().rev().zip(shape.iter().rev()).all(|(from, to)| from == to || *from == 1);
        if !fits {
            return Err(Error::Broadcast { function, from: self.shape.clone(), to: shape.to_vec() });
        }
        let mut positions = vec![0; size_of(shape)?];
        if self.len() > 1 {
            for (index, position) in positions.iter_mut().enumerate() {
                let (mut rest, mut stride) = (index, 1);
                for (axis, to) in shape.iter().enumerate().rev() {
                    let coordinate = rest % to;
                    rest /= to;
                    let Some(from) = (axis + self.rank()).checked_sub(shape.len()).map(|axis| self.shape[axis]) else {
                        break;
                    };
                    *position += if from == 1 { 0 } else { coordinate * stride };
                    stride *= from;
                }
            }
        }
        Ok(positions)
    }

    /// The array broadcast to `shape`: repeated along axes of length one and along new leading axes.
    pub fn broadcast_to(&self, function: &'static str, shape: &[usize]) -> Result<Self> {
        let positions = self.broadcast_positions(function, shape)?;
        self.gather(shape, &positions)
    }

    /// Element `index`, or its real part; NaN if there is no such element.
    pub fn number(&self, index: usize) -> f64 {
        match &self.data {
            Data::Real(values) => values.get(index).copied(),
            Data::Bool(values) => values.get(index).map(|&value| f64::from(u8::from(value))),
            Data::Signed(values) => values.get(index).map(|&value| value as f64),
            Data::Unsigned(values) => values.get(index).map(|&value| value as f64),
            Data::Complex(values) => values.get(index).map(|(real, _)| *real),
        }
        .unwrap_or(f64::NAN)
    }

    /// The shortest decimal significand (such as `1.25`) and the power of ten that together read back as element `index`.
    pub fn shortest(&self, index: usize) -> (String, i32) {
        shortest(self.number(index), self.dtype)
    }

    /// Element `index` in the shortest form that reads back as the same element, in the notation of Python and JSON
    /// (`NaN`, `Infinity` and `-Infinity` as in Python's `json`). Complex numbers are pairs, because JSON has none.
    pub fn element_text(&self, index: usize) -> String {
        match &self.data {
            Data::Bool(values) => values.get(index).map(ToString::to_string),
            Data::Signed(values) => values.get(index).map(ToString::to_string),
            Data::Unsigned(values) => values.get(index).map(ToString::to_string),
            Data::Real(values) => values.get(index).map(|&value| real_text(value, self.dtype)),
            Data::Complex(values) => values.get(index).map(|&(real, imaginary)| {
                let part = |value| real_text(value, self.dtype.part());
                format!("[{}, {}]", part(real), part(imaginary))
            }),
        }
        .unwrap_or_default()
    }
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn nest(array: &Array, axis: usize, start: usize, size: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let Some(&length) = array.shape.get(axis) else {
                return f.write_str(&array.element_text(start));
            };
            f.write_str("[")?;
            for index in 0..length {
                if index > 0 {
                    f.write_str(", ")?;
                }
                nest(array, axis + 1, start + index * (size / length), size / length, f)?;
            }
            f.write_str("]")
        }
        nest(self, 0, 0, self.len(), f)
    }
}

/// The number of elements of an array of `shape`.
pub fn size_of(shape: &[usize]) -> Result<usize> {
    let size = if shape.contains(&0) {
        Some(0)
    } else {
        shape.iter().try_fold(1_usize, |size, &length| size.checked_mul(length))
    };
    size.filter(|&size| size <= MAX_ELEMENTS)
        .ok_or_else(|| Error::TooLarge { shape: shape.to_vec(), limit: MAX_ELEMENTS })
}

/// Resolves an axis number, which may be negative.
pub fn axis_of(function: &'static str, axis: isize, rank: usize) -> Result<usize> {
    let named = if axis < 0 { rank.checked_add_signed(axis) } else { Some(axis.unsigned_abs()) };
    named.filter(|&named| named < rank).ok_or(Error::Axis { function, axis, rank })
}

fn integer_data(dtype: DType, values: impl IntoIterator<Item = i128>) -> Data {
    let values = values.into_iter();
    match dtype.kind() {
        DTypeKind::Bool => Data::Bool(values.map(|value| value != 0).collect()),
        DTypeKind::Signed => Data::Signed(values.map(|value| wrap_signed(value, dtype.width())).collect()),
        DTypeKind::Unsigned => Data::Unsigned(values.map(|value| wrap_unsigned(value, dtype.width())).collect()),
        DTypeKind::Real => Data::Real(values.map(|value| round(value as f64, dtype)).collect()),
        DTypeKind::Complex => Data::Complex(values.map(|value| (round(value as f64, dtype.part()), 0.0)).collect()),
    }
}

fn wrap_signed(value: i128, width: u32) -> i64 {
    let unused = 64 - width;
    (value as i64) << unused >> unused
}

#[expect(clippy::cast_sign_loss, reason = "wrapping to the low bits is the purpose")]
fn wrap_unsigned(value: i128, width: u32) -> u64 {
    let unused = 64 - width;
    (value as u64) << unused >> unused
}

fn round(value: f64, dtype: DType) -> f64 {
    match dtype {
        DType::Float16 => Float16::from_f64(value).to_f64(),
        DType::Bfloat16 => Bfloat16::from_f64(value).to_f64(),
        DType::Float32 => f32::from_f64(value).to_f64(),
        _ => value,
    }
}

/// The shortest decimal text that reads back as `value` when rounded to `dtype`.
fn real_text(value: f64, dtype: DType) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let (digits, exponent) = shortest(value, dtype);
    let text = format!("{digits}e{exponent}");
    if (-5..16).contains(&exponent) {
        // `{:?}` writes at least one decimal place, so the text still denotes a floating-point number.
        text.parse().map_or(text, |short: f64| format!("{short:?}"))
    } else {
        text
    }
}

/// The shortest decimal significand (such as `1.25`) and the power of ten that together read back as a finite number of this type.
fn shortest(value: f64, dtype: DType) -> (String, i32) {
    let reads_back = |text: &str| text.parse().is_ok_and(|read: f64| round(read, dtype) == value);
    let scientific = (0..17).map(|digits| format!("{value:.digits$e}")).find(|text| reads_back(text));
    let text = scientific.unwrap_or_else(|| format!("{value:e}"));
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or(0))
}
