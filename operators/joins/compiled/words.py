"""The state of a compiled join as words: what `Matcher` keeps, and how rows match."""

from tokenring.engine import COMPLETE, kernel
from tokenring.operators.joins.compiled.holding import PENDING
from tokenring.operators.joins.compiled.kept_rows import least_due, rows_kept
from tokenring.operators.joins.compiled.keyed import KEYED_WORDS
from tokenring.operators.joins.compiled.results import JOINED_WORDS, side_at
from tokenring.operators.joins.kept import AT_ONCE
from tokenring.operators.state import PLACES

# Behind the words of its tokens. LISTENS: whether frontiers matter; RIGHT_FIRST: whether the right input is read first.
# AT: by side the row to go on with of the message at hand. WANTED, WANTED_SIDE: how many rows there was no room for,
# and on which side; 0: for a key. ROOM: of rows, places and the like of AT_ONCE pairs. AT_HAND: the side whose message
# has not been taken to its end, which goes on before all else, -1: none; GO_ON: the place to go on at, of the other
# side's rows for the first row of it, -1: that row's first. SENT: pairs sent in this call.
# HAS_DUE: whether there is an input for what became due as state moved.
LISTENS, RIGHT_FIRST, AT, _, WANTED, WANTED_SIDE, ROOM, AT_HAND, GO_ON, SENT, HAS_DUE = range(PENDING + 1, PENDING + 12)
# How rows match, as Matcher has it; ALONE, ENDED, LEAST, SEEN (the addresses of words by slot), WHERE (the column of
# messages that says whether a row can match, -1: all can): by side.
BOUNDED, EXACT, ONCE, PAIRS, UNIQUE = range(HAS_DUE + 1, HAS_DUE + 6)
ALONE, ENDED, LEAST, SEEN, WHERE, REACH = range(UNIQUE + 1, UNIQUE + 13, 2)
# Words of a reach, by side: columns of its messages (-1: none), and numbers, as Reach has them.
TIME_COLUMN, UNTIL_COLUMN, START_AFTER, END_AFTER, DUE_AFTER, TOGETHER, FIRST_AFTER = range(7)
REACH_WORDS = 7
KEYS = REACH + 2 * REACH_WORDS
JOINED = KEYS + KEYED_WORDS
STATE_WORDS = JOINED + JOINED_WORDS

ROOM_ROWS = 3
AT_MOST = 8 * AT_ONCE
"""Pairs to send, or rows to let go, before others have their turn."""
UNTIL_ROOM_NS = 20_000
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
