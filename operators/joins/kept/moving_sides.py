"""The state of a join as columns: both sides' rows, and the keys that are barred, of bins that move."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import COMPLETE, Batch, Schema, Time
from tokenring.operators.joins.kept.joined_columns import LEFT, RIGHT, JoinedColumns
from tokenring.operators.joins.kept.kernels import BARRED, HAS_ROW, NO_ROW, BoundedLink, Link
from tokenring.operators.joins.kept.moved_columns import MovedColumns, keys_table, rows_table, said_of
from tokenring.operators.joins.kept.moving_kernels import (
    forget_dues,
    put_at_slots,
    put_bounded,
    put_kept,
    take_at_slots,
    take_kept,
)
from tokenring.operators.joins.kept.side import Side
from tokenring.operators.joins.kept.unique_side import SpannedRow, UniqueRow, UniqueSide
from tokenring.operators.migrate import Leaving, Table, of_version
from tokenring.operators.state import KeptTexts, grown, joined, wrapped
from tokenring.operators.state.moving import KeySlots

_BOUNDED = "start", "end", "due", "matched"
FLAGS = "flags"
_BARRED, _SEEN = 1, 4  # bits of flags: whether the left side's key is; the next one's is the right's


def join_tables(columns: JoinedColumns, bounded: bool) -> list[Table]:
    """What the state of a join is as it moves. bounded: whether rows expire."""
    words = ("time", *_BOUNDED) if bounded else ("time",)
    tables = [rows_table(columns, side, *words) for side in (LEFT, RIGHT)]
    tables += [_flags_table(columns)] if _has_flags(columns, bounded) else []
    return of_version(tables, said_of(columns))


def _has_flags(columns: JoinedColumns, bounded: bool) -> bool:
    return not bounded and (any([where is not None for where in columns.where]) or any(columns.how.alone))


def _flags_table(columns: JoinedColumns) -> Table:
    key = keys_table(columns)
    return Table(Schema.of(key.schema.spec() | {FLAGS: "int64"}), key.key)


class MovingSides:
    """One worker's part of a join, as bins leave and come."""

    __slots__ = ("_bounded", "_changed", "_columns", "_keys", "_moved", "_seen", "_sides", "_spans")

    def __init__(
        self,
        columns: JoinedColumns,
        keys: KeySlots,
        sides: Sequence[Side | UniqueSide],
        bounded: bool,
        texts: Sequence[KeptTexts | None],
        spans: Sequence[int],
        changed: Callable[[Sequence[Time]], None],
        seen: list[np.ndarray],
    ) -> None:
        """seen: of each side, by slot, whether it ever had a row of the key, where anybody asks, else empty. texts:
        where those of each side are, if it has any. spans: how long the extents of a `UniqueSide` are that does not say
        where they end. changed: to be called when there are more keys or rows, with the least time of each side's that
        may be sent alone, COMPLETE of none."""
        self._columns, self._keys, self._sides, self._spans, self._changed = columns, keys, sides, spans, changed
        self._bounded, self._seen = bounded, seen
        self._moved = [
            MovedColumns(table, sides[side].store, texts[side], columns.on[side])
            for side, table in zip((LEFT, RIGHT), join_tables(columns, bounded), strict=False)
        ]

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """See Moves."""
        slots = self._keys.leaving(leaving)
        chosen = np.zeros(self._keys.limit if self._bounded else 0, np.int64)
        if self._bounded:
            chosen[slots] = 1
        flags = [self._take_flags(slots)] if _has_flags(self._columns, self._bounded) else []
        tables = [self._take(side, slots, chosen) for side in (LEFT, RIGHT)]
        self._keys.forget(slots)
        return [*tables, *flags]

    def _take_flags(self, slots: np.ndarray) -> Batch:
        """What is known of keys beside their rows, which may be all that there is."""
        flags = np.zeros(len(slots), np.int64)
        for number, side in enumerate(self._sides):
            assert isinstance(side, Side), "rows stay"
            flags[side.heads[slots] == BARRED] |= _BARRED << number
            if len(self._seen[number]):
                seen = self._seen[number] = grown(self._seen[number], self._keys.limit)
                flags[seen[slots] != 0] |= _SEEN << number
                seen[slots] = 0
        told = np.flatnonzero(flags)
        columns = joined(self._keys.columns(slots[told]), ((flags[told],), (None,)))
        return wrapped(_flags_table(self._columns).schema, columns, len(told)).copy()

    def _take(self, number: int, slots: np.ndarray, chosen: np.ndarray) -> Batch:
        side, keys = self._sides[number], self._keys
        if isinstance(side, UniqueSide):
            places, words = _take_unique(side, chosen, self._spans[number])
            return self._moved[number].taken(keys.columns(places), places, words)
        heads, links, free, meta, heap = side.tables
        if not len(side):  # both inputs have ended, and rows were dropped at once, with what chains them left as it was
            heads[slots], slots = NO_ROW, slots[:0]
        dues = np.zeros(len(links) if side.bounded else 0, np.int64)
        if side.bounded:
            forget_dues(links, meta, heap, chosen, dues)
        places, owners = np.empty(len(side), np.int64), np.empty(len(side), np.int64)
        found = take_kept(heads, HAS_ROW, links, free, meta, slots, places, owners)
        places, owners = places[:found][::-1], owners[:found][::-1]  # of each key the first to have come first
        rows = (BoundedLink if side.bounded else Link).of_table(links)
        words = [rows["time"][places]]
        if side.bounded:
            words += [rows["start"][places], rows["end"][places], dues[places], rows["matched"][places]]
        return self._moved[number].taken(keys.columns(owners), places, words)

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """See Moves. Output is pending where rows are sent alone if they match nothing until they are due; where they
        do not expire it is at their messages' times."""
        waiting = [COMPLETE, COMPLETE]
        for number in (LEFT, RIGHT):
            table = tables[number]
            slots = self._slots_of(table)
            self._put(number, table, slots)
            if table.rows and self._columns.how.alone[number]:
                waiting[number] = int(table.words("due" if self._bounded else "time").min())
        if _has_flags(self._columns, self._bounded):
            self._put_flags(tables[-1])
        self._changed(waiting)
        return min(waiting)

    def _put_flags(self, table: Batch) -> None:
        slots, flags = self._slots_of(table), table.words(FLAGS)
        for number, side in enumerate(self._sides):
            assert isinstance(side, Side), "rows stay"
            side.heads[slots[flags & _BARRED << number != 0]] = BARRED
            if self._columns.how.alone[1 - number]:
                seen = self._seen[number] = grown(self._seen[number], self._keys.limit)
                seen[slots[flags & _SEEN << number != 0]] = 1

    def _slots_of(self, table: Batch) -> np.ndarray:
        """The slots of a table's keys, for which both sides have room then."""
        slots = self._keys.enter(table)
        for side in self._sides:
            side.have_slots(self._keys.limit)
        return slots

    def _put(self, number: int, table: Batch, slots: np.ndarray) -> None:
        side, rows = self._sides[number], table.rows
        bounded = isinstance(side, UniqueSide) or side.bounded
        words = [np.ascontiguousarray(table.words(name)) for name in ("time", *(_BOUNDED if bounded else ()))]
        if isinstance(side, UniqueSide):
            _, kept, _, meta, heap = side.tables
            put_at_slots(kept, heap, meta, slots, *words)
            self._moved[number].put(slots, table, len(kept))
            return
        side.reserve(rows)
        heads, links, free, meta, heap = side.tables
        places = np.empty(rows, np.int64)
        if bounded:
            put_bounded(heads, links, free, meta, heap, slots, *words, *[places])
        else:
            put_kept(heads, links, free, meta, slots, *words, *[places])
        self._moved[number].put(places, table, len(links))


def _take_unique(side: UniqueSide, chosen: np.ndarray, span: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """The slots of the rows that leave, and the words about them."""
    _, rows, _, meta, heap = side.tables
    slots, dues = np.empty(len(side), np.int64), np.empty(len(side), np.int64)
    found = take_at_slots(rows, heap, meta, chosen, slots, dues)
    slots = slots[:found]
    have_last = rows.shape[1] == SpannedRow.size
    kept = (SpannedRow if have_last else UniqueRow).of_table(rows)
    starts = kept["since"][slots]
    ends = kept["last"][slots] if have_last else starts + span
    words = [~kept["here"][slots], starts, ends, dues[:found], kept["after"][slots] & 1]
    kept["here"][slots] = 0
    return slots, words
