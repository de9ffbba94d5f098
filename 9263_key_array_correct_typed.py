"""An array of keys, a key for each seed."""

import jax
import jax.numpy as jnp

key_arr = jax.vmap(jax.random.key)(jnp.arange(4))
print(key_arr, key_arr.shape)
print(jax.vmap(jax.random.normal)(key_arr))
