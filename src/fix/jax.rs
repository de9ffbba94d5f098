//! The functions of JAX that fixes write, and look for where they would write them.
//!
//! What a function does is in its model; which function a fix writes is decided here.
//!
//! **Invariant:** each is a public path of JAX.

/// Children of a key: `split(key, num=2)`.
pub(super) const SPLIT: &str = "jax.random.split";

/// A key for a number: `fold_in(key, data)`.
pub(super) const FOLD_IN: &str = "jax.random.fold_in";

/// Makes typed keys.
pub(super) const KEY: &str = "jax.random.key";

/// A typed key of words.
pub(super) const WRAP_KEY_DATA: &str = "jax.random.wrap_key_data";

/// Makes raw keys.
pub const RAW_KEY: &str = "jax.random.PRNGKey";

/// Another name of the array type.
pub(super) const NDARRAY: &str = "jax.numpy.ndarray";

/// The test of a dtype, in the namespace of arrays.
pub(super) const NUMPY_ISSUBDTYPE: &str = "jax.numpy.issubdtype";

/// The words of a key.
pub(super) const KEY_DATA: &str = "jax.random.key_data";

/// The removed sampler, and its replacement.
pub(super) const SHUFFLE: &str = "jax.random.shuffle";
pub(super) const PERMUTATION: &str = "jax.random.permutation";

/// Lanes, each with its own key.
pub(super) const VMAP: &str = "jax.vmap";

/// The number of a lane.
pub(super) const AXIS_INDEX: &str = "jax.lax.axis_index";

/// The test of a dtype: `issubdtype(key.dtype, prng_key)`.
pub(super) const ISSUBDTYPE: &str = "jax.dtypes.issubdtype";

/// The dtype of all typed keys.
pub(super) const PRNG_KEY: &str = "jax.dtypes.prng_key";

/// The conversion of an object to an array.
pub(super) const ASARRAY: &str = "jax.numpy.asarray";

/// The functions that register a class with its own methods, and a dataclass, as a pytree.
pub(super) const REGISTER_CLASS: &str = "jax.tree_util.register_pytree_node_class";
pub(super) const REGISTER_DATACLASS: &str = "jax.tree_util.register_dataclass";
