"""Two keys from one."""

from jax import random

key = random.key(999)
key, new_key = random.split(key)
print(random.normal(new_key))
print(random.normal(key))
