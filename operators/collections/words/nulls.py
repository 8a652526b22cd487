"""Keys with null in them, which are equal to nothing where rows meet."""

from collections.abc import Iterable

import numpy as np

from tokenring.engine import TABLE, Kind, kernel
from tokenring.engine.compiled import Words


def nulls_of(pairs: Iterable[tuple[Kind, Kind]]) -> np.ndarray:
    """Which columns of a key may be null on either side, and what word that is, int64 (such columns, 2); pairs: the
    kinds of each column on both sides, alike but for that."""
    found = [(at, one.null) for at, (one, other) in enumerate(pairs) if one.nullable or other.nullable]
    return np.array(found, np.int64).reshape(len(found), 2)


@kernel(TABLE(TABLE, TABLE))
def with_keys(table: Words, nulls: Words) -> Words:
    """The rows of a table, whose first columns are a key, that have no null in it. nulls: as `nulls_of` has them."""
    kept, places = 0, np.empty(table.shape[1] if len(nulls) > 0 else 0, np.int64)
    for row in range(len(places)):
        is_there = True
        for each in range(len(nulls)):
            is_there &= table[nulls[each, 0], row] != nulls[each, 1]
        places[kept] = row
        kept += is_there
    if kept == table.shape[1] or len(nulls) == 0:
        return table
    made = np.empty((len(table), kept), np.int64)
    for column in range(len(table)):
        for row in range(kept):
            made[column, row] = table[column, places[row]]
    return made
