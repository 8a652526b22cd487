"""Keys that an operator in the inner loop failed at: noted until Python tells of them."""

from collections.abc import Callable

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, Words, array_at, deallocate, table_at
from tokenring.operators.collections.updates import new_block


class FaultState(Record):
    """Where the noted faults are, rows of so many columns (key, time, what is wrong), how many, in room for how many;
    whether keys that are as they may be are noted as well."""

    rows: int
    columns: int
    count: int
    room: int
    tells_all: int


_FIRST_ROOM = 16

Tell = Callable[[np.ndarray], bool]
"""Takes faults, int64 (faults, columns), and says whether all keys are to be noted from now on; raises if nobody would
hear of them."""


@kernel
def fault_row(faults: FaultState) -> Words:
    """A row for one more fault."""
    columns, count, room = faults.columns, faults.count, faults.room
    if count == room:
        more = max(_FIRST_ROOM, 2 * room)
        address = new_block(columns, more)
        if room > 0:
            table_at(address, more, columns)[:count] = table_at(faults.rows, room, columns)
            deallocate(faults.rows)
        faults.rows, faults.room = address, more
    faults.count += 1
    return table_at(faults.rows, faults.room, columns)[count]


class Faults:
    """Python's side. own: in the operator's state; columns: how many a fault has."""

    def __init__(self, own: FaultState, columns: int, tell: Tell) -> None:
        self._own, self._tell = own, tell
        self._own.columns = columns

    @property
    def are_noted(self) -> bool:
        """Whether there is something to tell of."""
        return bool(self._own.count)

    def tell(self) -> None:
        """Tell of what was noted."""
        own = self._own
        count, columns = own.count, own.columns
        own.count = 0
        own.tells_all = self._tell(array_at(own.rows, count * columns).reshape(count, columns))
