"""One number for each subkey."""

import jax.numpy as jnp
from jax import random

key = random.key(42)
subkeys = random.split(key, 3)
print(jnp.stack([random.normal(subkey) for subkey in subkeys]))
