"""What functions of Python itself do."""


def filter(function, iterable):
    for element in iterable:
        if element if function is None else function(element):
            yield element


def dict_fromkeys(iterable, value=None, /):
    return {element: value for element in iterable}
