"""The versions of keys on one worker: what each key's row is from a time on."""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, Batch, Time, int64, kernel, void
from tokenring.engine.compiled import Words, record_of
from tokenring.operators.joins.kept.joined_columns import RIGHT, JoinedColumns, present
from tokenring.operators.joins.kept.kernels import NEXT, TIME, SideCounts, give_chain
from tokenring.operators.joins.kept.side import Side
from tokenring.operators.state import Keys, take_place


class Versions:
    """Rows of a join's right side, by key and the time from which they are valid.

    Memory: each key; 24 bytes and 8 for each column a version, and texts. Of a key's versions those stay that rows at
    the horizon or later can see, as of the last time the key got one.
    """

    __slots__ = ("_columns", "keys", "side")

    def __init__(self, columns: JoinedColumns) -> None:
        self._columns = columns
        self.keys = Keys(columns.sides[RIGHT], columns.on[RIGHT])
        self.side = Side(columns.store(RIGHT), False)

    def add(self, batch: Batch, times: np.ndarray, horizon: Time) -> None:
        """Take versions, valid from `times` on, int64 (rows,). Nobody asks for times before `horizon` any more."""
        kept = present(batch, self._columns.on[RIGHT])
        if kept.rows < batch.rows:
            whole = np.ones(batch.rows, np.bool_)
            for name in self._columns.on[RIGHT]:
                whole &= ~batch.nulls(name)
            times = times[whole]
        slots, side = self.keys.slots(kept), self.side
        side.have_slots(self.keys.limit)
        side.reserve(kept.rows)
        heads, links, free, meta, _ = side.tables
        places = np.empty(kept.rows, np.int64)
        dropped = np.empty(len(free), np.int64)
        gone = add_versions(heads, links, free, meta, slots, times, horizon, places, dropped)
        if side.store is not None:
            side.store.drop(dropped[:gone])  # before those that got such a place are put there
            side.store.put(places, kept.select(side.store.schema), np.arange(kept.rows))

    def find(self, batch: Batch, names: tuple[str, ...], times: np.ndarray) -> np.ndarray:
        """The place of the version valid at each row's time, int64 (rows,), -1 where there is none."""
        slots = known(self.keys, batch, names)
        places = np.empty(batch.rows, np.int64)
        find_versions(self.side.heads, self.side.links, slots, times, places)
        return places

    def __len__(self) -> int:
        return len(self.side)


def known(keys: Keys, batch: Batch, names: tuple[str, ...]) -> np.ndarray:
    """The slot of each row's key, int64 (rows,), -1 where it is not known or null."""
    slots = keys.find(batch, names)
    for name in names:
        if batch.schema.kind(name).nullable:
            slots[batch.nulls(name)] = -1
    return slots


@kernel(int64(WORDS, TABLE, WORDS, WORDS, COLUMN, COLUMN, int64, WORDS, WORDS))
def add_versions(
    heads: Words, links: Words, free: Words, meta: Words, slots: Words, times: Words, horizon: int, places: Words,
    dropped: Words,
) -> int:  # fmt: skip
    """Chain versions (of equal times the last one counts), and drop those that none at `horizon` or later can see.

    Of `links`: NEXT, the place of the version before, -1 at the first; TIME, from which it is valid.
    Writes the rows' places, and those dropped, as many as there is room for; returns how many these are.
    """
    counts = record_of(meta, SideCounts)
    gone = 0
    for i in range(len(slots)):
        slot, time = slots[i], times[i]
        place = take_place(free, counts)
        before, at = -1, heads[slot] - 1
        while at >= 0 and links[at, TIME] > time:
            before, at = at, links[at, NEXT]
        links[place, NEXT], links[place, TIME] = at, time
        if before >= 0:
            links[before, NEXT] = place
        else:
            heads[slot] = place + 1
        places[i] = place
        at = heads[slot] - 1
        while at >= 0 and links[at, TIME] > horizon:
            at = links[at, NEXT]
        if at >= 0:  # what rows at the horizon see: none before it is ever seen again
            gone = give_chain(links, free, counts, links[at, NEXT], dropped, gone)
            links[at, NEXT] = -1
    return gone


@kernel(void(COLUMN, TABLE, COLUMN, COLUMN, WORDS))
def find_versions(heads: Words, links: Words, slots: Words, times: Words, places: Words) -> None:
    """Write the place of the version that is valid at each row's time, -1 if there is none; slots may be -1."""
    for i in range(len(slots)):
        at = heads[slots[i]] - 1 if slots[i] >= 0 else -1
        while at >= 0 and links[at, TIME] > times[i]:
            at = links[at, NEXT]
        places[i] = at
