"""Old keys are deleted; the loop goes on with the new one."""

from jax import random

key = random.key(42)
for i in range(3):
    new_key, subkey = random.split(key)
    del key
    value = random.normal(subkey)
    del subkey
    print(i, value)
    key = new_key
