//! Permutations and choices: `permutation`, `shuffle`, `choice`, `categorical`.
//!
//! **Invariant:** ties are broken by position, as in XLA's stable sort, `argmax` and `top_k`.

use super::Resolution;
use super::bits::draw;
use super::integer::randint;
use super::real::{gumbel, uniform};
use crate::prng::array::{Array, axis_of, size_of};
use crate::prng::derive::split_in_two;
use crate::prng::dtype::{DType, DTypeKind};
use crate::prng::error::{Error, Result};
use crate::prng::float::Float;
use crate::prng::float::half::{Bfloat16, Float16};
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;

/// `jax.random.permutation(key, x, axis, independent)`. Exact. A scalar `x` means `arange(x)`.
pub fn permutation(mode: Mode, keys: &Keys, x: &Array, axis: isize, independent: bool) -> Result<Array> {
    if x.rank() == 0 {
        if !x.dtype().is_integer() {
            let problem = "x must be an integer or at least 1-dimensional".to_owned();
            return Err(Error::Argument { function: "permutation", problem });
        }
        axis_of("permutation", axis, 1)?;
        return shuffle(mode, keys, &Array::arange(mode, count(x))?, 0);
    }
    let along = axis_of("permutation", axis, x.rank())?;
    if independent || x.rank() == 1 {
        return shuffle(mode, keys, x, axis);
    }
    let length = x.shape()[along];
    let order = shuffled_positions(mode, keys, &[length], 0)?;
    let (_, inner) = around(x.shape(), along);
    let mut positions = Vec::with_capacity(keys.len() * x.len());
    for order in order.chunks_exact(length.max(1)) {
        positions.extend((0..x.len()).map(|index| {
            let (outer, rest) = (index / (length * inner), index % (length * inner));
            (outer * length + order[rest / inner]) * inner + rest % inner
        }));
    }
    x.gather(&[keys.shape(), x.shape()].concat(), &positions)
}

/// `jax.random.permutation(key, x, axis, independent=True)`, the same as `jax.random.shuffle` before JAX 0.4.31 removed
/// it: each vector along the axis is shuffled independently. Exact.
pub fn shuffle(mode: Mode, keys: &Keys, x: &Array, axis: isize) -> Result<Array> {
    let axis = axis_of("shuffle", axis, x.rank())?;
    let positions = shuffled_positions(mode, keys, x.shape(), axis)?;
    x.gather(&[keys.shape(), x.shape()].concat(), &positions)
}

/// For each key, the positions of an array of `shape` after sorting along `axis` by random 32-bit numbers. The sort is
/// repeated until the numbers drawn for each element, taken together, are distinct with high probability.
fn shuffled_positions(mode: Mode, keys: &Keys, shape: &[usize], axis: usize) -> Result<Vec<usize>> {
    let size = size_of(shape)?;
    let full = [keys.shape(), shape].concat();
    let total = size_of(&full)?;
    let mut positions: Vec<usize> = (0..total).map(|index| index % size.max(1)).collect();
    let (length, inner) = around(shape, axis);
    let mut keys = keys.clone();
    for _ in 0..rounds(size) {
        let (next, subkey) = split_in_two(mode, &keys)?;
        keys = next;
        let ranks = draw(mode, &subkey, &full, 32)?;
        let mut sorted = positions.clone();
        for start in (0..total).filter(|index| index / inner % length == 0) {
            let slots = || (0..length).map(|step| start + step * inner);
            let mut order: Vec<usize> = slots().collect();
            order.sort_by_key(|&slot| ranks[slot]);
            for (slot, from) in slots().zip(order) {
                sorted[slot] = positions[from];
            }
        }
        positions = sorted;
    }
    Ok(positions)
}

/// `ceil(3 ln n / ln (2^32 - 1))`: none for one element, one up to 1625, two up to some 2.6 million.
#[expect(clippy::cast_precision_loss, reason = "the size of an array has fewer bits than a significand")]
fn rounds(size: usize) -> u8 {
    let exact = 3.0 * (size.max(1) as f64).ln() / f64::from(u32::MAX).ln();
    (0..u8::MAX).find(|&rounds| f64::from(rounds) >= exact).unwrap_or(u8::MAX)
}

/// The length of an axis and the number of elements one step along it skips.
fn around(shape: &[usize], axis: usize) -> (usize, usize) {
    (shape.get(axis).copied().unwrap_or(1).max(1), shape.iter().skip(axis + 1).product::<usize>().max(1))
}

/// The length of `arange(x)`: zero for negative numbers.
fn count(x: &Array) -> usize {
    x.integers().first().and_then(|&count| usize::try_from(count).ok()).unwrap_or(0)
}

/// The arguments of `jax.random.choice` after the key.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The array to choose from; a scalar means `arange(a)`.
    pub a: &'a Array,
    /// The shape of the sample.
    pub shape: &'a [usize],
    /// Whether an element can be chosen more than once.
    pub replace: bool,
    /// The probability of each element.
    pub p: Option<&'a Array>,
    /// The axis along which elements lie.
    pub axis: isize,
    /// The resolution of the Gumbel draw behind a weighted choice without replacement.
    pub resolution: Resolution,
}

/// `jax.random.choice(key, a, shape, replace, p, axis, mode)`. Exact; with `float64` weights and without replacement,
/// only as exact as the C library's logarithm.
pub fn choice(mode: Mode, keys: &Keys, choice: &Choice<'_>) -> Result<Array> {
    let Choice { a, shape, replace, p, .. } = *choice;
    let argument = |problem: String| Error::Argument { function: "choice", problem };
    let draws = size_of(shape)?;
    let (axis, inputs) = if a.rank() == 0 {
        (0, count(a))
    } else {
        let axis = axis_of("choice", choice.axis, a.rank())?;
        (axis, a.shape()[axis])
    };
    if draws == 0 {
        return Array::from_integers(a.dtype(), &[keys.shape(), shape].concat(), []);
    }
    if inputs == 0 {
        return Err(argument("a must be greater than 0 unless no samples are taken".to_owned()));
    }
    if !replace && draws > inputs {
        return Err(argument(format!(
            "cannot take a larger sample (size {draws}) than population (size {inputs}) when replace=False"
        )));
    }
    let indices = match (p, replace) {
        (None, true) => {
            let bounds = [Array::python_int(mode, 0)?, Array::python_int(mode, inputs as i128)?];
            randint(mode, keys, shape, &bounds[0], &bounds[1], None)?.integers()
        }
        (None, false) => {
            let order = shuffled_positions(mode, keys, &[inputs], 0)?;
            first_of_each(&order, inputs, draws)
        }
        (Some(p), _) => {
            if p.shape() != [inputs] {
                return Err(argument(format!("p must be a vector with {inputs} elements, one for each of a")));
            }
            let p = if p.dtype().kind() == DTypeKind::Real { p.clone() } else { p.cast(DType::default_float(mode)) };
            if replace {
                weighted_with_replacement(mode, keys, shape, &p)?
            } else {
                let logits = logarithms(&p)?;
                weighted_without_replacement(mode, keys, draws, &logits, choice.resolution)?
            }
        }
    };
    if a.rank() == 0 {
        return Array::from_integers(DType::default_int(mode), &[keys.shape(), shape].concat(), indices);
    }
    take(keys, a, axis, &indices, shape)
}

fn first_of_each(order: &[usize], length: usize, draws: usize) -> Vec<i128> {
    order.chunks_exact(length).flat_map(|order| &order[..draws]).map(|&index| index as i128).collect()
}

/// For each key, takes the elements of `a` at the chosen indices along `axis`, and replaces that axis by `shape`.
fn take(keys: &Keys, a: &Array, axis: usize, indices: &[i128], shape: &[usize]) -> Result<Array> {
    let (length, inner) = around(a.shape(), axis);
    let outer = a.len() / (length * inner);
    let draws = indices.len() / keys.len().max(1);
    let mut positions = Vec::with_capacity(indices.len() * outer * inner);
    for chosen in indices.chunks_exact(draws.max(1)) {
        for block in 0..outer {
            for &index in chosen {
                let index = usize::try_from(index).unwrap_or(0);
                positions.extend((0..inner).map(|step| (block * length + index) * inner + step));
            }
        }
    }
    let shape = [keys.shape(), &a.shape()[..axis], shape, &a.shape()[axis + 1..]].concat();
    a.gather(&shape, &positions)
}

/// Inverts the cumulative distribution at uniform values.
fn weighted_with_replacement(mode: Mode, keys: &Keys, shape: &[usize], p: &Array) -> Result<Vec<i128>> {
    fn indices<F: Float>(p: &Array, units: &[f64]) -> Vec<i128> {
        let weights: Vec<F> = p.reals().into_iter().map(F::from_f64).collect();
        let cumulative = cumulative_sum(&weights);
        let total = cumulative.last().copied().unwrap_or(F::ZERO);
        let target = |unit: &f64| total * (F::ONE - F::from_f64(*unit));
        units.iter().map(|unit| search(&cumulative, target(unit)) as i128).collect()
    }
    let (zero, one) = (Array::real(p.dtype(), 0.0), Array::real(p.dtype(), 1.0));
    let units = uniform(mode, keys, shape, Some(p.dtype()), &zero, &one)?.reals();
    match p.dtype() {
        DType::Float32 => Ok(indices::<f32>(p, &units)),
        DType::Float64 => Ok(indices::<f64>(p, &units)),
        dtype => Err(Error::Unsupported {
            what: format!("choice with weights of {dtype}"),
            why: "the order of its 16-bit sums is not modelled",
        }),
    }
}

/// `jnp.cumsum` in XLA:CPU's order of additions: prefix sums of blocks of sixteen, to each of which the prefix sum of the
/// earlier blocks, computed in the same way, is added.
pub(super) fn cumulative_sum<F: Float>(values: &[F]) -> Vec<F> {
    const BLOCK: usize = 16;
    let prefix = |block: &[F]| {
        let mut sum = F::ZERO;
        block
            .iter()
            .map(|&value| {
                sum = sum + value;
                sum
            })
            .collect::<Vec<F>>()
    };
    if values.len() <= BLOCK {
        return prefix(values);
    }
    let blocks: Vec<Vec<F>> = values.chunks(BLOCK).map(prefix).collect();
    let totals: Vec<F> = blocks.iter().filter_map(|block| block.last().copied()).collect();
    let before = cumulative_sum(&totals);
    let offsets = std::iter::once(F::ZERO).chain(before);
    blocks.iter().zip(offsets).flat_map(|(block, offset)| block.iter().map(move |value| *value + offset)).collect()
}

/// `jnp.searchsorted(sorted, value)` from the left, by the same bisection as JAX: rounding can leave the sums not quite
/// sorted, and another search could then give another result.
fn search<F: Float>(sorted: &[F], value: F) -> usize {
    let (mut low, mut high) = (0, sorted.len());
    let levels = usize::BITS - sorted.len().leading_zeros();
    for _ in 0..levels {
        let middle = usize::midpoint(low, high);
        match sorted.get(middle) {
            Some(&element) if value > element => low = middle,
            _ => high = middle,
        }
    }
    high
}

/// The logarithm of every weight.
fn logarithms(p: &Array) -> Result<Array> {
    fn of<F: Float>(p: &Array) -> Result<Array> {
        Array::from_reals(F::DTYPE, p.shape(), p.reals().into_iter().map(|p| F::from_f64(p).xla_log().to_f64()))
    }
    match p.dtype() {
        DType::Float16 => of::<Float16>(p),
        DType::Bfloat16 => of::<Bfloat16>(p),
        DType::Float64 => of::<f64>(p),
        _ => of::<f32>(p),
    }
}

/// The indices of the greatest perturbed log-probabilities (the Gumbel top-k trick).
fn weighted_without_replacement(
    mode: Mode,
    keys: &Keys,
    draws: usize,
    logits: &Array,
    resolution: Resolution,
) -> Result<Vec<i128>> {
    let noise = gumbel(mode, keys, logits.shape(), Some(logits.dtype()), resolution)?;
    let scores = sum(&noise, logits)?;
    let length = logits.len();
    Ok(scores.chunks_exact(length.max(1)).flat_map(|scores| greatest(scores, draws)).collect())
}

/// The sum of two arrays, the second broadcast to the first, rounded to their type.
fn sum(a: &Array, b: &Array) -> Result<Vec<f64>> {
    let b = b.broadcast_to("categorical", a.shape())?.reals();
    // For types of at most 32 bits, adding in `float64` and rounding gives the correctly rounded sum.
    let sums = a.reals().into_iter().zip(b).map(|(a, b)| a + b);
    Ok(Array::from_reals(a.dtype(), a.shape(), sums)?.reals())
}

/// The indices of the `count` greatest scores, greatest first, earlier ones first among equals.
fn greatest(scores: &[f64], count: usize) -> Vec<i128> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| {
        let nan = scores[b].is_nan().cmp(&scores[a].is_nan());
        nan.then(scores[b].partial_cmp(&scores[a]).unwrap_or(std::cmp::Ordering::Equal))
    });
    order.truncate(count);
    order.into_iter().map(|index| index as i128).collect()
}

/// The arguments of `jax.random.categorical` after the key.
#[derive(Clone, Copy, Debug)]
pub struct Categorical<'a> {
    /// Unnormalized log-probabilities.
    pub logits: &'a Array,
    /// The axis along which the categories lie.
    pub axis: isize,
    /// The shape of the result; by default that of `logits` without the axis.
    pub shape: Option<&'a [usize]>,
    /// Whether a category can be drawn more than once.
    pub replace: bool,
    /// The resolution of the Gumbel draw.
    pub resolution: Resolution,
}

/// `jax.random.categorical(key, logits, axis, shape, replace, mode)`: the indices of the greatest log-probabilities after
/// adding Gumbel noise. Exact for `float32` logits.
pub fn categorical(mode: Mode, keys: &Keys, arguments: &Categorical<'_>) -> Result<Array> {
    let Categorical { logits, axis, shape, replace, resolution } = *arguments;
    let argument = |problem: String| Error::Argument { function: "categorical", problem };
    if logits.dtype().kind() != DTypeKind::Real {
        return Err(argument(format!("logits must have a floating dtype, got {}", logits.dtype())));
    }
    let along = axis_of("categorical", axis, logits.rank())?;
    let categories = logits.shape()[along];
    let mut batch = logits.shape().to_vec();
    batch.remove(along);
    let shape = shape.unwrap_or(&batch);
    let fits = shape.len() >= batch.len()
        && shape.iter().rev().zip(batch.iter().rev()).all(|(to, from)| to == from || *from == 1);
    if !fits {
        return Err(Error::Broadcast { function: "categorical", from: batch.clone(), to: shape.to_vec() });
    }
    let (prefix, suffix) = shape.split_at(shape.len() - batch.len());
    if categories == 0 && size_of(shape)? > 0 {
        return Err(argument("there are no categories to draw from".to_owned()));
    }
    let indices = if replace {
        let mut noise_shape = suffix.to_vec();
        noise_shape.insert(along, categories);
        let noise_shape = [prefix, &noise_shape].concat();
        let noise = gumbel(mode, keys, &noise_shape, Some(logits.dtype()), resolution)?;
        let scores = sum(&noise, logits)?;
        let axis = keys.shape().len() + prefix.len() + along;
        lanes(&scores, noise.shape(), axis).flat_map(|lane| greatest(&lane, 1)).collect()
    } else {
        let draws = size_of(prefix)?;
        if draws > categories {
            return Err(argument(format!(
                "number of samples without replacement ({draws}) cannot exceed number of categories ({categories})"
            )));
        }
        if suffix != batch {
            return Err(Error::Broadcast { function: "categorical", from: batch.clone(), to: shape.to_vec() });
        }
        let noise = gumbel(mode, keys, logits.shape(), Some(logits.dtype()), resolution)?;
        let scores = sum(&noise, logits)?;
        let chosen: Vec<Vec<i128>> =
            lanes(&scores, noise.shape(), keys.shape().len() + along).map(|lane| greatest(&lane, draws)).collect();
        let each = size_of(&batch)?;
        let of_key = |chosen: &[Vec<i128>]| {
            (0..draws).flat_map(|draw| chosen.iter().map(move |lane| lane[draw])).collect::<Vec<i128>>()
        };
        chosen.chunks_exact(each.max(1)).flat_map(of_key).collect::<Vec<i128>>()
    };
    // The indices of `top_k` are always `int32`; those of `argmax` depend on the mode.
    let dtype = if replace { DType::default_int(mode) } else { DType::Int32 };
    Array::from_integers(dtype, &[keys.shape(), shape].concat(), indices)
}

/// The vectors along one axis, in row-major order of the others.
fn lanes<'a>(values: &'a [f64], shape: &[usize], axis: usize) -> impl Iterator<Item = Vec<f64>> + 'a {
    let (length, inner) = around(shape, axis);
    (0..values.len())
        .filter(move |index| index / inner % length == 0)
        .map(move |start| (0..length).map(|step| values[start + step * inner]).collect())
}
