"""What the functions of `itertools` do.

Both interpreters run this file in place of a call of the function of the same name.
"""


def pairwise(iterable):
    iterator = iter(iterable)
    previous = next(iterator, None)
    for element in iterator:
        yield previous, element
        previous = element


def batched(iterable, n, *, strict=False):
    batch = ()
    for element in iterable:
        batch = (*batch, element)
        if len(batch) == n:
            yield batch
            batch = ()
    if batch:
        if strict:
            raise ValueError("batched(): incomplete batch")
        yield batch


def tee(iterable, n=2):
    elements = list(iterable)
    return tuple([iter(elements) for _ in range(n)])


def accumulate(iterable, func=None, *, initial=None):
    has_total = initial is not None
    total = initial
    if has_total:
        yield total
    for element in iterable:
        if not has_total:
            total = element
        elif func is None:
            total = total + element
        else:
            total = func(total, element)
        has_total = True
        yield total


def chain_from_iterable(iterables):
    for iterable in iterables:
        yield from iterable


def product(*iterables, repeat=1):
    pools = [tuple(iterable) for iterable in iterables]
    rows = [()]
    for elements in pools * repeat:
        rows = [(*row, element) for row in rows for element in elements]
    yield from rows


def combinations(iterable, r):
    pool = tuple(iterable)
    rows = [((), pool)]
    for _ in range(r):
        rows = [((*row, rest[i]), rest[i + 1 :]) for row, rest in rows for i in range(len(rest))]
    yield from [row for row, _ in rows]


def combinations_with_replacement(iterable, r):
    pool = tuple(iterable)
    rows = [((), pool)]
    for _ in range(r):
        rows = [((*row, rest[i]), rest[i:]) for row, rest in rows for i in range(len(rest))]
    yield from [row for row, _ in rows]


def permutations(iterable, r=None):
    pool = tuple(iterable)
    rows = [((), pool)]
    for _ in range(len(pool) if r is None else r):
        rows = [((*row, rest[i]), (*rest[:i], *rest[i + 1 :])) for row, rest in rows for i in range(len(rest))]
    yield from [row for row, _ in rows]


def zip_longest(*iterables, fillvalue=None):
    columns = [list(iterable) for iterable in iterables]
    longest = max([0, *[len(column) for column in columns]])
    for i in range(longest):
        yield tuple([column[i] if i < len(column) else fillvalue for column in columns])


def takewhile(predicate, iterable):
    for element in iterable:
        if not predicate(element):
            break
        yield element


def dropwhile(predicate, iterable):
    is_dropping = True
    for element in iterable:
        if is_dropping and predicate(element):
            continue
        is_dropping = False
        yield element


def filterfalse(function, iterable):
    for element in iterable:
        if not (element if function is None else function(element)):
            yield element


def compress(data, selectors):
    for element, selector in zip(data, selectors):
        if selector:
            yield element


def groupby(iterable, key=None):
    label = None
    group = []
    for element in iterable:
        current = element if key is None else key(element)
        if group and current != label:
            yield label, iter(group)
            group = []
        label = current
        group.append(element)
    if group:
        yield label, iter(group)
