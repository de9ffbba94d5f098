"""The key as a global state that nobody advances."""

from jax import random

RNG = random.key(0)


def bar():
    return random.uniform(RNG, (3, 4))


def baz():
    return random.uniform(RNG, (3, 4))  # error: [X]


def foo():
    return bar() + baz()  # error: [X]


print(foo())
