"""DistinctValues: which values each slot has seen, exactly, for CountDistinct."""

import numpy as np

from engine import COLUMN, WORDS, Batch, Kind, Schema, int64, kernel, void
from operators.keys import Keys, grown

_PAIR = ("slot", "value")


@kernel(void(COLUMN, COLUMN, WORDS, WORDS))
def chain(members, slots, first, following):  # type: ignore[no-untyped-def]
    """Put members at the head of their slots' chains. first, by slot, and following, by member: int64, member + 1, 0 at
    the end."""
    for i in range(len(members)):
        following[members[i]] = first[slots[i]]
        first[slots[i]] = members[i] + 1


@kernel(int64(COLUMN, WORDS, WORDS, WORDS, WORDS))
def _members(slots, first, following, members, which):  # type: ignore[no-untyped-def]
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


class DistinctValues:
    """Sets of values of one kind by slot. Memory: each value of each slot, about 60 bytes and the text."""

    __slots__ = ("_first", "_following", "_keys")

    def __init__(self, kind: Kind) -> None:
        self._keys = Keys(Schema.of({"slot": "int64", "value": kind}), _PAIR)
        self._first = np.zeros(64, np.int64)
        self._following = np.zeros(64, np.int64)

    def add(self, slots: np.ndarray, values: np.ndarray, heap: np.ndarray | None) -> np.ndarray:
        """Add a value, a word, to each slot (both of shape (rows,)); returns the slots that had not seen theirs, once
        for each such value: int64."""
        heaps = (None, heap) if self._keys.schema.has_text else ()
        self._keys.slots(Batch.wrap(self._keys.schema, (slots, values), len(slots), heaps))
        pairs, new = self._keys.fresh, slots[self._keys.fresh_rows]
        if len(new):
            self._first = grown(self._first, int(new.max()) + 1)
            self._following = grown(self._following, self._keys.limit, None)
            chain(pairs, new, self._first, self._following)
        return new

    def add_from(self, other: "DistinctValues", source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Add all values of another one's slots `source` to the slots `target`; returns what `add` does."""
        pairs, which = other._pairs(source)
        columns, heaps = other._keys.columns(pairs)
        return self.add(target[which], columns[1], heaps[1])

    def drop(self, slots: np.ndarray) -> None:
        """Forget all values of slots, each named once."""
        self._keys.remove(self._pairs(slots)[0])
        self._first[slots] = 0

    def _pairs(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self._first = grown(self._first, int(slots.max(initial=0)) + 1)
        return members_of(slots, self._first, self._following)


def members_of(slots: np.ndarray, first: np.ndarray, following: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is chained to slots, the last to come first; and the position in `slots` that each belongs to: int64."""
    room = 4 * len(slots) + 64
    while True:
        members, which = np.empty(room, np.int64), np.empty(room, np.int64)
        found = _members(slots, first, following, members, which)
        if found <= room:
            return members[:found], which[:found]
        room = found
