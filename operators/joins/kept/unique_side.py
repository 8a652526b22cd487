"""A side of a join that has one row a key, for some time: the rows are kept by the keys' slots."""

import numpy as np

from tokenring.engine import MAX_TIME, kernel
from tokenring.engine.compiled import Record, Words, record_of
from tokenring.operators.joins.kept.extents import FAR
from tokenring.operators.joins.kept.kernels import MATCHES, SideCounts
from tokenring.operators.state import FIRST_SLOTS, RowStore, grown, pop, push

_NONE = np.zeros(0, np.int64)


class UniqueSide:
    """Rows by key slot: their extents, and the columns that results need. Memory: 24 bytes a key and 8 for each column,
    and texts; 8 more where ends are not as long after starts in all rows, and 16 where rows do not go together."""

    __slots__ = ("_counts", "_expiring", "_meta", "_rows", "store")

    def __init__(self, store: RowStore | None, spans_differ: bool) -> None:
        self.store = store
        self._rows = np.zeros((FIRST_SLOTS, SpannedRow.size if spans_differ else UniqueRow.size), np.int64)
        self._expiring = np.empty((FIRST_SLOTS, 2), np.int64)
        self._meta = np.zeros(SideCounts.size, np.int64)
        self._counts = SideCounts(self._meta)

    def have_slots(self, slots: int) -> None:
        """Room for the rows of so many slots."""
        self._rows = grown(self._rows, slots, axis=0)
        self._expiring = grown(self._expiring, slots, None, axis=0)

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """As of a `Side`, with rows in place of links, and neither heads nor places to be used again."""
        return _NONE, self._rows, _NONE, self._meta, self._expiring

    def __len__(self) -> int:
        return self._counts.limit - self._counts.free


class UniqueRow(Record):
    """`here`: the complement of the message's time, 0 where there is no row; `since`: the first time that matches;
    `after`: of those that came together and go together, twice the next slot + 1, 0 at the last, and 1 more if the row
    ever matched."""

    here: int
    since: int
    after: int


class SpannedRow(UniqueRow):
    """`last`: the last time that matches, where that is not as long after the first in all rows."""

    last: int


_LEAST_WORDS = UniqueRow.size


@kernel
def row_at(rows: Words, slot: int) -> UniqueRow:
    """What any row of a unique side has."""
    return record_of(rows[slot], UniqueRow)


@kernel
def _last_of(rows: Words, slot: int, span: int) -> int:
    if rows.shape[1] > _LEAST_WORDS:
        return record_of(rows[slot], SpannedRow).last
    return row_at(rows, slot).since + span


@kernel
def have_last(rows: Words, slot: int, last: int) -> None:
    """Note the last time that a slot's row matches, where rows are of different lengths."""
    if rows.shape[1] > _LEAST_WORDS:
        record_of(rows[slot], SpannedRow).last = last


@kernel
def time_at(rows: Words, slot: int) -> int:
    """The time of the message that brought a slot's row."""
    return ~row_at(rows, slot).here


@kernel
def has_matched(rows: Words, slot: int) -> bool:
    """Whether a slot's row ever matched, also where it has just gone."""
    return row_at(rows, slot).after & 1 != 0


@kernel
def due_of(end: int, after: int, time: int) -> int:
    """When a row goes that matches up to `end`: `after` later, not before its message's time."""
    return min(max(min(end, FAR) + after, time), MAX_TIME)


@kernel
def meet_at_slots(
    slots: Words, rows: Words, span: int, times: Words, start_after: int, ends: Words, end_after: int, flagged: int,
    every: bool, found: Words, places: Words, kept: Words,
) -> tuple[int, int, int]:  # fmt: skip
    """Find the matches of rows, whose extents are from `times` to `ends` and so much after, beside the unique side.
    flagged: whether its rows are to know that they matched. Writes the rows that match to `found`, and their slots;
    to `kept` those whose match may still come, or where `every` all that have none. Returns how many of both, and the
    latest time of a message of what was found."""
    count, waiting, latest = 0, 0, -1
    for i in range(len(slots)):
        slot = slots[i]
        row = row_at(rows, slot)
        here = row.here
        meets = (
            here != 0
            and row.since <= ends[i] + end_after
            and times[i] + start_after <= _last_of(rows, slot, span)
        )
        if meets:
            found[count], places[count] = i, slot
            count += 1
            latest = max(latest, ~here)
            if flagged:
                row.after |= 1
        elif every or here == 0:
            kept[waiting] = i
            waiting += 1
    return count, waiting, latest


@kernel
def add_at_slots(
    rows: Words, heap: Words, meta: Words, slots: Words, times: Words, start_after: int, ends: Words, end_after: int,
    due_after: int, together: int, able: Words, fates: Words, time: int,
) -> int:  # fmt: skip
    """Put rows at their slots until they are due: all at `together`, or each on its own where that is below 0. able:
    whether each can match, of no length if all can; those that cannot have an empty extent, and are as those that did.
    fates: whether each matched already, of no length if none did. Stops at a row whose key has one; returns how many
    were put."""
    counts = record_of(meta, SideCounts)
    count, limit = counts.limit - counts.free, counts.limit
    previous, previous_due = -1, 0
    added = 0
    for i in range(len(slots)):
        slot = slots[i]
        row = row_at(rows, slot)
        if row.here != 0:
            break
        since, last = times[i] + start_after, ends[i] + end_after
        due = together if together >= 0 else due_of(last, due_after, time)
        matched = len(fates) > 0 and fates[i] == MATCHES
        if len(able) > 0 and able[i] != 1:
            since, last, matched = MAX_TIME, -MAX_TIME, True
        row.here, row.since, row.after = ~time, since, matched
        have_last(rows, slot, last)
        if previous >= 0 and due == previous_due:
            row_at(rows, previous).after |= (slot + 1) << 1
        else:
            push(heap, counts.expiring, due, slot)
            counts.expiring += 1
        previous, previous_due = slot, due
        limit = max(limit, slot + 1)
        added += 1
    counts.limit, counts.free = limit, limit - count - added
    counts.newest = max(counts.newest, time)
    return added


@kernel
def expire_at_slots(
    rows: Words, others: Words, heap: Words, meta: Words, horizon: int, places: Words, dues: Words, emptied: Words
) -> tuple[int, int]:
    """Remove rows due by `horizon`, in order, as many as `places` has room for. `places` and `dues` get all of them,
    `emptied` the slots of which `others` has none, either; returns how many of both."""
    counts = record_of(meta, SideCounts)
    found, left = 0, 0
    while counts.expiring > 0 and heap[0, 0] <= horizon and found < len(places):
        due, slot = heap[0, 0], heap[0, 1]
        row = row_at(rows, slot)
        following = row.after >> 1
        if following != 0:
            heap[0, 1] = following - 1
        else:
            pop(heap, counts.expiring)
            counts.expiring -= 1
        row.here = 0
        if others[slot, 0] == 0:
            emptied[left] = slot
            left += 1
        places[found], dues[found] = slot, due
        found += 1
    counts.free += found
    return found, left
