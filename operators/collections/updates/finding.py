"""What a spine has: updates of keys, found in all batches by one call; batches copied; how much there is."""

import numpy as np

from tokenring.engine import TABLE, WORDS, int64, kernel, void
from tokenring.engine.compiled import Words, record_at, signed
from tokenring.operators.collections.updates.directory import (
    directory_at,
    directory_words,
    find_by_directory,
    find_rows,
    first_behind,
)
from tokenring.operators.collections.updates.exact_sums import TOO_OFTEN
from tokenring.operators.collections.updates.packed import copy_words, word_of
from tokenring.operators.collections.updates.parts import SpineState, columns_of, part_heads, parts_of
from tokenring.operators.collections.updates.sorting import consolidate

NO_KEY, NOT_SAID = -1, -2


@kernel(int64(int64, int64, int64, TABLE, int64, TABLE, TABLE))
def find_all(address: int, before: int, keys: int, asked: Words, number: int, starts: Words, stops: Words) -> int:
    """Where each part has the rows of each of `number` keys, none in those of addition number `before` and later; how
    many these are in all. keys: of how many columns a key is; asked: int64 (keys, at least number), in order; starts,
    stops: int64 (at least as many as there are parts, at least number), written. address: of a spine's state, here as
    everywhere."""
    spine = record_at(address, SpineState)
    total, parts = 0, parts_of(spine)
    for at in range(spine.count):
        if parts[at].end > before:
            starts[at, :number] = 0
            stops[at, :number] = 0
            continue
        heads, rows = part_heads(spine, parts, at), parts[at].rows
        if parts[at].directory != 0:
            directory = directory_at(parts[at].directory)
            find_by_directory(directory, heads, rows, keys, asked, number, starts[at], stops[at])
        else:
            find_rows(heads, rows, keys, asked, number, starts[at], stops[at])
        for key in range(number):
            total += stops[at, key] - starts[at, key]
    return total


@kernel(void(int64, int64, int64, TABLE, TABLE, TABLE, WORDS))
def copy_found(address: int, keys: int, number: int, starts: Words, stops: Words, target: Words, bounds: Words) -> None:
    """Copy the rows that were found, key by key, without their keys. target: (columns - keys, rows found); bounds:
    (at least number + 1,): where those of each key begin."""
    spine = record_at(address, SpineState)
    at, parts, columns = 0, parts_of(spine), columns_of(spine)
    for key in range(number):
        bounds[key] = at
        for part in range(spine.count):
            first, last = starts[part, key], stops[part, key]
            if first < last:
                heads = part_heads(spine, parts, part)
                for column in range(keys, columns):
                    copy_words(heads, column, first, last, target[column - keys], at)
                at += last - first
    bounds[number] = at


@kernel
def rows_of_keys(address: int, least: int, before: int, keys: int, asked: Words, number: int) -> tuple[Words, Words]:
    """The updates of keys in the additions before one: without the keys, key by key, int64 (columns - keys, rows), and
    where those of each key begin, and all end, int64 (number + 1,). least: where times have one coordinate, what was
    earlier came then."""
    spine = record_at(address, SpineState)
    count = spine.count
    starts, stops = np.empty((count, number), np.int64), np.empty((count, number), np.int64)
    found = find_all(address, before, keys, asked, number, starts, stops)
    target, bounds = np.empty((columns_of(spine) - keys, found), np.int64), np.empty(number + 1, np.int64)
    copy_found(address, keys, number, starts, stops, target, bounds)
    if least > 0:
        target[-2] = np.maximum(target[-2], least)
    return target, bounds


@kernel(int64(TABLE, int64, int64, TABLE, WORDS))
def distinct_keys(table: Words, rows: int, keys: int, target: Words, bounds: Words) -> int:
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


@kernel(void(int64, int64, WORDS))
def sizes_of(address: int, before: int, sizes: Words) -> None:
    """Write how many rows are kept in how many bytes, of the additions before this one, to sizes (2,)."""
    sizes[:] = 0
    spine = record_at(address, SpineState)
    parts = parts_of(spine)
    for at in range(spine.count):
        if parts[at].end <= before:
            sizes[0] += parts[at].rows
        sizes[1] += parts[at].size_bytes
        if parts[at].directory != 0:
            sizes[1] += 8 * directory_words(parts[at].room)
        if parts[at].target != 0:
            sizes[1] += parts[at].target_bytes
            if parts[at].target_directory != 0:
                sizes[1] += 8 * directory_words(parts[at].target_room)


@kernel(int64(int64, int64))
def parts_before(address: int, before: int) -> int:
    """How many parts there are of the additions before this one."""
    spine = record_at(address, SpineState)
    parts, count = parts_of(spine), spine.count
    while count > 0 and parts[count - 1].end > before:
        count -= 1
    return count


@kernel(int64(int64, int64, TABLE, int64))
def copy_part(address: int, at: int, target: Words, room: int) -> int:
    """Copy a part's updates; how many there are, and if there are more than `room`, nothing is copied."""
    spine = record_at(address, SpineState)
    parts = parts_of(spine)
    rows = parts[at].rows
    if rows <= room:
        heads = part_heads(spine, parts, at)
        for column in range(len(heads)):
            copy_words(heads, column, 0, rows, target[column], 0)
    return rows


@kernel(int64(int64, int64, int64, int64, int64, TABLE, int64, TABLE))
def copy_next(
    address: int, before: int, least: int, keys: int, is_begun: int, after: Words, rows: int, target: Words
) -> int:
    """Copy the updates of the next keys in the additions before one, in order: some `rows` of them, all that each
    key has. How many there are; NO_KEY if none is left; NOT_SAID if a row would be there too often, at `least`
    if not later; less: more than the target has room for, so many below 0, and nothing is copied. after: int64
    (keys, 1), the last key that was copied, if one was; written. least: what was earlier came then. target:
    int64 (columns, room).
    """
    spine = record_at(address, SpineState)
    count, parts = parts_before(address, before), parts_of(spine)
    starts, stops = np.zeros(count, np.int64), np.zeros(count, np.int64)
    total, most, largest = signed(0), signed(0), -1
    for at in range(count):
        if is_begun:
            starts[at] = first_behind(part_heads(spine, parts, at), 0, parts[at].rows, after, 0, keys)
        left = parts[at].rows - starts[at]
        total += left
        if left > most:
            most, largest = left, at
    if largest < 0:
        return NO_KEY
    heads, last_key = part_heads(spine, parts, largest), np.empty((keys, 1), np.int64)
    for column in range(keys):
        row = starts[largest] + min(most, max(1, signed(rows * (most / total)))) - 1
        last_key[column, 0] = word_of(heads, column, row)
    found, copied = signed(0), 0
    for at in range(count):
        stops[at] = first_behind(part_heads(spine, parts, at), starts[at], parts[at].rows, last_key, 0, keys)
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
