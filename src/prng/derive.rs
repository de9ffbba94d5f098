//! Deriving keys: from seeds, and from other keys.
//!
//! ```text
//! key(seed)            seed
//! split(key, shape)    key → as many keys as the shape holds
//! fold_in(key, data)   key, number → key
//! ```
//!
//! **Invariant:** every function is pure. Applied to an array of keys, it behaves as under `jax.vmap`: the shape of
//! the result starts with the shape of the keys.

use super::array::{Array, size_of};
use super::dtype::DType;
use super::error::{Error, Result};
use super::implementation::Implementation;
use super::keys::{Keys, seed_words};
use super::mode::Mode;

/// `jax.random.key(seed, impl=implementation)` of a Python integer. JAX accepts any `int64`; without x64 only the low
/// 32 bits matter.
pub fn key(mode: Mode, implementation: Implementation, seed: i128) -> Result<Keys> {
    let (low, high) = DType::Int64.bounds();
    if !(low..=high).contains(&seed) {
        return Err(Error::Overflow { value: seed, dtype: DType::Int64 });
    }
    keys(implementation, &Array::integer(DType::default_int(mode), seed))
}

/// `jax.random.key` of an integer array: a scalar, or under `vmap` an array of any shape.
pub fn keys(implementation: Implementation, seeds: &Array) -> Result<Keys> {
    let Some(seed_words) = seed_words(seeds) else {
        let problem = format!("PRNG key seed must be an integer; got {}", seeds.dtype());
        return Err(Error::Argument { function: "key", problem });
    };
    let generator = implementation.generator();
    let mut words = Vec::with_capacity(seed_words.len() * generator.width());
    for [high, low] in seed_words {
        words.extend_from_slice(&generator.seed(high, low)[..generator.width()]);
    }
    Keys::new(implementation, seeds.shape(), words)
}

/// `jax.random.split(key, shape)`.
pub fn split(mode: Mode, keys: &Keys, shape: &[usize]) -> Result<Keys> {
    let shape = [keys.shape(), shape].concat();
    let generator = keys.implementation().generator();
    let mut children = vec![0; size_of(&shape)? * generator.width()];
    generator.split_batch(mode, keys.words(), &mut children);
    Keys::new(keys.implementation(), &shape, children)
}

/// The first and the second child of each key: `key, subkey = split(key)` in JAX's own samplers.
pub fn split_in_two(mode: Mode, keys: &Keys) -> Result<(Keys, Keys)> {
    let children = split(mode, keys, &[2])?;
    let child = |number: usize| {
        let positions: Vec<usize> = (0..keys.len()).map(|index| 2 * index + number).collect();
        children.gather(keys.shape(), &positions)
    };
    Ok((child(0)?, child(1)?))
}

/// `jax.random.fold_in(key, data)` with the same data for every key.
pub fn fold_in(keys: &Keys, data: u32) -> Result<Keys> {
    fold(keys, &[data])
}

/// `jax.vmap(jax.random.fold_in)(keys, data)`: key *i* with `data[i]`, which JAX casts to `uint32`.
pub fn fold_in_each(keys: &Keys, data: &Array) -> Result<Keys> {
    if data.shape() != keys.shape() {
        let (from, to) = (data.shape().to_vec(), keys.shape().to_vec());
        return Err(Error::Broadcast { function: "fold_in", from, to });
    }
    fold(keys, &data.cast(DType::Uint32).words().unwrap_or_default())
}

fn fold(keys: &Keys, data: &[u32]) -> Result<Keys> {
    let mut words = vec![0; keys.words().len()];
    keys.implementation().generator().fold_in_batch(keys.words(), data, &mut words);
    Keys::new(keys.implementation(), keys.shape(), words)
}

/// Converts the Python integer that is passed to `fold_in`. JAX converts it to `uint32`, and rejects it if it does not fit.
pub fn fold_in_data(value: i128) -> Result<u32> {
    u32::try_from(value).map_err(|_| Error::Overflow { value, dtype: DType::Uint32 })
}
