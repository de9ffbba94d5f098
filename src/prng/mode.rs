//! The two global flags of JAX that change which numbers a key yields.
//!
//! **Invariant:** a mode is passed along, never stored in a key: the same key yields different numbers under different
//! modes, as in JAX, where both flags are configuration and not part of a key.

/// The value of `jax_threefry_partitionable` and `jax_enable_x64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// `jax_threefry_partitionable`, on by default since JAX 0.5.0. It determines the counters of `threefry2x32` in
    /// `split` and `bits`, and so also how `rbg` splits.
    pub partitionable: bool,
    /// `jax_enable_x64`. If off, every 64-bit type silently becomes its 32-bit counterpart, and seeds lose their high word.
    pub x64: bool,
}

impl Default for Mode {
    fn default() -> Self {
        Self { partitionable: true, x64: false }
    }
}
