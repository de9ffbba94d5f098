//! `rbg`: bits from XLA's `RngBitGenerator`, derivation from `threefry2x32` on each half of the key.
//!
//! JAX's part is `jax/_src/random/rbg.py`. XLA does not specify what `RngBitGenerator` generates; this is what its CPU
//! compiler emits for the default algorithm (XLA `xla/hlo/builder/lib/prng.cc`, `PhiloxRngBitGenerator`):
//! Philox-4x32-10 in counter mode. The first half of the key is both the Philox key and the upper half of a 128-bit
//! little-endian counter; the second half is the counter's lower half. A GPU or TPU may draw other bits.
//!
//! **Invariant:** word *i* of a stream depends only on the key and *i*. Keys with equal first halves and close second halves
//! share most of their streams.

use super::implementation::{Generator, Identity, Words};
use super::mode::Mode;
use super::philox4x32::philox4x32;
use super::threefry2x32::Threefry2x32;
use super::words;

/// The generator; it has no state.
#[derive(Clone, Copy, Debug)]
pub struct Rbg;

/// Row `row` of the stream of `key`, taken as an array of shape `(n, 4)`: one Philox block.
#[inline]
pub(super) fn stream_row(key: &[u32], row: usize) -> Words {
    let (low, carry) = words::join(key[3], key[2]).overflowing_add(row as u64);
    let high = words::join(key[1], key[0]).wrapping_add(u64::from(carry));
    philox4x32([key[0], key[1]], [words::low(low), words::high(low), words::low(high), words::high(high)])
}

/// Fills `out` with the stream of `key`.
pub(super) fn stream_32(key: &[u32], out: &mut [u32]) {
    for (block, piece) in out.chunks_mut(4).enumerate() {
        let count = piece.len();
        piece.copy_from_slice(&stream_row(key, block)[..count]);
    }
}

/// Fills `out` with the stream of `key`, two words per element, the low one first.
pub(super) fn stream_64(key: &[u32], out: &mut [u64]) {
    for (block, piece) in out.chunks_mut(2).enumerate() {
        let [a, b, c, d] = stream_row(key, block);
        let pairs = [words::join(b, a), words::join(d, c)];
        let count = piece.len();
        piece.copy_from_slice(&pairs[..count]);
    }
}

impl Generator for Rbg {
    fn identity(&self) -> Identity {
        Identity { name: "rbg", tag: "rbg", width: 4 }
    }

    /// The threefry key of the seed, twice.
    fn seed(&self, high: u32, low: u32) -> Words {
        [high, low, high, low]
    }

    fn split(&self, mode: Mode, key: &[u32], children: &mut [u32]) {
        let mut half = vec![0; children.len() / 2];
        for (offset, key) in [(0, &key[..2]), (2, &key[2..4])] {
            Threefry2x32.split(mode, key, &mut half);
            for (child, words) in children.chunks_exact_mut(4).zip(half.chunks_exact(2)) {
                child[offset..offset + 2].copy_from_slice(words);
            }
        }
    }

    fn fold_in(&self, key: &[u32], data: u32) -> Words {
        let [a, b, ..] = Threefry2x32.fold_in(&key[..2], data);
        let [c, d, ..] = Threefry2x32.fold_in(&key[2..4], data);
        [a, b, c, d]
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
}
