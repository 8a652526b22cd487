"""The kernels of joins whose state moves: rows of some keys are taken out of their chains and heaps, and put in again.

The tables: as the kernels of sides have them. `chosen`, by slot: 1 of keys that leave, 0 of others.
"""

from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel, void
from tokenring.engine.compiled import Words, record_of, records_of
from tokenring.operators.joins.kept.kernels import HAS_ROW, LOOSE, BoundedLink, SideCounts, give_chain, link_at
from tokenring.operators.joins.kept.unique_side import have_last, row_at
from tokenring.operators.state import push, take_place


@kernel(int64(WORDS, int64, TABLE, WORDS, WORDS, COLUMN, WORDS, WORDS))
def take_kept(
    heads: Words, first: int, links: Words, free: Words, meta: Words, slots: Words, places: Words, owners: Words
) -> int:
    """Remove all rows of these keys from their chains, the last to come first; writes their places, which can be read
    until rows are added, and their keys' slots. first: what a head is of place 0. Returns how many there are."""
    counts = record_of(meta, SideCounts)
    taken = 0
    for slot in slots:
        before, taken = taken, give_chain(links, free, counts, heads[slot] - first, places, taken)
        owners[before:taken] = slot
        heads[slot] = 0
    return taken


@kernel(void(TABLE, WORDS, TABLE, COLUMN, WORDS))
def forget_dues(links: Words, meta: Words, heap: Words, chosen: Words, dues: Words) -> None:
    """Let rows of keys that leave be due no more; writes when they were to `dues`, by place. Rows that are in no chain
    any more belong to no key, and stay until they are due."""
    rows, counts = records_of(links, BoundedLink), record_of(meta, SideCounts)
    entries, kept = counts.expiring, 0
    for i in range(entries):
        due, place = heap[i, 0], heap[i, 1]
        first, last = -1, -1
        while place >= 0:
            following, slot = rows[place].together, rows[place].slot
            if slot != LOOSE and chosen[slot] != 0:
                dues[place] = due
            else:
                if last >= 0:
                    rows[last].together = place
                else:
                    first = place
                last = place
            place = following
        if last >= 0:
            rows[last].together = -1
            push(heap, kept, due, first)  # to places that have been read
            kept += 1
    counts.expiring = kept


@kernel(void(WORDS, TABLE, WORDS, WORDS, COLUMN, COLUMN, WORDS))
def put_kept(heads: Words, links: Words, free: Words, meta: Words, slots: Words, times: Words, places: Words) -> None:
    """Chain rows that stay, the first to have come first; writes their places. times: of their messages."""
    counts = record_of(meta, SideCounts)
    for i in range(len(slots)):
        slot, place = slots[i], take_place(free, counts)
        link = link_at(links, place)
        link.next, link.time = heads[slot] - HAS_ROW, times[i]
        heads[slot] = HAS_ROW + place
        counts.newest = max(counts.newest, times[i])
        places[i] = place


@kernel(void(WORDS, TABLE, WORDS, WORDS, TABLE, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN, WORDS))
def put_bounded(
    heads: Words, links: Words, free: Words, meta: Words, heap: Words, slots: Words, times: Words, starts: Words,
    ends: Words, dues: Words, matched: Words, places: Words,
) -> None:  # fmt: skip
    """As `put_kept`, of rows that expire. matched: 1 of those that ever did."""
    rows, counts = records_of(links, BoundedLink), record_of(meta, SideCounts)
    last, last_due = -1, 0
    for i in range(len(slots)):
        slot, place = slots[i], take_place(free, counts)
        link, after = rows[place], heads[slot] - HAS_ROW
        link.next, link.time, link.start, link.end, link.furthest = after, times[i], starts[i], ends[i], ends[i]
        link.previous, link.slot, link.matched, link.together = -1, slot, matched[i], -1
        if after >= 0:
            rows[after].previous = place
            link.furthest = max(ends[i], rows[after].furthest)
        heads[slot] = HAS_ROW + place
        counts.newest = max(counts.newest, times[i])
        if last >= 0 and dues[i] == last_due:
            rows[last].together = place
        else:
            push(heap, counts.expiring, dues[i], place)
            counts.expiring += 1
        places[i] = last = place
        last_due = dues[i]


@kernel(int64(TABLE, TABLE, WORDS, COLUMN, WORDS, WORDS))
def take_at_slots(rows: Words, heap: Words, meta: Words, chosen: Words, slots: Words, dues: Words) -> int:
    """Let rows of keys that leave be due no more, of a side that has them by slot; writes their slots, where they can
    still be read, and when they were due. Returns how many there are."""
    counts = record_of(meta, SideCounts)
    entries, kept, taken = counts.expiring, 0, 0
    for i in range(entries):
        due, slot = heap[i, 0], heap[i, 1]
        first, last = -1, -1
        while slot >= 0:
            following = (row_at(rows, slot).after >> 1) - 1
            if chosen[slot] != 0:
                slots[taken], dues[taken] = slot, due
                taken += 1
            else:
                if last >= 0:
                    before = row_at(rows, last)
                    before.after = before.after & 1 | (slot + 1) << 1
                else:
                    first = slot
                last = slot
            slot = following
        if last >= 0:
            row_at(rows, last).after &= 1
            push(heap, kept, due, first)
            kept += 1
    counts.expiring = kept
    counts.free += taken
    return taken


@kernel(void(TABLE, TABLE, WORDS, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN))
def put_at_slots(
    rows: Words, heap: Words, meta: Words, slots: Words, times: Words, starts: Words, ends: Words, dues: Words,
    matched: Words,
) -> None:  # fmt: skip
    """Put rows that expire at their slots. times: of their messages; matched: 1 of those that ever did."""
    counts = record_of(meta, SideCounts)
    kept, limit = counts.limit - counts.free, counts.limit
    last, last_due = -1, 0
    for i in range(len(slots)):
        slot = slots[i]
        row = row_at(rows, slot)
        row.here, row.since, row.after = ~times[i], starts[i], matched[i]
        have_last(rows, slot, ends[i])
        if last >= 0 and dues[i] == last_due:
            row_at(rows, last).after |= (slot + 1) << 1
        else:
            push(heap, counts.expiring, dues[i], slot)
            counts.expiring += 1
        last, last_due = slot, dues[i]
        limit = max(limit, slot + 1)
        counts.newest = max(counts.newest, times[i])
    counts.limit, counts.free = limit, limit - kept - len(slots)
