//! Distributions with parameters, computed from uniform and normal values by a formula.
//!
//! Parameters are numbers, or arrays that are broadcast to the draw. If a parameter is a single number, XLA hoists
//! arithmetic on it alone out of the loop over elements: a division by it becomes a multiplication by its reciprocal, and
//! two factors become one. A single draw has no loop. The functions below do the same, so they test whether a parameter is single.
//!
//! **Invariant:** results are `float32`; other types are errors. Logarithms, `exp` and `√` equal XLA's to the bit.

use super::integer::rademacher;
use super::real::{exponential, normal, symmetric, units};
use super::real_type;
use super::{count, gamma};
use crate::prng::array::{Array, size_of};
use crate::prng::derive;
use crate::prng::dtype::{DType, DTypeKind};
use crate::prng::error::{Error, Result};
use crate::prng::float::Float;
use crate::prng::float::single::{exp, log, log1p, power};
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;

/// The arguments of a formula.
pub struct Draw<'a> {
    /// The flags in force.
    pub mode: Mode,
    /// The keys; the shape of the result starts with theirs.
    pub keys: &'a Keys,
    /// The shape drawn for each key.
    pub shape: &'a [usize],
    /// The element type requested.
    pub dtype: Option<DType>,
    /// The parameters, in the order of [`Formula::parameters`].
    pub parameters: &'a [Array],
    /// Whether there is a loop over elements that leaves single parameters alone: not for one element, nor if `vmap` maps a parameter.
    pub has_loop: bool,
}

/// A distribution with parameters.
pub struct Formula {
    /// The name in `jax.random`.
    pub name: &'static str,
    /// Its arguments: the key, the parameters, the shape and the element type.
    pub arguments: &'static [&'static str],
    /// The default of the parameter, for the function that has an optional one.
    pub default: Option<f64>,
    /// The shape of the draw, computed from the requested shape, if any, and the joint shape of the parameters.
    pub shape: fn(Option<Vec<usize>>, Vec<usize>) -> Vec<usize>,
    /// The cost of one number, in uniform values.
    pub cost: usize,
    /// The function that draws.
    pub draw: fn(&Draw<'_>) -> Result<Array>,
}

impl Formula {
    /// The parameters: the arguments between the key and the shape.
    pub fn parameters(&self) -> &'static [&'static str] {
        self.arguments.get(1..self.arguments.len().saturating_sub(2)).unwrap_or_default()
    }

    const fn new(name: &'static str, arguments: &'static [&'static str], draw: fn(&Draw<'_>) -> Result<Array>) -> Self {
        Self { name, arguments, default: None, shape: |requested, joint| requested.unwrap_or(joint), cost: 1, draw }
    }

    /// A distribution that is drawn by rejection.
    const fn drawn_in_rounds(
        name: &'static str,
        arguments: &'static [&'static str],
        draw: fn(&Draw<'_>) -> Result<Array>,
    ) -> Self {
        Self { cost: IN_ROUNDS, ..Self::new(name, arguments, draw) }
    }
}

/// The cost of one number that is drawn by rejection, in uniform values.
pub const IN_ROUNDS: usize = 64;

/// The distributions of this module, and those that are drawn by rejection.
pub const FORMULAS: &[Formula] = &[
    Formula::new("geometric", &["key", "p", "shape", "dtype"], geometric),
    Formula { default: Some(1.0), ..Formula::new("lognormal", &["key", "sigma", "shape", "dtype"], lognormal) },
    Formula::new("pareto", &["key", "b", "shape", "dtype"], pareto),
    Formula::new("rayleigh", &["key", "scale", "shape", "dtype"], rayleigh),
    Formula::new("triangular", &["key", "left", "mode", "right", "shape", "dtype"], triangular),
    Formula::new("wald", &["key", "mean", "shape", "dtype"], wald),
    Formula {
        shape: |requested, _| requested.unwrap_or_default(),
        ..Formula::new("maxwell", &["key", "shape", "dtype"], maxwell)
    },
    Formula {
        shape: |requested, _| requested.unwrap_or_default(),
        ..Formula::new("weibull_min", &["key", "scale", "concentration", "shape", "dtype"], weibull_min)
    },
    Formula::drawn_in_rounds("gamma", &["key", "a", "shape", "dtype"], gamma::gamma),
    Formula::drawn_in_rounds("loggamma", &["key", "a", "shape", "dtype"], gamma::loggamma),
    Formula::drawn_in_rounds("chisquare", &["key", "df", "shape", "dtype"], gamma::chisquare),
    Formula::drawn_in_rounds("f", &["key", "dfnum", "dfden", "shape", "dtype"], gamma::f),
    Formula::drawn_in_rounds("t", &["key", "df", "shape", "dtype"], gamma::t),
    Formula::drawn_in_rounds("beta", &["key", "a", "b", "shape", "dtype"], gamma::beta),
    Formula {
        shape: |requested, joint| match joint.split_last() {
            Some((length, rows)) => [requested.unwrap_or(rows.to_vec()), vec![*length]].concat(),
            None => Vec::new(),
        },
        ..Formula::drawn_in_rounds("dirichlet", &["key", "alpha", "shape", "dtype"], gamma::dirichlet)
    },
    Formula {
        shape: |requested, _| requested.unwrap_or_default(),
        ..Formula::drawn_in_rounds("generalized_normal", &["key", "p", "shape", "dtype"], gamma::generalized_normal)
    },
    Formula::drawn_in_rounds("poisson", &["key", "lam", "shape", "dtype"], count::poisson),
    Formula::drawn_in_rounds("binomial", &["key", "n", "p", "shape", "dtype"], count::binomial),
    // JAX appends the shape of the parameters to the requested shape, or to itself if no shape is requested.
    Formula {
        shape: |requested, joint| {
            [requested.filter(|shape| !shape.is_empty()).unwrap_or(joint.clone()), joint].concat()
        },
        ..Formula::new("double_sided_maxwell", &["key", "loc", "scale", "shape", "dtype"], double_sided_maxwell)
    },
];

/// The distribution with this name.
pub fn formula(name: &str) -> Option<&'static Formula> {
    FORMULAS.iter().find(|formula| formula.name == name)
}

/// The parameters of each element of the draw.
pub(super) struct Elements {
    shape: Vec<usize>,
    /// The values of each parameter; only one value if it is the same for all elements.
    parameters: Vec<Vec<f32>>,
    is_single: Vec<bool>,
}

impl Draw<'_> {
    /// The parameters, broadcast to the draw.
    pub(super) fn elements(&self, function: &'static str) -> Result<Elements> {
        single_type(function, self.mode, self.dtype)?;
        let shape = [self.keys.shape(), self.shape].concat();
        size_of(&shape)?;
        let mut elements = Elements { shape, parameters: Vec::new(), is_single: Vec::new() };
        for parameter in self.parameters {
            elements.is_single.push(parameter.rank() == 0);
            let values = parameter.cast(DType::Float32).broadcast_to(function, &elements.shape)?.reals();
            elements.parameters.push(values.into_iter().map(f32::from_f64).collect());
        }
        Ok(elements)
    }

    /// One uniform value for each element.
    fn units(&self, elements: &Elements) -> Result<impl Iterator<Item = f32> + use<>> {
        units::<f32>(self.mode, self.keys, &elements.shape)
    }

    /// Values of another sampler, as `float32`.
    pub(super) fn values(&self, sampler: super::Plain, keys: &Keys) -> Result<impl Iterator<Item = f32> + use<>> {
        Ok(sampler(self.mode, keys, self.shape, Some(DType::Float32))?.reals().into_iter().map(f32::from_f64))
    }
}

impl Elements {
    /// The values of a parameter.
    pub(super) fn parameter(&self, which: usize) -> &[f32] {
        self.parameters.get(which).map_or(&[], Vec::as_slice)
    }

    /// Whether a parameter is one number.
    pub(super) fn is_single(&self, which: usize) -> bool {
        self.is_single.get(which).copied().unwrap_or_default()
    }

    /// The result, from its elements.
    pub(super) fn array(self, values: Vec<f32>) -> Result<Array> {
        Array::from_reals(DType::Float32, &self.shape, values.into_iter().map(f64::from))
    }

    /// Applies a formula to each drawn value and the parameters of the same element.
    fn result<T>(
        self,
        drawn: impl Iterator<Item = T>,
        formula: impl Fn(T, &dyn Fn(usize) -> f32) -> f32,
    ) -> Result<Array> {
        let value = |(index, drawn)| {
            let parameter = |which: usize| self.parameters.get(which).and_then(|values| values.get(index)).copied();
            f64::from(formula(drawn, &|which| parameter(which).unwrap_or(f32::NAN)))
        };
        Array::from_reals(DType::Float32, &self.shape, drawn.enumerate().map(value))
    }
}

/// `jax.random.rayleigh(key, scale, shape, dtype)`: `scale √(-2 log(u))`. Exact.
fn rayleigh(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("rayleigh")?;
    let units = draw.units(&elements)?;
    elements.result(units, |unit, scale| scale(0) * (log(unit) * -2.0).sqrt())
}

/// `jax.random.pareto(key, b, shape, dtype)`: `exp(e / b)` for an exponential `e`. Exact if `b` is one number, else
/// within one unit in the last place.
fn pareto(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("pareto")?;
    let is_single = draw.has_loop && elements.is_single == [true];
    let exponentials = draw.values(exponential, draw.keys)?;
    elements.result(exponentials, |value, b| exp(if is_single { value * (1.0 / b(0)) } else { value / b(0) }))
}

/// `jax.random.lognormal(key, sigma, shape, dtype)`: `exp(sigma z)` for a normal `z`, which is `√2 erf⁻¹(u)`. Exact if
/// `sigma` is one number, else within one unit in the last place.
fn lognormal(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("lognormal")?;
    if draw.has_loop && elements.is_single == [true] {
        let units = draw.units(&elements)?;
        return elements
            .result(units, |unit, sigma| exp(symmetric(unit).xla_erf_inv() * (std::f32::consts::SQRT_2 * sigma(0))));
    }
    let normals = draw.values(normal, draw.keys)?;
    elements.result(normals, |value, sigma| exp(value * sigma(0)))
}

/// `jax.random.geometric(key, p, shape, dtype)`: `⌊log(u) / log(1 - p)⌋ + 1`, with 1 for a `u` of 0. Exact.
fn geometric(draw: &Draw<'_>) -> Result<Array> {
    let dtype = draw.dtype.map_or(DType::default_int(draw.mode), |dtype| dtype.canonical(draw.mode));
    if !matches!(dtype.kind(), DTypeKind::Signed | DTypeKind::Unsigned) {
        return Err(Error::DrawType { function: "geometric", expected: "integers", got: dtype });
    }
    let probability = draw.parameters.iter().map(Array::dtype).find(|dtype| dtype.kind() == DTypeKind::Real);
    let elements = Draw { dtype: probability, ..*draw }.elements("geometric")?;
    let units = draw.units(&elements)?;
    let trials = elements.result(units, |unit, p| {
        let unit = if unit == 0.0 { 1.0 } else { unit };
        (log(unit) / log1p(-p(0))).floor() + 1.0
    })?;
    Ok(trials.cast(dtype))
}

/// `jax.random.triangular(key, left, mode, right, shape, dtype)`: the inverse of the distribution function. Exact.
fn triangular(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("triangular")?;
    let units = draw.units(&elements)?;
    elements.result(units, |unit, parameter| {
        let (left, mode, right) = (parameter(0), parameter(1), parameter(2));
        if unit < (mode - left) / (right - left) {
            left + (unit * (right - left) * (mode - left)).sqrt()
        } else {
            right - ((1.0 - unit) * (right - left) * (right - mode)).sqrt()
        }
    })
}

/// `jax.random.wald(key, mean, shape, dtype)`: the transformation of Michael, Schucany and Haas. Exact.
///
/// Drawing a single number is an error: XLA fuses the two draws into the formula in a way that depends on the
/// implementation, and the difference of two nearly equal terms amplifies the effect on the last bits.
fn wald(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("wald")?;
    if size_of(&elements.shape)? == 1 {
        return Err(Error::Unsupported {
            what: "a single draw of wald".to_owned(),
            why: "XLA fuses it differently from several draws, which changes its last bits",
        });
    }
    let (of_normal, of_unit) = derive::split_in_two(draw.mode, draw.keys)?;
    let units = units::<f32>(draw.mode, &of_unit, &elements.shape)?;
    let drawn = draw.values(normal, &of_normal)?.zip(units);
    elements.result(drawn, |(normal, unit), mean| {
        let mean = mean(0);
        let (square, mean_square) = (normal * normal, mean * mean);
        let root = (4.0 * mean).mul_add(square, mean_square * (square * square)).sqrt();
        let value = (-(mean * 0.5)).mul_add(root, (mean_square * square).mul_add(0.5, mean));
        if unit <= mean / (mean + value) { value } else { mean_square / value }
    })
}

/// `jax.random.weibull_min(key, scale, concentration, shape, dtype)`: `scale (-log1p(-u))^(1 / concentration)`. Within two
/// units in the last place, because the power is computed in `float64` and rounded.
///
/// The shape is that of the uniform values; parameters with more axes repeat them.
fn weibull_min(draw: &Draw<'_>) -> Result<Array> {
    let shape = draw.parameters.iter().fold(draw.shape.to_vec(), |shape, parameter| joint(&shape, parameter.shape()));
    let elements = Draw { shape: &shape, ..*draw }.elements("weibull_min")?;
    let keys = draw.keys.shape();
    let own = [keys, draw.shape].concat();
    let units = Array::from_reals(DType::Float32, &own, units::<f32>(draw.mode, draw.keys, &own)?.map(f64::from))?;
    let aligned = [keys, &vec![1; shape.len() - draw.shape.len()], draw.shape].concat();
    let units = units.reshape(&aligned)?.broadcast_to("weibull_min", &elements.shape)?.reals();
    elements.result(units.into_iter().map(f32::from_f64), |unit, parameter| {
        power(-log1p(-unit), 1.0 / parameter(1)) * parameter(0)
    })
}

/// The shape that two compatible shapes broadcast to.
fn joint(one: &[usize], other: &[usize]) -> Vec<usize> {
    let rank = one.len().max(other.len());
    let at = |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
    let longer = |axis| match (at(one, axis), at(other, axis)) {
        (1, length) | (length, _) => length,
    };
    (0..rank).map(longer).collect()
}

/// The most numbers that XLA computes again in the loop that reduces them. It stores more than 16 KiB, and adds them as vectors.
const FUSED: usize = 4096;

/// `jax.random.maxwell(key, shape, dtype)`: the length of a vector of three normal values. Exact with
/// `threefry2x32`; within two units in the last place with other implementations, whose code XLA fuses differently.
fn maxwell(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("maxwell")?;
    let shape = [draw.shape, &[3]].concat();
    let normals = normal(draw.mode, draw.keys, &shape, Some(DType::Float32))?.reals();
    let is_fused = normals.len() <= FUSED;
    let lengths: Vec<f32> = normals
        .chunks_exact(3)
        .map(|vector| {
            let [x, y, z] = [0, 1, 2].map(|axis| vector.get(axis).copied().map_or(f32::NAN, f32::from_f64));
            let square = if is_fused { z.mul_add(z, x.mul_add(x, y * y)) } else { (x * x + z * z) + y * y };
            square.sqrt()
        })
        .collect();
    elements.result(lengths.into_iter(), |length, _| length)
}

/// `jax.random.double_sided_maxwell(key, loc, scale, shape, dtype)`: such a length with a random sign, scaled and shifted.
/// As exact as [`maxwell`], in units of the greater of the two terms.
fn double_sided_maxwell(draw: &Draw<'_>) -> Result<Array> {
    let elements = draw.elements("double_sided_maxwell")?;
    let (of_length, of_sign) = derive::split_in_two(draw.mode, draw.keys)?;
    let lengths = maxwell(&Draw { keys: &of_length, parameters: &[], ..*draw })?.reals();
    let signs = rademacher(draw.mode, &of_sign, draw.shape, None)?.reals();
    let drawn = lengths.into_iter().zip(signs);
    elements.result(drawn, |(length, sign), parameter| f32::from_f64(sign * length).mul_add(parameter(1), parameter(0)))
}

/// The error for an element type other than `float32`.
pub(super) fn single_type(function: &'static str, mode: Mode, dtype: Option<DType>) -> Result<()> {
    match real_type(function, mode, dtype)? {
        DType::Float32 => Ok(()),
        other => Err(Error::Unsupported {
            what: format!("{function} in {other}"),
            why: "only its float32 arithmetic has been compared with JAX",
        }),
    }
}
