//! The interface of a PRNG implementation, and the six implementations that come with JAX.
//!
//! JAX separates *how bits are generated from a key* (an implementation) from *how numbers are made from bits* (a
//! sampler). The interface is JAX's `PRNGImpl`: `seed`, `split`, `fold_in`, `random_bits`.
//!
//! **Invariant:** an implementation sees only key words and counts. It does not know shapes or samplers, and of an element
//! type only the width in bits.

use super::error::{Error, Result};
use super::mode::Mode;
use super::philox2x32::Philox2x32;
use super::philox4x32::Philox4x32;
use super::rbg::Rbg;
use super::threefry2x32::Threefry2x32;
use super::threefry4x32::Threefry4x32;
use super::unsafe_rbg::UnsafeRbg;

/// The words of one key; words beyond the width of the implementation are zero.
pub type Words = [u32; 4];

/// What JAX calls an implementation, and how wide its keys are.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Its name in JAX, as in `jax.random.key(0, impl="rbg")`.
    pub name: &'static str,
    /// The tag in the dtype of its typed keys: `fry` in `key<fry>`.
    pub tag: &'static str,
    /// Words in one key.
    pub width: usize,
}

/// Derives keys and bits from keys. All `keys` slices hold whole keys, `width` words each.
pub trait Generator: Sync {
    /// Its names, and the width of its keys.
    fn identity(&self) -> Identity;

    /// Words in one key.
    fn width(&self) -> usize {
        self.identity().width
    }

    /// The key of a seed given as its high and low word.
    fn seed(&self, high: u32, low: u32) -> Words;

    /// The child of `key` for `data`.
    fn fold_in(&self, key: &[u32], data: u32) -> Words;

    /// Fills `children` with children of `key`: by default, child *i* is that of `fold_in` with *i*.
    fn split(&self, _mode: Mode, key: &[u32], children: &mut [u32]) {
        let width = self.width();
        for (data, child) in (0..).zip(children.chunks_exact_mut(width)) {
            child.copy_from_slice(&self.fold_in(key, data)[..width]);
        }
    }

    /// Fills `out` with 32-bit draws.
    fn fill_32(&self, mode: Mode, key: &[u32], out: &mut [u32]);

    /// Fills `out` with 64-bit draws.
    fn fill_64(&self, mode: Mode, key: &[u32], out: &mut [u64]);

    /// Fills `out` with draws of 8 or 16 bits (`width`). All implementations draw 32 bits for each and keep the low
    /// ones, except the old mode of `threefry2x32`.
    fn fill_narrow(&self, mode: Mode, key: &[u32], width: u32, out: &mut [u32]) {
        self.fill_32(mode, key, out);
        for word in out {
            *word &= (1 << width) - 1;
        }
    }

    /// Whether a draw under `jax.vmap` over keys is one draw for the whole batch from its first key.
    ///
    /// This is the batching rule of the two implementations that use XLA's `RngBitGenerator`.
    fn batch_draws_from_first_key(&self) -> bool {
        false
    }

    /// Splits a batch of keys as `jax.vmap(jax.random.split)` does; all keys get the same number of `children`.
    fn split_batch(&self, mode: Mode, keys: &[u32], children: &mut [u32]) {
        let count = keys.len() / self.width();
        if count == 0 || children.is_empty() {
            return;
        }
        let each = children.len() / count;
        for (key, children) in keys.chunks_exact(self.width()).zip(children.chunks_exact_mut(each)) {
            self.split(mode, key, children);
        }
    }

    /// Folds data into a batch of keys as `jax.vmap(jax.random.fold_in)` does. `data` holds one number for each key,
    /// or a single number if the data is not mapped over.
    fn fold_in_batch(&self, keys: &[u32], data: &[u32], out: &mut [u32]) {
        let width = self.width();
        for (index, (key, child)) in keys.chunks_exact(width).zip(out.chunks_exact_mut(width)).enumerate() {
            let data = data.get(index).or(data.first()).copied().unwrap_or(0);
            child.copy_from_slice(&self.fold_in(key, data)[..width]);
        }
    }
}

/// The implementations that JAX 0.10.2 registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Implementation {
    /// The default.
    #[default]
    Threefry2x32,
    /// XLA's `RngBitGenerator` for bits, `threefry2x32` for derivation.
    Rbg,
    /// XLA's `RngBitGenerator` for everything.
    UnsafeRbg,
    /// Threefry with a wider block, since JAX 0.10.2.
    Threefry4x32,
    /// Philox with a one-word key, since JAX 0.10.2.
    Philox2x32,
    /// Philox with a two-word key, since JAX 0.10.2.
    Philox4x32,
}

impl Implementation {
    /// Every implementation, in JAX's order.
    pub const ALL: [Self; 6] =
        [Self::Threefry2x32, Self::Rbg, Self::UnsafeRbg, Self::Threefry4x32, Self::Philox2x32, Self::Philox4x32];

    /// The implementation with this name.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|implementation| implementation.name() == name)
            .ok_or_else(|| Error::UnknownImplementation(name.to_owned()))
    }

    /// Its generator.
    pub fn generator(self) -> &'static dyn Generator {
        match self {
            Self::Threefry2x32 => &Threefry2x32,
            Self::Rbg => &Rbg,
            Self::UnsafeRbg => &UnsafeRbg,
            Self::Threefry4x32 => &Threefry4x32,
            Self::Philox2x32 => &Philox2x32,
            Self::Philox4x32 => &Philox4x32,
        }
    }

    /// The name, as in `jax.random.key_impl`.
    pub fn name(self) -> &'static str {
        self.generator().identity().name
    }

    /// Words in one key.
    pub fn width(self) -> usize {
        self.generator().width()
    }

    /// The dtype of its typed keys: `key<fry>`.
    pub fn key_dtype(self) -> String {
        format!("key<{}>", self.generator().identity().tag)
    }
}
