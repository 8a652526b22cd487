"""Rows that wait for versions, in compiled operators: pieces of messages, by the least of their times."""

import numpy as np

from tokenring.engine import COLUMN, COMPLETE, WORDS, Batch, Schema, Time, int64, kernel, void
from tokenring.engine.compiled import address_of, bare_message, point_to, table_at, world_at
from tokenring.operators.folds import gather
from tokenring.operators.joins.compiled.kept_rows import (
    COLUMNS,
    PLACES,
    SIDE_WORDS,
    LinkedSide,
    free_of,
    keep_rows,
    kept_column,
    links_of,
    meta_of,
)
from tokenring.operators.joins.compiled.results import scratch
from tokenring.operators.joins.kept import MovedColumns, Side
from tokenring.operators.migrate import Leaving, Table
from tokenring.operators.state import FREE, RowStore, give_place, grown, take_place

# Words, behind those of the side that keeps the rows: the heap of pieces, how many there are, the next one's number.
_HEAP, _PIECES, _NUMBER = range(SIDE_WORDS, SIDE_WORDS + 3)
WAITING_WORDS = _NUMBER + 1
_LEAST, _ORDER, _FIRST = range(3)
_PIECE_WORDS = 3
_NEXT, _TIME = range(2)  # words of links: the piece's next row, -1 at its end; the row's time


@kernel
def _heap_of(own, at):  # type: ignore[no-untyped-def]
    return table_at(own[at + _HEAP], own[at + PLACES], _PIECE_WORDS)


@kernel
def _before(heap, one, other):  # type: ignore[no-untyped-def]
    if heap[one, _LEAST] != heap[other, _LEAST]:
        return heap[one, _LEAST] < heap[other, _LEAST]
    return heap[one, _ORDER] < heap[other, _ORDER]


@kernel
def _swap(heap, one, other):  # type: ignore[no-untyped-def]
    for word in range(_PIECE_WORDS):
        heap[one, word], heap[other, word] = heap[other, word], heap[one, word]


@kernel
def _push(own, at, least, first):  # type: ignore[no-untyped-def]
    """Let a piece wait, behind those of the same time."""
    heap, child = _heap_of(own, at), own[at + _PIECES]
    heap[child, _LEAST], heap[child, _ORDER], heap[child, _FIRST] = least, own[at + _NUMBER], first
    own[at + _PIECES] += 1
    own[at + _NUMBER] += 1
    while child > 0 and _before(heap, child, (child - 1) >> 1):
        _swap(heap, child, (child - 1) >> 1)
        child = (child - 1) >> 1


@kernel
def _pop(own, at):  # type: ignore[no-untyped-def]
    """The first row of the first piece, which waits no longer."""
    heap = _heap_of(own, at)
    own[at + _PIECES] -= 1
    size, here = own[at + _PIECES], 0
    first = heap[0, _FIRST]
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
def least_waiting(own, at):  # type: ignore[no-untyped-def]
    """The least time of a row that waits; COMPLETE if there is none. `at`: the first of the words that `link` wrote."""
    return _heap_of(own, at)[0, _LEAST] if own[at + _PIECES] > 0 else COMPLETE


@kernel
def wait_for(own, at, world, message, rows, times):  # type: ignore[no-untyped-def]
    """Let rows of a message wait, for which there is room. times: of all its rows."""
    places = scratch(world, len(rows))
    links, free, meta = links_of(own, at), free_of(own, at), meta_of(own, at)
    least = COMPLETE
    for i in range(len(rows)):
        places[i] = take_place(free, meta)
        links[places[i], _NEXT], links[places[i], _TIME] = -1, times[rows[i]]
        if i > 0:
            links[places[i - 1], _NEXT] = places[i]
        least = min(least, times[rows[i]])
    keep_rows(own, at, message, rows, places)
    _push(own, at, least, places[0])


@kernel
def released(own, at, world, certain):  # type: ignore[no-untyped-def]
    """The places of the first piece's rows before `certain`, of which there are some; the others wait on. They can be
    read until more rows wait."""
    links, free, meta = links_of(own, at), free_of(own, at), meta_of(own, at)
    place = _pop(own, at)
    count, first, last, least = 0, -1, -1, COMPLETE
    at_first = place
    while place >= 0:
        count += 1
        place = links[place, _NEXT]
    ready = scratch(world, count)
    count, place = 0, at_first
    while place >= 0:
        following = links[place, _NEXT]
        if links[place, _TIME] < certain:
            ready[count] = place
            count += 1
            give_place(free, meta, place)
        else:
            links[place, _NEXT] = -1
            if last >= 0:
                links[last, _NEXT] = place
            else:
                first = place
            last = place
            least = min(least, links[place, _TIME])
        place = following
    if first >= 0:
        _push(own, at, least, first)
    return ready[:count]


@kernel
def times_of(own, at, world, places):  # type: ignore[no-untyped-def]
    """The times of rows that waited."""
    times = scratch(world, len(places))
    for i in range(len(places)):
        times[i] = links_of(own, at)[places[i], _TIME]
    return times


@kernel
def message_of(own, at, world, places):  # type: ignore[no-untyped-def]
    """Rows that waited, as the message that they came in."""
    made = bare_message(world_at(world), own[at + COLUMNS], len(places))
    for column in range(own[at + COLUMNS]):
        words = scratch(world, len(places))
        gather(kept_column(own, at, column), places, words)
        point_to(made, column, words.ctypes.data)
    return made


@kernel(void(WORDS, int64, WORDS, WORDS))
def _list_all(own, at, places, numbers):  # type: ignore[no-untyped-def]
    """Write the places of all rows, those of a piece in their order, and the numbers of their pieces."""
    heap, links, count = _heap_of(own, at), links_of(own, at), 0
    for piece in range(own[at + _PIECES]):
        place = heap[piece, _FIRST]
        while place >= 0:
            places[count], numbers[count] = place, heap[piece, _ORDER]
            count += 1
            place = links[place, _NEXT]


@kernel(void(WORDS, int64, COLUMN, COLUMN))
def _wait_again(own, at, places, numbers):  # type: ignore[no-untyped-def]
    """Let rows at places wait, those of one number that follow each other as a piece."""
    links, start = links_of(own, at), 0
    while start < len(places):
        least, end = COMPLETE, start
        while end < len(places) and numbers[end] == numbers[start]:
            least = min(least, links[places[end], _TIME])
            links[places[end], _NEXT] = -1
            if end > start:
                links[places[end - 1], _NEXT] = places[end]
            end += 1
        _push(own, at, least, places[start])
        start = end


@kernel(void(WORDS, WORDS, WORDS))
def _take_places(free, meta, places):  # type: ignore[no-untyped-def]
    for i in range(len(places)):
        places[i] = take_place(free, meta)


class LinkedWaiting:
    """Rows of messages of a schema that wait, and the words that say where they are."""

    def __init__(self, schema: Schema) -> None:
        self.side = Side(RowStore(schema), False)
        self.rows = LinkedSide(self.side, np.arange(len(schema)))
        self._heap = np.zeros((0, _PIECE_WORDS), np.int64)
        self._own, self._at = np.zeros(WAITING_WORDS, np.int64), 0

    def take_out(self, leaving: Leaving, table: Table) -> Batch:
        """See Waiting."""
        moved, (_, links, free, meta, _) = MovedColumns(table, self.side.store, self.rows.texts), self.side.tables
        places, numbers = np.empty(len(self.side), np.int64), np.empty(len(self.side), np.int64)
        _list_all(self._own, self._at, places, numbers)
        order = np.argsort(numbers, kind="stable")  # rows of a message stay in theirs
        places, numbers = places[order], numbers[order]
        everything = moved.of(((), ()), places, [links[places, _TIME], numbers])
        leaves = leaving.rows(everything, table.key)
        taken, gone = everything.filter(leaves).copy(), places[leaves]
        moved.forget(gone)
        free[meta[FREE] : meta[FREE] + len(gone)] = gone
        meta[FREE] += len(gone)
        self._own[self._at + _PIECES] = 0
        _wait_again(self._own, self._at, places[~leaves], numbers[~leaves])
        return taken

    def put_in(self, table: Batch) -> Time:
        """See Waiting."""
        self.side.reserve(table.rows)
        self.link(self._own, self._at)
        _, links, free, meta, _ = self.side.tables
        places, times = np.empty(table.rows, np.int64), table.words("time")
        _take_places(free, meta, places)
        links[places, _TIME] = times
        MovedColumns(Table(table.schema, ()), self.side.store, self.rows.texts).put(places, table, len(links))
        _wait_again(self._own, self._at, places, np.ascontiguousarray(table.words("piece")))
        return int(times.min()) if table.rows else COMPLETE

    def link(self, words: np.ndarray, at: int) -> None:
        """Write down where everything is now, in WAITING_WORDS words from `at` on. To be repeated when it has grown."""
        self._own, self._at = words, at
        self.rows.link(words, at)
        self._heap = grown(self._heap, int(words[at + PLACES]), None, axis=0)
        words[at + _HEAP] = address_of(self._heap)
