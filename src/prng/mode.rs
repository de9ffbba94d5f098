//! The two global switches of JAX that change which numbers a key yields.
//!
//! **Invariant:** a mode is read, never stored: the same key means different numbers under different modes, as in
//! JAX, where both switches are configuration flags and no part of a key.

/// The value of `jax_threefry_partitionable` and `jax_enable_x64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// `jax_threefry_partitionable`, on by default since JAX 0.5.0. It decides how `threefry2x32` numbers its
    /// counters in `split` and `bits`, and through `threefry2x32` how `rbg` splits.
    pub partitionable: bool,
    /// `jax_enable_x64`. Off, every 64-bit type is silently its 32-bit counterpart and seeds lose their high word.
    pub x64: bool,
}

impl Default for Mode {
    fn default() -> Self {
        Self { partitionable: true, x64: false }
    }
}
