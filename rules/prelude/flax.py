"""Variables of `flax.nnx`: objects around one value, which convert to an array.

What they lack, they read from their value.
"""


class Variable:
    def __init__(self, value, *args, **metadata):
        self.value = value

    def __jax_array__(self):
        return self.value

    def __getattr__(self, name):
        return getattr(self.value, name)

    def __getitem__(self, index):
        return self.value[index]

    def __setitem__(self, index, value):
        self.value = value if index is ... else self.value.at[index].set(value)

    def __iter__(self):
        return iter(self.value)

    def get_value(self, **options):
        return self.value

    def set_value(self, value, **options):
        self.value = value

    def get_raw_value(self):
        return self.value

    def copy(self, **options):
        return Variable(self.value)

    def replace(self, value, **options):
        return Variable(value)


class Param(Variable):
    pass


class BatchStat(Variable):
    pass


class Cache(Variable):
    pass


class Intermediate(Variable):
    pass


class RngState(Variable):
    pass


class RngKey(RngState):
    pass


class RngCount(RngState):
    pass
