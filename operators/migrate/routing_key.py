"""What rows go by between workers: their key itself, or a hash of one that is several columns, text or floats."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Batch, Schema, kernel
from tokenring.engine.columns import Kind, hash_keys, heap_address
from tokenring.engine.compiled import (
    HashedColumn,
    Record,
    RunningGraph,
    Words,
    address_of,
    column_of,
    hashed_key,
    heap_of_words,
    key_hashes,
    records_at,
    rows_of,
    words_at,
)


def is_hashed(kinds: Sequence[Kind]) -> bool:
    """Whether rows whose key is columns of these kinds go by a hash of it, rather than by the key itself."""
    return len(kinds) > 1 or kinds[0].is_text or kinds[0].is_float


def key_words(batch: Batch, key: Sequence[str]) -> np.ndarray:
    """What the rows of a batch are spread by: the key itself, or a hash of it, int64 (rows,)."""
    at = [batch.schema.position(name) for name in key]
    kinds = [batch.schema.kinds[position] for position in at]
    columns = [np.ascontiguousarray(batch.columns[position]).view(np.int64) for position in at]
    if not is_hashed(kinds):
        return columns[0]
    heaps = [0] * len(at)
    for place, position in enumerate(at):
        heap = batch.heaps[position] if batch.schema.has_text else None
        if heap is not None and kinds[place].is_text:
            heaps[place] = heap_address(heap)
    floats = [int(kind.is_float) for kind in kinds]
    addresses = np.array([address_of(column) for column in columns], np.int64)
    hashes = np.empty(batch.rows, np.int64)
    hash_keys(addresses, np.array(heaps, np.int64), np.array(floats, np.int64), hashes)
    return hashes


class RoutingKey(Record):
    """The same for messages. `column`: the key, -1 if rows go by a hash of it. `told`: where a HashedColumn of each of
    `width` columns is, and `texts` what texts among them point into."""

    column: int
    told: int
    width: int
    texts: int


def link_routing_key(routing: RoutingKey, schema: Schema, key: Sequence[str]) -> tuple[object, ...]:
    """Say which columns of messages are the key. Returns what has to stay as long as they come."""
    told, texts = hashed_key(schema, key), heap_of_words()
    routing.column = -1 if is_hashed([schema.kind(name) for name in key]) else schema.position(key[0])
    routing.told, routing.width = address_of(told), len(told)
    routing.texts = address_of(texts) if len(texts) else 0
    return told, texts


@kernel
def hashed_columns(routing: RoutingKey) -> Sequence[HashedColumn]:
    """The columns of a key."""
    return records_at(routing.told, routing.width, HashedColumn)


@kernel
def routing_words(graph: RunningGraph, message: int, routing: RoutingKey) -> Words:
    """What each row of a message goes by, int64 (rows,), good until the round's end."""
    if routing.column >= 0:
        return column_of(message, routing.column)
    return words_at(key_hashes(graph, message, hashed_columns(routing), routing.texts), rows_of(message))
