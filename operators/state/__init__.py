"""Keyed state in arrays: numbers of keys, rows by place, heaps."""

from tokenring.operators.state.hash_index import AT_ONCE, HashIndex, mixed, slot_of
from tokenring.operators.state.heap import pop, push
from tokenring.operators.state.heaped_columns import Columns, joined, wrapped
from tokenring.operators.state.keys import Keys, grown
from tokenring.operators.state.row_store import RowStore
from tokenring.operators.state.updates import as_rows, require_newest, require_rows, updates_by

__all__ = [
    "AT_ONCE",
    "Columns",
    "HashIndex",
    "Keys",
    "RowStore",
    "as_rows",
    "grown",
    "joined",
    "mixed",
    "pop",
    "push",
    "require_newest",
    "require_rows",
    "slot_of",
    "updates_by",
    "wrapped",
]
