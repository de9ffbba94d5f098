//! `threefry2x32`: JAX's default. Every child and every draw is the Threefry-2x32 hash of a counter under the key.
//!
//! The hash is Threefry-2x32 with 20 rounds of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
//! 1, 2, 3" (SC 2011). What is hashed is JAX's choice (`jax/_src/random/threefry2x32.py`):
//!
//! | | partitionable (default since 0.5.0) | original |
//! |---|---|---|
//! | counter of element *i* | the two words of *i* | words 0 … m-1, word *j* paired with word *j + m/2* |
//! | `split` child *i* | both words of block *i* | words 2*i* and 2*i*+1 of the concatenated halves |
//! | 32-bit draw *i* | XOR of both words of block *i* | word *i* of the concatenated halves |
//!
//! **Invariant:** in partitionable mode, element *i* depends only on the key and *i*, so `split(k, n)[i]` equals
//! `fold_in(k, i)`; in the original mode, every element also depends on the size of the request.

use super::implementation::{Generator, Identity, Words};
use super::mode::Mode;
use super::words;

/// The generator; it has no state.
#[derive(Clone, Copy, Debug)]
pub struct Threefry2x32;

/// Rotation distances of Threefry-2x32 (Salmon et al., table 2), the first four and the second four rounds.
const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];

/// The parity constant of the key schedule (Skein 1.3, `C240` = `0x1BD11BDAA9FC1A22`; 32-bit variants take its high
/// word).
pub(super) const PARITY: u32 = 0x1BD1_1BDA;

/// The Threefry-2x32-20 hash of `counter` under `key`.
#[inline]
pub fn threefry2x32(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    let schedule = [key[0], key[1], key[0] ^ key[1] ^ PARITY];
    let mut x = [counter[0].wrapping_add(schedule[0]), counter[1].wrapping_add(schedule[1])];
    for group in 0..5 {
        for distance in ROTATIONS[group % 2] {
            x[0] = x[0].wrapping_add(x[1]);
            x[1] = x[1].rotate_left(distance) ^ x[0];
        }
        let injection = u32::try_from(group + 1).unwrap_or(u32::MAX);
        x[0] = x[0].wrapping_add(schedule[(group + 1) % 3]);
        x[1] = x[1].wrapping_add(schedule[(group + 2) % 3]).wrapping_add(injection);
    }
    x
}

/// Hashes the words 0 … m-1 in the pairing of the original mode; an odd m is padded with one zero, whose hash is
/// dropped.
fn original_words(key: [u32; 2], out: &mut [u32]) {
    let total = out.len();
    let half = total.div_ceil(2);
    let (first, second) = out.split_at_mut(half);
    for (index, word) in first.iter_mut().enumerate() {
        let partner = if half + index < total { half + index } else { 0 };
        let block = threefry2x32(key, [words::of_index(index)[1], words::of_index(partner)[1]]);
        *word = block[0];
        if let Some(word) = second.get_mut(index) {
            *word = block[1];
        }
    }
}

fn pair(key: &[u32]) -> [u32; 2] {
    [key[0], key[1]]
}

impl Generator for Threefry2x32 {
    fn identity(&self) -> Identity {
        Identity { name: "threefry2x32", tag: "fry", width: 2 }
    }

    /// The key *is* the seed.
    fn seed(&self, high: u32, low: u32) -> Words {
        [high, low, 0, 0]
    }

    fn split(&self, mode: Mode, key: &[u32], children: &mut [u32]) {
        let key = pair(key);
        if mode.partitionable {
            for (index, child) in children.chunks_exact_mut(2).enumerate() {
                child.copy_from_slice(&threefry2x32(key, words::of_index(index)));
            }
        } else {
            original_words(key, children);
        }
    }

    /// Hashes, under the key, the key made from `data` as a 32-bit seed. The mode has no effect.
    fn fold_in(&self, key: &[u32], data: u32) -> Words {
        let [first, second] = threefry2x32(pair(key), [0, data]);
        [first, second, 0, 0]
    }

    fn fill_32(&self, mode: Mode, key: &[u32], out: &mut [u32]) {
        let key = pair(key);
        if mode.partitionable {
            for (index, word) in out.iter_mut().enumerate() {
                let block = threefry2x32(key, words::of_index(index));
                *word = block[0] ^ block[1];
            }
        } else {
            original_words(key, out);
        }
    }

    fn fill_64(&self, mode: Mode, key: &[u32], out: &mut [u64]) {
        let key = pair(key);
        if mode.partitionable {
            for (index, word) in out.iter_mut().enumerate() {
                let block = threefry2x32(key, words::of_index(index));
                *word = words::join(block[0], block[1]);
            }
        } else {
            let mut halves = vec![0; 2 * out.len()];
            original_words(key, &mut halves);
            let (high, low) = halves.split_at(out.len());
            for ((word, high), low) in out.iter_mut().zip(high).zip(low) {
                *word = words::join(*high, *low);
            }
        }
    }

    /// The original mode packs narrow draws: 32 bits give four bytes or two halves, low ones first.
    fn fill_narrow(&self, mode: Mode, key: &[u32], width: u32, out: &mut [u32]) {
        let mask = (1 << width) - 1;
        if mode.partitionable {
            self.fill_32(mode, key, out);
            for word in out {
                *word &= mask;
            }
        } else {
            let per_word = (32 / width) as usize;
            let mut packed = vec![0; out.len().div_ceil(per_word)];
            original_words(pair(key), &mut packed);
            for (piece, word) in out.chunks_mut(per_word).zip(packed) {
                for (position, slot) in (0..).zip(piece) {
                    *slot = word >> (position * width) & mask;
                }
            }
        }
    }
}
