"""As the document has it: the key that is split is not the one made above, which nobody uses."""

from jax import random

key = random.PRNGKey(0)
key1, key2 = random.split(random.key(0))
x = random.uniform(key1, (100,))
y = random.uniform(key2, (100,))
print(x, y)
