"""The kernels of joins with versions: for each key a chain of versions, the latest first.

`heads`, int64 (slots,): the place of each key's latest version and 1, 0 if it has none. `links`, int64 (places, 2).
`free`, `meta`: the free list of places.
"""

from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel, void
from tokenring.engine.compiled import Words, record_of
from tokenring.operators.joins.kept.kernels import SideCounts
from tokenring.operators.state import give_place, take_place

NEXT, TIME = range(2)
"""Words of `links`: the place of the version before, -1 at the first; the time from which it is valid."""


@kernel(int64(WORDS, TABLE, WORDS, WORDS, COLUMN, COLUMN, int64, WORDS, WORDS))
def add_versions(
    heads: Words, links: Words, free: Words, meta: Words, slots: Words, times: Words, horizon: int, places: Words,
    dropped: Words,
) -> int:  # fmt: skip
    """Chain versions (of equal times the last one counts), and drop those that none at `horizon` or later can see.

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
            past = links[at, NEXT]
            links[at, NEXT] = -1
            while past >= 0:
                give_place(free, counts, past)
                if gone < len(dropped):
                    dropped[gone] = past
                gone += 1
                past = links[past, NEXT]
    return gone


@kernel(void(COLUMN, TABLE, COLUMN, COLUMN, WORDS))
def find_versions(heads: Words, links: Words, slots: Words, times: Words, places: Words) -> None:
    """Write the place of the version that is valid at each row's time, -1 if there is none; slots may be -1."""
    for i in range(len(slots)):
        at = heads[slots[i]] - 1 if slots[i] >= 0 else -1
        while at >= 0 and links[at, TIME] > times[i]:
            at = links[at, NEXT]
        places[i] = at
