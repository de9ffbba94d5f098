"""A batch of keys by splitting."""

from jax import random

key = random.key(0)
batched_keys = random.split(key, 10)
print([random.normal(one) for one in batched_keys])
