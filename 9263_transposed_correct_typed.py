"""Keys mapped over."""

import jax
from jax import random

keys = random.split(random.key(0))
data = jax.vmap(random.uniform, in_axes=0)(keys)
print(data)
