"""Layers in series and side by side, a key for each; a training loop that splits."""

import jax.numpy as jnp
from jax import random


def dropout(rate, mode="train"):
    def init(shape):
        return shape, ()

    def apply(rng, params, inputs):
        if mode == "train":
            keep = random.bernoulli(rng, rate, inputs.shape)
            return jnp.where(keep, inputs / rate, 0)
        return inputs

    return init, apply


def serial(*layers):
    inits, applies = zip(*layers)

    def init(shape):
        return [one(shape) for one in inits]

    def apply(rng, params, inputs):
        for one, param, rng in zip(applies, params, random.split(rng, len(layers))):
            inputs = one(rng, param, inputs)
        return inputs

    return init, apply


def parallel(*layers):
    inits, applies = zip(*layers)

    def init(shape):
        return [one(shape) for one in inits]

    def apply(rng, params, inputs):
        rngs = random.split(rng, len(layers))
        return [f(r, p, x) for f, r, p, x in zip(applies, rngs, params, inputs)]

    return init, apply


def train(update, params, batches, steps):
    rng = random.PRNGKey(0)
    for _ in range(steps):
        rng, rng_input = random.split(rng)
        params = update(rng_input, params, next(batches))
    return params


_, run = serial(dropout(0.5), dropout(0.5))
print(run(random.PRNGKey(1), [(), ()], jnp.ones(3)))
