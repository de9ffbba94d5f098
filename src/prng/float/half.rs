//! `float16` and `bfloat16`: 16-bit numbers, whose arithmetic is done in `float32`.
//!
//! **Invariant:** both hold a `float32` that is representable in 16 bits. Rounding a `float32` result is the same as
//! rounding the exact one for sums, differences and products, because 24 bits are more than twice 11 plus two.

use std::ops::{Add, Mul, Neg, Sub};

use super::{Float, single};
use crate::prng::dtype::DType;

/// An IEEE 754 binary16 number.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Float16(f32);

/// A number with the sign and exponent of `float32` and eight bits of significand.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Bfloat16(f32);

/// Rounds to the nearest multiple of the unit in the last place, ties to even. The format stores `mantissa` bits;
/// `least` is the exponent of its least normal number, `greatest` its greatest number.
fn round(value: f64, mantissa: i32, least: i32, greatest: f64) -> f32 {
    if value == 0.0 || !value.is_finite() {
        return f32::from_f64(value);
    }
    let unit = 2.0_f64.powi(exponent(value).max(least) - mantissa);
    let rounded = (value / unit).round_ties_even() * unit;
    f32::from_f64(if rounded.abs() > greatest { f64::INFINITY.copysign(value) } else { rounded })
}

/// The binary exponent of a finite nonzero number; -1023 for subnormal numbers of `float64`.
fn exponent(value: f64) -> i32 {
    i32::try_from(value.to_bits() >> 52 & 0x7FF).unwrap_or(0) - 1023
}

/// The next greater multiple of the unit in the last place.
fn next_up(value: f32, mantissa: i32, least: i32) -> f64 {
    let value = f64::from(value);
    if value == 0.0 {
        return 2.0_f64.powi(least - mantissa);
    }
    // Just above a negative power of two, numbers are twice as dense.
    let binade = if value < 0.0 { exponent(value.next_up()) } else { exponent(value) };
    value + 2.0_f64.powi(binade.max(least) - mantissa)
}

/// A binary operation: computed in `float32`, then rounded.
macro_rules! operation {
    ($name:ident, $trait:ident, $method:ident, $operator:tt) => {
        impl $trait for $name {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                Self::from_f64((self.0 $operator other.0).into())
            }
        }
    };
}

macro_rules! half {
    ($name:ident, $dtype:ident, $random_bits:expr, $mantissa:expr, $least:expr, $greatest:expr, $tiny:expr) => {
        impl Float for $name {
            const DTYPE: DType = DType::$dtype;
            const RANDOM_BITS: u32 = $random_bits;
            const MANTISSA: u32 = $mantissa;
            const TINY: Self = Self($tiny);
            const EPS: Self = Self(1.0 / (1_u32 << $mantissa) as f32);
            const ABOVE_MINUS_ONE: Self = Self(0.5 / (1_u32 << $mantissa) as f32 - 1.0);
            const ZERO: Self = Self(0.0);
            const ONE: Self = Self(1.0);

            fn from_f64(value: f64) -> Self {
                Self(round(value, $mantissa, $least, $greatest))
            }
            fn to_f64(self) -> f64 {
                self.0.into()
            }
            /// The product is rounded before the sum is formed.
            fn times_plus(self, factor: Self, addend: Self) -> Self {
                self * factor + addend
            }
            fn xla_log(self) -> Self {
                Self::from_f64(single::log(self.0).into())
            }
            fn xla_log1p(self) -> Self {
                Self::from_f64(single::log1p(self.0).into())
            }
            fn xla_tan(self) -> Self {
                Self::from_f64(self.0.xla_tan().into())
            }
            fn xla_erf_inv(self) -> Self {
                Self::from_f64(single::erf_inv(self.0).into())
            }
            fn xla_erf(self) -> Option<Self> {
                Some(Self::from_f64(single::erf(self.0).into()))
            }
            fn next_up(self) -> Self {
                Self::from_f64(next_up(self.0, $mantissa, $least))
            }
        }

        operation!($name, Add, add, +);
        operation!($name, Sub, sub, -);
        operation!($name, Mul, mul, *);

        impl Neg for $name {
            type Output = Self;
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }
    };
}

half!(Float16, Float16, 16, 10, -14, 65504.0, 6.103_515_6e-5);
half!(Bfloat16, Bfloat16, 8, 7, -126, 3.389_531_389_251_535_5e38, f32::MIN_POSITIVE);
