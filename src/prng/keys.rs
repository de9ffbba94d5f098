//! Keys: an implementation, a shape, and the words of each key.
//!
//! A *typed* key of JAX is a [`Keys`] of shape `()`; a *raw* key is the `uint32` [`Array`] that [`Keys::data`] returns
//! and [`Keys::wrap`] accepts. The caller keeps track of which of the two it passed, and so which to return, as in
//! JAX's `_check_prng_key` and `_return_prng_keys`.
//!
//! **Invariant:** there are exactly `width` words for each key. Keys are plain values: nothing here draws or derives.

use super::array::{Array, Data, size_of};
use super::dtype::DType;
use super::error::{Error, Result};
use super::implementation::Implementation;

/// An array of keys of one implementation. A single key has the shape `()`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Keys {
    implementation: Implementation,
    shape: Vec<usize>,
    words: Vec<u32>,
}

impl Keys {
    /// Keys from words, `width` for each key.
    pub fn new(implementation: Implementation, shape: &[usize], words: Vec<u32>) -> Result<Self> {
        let width = implementation.width();
        if size_of(shape)? * width == words.len() {
            Ok(Self { implementation, shape: shape.to_vec(), words })
        } else {
            let shape = [shape, &[words.len()]].concat();
            Err(Error::KeyDataShape { implementation: implementation.name(), width, shape })
        }
    }

    /// `wrap_key_data(data, impl=implementation)`: the last axis of `data` holds the words of each key.
    pub fn wrap(implementation: Implementation, data: &Array) -> Result<Self> {
        let width = implementation.width();
        let words = data.words().ok_or_else(|| Error::KeyDataType(data.dtype()))?;
        match data.shape() {
            [shape @ .., last] if *last == width => Ok(Self { implementation, shape: shape.to_vec(), words }),
            shape => Err(Error::KeyDataShape { implementation: implementation.name(), width, shape: shape.to_vec() }),
        }
    }

    /// `key_data(keys)`: the words, along an additional last axis.
    pub fn data(&self) -> Result<Array> {
        let shape = [self.shape.as_slice(), &[self.implementation.width()]].concat();
        Array::from_integers(DType::Uint32, &shape, self.words.iter().map(|&word| i128::from(word)))
    }

    /// The implementation, as in `key_impl(keys)`.
    pub fn implementation(&self) -> Implementation {
        self.implementation
    }

    /// The shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.words.len() / self.implementation.width()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The words of all keys, in row-major order.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The words of each key.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.words.chunks_exact(self.implementation.width())
    }

    /// The check of JAX's functions outside `vmap`: they require a single key, not an array of keys.
    pub fn require_single(&self, function: &'static str) -> Result<()> {
        if self.shape.is_empty() { Ok(()) } else { Err(Error::KeyArray { function, shape: self.shape.clone() }) }
    }

    /// The key array whose key *i* is key `positions[i]` of this one; positions beyond the end are clamped, as in JAX.
    /// Indexing, transposing and broadcasting of key arrays are all gathers.
    pub fn gather(&self, shape: &[usize], positions: &[usize]) -> Result<Self> {
        let width = self.implementation.width();
        let last = self.len().saturating_sub(1);
        let words = positions
            .iter()
            .filter_map(|&position| {
                let start = position.min(last) * width;
                self.words.get(start..start + width)
            })
            .flatten()
            .copied()
            .collect();
        Self::new(self.implementation, shape, words)
    }

    /// The same keys in another shape of the same size.
    pub fn reshape(mut self, shape: &[usize]) -> Result<Self> {
        if size_of(shape)? != self.len() {
            return Err(Error::Broadcast { function: "reshape", from: self.shape, to: shape.to_vec() });
        }
        self.shape = shape.to_vec();
        Ok(self)
    }

    /// The keys repeated to `shape`.
    pub fn broadcast_to(&self, function: &'static str, shape: &[usize]) -> Result<Self> {
        let numbers = Array::from_integers(DType::Uint64, &self.shape, (0..self.len()).map(|index| index as i128))?;
        let positions = numbers.broadcast_positions(function, shape)?;
        self.gather(shape, &positions)
    }

    /// Compares two arrays of keys element by element; `None` if implementations or shapes differ, because JAX would not
    /// compare them.
    pub fn equal(&self, other: &Self) -> Option<Vec<bool>> {
        let comparable = self.implementation == other.implementation && self.shape == other.shape;
        comparable.then(|| self.iter().zip(other.iter()).map(|(a, b)| a == b).collect())
    }
}

/// The seed of each element of an integer array, as its high and low word, as `jax.random.key` computes it for an array
/// under `vmap` and for a scalar outside. Narrow integers are sign-extended to one word, and their high word is zero.
pub(super) fn seed_words(seeds: &Array) -> Option<Vec<[u32; 2]>> {
    let wide = seeds.dtype().width() == 64;
    let split = |bits: u64| [if wide { super::words::high(bits) } else { 0 }, super::words::low(bits)];
    match seeds.data() {
        Data::Signed(values) => Some(values.iter().map(|&value| split(value.cast_unsigned())).collect()),
        Data::Unsigned(values) => Some(values.iter().map(|&value| split(value)).collect()),
        Data::Bool(_) | Data::Real(_) | Data::Complex(_) => None,
    }
}
