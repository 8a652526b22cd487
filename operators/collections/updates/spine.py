"""A spine as Python sees it: what was ever sealed of a collection, and who reads it."""

from collections.abc import Iterator, Sequence
from sys import is_finalizing
from tempfile import TemporaryFile

import numpy as np

from tokenring.engine.compiled import address_of
from tokenring.engine.times import COMPLETE, NestedTime
from tokenring.operators.collections.updates.finding import (
    NO_KEY,
    NOT_SAID,
    copy_found,
    copy_next,
    copy_part,
    find_all,
    parts_before,
    sizes_of,
)
from tokenring.operators.collections.updates.frontiers import as_table
from tokenring.operators.collections.updates.parts import (
    NOT_READING,
    Reading,
    SpineState,
    add_consolidated,
    ask_since,
    asked_since,
    compact,
    finish,
    finished_upto,
    free_spine,
    leave,
    work_on,
)
from tokenring.operators.collections.updates.sorting import Sealed, too_often


class Spine:
    """Batches of consolidated updates, the oldest and largest first, no two neighbours alike in size for long.

    data, depth: how many columns are data, and coordinates of times. `address`, that of its state, is the
    kernels' one handle on it.
    """

    least = 0

    def __init__(self, data: int, depth: int, folder: str | None = None) -> None:
        """folder: where large batches are to lie in a file without a name."""
        self.data, self.depth = data, depth
        self.state = SpineState()
        self.address = self.state.address
        self._file = None if folder is None else TemporaryFile(dir=folder)  # noqa: SIM115
        self.state.file.descriptor = -1 if self._file is None else self._file.fileno()
        self.state.data, self.state.depth = data, depth
        self.readers = Reading.new_table(0)
        """For each reader how many additions it has taken, and what it may still ask for."""
        self.compact([(0,) * depth])
        self.upper_times = [(0,) * depth]

    def __del__(self) -> None:
        if not is_finalizing():  # then no kernel is loaded any more, and the memory goes with the process
            free_spine(self.address)

    @property
    def columns(self) -> int:
        """How many a batch has: data, the coordinates of times, multiplicities."""
        return self.data + self.depth + 1

    @property
    def upper(self) -> int:
        """What is finished, where times have one coordinate."""
        return self.state.upper

    @upper.setter
    def upper(self, upper: int) -> None:
        self.state.upper = upper

    @property
    def added(self) -> int:
        """How many batches were added."""
        return self.state.added

    @property
    def count(self) -> int:
        """How many batches are kept."""
        return self.state.count

    @property
    def rows(self) -> int:
        """How many updates are kept."""
        return self._sizes()[0]

    @property
    def kept_bytes(self) -> int:
        """What they take; merges under way count with all that they will."""
        return self._sizes()[1]

    @property
    def mapped_bytes(self) -> int:
        """How many of them lie in the file."""
        return self.state.file.mapped

    def _sizes(self, before: int | None = None) -> list[int]:
        sizes = np.zeros(2, np.int64)
        sizes_of(self.address, self.added if before is None else before, sizes)
        found: list[int] = sizes.tolist()
        return found

    def new_reader(self, taken: int) -> int:
        """The number of a new reader, who has taken so many additions and may ask for every time."""
        gone = np.flatnonzero(self.readers["taken"] == NOT_READING)
        number = int(gone[0]) if len(gone) else len(self.readers)
        if not len(gone):
            self.readers = np.append(self.readers, Reading.new_table(1))
            self.state.readers, self.state.reader_count = address_of(self.readers), len(self.readers)
        self.readers["taken"][number] = taken
        self.ask_since(number, [(0,) * self.depth])
        return number

    def leave(self, reader: int) -> None:
        """A reader is gone."""
        leave(self.address, reader)

    def ask_since(self, reader: int, since: Sequence[NestedTime]) -> None:
        """Let a reader ask for nothing before `since`, an antichain; none: for nothing at all."""
        ask_since(self.address, reader, as_table(since, self.depth))

    def asked_since(self, reader: int) -> list[NestedTime]:
        """What a reader asks for at the earliest."""
        if self.depth > 1:
            return [tuple(time) for time in asked_since(self.address, reader).tolist()]
        since = int(self.readers["since"][reader])
        return [] if since == COMPLETE else [(since,)]

    @property
    def upper_times(self) -> list[NestedTime]:
        """What is finished, an antichain; none: all."""
        if self.depth > 1:
            return [tuple(time) for time in finished_upto(self.address).tolist()]
        return [(self.upper,)] if self.upper != COMPLETE else []

    @upper_times.setter
    def upper_times(self, upper: Sequence[NestedTime]) -> None:
        if self.depth > 1:
            finish(self.address, as_table(upper, self.depth))
        else:
            self.upper = upper[0][0] if upper else COMPLETE

    def batches(self, before: int | None = None) -> list[Sealed]:
        """Copies of all that are to be read, the oldest first; of the additions before this one."""
        found = []
        for at in range(parts_before(self.address, self.added if before is None else before)):
            rows = int(copy_part(self.address, at, np.empty((self.columns, 0), np.int64), -1))
            table = np.empty((self.columns, rows), np.int64)
            copy_part(self.address, at, table, rows)
            found.append(Sealed(table, rows))
        return found

    def rows_of_keys(self, keys: int, asked: np.ndarray, before: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The updates of different keys, which rise, in int64 (keys, n): without them, key by key, int64 (values,
        coordinates, multiplicity; rows); and where those of each key begin, and all end, int64 (n + 1,). before: of the
        additions before this one."""
        number, count = asked.shape[1], self.state.count
        places = np.empty((2 * count, number), np.int64)
        starts, stops = places[:count], places[count:]
        before = self.added if before is None else before
        found = find_all(self.address, before, keys, asked, number, starts, stops)
        target, bounds = np.empty((self.columns - keys, found), np.int64), np.empty(number + 1, np.int64)
        copy_found(self.address, keys, number, starts, stops, target, bounds)
        return target, bounds

    def compact(self, since: Sequence[NestedTime]) -> None:
        """Nobody asks any more for what was before `since`, an antichain."""
        compact(self.address, as_table(since, self.depth))

    def add(self, updates: np.ndarray) -> None:
        """Add consolidated updates, of shape (columns, rows), that are later than those before; merges go on in
        proportion."""
        add_consolidated(self.address, np.ascontiguousarray(updates))

    def work(self, fuel: int, is_quiet: bool = False) -> int:
        """Let each merge go on for so many rows; how many are under way still. is_quiet: begin others, too, as where
        nothing was added for a while."""
        work_on(self.address, fuel, is_quiet)
        return self.state.under_way


class SpineSince:
    """A spine as it is read from a time of the root scope on: what was before came at `least`."""

    def __init__(self, spine: Spine, least: int) -> None:
        self.spine, self.least, self.address = spine, least, spine.address

    def pieces(self, keys: int, before: int, rows: int) -> Iterator[np.ndarray]:
        """What there is in the additions before this one, some rows at a time, in order of the keys, all that a key has
        in one: int64 (columns, rows). A reader is to see to it that these additions stay apart from later ones, and
        their times from `least` on apart from each other; batches may be merged meanwhile."""
        after, room = np.empty((keys, 1), np.int64), 2 * rows
        is_begun = False
        while True:
            table = np.empty((self.spine.columns, room), np.int64)
            made = int(copy_next(self.address, before, self.least, keys, is_begun, after, rows, table))
            if made == NO_KEY:
                return
            if made == NOT_SAID:
                raise too_often([self.least])
            if made < 0:
                room = -made
                continue
            is_begun = True
            yield table[:, :made]

    def rows_of_keys(self, keys: int, asked: np.ndarray, before: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """See `Spine.rows_of_keys`."""
        rows, bounds = self.spine.rows_of_keys(keys, asked, before)
        np.maximum(rows[-2], self.least, out=rows[-2])
        return rows, bounds
