//! Integers and booleans.
//!
//! **Invariant:** everything here is exact: no result depends on an approximated function.

use super::bits::draw;
use super::real::{two_units, units};
use super::{Resolution, with_float};
use crate::prng::array::Array;
use crate::prng::derive::split_in_two;
use crate::prng::dtype::{DType, DTypeKind};
use crate::prng::error::{Error, Result};
use crate::prng::float::Float;
use crate::prng::float::half::{Bfloat16, Float16};
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;

/// `jax.random.randint(key, shape, minval, maxval, dtype)`. Exact.
///
/// Two draws, one from each of the two children of the key, form a number of twice the width, which is reduced modulo the
/// span. 8- and 16-bit types are drawn as `int32`, as in JAX since 0.7.2.
pub fn randint(
    mode: Mode,
    keys: &Keys,
    shape: &[usize],
    minval: &Array,
    maxval: &Array,
    dtype: Option<DType>,
) -> Result<Array> {
    let dtype = dtype.map_or(DType::default_int(mode), |dtype| dtype.canonical(mode));
    if !dtype.is_integer() {
        return Err(Error::DrawType { function: "randint", expected: "integers", got: dtype });
    }
    let narrow = dtype.width() < 32;
    let drawn_type = if narrow { DType::Int32 } else { dtype };
    let shape = [keys.shape(), shape].concat();
    let bound = |bound: &Array, extra: i128| -> Result<(DType, Vec<i128>)> {
        let mut bound = if bound.dtype().is_integer() { bound.clone() } else { bound.cast(DType::default_int(mode)) };
        if narrow {
            let (low, high) = dtype.bounds();
            let clipped = bound.cast(DType::Int32).integers().into_iter().map(|value| value.clamp(low, high + extra));
            bound = Array::from_integers(DType::Int32, bound.shape(), clipped)?;
        }
        Ok((bound.dtype(), bound.broadcast_to("randint", &shape)?.integers()))
    };
    let (_, minval) = bound(minval, 0)?;
    let (maxval_type, maxval) = bound(maxval, 1)?;

    let (first, second) = split_in_two(mode, keys)?;
    let high = draw(mode, &first, &shape, drawn_type.width())?;
    let low = draw(mode, &second, &shape, drawn_type.width())?;
    let range = Range { dtype: drawn_type, greatest: drawn_type.bounds().1.min(maxval_type.bounds().1) };
    let values = minval
        .into_iter()
        .zip(maxval)
        .zip(high.into_iter().zip(low))
        .map(|((minval, maxval), (high, low))| range.reduce(minval, maxval, high, low));
    let drawn = Array::from_integers(drawn_type, &shape, values)?;
    Ok(if narrow { drawn.cast(dtype) } else { drawn })
}

/// The type of a `randint`, and the greatest upper bound that is in range.
struct Range {
    dtype: DType,
    greatest: i128,
}

impl Range {
    /// Reduces the number `high * 2^width + low` to `[minval, maxval)`, in arithmetic modulo `2^width`.
    fn reduce(&self, minval: i128, maxval: i128, high: u64, low: u64) -> i128 {
        let width = self.dtype.width();
        let mask = u64::MAX >> (64 - width);
        // As in XLA, the remainder of a division by zero is the dividend.
        let rem = |a: u64, b: u64| a.checked_rem(b).unwrap_or(a);
        let (least, greatest) = self.dtype.bounds();
        let out_of_range = maxval > self.greatest;
        let (minval, maxval) = (minval.clamp(least, greatest), maxval.clamp(least, greatest));
        let span = if maxval <= minval {
            1
        } else {
            // One more if the upper bound was clipped. The span of the full range wraps to zero, and then nothing is reduced.
            let span = u64::try_from(maxval - minval).unwrap_or(u64::MAX);
            span.wrapping_add(out_of_range.into()) & mask
        };
        let root = rem(1 << (width / 2), span);
        let multiplier = rem(root.wrapping_mul(root) & mask, span);
        let offset = rem(high, span).wrapping_mul(multiplier).wrapping_add(rem(low, span)) & mask;
        minval + i128::from(rem(offset, span))
    }
}

/// `jax.random.bernoulli(key, p, shape, mode)`: whether a uniform value of the type of `p` is less than `p`. Exact.
/// The shape defaults to that of `p`.
pub fn bernoulli(mode: Mode, keys: &Keys, p: &Array, shape: Option<&[usize]>, resolution: Resolution) -> Result<Array> {
    let dtype = p.dtype();
    if dtype.kind() != DTypeKind::Real {
        let problem = format!("probability `p` must have a floating dtype, got {dtype}");
        return Err(Error::Argument { function: "bernoulli", problem });
    }
    let own = shape.unwrap_or(p.shape());
    let shape = [keys.shape(), own].concat();
    let p = p.broadcast_to("bernoulli", &shape)?.reals();
    with_float!("bernoulli", dtype, F => {
        let values = match resolution {
            Resolution::Low => {
                units::<F>(mode, keys, &shape)?.zip(p).map(|(unit, p)| unit < F::from_f64(p)).collect()
            }
            Resolution::High => two_units::<F>(mode, keys, own)?
                .into_iter()
                .zip(p)
                .map(|((first, second), p)| second * F::EPS < F::from_f64(p) - first)
                .collect(),
        };
        Array::from_bools(&shape, values)
    })
}

/// `jax.random.rademacher(key, shape, dtype)`: -1 or 1 with equal probability. Exact.
pub fn rademacher(mode: Mode, keys: &Keys, shape: &[usize], dtype: Option<DType>) -> Result<Array> {
    let dtype = dtype.map_or(DType::default_int(mode), |dtype| dtype.canonical(mode));
    if dtype == DType::Bool {
        return Err(Error::DrawType { function: "rademacher", expected: "signed numbers", got: dtype });
    }
    let heads = bernoulli(mode, keys, &Array::python_float(mode, 0.5), Some(shape), Resolution::Low)?;
    let signs = heads.integers().into_iter().map(|head| 2 * head - 1);
    Array::from_integers(dtype, heads.shape(), signs)
}
