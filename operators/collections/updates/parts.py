"""A spine's batches, in blocks of memory of their own: added, merged a little whenever some are added, let go.

The oldest and largest come first, and no two neighbours are alike in size for long. Two that are being merged are read
until that is done; blocks are allocated and freed here, so nobody keeps an address of theirs from call to call.
"""

import numpy as np

from tokenring.engine import COMPLETE, TABLE, WORDS, int64, kernel, void
from tokenring.engine.compiled import allocate, deallocate, table_at, words_at
from tokenring.operators.collections.updates.blocks import FILE, FILE_WORDS, free_block, new_block, try_block
from tokenring.operators.collections.updates.directory import (
    LEAST_ROWS,
    begin_directory,
    directory_words,
    end_directory,
    extend_directory,
)
from tokenring.operators.collections.updates.merging import MERGE_MADE, MERGE_WORDS, merge_some
from tokenring.operators.collections.updates.sorting import consolidate

# Words of a spine. DATA, DEPTH: how many columns are data, and coordinates of times. ADDED: how many batches were
# added. PARTS, COUNT, ROOM: the table of parts, how many there are, and how many there is room for. SINCE, ELEMENTS:
# the frontier before which nobody asks. READERS, READER_COUNT: a row of READER_WORDS for each. UPPER: where times have
# one coordinate, what is finished. UNDER_WAY: how many merges are; MERGE_NS: when they are to go on though nothing is
# added (monotonic clock). From FILE_AT on: the file in which large batches lie.
DATA, DEPTH, ADDED, PARTS, COUNT, ROOM, SINCE, ELEMENTS, READERS, READER_COUNT, UPPER, UNDER_WAY, MERGE_NS = range(13)
FILE_AT = 13
SPINE_WORDS = FILE_AT + FILE_WORDS
# Of a part: where its block is, int64 (columns, room), and its PLACE in the file, how many rows are updates, the number
# of the last addition that is in it, where the directory of its keys is, if it has one; of one that is being merged
# with the next: the block that will be both, its place, its directory, and how far that is.
ADDRESS, PLACE, PART_ROOM, ROWS, END, DIRECTORY, TARGET, TARGET_PLACE, TARGET_ROOM, TARGET_DIRECTORY, STATE = range(11)
PART_WORDS = STATE + MERGE_WORDS
# Of a reader: how many additions it has taken (NOT_READING: it is gone; ALL: it reads whatever there is), and the time
# before which it does not ask, where times have one coordinate.
TAKEN, READ_SINCE = range(2)
READER_WORDS = 2
NOT_READING, ALL = COMPLETE, COMPLETE - 1

_FUEL_A_ROW = 4  # rows that each merge takes for a row that is added
_LEAST_FUEL = 32
_ALIKE = 2  # a part is merged with the one before it once that is not so many times as large
_FIRST_PARTS = 16


@kernel
def columns_of(spine):  # type: ignore[no-untyped-def]
    """How many columns a batch has: data, the coordinates of times, multiplicities."""
    return spine[DATA] + spine[DEPTH] + 1


@kernel
def parts_of(spine):  # type: ignore[no-untyped-def]
    """The parts: int64 (at least COUNT, PART_WORDS)."""
    return table_at(spine[PARTS], spine[ROOM], PART_WORDS)


@kernel
def part_table(spine, parts, at):  # type: ignore[no-untyped-def]
    """A part's block."""
    return table_at(parts[at, ADDRESS], columns_of(spine), parts[at, PART_ROOM])


@kernel
def directory_at(address, room):  # type: ignore[no-untyped-def]
    """The directory of a block with room for so many rows."""
    return words_at(address, directory_words(room))


@kernel
def _new_directory(rows, least, most):  # type: ignore[no-untyped-def]
    """The address of an empty directory for so many rows; 0 if they are few, or there is no memory."""
    if rows < LEAST_ROWS:
        return 0
    address = allocate(8 * directory_words(rows))
    if address != 0:
        begin_directory(directory_at(address, rows), rows, least, most)
    return address


@kernel
def reader_of(spine, number):  # type: ignore[no-untyped-def]
    """A reader's words."""
    return table_at(spine[READERS], spine[READER_COUNT], READER_WORDS)[number]


@kernel
def _bytes_of(spine, rows):  # type: ignore[no-untyped-def]
    """How large a block for so many rows is."""
    return 8 * columns_of(spine) * rows


@kernel
def _file(spine):  # type: ignore[no-untyped-def]
    return spine[FILE_AT:]


@kernel
def _push_part(spine, address, place, room, rows, end):  # type: ignore[no-untyped-def]
    if spine[COUNT] == spine[ROOM]:
        more = max(_FIRST_PARTS, 2 * spine[ROOM])
        grown = new_block(PART_WORDS, more)
        if spine[PARTS] != 0:
            table_at(grown, more, PART_WORDS)[: spine[COUNT]] = parts_of(spine)[: spine[COUNT]]
            deallocate(spine[PARTS])
        spine[PARTS], spine[ROOM] = grown, more
    part = parts_of(spine)[spine[COUNT]]
    part[:] = 0
    part[ADDRESS], part[PLACE], part[PART_ROOM], part[ROWS], part[END] = address, place, room, rows, end
    words = words_at(address, rows)
    part[DIRECTORY] = _new_directory(rows, words[0], words[rows - 1])
    if part[DIRECTORY] != 0:
        directory = directory_at(part[DIRECTORY], rows)
        extend_directory(directory, words, 0, rows)
        end_directory(directory, rows)
    spine[COUNT] += 1


@kernel
def _free_part(spine, part):  # type: ignore[no-untyped-def]
    """Give back what a part has, but for what it is being merged to."""
    free_block(_file(spine), part[ADDRESS], part[PLACE], _bytes_of(spine, part[PART_ROOM]))
    if part[DIRECTORY] != 0:
        deallocate(part[DIRECTORY])


@kernel
def _remove_part(spine, parts, at):  # type: ignore[no-untyped-def]
    for part in range(at, spine[COUNT] - 1):
        parts[part] = parts[part + 1]
    spine[COUNT] -= 1


@kernel
def _begin_merges(spine, parts, apart):  # type: ignore[no-untyped-def]
    """Begin to merge neighbours that are alike, the newest first, of the additions before number `apart`."""
    for newer in range(spine[COUNT] - 1, 0, -1):
        older = newer - 1
        is_free = parts[older, TARGET] == 0 and parts[newer, TARGET] == 0
        is_free &= older == 0 or parts[older - 1, TARGET] == 0
        if is_free and parts[older, ROWS] < _ALIKE * parts[newer, ROWS] and parts[newer, END] <= apart:
            rows = parts[older, ROWS] + parts[newer, ROWS]
            target, place = try_block(_file(spine), _bytes_of(spine, rows))  # 0, if there is no memory: another time
            parts[older, TARGET], parts[older, TARGET_PLACE], parts[older, TARGET_ROOM] = target, place, rows
            parts[older, STATE:] = 0
            if parts[older, TARGET] != 0:
                first, other = parts[older], parts[newer]
                words, others = words_at(first[ADDRESS], first[ROWS]), words_at(other[ADDRESS], other[ROWS])
                most = max(words[first[ROWS] - 1], others[other[ROWS] - 1])
                first[TARGET_DIRECTORY] = _new_directory(rows, min(words[0], others[0]), most)


@kernel
def work(spine, apart, fuel):  # type: ignore[no-untyped-def]
    """Let each merge go on for so many rows. apart: additions from this number on are merged with none before, since
    somebody reads those without them."""
    spine[UNDER_WAY] = 0
    if spine[COUNT] < 2:
        return
    parts, columns = parts_of(spine), columns_of(spine)
    _begin_merges(spine, parts, apart)
    since = table_at(spine[SINCE], spine[ELEMENTS], spine[DEPTH])
    at = spine[COUNT] - 2
    while at >= 0:
        if parts[at, TARGET] != 0:
            target, before = table_at(parts[at, TARGET], columns, parts[at, TARGET_ROOM]), parts[at, STATE + MERGE_MADE]
            left = merge_some(
                part_table(spine, parts, at), parts[at, ROWS], part_table(spine, parts, at + 1), parts[at + 1, ROWS],
                target, parts[at, STATE:], spine[DATA], since, fuel,
            )  # fmt: skip
            made = parts[at, STATE + MERGE_MADE]
            if parts[at, TARGET_DIRECTORY] != 0:
                directory = directory_at(parts[at, TARGET_DIRECTORY], parts[at, TARGET_ROOM])
                extend_directory(directory, target[0], before, made)
                if left > 0:
                    end_directory(directory, made)
            if left > 0:
                _free_part(spine, parts[at])
                _free_part(spine, parts[at + 1])
                parts[at, ADDRESS], parts[at, PLACE] = parts[at, TARGET], parts[at, TARGET_PLACE]
                parts[at, PART_ROOM] = parts[at, TARGET_ROOM]
                parts[at, ROWS], parts[at, END] = made, parts[at + 1, END]
                parts[at, DIRECTORY] = parts[at, TARGET_DIRECTORY]
                parts[at, TARGET] = parts[at, TARGET_DIRECTORY] = 0
                _remove_part(spine, parts, at + 1)
                if made == 0:
                    _free_part(spine, parts[at])
                    _remove_part(spine, parts, at)
            else:
                spine[UNDER_WAY] += 1
        at -= 1


@kernel
def _asked_by(spine):  # type: ignore[no-untyped-def]
    """What readers have taken at least, and the least time they may ask for; NOT_READING if there are none."""
    taken, since = NOT_READING, COMPLETE
    readers = table_at(spine[READERS], spine[READER_COUNT], READER_WORDS)
    for reader in range(len(readers)):
        if readers[reader, TAKEN] != NOT_READING:
            taken, since = min(taken, readers[reader, TAKEN]), min(since, readers[reader, READ_SINCE])
    return taken, since


@kernel
def add_block(spine, address, room, rows):  # type: ignore[no-untyped-def]
    """Add updates that are later than those before, in a block that is the spine's from now on; merges go on in
    proportion. None are no addition; where nobody reads, nothing is kept."""
    if rows == 0:
        deallocate(address)
        return
    taken, since = _asked_by(spine)
    apart = min(taken, spine[ADDED])
    spine[ADDED] += 1
    if taken == NOT_READING or (spine[DEPTH] == 1 and since == COMPLETE):
        deallocate(address)
        free_parts(spine)
        return
    if spine[DEPTH] == 1:
        words_at(spine[SINCE], 1)[0] = since
    kept, place = address, np.int64(0)
    if spine[FILE_AT + FILE] >= 0:
        kept, place = try_block(_file(spine), _bytes_of(spine, room))
        if place == 0 and kept != 0:
            deallocate(kept)
        if place == 0:
            kept = address
        else:
            words = columns_of(spine) * room
            words_at(kept, words)[:] = words_at(address, words)
            deallocate(address)
    _push_part(spine, kept, place, room, rows, spine[ADDED])
    work(spine, apart, _LEAST_FUEL + _FUEL_A_ROW * rows)


@kernel
def free_parts(spine):  # type: ignore[no-untyped-def]
    """Let all that is kept go."""
    if spine[COUNT] > 0:
        parts = parts_of(spine)
        for at in range(spine[COUNT]):
            _free_part(spine, parts[at])
            if parts[at, TARGET] != 0:
                size_bytes = _bytes_of(spine, parts[at, TARGET_ROOM])
                free_block(_file(spine), parts[at, TARGET], parts[at, TARGET_PLACE], size_bytes)
            if parts[at, TARGET] != 0 and parts[at, TARGET_DIRECTORY] != 0:
                deallocate(parts[at, TARGET_DIRECTORY])
        spine[COUNT] = 0


@kernel
def seal_block(table):  # type: ignore[no-untyped-def]
    """The updates of a table in order and added up, in a block: (its address, how many)."""
    address = new_block(len(table), table.shape[1])
    return address, consolidate(table, table_at(address, len(table), table.shape[1]))


@kernel(void(WORDS, TABLE))
def add_consolidated(spine, table):  # type: ignore[no-untyped-def]
    """`add_block` of a copy of updates that are in order and added up."""
    address = new_block(len(table), table.shape[1])
    table_at(address, len(table), table.shape[1])[:] = table
    add_block(spine, address, table.shape[1], table.shape[1])


@kernel(void(WORDS))
def free_spine(spine):  # type: ignore[no-untyped-def]
    """The spine is gone."""
    free_parts(spine)
    if spine[PARTS] != 0:
        deallocate(spine[PARTS])
        spine[PARTS] = spine[ROOM] = 0


@kernel(void(WORDS, int64))
def work_on(spine, fuel):  # type: ignore[no-untyped-def]
    """Let each merge go on for so many rows, though nothing is added."""
    taken, _ = _asked_by(spine)
    work(spine, min(taken, spine[ADDED]), fuel)
