"""Finds misuse of PRNG keys in Python code that uses JAX.

This package contains the `keylint` executable; `python -m keylint` runs it.
"""

from importlib.metadata import version as _version

__all__ = ["__version__"]

__version__ = _version("keylint")
