"""A spine's batches, in blocks of memory of their own: added, merged a little whenever some are added, let go.

The oldest and largest come first, and no two neighbours are alike in size for long. Two that are being merged are read
until that is done; blocks are allocated and freed here, so nobody keeps an address of theirs from call to call.
"""

import numpy as np

from tokenring.engine import COMPLETE, TABLE, WORDS, boolean, int64, kernel, void
from tokenring.engine.compiled import deallocate, table_at, words_at
from tokenring.operators.collections.updates.blocks import FILE_WORDS, free_block, new_block
from tokenring.operators.collections.updates.directory import (
    directory_at,
    end_directory,
    extend_directory,
    new_directory,
)
from tokenring.operators.collections.updates.merging import (
    IS_STOPPED,
    MERGE_MADE,
    MERGE_WORDS,
    TOO_LARGE,
    merge_some,
    ranges_of_both,
)
from tokenring.operators.collections.updates.packed import (
    HEAD_WORDS,
    LEAST,
    MOST,
    new_packed,
    pack,
    range_of,
    wider,
    word_of,
)
from tokenring.operators.collections.updates.sorting import consolidate

# Words of a spine. DATA, DEPTH: how many columns are data, and coordinates of times. ADDED: how many batches were
# added. PARTS, COUNT, ROOM: the table of parts, how many there are, and how many there is room for. SINCE, ELEMENTS:
# the frontier before which nobody asks. READERS, READER_COUNT: a row of READER_WORDS for each. UPPER: where times have
# one coordinate, what is finished. UNDER_WAY: how many merges are; MERGE_NS: when they are to be looked at though
# nothing is added (monotonic clock), 0 if there is nothing to be done, WAIT_NS behind the last time; SEEN: what was
# ADDED then, QUIET_NS since when. From FILE_AT on: the file in which large batches lie.
DATA, DEPTH, ADDED, PARTS, COUNT, ROOM, SINCE, ELEMENTS, READERS, READER_COUNT, UPPER, UNDER_WAY = range(12)
MERGE_NS, WAIT_NS, SEEN, QUIET_NS = range(12, 16)
FILE_AT = 16
SPINE_WORDS = FILE_AT + FILE_WORDS
# Of a part: where its packed block is, its PLACE (see `try_block`), its BYTES, for how many rows it has room, how many
# there are, the number of the last addition that is in it, where the directory of its keys is, if it has one; of one
# that is being merged with the next: the same of the block that will be both, behind whose heads the frontier stands as
# it was when the merge began, of FRONTIER elements; whether it is merged ALONE, so that what its times tell apart no
# more is added up; and how far that is.
ADDRESS, PLACE, BYTES, PART_ROOM, ROWS, END, DIRECTORY = range(7)
TARGET, TARGET_PLACE, TARGET_BYTES, TARGET_ROOM, TARGET_DIRECTORY, FRONTIER, ALONE, STATE = range(7, 15)
PART_WORDS = STATE + MERGE_WORDS
# Of a reader: how many additions it has taken (NOT_READING: it is gone; ALL: it reads whatever there is), and the time
# before which it does not ask, where times have one coordinate.
TAKEN, READ_SINCE = range(2)
READER_WORDS = 2
NOT_READING, ALL = COMPLETE, COMPLETE - 1

_FUEL_A_ROW = 4  # rows that each merge takes for a row that is added
_LEAST_FUEL = 32
_ALIKE = 2  # a part is merged with the one before it once that is not so many times as large
_ALIKE_IN_QUIET = 4  # so that of rows that were all taken away nothing is left, however they were
_EVERY_NS = 200_000  # while nothing else happens: so a worker that is idle merges a fifth of its time
_SOME_ROWS = 2_000
_QUIET_AFTER_NS = 10_000_000
_LONGEST_WAIT_NS = 1 << 30
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
def part_heads(spine, parts, at):  # type: ignore[no-untyped-def]
    """The heads of a part's columns."""
    return table_at(parts[at, ADDRESS], columns_of(spine), HEAD_WORDS)


@kernel
def reader_of(spine, number):  # type: ignore[no-untyped-def]
    """A reader's words."""
    return table_at(spine[READERS], spine[READER_COUNT], READER_WORDS)[number]


@kernel
def _file(spine):  # type: ignore[no-untyped-def]
    return spine[FILE_AT:]


@kernel
def _frontier_of(spine, part):  # type: ignore[no-untyped-def]
    """The frontier of a part's merge: int64 (elements, coordinates)."""
    return table_at(part[TARGET] + 8 * HEAD_WORDS * columns_of(spine), part[FRONTIER], spine[DEPTH])


@kernel
def _push_part(spine, address, place, size_bytes, rows, end):  # type: ignore[no-untyped-def]
    if spine[COUNT] == spine[ROOM]:
        more = max(_FIRST_PARTS, 2 * spine[ROOM])
        grown = new_block(PART_WORDS, more)
        if spine[PARTS] != 0:
            table_at(grown, more, PART_WORDS)[: spine[COUNT]] = parts_of(spine)[: spine[COUNT]]
            deallocate(spine[PARTS])
        spine[PARTS], spine[ROOM] = grown, more
    part = parts_of(spine)[spine[COUNT]]
    part[:] = 0
    part[ADDRESS], part[PLACE], part[BYTES] = address, place, size_bytes
    part[PART_ROOM], part[ROWS], part[END] = rows, rows, end
    heads = table_at(address, columns_of(spine), HEAD_WORDS)
    part[DIRECTORY] = new_directory(rows, word_of(heads, 0, 0), word_of(heads, 0, rows - 1))
    if part[DIRECTORY] != 0:
        directory = directory_at(part[DIRECTORY], rows)
        extend_directory(directory, heads, 0, rows)
        end_directory(directory, rows)
    spine[COUNT] += 1


@kernel
def _free_part(spine, part):  # type: ignore[no-untyped-def]
    """Give back what a part has, but for what it is being merged to."""
    free_block(_file(spine), part[ADDRESS], part[PLACE], part[BYTES])
    if part[DIRECTORY] != 0:
        deallocate(part[DIRECTORY])


@kernel
def _free_target(spine, part):  # type: ignore[no-untyped-def]
    """Give back what a part is being merged to."""
    free_block(_file(spine), part[TARGET], part[TARGET_PLACE], part[TARGET_BYTES])
    if part[TARGET_DIRECTORY] != 0:
        deallocate(part[TARGET_DIRECTORY])


@kernel
def _remove_part(spine, parts, at):  # type: ignore[no-untyped-def]
    for part in range(at, spine[COUNT] - 1):
        parts[part] = parts[part + 1]
    spine[COUNT] -= 1


@kernel
def _right_of(spine, parts, at):  # type: ignore[no-untyped-def]
    """The other part of a merge: its heads, its rows, where it is. Of one that is merged alone, no row of its own."""
    if parts[at, ALONE]:
        return part_heads(spine, parts, at), np.int64(0), at
    return part_heads(spine, parts, at + 1), parts[at + 1, ROWS], at + 1


@kernel
def _begin_merge(spine, parts, at, least_times, most_times):  # type: ignore[no-untyped-def]
    """Begin to merge a part with the next, or ALONE, with room for multiplicities in this range, and those of both; not
    if there is no memory: it is tried another time."""
    left, part = part_heads(spine, parts, at), parts[at]
    right, others, _ = _right_of(spine, parts, at)
    rows, since = part[ROWS], table_at(spine[SINCE], spine[ELEMENTS], spine[DEPTH])
    ranges = ranges_of_both(left, rows, right, others, spine[DATA], since)
    times = ranges[len(left) - 1]
    times[0], times[1] = min(times[0], least_times), max(times[1], most_times)
    address, place, size_bytes = new_packed(_file(spine), ranges, rows + others, since.size)
    part[TARGET], part[TARGET_PLACE], part[TARGET_BYTES], part[TARGET_ROOM] = address, place, size_bytes, rows + others
    part[FRONTIER], part[TARGET_DIRECTORY], part[STATE:] = len(since), 0, 0
    if address != 0:
        _frontier_of(spine, part)[:] = since
        least, most = min(word_of(left, 0, 0), word_of(right, 0, 0)), word_of(left, 0, rows - 1)
        most = max(most, word_of(right, 0, max(1, others) - 1))
        part[TARGET_DIRECTORY] = new_directory(rows + others, least, most)


@kernel
def _begin_wider(spine, parts, at):  # type: ignore[no-untyped-def]
    """Begin a merge anew whose multiplicities had no room: at most once for each byte that they are wider."""
    head, too_large = table_at(parts[at, TARGET], columns_of(spine), HEAD_WORDS)[-1], parts[at, STATE + TOO_LARGE]
    least, most = wider(head[LEAST], head[MOST])
    _free_target(spine, parts[at])
    _begin_merge(spine, parts, at, min(least, too_large), max(most, too_large))


@kernel
def _begin_merges(spine, parts, apart):  # type: ignore[no-untyped-def]
    """Begin to merge neighbours that are alike, the newest first, of the additions before number `apart`."""
    for newer in range(spine[COUNT] - 1, 0, -1):
        older = newer - 1
        is_free = parts[older, TARGET] == 0 and parts[newer, TARGET] == 0
        is_free &= older == 0 or parts[older - 1, TARGET] == 0 or parts[older - 1, ALONE]
        if is_free and parts[older, ROWS] < _ALIKE * parts[newer, ROWS] and parts[newer, END] <= apart:
            parts[older, ALONE] = 0
            _begin_merge(spine, parts, older, 1, 1)  # as they are most of the time


@kernel
def _begin_in_quiet(spine, parts, apart):  # type: ignore[no-untyped-def]
    """Begin what is left to do where no merge is under way and times have one coordinate: to merge neighbours that are
    not quite alike, or a part whose times readers cannot tell apart any more. Whether there is anything to do, now or
    once readers are further."""
    since, has_more = words_at(spine[SINCE], 1)[0], False
    for newer in range(spine[COUNT] - 1, 0, -1):
        if parts[newer - 1, ROWS] < _ALIKE_IN_QUIET * parts[newer, ROWS]:
            has_more = True
            if parts[newer, END] <= apart:
                parts[newer - 1, ALONE] = 0
                _begin_merge(spine, parts, newer - 1, 1, 1)
                spine[UNDER_WAY] += parts[newer - 1, TARGET] != 0
                return True
    for at in range(spine[COUNT]):
        least, most = range_of(part_heads(spine, parts, at), spine[DATA], parts[at, ROWS])
        if least < most:
            has_more = True
            if most <= since:
                parts[at, ALONE] = 1
                _begin_merge(spine, parts, at, 1, 1)
                spine[UNDER_WAY] += parts[at, TARGET] != 0
                return True
    return has_more


@kernel
def work(spine, apart, fuel):  # type: ignore[no-untyped-def]
    """Let each merge go on for so many rows. apart: additions from this number on are merged with none before, since
    somebody reads those without them."""
    spine[UNDER_WAY] = 0
    if spine[COUNT] == 0:
        return
    parts, columns = parts_of(spine), columns_of(spine)
    _begin_merges(spine, parts, apart)
    at = spine[COUNT] - 1
    while at >= 0:
        if parts[at, TARGET] != 0:
            right, others, other = _right_of(spine, parts, at)
            target, before = table_at(parts[at, TARGET], columns, HEAD_WORDS), parts[at, STATE + MERGE_MADE]
            left = merge_some(
                part_heads(spine, parts, at), parts[at, ROWS], right, others, target, parts[at, STATE:], spine[DATA],
                _frontier_of(spine, parts[at]), fuel,
            )  # fmt: skip
            if parts[at, STATE + IS_STOPPED]:
                _begin_wider(spine, parts, at)
                spine[UNDER_WAY] += 1
                at -= 1
                continue
            made = parts[at, STATE + MERGE_MADE]
            if parts[at, TARGET_DIRECTORY] != 0:
                directory = directory_at(parts[at, TARGET_DIRECTORY], parts[at, TARGET_ROOM])
                extend_directory(directory, target, before, made)
                if left > 0:
                    end_directory(directory, made)
            if left > 0:
                _free_part(spine, parts[at])
                if other > at:
                    _free_part(spine, parts[other])
                parts[at, ADDRESS], parts[at, PLACE] = parts[at, TARGET], parts[at, TARGET_PLACE]
                parts[at, BYTES], parts[at, PART_ROOM] = parts[at, TARGET_BYTES], parts[at, TARGET_ROOM]
                parts[at, ROWS], parts[at, END] = made, parts[other, END]
                parts[at, DIRECTORY] = parts[at, TARGET_DIRECTORY]
                parts[at, TARGET] = parts[at, TARGET_DIRECTORY] = 0
                if other > at:
                    _remove_part(spine, parts, other)
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
def _add_table(spine, table, rows):  # type: ignore[no-untyped-def]
    """Add a table's first rows; merges go on in proportion. None are no addition; where nobody reads, nothing is kept.
    """
    if rows == 0:
        return
    taken, since = _asked_by(spine)
    apart = min(taken, spine[ADDED])
    spine[ADDED] += 1
    if taken == NOT_READING or (spine[DEPTH] == 1 and since == COMPLETE):
        free_parts(spine)
        return
    if spine[DEPTH] == 1:
        words_at(spine[SINCE], 1)[0] = since
    address, place, size_bytes = pack(_file(spine), table, rows)
    _push_part(spine, address, place, size_bytes, rows, spine[ADDED])
    work(spine, apart, _LEAST_FUEL + _FUEL_A_ROW * rows)


@kernel
def add_block(spine, address, room, rows):  # type: ignore[no-untyped-def]
    """Add updates that are later than those before, in order and added up, the first rows of a block, int64 (columns,
    room), which is given back; merges go on in proportion."""
    _add_table(spine, table_at(address, columns_of(spine), room), rows)
    deallocate(address)


@kernel
def free_parts(spine):  # type: ignore[no-untyped-def]
    """Let all that is kept go."""
    if spine[COUNT] > 0:
        parts = parts_of(spine)
        for at in range(spine[COUNT]):
            _free_part(spine, parts[at])
            if parts[at, TARGET] != 0:
                _free_target(spine, parts[at])
        spine[COUNT] = 0


@kernel
def seal_block(table):  # type: ignore[no-untyped-def]
    """The updates of a table in order and added up, in a block: (its address, how many, or TOO_OFTEN, as `add_up` has
    it)."""
    address = new_block(len(table), table.shape[1])
    return address, consolidate(table, table_at(address, len(table), table.shape[1]))


@kernel(void(WORDS, TABLE))
def add_consolidated(spine, table):  # type: ignore[no-untyped-def]
    """`add_block` of updates that are in a table of somebody else's."""
    _add_table(spine, table, table.shape[1])


@kernel(void(WORDS))
def free_spine(spine):  # type: ignore[no-untyped-def]
    """The spine is gone."""
    free_parts(spine)
    if spine[PARTS] != 0:
        deallocate(spine[PARTS])
        spine[PARTS] = spine[ROOM] = 0


@kernel(boolean(WORDS, int64, boolean))
def work_on(spine, fuel, is_quiet):  # type: ignore[no-untyped-def]
    """Let each merge go on for so many rows, though nothing is added; where nothing was for a while, others begin.
    Whether there may be more to do before something is added."""
    taken, since = _asked_by(spine)
    if spine[DEPTH] == 1:
        if since == COMPLETE:
            free_parts(spine)
            spine[UNDER_WAY] = 0
            return False
        words_at(spine[SINCE], 1)[0] = since
    apart = min(taken, spine[ADDED])
    work(spine, apart, fuel)
    if spine[UNDER_WAY] == 0 and spine[DEPTH] == 1 and is_quiet:
        return _begin_in_quiet(spine, parts_of(spine), apart)
    return spine[COUNT] > 0


@kernel(int64(WORDS, int64))
def merge_at(spine, now_ns):  # type: ignore[no-untyped-def]
    """Let merges go on, if it is time, each for a bounded number of rows; when to ask again (monotonic clock), 0 if not
    before something is added. Where there is nothing to do but to wait for readers, it is asked ever less often."""
    if spine[SEEN] != spine[ADDED]:
        spine[SEEN], spine[QUIET_NS], spine[WAIT_NS] = spine[ADDED], now_ns, _EVERY_NS
        if spine[MERGE_NS] == 0:
            spine[MERGE_NS] = now_ns + _EVERY_NS
    if 0 < spine[MERGE_NS] <= now_ns:
        if not work_on(spine, _SOME_ROWS, now_ns - spine[QUIET_NS] >= _QUIET_AFTER_NS):
            spine[MERGE_NS] = 0
        else:
            wait = _EVERY_NS if spine[UNDER_WAY] > 0 else min(2 * spine[WAIT_NS], _LONGEST_WAIT_NS)
            spine[WAIT_NS], spine[MERGE_NS] = wait, now_ns + wait
    return spine[MERGE_NS]


@kernel(boolean(WORDS))
def is_merged(spine):  # type: ignore[no-untyped-def]
    """Whether there is nothing to merge, so that nobody need ask what time it is."""
    return spine[MERGE_NS] == 0 and spine[SEEN] == spine[ADDED]
