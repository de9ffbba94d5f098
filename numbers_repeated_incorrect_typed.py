"""The same key gives the same number."""

from jax import random

key = random.key(42)
print(random.normal(key))
print(random.normal(key))  # error: [X]
