"""Cells: a hash table from 64-bit tags to slots, which the kernels of Keys look up and change.

`cells`, int64 (n,), n a power of two: the tag's mark, which is half of its hash, above the slot + 1; 0 where free. The
mark says where probing begins. `tags`, int64 (capacity,): each slot's tag, which decides. `free` and the first words of
`counts`: the free list, of slots that were given back.

There is no pause in which all is hashed anew. Where cells are as many again, `n` at once, those of the first half begin
where half as many bits say, until they are settled: some at each new key, by runs without a gap. `split` says how far
that has come.

Tags that lie close together have a dense form: an int32 array of slots + 1 by tag, of those from `dense_base` on; they
are in no cell, once they have moved: where the form is made or becomes longer, cells before `moving` may have tags that
belong there. Some move at each new key, and whenever one is asked for that has not moved yet. Afterwards far fewer
cells do, and `shrinks` says so.
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.state.cells.dense import dense_of, not_rehashed, rehash_all
    from tokenring.operators.state.cells.free_list import FreeList, give_place, take_place
    from tokenring.operators.state.cells.probing import (
        AHEAD,
        FULL,
        FULL_OF,
        MARK,
        MOST_SLOTS,
        REHASHED_AT_ONCE,
        SETTLED_AT_ONCE,
        SLOT,
        SPREAD,
        CellCounts,
        ask_for,
        begin_settling,
        first_homes,
        home_of,
        mark_of,
        mixed,
        put,
        settle,
        settle_all,
    )
    from tokenring.operators.state.cells.slots import drop_slot, fill, new_slot, slot_of
