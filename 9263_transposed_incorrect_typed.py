"""Keys mapped over along the words of their buffers."""

import jax
from jax import random

keys = random.split(random.key(0))
data = jax.vmap(random.uniform, in_axes=1)(keys)  # error: [X]
print(data)
