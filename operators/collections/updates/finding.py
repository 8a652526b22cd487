"""What a spine has: updates of keys, found in all batches by one call; batches copied; how much there is."""

import numpy as np

from tokenring.engine import TABLE, WORDS, int64, kernel, void
from tokenring.operators.collections.updates.directory import (
    directory_at,
    directory_words,
    find_by_directory,
    find_rows,
    first_behind,
)
from tokenring.operators.collections.updates.exact_sums import TOO_OFTEN
from tokenring.operators.collections.updates.packed import copy_words, word_of
from tokenring.operators.collections.updates.parts import (
    BYTES,
    COUNT,
    DIRECTORY,
    END,
    PART_ROOM,
    ROWS,
    TARGET,
    TARGET_BYTES,
    TARGET_DIRECTORY,
    TARGET_ROOM,
    columns_of,
    part_heads,
    parts_of,
)
from tokenring.operators.collections.updates.sorting import consolidate

NO_KEY, NOT_SAID = -1, -2


@kernel(int64(WORDS, int64, int64, TABLE, int64, TABLE, TABLE))
def find_all(spine, before, keys, asked, number, starts, stops):  # type: ignore[no-untyped-def]
    """Where each part has the rows of each of `number` keys, none in those of addition number `before` and later; how
    many these are in all. keys: of how many columns a key is; asked: int64 (keys, at least number), in order; starts,
    stops: int64 (at least as many as there are parts, at least number), written."""
    total, parts = 0, parts_of(spine)
    for at in range(spine[COUNT]):
        if parts[at, END] > before:
            starts[at, :number] = 0
            stops[at, :number] = 0
            continue
        heads, rows = part_heads(spine, parts, at), parts[at, ROWS]
        if parts[at, DIRECTORY] != 0:
            directory = directory_at(parts[at, DIRECTORY], parts[at, PART_ROOM])
            find_by_directory(directory, heads, rows, keys, asked, number, starts[at], stops[at])
        else:
            find_rows(heads, rows, keys, asked, number, starts[at], stops[at])
        for key in range(number):
            total += stops[at, key] - starts[at, key]
    return total


@kernel(void(WORDS, int64, int64, TABLE, TABLE, TABLE, WORDS))
def copy_found(spine, keys, number, starts, stops, target, bounds):  # type: ignore[no-untyped-def]
    """Copy the rows that were found, key by key, without their keys. target: (columns - keys, rows found); bounds:
    (at least number + 1,): where those of each key begin."""
    at, parts, columns = 0, parts_of(spine), columns_of(spine)
    for key in range(number):
        bounds[key] = at
        for part in range(spine[COUNT]):
            first, last = starts[part, key], stops[part, key]
            if first < last:
                heads = part_heads(spine, parts, part)
                for column in range(keys, columns):
                    copy_words(heads, column, first, last, target[column - keys], at)
                at += last - first
    bounds[number] = at


@kernel
def rows_of_keys(spine, least, before, keys, asked, number):  # type: ignore[no-untyped-def]
    """The updates of keys in the additions before one: without the keys, key by key, int64 (columns - keys, rows), and
    where those of each key begin, and all end, int64 (number + 1,). least: where times have one coordinate, what was
    earlier came then."""
    count = spine[COUNT]
    starts, stops = np.empty((count, number), np.int64), np.empty((count, number), np.int64)
    found = find_all(spine, before, keys, asked, number, starts, stops)
    target, bounds = np.empty((columns_of(spine) - keys, found), np.int64), np.empty(number + 1, np.int64)
    copy_found(spine, keys, number, starts, stops, target, bounds)
    if least > 0:
        target[-2] = np.maximum(target[-2], least)
    return target, bounds


@kernel(int64(TABLE, int64, int64, TABLE, WORDS))
def distinct_keys(table, rows, keys, target, bounds):  # type: ignore[no-untyped-def]
    """The different keys of a consolidated table's first rows: how many, written to target (keys, at least so many),
    and where the rows of each begin, and all end, to bounds."""
    made = 0
    for row in range(rows):
        is_new = row == 0
        for column in range(keys):
            is_new |= row > 0 and table[column, row] != table[column, row - 1]
        if is_new:
            for column in range(keys):
                target[column, made] = table[column, row]
            bounds[made] = row
            made += 1
    bounds[made] = rows
    return made


@kernel(void(WORDS, int64, WORDS))
def sizes_of(spine, before, sizes):  # type: ignore[no-untyped-def]
    """Write how many rows are kept in how many bytes, of the additions before this one, to sizes (2,)."""
    sizes[:] = 0
    parts = parts_of(spine)
    for at in range(spine[COUNT]):
        if parts[at, END] <= before:
            sizes[0] += parts[at, ROWS]
        sizes[1] += parts[at, BYTES]
        if parts[at, DIRECTORY] != 0:
            sizes[1] += 8 * directory_words(parts[at, PART_ROOM])
        if parts[at, TARGET] != 0:
            sizes[1] += parts[at, TARGET_BYTES]
            if parts[at, TARGET_DIRECTORY] != 0:
                sizes[1] += 8 * directory_words(parts[at, TARGET_ROOM])


@kernel(int64(WORDS, int64))
def parts_before(spine, before):  # type: ignore[no-untyped-def]
    """How many parts there are of the additions before this one."""
    parts, count = parts_of(spine), spine[COUNT]
    while count > 0 and parts[count - 1, END] > before:
        count -= 1
    return count


@kernel(int64(WORDS, int64, TABLE, int64))
def copy_part(spine, at, target, room):  # type: ignore[no-untyped-def]
    """Copy a part's updates; how many there are, and if there are more than `room`, nothing is copied."""
    parts = parts_of(spine)
    rows = parts[at, ROWS]
    if rows <= room:
        heads = part_heads(spine, parts, at)
        for column in range(len(heads)):
            copy_words(heads, column, 0, rows, target[column], 0)
    return rows


@kernel(int64(WORDS, int64, int64, int64, int64, TABLE, int64, TABLE))
def copy_next(spine, before, least, keys, is_begun, after, rows, target):  # type: ignore[no-untyped-def]
    """Copy the updates of the next keys in the additions before one, in order: some `rows` of them, all that each
    key has. How many there are; NO_KEY if none is left; NOT_SAID if a row would be there too often, at `least`
    if not later; less: more than the target has room for, so many below 0, and nothing is copied. after: int64
    (keys, 1), the last key that was copied, if one was; written. least: what was earlier came then. target:
    int64 (columns, room).
    """
    count, parts = parts_before(spine, before), parts_of(spine)
    starts, stops = np.zeros(count, np.int64), np.zeros(count, np.int64)
    total, most, largest = np.int64(0), np.int64(0), -1
    for at in range(count):
        if is_begun:
            starts[at] = first_behind(part_heads(spine, parts, at), 0, parts[at, ROWS], after, 0, keys)
        left = parts[at, ROWS] - starts[at]
        total += left
        if left > most:
            most, largest = left, at
    if largest < 0:
        return NO_KEY
    heads, last_key = part_heads(spine, parts, largest), np.empty((keys, 1), np.int64)
    for column in range(keys):
        row = starts[largest] + min(most, max(1, np.int64(rows * (most / total)))) - 1
        last_key[column, 0] = word_of(heads, column, row)
    found, copied = np.int64(0), 0
    for at in range(count):
        stops[at] = first_behind(part_heads(spine, parts, at), starts[at], parts[at, ROWS], last_key, 0, keys)
        found += stops[at] - starts[at]
        copied += stops[at] > starts[at]
    if found > target.shape[1]:
        return -found
    after[:] = last_key
    some = target if copied == 1 else np.empty((len(target), found), np.int64)
    made = 0
    for at in range(count):
        for column in range(len(target)):
            copy_words(part_heads(spine, parts, at), column, starts[at], stops[at], some[column], made)
        made += stops[at] - starts[at]
    for row in range(made):
        some[len(some) - 2, row] = max(some[len(some) - 2, row], least)
    if copied == 1:
        return made
    made = consolidate(some, target)
    return made if made != TOO_OFTEN else NOT_SAID
