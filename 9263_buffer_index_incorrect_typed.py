"""A seed taken out of a key's buffer."""

from jax import random

key = random.key(999)
new_key = random.key(key[1])  # error: [X]
print(random.normal(new_key))
