"""Memory of messages, and the log of what they change: chunks that are filled in a round of runs, free when it ends.

Whatever a message points to stays until the round's end: a column that is passed on needs no count of who reads it. Who
still waits then gets a block of its own, which is freed at the end of the round in which its message is taken.

Texts that are not common to all workers are in the text space: those made in a round until it ends; those of messages
that wait longer (`keep_texts`) until none waits, or until they are moved together (engine/native/edges.py).

Where the system has no more, MemoryError is raised, through compiled operators too, and that ends the run:
`lacked` times `lacked_each` bytes were asked for.
"""

from tokenring.engine.native.layout import (
    LET_GO,
    MESSAGE_WORDS,
    OWN_BLOCK,
    GrowingTable,
    RunningGraph,
    addresses_of,
    message_at,
    set_inner,
    world_at,
)
from tokenring.engine.progress import CHANGE_BYTES, CHANGE_WORDS, Change, net_what_is_left, same_coordinates
from tokenring.engine.texts import move_private, moved_bytes
from tokenring.shm.kernels import Record, Words, int64, kernel, record_at, void, words_at
from tokenring.shm.memory import allocate, copy_bytes, deallocate, forget_bytes

LINE_BYTES = 64
FIRST_CHUNK_BYTES = 1 << 18
MOST_KEPT_BYTES = 1 << 26
"""Of memory that is kept from round to round; what a round needs beyond it is given back."""
_FIRST_ROWS, _ROW_BYTES = 64, CHANGE_BYTES  # of a table that grows
_ADDRESS_BITS = 48  # no processor has more
_HEADER_BYTES = LINE_BYTES  # of a chunk


class Chunk(Record):
    """What a chunk begins with: the next one's address, its size."""

    next: int
    size_bytes: int


@kernel
def refuse(graph: RunningGraph, count: int, each: int) -> None:
    """Raise MemoryError: there is no memory for `count` things of `each` bytes."""
    graph.lacked, graph.lacked_each = count, each
    raise MemoryError("no memory for messages")


@kernel
def _allocated(graph: RunningGraph, size_bytes: int) -> int:
    """`allocate`, or MemoryError."""
    address = allocate(size_bytes)
    if address == 0:
        refuse(graph, size_bytes, 1)
    return address


@kernel
def _add_chunk(graph: RunningGraph, size_bytes: int) -> None:
    """Begin another chunk, of at least so many bytes."""
    if size_bytes >> _ADDRESS_BITS != 0:
        refuse(graph, size_bytes, 1)
    room = max(FIRST_CHUNK_BYTES, graph.chunks_bytes)
    while room < size_bytes + 2 * _HEADER_BYTES:
        room *= 2
    chunk = allocate(room)
    if chunk == 0:
        room = size_bytes + 2 * _HEADER_BYTES
        chunk = _allocated(graph, room)
    header = record_at(chunk, Chunk)
    header.next, header.size_bytes = graph.chunk, room
    graph.chunk = chunk
    graph.chunks_bytes += room
    _begin_chunk(graph, chunk, room)


@kernel
def _begin_chunk(graph: RunningGraph, chunk: int, room: int) -> None:
    graph.chunk_at = (chunk + _HEADER_BYTES + LINE_BYTES - 1) & -LINE_BYTES
    graph.chunk_end = chunk + room


@kernel
def lease(graph: RunningGraph, size_bytes: int) -> int:
    """The address of so many bytes, at the beginning of a cache line; good until the round's end."""
    padded = (size_bytes + LINE_BYTES - 1) & -LINE_BYTES
    if graph.chunk_at + padded > graph.chunk_end:
        _add_chunk(graph, padded)
    at = graph.chunk_at
    graph.chunk_at = at + padded
    return at


@kernel
def lease_text(graph: RunningGraph, size_bytes: int) -> int:
    """The offset in the text space of so many bytes, good until the round's end."""
    at = graph.round_text_at
    if at + size_bytes > graph.round_text_end:
        refuse(graph, size_bytes, 1)
    graph.round_text_at = at + size_bytes
    return at


@kernel
def keep_texts(graph: RunningGraph, column: Words) -> None:
    """Let the texts of a column, which is written to, stay for as long as a message waits."""
    lacking = moved_bytes(column, graph.text_common)
    if graph.waiting_text_at + lacking > graph.waiting_text_end:
        refuse(graph, lacking, 1)
    graph.waiting_text_at = move_private(column, graph.text_base, graph.text_common, graph.waiting_text_at)


@kernel
def _freed(block: int) -> int:
    """Free the blocks of a list, each of which has the next one's address in front; what is left: 0, none."""
    while block != 0:
        following = words_at(block, 1)[0]
        deallocate(block)
        block = following
    return 0


@kernel
def free_round(graph: RunningGraph) -> None:
    """The round is over: its memory is free. Several chunks become one, so that the next round finds room in that."""
    graph.freed = _freed(graph.freed)
    if graph.round_text_at - graph.round_text > MOST_KEPT_BYTES:
        forget_bytes(graph.text_base + graph.round_text, graph.round_text_at - graph.round_text)
    graph.round_text_at = graph.round_text
    chunk = graph.chunk
    if chunk == 0:
        return
    header = record_at(chunk, Chunk)
    if header.next == 0 and graph.chunks_bytes <= MOST_KEPT_BYTES:
        _begin_chunk(graph, chunk, header.size_bytes)
        return
    room = min(graph.chunks_bytes, MOST_KEPT_BYTES)
    graph.chunk = _freed(graph.chunk)
    graph.chunks_bytes = graph.chunk_at = graph.chunk_end = 0
    _add_chunk(graph, room - 2 * _HEADER_BYTES)


@kernel
def _write_change(address: int, location: int, delta: int, time: int, inner: Words) -> None:
    change = record_at(address, Change)
    change.location, change.delta, change.time = location, delta, time
    set_inner(change.inner, inner)


@kernel
def append(graph: RunningGraph, table: GrowingTable, location: int, delta: int, time: int, inner: Words) -> None:
    """Note a change behind those of a table that grows."""
    count = table.count
    if count == table.capacity:
        room = 2 * max(count, _FIRST_ROWS)
        grown = _allocated(graph, _ROW_BYTES * room)
        if table.rows != 0:
            copy_bytes(grown, table.rows, _ROW_BYTES * count)
            deallocate(table.rows)
        table.rows, table.capacity = grown, room
    _write_change(table.rows + _ROW_BYTES * count, location, delta, time, inner)
    table.count = count + 1


@kernel
def log_change(graph: RunningGraph, location: int, delta: int, time: int, inner: Words) -> None:
    """Log one change. inner: the time's other coordinates. Where the log is full, what is in it is netted; what finds
    no room even so is spilled, and goes into a larger log before anything is published (`CompiledPart.after`).

    What takes the last change back, as taking a message does that was just sent, leaves neither in the log: they are
    published together or not at all. Not while a ring without room lets a part of the log out.
    """
    count = graph.log_count
    if count > 0 and graph.spilled.count == 0 and graph.ring_is_full == 0 and graph.observed == 0:
        last = record_at(graph.log + CHANGE_BYTES * (count - 1), Change)
        if last.location == location and last.delta + delta == 0 and last.time == time:
            if same_coordinates(last.inner, inner):
                graph.log_count = count - 1
                return
    if graph.spilled.count == 0 and count >= graph.log_capacity:
        log = words_at(graph.log, graph.log_capacity * CHANGE_WORDS)
        scratch = words_at(graph.log_scratch, graph.log_scratch_words)
        graph.log_count = net_what_is_left(log, graph.log_count, scratch)
        if 2 * graph.log_count > graph.log_capacity:  # to net again and again would take long
            append(graph, graph.spilled, location, delta, time, inner)
            return
    if graph.spilled.count > 0:
        append(graph, graph.spilled, location, delta, time, inner)
        return
    count = graph.log_count
    _write_change(graph.log + CHANGE_BYTES * count, location, delta, time, inner)
    graph.log_count = count + 1


@kernel
def owned_copy(graph: RunningGraph, message: int, texts: int) -> int:
    """The same message in a block of its own. texts: where it is told which columns are text, 0 if none is."""
    header = message_at(message)
    rows, width = header.rows, header.width
    count = width + (header.keys != 0)
    copy = _allocated(graph, 8 * (MESSAGE_WORDS + width + count * rows))
    words_at(copy, MESSAGE_WORDS)[:] = words_at(message, MESSAGE_WORDS)
    target, made, columns = message_at(copy), addresses_of(copy), addresses_of(message)
    target.standing, target.next, target.places = OWN_BLOCK, 0, 0
    at = copy + 8 * (MESSAGE_WORDS + width)
    for column in range(width):
        copy_bytes(at, columns[column], 8 * rows)
        made[column] = at
        if texts != 0 and words_at(texts, width)[column] != 0:
            keep_texts(graph, words_at(at, rows))
        at += 8 * rows
    if header.keys != 0:
        copy_bytes(at, header.keys, 8 * rows)
        target.keys = at
    return copy


@kernel
def let_go(graph: RunningGraph, message: int) -> None:
    """A message was taken: free its block, if it has one, when the round ends."""
    header = message_at(message)
    if header.standing == OWN_BLOCK:
        header.standing = LET_GO
        header.next = graph.freed
        graph.freed = message


@kernel(void(int64))
def free_all(world: int) -> None:
    """The worker is gone: give back what rounds kept."""
    graph = world_at(world)
    graph.freed, graph.chunk = _freed(graph.freed), _freed(graph.chunk)
    for table in (graph.spilled, graph.arrived_here):
        if table.rows != 0:
            deallocate(table.rows)
            table.rows = 0
