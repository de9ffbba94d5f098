//! JAX's PRNG, reimplemented for readability: keys, their derivation, and draws from them.
//!
//! JAX has no global random state. A *key* is a few 32-bit words; every random function is a pure function of a key.
//! Two things can be done with one: derive other keys from it, or draw from it. Both hash a *counter* under the key,
//! which is why order of execution plays no part, and why using one key twice gives the same numbers twice.
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
//! | elementary functions to XLA's last bit | [`float`] |
//! | the two flags that change the numbers | [`mode`] |
//!
//! # How exact is it?
//!
//! The measure is JAX 0.10.2 on XLA:CPU for x86-64 with AVX2 (`XLA_FLAGS=--xla_cpu_max_isa=AVX2` on newer machines,
//! whose own `float16` arithmetic rounds `uniform` over a range and `truncated_normal` otherwise).
//!
//! * **Equal to the bit, on every machine:** seeds, key data, `split`, `fold_in`, `bits`, `uniform` over the unit
//!   interval, `randint`, `bernoulli`, `rademacher`, `permutation`, `shuffle`, `choice`.
//! * **Equal to the bit in `float32`, `float16` and `bfloat16`:** `uniform` over any range, `normal`, `exponential`,
//!   `gumbel`, `laplace`, `logistic`, `truncated_normal`, and with them `categorical`; the golden vectors in
//!   `fixtures/prng` hold them to it. XLA contracts products and sums to fused multiply-adds where its code generator
//!   can; the polynomials in [`float`] write those fusions out.
//! * **Equal to the bit in `float32`, with parameters that are single numbers:** `lognormal`, `pareto`, `rayleigh`, `triangular`,
//!   `geometric`, `wald`, and with `threefry2x32` `maxwell` and `double_sided_maxwell`. Other element types, and a single draw of
//!   `wald`, are errors. [`sample::formula`] says what else moves the last bit.
//! * **Within one unit in the last place:** `cauchy`, whose tangent JAX takes from the C library.
//! * **Within two units:** `weibull_min`, whose power JAX computes by a polynomial of its own.
//! * **As the C library has it:** the samplers above in `float64`, whose logarithm and tangent JAX and this room both
//!   take from there: equal to the bit on one machine, a unit apart on another. `float64` has no `truncated_normal`.
//! * **Of their time:** before 0.5.0 JAX rounded logarithms and 16-bit numbers otherwise; an old *mode* is not an old
//!   *version*. The uniform values of `float32` and all integers are the same in both, but for 8- and 16-bit `randint`
//!   before 0.7.2.
//! * **Equal to the bit in `float32`, though drawn by rejection:** `poisson`, `binomial`, `multinomial`.
//! * **Within 3·10⁻⁵, mostly equal to the bit:** `gamma`, `loggamma`, `chisquare`, `f`, `t`, `beta`, `dirichlet`,
//!   `generalized_normal`, `ball`. JAX starts them from the processor's approximation of a root; where that could change which
//!   candidate is accepted they are errors. See [`sample::gamma`].
//! * **Not answered:** what JAX draws by factoring a matrix. They are errors that give the reason, never approximations.
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
//! **Invariant:** pure functions of their arguments, no input, no output, no Python, and nothing from other rooms.

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
