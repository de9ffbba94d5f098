"""Sister calls that need no order."""

from jax import random

def foo(rng):
    left, right = random.split(rng, 2)
    return bar(left) + baz(right)


def bar(rng):
    return random.uniform(rng, (3, 4))


def baz(rng):
    return random.uniform(rng, (3, 4))


print(foo(random.PRNGKey(0)))
