"""Rows that make no difference are left out of messages on their way to an operator, as long as that pays.

Small messages pass as they are, and so do, after one of which most rows stay, ever more before the next is looked at.
"""

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, RunningGraph, Words, chosen_rows, rows_of

_LEAST_ROWS = 64  # of fewer, it is not worth the while to leave out some
_PIECE_ROWS = 4096  # after which it is asked whether it pays
_LONGEST_PAUSE = 31


class LeavingOut(Record):
    """`pause`: how many messages passed as they were after the last one at which it did not pay; `rests`: how many of
    them are yet to come."""

    pause: int
    rests: int


@kernel
def is_looked_at(own: LeavingOut, message: int) -> bool:
    """Whether to look which rows of a message may be left out."""
    if rows_of(message) < _LEAST_ROWS:
        return False
    if own.rests > 0:
        own.rests -= 1
        return False
    return True


@kernel
def is_in_vain(made: int, row: int) -> bool:
    """Whether a look is over at a row, since most of those before it, `made`, stay."""
    return row % _PIECE_ROWS == 0 and 2 * made > row


@kernel
def left_of(graph: RunningGraph, own: LeavingOut, message: int, rows: Words, made: int) -> int:
    """A message of the first `made` of `rows`, those that stay; the whole one if they are most of them, or a look was
    over before its end, with -1."""
    if made < 0 or 2 * made > rows_of(message):
        own.rests = own.pause = min(2 * own.pause + 1, _LONGEST_PAUSE)
        return message
    own.pause = 0
    return chosen_rows(graph, message, rows[:made])
