"""Rows that wait for versions, in compiled operators: pieces of messages, by the least of their times."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, COMPLETE, WORDS, Batch, Schema, Time, kernel, void
from tokenring.engine.compiled import (
    Record,
    Words,
    address_of,
    bare_message,
    point_to,
    record_of,
    records_at,
    records_of,
    world_at,
)
from tokenring.operators.joins.compiled.kept_rows import (
    KeptRows,
    LinkedSide,
    free_of,
    keep_rows,
    kept_column,
    links_of,
    side_counts,
)
from tokenring.operators.joins.compiled.results import scratch
from tokenring.operators.joins.kept import MovedColumns, Side
from tokenring.operators.migrate import Leaving, Table
from tokenring.operators.state import FreeList, RowStore, gather, give_place, grown, take_place


class Piece(Record):
    """A piece of a message that waits: the least of its times, its number, and its first row's place."""

    least: int
    order: int
    first: int


class RowLink(Record):
    """A row that waits: the piece's next row, -1 at its end; the row's time."""

    next: int
    time: int


class Waiting(Record):
    """Behind the side that keeps the rows: the heap of pieces, how many there are, the next one's number."""

    rows: KeptRows
    heap: int
    pieces: int
    number: int


@kernel
def _heap_of(waiting: Waiting) -> Sequence[Piece]:
    return records_at(waiting.heap, waiting.rows.places, Piece)


@kernel
def _links_of(waiting: Waiting) -> Sequence[RowLink]:
    return records_of(links_of(waiting.rows), RowLink)


@kernel
def _before(heap: Sequence[Piece], one: int, other: int) -> bool:
    if heap[one].least != heap[other].least:
        return heap[one].least < heap[other].least
    return heap[one].order < heap[other].order


@kernel
def _swap(heap: Sequence[Piece], one: int, other: int) -> None:
    here, there = heap[one], heap[other]
    here.least, there.least = there.least, here.least
    here.order, there.order = there.order, here.order
    here.first, there.first = there.first, here.first


@kernel
def _push(waiting: Waiting, least: int, first: int) -> None:
    """Let a piece wait, behind those of the same time."""
    heap, child = _heap_of(waiting), waiting.pieces
    heap[child].least, heap[child].order, heap[child].first = least, waiting.number, first
    waiting.pieces += 1
    waiting.number += 1
    while child > 0 and _before(heap, child, (child - 1) >> 1):
        _swap(heap, child, (child - 1) >> 1)
        child = (child - 1) >> 1


@kernel
def _pop(waiting: Waiting) -> int:
    """The first row of the first piece, which waits no longer."""
    heap = _heap_of(waiting)
    waiting.pieces -= 1
    size, here = waiting.pieces, 0
    first = heap[0].first
    _swap(heap, 0, size)
    while 2 * here + 1 < size:
        child = 2 * here + 1
        if child + 1 < size and _before(heap, child + 1, child):
            child += 1
        if not _before(heap, child, here):
            break
        _swap(heap, child, here)
        here = child
    return first


@kernel
def least_waiting(waiting: Waiting) -> int:
    """The least time of a row that waits; COMPLETE if there is none."""
    return _heap_of(waiting)[0].least if waiting.pieces > 0 else COMPLETE


@kernel
def wait_for(waiting: Waiting, world: int, message: int, rows: Words, times: Words) -> None:
    """Let rows of a message wait, for which there is room. times: of all its rows."""
    places = scratch(world, len(rows))
    links, free, counts = _links_of(waiting), free_of(waiting.rows), side_counts(waiting.rows)
    least = COMPLETE
    for i in range(len(rows)):
        places[i] = take_place(free, counts)
        links[places[i]].next, links[places[i]].time = -1, times[rows[i]]
        if i > 0:
            links[places[i - 1]].next = places[i]
        least = min(least, times[rows[i]])
    keep_rows(waiting.rows, message, rows, places)
    _push(waiting, least, places[0])


@kernel
def released(waiting: Waiting, world: int, certain: int) -> Words:
    """The places of the first piece's rows before `certain`, of which there are some; the others wait on. They can be
    read until more rows wait."""
    links, free, counts = _links_of(waiting), free_of(waiting.rows), side_counts(waiting.rows)
    place = _pop(waiting)
    count, first, last, least = 0, -1, -1, COMPLETE
    at_first = place
    while place >= 0:
        count += 1
        place = links[place].next
    ready = scratch(world, count)
    count, place = 0, at_first
    while place >= 0:
        following = links[place].next
        if links[place].time < certain:
            ready[count] = place
            count += 1
            give_place(free, counts, place)
        else:
            links[place].next = -1
            if last >= 0:
                links[last].next = place
            else:
                first = place
            last = place
            least = min(least, links[place].time)
        place = following
    if first >= 0:
        _push(waiting, least, first)
    return ready[:count]


@kernel
def times_of(waiting: Waiting, world: int, places: Words) -> Words:
    """The times of rows that waited."""
    times = scratch(world, len(places))
    for i in range(len(places)):
        times[i] = _links_of(waiting)[places[i]].time
    return times


@kernel
def message_of(waiting: Waiting, world: int, places: Words) -> int:
    """Rows that waited, as the message that they came in."""
    made = bare_message(world_at(world), waiting.rows.columns, len(places))
    for column in range(waiting.rows.columns):
        words = scratch(world, len(places))
        gather(kept_column(waiting.rows, column), places, words)
        point_to(made, column, words.ctypes.data)
    return made


@kernel(void(WORDS, WORDS, WORDS))
def _list_all(words: Words, places: Words, numbers: Words) -> None:
    """Write the places of all rows, those of a piece in their order, and the numbers of their pieces."""
    waiting = record_of(words, Waiting)
    heap, links, count = _heap_of(waiting), _links_of(waiting), 0
    for piece in range(waiting.pieces):
        place = heap[piece].first
        while place >= 0:
            places[count], numbers[count] = place, heap[piece].order
            count += 1
            place = links[place].next


@kernel(void(WORDS, COLUMN, COLUMN))
def _wait_again(words: Words, places: Words, numbers: Words) -> None:
    """Let rows at places wait, those of one number that follow each other as a piece."""
    waiting = record_of(words, Waiting)
    links, start = _links_of(waiting), 0
    while start < len(places):
        least, end = COMPLETE, start
        while end < len(places) and numbers[end] == numbers[start]:
            least = min(least, links[places[end]].time)
            links[places[end]].next = -1
            if end > start:
                links[places[end - 1]].next = places[end]
            end += 1
        _push(waiting, least, places[start])
        start = end


@kernel(void(WORDS, WORDS, WORDS))
def _take_places(free: Words, meta: Words, places: Words) -> None:
    for i in range(len(places)):
        places[i] = take_place(free, record_of(meta, FreeList))


class LinkedWaiting:
    """Rows of messages of a schema that wait, and what says where they are."""

    def __init__(self, schema: Schema) -> None:
        self.side = Side(RowStore(schema), False)
        self.rows = LinkedSide(self.side, np.arange(len(schema)))
        self._heap = np.zeros((0, Piece.size), np.int64)
        self._own = Waiting()

    def take_out(self, leaving: Leaving, table: Table) -> Batch:
        """See Waiting."""
        moved, (_, links, free, meta, _) = MovedColumns(table, self.side.store, self.rows.texts), self.side.tables
        places, numbers = np.empty(len(self.side), np.int64), np.empty(len(self.side), np.int64)
        _list_all(self._own.words, places, numbers)
        order = np.argsort(numbers, kind="stable")  # rows of a message stay in theirs
        places, numbers = places[order], numbers[order]
        everything = moved.of(((), ()), places, [RowLink.of_table(links)["time"][places], numbers])
        leaves = leaving.rows(everything, table.key)
        taken, gone = everything.filter(leaves).copy(), places[leaves]
        moved.forget(gone)
        counts = FreeList(meta)
        free[counts.free : counts.free + len(gone)] = gone
        counts.free += len(gone)
        self._own.pieces = 0
        _wait_again(self._own.words, places[~leaves], numbers[~leaves])
        return taken

    def put_in(self, table: Batch) -> Time:
        """See Waiting."""
        self.side.reserve(table.rows)
        self.link(self._own)
        _, links, free, meta, _ = self.side.tables
        places, times = np.empty(table.rows, np.int64), table.words("time")
        _take_places(free, meta, places)
        RowLink.of_table(links)["time"][places] = times
        MovedColumns(Table(table.schema, ()), self.side.store, self.rows.texts).put(places, table, len(links))
        _wait_again(self._own.words, places, np.ascontiguousarray(table.words("piece")))
        return int(times.min()) if table.rows else COMPLETE

    def link(self, waiting: Waiting) -> None:
        """Write down where everything is now. To be repeated when it has grown."""
        self._own = waiting
        self.rows.link(waiting.rows)
        self._heap = grown(self._heap, waiting.rows.places, None, axis=0)
        waiting.heap = address_of(self._heap)
