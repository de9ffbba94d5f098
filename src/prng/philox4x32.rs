//! `philox4x32`: Philox with a four-word block and a two-word key, in JAX since 0.10.2. The same hash drives `rbg`.
//!
//! The hash is Philox-4x32 with 10 rounds (Salmon et al., SC 2011); what is hashed follows
//! `jax/_src/random/philox4x32.py`. The mode has no effect.
//!
//! **Invariant:** element *i* depends only on the key and *i*, so `split(k, n)[i]` equals `fold_in(k, i)`.

use super::implementation::{Generator, Identity, Words};
use super::mode::Mode;
use super::philox2x32::GOLDEN_RATIO;
use super::words;

/// The generator; it has no state.
#[derive(Clone, Copy, Debug)]
pub struct Philox4x32;

/// The two multipliers of Philox-4x32 (Salmon et al., section 3.3).
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];

/// The Weyl constants added to the key after each round: the golden ratio, and √3 - 1, times 2^32.
const WEYL: [u32; 2] = [GOLDEN_RATIO, 0xBB67_AE85];

/// The Philox-4x32-10 hash of `counter` under `key`.
#[inline]
pub fn philox4x32(key: [u32; 2], counter: [u32; 4]) -> [u32; 4] {
    let ([mut k0, mut k1], mut x) = (key, counter);
    for _ in 0..10 {
        let [high0, low0] = words::product(MULTIPLIERS[0], x[0]);
        let [high1, low1] = words::product(MULTIPLIERS[1], x[2]);
        x = [high1 ^ x[1] ^ k0, low1, high0 ^ x[3] ^ k1, low0];
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    x
}

fn pair(key: &[u32]) -> [u32; 2] {
    [key[0], key[1]]
}

impl Generator for Philox4x32 {
    fn identity(&self) -> Identity {
        Identity { name: "philox4x32", tag: "phx4", width: 2 }
    }

    /// The first two words of the hash of the seed.
    fn seed(&self, high: u32, low: u32) -> Words {
        let [a, b, ..] = philox4x32([0, 0], [high, low, 0, 0]);
        [a, b, 0, 0]
    }

    fn fold_in(&self, key: &[u32], data: u32) -> Words {
        let [a, b, ..] = philox4x32(pair(key), [0, 0, 0, data]);
        [a, b, 0, 0]
    }

    fn fill_32(&self, _mode: Mode, key: &[u32], out: &mut [u32]) {
        let key = pair(key);
        for (index, word) in out.iter_mut().enumerate() {
            let [high, low] = words::of_index(index);
            let [a, b, c, d] = philox4x32(key, [high, low, 0, 0]);
            *word = a ^ b ^ c ^ d;
        }
    }

    /// The first two words of each block; the others are discarded.
    fn fill_64(&self, _mode: Mode, key: &[u32], out: &mut [u64]) {
        let key = pair(key);
        for (index, word) in out.iter_mut().enumerate() {
            let [high, low] = words::of_index(index);
            let [a, b, ..] = philox4x32(key, [high, low, 0, 0]);
            *word = words::join(a, b);
        }
    }
}
