"""One seed under two implementations."""

import jax

key = jax.random.key(0, impl="threefry2x32")
print(jax.random.uniform(key, shape=(3,)))

key = jax.random.key(0, impl="rbg")
print(jax.random.uniform(key, shape=(3,)))
