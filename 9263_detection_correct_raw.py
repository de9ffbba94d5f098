"""Asking whether a key is typed."""

import jax

typed_key = jax.random.key(0)
print(jax.dtypes.issubdtype(typed_key.dtype, jax.dtypes.prng_key))
print(jax.dtypes.issubdtype(typed_key.dtype, jax.dtypes.extended))
raw_key = jax.random.PRNGKey(0)
print(jax.dtypes.issubdtype(raw_key.dtype, jax.dtypes.prng_key))
