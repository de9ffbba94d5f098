//! Counts drawn by rejection: Poisson, binomial and multinomial.
//!
//! If few events are expected, waiting times are added up; if many are expected, candidates are rejected. Both loops run
//! until every number of the draw is decided, and each round derives its keys for the whole draw.
//!
//! **Invariant:** sums, products and logarithms equal those of XLA's code to the bit: one different bit could turn an
//! acceptance into a rejection, and so change every number of a draw.

use super::formula::{Draw, single_type};
use super::real::units;
use super::select::cumulative_sum;
use crate::prng::array::Array;
use crate::prng::derive;
use crate::prng::dtype::{DType, DTypeKind};
use crate::prng::error::{Error, Result};
use crate::prng::float::single::{log, log_factorial, log1p};
use crate::prng::implementation::Implementation;
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;

/// The maximum number of rounds of a loop; the probability of needing more is less than one in 10³⁰.
const ROUNDS: usize = 1 << 10;

/// `jax.random.poisson(key, lam, shape, dtype)`.
pub(super) fn poisson(draw: &Draw<'_>) -> Result<Array> {
    let dtype = draw.dtype.map_or(DType::default_int(draw.mode), |dtype| dtype.canonical(draw.mode));
    if !matches!(dtype.kind(), DTypeKind::Signed | DTypeKind::Unsigned) {
        return Err(Error::DrawType { function: "poisson", expected: "integers", got: dtype });
    }
    if draw.keys.implementation() != Implementation::Threefry2x32 {
        let problem = "JAX supports it for threefry2x32 only".to_owned();
        return Err(Error::Argument { function: "poisson", problem });
    }
    let elements = Draw { dtype: Some(DType::Float32), ..*draw }.elements("poisson")?;
    let rates = elements.parameter(0);
    if rates.iter().any(|rate| !rate.is_finite() || *rate < 0.0) {
        return Err(Error::Unsupported {
            what: "poisson of a rate that is negative or not finite".to_owned(),
            why: "JAX gives no count of such a rate",
        });
    }
    let few = few_events(draw.mode, draw.keys, rates)?;
    let many = many_events(draw.mode, draw.keys, rates)?;
    let pick = |((rate, few), many): ((&f32, f32), f32)| match *rate {
        0.0 => 0.0,
        rate if rate < FEW => few,
        _ => many,
    };
    let counts: Vec<f32> = rates.iter().zip(few).zip(many).map(pick).collect();
    let greatest = counts.iter().fold(0.0_f32, |greatest, count| greatest.max(*count));
    if Array::real(DType::Float32, greatest.into()).integers().first().is_some_and(|count| *count > dtype.bounds().1) {
        return Err(Error::Unsupported {
            what: format!("poisson in {dtype} of so high a rate"),
            why: "XLA's result for a number out of range differs between machines",
        });
    }
    Ok(elements.array(counts)?.cast(dtype))
}

/// The rate from which candidates are rejected instead of adding waiting times.
const FEW: f32 = 10.0;

/// The rate that JAX substitutes for lower ones.
const STAND_IN_RATE: f32 = 1e5;

/// Uniform values for a draw of `count` numbers.
fn round(mode: Mode, keys: &Keys, count: usize) -> Result<Vec<f32>> {
    let each = count / keys.len().max(1);
    Ok(units::<f32>(mode, keys, &[keys.shape(), &[each]].concat())?.collect())
}

/// Knuth's method: counts events until the product of uniform values is too small.
fn few_events(mode: Mode, keys: &Keys, rates: &[f32]) -> Result<Vec<f32>> {
    let limit = |rate: f32| if rate < FEW { -rate } else { 0.0 };
    let (mut counts, mut levels) = (vec![0.0_f32; rates.len()], vec![0.0_f32; rates.len()]);
    let mut keys = keys.clone();
    for _ in 0..ROUNDS {
        if levels.iter().zip(rates).all(|(level, rate)| *level <= limit(*rate)) {
            return Ok(counts.into_iter().map(|count| count - 1.0).collect());
        }
        let (next, of_units) = derive::split_in_two(mode, &keys)?;
        keys = next;
        let units = round(mode, &of_units, rates.len())?;
        for (((count, level), rate), unit) in counts.iter_mut().zip(&mut levels).zip(rates).zip(units) {
            if *level > limit(*rate) {
                *count += 1.0;
            }
            *level += log(unit);
        }
    }
    Err(endless())
}

/// Hörmann's transformed rejection.
fn many_events(mode: Mode, keys: &Keys, rates: &[f32]) -> Result<Vec<f32>> {
    if rates.iter().all(|rate| *rate < FEW) {
        return Ok(vec![0.0; rates.len()]);
    }
    // JAX also draws for the elements that use the other method, and continues until it has accepted a number for each.
    let rates: Vec<f32> = rates.iter().map(|rate| if *rate < FEW { STAND_IN_RATE } else { *rate }).collect();
    let mut counts: Vec<Option<f32>> = vec![None; rates.len()];
    let mut keys = keys.clone();
    for _ in 0..ROUNDS {
        if counts.iter().all(Option::is_some) {
            return Ok(counts.into_iter().flatten().collect());
        }
        let (next, us, vs) = candidates(mode, &keys, rates.len())?;
        keys = next;
        for (((count, rate), u), v) in counts.iter_mut().zip(&rates).zip(us).zip(vs) {
            // JAX continues to draw for elements that already have a number, and keeps the number that it accepts last.
            if let Some(found) = events(*rate, u - 0.5, v) {
                *count = Some(found);
            }
        }
    }
    Err(endless())
}

/// The keys of the next round, and two uniform values for each number.
fn candidates(mode: Mode, keys: &Keys, count: usize) -> Result<(Keys, Vec<f32>, Vec<f32>)> {
    let children = derive::split(mode, keys, &[3])?;
    let child = |number: usize| {
        let positions: Vec<usize> = (0..keys.len()).map(|index| 3 * index + number).collect();
        children.gather(keys.shape(), &positions)
    };
    Ok((child(0)?, round(mode, &child(1)?, count)?, round(mode, &child(2)?, count)?))
}

/// The count of a candidate, if it is accepted.
fn events(rate: f32, u: f32, v: f32) -> Option<f32> {
    let b = 2.53_f32.mul_add(rate.sqrt(), 0.931);
    let a = 0.024_83_f32.mul_add(b, -0.059);
    let inverse = 1.123_9 + 1.132_8 / (b - 3.4);
    let limit = 0.927_7 - 3.622_4 / (b - 2.0);
    let distance = 0.5 - u.abs();
    let count = ((2.0 * a / distance + b).mul_add(u, rate) + 0.43).floor();
    if distance >= 0.07 && v <= limit {
        return Some(count);
    }
    if count < 0.0 || distance < 0.013 && v > distance {
        return None;
    }
    let level = log(v * inverse / (a / (distance * distance) + b));
    let bound = count.mul_add(log(rate), -rate) - log_factorial(count);
    (level <= bound).then_some(count)
}

/// `jax.random.binomial(key, n, p, shape, dtype)`.
pub(super) fn binomial(draw: &Draw<'_>) -> Result<Array> {
    single_type("binomial", draw.mode, draw.dtype)?;
    // JAX computes in the type of the probability, whatever the type of the result.
    let probability = draw.parameters.get(1).map(Array::dtype).filter(|dtype| dtype.kind() == DTypeKind::Real);
    let elements = Draw { dtype: probability, ..*draw }.elements("binomial")?;
    let counts = binomials(draw.mode, draw.keys, elements.parameter(0), elements.parameter(1))?;
    elements.array(counts)
}

/// `jax.random.multinomial(key, n, p, shape, dtype)`: one binomial count for each category, out of the remaining trials.
/// The shape is that of the result; the last axis of `n` has length one.
pub fn multinomial(draw: &Draw<'_>) -> Result<Array> {
    if draw.shape.is_empty() {
        let problem = "p must have at least one axis".to_owned();
        return Err(Error::Argument { function: "multinomial", problem });
    }
    // JAX computes in the common type of both parameters.
    let computed = draw.parameters.iter().map(Array::dtype).find(|dtype| *dtype == DType::Float64);
    let elements = Draw { dtype: computed.or(Some(DType::Float32)), ..*draw }.elements("multinomial")?;
    let length = draw.shape.last().copied().unwrap_or(1).max(1);
    let (trials, shares) = (elements.parameter(0), elements.parameter(1));
    let mut left: Vec<f32> = trials.chunks_exact(length).map(|row| row[0]).collect();
    let ratios: Vec<Vec<f32>> = shares.chunks_exact(length).map(ratios).collect();
    let keys = derive::split(draw.mode, draw.keys, &[length])?;
    let mut counts = vec![0.0; trials.len()];
    for category in 0..length {
        let positions: Vec<usize> = (0..draw.keys.len()).map(|index| index * length + category).collect();
        let of_category = keys.gather(draw.keys.shape(), &positions)?;
        let chances: Vec<f32> = ratios.iter().map(|row| row[category].clamp(0.0, 1.0)).collect();
        let drawn = binomials(draw.mode, &of_category, &left, &chances)?;
        for ((row, left), count) in counts.chunks_exact_mut(length).zip(&mut left).zip(drawn) {
            row[category] = count;
            *left -= count;
        }
    }
    let dtype = draw.dtype.map_or(DType::default_float(draw.mode), |dtype| dtype.canonical(draw.mode));
    Ok(elements.array(counts)?.cast(dtype))
}

/// The share of each category in the sum of its own and all later shares.
fn ratios(shares: &[f32]) -> Vec<f32> {
    let reversed: Vec<f32> = shares.iter().rev().copied().collect();
    let together = cumulative_sum(&reversed).into_iter().rev();
    shares.iter().zip(together).map(|(share, rest)| share / if rest == 0.0 { 1.0 } else { rest }).collect()
}

/// The expected number of successes from which candidates are rejected instead of adding distances.
const FEW_SUCCESSES: f32 = 10.0;

/// The trials and the probability that JAX substitutes if fewer successes are expected.
const STAND_IN_TRIALS: (f32, f32) = (1e4, 0.5);

fn binomials(mode: Mode, keys: &Keys, trials: &[f32], chances: &[f32]) -> Result<Vec<f32>> {
    if trials.iter().chain(chances).any(|number| !number.is_finite() || *number < 0.0) {
        return Err(Error::Unsupported {
            what: "binomial of parameters that are negative or not finite".to_owned(),
            why: "JAX gives no count of such parameters",
        });
    }
    if keys.len() > 1 && keys.implementation().generator().batch_draws_from_first_key() {
        return Err(Error::Unsupported {
            what: "binomial over a batch of these keys".to_owned(),
            why: "all keys of a batch draw from its first, and JAX stops that one's loop before the others' end",
        });
    }
    // If success is the likelier outcome, failures are counted instead.
    let rare = |chance: f32| if chance < 0.5 { chance } else { 1.0 - chance };
    let parameters: Vec<(f32, f32)> = trials.iter().zip(chances).map(|(n, p)| (*n, rare(*p))).collect();
    let few = few_successes(mode, keys, &parameters)?;
    let many = many_successes(mode, keys, &parameters)?;
    let count = |(((trials, chance), few), many): (((&f32, &f32), f32), f32)| {
        let count = if trials * rare(*chance) <= FEW_SUCCESSES { few } else { many };
        if *chance < 0.5 { count } else { trials.floor() - count }
    };
    Ok(trials.iter().zip(chances).zip(few).zip(many).map(count).collect())
}

/// Adds distances between successes until the trials are used up.
fn few_successes(mode: Mode, keys: &Keys, parameters: &[(f32, f32)]) -> Result<Vec<f32>> {
    let limit = |trials: f32, chance: f32| if trials * chance <= FEW_SUCCESSES { trials.floor() } else { 0.0 };
    let (mut counts, mut places) = (vec![0.0_f32; parameters.len()], vec![0.0_f32; parameters.len()]);
    let mut keys = keys.clone();
    for _ in 0..ROUNDS {
        if places.iter().zip(parameters).all(|(place, (trials, chance))| *place > limit(*trials, *chance)) {
            return Ok(counts.into_iter().map(|count| count - 1.0).collect());
        }
        let (of_units, next) = derive::split_in_two(mode, &keys)?;
        keys = next;
        let units = round(mode, &of_units, parameters.len())?;
        for (((count, place), (trials, chance)), unit) in counts.iter_mut().zip(&mut places).zip(parameters).zip(units)
        {
            if *place <= limit(*trials, *chance) {
                *count += 1.0;
            }
            *place += (log(unit) / log1p(-chance)).ceil();
        }
    }
    Err(endless())
}

/// Hörmann's transformed rejection with squeeze.
fn many_successes(mode: Mode, keys: &Keys, parameters: &[(f32, f32)]) -> Result<Vec<f32>> {
    let is_few = |trials: f32, chance: f32| trials * chance <= FEW_SUCCESSES;
    if parameters.iter().all(|(trials, chance)| is_few(*trials, *chance)) {
        return Ok(vec![0.0; parameters.len()]);
    }
    // JAX also draws for the elements that use the other method, and continues until it has accepted a number for each.
    let stand_in = |(n, p): &(f32, f32)| if is_few(*n, *p) { STAND_IN_TRIALS } else { (*n, *p) };
    let parameters: Vec<(f32, f32)> = parameters.iter().map(stand_in).collect();
    let mut counts: Vec<Option<f32>> = vec![None; parameters.len()];
    let mut keys = keys.clone();
    for _ in 0..ROUNDS {
        if counts.iter().all(Option::is_some) {
            return Ok(counts.into_iter().flatten().collect());
        }
        let (next, us, vs) = candidates(mode, &keys, parameters.len())?;
        keys = next;
        for (((count, (trials, chance)), u), v) in counts.iter_mut().zip(&parameters).zip(us).zip(vs) {
            if let Some(found) = successes(trials.floor(), *chance, u - 0.5, v) {
                *count = Some(found);
            }
        }
    }
    Err(endless())
}

/// The count of a candidate, if it is accepted.
fn successes(trials: f32, chance: f32, u: f32, v: f32) -> Option<f32> {
    let deviation = (trials * chance * (1.0 - chance)).sqrt();
    let b = 2.53_f32.mul_add(deviation, 1.15);
    let a = 0.01_f32.mul_add(chance, 0.024_8_f32.mul_add(b, -0.0873));
    let centre = trials.mul_add(chance, 0.5);
    let limit = 0.92 - 4.2 / b;
    let odds = chance / (1.0 - chance);
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = ((trials + 1.0) * chance).floor();
    let distance = 0.5 - u.abs();
    let count = (2.0 * a / distance + b).mul_add(u, centre).floor();
    if distance >= 0.07 && v <= limit {
        return Some(count);
    }
    if count < 0.0 || count > trials {
        return None;
    }
    let level = log(v * alpha / (a / (distance * distance) + b));
    let of_mode = (mode + 0.5) * log((mode + 1.0) / (odds * (trials - mode + 1.0)));
    let of_trials = (trials + 1.0).mul_add(log((trials - mode + 1.0) / (trials - count + 1.0)), of_mode);
    let of_count = (count + 0.5).mul_add(log(odds * (trials - count + 1.0) / (count + 1.0)), of_trials);
    let bound = of_count + tail(mode) + tail(trials - mode) - tail(count) - tail(trials - count);
    (level <= bound).then_some(count)
}

/// The difference between the logarithm of a factorial and Stirling's approximation.
fn tail(count: f32) -> f32 {
    const TAILS: [f32; 10] = [
        0.081_061_47,
        0.041_340_696,
        0.027_677_925,
        0.020_790_672,
        0.016_644_69,
        0.013_876_128,
        0.011_896_71,
        0.010_411_265,
        0.009_255_462,
        0.008_330_563,
    ];
    let mut known = (0_u8..).zip(TAILS);
    if let Some((_, tail)) = known.find(|(index, _)| f32::from(*index) >= count.floor()) {
        return tail;
    }
    // JAX uses the approximation at nine for all greater counts.
    let next = 10.0_f32;
    let square = next * next;
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / next
}

fn endless() -> Error {
    Error::Unsupported { what: "this draw".to_owned(), why: "its loop does not end within 1024 rounds" }
}
