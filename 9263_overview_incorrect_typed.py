"""The overview's calls, read as one program: the parent is drawn from after it was split."""

from jax import random

key = random.key(0)
new_key, subkey = random.split(key)
data = random.uniform(key, shape=(5,))  # error: [X]
print(new_key, subkey, data)
