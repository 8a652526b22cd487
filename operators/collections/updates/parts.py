"""A spine's batches, in blocks of memory of their own: added, merged a little whenever some are added, let go.

The oldest and largest come first, and no two neighbours are alike in size for long. Two that are being merged are read
until that is done; blocks are allocated and freed here, so nobody keeps an address of theirs from call to call.
"""

from collections.abc import MutableSequence, Sequence

import numpy as np

from tokenring.engine import COMPLETE, TABLE, boolean, int64, kernel, void
from tokenring.engine.compiled import Record, Words, deallocate, record_at, records_at, signed, table_at, words_at
from tokenring.operators.collections.updates.blocks import File, free_block, new_block
from tokenring.operators.collections.updates.directory import (
    directory_at,
    end_directory,
    extend_directory,
    new_directory,
)
from tokenring.operators.collections.updates.frontiers import Antichain, free_times, put_off, set_times, times_of
from tokenring.operators.collections.updates.merging import Merge, merge_some, ranges_of_both
from tokenring.operators.collections.updates.packed import HEAD_WORDS, Head, new_packed, pack, range_of, wider, word_of
from tokenring.operators.collections.updates.sorting import consolidate


class Lag(Record):
    """Lets what grows with the batches of a loop, which are many and mostly small, be done for some of them at once:
    how many there were since it was, and their rows."""

    batches: int
    rows: int


class SpineState(Record):
    """`data`, `depth`: how many columns are data, and coordinates of times. `added`: how many batches were added.
    `parts`: where the Parts are, how many there are, and how many there is room for. `since`: the frontier before which
    nobody asks. `readers`: where a Reading of each reader is. `upper`: what is finished, where times have one
    coordinate, else `upper_times`. `lag`: of what readers say, where times have several. `under_way`: how many merges
    are; `merge_ns`: when they are to be looked at though nothing is added (monotonic clock), 0 if there is nothing to
    be done, `wait_ns` behind the last time; `seen`: what was `added` then, `quiet_ns` since when. `file`: where large
    batches lie."""

    data: int
    depth: int
    added: int
    parts: int
    count: int
    room: int
    since: Antichain
    readers: int
    reader_count: int
    upper: int
    upper_times: Antichain
    lag: Lag
    under_way: int
    merge_ns: int
    wait_ns: int
    seen: int
    quiet_ns: int
    file: File


class Part(Record):
    """A batch: where its packed block is, its `place` (see `try_block`), how large, for how many rows it has room, how
    many there are, the number of the last addition that is in it, where the directory of its keys is, if it has one.
    Of one that is being merged with the next, the same of the block that will be both, behind whose heads the frontier
    stands as it was when the merge began, of so many elements; whether it is merged `alone`, so that what its times
    tell apart no more is added up; and how far that is."""

    address: int
    place: int
    size_bytes: int
    room: int
    rows: int
    end: int
    directory: int
    target: int
    target_place: int
    target_bytes: int
    target_room: int
    target_directory: int
    frontier: int
    alone: int
    merge: Merge


class Reading(Record):
    """Of a reader: how many additions it has taken (NOT_READING: it is gone; ALL: it reads whatever there is), and the
    time before which it does not ask, where times have one coordinate, else `times`."""

    taken: int
    since: int
    times: Antichain


PART_WORDS = Part.size
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
_LAG_BATCHES, _LAG_ROWS = 16, 1 << 10


@kernel
def columns_of(spine: SpineState) -> int:
    """How many columns a batch has: data, the coordinates of times, multiplicities."""
    return spine.data + spine.depth + 1


@kernel
def parts_of(spine: SpineState) -> MutableSequence[Part]:
    """The parts, and the room behind them."""
    return records_at(spine.parts, spine.room, Part)


@kernel
def part_heads(spine: SpineState, parts: Sequence[Part], at: int) -> Sequence[Head]:
    """The heads of a part's columns."""
    return records_at(parts[at].address, columns_of(spine), Head)


@kernel
def reader_of(spine: SpineState, number: int) -> Reading:
    """What a reader has taken, and may ask for."""
    return records_at(spine.readers, spine.reader_count, Reading)[number]


@kernel
def _frontier_of(spine: SpineState, part: Part) -> Words:
    """The frontier of a part's merge: int64 (elements, coordinates)."""
    return table_at(part.target + 8 * HEAD_WORDS * columns_of(spine), part.frontier, spine.depth)


@kernel
def _push_part(spine: SpineState, address: int, place: int, size_bytes: int, rows: int, end: int) -> None:
    if spine.count == spine.room:
        more = max(_FIRST_PARTS, 2 * spine.room)
        grown = new_block(PART_WORDS, more)
        if spine.parts != 0:
            words_at(grown, PART_WORDS * spine.count)[:] = words_at(spine.parts, PART_WORDS * spine.count)
            deallocate(spine.parts)
        spine.parts, spine.room = grown, more
    words_at(spine.parts + 8 * PART_WORDS * spine.count, PART_WORDS)[:] = 0
    part = parts_of(spine)[spine.count]
    part.address, part.place, part.size_bytes = address, place, size_bytes
    part.room, part.rows, part.end = rows, rows, end
    heads = records_at(address, columns_of(spine), Head)
    part.directory = new_directory(rows, word_of(heads, 0, 0), word_of(heads, 0, rows - 1))
    if part.directory != 0:
        directory = directory_at(part.directory)
        extend_directory(directory, heads, 0, rows)
        end_directory(directory, rows)
    spine.count += 1


@kernel
def _free_part(spine: SpineState, part: Part) -> None:
    """Give back what a part has, but for what it is being merged to."""
    free_block(spine.file, part.address, part.place, part.size_bytes)
    if part.directory != 0:
        deallocate(part.directory)


@kernel
def _free_target(spine: SpineState, part: Part) -> None:
    """Give back what a part is being merged to."""
    free_block(spine.file, part.target, part.target_place, part.target_bytes)
    if part.target_directory != 0:
        deallocate(part.target_directory)


@kernel
def _remove_part(spine: SpineState, parts: MutableSequence[Part], at: int) -> None:
    for part in range(at, spine.count - 1):
        parts[part] = parts[part + 1]
    spine.count -= 1


@kernel
def _right_of(spine: SpineState, parts: Sequence[Part], at: int) -> tuple[Sequence[Head], int, int]:
    """The other part of a merge: its heads, its rows, where it is. Of one that is merged alone, no row of its own."""
    if parts[at].alone:
        return part_heads(spine, parts, at), signed(0), at
    return part_heads(spine, parts, at + 1), parts[at + 1].rows, at + 1


@kernel
def _begin_merge(spine: SpineState, parts: Sequence[Part], at: int, least_times: int, most_times: int) -> None:
    """Begin to merge a part with the next, or ALONE, with room for multiplicities in this range, and those of both; not
    if there is no memory: it is tried another time."""
    left, part = part_heads(spine, parts, at), parts[at]
    right, others, _ = _right_of(spine, parts, at)
    rows, since = part.rows, times_of(spine.since, spine.depth)
    ranges = ranges_of_both(left, rows, right, others, spine.data, since)
    times = ranges[len(left) - 1]
    times[0], times[1] = min(times[0], least_times), max(times[1], most_times)
    address, place, size_bytes = new_packed(spine.file, ranges, rows + others, since.size)
    part.target, part.target_place, part.target_bytes, part.target_room = address, place, size_bytes, rows + others
    part.frontier, part.target_directory, merge = len(since), 0, part.merge
    merge.left = merge.right = merge.made = merge.too_large = merge.is_stopped = 0
    if address != 0:
        _frontier_of(spine, part)[:] = since
        least, most = min(word_of(left, 0, 0), word_of(right, 0, 0)), word_of(left, 0, rows - 1)
        most = max(most, word_of(right, 0, max(1, others) - 1))
        part.target_directory = new_directory(rows + others, least, most)


@kernel
def _begin_wider(spine: SpineState, parts: Sequence[Part], at: int) -> None:
    """Begin a merge anew whose multiplicities had no room: at most once for each byte that they are wider."""
    columns, too_large = columns_of(spine), parts[at].merge.too_large
    head = records_at(parts[at].target, columns, Head)[columns - 1]
    least, most = wider(head.least, head.most)
    _free_target(spine, parts[at])
    _begin_merge(spine, parts, at, min(least, too_large), max(most, too_large))


@kernel
def _begin_merges(spine: SpineState, parts: Sequence[Part], apart: int) -> None:
    """Begin to merge neighbours that are alike, the newest first, of the additions before number `apart`."""
    for newer in range(spine.count - 1, 0, -1):
        older = newer - 1
        is_free = parts[older].target == 0 and parts[newer].target == 0
        is_free &= older == 0 or parts[older - 1].target == 0 or parts[older - 1].alone != 0
        if is_free and parts[older].rows < _ALIKE * parts[newer].rows and parts[newer].end <= apart:
            parts[older].alone = 0
            _begin_merge(spine, parts, older, 1, 1)  # as they are most of the time


@kernel
def _begin_in_quiet(spine: SpineState, parts: Sequence[Part], apart: int) -> bool:
    """Begin what is left to do where no merge is under way and times have one coordinate: to merge neighbours that are
    not quite alike, or a part whose times readers cannot tell apart any more. Whether there is anything to do, now or
    once readers are further."""
    since, has_more = times_of(spine.since, 1)[0, 0], False
    for newer in range(spine.count - 1, 0, -1):
        if parts[newer - 1].rows < _ALIKE_IN_QUIET * parts[newer].rows:
            has_more = True
            if parts[newer].end <= apart:
                parts[newer - 1].alone = 0
                _begin_merge(spine, parts, newer - 1, 1, 1)
                spine.under_way += parts[newer - 1].target != 0
                return True
    for at in range(spine.count):
        least, most = range_of(part_heads(spine, parts, at), spine.data, parts[at].rows)
        if least < most:
            has_more = True
            if most <= since:
                parts[at].alone = 1
                _begin_merge(spine, parts, at, 1, 1)
                spine.under_way += parts[at].target != 0
                return True
    return has_more


@kernel
def work(spine: SpineState, apart: int, fuel: int) -> None:
    """Let each merge go on for so many rows. apart: additions from this number on are merged with none before, since
    somebody reads those without them."""
    spine.under_way = 0
    if spine.count == 0:
        return
    parts, columns = parts_of(spine), columns_of(spine)
    _begin_merges(spine, parts, apart)
    at = spine.count - 1
    while at >= 0:
        if parts[at].target != 0:
            right, others, other = _right_of(spine, parts, at)
            target, before = records_at(parts[at].target, columns, Head), parts[at].merge.made
            left = merge_some(
                part_heads(spine, parts, at), parts[at].rows, right, others, target, parts[at].merge, spine.data,
                _frontier_of(spine, parts[at]), fuel,
            )  # fmt: skip
            if parts[at].merge.is_stopped != 0:
                _begin_wider(spine, parts, at)
                spine.under_way += 1
                at -= 1
                continue
            made = parts[at].merge.made
            if parts[at].target_directory != 0:
                directory = directory_at(parts[at].target_directory)
                extend_directory(directory, target, before, made)
                if left > 0:
                    end_directory(directory, made)
            if left > 0:
                _free_part(spine, parts[at])
                if other > at:
                    _free_part(spine, parts[other])
                parts[at].address, parts[at].place = parts[at].target, parts[at].target_place
                parts[at].size_bytes, parts[at].room = parts[at].target_bytes, parts[at].target_room
                parts[at].rows, parts[at].end = made, parts[other].end
                parts[at].directory = parts[at].target_directory
                parts[at].target = parts[at].target_directory = 0
                if other > at:
                    _remove_part(spine, parts, other)
                if made == 0:
                    _free_part(spine, parts[at])
                    _remove_part(spine, parts, at)
            else:
                spine.under_way += 1
        at -= 1


@kernel
def _asked_by(spine: SpineState) -> tuple[int, int]:
    """What readers have taken at least, and the least time they may ask for; NOT_READING if there are none."""
    taken, since = NOT_READING, COMPLETE
    readers = records_at(spine.readers, spine.reader_count, Reading)
    for reader in range(len(readers)):
        if readers[reader].taken != NOT_READING:
            taken, since = min(taken, readers[reader].taken), min(since, readers[reader].since)
    return taken, since


@kernel
def is_over(lag: Lag, rows: int) -> bool:
    """Whether it is time, now that another batch of so many rows came."""
    lag.batches += 1
    lag.rows += rows
    if lag.batches < _LAG_BATCHES and lag.rows < _LAG_ROWS:
        return False
    lag.batches = lag.rows = 0
    return True


@kernel
def _look_at_readers(spine: SpineState) -> None:
    """Find out before which times nobody asks any more, where times have several coordinates."""
    readers = records_at(spine.readers, spine.reader_count, Reading)
    least, count = np.empty((_LAG_BATCHES, spine.depth), np.int64), 0
    for reader in range(len(readers)):
        if readers[reader].taken != NOT_READING:
            times = times_of(readers[reader].times, spine.depth)
            for at in range(len(times)):
                least, count = put_off(least, count, times[at])
    if count > 0:  # else nobody asks any more
        set_times(spine.since, least[:count])


@kernel
def _add_table(spine: SpineState, table: Words, rows: int) -> None:
    """Add a table's first rows; merges go on in proportion. None are no addition; where nobody reads, none are kept."""
    if rows == 0:
        return
    taken, since = _asked_by(spine)
    apart = min(taken, spine.added)
    spine.added += 1
    if taken == NOT_READING or (spine.depth == 1 and since == COMPLETE):
        free_parts(spine)
        return
    if spine.depth == 1:
        times_of(spine.since, 1)[0, 0] = since
    elif is_over(spine.lag, rows):
        _look_at_readers(spine)
    address, place, size_bytes = pack(spine.file, table, rows)
    _push_part(spine, address, place, size_bytes, rows, spine.added)
    work(spine, apart, _LEAST_FUEL + _FUEL_A_ROW * rows)


@kernel
def add_block(spine: SpineState, address: int, room: int, rows: int) -> None:
    """Add updates that are later than those before, in order and added up, the first rows of a block, int64 (columns,
    room), which is given back; merges go on in proportion."""
    _add_table(spine, table_at(address, columns_of(spine), room), rows)
    deallocate(address)


@kernel
def free_parts(spine: SpineState) -> None:
    """Let all that is kept go."""
    if spine.count > 0:
        parts = parts_of(spine)
        for at in range(spine.count):
            _free_part(spine, parts[at])
            if parts[at].target != 0:
                _free_target(spine, parts[at])
        spine.count = 0


@kernel
def seal_block(table: Words) -> tuple[int, int]:
    """The updates of a table in order and added up, in a block: (its address, how many, or TOO_OFTEN, as `add_up` has
    it)."""
    address = new_block(len(table), table.shape[1])
    return address, consolidate(table, table_at(address, len(table), table.shape[1]))


@kernel(void(int64, TABLE))
def add_consolidated(address: int, table: Words) -> None:
    """`add_block` of updates that are in a table of somebody else's. address: of a spine's state."""
    _add_table(record_at(address, SpineState), table, table.shape[1])


@kernel(void(int64))
def free_spine(address: int) -> None:
    """The spine with its state at this address is gone."""
    spine = record_at(address, SpineState)
    free_parts(spine)
    if spine.parts != 0:
        deallocate(spine.parts)
        spine.parts = spine.room = 0
    readers = records_at(spine.readers, spine.reader_count, Reading)
    for reader in range(len(readers)):
        free_times(readers[reader].times)
    free_times(spine.upper_times)
    free_times(spine.since)


@kernel(void(int64, TABLE))
def compact(address: int, since: Words) -> None:
    """Nobody asks any more for what was before `since`, int64 (elements, coordinates). address: of a spine's state."""
    set_times(record_at(address, SpineState).since, since)


@kernel(void(int64, int64, TABLE))
def ask_since(address: int, reader: int, since: Words) -> None:
    """Let a reader ask for nothing before `since`, int64 (elements, coordinates); none: for nothing at all. address: of
    the spine's state."""
    spine = record_at(address, SpineState)
    if spine.depth == 1:
        reader_of(spine, reader).since = since[0, 0] if len(since) > 0 else COMPLETE
    else:
        set_times(reader_of(spine, reader).times, since)


@kernel(TABLE(int64, int64))
def asked_since(address: int, reader: int) -> Words:
    """What `ask_since` was told, where times have several coordinates."""
    spine = record_at(address, SpineState)
    return times_of(reader_of(spine, reader).times, spine.depth).copy()


@kernel(void(int64, int64))
def leave(address: int, reader: int) -> None:
    """A reader is gone. address: of the spine's state."""
    reading = reader_of(record_at(address, SpineState), reader)
    reading.taken = reading.since = NOT_READING
    free_times(reading.times)


@kernel(void(int64, TABLE))
def finish(address: int, upper: Words) -> None:
    """What is before `upper`, int64 (elements, coordinates), is finished, where times have several coordinates."""
    set_times(record_at(address, SpineState).upper_times, upper)


@kernel(TABLE(int64))
def finished_upto(address: int) -> Words:
    """What `finish` was told."""
    spine = record_at(address, SpineState)
    return times_of(spine.upper_times, spine.depth).copy()


@kernel(boolean(int64, int64, boolean))
def work_on(address: int, fuel: int, is_quiet: int) -> bool:
    """Let each merge go on for so many rows, though nothing is added; where nothing was for a while, others begin.
    Whether there may be more to do before something is added. address: of the spine's state."""
    spine = record_at(address, SpineState)
    taken, since = _asked_by(spine)
    if spine.depth == 1:
        if since == COMPLETE:
            free_parts(spine)
            spine.under_way = 0
            return False
        times_of(spine.since, 1)[0, 0] = since
    apart = min(taken, spine.added)
    work(spine, apart, fuel)
    if spine.under_way == 0 and spine.depth == 1 and is_quiet:
        return _begin_in_quiet(spine, parts_of(spine), apart)
    return spine.count > 0


@kernel(int64(int64, int64))
def merge_at(address: int, now_ns: int) -> int:
    """Let merges go on, if it is time, each for a bounded number of rows; when to ask again (monotonic clock), 0 if not
    before something is added. Where there is nothing to do but to wait for readers, it is asked ever less often.
    address: of the spine's state."""
    spine = record_at(address, SpineState)
    if spine.seen != spine.added:
        spine.seen, spine.quiet_ns, spine.wait_ns = spine.added, now_ns, _EVERY_NS
        if spine.merge_ns == 0:
            spine.merge_ns = now_ns + _EVERY_NS
    if 0 < spine.merge_ns <= now_ns:
        if not work_on(address, _SOME_ROWS, now_ns - spine.quiet_ns >= _QUIET_AFTER_NS):
            spine.merge_ns = 0
        else:
            wait = _EVERY_NS if spine.under_way > 0 else min(2 * spine.wait_ns, _LONGEST_WAIT_NS)
            spine.wait_ns, spine.merge_ns = wait, now_ns + wait
    return spine.merge_ns


@kernel(boolean(int64))
def is_merged(address: int) -> bool:
    """Whether there is nothing to merge, so that nobody need ask what time it is. address: of a spine's state."""
    spine = record_at(address, SpineState)
    return spine.merge_ns == 0 and spine.seen == spine.added
