"""Messages that cross between Python and compiled operators: kernels that Python calls for each."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine.columns import Batch, Schema, gather, text_bytes
from tokenring.engine.native.crossing import shifted_texts
from tokenring.engine.native.layout import (
    MESSAGE_WORDS,
    addresses_of,
    edges_at,
    inputs_at,
    message_at,
    outputs_at,
    set_inner,
    world_at,
)
from tokenring.engine.native.memory import lease, lease_text
from tokenring.engine.native.messages import bare_message, end_of_message, enqueue
from tokenring.engine.texts import heap_of_words
from tokenring.engine.times import MOST_COORDINATES, AnyTime, from_coordinates
from tokenring.shm.kernels import LENGTH_BITS, WORDS, Words, int64, kernel, table_at, void, words_at
from tokenring.shm.memory import SPACE_BYTES

_LISTED_WORDS = 1 + MOST_COORDINATES
_PAIRS = 512
"""How many different texts of a column are remembered while it is brought, which is not worth it for fewer rows."""
HEADER_WORDS = MESSAGE_WORDS
"""Of what `next_for_python` tells, before the columns' addresses."""


@kernel(void(int64, int64, WORDS, int64, WORDS, int64, int64))
def hand_over(world: int, port: int, time: Words, rows: int, addresses: Words, keys: int, at_one_time: int) -> None:
    """Let a message of Python's, which is counted, wait at the compiled input `port`. time: all its coordinates;
    addresses: of its columns, which stay until the round's end; keys: that of a burst's, or 0."""
    graph = world_at(world)
    width = inputs_at(graph)[port].width
    message = bare_message(graph, width, rows)
    header, columns = message_at(message), addresses_of(message)
    header.time, header.keys, header.at_one_time = time[0], keys, at_one_time
    set_inner(header.inner, time[1:])
    for column in range(width):
        columns[column] = addresses[column]
    enqueue(graph, port, message)


@kernel(void(int64, WORDS, WORDS, int64))
def bring_texts(world: int, addresses: Words, heaps: Words, rows: int) -> None:
    """Have the texts of Python's columns in the text space: words that point into heaps elsewhere are copied with their
    bytes, and the copies' addresses written down; good until the round's end. heaps: their addresses, 0 where a column
    is none of text."""
    graph = world_at(world)
    for column in range(len(addresses)):
        offset = heaps[column] - graph.text_base
        if heaps[column] == 0 or offset == 0:
            continue
        if 0 < offset < SPACE_BYTES:
            addresses[column] = shifted_texts(graph, addresses[column], rows, offset << LENGTH_BITS)
            continue
        source, address = words_at(addresses[column], rows), lease(graph, 8 * rows)
        pairs = _PAIRS if rows >= _PAIRS else 1
        seen = table_at(lease(graph, 16 * pairs), pairs, 2)
        seen[:] = -1
        at = lease_text(graph, text_bytes(source))
        graph.round_text_at = gather(source, heaps[column], words_at(address, rows), graph.text_base, at, seen)
        addresses[column] = address


@kernel(int64(int64, WORDS))
def next_for_python(world: int, told: Words) -> int:
    """The first message that waits for Python, as its words in `told`; its address, 0 if none waits."""
    graph = world_at(world)
    message = graph.for_python
    if message == 0:
        return 0
    header = message_at(message)
    graph.for_python = header.next
    words = MESSAGE_WORDS + header.width
    told[:words] = words_at(message, words)
    return message


@kernel(int64(int64, int64))
def was_handed_on(world: int, edge: int) -> int:
    """What waited for Python is with who reads it, and the token that stood for it goes: the location at which the
    caller logs that."""
    graph = world_at(world)
    outputs_at(graph)[edges_at(graph)[edge].output].held -= 1
    return edges_at(graph)[edge].origin


@kernel(int64[::1](int64, int64))
def array_at(address: int, count: int) -> Words:
    """The words at an address as an array, which owns nothing: good as long as they stay."""
    return words_at(address, count)


def batch_at(schema: Schema, addresses: Sequence[int], rows: int, chosen: np.ndarray | None = None) -> Batch:
    """The columns of a message, which are at these addresses and have `rows` rows each, as a batch that nobody writes
    to: of all rows, lent until the round's end, or a copy of those chosen."""
    columns, heaps = [], []
    for address, kind, dtype in zip(addresses, schema.kinds, schema.dtypes, strict=True):
        words = array_at(address, rows)
        if chosen is not None:
            words = words[chosen]
        words.flags.writeable = False
        columns.append(words.view(dtype))
        heaps.append(heap_of_words() if kind.is_text else None)
    count = rows if chosen is None else len(chosen)
    return Batch.wrap(schema, tuple(columns), count, tuple(heaps) if schema.has_text else ())


@kernel(int64(int64, int64, WORDS))
def _list_messages(message: int, skipped: int, told: Words) -> int:
    """The (rows, all coordinates of the time) of the messages from this one on, as many as there is room for; how many
    there are. skipped: rows of the first that do not count."""
    found = 0
    while message != 0:
        header = message_at(message)
        rows = header.rows
        start = skipped
        skipped = 0
        while start < rows:
            end = end_of_message(message, start)
            time = header.time
            if header.keys != 0 and header.at_one_time == 0:
                time = words_at(header.keys, rows)[start]
            if _LISTED_WORDS * found < len(told):
                here = told[_LISTED_WORDS * found :]
                here[0], here[1] = end - start, time
                set_inner(here[2:], header.inner)
            found += 1
            start = end
        message = header.next
    return found


def listed(message: int, skipped: int, depth: int) -> list[tuple[AnyTime, int]]:
    """The (time, rows) of the messages from this one on. skipped: rows of the first that do not count; depth: how many
    coordinates their times have."""
    told = np.zeros(8 * _LISTED_WORDS, np.int64)
    while _LISTED_WORDS * (found := _list_messages(message, skipped, told)) > len(told):
        told = np.zeros(_LISTED_WORDS * found, np.int64)
    rows = told[: _LISTED_WORDS * found].reshape(found, _LISTED_WORDS).tolist()
    return [(from_coordinates(tuple(time[:depth])), count) for count, *time in rows]


def waiting_at(inputs: np.ndarray, port: int) -> list[tuple[AnyTime, int]]:
    """The (time, rows) of the messages that wait at a compiled input, of a burst each."""
    return listed(int(inputs["first"][port]), 0, int(inputs["depth"][port]))


def postponed_at(edges: np.ndarray, edge: int) -> list[tuple[AnyTime, int]]:
    """The (time, rows) of the messages that wait in a compiled edge for room; those of a burst count together, at its
    time, where a token stands for them."""
    return listed(int(edges["pending"][edge]), int(edges["pending_at"][edge]), int(edges["depth"][edge]))
