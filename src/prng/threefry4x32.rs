//! `threefry4x32`: Threefry with a four-word key and block, in JAX since 0.10.2.
//!
//! The hash is Threefry-4x32 with 20 rounds (Salmon et al., SC 2011); what is hashed follows
//! `jax/_src/random/threefry4x32.py`. The mode has no effect.
//!
//! **Invariant:** element *i* depends only on the key and *i*, so `split(k, n)[i]` equals `fold_in(k, i)`.

use super::implementation::{Generator, Identity, Words};
use super::mode::Mode;
use super::threefry2x32::PARITY;
use super::words;

/// The generator; it has no state.
#[derive(Clone, Copy, Debug)]
pub struct Threefry4x32;

/// Rotation distances of Threefry-4x32 (Salmon et al., table 2); the pattern repeats every eight rounds.
const ROTATIONS: [[u32; 2]; 8] = [[10, 26], [11, 21], [13, 27], [23, 5], [6, 20], [17, 11], [25, 10], [18, 20]];

/// The Threefry-4x32-20 hash of `counter` under `key`.
#[inline]
pub fn threefry4x32(key: [u32; 4], counter: [u32; 4]) -> [u32; 4] {
    let [k0, k1, k2, k3] = key;
    let schedule = [k0, k1, k2, k3, k0 ^ k1 ^ k2 ^ k3 ^ PARITY];
    let mut x = counter;
    for (word, key) in x.iter_mut().zip(key) {
        *word = word.wrapping_add(key);
    }
    for group in 0..5 {
        for round in 0..4 {
            let [first, second] = ROTATIONS[(4 * group + round) % 8];
            // Even rounds mix the words (0, 1) and (2, 3), odd rounds (0, 3) and (2, 1).
            let (a, b) = if round % 2 == 0 { (1, 3) } else { (3, 1) };
            x[0] = x[0].wrapping_add(x[a]);
            x[a] = x[a].rotate_left(first) ^ x[0];
            x[2] = x[2].wrapping_add(x[b]);
            x[b] = x[b].rotate_left(second) ^ x[2];
        }
        for (offset, word) in x.iter_mut().enumerate() {
            *word = word.wrapping_add(schedule[(group + 1 + offset) % 5]);
        }
        x[3] = x[3].wrapping_add(u32::try_from(group + 1).unwrap_or(u32::MAX));
    }
    x
}

fn whole(key: &[u32]) -> [u32; 4] {
    [key[0], key[1], key[2], key[3]]
}

impl Generator for Threefry4x32 {
    fn identity(&self) -> Identity {
        Identity { name: "threefry4x32", tag: "fry4", width: 4 }
    }

    /// The seed is hashed, so that all four words depend on it.
    fn seed(&self, high: u32, low: u32) -> Words {
        threefry4x32([high, low, 0, 0], [0; 4])
    }

    fn fold_in(&self, key: &[u32], data: u32) -> Words {
        threefry4x32(whole(key), [0, 0, 0, data])
    }

    fn fill_32(&self, _mode: Mode, key: &[u32], out: &mut [u32]) {
        let key = whole(key);
        for (index, word) in out.iter_mut().enumerate() {
            let [high, low] = words::of_index(index);
            let [a, b, c, d] = threefry4x32(key, [high, low, 0, 0]);
            *word = a ^ b ^ c ^ d;
        }
    }

    fn fill_64(&self, _mode: Mode, key: &[u32], out: &mut [u64]) {
        let key = whole(key);
        for (index, word) in out.iter_mut().enumerate() {
            let [high, low] = words::of_index(index);
            let [a, b, c, d] = threefry4x32(key, [high, low, 0, 0]);
            *word = words::join(a ^ c, b ^ d);
        }
    }
}
