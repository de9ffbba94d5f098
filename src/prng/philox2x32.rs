//! `philox2x32`: Philox with a two-word block and a one-word key, in JAX since 0.10.2.
//!
//! The hash is Philox-2x32 with 10 rounds (Salmon et al., SC 2011); what is hashed follows
//! `jax/_src/random/philox2x32.py`. The mode has no effect.
//!
//! **Invariant:** element *i* depends only on the key and *i*, so `split(k, n)[i]` equals `fold_in(k, i)`. A key has only
//! 32 bits: among 77,000 keys, two are equal with a probability of about one half.

use super::implementation::{Generator, Identity, Words};
use super::mode::Mode;
use super::words;

/// The generator; it has no state.
#[derive(Clone, Copy, Debug)]
pub struct Philox2x32;

/// The multiplier of Philox-2x32 (Salmon et al., section 3.3).
const MULTIPLIER: u32 = 0xD256_D193;

/// The Weyl constant added to the key after each round: the golden ratio, floor(2^32 (√5 - 1) / 2).
pub(super) const GOLDEN_RATIO: u32 = 0x9E37_79B9;

/// The Philox-2x32-10 hash of `counter` under `key`.
#[inline]
pub fn philox2x32(key: u32, counter: [u32; 2]) -> [u32; 2] {
    let (mut key, mut x) = (key, counter);
    for _ in 0..10 {
        let [high, low] = words::product(MULTIPLIER, x[0]);
        x = [high ^ key ^ x[1], low];
        key = key.wrapping_add(GOLDEN_RATIO);
    }
    x
}

impl Generator for Philox2x32 {
    fn identity(&self) -> Identity {
        Identity { name: "philox2x32", tag: "phx2", width: 1 }
    }

    /// The first word of the hash of the seed.
    fn seed(&self, high: u32, low: u32) -> Words {
        [philox2x32(0, [high, low])[0], 0, 0, 0]
    }

    fn fold_in(&self, key: &[u32], data: u32) -> Words {
        [philox2x32(key[0], [0, data])[0], 0, 0, 0]
    }

    fn fill_32(&self, _mode: Mode, key: &[u32], out: &mut [u32]) {
        for (index, word) in out.iter_mut().enumerate() {
            let [a, b] = philox2x32(key[0], words::of_index(index));
            *word = a ^ b;
        }
    }

    fn fill_64(&self, _mode: Mode, key: &[u32], out: &mut [u64]) {
        for (index, word) in out.iter_mut().enumerate() {
            let [a, b] = philox2x32(key[0], words::of_index(index));
            *word = words::join(a, b);
        }
    }
}
