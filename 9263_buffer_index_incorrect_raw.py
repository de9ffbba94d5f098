"""A seed taken out of a key's buffer."""

from jax import random

key = random.PRNGKey(999)
new_key = random.PRNGKey(key[1])  # error: [X]
print(random.normal(new_key))
