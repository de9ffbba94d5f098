"""Finds misuse of pseudo-random-number keys in Python code that uses JAX.

This package brings the `keylint` executable along; `python -m keylint` runs it.
"""
