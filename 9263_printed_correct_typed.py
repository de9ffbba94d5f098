"""Keys that are only looked at."""

from jax import random

key = random.key(0)
print(key)
print(key.shape)
print(key.dtype)
print(random.key_data(key))
