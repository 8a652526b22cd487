"""Keyed state in arrays: numbers of keys, rows by place, heaps; and which streams are updates.

keys        any key to a slot, with removal; cells, keys_kernels: its kernels
row_store   rows by place
chains      the members of each slot
free_list   places to be used again
heap        what is due first
tables      arrays that double
arithmetic  whether a sum stays in range
updates     streams of updates, marked and refused
"""

from tokenring.operators.state.arithmetic import LEAST, MOST, overflows
from tokenring.operators.state.cells import mixed, slot_of
from tokenring.operators.state.chains import chain, members_of
from tokenring.operators.state.free_list import FREE, LIMIT, give_place, take_place
from tokenring.operators.state.heap import pop, push
from tokenring.operators.state.heaped_columns import HeapedColumns, joined, wrapped
from tokenring.operators.state.keys import Keys
from tokenring.operators.state.row_store import RowStore
from tokenring.operators.state.tables import grown
from tokenring.operators.state.updates import as_rows, require_newest, require_rows, updates_by

__all__ = [
    "FREE",
    "LEAST",
    "LIMIT",
    "MOST",
    "HeapedColumns",
    "Keys",
    "RowStore",
    "as_rows",
    "chain",
    "give_place",
    "grown",
    "joined",
    "members_of",
    "mixed",
    "overflows",
    "pop",
    "push",
    "require_newest",
    "require_rows",
    "slot_of",
    "take_place",
    "updates_by",
    "wrapped",
]
