"""Two draws from the two children of a key."""

from jax import random

key = random.PRNGKey(0)
key1, key2 = random.split(key)
x = random.uniform(key1, (100,))
y = random.uniform(key2, (100,))
print(x, y)
