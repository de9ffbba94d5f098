//! Floating-point arithmetic as XLA:CPU does it, for the four element types JAX samples.
//!
//! Samplers are generic over [`Float`]. The types differ in when results are rounded:
//!
//! | type | arithmetic |
//! |---|---|
//! | `float32`, `float64` | IEEE, but `a * b + c` is rounded once, because XLA's code generator contracts it |
//! | `float16`, `bfloat16` | every operation in `float32`, its result rounded to 16 bits |
//!
//! A processor with native `float16` arithmetic (AVX512-FP16) contracts that too; the reference is a processor without.
//!
//! **Invariant:** a value is always representable in its type. The elementary functions of `float32` call no C library,
//! so they give the same bits on every machine.

#![expect(
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "the integers converted have fewer bits than a significand, and equality has to be exact to the bit"
)]

pub mod double;
pub mod half;
pub mod single;

use std::ops::{Add, Mul, Neg, Sub};

use super::dtype::DType;

/// The operations that samplers need from an element type. A name begins with `xla_` if the standard library has a
/// function for the same purpose that rounds differently.
#[expect(clippy::return_self_not_must_use, reason = "a number that is computed and dropped harms no one")]
pub trait Float:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// The type itself.
    const DTYPE: DType;
    /// Bits drawn for one uniform value (`bfloat16` needs only eight).
    const RANDOM_BITS: u32;
    /// Bits of the significand that are stored.
    const MANTISSA: u32;
    /// The least positive normal number, `finfo.tiny`.
    const TINY: Self;
    /// The distance from 1 to the next greater number, `finfo.eps`.
    const EPS: Self;
    /// The negation of the greatest number below 1: the lower bound of the uniform values from which `normal` computes.
    const ABOVE_MINUS_ONE: Self;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// The same number, exactly.
    fn to_f64(self) -> f64;

    /// `self * factor + addend`, contracted where XLA contracts it.
    fn times_plus(self, factor: Self, addend: Self) -> Self;
    /// The natural logarithm.
    fn xla_log(self) -> Self;
    /// The natural logarithm of `1 + self`.
    fn xla_log1p(self) -> Self;
    /// The tangent.
    fn xla_tan(self) -> Self;
    /// The inverse of the error function.
    fn xla_erf_inv(self) -> Self;
    /// The error function; `None` if no implementation is exact enough.
    fn xla_erf(self) -> Option<Self>;
    /// The next number towards positive infinity.
    fn next_up(self) -> Self;

    /// The absolute value.
    fn absolute(self) -> Self {
        if self.to_f64().is_sign_negative() { -self } else { self }
    }
    /// The next number towards negative infinity.
    fn next_down(self) -> Self {
        -(-self).next_up()
    }
    /// The greater of two numbers; NaN if either is NaN, as in XLA's `maximum`.
    fn xla_maximum(self, other: Self) -> Self {
        if self >= other || self.to_f64().is_nan() { self } else { other }
    }
    /// The smaller of two numbers; NaN if either is NaN, as in XLA's `minimum`.
    fn xla_minimum(self, other: Self) -> Self {
        if self <= other || self.to_f64().is_nan() { self } else { other }
    }
    /// Random bits as a number in `[0, 1)`: their high bits divided by `2^MANTISSA`, which is exact.
    fn unit(bits: u64) -> Self {
        let numerator = bits >> (Self::RANDOM_BITS - Self::MANTISSA);
        Self::from_f64(numerator as f64 / (1_u64 << Self::MANTISSA) as f64)
    }
}

/// Evaluates a polynomial at `x` by Horner's rule with fused multiply-adds, highest coefficient first.
macro_rules! horner {
    ($x:expr, $first:expr $(, $rest:expr)* $(,)?) => {{
        let value = $first;
        $(let value = value.mul_add($x, $rest);)*
        value
    }};
}
pub(super) use horner;
