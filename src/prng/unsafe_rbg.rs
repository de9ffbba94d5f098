//! `unsafe_rbg`: both bits and derivation from XLA's `RngBitGenerator`.
//!
//! JAX uses every tenth row of four words as a hash (`jax/_src/random/rbg.py`, `_unsafe_rbg_split` and
//! `_unsafe_rbg_fold_in`). Hence `split(k)[0]` is the first draw from `k`, and `fold_in` is an exclusive or: it is
//! commutative and its own inverse.
//!
//! **Invariant:** child *i* of a split is words 40*i* … 40*i*+3 of the stream of the parent. Under `vmap`, all children
//! come from the stream of the first parent, as in JAX.

use super::implementation::{Generator, Identity, Words};
use super::mode::Mode;
use super::rbg::{Rbg, stream_32, stream_64, stream_row};

/// The generator; it has no state.
#[derive(Clone, Copy, Debug)]
pub struct UnsafeRbg;

/// Rows of the stream per hash.
const ROWS_PER_HASH: usize = 10;

/// The words that `fold_in` XORs into a key: the last row of hash number `index` of the key made from `data`.
fn mask(data: u32, index: usize) -> Words {
    stream_row(&Rbg.seed(0, data), ROWS_PER_HASH * index + ROWS_PER_HASH - 1)
}

fn xor(key: &[u32], mask: Words) -> Words {
    [key[0] ^ mask[0], key[1] ^ mask[1], key[2] ^ mask[2], key[3] ^ mask[3]]
}

impl Generator for UnsafeRbg {
    fn identity(&self) -> Identity {
        Identity { name: "unsafe_rbg", tag: "urbg", width: 4 }
    }

    fn seed(&self, high: u32, low: u32) -> Words {
        Rbg.seed(high, low)
    }

    fn split(&self, _mode: Mode, key: &[u32], children: &mut [u32]) {
        for (index, child) in children.chunks_exact_mut(4).enumerate() {
            child.copy_from_slice(&stream_row(key, ROWS_PER_HASH * index));
        }
    }

    fn fold_in(&self, key: &[u32], data: u32) -> Words {
        xor(key, mask(data, 0))
    }

    fn fill_32(&self, _mode: Mode, key: &[u32], out: &mut [u32]) {
        stream_32(key, out);
    }

    fn fill_64(&self, _mode: Mode, key: &[u32], out: &mut [u64]) {
        stream_64(key, out);
    }

    fn batch_draws_from_first_key(&self) -> bool {
        true
    }

    /// All children of the batch come from one long draw from the first key.
    fn split_batch(&self, mode: Mode, keys: &[u32], children: &mut [u32]) {
        if keys.len() >= self.width() {
            self.split(mode, keys, children);
        }
    }

    /// If the data is mapped over too, all masks come from one long draw from the key made from the first datum.
    fn fold_in_batch(&self, keys: &[u32], data: &[u32], out: &mut [u32]) {
        let first = data.first().copied().unwrap_or(0);
        for (index, (key, child)) in keys.chunks_exact(4).zip(out.chunks_exact_mut(4)).enumerate() {
            let index = if data.len() > 1 { index } else { 0 };
            child.copy_from_slice(&xor(key, mask(first, index)));
        }
    }
}
