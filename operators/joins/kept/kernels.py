"""The kernels of joins: chains of rows by key, probed, added to and expired.

`heads`, int64 (slots,): HAS_ROW and the place of each key's newest row, NO_ROW, or BARRED. `links`, int64 (places,
words): a row a place, a Link where rows stay for ever, else a BoundedLink. `free`: places to be used again.
`heap`: the first places of rows that go together, by when. `meta`: counts.
"""

from tokenring.engine import COLUMN, TABLE, WORDS, boolean, int64, kernel
from tokenring.engine.compiled import Record, Words, record_of, records_of
from tokenring.operators.state import FreeList, give_place, pop, push, take_place

LOOSE = -1
NO_ROW, BARRED, HAS_ROW = range(3)
"""What `heads` says of a key: it has no row here, and must be 0, as fresh memory is; it has one, that can match
nothing; it has rows, from the place that is so much less on."""
EVERY, A_ROW, A_PLACE = range(3)
"""What of the pairs to find: all, the first of each row, the first of each place."""
WAITS, MATCHES = range(2)
"""What becomes of a row: its match may still come, or is here."""
ANY, FIRST = range(2)
"""What rows of a key a side keeps."""


class Link(Record):
    """The next place of the chain, below 0 at its end; the time of the row's message."""

    next: int
    time: int


class BoundedLink(Link):
    """`start`, `end`: the extent in which rows match (they do where extents meet). `furthest`: the latest `end` from
    here to the chain's end, or later; `previous`: the place before, -1 at the head; `slot`: the key's, LOOSE where it
    is in no chain any more; `matched`: whether it ever did; `together`: the next place of those that came together and
    go together, -1 at the last."""

    start: int
    end: int
    furthest: int
    previous: int
    slot: int
    matched: int
    together: int


class Cursor(Record):
    """The row to go on at, the place to go on at (-1: the head), the latest time of what was found."""

    row: int
    place: int
    latest: int


class SideCounts(FreeList):
    """`expiring`: entries of `heap`; `newest`: the latest time of a message of which rows stay."""

    expiring: int
    newest: int


@kernel
def link_at(links: Words, place: int) -> Link:
    """What any row has of links."""
    return record_of(links[place], Link)


@kernel
def _unchain(heads: Words, links: Words, place: int) -> None:
    rows = records_of(links, BoundedLink)
    slot, before, after = rows[place].slot, rows[place].previous, rows[place].next
    if before >= 0:
        rows[before].next = after
    else:
        heads[slot] = HAS_ROW + after if after >= 0 else NO_ROW
    if after >= 0:
        rows[after].previous = before


@kernel
def probe(
    cursor: Cursor, slots: Words, heads: Words, links: Words, bounded: bool, once: int, starts: Words, ends: Words,
    matched: Words, rows: Words, places: Words,
) -> int:  # fmt: skip
    """Find the pairs of rows and places that match, as many as `rows` has room for; returns how many. `matched`, by
    row, is set to MATCHES. All are found when cursor.row is len(slots). once: EVERY, or where `bounded` A_ROW,
    A_PLACE: such a place leaves its chain, so that rows to come do not pass it."""
    found, room = 0, len(rows)
    at = cursor.place
    cursor.latest = -1
    for i in range(cursor.row, len(slots)):
        if at < 0:
            at = heads[slots[i]] - HAS_ROW
        while at >= 0:
            link = record_of(links[at], BoundedLink)
            following = link.next
            if bounded and link.furthest < starts[i]:
                at = -1
                break
            if not bounded or (link.start <= ends[i] and starts[i] <= link.end):
                if found == room:
                    cursor.row, cursor.place = i, at
                    return found
                rows[found], places[found] = i, at
                found += 1
                cursor.latest = max(cursor.latest, link.time)
                matched[i] = MATCHES
                if bounded:
                    link.matched = 1
                if once == A_ROW:
                    at = -1
                    break
                if once == A_PLACE and bounded:
                    _unchain(heads, links, at)
                    link.slot = LOOSE
            at = following
    cursor.row, cursor.place = len(slots), -1
    return found


@kernel(int64(WORDS, COLUMN, COLUMN))
def bar(heads: Words, slots: Words, chosen: Words) -> int:
    """Let the keys of rows that can match nothing have none; returns how many had none yet, up to one that had."""
    for i in range(len(chosen)):
        if heads[slots[chosen[i]]] != NO_ROW:
            return i
        heads[slots[chosen[i]]] = BARRED
    return len(chosen)


@kernel(int64(WORDS, TABLE, WORDS, WORDS, COLUMN, COLUMN, int64, boolean, WORDS))
def add(
    heads: Words, links: Words, free: Words, meta: Words, slots: Words, chosen: Words, time: int, unique: bool,
    places: Words,
) -> int:  # fmt: skip
    """Chain the rows `chosen`, that stay; writes their places. With `unique` it stops at a row whose key has one
    already; returns how many were added."""
    counts = record_of(meta, SideCounts)
    counts.newest = max(counts.newest, time)
    for i in range(len(chosen)):
        slot = slots[chosen[i]]
        if unique and heads[slot] != NO_ROW:
            return i
        place = take_place(free, counts)
        link = link_at(links, place)
        link.next, link.time = heads[slot] - HAS_ROW, time
        heads[slot] = HAS_ROW + place
        places[i] = place
    return len(chosen)


@kernel(int64(WORDS, TABLE, WORDS, WORDS, TABLE, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN, int64, int64, WORDS))
def add_bounded(
    heads: Words, links: Words, free: Words, meta: Words, heap: Words, slots: Words, chosen: Words, starts: Words,
    ends: Words, dues: Words, matched: Words, time: int, rule: int, places: Words,
) -> int:  # fmt: skip
    """Chain the rows `chosen`, with their extents, until the frontier that decides reaches `dues`; writes their places.
    rule: ANY rows; FIRST of those of one extent that follow each other in a chain, which says all that these do.
    Returns how many were added or said already."""
    counts = record_of(meta, SideCounts)
    counts.newest = max(counts.newest, time)
    rows = records_of(links, BoundedLink)
    last, last_due = -1, 0
    for i in range(len(chosen)):
        row = chosen[i]
        slot, start, end, due = slots[row], starts[row], ends[row], dues[row]
        after = heads[slot] - HAS_ROW
        if after >= 0:
            if rule == FIRST and rows[after].start == start and rows[after].end == end:
                rows[after].time = min(rows[after].time, time)
                continue
        place = take_place(free, counts)
        link = rows[place]
        link.next, link.time, link.start, link.end, link.furthest = after, time, start, end, end
        link.previous, link.slot, link.matched, link.together = -1, slot, matched[row] == MATCHES, -1
        if after >= 0:
            rows[after].previous = place
            link.furthest = max(end, rows[after].furthest)
        heads[slot] = HAS_ROW + place
        if last >= 0 and due == last_due:  # windows' rows mostly are: this spares the heap
            rows[last].together = place
        else:
            push(heap, counts.expiring, due, place)
            counts.expiring += 1
        places[i] = last = place
        last_due = due
    return len(chosen)


@kernel
def give_chain(links: Words, free: Words, counts: SideCounts, place: int, places: Words, given: int) -> int:
    """Give back a row's place and those of all behind it in its chain, which stay as they are. Writes them to `places`,
    behind the `given` that are there, as many as there is room for; returns how many were given then."""
    while place >= 0:
        give_place(free, counts, place)
        if given < len(places):
            places[given] = place
        given += 1
        place = link_at(links, place).next
    return given


@kernel(int64(WORDS, TABLE, WORDS, WORDS, COLUMN, WORDS))
def take_chains(heads: Words, links: Words, free: Words, meta: Words, slots: Words, places: Words) -> int:
    """Remove all rows of these keys; writes their places, as many as there is room for, and returns how many."""
    counts = record_of(meta, SideCounts)
    taken = 0
    for slot in slots:
        taken = give_chain(links, free, counts, heads[slot] - HAS_ROW, places, taken)
        heads[slot] = NO_ROW
    return taken


@kernel(int64(WORDS, TABLE, TABLE, WORDS, WORDS, TABLE, int64, WORDS, WORDS, WORDS, WORDS))
def expire(
    heads: Words, others: Words, links: Words, free: Words, meta: Words, heap: Words, horizon: int, places: Words,
    dues: Words, emptied: Words, sizes: Words,
) -> int:  # fmt: skip
    """Remove rows due by `horizon`, in order, as many as `places` has room for; returns how many.

    `places` and `dues` get all of them; sizes[0] of `emptied`, the slots that now have no rows, here nor in `others`:
    its first word is 0 there.
    """
    counts = record_of(meta, SideCounts)
    rows = records_of(links, BoundedLink)
    found, sizes[0] = 0, 0
    while counts.expiring > 0 and heap[0, 0] <= horizon and found < len(places):
        due, place = heap[0, 0], heap[0, 1]
        if rows[place].together >= 0:
            heap[0, 1] = rows[place].together
        else:
            pop(heap, counts.expiring)
            counts.expiring -= 1
        slot = rows[place].slot
        if slot != LOOSE:
            _unchain(heads, links, place)
            if heads[slot] == NO_ROW and others[slot, 0] == NO_ROW:
                emptied[sizes[0]] = slot
                sizes[0] += 1
        give_place(free, counts, place)
        places[found], dues[found] = place, due
        found += 1
    return found
