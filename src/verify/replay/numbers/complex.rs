//! Complex numbers: Python's own, and arrays of them.
//!
//! XLA computes products and quotients of complex numbers from those of their parts, with contracted sums. Quotients use Smith's method,
//! which divides by the greater part of the divisor.
//!
//! **Invariant:** every step is rounded as XLA:CPU rounds it; where a quotient rests on infinities or a division by zero, there is
//! none.

#![expect(clippy::cast_possible_truncation, reason = "parts of `complex64` are kept as `float64`")]

use std::rc::Rc;

use super::super::value::{Tensor, Value};
use super::arguments::{Arguments, problem};
use super::arithmetic::{SUBNORMAL, has_subnormals, tensor};
use super::{Builtin, NumericState, Outcome, Problem};
use crate::ir::Operator;
use crate::prng::array::Array;
use crate::prng::dtype::{DType, DTypeKind};
use crate::prng::error::Result;
use crate::text::Span;

/// A number, as real and imaginary part.
pub type Complex = (f64, f64);

const X: &[&str] = &["val"];

/// The functions of `jnp` that take a number apart.
static FUNCTIONS: [Builtin; 4] = [
    Builtin::new("real", X, &[], 1, |c, a| part(c, a, |(real, _)| real)),
    Builtin::new("imag", X, &[], 1, |c, a| part(c, a, |(_, imaginary)| imaginary)),
    Builtin::new("conj", &["x"], &[], 1, conjugate),
    Builtin::new("conjugate", &["x"], &[], 1, conjugate),
];

/// The function of that name.
pub fn lookup(name: &str) -> Option<&'static Builtin> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// How the parts of a type are computed.
#[derive(Clone, Copy)]
struct Parts {
    is_single: bool,
}

impl Parts {
    fn of(dtype: DType) -> Self {
        Self { is_single: dtype.part() == DType::Float32 }
    }

    fn round(self, value: f64) -> f64 {
        if self.is_single { f64::from(value as f32) } else { value }
    }

    /// `a * b + c`, rounded once.
    fn fused(self, a: f64, b: f64, c: f64) -> f64 {
        if self.is_single { f64::from((a as f32).mul_add(b as f32, c as f32)) } else { a.mul_add(b, c) }
    }

    fn product(self, (a, b): Complex, (c, d): Complex) -> Complex {
        (self.fused(a, c, -self.round(b * d)), self.fused(b, c, self.round(a * d)))
    }

    fn quotient(self, (a, b): Complex, (c, d): Complex) -> Option<Complex> {
        let is_finite = [a, b, c, d].into_iter().all(f64::is_finite);
        if !is_finite || (c, d) == (0.0, 0.0) {
            return None;
        }
        let is_real_greater = c.abs() >= d.abs();
        let ((greater, less), (with, across)) = if is_real_greater { ((c, d), (a, b)) } else { ((d, c), (b, a)) };
        let ratio = self.round(less / greater);
        let divisor = self.fused(less, ratio, greater);
        let real = self.fused(across, ratio, with);
        let imaginary =
            if is_real_greater { self.fused(-with, ratio, across) } else { self.fused(with, ratio, -across) };
        Some((self.round(real / divisor), self.round(imaginary / divisor)))
    }

    fn magnitude(self, (a, b): Complex) -> f64 {
        let (greater, less) = (a.abs().max(b.abs()), a.abs().min(b.abs()));
        if less == 0.0 || !greater.is_finite() {
            return greater;
        }
        let ratio = self.round(less / greater);
        let root = self.round(self.fused(ratio, ratio, 1.0).sqrt());
        self.round(greater * root)
    }
}

/// Applies an operator to two elements of a complex type.
pub fn operate(operator: Operator, dtype: DType, one: Complex, other: Complex) -> Option<Complex> {
    let parts = Parts::of(dtype);
    match operator {
        Operator::Add => Some((one.0 + other.0, one.1 + other.1)),
        Operator::Sub => Some((one.0 - other.0, one.1 - other.1)),
        Operator::Mul => Some(parts.product(one, other)),
        Operator::Div => parts.quotient(one, other),
        _ => None,
    }
}

/// Python's own arithmetic, without contraction; `None` where it raises, or is not modelled.
pub fn python<'a>(operator: Operator, one: Complex, other: Complex) -> Option<Value<'a>> {
    let ((a, b), (c, d)) = (one, other);
    let (real, imaginary) = match operator {
        Operator::Add => (a + c, b + d),
        Operator::Sub => (a - c, b - d),
        Operator::Mul => (a * c - b * d, a * d + b * c),
        Operator::Div if other == (0.0, 0.0) => return None,
        Operator::Div if c.abs() >= d.abs() => {
            let ratio = d / c;
            let divisor = c + d * ratio;
            ((a + b * ratio) / divisor, (b - a * ratio) / divisor)
        }
        Operator::Div => {
            let ratio = c / d;
            let divisor = c * ratio + d;
            ((a * ratio + b) / divisor, (b * ratio - a) / divisor)
        }
        Operator::Eq => return Some(Value::Bool(one == other)),
        Operator::Ne => return Some(Value::Bool(one != other)),
        _ => return None,
    };
    Some(Value::Complex(real, imaginary))
}

/// A Python number as a complex one.
pub fn of_number(value: &Value<'_>) -> Option<Complex> {
    match value {
        Value::Complex(real, imaginary) => Some((*real, *imaginary)),
        value => value.real().map(|real| (real, 0.0)),
    }
}

/// The absolute values of complex numbers.
pub fn magnitudes(array: &Array) -> Result<Array> {
    let parts = Parts::of(array.dtype());
    let sizes = array.complexes().into_iter().map(|number| parts.magnitude(number));
    Array::from_reals(array.dtype().part(), array.shape(), sizes)
}

/// Refuses complex numbers, for a function that would lose their imaginary parts.
pub fn refuse(array: &Array, span: Span) -> Outcome<()> {
    match array.dtype().kind() {
        DTypeKind::Complex => Err(Problem::new(span, "complex numbers are not supported here")),
        DTypeKind::Bool | DTypeKind::Signed | DTypeKind::Unsigned | DTypeKind::Real => Ok(()),
    }
}

fn elementwise<'a>(
    numeric: &mut NumericState,
    arguments: &Arguments<'a>,
    function: &dyn Fn(&Array) -> Result<Array>,
) -> Outcome<Value<'a>> {
    let (value, span) = arguments.required(0)?;
    let mode = numeric.settings.mode;
    numeric.lift(arguments.span, std::slice::from_ref(value), &|values| {
        let Tensor { array, weak } = tensor(mode, &values[0], span)?;
        let result = function(&array).map_err(|error| problem(span, &error))?;
        if [&*array, &result].into_iter().any(has_subnormals) {
            return Err(Problem::new(span, SUBNORMAL));
        }
        Ok(Value::Array(Tensor { array: Rc::new(result), weak }))
    })
}

/// `jnp.real(val)`, `jnp.imag(val)`
fn part<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>, of: fn(Complex) -> f64) -> Outcome<Value<'a>> {
    elementwise(numeric, arguments, &|array| {
        Array::from_reals(array.dtype().part(), array.shape(), array.complexes().into_iter().map(of))
    })
}

/// `jnp.conj(x)`
fn conjugate<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    elementwise(numeric, arguments, &|array| {
        if array.dtype().kind() != DTypeKind::Complex {
            return Ok(array.clone());
        }
        let conjugates = array.complexes().into_iter().map(|(real, imaginary)| (real, -imaginary));
        Array::from_complexes(array.dtype(), array.shape(), conjugates)
    })
}
