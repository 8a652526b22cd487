"""Two batches of updates into one, a bounded number of rows at a time; times move up to what readers can still tell
apart.
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, Words, load_unaligned, signed
from tokenring.operators.collections.updates.exact_sums import TOO_OFTEN, added, can_be_said
from tokenring.operators.collections.updates.packed import (
    LEAST_ROWS,
    Head,
    compare_packed,
    has_room,
    range_of,
    word_of,
    write_word,
)
from tokenring.operators.collections.updates.sorting import add_up, precedes, sort_rows


class Merge(Record):
    """A merge under way: the next row of either side, the rows made; the multiplicity that had no room, with which it
    stopped, and whether there is one."""

    left: int
    right: int
    made: int
    too_large: int
    is_stopped: int


@kernel
def moved_up(time: int, frontier: Words, at: int) -> int:
    """What coordinate `at` of a time becomes: of the least time that no reader beyond the frontier can tell from it,
    the greatest lower bound of its least upper bounds with the frontier's elements (differential dataflow's
    `advance_by`). frontier: int64 (elements, coordinates); with no element all times become the greatest."""
    least = signed(np.iinfo(np.int64).max)
    for element in range(len(frontier)):
        least = min(least, max(time, frontier[element, at]))
    return least


@kernel
def ranges_of_both(
    left: Sequence[Head], rows: int, right: Sequence[Head], others: int, data: int, frontier: Words
) -> Words:
    """Between which words those of each column are that two packed batches' first rows become: int64 (columns, 2), of
    which `new_packed` takes no notice where rows are few. Sums of multiplicities may be beyond."""
    ranges = np.empty((len(left), 2), np.int64)
    if rows + others < LEAST_ROWS:
        return ranges
    for column in range(len(left)):
        (least, most), (other_least, other_most) = range_of(left, column, rows), range_of(right, column, others)
        least, most = min(least, other_least), max(most, other_most)
        if data <= column < len(left) - 1:
            least, most = moved_up(least, frontier, column - data), moved_up(most, frontier, column - data)
        ranges[column, 0], ranges[column, 1] = least, most
    return ranges


@kernel
def _take_group(heads: Sequence[Head], start: int, stop: int, data: int, frontier: Words, some: Words, at: int) -> None:
    """Copy times, moved up, and multiplicities of rows start..stop to a table, from column `at` on."""
    depth = len(some) - 1
    for row in range(start, stop):
        for coordinate in range(depth):
            some[coordinate, at] = moved_up(word_of(heads, data + coordinate, row), frontier, coordinate)
        some[depth, at] = word_of(heads, data + depth, row)
        at += 1


@kernel
def _settle(some: Words, count: int) -> tuple[Words, int]:
    """The first updates of a table in order and added up: the table they are in, and how many there are. Those whose
    sum no multiplicity can say stay apart, for whoever asks for it."""
    last, made, row = len(some) - 1, 0, 1
    while row < count and precedes(some, row - 1, some, row, 0, last) < 0:
        row += 1
    if row >= count:
        for row in range(count):
            if some[last, row] != 0:
                for column in range(last + 1):
                    some[column, made] = some[column, row]
                made += 1
        return some, made
    if count == 2 and precedes(some, 0, some, 1, 0, last) == 0:
        total, carries = added(some[last, 0], some[last, 1])
        if not can_be_said(total, carries):
            return some, 2
        some[last, 0] = total
        return some, 1 if total != 0 else 0
    whole, order = some[:, :count].copy(), np.empty(count, np.int64)
    sort_rows(whole, last, order)
    summed = np.empty_like(some)
    made = add_up(whole, order, summed, 0)
    if made != TOO_OFTEN:
        return summed, made
    for row in range(count):
        for column in range(last + 1):
            summed[column, row] = whole[column, order[row]]
    return summed, count


@kernel
def _end_of_group(heads: Sequence[Head], row: int, rows: int, data: int) -> int:
    """Where the rows end that have the data of this one."""
    after = row + 1
    while after < rows and compare_packed(heads, after, heads, row, 0, data) == 0:
        after += 1
    return after


@kernel
def _put_one(heads: Sequence[Head], row: int, target: Sequence[Head], made: int, data: int, frontier: Words) -> bool:
    """Write the one row that has its data; whether there was room for its multiplicity."""
    last = len(heads) - 1
    times = word_of(heads, last, row)
    if not has_room(target, last, times):
        return False
    for column in range(data):
        write_word(target, column, made, word_of(heads, column, row))
    for column in range(data, last):
        write_word(target, column, made, moved_up(word_of(heads, column, row), frontier, column - data))
    write_word(target, last, made, times)
    return True


@kernel
def _put_group(
    left: Sequence[Head], i: int, stop: int, right: Sequence[Head], j: int, end: int, target: Sequence[Head], made: int,
    data: int, frontier: Words,
) -> tuple[int, int, bool]:  # fmt: skip
    """Write rows i..stop of the left and j..end of the right, which have the same data: (where they end, 0 or the
    multiplicity that had no room, whether there was room)."""
    depth, count = len(left) - data - 1, stop - i + end - j
    some = np.empty((depth + 1, count), np.int64)
    _take_group(left, i, stop, data, frontier, some, 0)
    _take_group(right, j, end, data, frontier, some, stop - i)
    settled, kept = _settle(some, count)
    for row in range(kept):
        if not has_room(target, data + depth, settled[depth, row]):
            return made, settled[depth, row], False
    for column in range(data):
        word = word_of(left, column, i) if i < stop else word_of(right, column, j)
        for row in range(kept):
            write_word(target, column, made + row, word)
    for column in range(depth + 1):
        for row in range(kept):
            write_word(target, data + column, made + row, settled[column, row])
    return made + kept, 0, True


@kernel
def _word_at(at: int, stride: int, mask: int, least: int, row: int, rows: int) -> int:
    """A row's word of a column with this head; 0 behind the last one."""
    return least + (load_unaligned(at + stride * row) & mask) if row < rows else signed(0)


@kernel
def merge_some(
    left: Sequence[Head], rows: int, right: Sequence[Head], others: int, target: Sequence[Head], merge: Merge,
    data: int, frontier: Words, fuel: int,
) -> int:  # fmt: skip
    """Go on merging the first rows of two packed batches, for some `fuel` of them, in whole groups of rows with the
    same data; returns what is left of the fuel, which is more than 0 when all are done.

    target: room for all rows of both, wide enough for their data and times; its first merge.made rows are made.
    Where a sum of multiplicities is too large for it, merge.is_stopped is 1. data: how many columns of data. frontier:
    as `moved_up` has it, the same in all calls.
    """
    i, j, made = merge.left, merge.right, merge.made
    last = len(left) - 1
    # The first words are at hand, and so is what tells them, which is read anew behind each store otherwise.
    at, stride, mask, least = left[0].at, left[0].stride, left[0].mask, left[0].least
    other_at, other_stride, other_mask = right[0].at, right[0].stride, right[0].mask
    other_least = right[0].least
    if data == 0:  # all rows are alike, and the first words are times
        mask = other_mask = least = other_least = signed(0)
    first = _word_at(at, stride, mask, least, i, rows)
    other = _word_at(other_at, other_stride, other_mask, other_least, j, others)
    while (i < rows or j < others) and fuel > 0:
        side = -1 if j >= others else 1 if i >= rows else -1 if first < other else int(first > other)
        if side == 0:
            side = compare_packed(left, i, right, j, 1, data)
        stop, end = i, j
        if side <= 0:
            before, stop = first, i + 1
            first = _word_at(at, stride, mask, least, stop, rows)
            if stop < rows and first == before:
                stop = _end_of_group(left, i, rows, data)
                first = _word_at(at, stride, mask, least, stop, rows)
        if side >= 0:
            before, end = other, j + 1
            other = _word_at(other_at, other_stride, other_mask, other_least, end, others)
            if end < others and other == before:
                end = _end_of_group(right, j, others, data)
                other = _word_at(other_at, other_stride, other_mask, other_least, end, others)
        count = stop - i + end - j
        if count > 1:
            made, too_large, has_put = _put_group(left, i, stop, right, j, end, target, made, data, frontier)
        elif side < 0:
            too_large, has_put = word_of(left, last, i), _put_one(left, i, target, made, data, frontier)
            made += 1
        else:
            too_large, has_put = word_of(right, last, j), _put_one(right, j, target, made, data, frontier)
            made += 1
        if not has_put:
            merge.too_large, merge.is_stopped = too_large, 1
            return 0
        fuel -= count
        i, j = stop, end
    merge.left, merge.right, merge.made = i, j, made
    return fuel
