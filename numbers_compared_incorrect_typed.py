"""The page draws the same numbers in three ways to compare them: a seed and subkeys used again."""

import jax
import jax.numpy as jnp
from jax import random

key = random.key(42)
subkeys = random.split(key, 3)
sequence = jnp.stack([random.normal(subkey) for subkey in subkeys])
print("individually:", sequence)

key = random.key(42)
print("all at once: ", random.normal(key, shape=(3,)))  # error: [X]
print("vectorized:", jax.vmap(random.normal)(subkeys))  # error: [X]
