"""A batch of keys by addition."""

import jax.numpy as jnp
from jax import random

key = random.PRNGKey(0)
batched_keys = key + jnp.arange(10, dtype=key.dtype)[:, None]  # error: [X]
print(batched_keys)
