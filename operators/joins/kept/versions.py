"""The versions of keys on one worker: what each key's row is from a time on."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, Batch, int64, kernel, void
from tokenring.engine.compiled import Words, record_of, records_of
from tokenring.operators.joins.kept.kernels import Link, SideCounts, give_chain
from tokenring.operators.state import LEAST, Keys, take_place


class Version(Link):
    """`next`: the place of the version before, below 0 at the first; `time`: from which it is valid; `jump`: the place
    of an earlier version, which is there if its time, `jump_time`, is after up to when versions may have been dropped;
    `depth`: how many were before it when it came."""

    jump: int
    jump_time: int
    depth: int


def known(keys: Keys, batch: Batch, names: tuple[str, ...]) -> np.ndarray:
    """The slot of each row's key, int64 (rows,), -1 where it is not known or null."""
    slots = keys.find(batch, names)
    for name in names:
        if batch.schema.kind(name).nullable:
            slots[batch.nulls(name)] = -1
    return slots


@kernel
def _last_from(links: Sequence[Version], place: int, time: int, gone: int) -> tuple[int, int]:
    """Of a chain from this place on, the version that is valid at a time, -1 if there is none; and the one that comes
    after it in time, -1 if there is none. gone: see `add_versions`."""
    before, bound = -1, max(time, gone)
    while place >= 0 and links[place].time > time:
        before = place
        place = links[place].jump if links[place].jump_time > bound else links[place].next
    return place, before


@kernel
def _link_jump(links: Sequence[Version], place: int, gone: int) -> None:
    """Let a version jump to the one before it, or over twice as many as that one does (Myers, 1983, "An applicative
    random-access stack": of a chain of n each is found in some log n steps)."""
    link, after = links[place], links[place].next
    if after < 0:
        link.jump, link.jump_time, link.depth = place, LEAST, 0
        return
    over, over_time, depth = after, links[after].time, links[after].depth
    if links[after].jump_time > gone:
        jump = links[links[after].jump]
        if depth - jump.depth == jump.depth - links[jump.jump].depth:
            over, over_time = jump.jump, jump.jump_time
    link.jump, link.jump_time, link.depth = over, over_time, depth + 1


@kernel(void(WORDS, TABLE, WORDS, WORDS, COLUMN, COLUMN, int64, int64, WORDS))
def add_versions(
    heads: Words, links: Words, free: Words, meta: Words, slots: Words, times: Words, horizon: int, gone: int,
    places: Words,
) -> None:  # fmt: skip
    """Chain versions (of equal times the last one counts), and drop those that none at `horizon` or later can see;
    LEAST: none. gone: up to when versions of these keys may have been dropped before. Writes the rows' places.
    """
    versions, counts = records_of(links, Version), record_of(meta, SideCounts)
    for i in range(len(slots)):
        slot, time = slots[i], times[i]
        place = take_place(free, counts)
        at, before = _last_from(versions, heads[slot] - 1, time, gone)
        versions[place].next, versions[place].time = at, time
        _link_jump(versions, place, gone)
        if before >= 0:
            versions[before].next = place
        else:
            heads[slot] = place + 1
        places[i] = place
        if horizon == LEAST:
            continue
        at, _ = _last_from(versions, heads[slot] - 1, horizon, gone)
        if at >= 0:  # what rows at the horizon see: none before it is ever seen again
            give_chain(links, free, counts, versions[at].next, places[:0], 0)
            versions[at].next = -1


@kernel(void(COLUMN, TABLE, COLUMN, COLUMN, WORDS))
def find_versions(heads: Words, links: Words, slots: Words, times: Words, places: Words) -> None:
    """Write the place of the version that is valid at each row's time, -1 if there is none; none was dropped at a
    horizon after these times. slots may be -1."""
    versions = records_of(links, Version)
    for i in range(len(slots)):
        place = heads[slots[i]] - 1 if slots[i] >= 0 else -1
        places[i], _ = _last_from(versions, place, times[i], times[i])
