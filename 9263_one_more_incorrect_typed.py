"""Arithmetic on a typed key raises."""

import jax

key = jax.random.key(0)
key = key + 1  # error: [X]
print(jax.random.key_data(key))
