"""What threads and pools of workers do: they call functions.

Each call runs where it is asked for; a thread's, where it is started.
"""


class _Future:
    def __init__(self, value):
        self._value = value

    def result(self, timeout=None):
        return self._value

    def get(self, timeout=None):
        return self._value

    def wait(self, timeout=None):
        return None

    def done(self):
        return True


class _Executor:
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None

    def submit(self, fn, /, *args, **kwargs):
        return _Future(fn(*args, **kwargs))

    def map(self, fn, *iterables, timeout=None, chunksize=1):
        return [fn(*row) for row in zip(*iterables)]

    def shutdown(self, wait=True, *, cancel_futures=False):
        return None


def executor(*args, **kwargs):
    return _Executor()


class _Pool:
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None

    def apply(self, func, args=(), kwds={}):
        return func(*args, **kwds)

    def apply_async(self, func, args=(), kwds={}, callback=None, error_callback=None):
        return _Future(func(*args, **kwds))

    def map(self, func, iterable, chunksize=None):
        return [func(element) for element in iterable]

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return _Future([func(element) for element in iterable])

    def imap(self, func, iterable, chunksize=1):
        return [func(element) for element in iterable]

    def imap_unordered(self, func, iterable, chunksize=1):
        return [func(element) for element in iterable]

    def starmap(self, func, iterable, chunksize=None):
        return [func(*row) for row in iterable]

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return _Future([func(*row) for row in iterable])

    def close(self):
        return None

    def join(self):
        return None

    def terminate(self):
        return None


def pool(*args, **kwargs):
    return _Pool()


def as_completed(fs, timeout=None):
    return list(fs)


class _Thread:
    def __init__(self, target, args, kwargs):
        self._target = target
        self._args = args
        self._kwargs = kwargs

    def start(self):
        self.run()

    def run(self):
        self._target(*self._args, **self._kwargs)

    def cancel(self):
        return None

    def join(self, timeout=None):
        return None

    def is_alive(self):
        return False


def thread(group=None, target=None, name=None, args=(), kwargs={}, *, daemon=None):
    return _Thread(target, args, kwargs)


def timer(interval, function, args=(), kwargs={}):
    return _Thread(function, args, kwargs)
