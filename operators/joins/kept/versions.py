"""The versions of keys on one worker: what each key's row is from a time on."""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, Batch, int64, kernel, void
from tokenring.engine.compiled import Words, record_of
from tokenring.operators.joins.kept.kernels import NEXT, TIME, UNBOUNDED_WORDS, SideCounts, give_chain
from tokenring.operators.state import LEAST, Keys, take_place

JUMP, JUMP_TIME, DEPTH = range(UNBOUNDED_WORDS, UNBOUNDED_WORDS + 3)
"""Words of `links` of versions, behind those of other rows: see `add_versions`."""
VERSION_WORDS = UNBOUNDED_WORDS + 3


def known(keys: Keys, batch: Batch, names: tuple[str, ...]) -> np.ndarray:
    """The slot of each row's key, int64 (rows,), -1 where it is not known or null."""
    slots = keys.find(batch, names)
    for name in names:
        if batch.schema.kind(name).nullable:
            slots[batch.nulls(name)] = -1
    return slots


@kernel
def _last_from(links: Words, place: int, time: int, gone: int) -> tuple[int, int]:
    """Of a chain from this place on, the version that is valid at a time, -1 if there is none; and the one that comes
    after it in time, -1 if there is none. gone: see `add_versions`."""
    before, bound = -1, max(time, gone)
    while place >= 0 and links[place, TIME] > time:
        before = place
        place = links[place, JUMP] if links[place, JUMP_TIME] > bound else links[place, NEXT]
    return place, before


@kernel
def _link_jump(links: Words, place: int, gone: int) -> None:
    """Let a version jump to the one before it, or over twice as many as that one does (Myers, 1983, "An applicative
    random-access stack": of a chain of n each is found in some log n steps)."""
    after = links[place, NEXT]
    if after < 0:
        links[place, JUMP], links[place, JUMP_TIME], links[place, DEPTH] = place, LEAST, 0
        return
    over, over_time, depth = after, links[after, TIME], links[after, DEPTH]
    if links[after, JUMP_TIME] > gone:
        jump = links[after, JUMP]
        if depth - links[jump, DEPTH] == links[jump, DEPTH] - links[links[jump, JUMP], DEPTH]:
            over, over_time = links[jump, JUMP], links[jump, JUMP_TIME]
    links[place, JUMP], links[place, JUMP_TIME], links[place, DEPTH] = over, over_time, depth + 1


@kernel(void(WORDS, TABLE, WORDS, WORDS, COLUMN, COLUMN, int64, int64, WORDS))
def add_versions(
    heads: Words, links: Words, free: Words, meta: Words, slots: Words, times: Words, horizon: int, gone: int,
    places: Words,
) -> None:  # fmt: skip
    """Chain versions (of equal times the last one counts), and drop those that none at `horizon` or later can see;
    LEAST: none. gone: up to when versions of these keys may have been dropped before.

    Of `links`: NEXT, the place of the version before, -1 at the first; TIME, from which it is valid; JUMP, the place of
    an earlier version, which is there if its time, JUMP_TIME, is after `gone`; DEPTH, how many were before it when it
    came. Writes the rows' places.
    """
    counts = record_of(meta, SideCounts)
    for i in range(len(slots)):
        slot, time = slots[i], times[i]
        place = take_place(free, counts)
        at, before = _last_from(links, heads[slot] - 1, time, gone)
        links[place, NEXT], links[place, TIME] = at, time
        _link_jump(links, place, gone)
        if before >= 0:
            links[before, NEXT] = place
        else:
            heads[slot] = place + 1
        places[i] = place
        if horizon == LEAST:
            continue
        at, _ = _last_from(links, heads[slot] - 1, horizon, gone)
        if at >= 0:  # what rows at the horizon see: none before it is ever seen again
            give_chain(links, free, counts, links[at, NEXT], places[:0], 0)
            links[at, NEXT] = -1


@kernel(void(COLUMN, TABLE, COLUMN, COLUMN, WORDS))
def find_versions(heads: Words, links: Words, slots: Words, times: Words, places: Words) -> None:
    """Write the place of the version that is valid at each row's time, -1 if there is none; none was dropped at a
    horizon after these times. slots may be -1."""
    for i in range(len(slots)):
        place = heads[slots[i]] - 1 if slots[i] >= 0 else -1
        places[i], _ = _last_from(links, place, times[i], times[i])
