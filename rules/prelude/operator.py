"""What the functions of `operator` do."""


def getitem(a, b):
    return a[b]


def methodcaller(name, *args, **kwargs):
    return lambda of: getattr(of, name)(*args, **kwargs)
