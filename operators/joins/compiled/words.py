"""The state of a join: what it keeps, and how rows match."""

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import Record, Words, room
from tokenring.operators.joins.compiled.holding import Joining
from tokenring.operators.joins.compiled.kept_rows import least_due, rows_kept
from tokenring.operators.joins.compiled.results import side_of
from tokenring.operators.joins.kept import AT_ONCE

ROOM_ROWS = 3
AT_MOST = 8 * AT_ONCE
"""Pairs to send, or rows to let go, before others have their turn."""
UNTIL_ROOM_NS = 20_000
TOO_LATE, TWICE = -1, -2
"""Errors: rows at (message's time, least time) are late; a side that is unique has a second row (side, slot)."""


class TimeReach(Record):
    """How rows of a side match in time: columns of its messages (-1: none), and numbers, as Reach has them."""

    time_column: int
    until_column: int
    start_after: int
    end_after: int
    due_after: int
    together: int
    first_after: int


class Join(Joining):
    """`listens`: whether frontiers matter; `right_first`: whether the right input is read first. `space`: of rows,
    places and the like of AT_ONCE pairs. `at_hand`: the side whose message has not been taken to its end, which goes on
    before all else, -1: none; `go_on`: the place to go on at, of the other side's rows for the first row of it, -1:
    that row's first. `sent`: pairs sent in this call. `bounded` to `unique`: how rows match; `is_apart`: whether rows
    alone that are due at different times are sent apart; by side `alone`, `ended`, `least`, `seen` (the addresses of
    words by slot), and `where`, the column of messages that says whether a row can match, -1: all can. `rights_stay`:
    whether rows that wait move without rights, and `worker`, whose this is."""

    listens: int
    right_first: int
    space: int
    at_hand: int
    go_on: int
    sent: int
    bounded: int
    is_apart: int
    once: int
    pairs: int
    unique: int
    alone: Words = room(2)
    ended: Words = room(2)
    least: Words = room(2)
    seen: Words = room(2)
    where: Words = room(2)
    rights_stay: int
    worker: int
    left_reach: TimeReach
    right_reach: TimeReach


@kernel
def capacity_of(state: Join) -> int:
    """The length of what is kept by slot."""
    return state.keys.numbers.places


@kernel
def least_alone(state: Join) -> int:
    """The least time at which a row may turn out to match nothing; COMPLETE if nobody asks."""
    least = COMPLETE
    for side in range(2):
        at = side_of(state.results, side)
        if state.alone[side] != 0 and rows_kept(at) > 0:
            least = min(least, least_due(at) if state.bounded else state.least[side])
    return least
