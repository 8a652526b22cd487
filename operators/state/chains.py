"""Chains: the members of each slot, linked from the last that came to the first.

`first`, by slot, and `following`, by member: int64, member + 1, 0 at the end.
"""

import numpy as np

from tokenring.engine import COLUMN, WORDS, int64, kernel, void
from tokenring.engine.compiled import Words


@kernel(void(COLUMN, COLUMN, WORDS, WORDS))
def chain(members: Words, slots: Words, first: Words, following: Words) -> None:
    """Put members at the head of their slots' chains."""
    for i in range(len(members)):
        following[members[i]] = first[slots[i]]
        first[slots[i]] = members[i] + 1


@kernel(int64(COLUMN, WORDS, WORDS, WORDS, WORDS))
def _members(slots: Words, first: Words, following: Words, members: Words, which: Words) -> int:
    """Write all that is chained to slots, and the positions in `slots` it belongs to, as far as there is room; returns
    how many there are."""
    found = 0
    for i in range(len(slots)):
        at = first[slots[i]]
        while at != 0:
            if found < len(members):
                members[found], which[found] = at - 1, i
            found += 1
            at = following[at - 1]
    return found


def members_of(slots: np.ndarray, first: np.ndarray, following: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is chained to slots, the last to come first; and the position in `slots` that each belongs to: int64."""
    room = 4 * len(slots) + 64
    while True:
        members, which = np.empty(room, np.int64), np.empty(room, np.int64)
        found = _members(slots, first, following, members, which)
        if found <= room:
            return members[:found], which[:found]
        room = found
