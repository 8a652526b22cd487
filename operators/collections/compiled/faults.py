"""Keys that an operator in the inner loop failed at: noted until Python tells of them."""

from collections.abc import Callable

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import array_at, deallocate, table_at
from tokenring.operators.collections.updates import new_block

# Words of a state: where the noted faults are, rows of so many columns (key, time, what is wrong), FAULT_COUNT of them
# in room for FAULT_ROOM; whether keys that are as they may be are noted as well.
FAULTS, FAULT_COLUMNS, FAULT_COUNT, FAULT_ROOM, TELLS_ALL, FAULT_WORDS = range(6)
_FIRST_ROOM = 16

Tell = Callable[[np.ndarray], bool]
"""Takes faults, int64 (faults, columns), and says whether all keys are to be noted from now on; raises if nobody would
hear of them."""


@kernel
def fault_row(state, first):  # type: ignore[no-untyped-def]
    """A row for one more fault. first: where these words begin in the state."""
    own = state[first : first + FAULT_WORDS]
    columns, count, room = own[FAULT_COLUMNS], own[FAULT_COUNT], own[FAULT_ROOM]
    if count == room:
        more = max(_FIRST_ROOM, 2 * room)
        address = new_block(columns, more)
        if room > 0:
            table_at(address, more, columns)[:count] = table_at(own[FAULTS], room, columns)
            deallocate(own[FAULTS])
        own[FAULTS], own[FAULT_ROOM] = address, more
    own[FAULT_COUNT] += 1
    return table_at(own[FAULTS], own[FAULT_ROOM], columns)[count]


class Faults:
    """Python's side. first: where the words begin in the operator's state; columns: how many a fault has."""

    def __init__(self, state: np.ndarray, first: int, columns: int, tell: Tell) -> None:
        self._own, self._tell = state[first : first + FAULT_WORDS], tell
        self._own[FAULT_COLUMNS] = columns

    @property
    def are_noted(self) -> bool:
        """Whether there is something to tell of."""
        return bool(self._own[FAULT_COUNT])

    def tell(self) -> None:
        """Tell of what was noted."""
        own = self._own
        count, columns = int(own[FAULT_COUNT]), int(own[FAULT_COLUMNS])
        own[FAULT_COUNT] = 0
        own[TELLS_ALL] = self._tell(array_at(int(own[FAULTS]), count * columns).reshape(count, columns))
