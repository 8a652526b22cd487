"""Rows of one side of a join that have no partner do not come to it: the keys of the other side go to every worker,
where that side ends and is filtered, so that many rows have none.

This is the semi-join of databases ("sideways information passing"), with Bloom's filter for the keys.
"""

from collections.abc import Callable

import numpy as np

from tokenring.engine import (
    COLUMN,
    COMPLETE,
    WORDS,
    AnyStream,
    Batch,
    Broadcast,
    InputPort,
    Notify,
    Schema,
    Stream,
    Thins,
    int64,
    kernel,
)
from tokenring.engine.compiled import Words, signed, unsigned
from tokenring.operators.joins.kept import LEFT, RIGHT, JoinedColumns, can_match, present
from tokenring.operators.migrate import has_bins, key_words, saving_of
from tokenring.operators.rows import has_known_end, is_filtered, read_first, rows_known

_MOST_KEYS = 1 << 19  # of more, none is looked for
_BITS = 22  # log2 of the filter's size: 8 bits a key, half a MiB; one row in twenty passes that has no partner
_FIRST, _SECOND = unsigned(0x9E3779B97F4A7C15), unsigned(0xC2B2AE3D27D4EB4F)
_PIECE_ROWS = 4096  # after which it is asked whether it pays
_KEYS = Schema.of({"key": "int64"})


@kernel
def _bit(word: int, factor: int) -> int:
    return signed((unsigned(word) * factor) >> unsigned(64 - _BITS))


@kernel(int64(COLUMN, WORDS))
def add_keys(words: Words, bits: Words) -> int:
    """Keep keys, int64 (n,), in a filter, int64 (1 << _BITS - 6,)."""
    for word in words:
        for factor in (_FIRST, _SECOND):
            bit = _bit(word, factor)
            bits[bit >> 6] |= 1 << (bit & 63)
    return 0


@kernel(int64(COLUMN, WORDS, WORDS))
def with_partners(words: Words, bits: Words, chosen: Words) -> int:
    """Write the rows whose keys may be in a filter to `chosen`, int64 (rows,). Returns how many; -1 if more than half.
    """
    made = 0
    for row in range(len(words)):
        if row % _PIECE_ROWS == 0 and 2 * made > row:
            return -1
        one, two = _bit(words[row], _FIRST), _bit(words[row], _SECOND)
        if bits[one >> 6] >> (one & 63) & 1 and bits[two >> 6] >> (two & 63) & 1:
            chosen[made] = row
            made += 1
    return made if 2 * made <= len(words) else -1


class _Partners:
    """What one worker knows of the keys of a side, and asks of the other side's messages."""

    def __init__(self, by: tuple[str, ...]) -> None:
        """by: the columns of the other side's key."""
        self._by = by
        self.is_asked = False
        self._bits: np.ndarray | None = np.zeros(1 << (_BITS - 6), np.int64)
        self._keys = 0
        self._is_whole = False

    def take(self, rows: InputPort) -> None:
        """Keys arrived, or all have."""
        for _, batch in rows:
            self._keys += batch.rows
            if self._keys > _MOST_KEYS:
                self._bits = None
            if self._bits is not None:
                add_keys(np.ascontiguousarray(batch["key"]), self._bits)
        self._is_whole = rows.frontier == COMPLETE

    def thin(self, batch: Batch) -> Batch | None:
        """The rows that may have a partner; None where those are most."""
        if not self._is_whole:
            return batch
        if self._bits is None:
            return None
        chosen = np.empty(batch.rows, np.int64)
        left = with_partners(key_words(batch, self._by), self._bits, chosen)
        return None if left < 0 else batch.take(chosen[:left])


def partners_known(columns: JoinedColumns, sides: tuple[AnyStream, Stream], unique: int) -> list[Thins | None]:
    """For each side what leaves out its rows that have no partner (see Exchange). None where those would be missed, as
    they are sent alone, or a second row of a key is an error; and where little is to be had by it. The side whose keys
    are asked for is read first, else the smaller one."""
    scope = sides[LEFT].scope
    thins: list[Thins | None] = [None, None]
    if scope.depth > 1 or has_bins(scope) or saving_of(scope) is not None:
        return thins
    for side, other in ((LEFT, RIGHT), (RIGHT, LEFT)):
        narrow = columns.where[other] is not None or is_filtered(sides[other])
        if narrow and has_known_end(sides[other]) and not columns.how.alone[side] and side != unique:
            thins[side] = _spread(columns, sides, other)
            return thins
    smaller = LEFT if rows_known(sides[LEFT]) < rows_known(sides[RIGHT]) else RIGHT
    read_first(sides[smaller], sides[1 - smaller])
    return thins


def _spread(columns: JoinedColumns, sides: tuple[AnyStream, Stream], side: int) -> Thins:
    """Have the keys of one side on every worker; what asks the other side's rows for them."""
    partners = _Partners(columns.on[1 - side])
    by, where, sent = columns.on[side], columns.where[side], 0

    def keys_of(batch: Batch) -> Batch | None:
        nonlocal sent
        if sent > _MOST_KEYS or not partners.is_asked:
            return None
        batch = present(batch, by)
        if where is not None:
            batch = batch.filter(can_match(batch, where))
        sent += batch.rows
        return Batch.wrap(_KEYS, (key_words(batch, by),), batch.rows, ())

    keys = sides[side].apply(f"{columns.operator}.keys", _KEYS, keys_of)
    builder = keys.operator(f"{columns.operator}.keys", Notify.ALWAYS)
    builder.input(keys, Broadcast())
    read_first(sides[side], sides[1 - side], builder.probe(0))
    builder.build(lambda context: partners.take)

    def asks() -> Callable[[Batch], Batch | None]:
        partners.is_asked = True
        return partners.thin

    return asks
