//! Gamma variates, and the distributions that are computed from them.
//!
//! JAX draws a gamma variate by the method of Marsaglia and Tsang: a loop rejects candidates, each with its own keys. One
//! rounded bit could turn an acceptance into a rejection, and so change the whole number. The arithmetic is that of XLA's
//! `float32`. If the two sides of a condition are so close that XLA's code might decide differently, the draw is an error.
//!
//! **Invariant:** a candidate is accepted only if the condition holds by more than the rounding error of both sides.

use super::formula::{Draw, Elements};
use super::integer::rademacher;
use super::real::{exponential, normal, symmetric, units};
use crate::prng::array::Array;
use crate::prng::derive;
use crate::prng::dtype::DType;
use crate::prng::error::{Error, Result};
use crate::prng::float::Float as _;
use crate::prng::float::single::{exp, log, log1p, power, sum};
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;

/// The maximum number of candidates for one number; the probability of needing more is less than one in 10⁶⁰.
const CANDIDATES: usize = 128;

/// The least side (the cube root of a volume) at which one unit in the last place changes the volume by less than 3·10⁻⁵ of it.
const LEAST: f32 = 1.0 / 64.0;

/// `jax.random.gamma(key, a, shape, dtype)`.
pub(super) fn gamma(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("gamma")?;
    let values = variates(draw.mode, draw.keys, elements.parameter(0), Scale::Linear)?;
    made(elements, values)
}

/// `jax.random.loggamma(key, a, shape, dtype)`: the logarithm, computed directly.
pub(super) fn loggamma(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("loggamma")?;
    let values = variates(draw.mode, draw.keys, elements.parameter(0), Scale::Logarithm)?;
    made(elements, values)
}

/// `jax.random.chisquare(key, df, shape, dtype)`: `2 exp(g)` for a `loggamma` of half the degrees of freedom.
pub(super) fn chisquare(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("chisquare")?;
    let values = chi_squares(draw.mode, draw.keys, elements.parameter(0))?;
    made(elements, values)
}

/// `jax.random.f(key, dfnum, dfden, shape, dtype)`: the ratio of two mean squares.
pub(super) fn f(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("f")?;
    let (of_denominator, of_numerator) = derive::split_in_two(draw.mode, draw.keys)?;
    let numerators = chi_squares(draw.mode, &of_numerator, elements.parameter(0))?;
    let denominators = chi_squares(draw.mode, &of_denominator, elements.parameter(1))?;
    let mean = |which: usize, sum: f32, count: f32| {
        if elements.is_single(which) { sum * (1.0 / count) } else { sum / count }
    };
    let degrees = elements.parameter(0).iter().zip(elements.parameter(1));
    let values = numerators.into_iter().zip(denominators).zip(degrees);
    let values = values.map(|((over, under), (of_over, of_under))| mean(0, over, *of_over) / mean(1, under, *of_under));
    let values = values.collect();
    made(elements, values)
}

/// `jax.random.t(key, df, shape, dtype)`: a normal value divided by the root of a mean square.
pub(super) fn t(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("t")?;
    let (of_normal, of_gamma) = derive::split_in_two(draw.mode, draw.keys)?;
    let normals = draw.values(normal, &of_normal)?;
    let halves: Vec<f32> = elements.parameter(0).iter().map(|df| df * 0.5).collect();
    let gammas = variates(draw.mode, &of_gamma, &halves, Scale::Linear)?;
    let values = normals.zip(halves.iter().zip(gammas)).map(|(normal, (half, gamma))| normal * (half / gamma).sqrt());
    let values = values.collect();
    made(elements, values)
}

/// `jax.random.beta(key, a, b, shape, dtype)`: the share of one gamma variate in the sum of two.
pub(super) fn beta(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("beta")?;
    let (of_a, of_b) = derive::split_in_two(draw.mode, draw.keys)?;
    let ones = variates(draw.mode, &of_a, elements.parameter(0), Scale::Logarithm)?;
    let others = variates(draw.mode, &of_b, elements.parameter(1), Scale::Logarithm)?;
    let share = |(one, other): (f32, f32)| {
        let greatest = one.xla_maximum(other);
        let (one, other) = (exp(one - greatest), exp(other - greatest));
        one / (one + other)
    };
    let values = ones.into_iter().zip(others).map(share).collect();
    made(elements, values)
}

/// `jax.random.dirichlet(key, alpha, shape, dtype)`: the shares of gamma variates in their sum.
pub(super) fn dirichlet(draw: &Draw<'_>) -> Result<Array> {
    if draw.parameters.iter().any(|alpha| alpha.rank() == 0) {
        let problem = "alpha must have at least one axis".to_owned();
        return Err(Error::Argument { function: "dirichlet", problem });
    }
    let elements = draw.elements("dirichlet")?;
    let length = draw.shape.last().copied().unwrap_or(1);
    let logarithms = variates(draw.mode, draw.keys, elements.parameter(0), Scale::Logarithm)?;
    let mut values = Vec::with_capacity(logarithms.len());
    for row in logarithms.chunks_exact(length.max(1)) {
        let greatest = row.iter().copied().fold(f32::NEG_INFINITY, f32::xla_maximum);
        let shares: Vec<f32> = row.iter().map(|value| exp(value - greatest)).collect();
        let whole = sum(&shares);
        values.extend(shares.into_iter().map(|share| share * (1.0 / whole)));
    }
    made(elements, values)
}

/// `jax.random.generalized_normal(key, p, shape, dtype)`: `±g^(1/p)` for a gamma variate of `1/p`.
pub(super) fn generalized_normal(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("generalized_normal")?;
    let values = generalized(draw.mode, draw.keys, draw.shape, elements.parameter(0))?;
    made(elements, values)
}

/// `jax.random.ball(key, d, p, shape, dtype)`: a point of the `d`-dimensional ball; `d` is the last axis of the draw.
pub fn ball(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("ball")?;
    let (of_point, of_radius) = derive::split_in_two(draw.mode, draw.keys)?;
    let p = elements.parameter(0);
    let points = generalized(draw.mode, &of_point, draw.shape, p)?;
    let (length, rows) = draw.shape.split_last().map_or((1, draw.shape), |(length, rows)| (*length, rows));
    let radii = exponential(draw.mode, &of_radius, rows, Some(DType::Float32))?.reals();
    let mut values = Vec::with_capacity(points.len());
    let exponents = p.chunks_exact(length.max(1));
    for ((point, exponents), radius) in points.chunks_exact(length.max(1)).zip(exponents).zip(radii) {
        let exponent = exponents.first().copied().unwrap_or(f32::NAN);
        let powers: Vec<f32> = point.iter().map(|x| power(x.abs(), exponent)).collect();
        let norm = power(sum(&powers) + f32::from_f64(radius), 1.0 / exponent);
        values.extend(point.iter().map(|x| x * (1.0 / norm)));
    }
    made(elements, values)
}

/// The result. Subnormal elements are an error.
fn made(elements: Elements, values: Vec<f32>) -> Result<Array> {
    if values.iter().any(|value| value.is_subnormal()) { Err(subnormal()) } else { elements.array(values) }
}

/// Values of `generalized_normal`.
fn generalized(mode: Mode, keys: &Keys, shape: &[usize], p: &[f32]) -> Result<Vec<f32>> {
    let (of_size, of_sign) = derive::split_in_two(mode, keys)?;
    let inverses: Vec<f32> = p.iter().map(|p| 1.0 / p).collect();
    let sizes = variates(mode, &of_size, &inverses, Scale::Linear)?;
    let signs = rademacher(mode, &of_sign, shape, None)?.reals();
    let signed = |((size, inverse), sign): ((f32, f32), f64)| power(size, inverse) * f32::from_f64(sign);
    Ok(sizes.into_iter().zip(inverses).zip(signs).map(signed).collect())
}

fn chi_squares(mode: Mode, keys: &Keys, degrees: &[f32]) -> Result<Vec<f32>> {
    let halves: Vec<f32> = degrees.iter().map(|df| df * 0.5).collect();
    Ok(variates(mode, keys, &halves, Scale::Logarithm)?.into_iter().map(|value| exp(value) * 2.0).collect())
}

/// Whether to return variates or their logarithms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    Linear,
    Logarithm,
}

/// One variate for each parameter; the parameters of one key are adjacent.
fn variates(mode: Mode, keys: &Keys, parameters: &[f32], scale: Scale) -> Result<Vec<f32>> {
    let each = parameters.len() / keys.len().max(1);
    let keys = derive::split(mode, keys, &[each])?;
    let own = |index: usize| keys.gather(&[], &[index]);
    parameters.iter().enumerate().map(|(index, &alpha)| variate(mode, &own(index)?, alpha, scale)).collect()
}

fn variate(mode: Mode, key: &Keys, alpha: f32, scale: Scale) -> Result<f32> {
    const THIRD: f32 = 1.0 / 3.0;
    let (mut key, of_boost) = derive::split_in_two(mode, key)?;
    // For a parameter below one, JAX draws with the parameter plus one and multiplies by a power of a uniform value.
    let is_boosted = alpha < 1.0;
    let d = if is_boosted { alpha + 1.0 } else { alpha } - THIRD;
    if d.is_nan() || d <= 0.0 {
        return Ok(f32::NAN);
    }
    let root = f32::from_f64(1.0 / f64::from(d).sqrt());
    let volume = accepted(mode, &mut key, d, THIRD * root)?;
    Ok(match scale {
        Scale::Logarithm => {
            let sample = log1p(-unit(mode, &of_boost)?);
            let boost = if !is_boosted || sample == 0.0 { 0.0 } else { sample * (1.0 / alpha) };
            (log(d) + log(volume)) + boost
        }
        Scale::Linear => {
            let sample = 1.0 - unit(mode, &of_boost)?;
            let boost = if is_boosted { power(sample, 1.0 / alpha) } else { 1.0 };
            if boost.is_subnormal() {
                return Err(subnormal());
            }
            (d * volume) * boost
        }
    })
}

/// The first candidate that is accepted.
///
/// The factor `c` is a third of a reciprocal square root, which XLA computes from the processor's approximation and which
/// may be off by one unit in the last place. So each decision is also made for both neighbours of `c`, and all must agree.
fn accepted(mode: Mode, key: &mut Keys, d: f32, c: f32) -> Result<f32> {
    for _ in 0..CANDIDATES {
        let children = derive::split(mode, key, &[3])?;
        let child = |number: usize| children.gather(&[], &[number]);
        *key = child(0)?;
        let x = positive(mode, child(1)?, c)?;
        let unit = unit(mode, &child(2)?)?;
        let is_accepted = |c: f32| is_accepted(unit, x, d, side(x, c));
        let answer = is_accepted(c)?;
        if is_accepted(c.next_up())? != answer || is_accepted(c.next_down())? != answer {
            return Err(unclear());
        }
        if answer {
            let side = side(x, c);
            return if side < LEAST { Err(unclear()) } else { Ok(side * side * side) };
        }
    }
    Err(unclear())
}

/// The cube root of a candidate's volume.
fn side(x: f32, c: f32) -> f32 {
    x.mul_add(c, 1.0)
}

fn is_accepted(unit: f32, x: f32, d: f32, side: f32) -> Result<bool> {
    let (square, volume) = (x * x, side * side * side);
    let squeeze = (-0.0331_f32).mul_add(square * square, 1.0);
    if is_less(unit, squeeze, 1.0)? {
        return Ok(true);
    }
    let level = log(unit);
    let rest = log(volume);
    let bound = d.mul_add((1.0 - volume) + rest, square * 0.5);
    is_less(level, bound, square.max(level.abs()).max(d * rest.abs()))
}

/// A normal value whose side is positive.
fn positive(mode: Mode, mut key: Keys, c: f32) -> Result<f32> {
    for _ in 0..CANDIDATES {
        let (next, of_normal) = derive::split_in_two(mode, &key)?;
        key = next;
        let x = std::f32::consts::SQRT_2 * symmetric(unit(mode, &of_normal)?).xla_erf_inv();
        if is_less(0.0, side(x, c), 1.0)? {
            return Ok(x);
        }
    }
    Err(unclear())
}

/// Whether one number is less than another; an error if rounding errors in numbers of this `size` could change the answer.
fn is_less(one: f32, other: f32, size: f32) -> Result<bool> {
    let is_close = (one - other).abs() <= 2.0 * f32::EPSILON * size;
    if is_close { Err(unclear()) } else { Ok(one < other) }
}

fn unclear() -> Error {
    Error::Unsupported {
        what: "this draw".to_owned(),
        why: "a candidate is so close to rejection that XLA's rounding decides about it",
    }
}

fn subnormal() -> Error {
    Error::Unsupported {
        what: "this draw".to_owned(),
        why: "a number is subnormal, and XLA flushes such numbers on some machines",
    }
}

fn unit(mode: Mode, key: &Keys) -> Result<f32> {
    Ok(units::<f32>(mode, key, &[])?.next().unwrap_or(f32::NAN))
}
