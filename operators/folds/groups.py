"""Groups: keys regardless of their panes, numbered when a pane's row of them appears, not once more in every window."""

import numpy as np

from tokenring.engine import COLUMN, WORDS, Schema, int64, kernel, void
from tokenring.operators.state import Keys, grown, wrapped


@kernel(int64(COLUMN, COLUMN, WORDS, WORDS, WORDS))
def _gather(slots, group_of, seen, groups, distinct):  # type: ignore[no-untyped-def]
    """Fill in slots' groups, and the distinct ones, in the order in which they appear; returns how many those are.
    seen, int64 (groups,): 0 outside of calls."""
    found = 0
    for i in range(len(slots)):
        group = group_of[slots[i]]
        groups[i] = group
        if seen[group] == 0:
            seen[group] = 1
            distinct[found] = group
            found += 1
    for j in range(found):
        seen[distinct[j]] = 0
    return found


@kernel(void(COLUMN, WORDS))
def _use(groups, uses):  # type: ignore[no-untyped-def]
    for group in groups:
        uses[group] += 1


@kernel(int64(COLUMN, COLUMN, WORDS, WORDS))
def _leave(slots, group_of, uses, unused):  # type: ignore[no-untyped-def]
    """Slots have left their groups: fill in the groups that nobody uses any more; returns how many."""
    found = 0
    for slot in slots:
        group = group_of[slot]
        uses[group] -= 1
        if uses[group] == 0:
            unused[found] = group
            found += 1
    return found


class Groups:
    """The group of each slot of (pane, key): that of its key. Memory: 8 bytes a slot, and the keys of open panes."""

    def __init__(self, schema: Schema) -> None:
        self.keys = Keys(schema, schema.names)
        self._schema = schema
        self._group_of = np.zeros(64, np.int64)
        self._uses = np.zeros(64, np.int64)
        self._seen = np.zeros(64, np.int64)

    def add(self, panes: Keys, slots: np.ndarray) -> None:
        """Slots are new: those of `panes`, whose first column is the pane."""
        columns, heaps = panes.columns(slots)
        groups = self.keys.slots(wrapped(self._schema, (columns[1:], heaps[1:]), len(slots)))
        self._group_of = grown(self._group_of, panes.limit)
        self._uses, self._seen = grown(self._uses, self.keys.limit), grown(self._seen, self.keys.limit)
        self._group_of[slots] = groups
        _use(groups, self._uses)

    def of(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The group of each slot, int64 (n,), and the distinct ones."""
        groups, distinct = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
        found = _gather(slots, self._group_of, self._seen, groups, distinct)
        return groups, distinct[:found]

    def forget(self, slots: np.ndarray) -> None:
        """Slots are not used any more."""
        unused = np.empty(len(slots), np.int64)
        found = _leave(slots, self._group_of, self._uses, unused)
        self.keys.remove(unused[:found])
