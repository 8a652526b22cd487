"""Groups: keys regardless of their panes, numbered once for each pane of the window that is put together."""

from collections.abc import Mapping

import numpy as np

from tokenring.engine import COLUMN, WORDS, Schema, int64, kernel, void
from tokenring.engine.compiled import Words, claim, words_at, world_at
from tokenring.operators.state import Keys, grown, wrapped


@kernel(void(COLUMN, WORDS))
def _use(groups: Words, uses: Words) -> None:
    for group in groups:
        uses[group] += 1


@kernel(int64(COLUMN, WORDS, WORDS))
def leave_groups(groups: Words, uses: Words, unused: Words) -> int:
    """Each of these groups has a pane less: fill in those that have none any more; returns how many."""
    found = 0
    for group in groups:
        uses[group] -= 1
        if uses[group] == 0:
            unused[found] = group
            found += 1
    return found


@kernel
def groups_in_use(world: int, uses: Words, count: int) -> Words:
    """The groups that some pane has, of which there are `count`, in order."""
    used = words_at(claim(world_at(world), 8 * count), count)
    found, group = 0, 0
    while found < count:
        if uses[group] > 0:
            used[found] = group
            found += 1
        group += 1
    return used


class Groups:
    """The groups of the panes that are inside a window, by their keys; one group of all, if there are no key columns.
    Memory: the keys."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        """keys: names and kinds of the key's columns."""
        self.keys = Keys(Schema.of(keys), tuple(keys)) if keys else None
        self._uses = np.zeros(64, np.int64)  # by group: in how many panes it is

    @property
    def limit(self) -> int:
        """Every group so far is less."""
        return 1 if self.keys is None else self.keys.limit

    def enter(self, panes: Keys, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A pane comes in, with these slots of `panes`, whose first column is the pane: the group of each, int64 (n,),
        and those that are new."""
        if self.keys is None:
            groups = np.zeros(len(slots), np.int64)
        else:
            columns, heaps = panes.columns(slots)
            groups = self.keys.slots(wrapped(self.keys.schema, (columns[1:], heaps[1:]), len(slots)))
            self._uses = grown(self._uses, self.keys.limit)
        fresh = groups[self._uses[groups] == 0]  # a pane has each group once
        _use(groups, self._uses)
        return groups, fresh

    def leave(self, groups: np.ndarray) -> None:
        """A pane goes, with these groups of its slots."""
        unused = np.empty(len(groups), np.int64)
        found = leave_groups(groups, self._uses, unused)
        if self.keys is not None:
            self.keys.remove(unused[:found])

    def inside(self) -> np.ndarray:
        """The groups that some pane has, int64 (n,), in order."""
        return np.flatnonzero(self._uses)
