"""As many subkeys as are needed."""

from jax import random

key = random.key(42)
key, subkey = random.split(key)
print(random.normal(subkey))
key, *subkeys = random.split(key, num=43)
print([random.normal(subkey) for subkey in subkeys], random.normal(key))
