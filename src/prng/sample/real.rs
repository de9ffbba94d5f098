//! Floating-point samplers: `uniform`, and distributions that are computed from one uniform value.
//!
//! **Invariant:** every sampler here takes exactly one uniform value for each element (two for `gumbel` in high
//! resolution), so their results for one key are functions of one another.

use super::bits::draw;
use super::{Resolution, real_type, with_float};
use crate::prng::array::Array;
use crate::prng::derive::split_in_two;
use crate::prng::dtype::{DType, DTypeKind};
use crate::prng::error::{Error, Result};
use crate::prng::float::Float;
use crate::prng::float::half::{Bfloat16, Float16};
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;

/// `jax.random.uniform(key, shape, dtype, minval, maxval)`.
///
/// The high bits of a draw become the significand of a number in `[1, 2)`; one is subtracted, and the result is scaled to
/// the range. Exact; outside the unit interval because XLA fuses `unit * (maxval - minval) + minval`.
pub fn uniform(
    mode: Mode,
    keys: &Keys,
    shape: &[usize],
    dtype: Option<DType>,
    minval: &Array,
    maxval: &Array,
) -> Result<Array> {
    let dtype = real_type("uniform", mode, dtype)?;
    let shape = [keys.shape(), shape].concat();
    let minval = minval.cast(dtype).broadcast_to("uniform", &shape)?.reals();
    let maxval = maxval.cast(dtype).broadcast_to("uniform", &shape)?.reals();
    with_float!("uniform", dtype, F => {
        let units = units::<F>(mode, keys, &shape)?;
        let values = units.zip(minval).zip(maxval).map(|((unit, low), high)| {
            between(unit, F::from_f64(low), F::from_f64(high)).to_f64()
        });
        Array::from_reals(dtype, &shape, values)
    })
}

/// `jax.random.normal(key, shape, dtype)`: `√2 erf⁻¹(u)` for `u` uniform in `(-1, 1)`.
///
/// Exact in `float32`; within 2 units in the last place in `float64`.
pub fn normal(mode: Mode, keys: &Keys, shape: &[usize], dtype: Option<DType>) -> Result<Array> {
    let complex = dtype.map(|dtype| dtype.canonical(mode)).filter(|dtype| dtype.kind() == DTypeKind::Complex);
    if let Some(dtype) = complex {
        return complex_normal(mode, keys, shape, dtype);
    }
    let dtype = real_type("normal", mode, dtype)?;
    with_float!("normal", dtype, F => map::<F>(mode, keys, shape, |unit| {
        sqrt_2::<F>() * symmetric(unit).xla_erf_inv()
    }))
}

/// A complex normal value has two normal parts, one from each of the two children of the key, each with half the variance.
fn complex_normal(mode: Mode, keys: &Keys, shape: &[usize], dtype: DType) -> Result<Array> {
    let (real_key, imaginary_key) = split_in_two(mode, keys)?;
    let part = dtype.part();
    let half = Array::real(part, std::f64::consts::FRAC_1_SQRT_2).number(0);
    let draw = |keys: &Keys| normal(mode, keys, shape, Some(part));
    let (real, imaginary) = (draw(&real_key)?, draw(&imaginary_key)?);
    let pairs = real.reals().into_iter().zip(imaginary.reals());
    Array::from_complexes(dtype, real.shape(), pairs.map(|(a, b)| (a * half, b * half)))
}

/// `jax.random.truncated_normal(key, lower, upper, shape, dtype)`: like [`normal`], with `u` uniform between the error
/// functions of the bounds, and the result clamped to lie strictly between the bounds.
///
/// Exact in `float32`; not supported in `float64`, for which JAX calls the C library's error function.
pub fn truncated_normal(
    mode: Mode,
    keys: &Keys,
    lower: &Array,
    upper: &Array,
    shape: &[usize],
    dtype: Option<DType>,
) -> Result<Array> {
    let dtype = real_type("truncated_normal", mode, dtype)?;
    let shape = [keys.shape(), shape].concat();
    let lower = lower.cast(dtype).broadcast_to("truncated_normal", &shape)?.reals();
    let upper = upper.cast(dtype).broadcast_to("truncated_normal", &shape)?.reals();
    with_float!("truncated_normal", dtype, F => {
        let draw = |((unit, lower), upper): ((F, f64), f64)| -> Option<f64> {
            let (lower, upper) = (F::from_f64(lower), F::from_f64(upper));
            let level = |bound: F| (bound * F::from_f64(std::f64::consts::FRAC_1_SQRT_2)).xla_erf();
            let value = sqrt_2::<F>() * between(unit, level(lower)?, level(upper)?).xla_erf_inv();
            Some(value.xla_maximum(lower.next_up()).xla_minimum(upper.next_down()).to_f64())
        };
        let values: Option<Vec<f64>> = units::<F>(mode, keys, &shape)?.zip(lower).zip(upper).map(draw).collect();
        match values {
            Some(values) => Array::from_reals(dtype, &shape, values),
            None => Err(Error::Unsupported {
                what: format!("truncated_normal in {dtype}"),
                why: "JAX takes the error function from the C library",
            }),
        }
    })
}

/// `jax.random.exponential(key, shape, dtype)`: `-log1p(-u)`. Exact in `float32`.
pub fn exponential(mode: Mode, keys: &Keys, shape: &[usize], dtype: Option<DType>) -> Result<Array> {
    let dtype = real_type("exponential", mode, dtype)?;
    with_float!("exponential", dtype, F => map::<F>(mode, keys, shape, |unit| -(-unit).xla_log1p()))
}

/// `jax.random.gumbel(key, shape, dtype, mode)`: `-log(-log(u))`. Exact in `float32`.
pub fn gumbel(mode: Mode, keys: &Keys, shape: &[usize], dtype: Option<DType>, resolution: Resolution) -> Result<Array> {
    let dtype = real_type("gumbel", mode, dtype)?;
    with_float!("gumbel", dtype, F => match resolution {
        Resolution::Low => map::<F>(mode, keys, shape, |unit| -(-positive(unit).xla_log()).xla_log()),
        Resolution::High => {
            let values = two_units::<F>(mode, keys, shape)?.into_iter().map(|(high, low)| {
                let half = F::from_f64(0.5);
                let scale = F::EPS;
                let value = if high >= half { high } else { low.times_plus(scale, high) + F::TINY };
                (-(-(-value).xla_log1p()).xla_log()).to_f64()
            });
            Array::from_reals(dtype, &[keys.shape(), shape].concat(), values)
        }
    })
}

/// `jax.random.laplace(key, shape, dtype)`: `sign(u) log1p(-|u|)` for `u` uniform in `(-1, 1)`. Exact in `float32`.
pub fn laplace(mode: Mode, keys: &Keys, shape: &[usize], dtype: Option<DType>) -> Result<Array> {
    let dtype = real_type("laplace", mode, dtype)?;
    with_float!("laplace", dtype, F => map::<F>(mode, keys, shape, |unit| {
        let value = symmetric(unit);
        let size = (-value.absolute()).xla_log1p();
        if value > F::ZERO {
            size
        } else if value < F::ZERO {
            -size
        } else {
            value * size
        }
    }))
}

/// `jax.random.logistic(key, shape, dtype)`: `log(u) - log1p(-u)`. Exact in `float32`.
pub fn logistic(mode: Mode, keys: &Keys, shape: &[usize], dtype: Option<DType>) -> Result<Array> {
    let dtype = real_type("logistic", mode, dtype)?;
    with_float!("logistic", dtype, F => map::<F>(mode, keys, shape, |unit| {
        let value = positive(unit);
        value.xla_log() - (-value).xla_log1p()
    }))
}

/// `jax.random.cauchy(key, shape, dtype)`: `tan(π (u - ½))`. Within one unit in the last place in `float32`.
pub fn cauchy(mode: Mode, keys: &Keys, shape: &[usize], dtype: Option<DType>) -> Result<Array> {
    let dtype = real_type("cauchy", mode, dtype)?;
    with_float!("cauchy", dtype, F => map::<F>(mode, keys, shape, |unit| {
        let centred = between(unit, F::EPS, F::ONE) - F::from_f64(0.5);
        (F::from_f64(std::f64::consts::PI) * centred).xla_tan()
    }))
}

/// Uniform values in `[0, 1)` to fill `shape`, which starts with the shape of the keys.
pub(super) fn units<F: Float>(mode: Mode, keys: &Keys, shape: &[usize]) -> Result<impl Iterator<Item = F> + use<F>> {
    Ok(draw(mode, keys, shape, F::RANDOM_BITS)?.into_iter().map(F::unit))
}

/// The values of `uniform(key, (2, *shape))`, paired along its first axis.
pub(super) fn two_units<F: Float>(mode: Mode, keys: &Keys, shape: &[usize]) -> Result<Vec<(F, F)>> {
    let doubled = [keys.shape(), &[2], shape].concat();
    let values: Vec<F> = units(mode, keys, &doubled)?.collect();
    let each = values.len() / keys.len().max(1);
    let mut pairs = Vec::with_capacity(values.len() / 2);
    for of_key in values.chunks_exact(each.max(1)) {
        let (first, second) = of_key.split_at(each / 2);
        pairs.extend(first.iter().copied().zip(second.iter().copied()));
    }
    Ok(pairs)
}

/// Maps the unit interval to `[low, high)`.
fn between<F: Float>(unit: F, low: F, high: F) -> F {
    low.xla_maximum(unit.times_plus(high - low, low))
}

/// Maps the unit interval to the numbers between -1 and 1.
pub(super) fn symmetric<F: Float>(unit: F) -> F {
    between(unit, F::ABOVE_MINUS_ONE, F::ONE)
}

/// Replaces zero by the least positive normal number: JAX's `minval=finfo.tiny`, which is lost to rounding in every other sum.
fn positive<F: Float>(unit: F) -> F {
    F::TINY.xla_maximum(unit)
}

fn sqrt_2<F: Float>() -> F {
    F::from_f64(std::f64::consts::SQRT_2)
}

/// Applies `transform` to one uniform value for each element.
fn map<F: Float>(mode: Mode, keys: &Keys, shape: &[usize], transform: impl Fn(F) -> F) -> Result<Array> {
    let shape = [keys.shape(), shape].concat();
    let values = units::<F>(mode, keys, &shape)?.map(|unit| transform(unit).to_f64());
    Array::from_reals(F::DTYPE, &shape, values)
}
