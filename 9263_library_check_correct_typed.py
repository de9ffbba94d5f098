"""A library that takes typed keys only."""

import jax
from jax import Array, dtypes


def ensure_typed(key: Array) -> Array:
    if not dtypes.issubdtype(key.dtype, dtypes.prng_key):
        raise TypeError("a typed key is required")
    return key


def noise(key: Array) -> Array:
    return jax.random.normal(ensure_typed(key))


print(noise(jax.random.key(0)))
