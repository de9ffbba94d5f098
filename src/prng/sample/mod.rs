//! Drawing from keys: the samplers of `jax.random`.
//!
//! A sampler takes keys, a shape, a dtype and parameters. With a single key it does what `jax.random` does; with an
//! array of keys it does what `jax.vmap` of that function does, and the shape of the result starts with the shape of
//! the keys. JAX rejects an array of keys outside `vmap`. The caller makes this check (`Keys::require_single`), because
//! only the caller knows whether it is inside a `vmap`.
//!
//! | module | samplers |
//! |---|---|
//! | [`mod@bits`] | random bits, from which all others compute |
//! | [`real`] | floating-point numbers |
//! | [`formula`] | distributions with parameters, computed from uniform and normal values by a formula |
//! | [`gamma`] | gamma variates, and distributions that are computed from them |
//! | [`count`] | Poisson, binomial and multinomial counts |
//! | [`integer`] | integers and booleans |
//! | [`select`] | permutations, and elements chosen from an array |
//!
//! The algorithms are those of `jax/_src/random/core.py` in JAX 0.10.2; each function documents how exact it is.
//!
//! **Invariant:** every sampler reaches its key only through [`mod@bits`] and [`derive`](super::derive).

pub mod bits;
pub mod count;
pub mod formula;
pub mod gamma;
pub mod integer;
pub mod real;
pub mod select;

use super::array::Array;
use super::dtype::{DType, DTypeKind};
use super::error::{Error, Result};
use super::keys::Keys;
use super::mode::Mode;

/// How many random bits `bernoulli`, `gumbel`, `categorical` and `choice` use for one draw: their `mode` argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Resolution {
    /// `mode="low"`, JAX's default: one uniform value.
    #[default]
    Low,
    /// `mode="high"`: two uniform values, so that rare events have the right probability.
    High,
}

impl Resolution {
    /// The resolution with this name.
    pub fn from_name(function: &'static str, name: &str) -> Result<Self> {
        match name {
            "low" => Ok(Self::Low),
            "high" => Ok(Self::High),
            "highest" if function != "bernoulli" => Err(Error::Unsupported {
                what: format!("{function} with mode=\"highest\""),
                why: "the 64-bit fixed-point arithmetic behind it is not modelled",
            }),
            _ => {
                let problem = format!("mode must be \"low\" or \"high\", got {name:?}");
                Err(Error::Argument { function, problem })
            }
        }
    }
}

/// The samplers of `jax.random` that are not supported, each with the reason.
pub const UNSUPPORTED: &[(&str, &str)] = &[
    ("multivariate_normal", FACTORS),
    ("orthogonal", FACTORS),
    ("stateful_rng", "it gives an object with a state of its own, not numbers"),
];

const FACTORS: &str = "JAX factors a matrix with LAPACK, whose rounding differs between machines";

/// A sampler without parameters of its own.
pub type Plain = fn(Mode, &Keys, &[usize], Option<DType>) -> Result<Array>;

/// The functions of `jax.random` that take a key, a shape and a dtype, and nothing else.
pub const PLAIN: &[(&str, Plain)] = &[
    ("bits", bits::bits),
    ("normal", real::normal),
    ("exponential", real::exponential),
    ("laplace", real::laplace),
    ("logistic", real::logistic),
    ("cauchy", real::cauchy),
    ("rademacher", integer::rademacher),
];

/// The function in [`PLAIN`] with this name.
pub fn plain(name: &str) -> Option<Plain> {
    PLAIN.iter().find(|(other, _)| *other == name).map(|(_, sampler)| *sampler)
}

/// The error for a function in [`UNSUPPORTED`].
pub fn unsupported(function: &str) -> Error {
    let known = UNSUPPORTED.iter().find(|(name, _)| *name == function);
    let why = known.map_or("keylint does not know this function", |(_, why)| why);
    Error::Unsupported { what: format!("jax.random.{function}"), why }
}

/// The floating-point type of a draw: the default, or the requested one as JAX canonicalizes it.
fn real_type(function: &'static str, mode: Mode, dtype: Option<DType>) -> Result<DType> {
    let dtype = dtype.map_or(DType::default_float(mode), |dtype| dtype.canonical(mode));
    if dtype.kind() == DTypeKind::Real {
        Ok(dtype)
    } else {
        Err(Error::DrawType { function, expected: "floating-point numbers", got: dtype })
    }
}

/// Runs an expression in which `$float` is the [`Float`](super::float::Float) type of a floating-point dtype.
macro_rules! with_float {
    ($function:expr, $dtype:expr, $float:ident => $body:expr) => {
        match $dtype {
            DType::Float16 => {
                type $float = Float16;
                $body
            }
            DType::Bfloat16 => {
                type $float = Bfloat16;
                $body
            }
            DType::Float32 => {
                type $float = f32;
                $body
            }
            DType::Float64 => {
                type $float = f64;
                $body
            }
            got => Err(Error::DrawType { function: $function, expected: "floating-point numbers", got }),
        }
    };
}
use with_float;
