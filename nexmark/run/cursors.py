"""Cursors over staged columns: where one worker stands in each stream, moved by one kernel for all streams at once."""

import contextlib
import mmap
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tokenring.engine import TABLE, WORDS, Schema, UsageError, int64, kernel, void
from tokenring.engine.compiled import Record, Words, record_of, records_of
from tokenring.engine.raw import LENGTH_BITS, LENGTH_MASK, MappedFile, address_of, words_at
from tokenring.nexmark.events import FLOOR
from tokenring.nexmark.staging import StagedEvents, StagedStream

_RELEASE_ROWS = 1 << 17  # how many rows are read before their pages are given back
_MADV_POPULATE_READ = 22  # of Linux 5.14; mmap names it from Python 3.14 on
_MAPPED_SHARE = 4  # what is mapped ahead is at most one part of so many of this machine's memory


class CursorRow(Record):
    """A stream's. `taken`: the row up to which its rows were sent. `columns`: the address of the addresses of its
    `width` columns; `shifts`: that of what makes their words of text count from the text space's start. `release_at`:
    the row from which on pages are to be given back."""

    rows: int
    at: int
    events: int
    floors: int
    times: int
    is_sorted: int
    taken: int
    columns: int
    width: int
    release_at: int
    shifts: int


class Position(Record):
    """The greatest time passed, and the least time ahead (NONE: no row). The streams' rows follow."""

    greatest: int
    least: int


POSITION_WORDS = Position.size
NONE = -1
NEVER = 2**62  # beyond every event and row


@kernel
def rows_before(events: Words, start: int, event: int) -> int:
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
def advance(table: Words, stop: int, words: Words) -> None:
    """Move every stream's cursor to its first row of event `stop` or later.

    table: int64 (streams, words of a CursorRow). words: int64, filled with a Position and the streams' new rows.
    """
    cursors, position = records_of(table, CursorRow), record_of(words, Position)
    greatest, least = NONE, NONE
    for stream in range(len(cursors)):
        rows, at = cursors[stream].rows, cursors[stream].at
        if rows > 0:
            end = rows_before(words_at(cursors[stream].events, rows), at, stop)
            if end > at:
                times = words_at(cursors[stream].times, rows)
                if cursors[stream].is_sorted != 0:
                    greatest = max(greatest, times[end - 1])
                else:
                    for row in range(at, end):
                        greatest = max(greatest, times[row])
            if end < rows:
                ahead = words_at(cursors[stream].floors, rows)[end]
                least = ahead if least == NONE else min(least, ahead)
            cursors[stream].at = end
        words[POSITION_WORDS + stream] = cursors[stream].at
    position.greatest, position.least = greatest, least


@kernel(int64(TABLE, int64))
def first_beyond(table: Words, time: int) -> int:
    """The event behind the last one that stands, or has one ahead of it, before `time`; NEVER if no row is left then.
    table: as in `move`."""
    cursors, stop, is_left = records_of(table, CursorRow), 0, False
    for stream in range(len(cursors)):
        rows, at = cursors[stream].rows, cursors[stream].at
        if rows > 0:
            end = rows_before(words_at(cursors[stream].floors, rows), at, time)
            if end > at:
                stop = max(stop, words_at(cursors[stream].events, rows)[end - 1] + 1)
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
        self.offset = 0
        """Where it is in the text space, if it is of texts."""
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
        self._row = 0
        self.shift = 0 if self._heap is None else self._heap.offset << LENGTH_BITS
        """What is to be added to words of text so that they count from the text space's start."""

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
    if mapped is not None:
        return _TextFile(mapped)
    path, size = stream.heap_file(name)
    if size > 0:
        raise UsageError(f"{path}: the system refuses addresses for these texts (`ulimit -v`): lift that limit")
    return _File(path, 0)


class Cursor:
    """One stream's columns on one worker."""

    def __init__(self, staged: StagedEvents, name: str, columns: tuple[str, ...]) -> None:
        stream = staged.stream(name)
        rows = stream.rows
        floors = FLOOR if stream.has(FLOOR) else "date_time"
        names = dict.fromkeys((*columns, "date_time", "event", floors))
        mapped = {column: _Column(stream, column) for column in names}
        self.schema = Schema.of({column: "string?" if stream.is_text(column) else "int64" for column in columns})
        self.row = CursorRow()
        self.row.release_at = _RELEASE_ROWS
        self.row.rows, self.row.is_sorted = rows, floors == "date_time"
        self.row.events, self.row.floors = address_of(mapped["event"].words), address_of(mapped[floors].words)
        self.row.times = address_of(mapped["date_time"].words)
        self._mapped = list(mapped.values())
        self._events = mapped["event"].words
        self._addresses = np.array([address_of(mapped[column].words) for column in columns], np.int64)
        self.row.columns, self.row.width = address_of(self._addresses), len(columns)
        self._shifts = np.array([mapped[column].shift for column in columns], np.int64)
        self.row.shifts = address_of(self._shifts)

    def needed_before(self, event: int) -> list[tuple[_File, int]]:
        """The files that rows of the events before `event` are in, and how many bytes of each."""
        row = int(np.searchsorted(self._events, event))
        return [piece for column in self._mapped for piece in column.needed_before(row)]

    def release_before(self, row: int) -> None:
        """Give the pages back that only rows before `row` need."""
        for column in self._mapped:
            column.release_before(row)


class Cursors:
    """All streams' cursors on one worker: `table` has a CursorRow of each; after an advance, a Position lies in
    `words`, with the streams' rows behind it."""

    def __init__(self, cursors: Sequence[Cursor]) -> None:
        self.streams = list(cursors)
        self.table = np.array([cursor.row.words for cursor in cursors], np.int64)
        self.rows = CursorRow.of_table(self.table)
        self.words = np.zeros(POSITION_WORDS + len(cursors), np.int64)
        self._position = Position(self.words)

    @property
    def greatest(self) -> int:
        """The greatest time passed by the last move."""
        return self._position.greatest

    @property
    def least(self) -> int:
        """The least time ahead."""
        return self._position.least

    def first_event_beyond(self, time: int) -> int:
        """The event from which on all rows ahead are of `time` or later; NEVER if none are."""
        return first_beyond(self.table, time)

    def advance(self, event: int) -> list[int]:
        """Move on to `event`; returns the streams' new rows."""
        advance(self.table, event, self.words)
        rows: list[int] = self.words[POSITION_WORDS:].tolist()
        return rows

    def map_ahead(self, event: int) -> None:
        """Have the rows of the events before `event` mapped now, as a database's are once they are loaded, if they are
        few enough for this machine's memory; pages of the others are mapped as they are read, and given back."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        needed = [piece for cursor in self.streams for piece in cursor.needed_before(event)]
        if sum(size for _, size in needed) <= memory // _MAPPED_SHARE:
            for file, size in needed:
                file.map_ahead(size)
            self.rows["release_at"] = NEVER

    def release(self) -> None:
        """Give pages back of streams of which so many rows were sent."""
        for cursor, row in zip(self.streams, self.rows, strict=True):
            taken = int(row["taken"])
            if taken >= row["release_at"]:
                row["release_at"] = taken + _RELEASE_ROWS
                cursor.release_before(taken)
