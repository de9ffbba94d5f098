"""Keys that are only looked at."""

from jax import random

key = random.PRNGKey(0)
print(key)
print(key.shape)
print(key.dtype)
print(random.key_data(key))
