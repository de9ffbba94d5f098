//! JAX's PRNG, reimplemented for readability: keys, their derivation, and draws from them.
//!
//! JAX has no global random state. A *key* is a few 32-bit words; every random function is a pure function of a key.
//! A key has two uses: to derive other keys, and to draw numbers. Both hash a *counter* under the key. So the order of
//! execution does not matter, and using one key twice gives the same numbers twice.
//!
//! ```text
//! seed ──derive::key──▶ Keys ──derive::split, derive::fold_in──▶ Keys
//!                         │
//!                         └──sample::*──▶ Array        bits ─▶ uniform ─▶ normal, exponential, …
//! ```
//!
//! | to learn about | read |
//! |---|---|
//! | the default implementation, its hash, what it hashes | [`threefry2x32`] |
//! | the others | [`threefry4x32`], [`philox2x32`], [`philox4x32`], [`rbg`], [`unsafe_rbg`] |
//! | the interface they share | [`implementation`] |
//! | keys, typed and raw | [`keys`] |
//! | seeding, splitting, folding in | [`mod@derive`] |
//! | distributions | [`sample`] |
//! | elementary functions, bit-exact with XLA | [`float`] |
//! | the two flags that change the numbers | [`mode`] |
//!
//! # How exact is it?
//!
//! The reference is JAX 0.10.2 on XLA:CPU for x86-64 with AVX2 (`XLA_FLAGS=--xla_cpu_max_isa=AVX2` on newer machines,
//! whose native `float16` arithmetic rounds `uniform` over a range and `truncated_normal` differently).
//!
//! * **Equal to the bit, on every machine:** seeds, key data, `split`, `fold_in`, `bits`, `uniform` over the unit
//!   interval, `randint`, `bernoulli`, `rademacher`, `permutation`, `shuffle`, `choice`.
//! * **Equal to the bit in `float32`, `float16` and `bfloat16`:** `uniform` over any range, `normal`, `exponential`,
//!   `gumbel`, `laplace`, `logistic`, `truncated_normal`, and therefore `categorical`; the golden vectors in
//!   `fixtures/prng` test this. XLA's code generator contracts products and sums to fused multiply-adds where it can;
//!   the polynomials in [`float`] contain the same fused operations.
//! * **Equal to the bit in `float32`, with parameters that are single numbers:** `lognormal`, `pareto`, `rayleigh`, `triangular`,
//!   `geometric`, `wald`, and with `threefry2x32` `maxwell`. Other element types, and a single draw of `wald`, are errors.
//!   [`sample::formula`] describes what else affects the last bit.
//! * **Within one unit in the last place:** `cauchy`, whose tangent JAX takes from the C library.
//! * **Within two units:** `weibull_min`, whose power XLA takes from the C library, and `double_sided_maxwell`.
//! * **As exact as the C library:** the samplers above in `float64`, for which both JAX and this room call the C library's
//!   logarithm and tangent: equal to the bit on one machine, a unit apart on another. `truncated_normal` is an error in `float64`.
//! * **Not reproduced for old versions:** before 0.5.0, JAX rounded logarithms and 16-bit numbers differently; an old *mode*
//!   is not an old *version*. The uniform values of `float32` and all integers are the same, except 8- and 16-bit
//!   `randint` before 0.7.2.
//! * **Equal to the bit in `float32`, though drawn by rejection:** `poisson`, `binomial`, `multinomial`.
//! * **Within 3·10⁻⁵, mostly equal to the bit:** `gamma`, `loggamma`, `chisquare`, `f`, `t`, `beta`, `dirichlet`,
//!   `generalized_normal`, `ball`. JAX starts from the processor's approximation of a square root; if that could change which
//!   candidate is accepted, the draw is an error. See [`sample::gamma`].
//! * **Not supported:** draws for which JAX factors a matrix. They are errors that give the reason, never approximations.
//!   See [`sample::UNSUPPORTED`].
//!
//! # Example
//!
//! ```
//! use keylint::prng::{array::Array, derive, implementation::Implementation, mode::Mode, sample};
//!
//! let mode = Mode::default();
//! let key = derive::key(mode, Implementation::Threefry2x32, 0)?;
//! let (zero, one) = (Array::python_float(mode, 0.0), Array::python_float(mode, 1.0));
//! let draw = sample::real::uniform(mode, &key, &[3], None, &zero, &one)?;
//! assert_eq!(draw.to_string(), "[0.947667, 0.9785799, 0.33229148]");
//! # Ok::<(), keylint::prng::error::Error>(())
//! ```
//!
//! **Invariant:** all functions are pure. The room does no I/O, does not know Python, and imports no other room.

pub mod array;
pub mod derive;
pub mod dtype;
pub mod error;
pub mod float;
pub mod implementation;
pub mod keys;
pub mod mode;
pub mod philox2x32;
pub mod philox4x32;
pub mod rbg;
pub mod sample;
pub mod threefry2x32;
pub mod threefry4x32;
pub mod unsafe_rbg;
pub mod words;
