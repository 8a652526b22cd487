"""The state of a compiled join as words: what `Matcher` keeps, and how rows match."""

from tokenring.engine import COMPLETE, kernel
from tokenring.operators.joins.compiled.holding import PENDING
from tokenring.operators.joins.compiled.kept_rows import least_due, rows_kept
from tokenring.operators.joins.compiled.keyed import KEYED_WORDS
from tokenring.operators.joins.compiled.results import JOINED_WORDS, side_at
from tokenring.operators.state import PLACES

# Behind the words of its tokens. WAITS: whether frontiers matter; RIGHT_FIRST: whether the right input is read first.
# AT: by side the row to go on with of the message at hand. WANTED, WANTED_SIDE: how many rows there was no room for,
# and on which side; 0: for a key. ROOM: of rows, places and the like of AT_ONCE pairs.
WAITS, RIGHT_FIRST, AT, _, WANTED, WANTED_SIDE, ROOM = range(PENDING + 1, PENDING + 8)
# How rows match, as Matcher has it; ALONE, ENDED, LEAST, SEEN (the addresses of words by slot): by side.
BOUNDED, EXACT, ONCE, MATCHES, UNIQUE = range(10, 15)
ALONE, ENDED, LEAST, SEEN, REACH = 15, 17, 19, 21, 23
# Words of a reach, by side: columns of its messages (-1: none), and numbers, as Reach has them.
TIME_COLUMN, UNTIL_COLUMN, START_AFTER, END_AFTER, DUE_AFTER, TOGETHER, FIRST_AFTER = range(7)
REACH_WORDS = 7
KEYS = REACH + 2 * REACH_WORDS
JOINED = KEYS + KEYED_WORDS
STATE_WORDS = JOINED + JOINED_WORDS

ROOM_ROWS = 3
TOO_LATE, TWICE = -1, -2
"""Errors: rows at (message's time, least time) are late; a side that is unique has a second row (side, slot)."""


@kernel
def capacity_of(state):  # type: ignore[no-untyped-def]
    """The length of what is kept by slot."""
    return state[KEYS + PLACES]


@kernel
def least_alone(state):  # type: ignore[no-untyped-def]
    """The least time at which a row may turn out to match nothing; COMPLETE if nobody asks."""
    least = COMPLETE
    for side in range(2):
        at = side_at(JOINED, side)
        if state[ALONE + side] != 0 and rows_kept(state, at) > 0:
            least = min(least, least_due(state, at) if state[BOUNDED] else state[LEAST + side])
    return least
