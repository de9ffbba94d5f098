"""Two draws from one key."""

from jax import random

key = random.PRNGKey(0)
x = random.uniform(key, (100,))
y = random.uniform(key, (100,))  # error: [X]
print(x, y)
