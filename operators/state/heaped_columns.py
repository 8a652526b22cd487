"""Columns and their heaps beside each other, as `Batch.wrap` takes them."""

import numpy as np

from tokenring.engine import Batch, Schema

HeapedColumns = tuple[tuple[np.ndarray, ...], tuple[np.ndarray | None, ...]]


def joined(*parts: HeapedColumns) -> HeapedColumns:
    """Columns beside each other."""
    return tuple([c for columns, _ in parts for c in columns]), tuple([h for _, heaps in parts for h in heaps])


def wrapped(schema: Schema, parts: HeapedColumns, rows: int) -> Batch:
    """A batch of columns that are known to fit."""
    return Batch.wrap(schema, parts[0], rows, parts[1] if schema.has_text else ())
