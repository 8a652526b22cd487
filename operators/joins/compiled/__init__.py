"""Joins in the worker's inner loop: over the tables and kernels of joins in Python, where no text passes."""

from tokenring.operators.joins.compiled.join import compiled_join

__all__ = ["compiled_join"]
