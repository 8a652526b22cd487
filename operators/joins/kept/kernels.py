"""The kernels of joins: chains of rows by key, probed, added to and expired.

`heads`, int64 (slots,): the place of each key's newest row, -1 if it has none. `links`, int64 (places, words): a row a
place; of the words below only the first two where rows stay for ever. `free`: places to be used again. `heap`: the
first places of rows that go together, by when. `meta`: counts.
"""

from tokenring.engine import COLUMN, TABLE, WORDS, boolean, int64, kernel, void
from tokenring.operators.state import give_place, pop, push, take_place

NEXT, TIME, START, END, PREVIOUS, SLOT, MATCHED, TOGETHER = range(8)
"""Words of `links`: the next place of the chain, -1 at its end; the time of the row's message; the extent in which rows
match (they do where extents meet); the place before, -1 at the head; the key's slot; whether it ever matched; the
next place of those that came together and go together, -1 at the last."""
EVERY, A_ROW, A_PLACE = range(3)
"""What of the pairs to find: all, the first of each row, the first of each place."""
EXPIRING = 2
"""Word of `meta` behind those of the free list: entries of `heap`."""
ROW, PLACE, LATEST = range(3)
"""Words of a cursor: the row to go on at, the place to go on at (-1: the head), the latest TIME of what was found."""


@kernel(int64(WORDS, COLUMN, COLUMN, TABLE, boolean, int64, COLUMN, COLUMN, WORDS, WORDS, WORDS))
def probe(cursor, slots, heads, links, bounded, once, starts, ends, matched, rows, places):  # type: ignore[no-untyped-def]
    """Find the pairs of rows and places that match, as many as `rows` has room for; returns how many. `matched`, by
    row, is set to 1. All are found when cursor[ROW] is len(slots). once: EVERY, or where `bounded` A_ROW, A_PLACE."""
    found, room = 0, len(rows)
    at = cursor[PLACE]
    cursor[LATEST] = -1
    for i in range(cursor[ROW], len(slots)):
        if at < 0:
            at = heads[slots[i]]
        while at >= 0:
            if not bounded or (
                links[at, START] <= ends[i]
                and starts[i] <= links[at, END]
                and (once != A_PLACE or links[at, MATCHED] == 0)
            ):
                if found == room:
                    cursor[ROW], cursor[PLACE] = i, at
                    return found
                rows[found], places[found] = i, at
                found += 1
                cursor[LATEST] = max(cursor[LATEST], links[at, TIME])
                matched[i] = 1
                if bounded:
                    links[at, MATCHED] = 1
                if once == A_ROW:
                    at = -1
                    break
            at = links[at, NEXT]
    cursor[ROW], cursor[PLACE] = len(slots), -1
    return found


@kernel(int64(WORDS, TABLE, WORDS, WORDS, COLUMN, COLUMN, int64, boolean, WORDS))
def add(heads, links, free, meta, slots, chosen, time, unique, places):  # type: ignore[no-untyped-def]
    """Chain the rows `chosen`, that stay; writes their places. With `unique` it stops at a row whose key has one
    already; returns how many were added."""
    for i in range(len(chosen)):
        slot = slots[chosen[i]]
        if unique and heads[slot] >= 0:
            return i
        place = take_place(free, meta)
        links[place, NEXT], links[place, TIME] = heads[slot], time
        heads[slot] = place
        places[i] = place
    return len(chosen)


@kernel(void(WORDS, TABLE, WORDS, WORDS, TABLE, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN, int64, WORDS))
def add_bounded(heads, links, free, meta, heap, slots, starts, ends, dues, matched, time, places):  # type: ignore[no-untyped-def]
    """Chain all rows, with their extents, until the frontier that decides reaches `dues`; writes their places."""
    for i in range(len(slots)):
        slot = slots[i]
        place = take_place(free, meta)
        after = heads[slot]
        links[place, NEXT], links[place, TIME] = after, time
        links[place, START], links[place, END] = starts[i], ends[i]
        links[place, PREVIOUS], links[place, SLOT], links[place, MATCHED] = -1, slot, matched[i]
        if after >= 0:
            links[after, PREVIOUS] = place
        heads[slot] = place
        links[place, TOGETHER] = -1
        if i > 0 and dues[i] == dues[i - 1]:  # windows' rows mostly are: this spares the heap
            links[places[i - 1], TOGETHER] = place
        else:
            push(heap, meta[EXPIRING], dues[i], place)
            meta[EXPIRING] += 1
        places[i] = place


@kernel(int64(WORDS, TABLE, WORDS, WORDS, COLUMN, WORDS))
def take_chains(heads, links, free, meta, slots, places):  # type: ignore[no-untyped-def]
    """Remove all rows of these keys; writes their places, and returns how many."""
    taken = 0
    for slot in slots:
        place = heads[slot]
        heads[slot] = -1
        while place >= 0:
            give_place(free, meta, place)
            places[taken] = place
            taken += 1
            place = links[place, NEXT]
    return taken


@kernel(int64(WORDS, COLUMN, TABLE, WORDS, WORDS, TABLE, int64, WORDS, WORDS, WORDS, WORDS))
def expire(heads, others, links, free, meta, heap, horizon, places, dues, emptied, sizes):  # type: ignore[no-untyped-def]
    """Remove rows due by `horizon`, in order, as many as `places` has room for; returns how many.

    `places` and `dues` get all of them; sizes[0] of `emptied`, the slots that now have no rows, here nor in `others`.
    """
    found, sizes[0] = 0, 0
    while meta[EXPIRING] > 0 and heap[0, 0] <= horizon and found < len(places):
        due, place = heap[0, 0], heap[0, 1]
        if links[place, TOGETHER] >= 0:
            heap[0, 1] = links[place, TOGETHER]
        else:
            pop(heap, meta[EXPIRING])
            meta[EXPIRING] -= 1
        slot, before, after = links[place, SLOT], links[place, PREVIOUS], links[place, NEXT]
        if before >= 0:
            links[before, NEXT] = after
        else:
            heads[slot] = after
        if after >= 0:
            links[after, PREVIOUS] = before
        if heads[slot] < 0 and others[slot] < 0:
            emptied[sizes[0]] = slot
            sizes[0] += 1
        give_place(free, meta, place)
        places[found], dues[found] = place, due
        found += 1
    return found
