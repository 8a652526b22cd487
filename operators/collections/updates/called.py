"""Totals that an aggregate's functions make: they fold a key's rows anew, each as often as it is there."""


from tokenring.engine import kernel
from tokenring.engine.compiled import record_of
from tokenring.operators.collections.updates.exact_sums import CALLED
from tokenring.operators.collections.words import canonical_float, is_null
from tokenring.operators.folds.called import FoldJob, combine_slots, finish_slots, is_updated, take_argument

# Of a total, behind what all have: the functions' entries, how many words a state is, how many columns they take, what
# of the first, which the second is and what of it; whether the result is a float64; and what `finalize` takes beside
# the state: how many, and these.
OWN = 4
INIT, UPDATE, COMBINE, FINALIZE, WIDTH, ARGUMENTS, TAKES, SECOND, SECOND_TAKES, IS_FLOAT, PARAMETER_COUNT, PARAMETERS \
    = range(OWN, OWN + 12)  # fmt: skip
MOST_PARAMETERS = 2
TOTAL_WORDS = PARAMETERS + MOST_PARAMETERS
_SLOT, _FIRST, _SECOND, _RESULT = range(FoldJob.size, FoldJob.size + 4)
_ROOM = _RESULT + 1  # behind it two states, of a row and of twice as many, and those of the totals


@kernel
def room_of_called(totals):  # type: ignore[no-untyped-def]
    """How many words functions are called with, and for."""
    widest, room = 0, 0
    for total in range(len(totals)):
        if totals[total, 0] == CALLED:
            widest = max(widest, totals[total, WIDTH])
            room += totals[total, WIDTH]
    return _ROOM + 2 * widest + room if widest > 0 else 0


@kernel
def _widest(totals):  # type: ignore[no-untyped-def]
    widest = 0
    for total in range(len(totals)):
        if totals[total, 0] == CALLED:
            widest = max(widest, totals[total, WIDTH])
    return widest


@kernel
def _state_of(totals, total, room):  # type: ignore[no-untyped-def]
    """Where a total's state is."""
    at = _ROOM + 2 * _widest(totals)
    for before in range(total):
        if totals[before, 0] == CALLED:
            at += totals[before, WIDTH]
    return room[at : at + totals[total, WIDTH]]


@kernel
def start_called(totals, total, room):  # type: ignore[no-untyped-def]
    """No row yet; False if a function raised."""
    return _starts(totals, total, _state_of(totals, total, room), room)


@kernel
def _starts(totals, total, state, room):  # type: ignore[no-untyped-def]
    room[_SLOT] = 0
    return is_updated(totals[total, INIT], room.ctypes.data, state.ctypes.data, room[_SLOT : _SLOT + 1])


@kernel
def _combines(totals, total, state, other, room):  # type: ignore[no-untyped-def]
    only = room[_SLOT : _SLOT + 1]
    return combine_slots(
        totals[total, COMBINE], room.ctypes.data, state.ctypes.data, 0, only, other.ctypes.data, 0, only
    )  # fmt: skip


@kernel
def _updates(totals, total, state, room):  # type: ignore[no-untyped-def]
    job = record_of(room, FoldJob)
    job.arguments[0], job.arguments[1] = room[_FIRST:].ctypes.data, room[_SECOND:].ctypes.data
    return is_updated(totals[total, UPDATE], room.ctypes.data, state.ctypes.data, room[_SLOT : _SLOT + 1])


@kernel
def add_called(rows, row, count, totals, total, kinds, room):  # type: ignore[no-untyped-def]
    """Add a row that is there so often, unless a column of it is null, whose first one is the total's; False if a
    function raised. One that is there often is added once, to a state that is then combined with itself."""
    second, two = totals[total, SECOND], totals[total, ARGUMENTS] == 2
    if two and is_null(kinds, second, rows[second, row]):
        return True
    room[_SLOT], room[_FIRST] = 0, rows[totals[total, 1], row]
    take_argument(totals[total, TAKES], room[_FIRST : _FIRST + 1], room[_FIRST : _FIRST + 1])
    if two:
        room[_SECOND] = rows[second, row]
        take_argument(totals[total, SECOND_TAKES], room[_SECOND : _SECOND + 1], room[_SECOND : _SECOND + 1])
    state, width = _state_of(totals, total, room), totals[total, WIDTH]
    if count == 1:
        return _updates(totals, total, state, room)
    several, same = room[_ROOM : _ROOM + width], room[_ROOM + width : _ROOM + 2 * width]
    if not _starts(totals, total, several, room) or not _updates(totals, total, several, room):
        return False
    while True:
        if count & 1 and not _combines(totals, total, state, several, room):
            return False
        count >>= 1
        if count == 0:
            return True
        same[:] = several
        if not _combines(totals, total, several, same, room):
            return False


@kernel
def called_total(totals, total, null, room):  # type: ignore[no-untyped-def]
    """The word of a total; `null` where that is nothing, or the function raised."""
    room[_SLOT] = 0
    state, result = _state_of(totals, total, room), room[_RESULT : _RESULT + 1]
    finish_slots(
        totals[total, FINALIZE], room.ctypes.data, state.ctypes.data, 0, room[_SLOT : _SLOT + 1], null,
        totals[total, PARAMETERS:].ctypes.data, totals[total, PARAMETER_COUNT], result,
    )  # fmt: skip
    return canonical_float(result[0], null) if totals[total, IS_FLOAT] else result[0]
