"""Finds misuse of PRNG keys in Python code that uses JAX.

This package contains the `keylint` executable; `python -m keylint` runs it.
"""
