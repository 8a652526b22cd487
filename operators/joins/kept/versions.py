"""The versions of keys on one worker: what each key's row is from a time on."""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, Batch, int64, kernel, void
from tokenring.engine.compiled import Words, record_of
from tokenring.operators.joins.kept.kernels import NEXT, TIME, SideCounts, give_chain
from tokenring.operators.state import Keys, take_place


def known(keys: Keys, batch: Batch, names: tuple[str, ...]) -> np.ndarray:
    """The slot of each row's key, int64 (rows,), -1 where it is not known or null."""
    slots = keys.find(batch, names)
    for name in names:
        if batch.schema.kind(name).nullable:
            slots[batch.nulls(name)] = -1
    return slots


@kernel(void(WORDS, TABLE, WORDS, WORDS, COLUMN, COLUMN, int64, WORDS))
def add_versions(
    heads: Words, links: Words, free: Words, meta: Words, slots: Words, times: Words, horizon: int, places: Words
) -> None:
    """Chain versions (of equal times the last one counts), and drop those that none at `horizon` or later can see.

    Of `links`: NEXT, the place of the version before, -1 at the first; TIME, from which it is valid.
    Writes the rows' places.
    """
    counts = record_of(meta, SideCounts)
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
            give_chain(links, free, counts, links[at, NEXT], places[:0], 0)
            links[at, NEXT] = -1


@kernel(void(COLUMN, TABLE, COLUMN, COLUMN, WORDS))
def find_versions(heads: Words, links: Words, slots: Words, times: Words, places: Words) -> None:
    """Write the place of the version that is valid at each row's time, -1 if there is none; slots may be -1."""
    for i in range(len(slots)):
        at = heads[slots[i]] - 1 if slots[i] >= 0 else -1
        while at >= 0 and links[at, TIME] > times[i]:
            at = links[at, NEXT]
        places[i] = at
