"""Cursors over staged columns: where one worker stands in each stream, moved by one kernel for all streams at once."""

import contextlib
import mmap
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tokenring.engine import TABLE, WORDS, Batch, Schema, int64, kernel, void
from tokenring.engine.raw import LENGTH_BITS, LENGTH_MASK, MappedFile, address_of, words_at
from tokenring.nexmark.events import FLOOR
from tokenring.nexmark.staging import StagedEvents, StagedStream

_RELEASE_ROWS = 1 << 17  # how many rows are read before their pages are given back
_MADV_POPULATE_READ = 22  # of Linux 5.14; mmap names it from Python 3.14 on
_MAPPED_SHARE = 4  # what is mapped ahead is at most one part of so many of this machine's memory

# Words of a stream's row in the kernels' table. TAKEN: the row up to which its rows were sent. COLUMNS: the address of
# the addresses of its WIDTH columns; SHIFTS: that of what makes their words of text count from the text space's start.
# RELEASE_AT: the row from which on pages are to be given back.
ROWS, AT, EVENTS, FLOORS, TIMES, IS_SORTED, TAKEN, COLUMNS, WIDTH, RELEASE_AT, SHIFTS = range(11)
CURSOR_WORDS = 11
GREATEST, LEAST = range(2)  # of a position, behind which the streams' rows follow
NONE = -1
NEVER = 2**62  # beyond every event and row


@kernel
def rows_before(events, start, event):  # type: ignore[no-untyped-def]
    """The first row from `start` on whose word in an ascending column (its event number, say) is not less than `event`:
    galloping, since it is near."""
    rows = len(events)
    step, low = 1, start
    if low >= rows or events[low] >= event:
        return low
    while low + step < rows and events[low + step] < event:
        low += step
        step *= 2
    high = min(low + step, rows)
    while low < high:
        middle = (low + high) >> 1
        if events[middle] < event:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(void(TABLE, int64, WORDS))
def move(table, stop, position):  # type: ignore[no-untyped-def]
    """Move every stream's cursor to its first row of event `stop` or later.

    table: int64 (streams, CURSOR_WORDS). position: int64 (2 + streams,), filled with the greatest time passed and the
    least time ahead (NONE if there is no such row), then the streams' new rows.
    """
    greatest, least = NONE, NONE
    for stream in range(table.shape[0]):
        rows, at = table[stream, ROWS], table[stream, AT]
        if rows > 0:
            end = rows_before(words_at(table[stream, EVENTS], rows), at, stop)
            if end > at:
                times = words_at(table[stream, TIMES], rows)
                if table[stream, IS_SORTED]:
                    greatest = max(greatest, times[end - 1])
                else:
                    for row in range(at, end):
                        greatest = max(greatest, times[row])
            if end < rows:
                ahead = words_at(table[stream, FLOORS], rows)[end]
                least = ahead if least == NONE else min(least, ahead)
            table[stream, AT] = end
        position[2 + stream] = table[stream, AT]
    position[0], position[1] = greatest, least


@kernel(int64(TABLE, int64))
def first_beyond(table, time):  # type: ignore[no-untyped-def]
    """The event behind the last one that stands, or has one ahead of it, before `time`; NEVER if no row is left then.
    table: as in `move`."""
    stop, is_left = 0, False
    for stream in range(table.shape[0]):
        rows, at = table[stream, ROWS], table[stream, AT]
        if rows > 0:
            end = rows_before(words_at(table[stream, FLOORS], rows), at, time)
            if end > at:
                stop = max(stop, words_at(table[stream, EVENTS], rows)[end - 1] + 1)
            is_left |= end < rows
    return stop if is_left else NEVER


class _File:
    """One mapped file of a column, whose pages are given back once they have been read, so that memory does not grow
    with the stream.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._mapping: mmap.mmap | None = None
        self._released = 0
        self.octets: np.ndarray = np.empty(0, np.uint8)
        self.offset = -1 if size > 0 else 0
        """Where it is in the text space; -1: not there."""
        if size > 0:
            with open(path, "rb") as file:
                self._mapping = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
            self.octets = np.frombuffer(self._mapping, np.uint8)

    def _advise(self, advice: int, start: int, stop: int) -> None:
        if self._mapping is not None:
            self._mapping.madvise(advice, start, stop - start)

    def read_ahead(self) -> None:
        """Tell the system that the file is read from its start to its end."""
        self._advise(mmap.MADV_SEQUENTIAL, 0, len(self.octets))

    def map_ahead(self, size: int) -> None:
        """Have the first `size` bytes mapped now: reading them is no page fault then."""
        if size > 0:
            with contextlib.suppress(OSError):  # an older kernel: pages are mapped as they are read
                self._advise(_MADV_POPULATE_READ, 0, size)

    def release_before(self, byte: int) -> None:
        """Give back whole pages before `byte`; who looks there once more gets them from the page cache."""
        done = byte // mmap.PAGESIZE * mmap.PAGESIZE
        if done > self._released:
            self._advise(mmap.MADV_DONTNEED, self._released, done)
            self._released = done


class _TextFile(_File):
    """The same of a file in the text space."""

    def __init__(self, mapped: MappedFile) -> None:
        self._mapped = mapped
        self._released = 0
        self.octets = mapped.octets
        self.offset = mapped.offset

    def _advise(self, advice: int, start: int, stop: int) -> None:
        self._mapped.advise(advice, start, stop)


class _Column:
    """One column on one worker: its words, and the heap they point into if they are text."""

    def __init__(self, stream: StagedStream, name: str) -> None:
        self._file = _File(stream.path(name), stream.rows * 8)
        self._file.read_ahead()
        self.words = self._file.octets.view(np.int64)
        self._heap = _heap_of(stream, name) if stream.is_text(name) else None
        self.heap = None if self._heap is None else self._heap.octets
        self._row = 0
        self.shift = 0
        """What is to be added to words of text so that they count from the text space's start; -1: they are not there.
        """
        if self._heap is not None:
            self.shift = self._heap.offset << LENGTH_BITS if self._heap.offset >= 0 else -1

    def needed_before(self, row: int) -> list[tuple[_File, int]]:
        """The files that rows before `row` are in, their texts included, and how many bytes of each."""
        needed = [(self._file, row * 8)]
        if self._heap is not None:
            word = int(self.words[:row].max(initial=-1))
            needed.append((self._heap, (word >> LENGTH_BITS) + (word & LENGTH_MASK) if word >= 0 else 0))
        return needed

    def release_before(self, row: int) -> None:
        """Give back what only rows before `row` need."""
        if self._heap is not None and row > self._row:
            # Texts stand in the heap in the order of the rows that have them first.
            self._heap.release_before(int(self.words[self._row : row].max()) >> LENGTH_BITS)
            self._row = row
        self._file.release_before(row * 8)


def _heap_of(stream: StagedStream, name: str) -> _File:
    mapped = stream.map_texts(name)
    return _File(*stream.heap_file(name)) if mapped is None else _TextFile(mapped)


class Cursor:
    """One stream's columns on one worker."""

    def __init__(self, staged: StagedEvents, name: str, columns: tuple[str, ...]) -> None:
        stream = staged.stream(name)
        rows = stream.rows
        floors = FLOOR if stream.has(FLOOR) else "date_time"
        names = dict.fromkeys((*columns, "date_time", "event", floors))
        mapped = {column: _Column(stream, column) for column in names}
        self.schema = Schema.of({column: "string?" if stream.is_text(column) else "int64" for column in columns})
        self.row = [0] * CURSOR_WORDS
        self.row[RELEASE_AT] = _RELEASE_ROWS
        self.row[ROWS], self.row[IS_SORTED] = rows, floors == "date_time"
        for word, column in ((EVENTS, "event"), (FLOORS, floors), (TIMES, "date_time")):
            self.row[word] = address_of(mapped[column].words)
        self._mapped = list(mapped.values())
        self._events = mapped["event"].words
        self._columns = tuple(mapped[column].words for column in columns)
        self._heaps = tuple(mapped[column].heap for column in columns) if self.schema.has_text else ()
        self._addresses = np.array([address_of(words) for words in self._columns], np.int64)
        self.row[COLUMNS], self.row[WIDTH] = address_of(self._addresses), len(columns)
        self._shifts = np.array([mapped[column].shift for column in columns], np.int64)
        self.row[SHIFTS] = address_of(self._shifts)
        self.is_in_space = bool((self._shifts >= 0).all())
        """Whether all texts are in the text space."""

    def take(self, start: int, stop: int) -> Batch:
        """Rows start..stop; text by reference to the whole heap."""
        columns = tuple([column[start:stop] for column in self._columns])
        return Batch.wrap(self.schema, columns, stop - start, self._heaps)

    def needed_before(self, event: int) -> list[tuple[_File, int]]:
        """The files that rows of the events before `event` are in, and how many bytes of each."""
        row = int(np.searchsorted(self._events, event))
        return [piece for column in self._mapped for piece in column.needed_before(row)]

    def release_before(self, row: int) -> None:
        """Give the pages back that only rows before `row` need."""
        for column in self._mapped:
            column.release_before(row)


class Cursors:
    """All streams' cursors on one worker: `table` (streams, CURSOR_WORDS), and after a move the `position`, with the
    greatest time passed and the least time ahead (NONE: no row)."""

    def __init__(self, cursors: Sequence[Cursor]) -> None:
        self.streams = list(cursors)
        self.table = np.array([cursor.row for cursor in cursors], np.int64)
        self.position = np.zeros(2 + len(cursors), np.int64)
        self._view = self.position.data

    @property
    def greatest(self) -> int:
        """The greatest time passed by the last move."""
        return self._view[GREATEST]

    @property
    def least(self) -> int:
        """The least time ahead."""
        return self._view[LEAST]

    def first_event_beyond(self, time: int) -> int:
        """The event from which on all rows ahead are of `time` or later; NEVER if none are."""
        return first_beyond(self.table, time)

    def advance(self, event: int) -> list[int]:
        """Move on to `event`; returns the streams' new rows."""
        move(self.table, event, self.position)
        return self._view[2:].tolist()

    def map_ahead(self, event: int) -> None:
        """Have the rows of the events before `event` mapped now, as a database's are once they are loaded, if they are
        few enough for this machine's memory; pages of the others are mapped as they are read, and given back."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        needed = [piece for cursor in self.streams for piece in cursor.needed_before(event)]
        if sum(size for _, size in needed) <= memory // _MAPPED_SHARE:
            for file, size in needed:
                file.map_ahead(size)
            self.table[:, RELEASE_AT] = NEVER

    def release(self) -> None:
        """Give pages back of streams of which so many rows were sent."""
        for cursor, row in zip(self.streams, self.table, strict=True):
            taken = int(row[TAKEN])
            if taken >= row[RELEASE_AT]:
                row[RELEASE_AT] = taken + _RELEASE_ROWS
                cursor.release_before(taken)
