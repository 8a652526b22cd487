"""Rows of one side of a join that have no partner do not come to it: the keys of the other side go to every worker,
where that side ends and is filtered, so that many rows have none.

This is the semi-join of databases ("sideways information passing"), with Bloom's filter for the keys.
"""

from collections.abc import Sequence

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
    Pipeline,
    Schema,
    Stream,
    int64,
    kernel,
)
from tokenring.engine.compiled import (
    DONE,
    Record,
    RoutingKey,
    Words,
    address_of,
    entry,
    lease,
    link_routing_key,
    routing_words,
    signed,
    unsigned,
    words_at,
    world_at,
)
from tokenring.operators.joins.kept import LEFT, RIGHT, JoinedColumns, can_match, present
from tokenring.operators.mechanisms import CompiledLogic, driven, mechanism_of, own_record
from tokenring.operators.migrate import has_bins, key_words, saving_of
from tokenring.operators.rows import (
    LeavingOut,
    has_known_end,
    is_filtered,
    is_in_vain,
    is_looked_at,
    left_of,
    read_first,
    rows_known,
    select,
)

_MOST_KEYS = 1 << 19  # of more, none is looked for
_BITS = 22  # log2 of the filter's size: 8 bits a key, half a MiB; one row in twenty passes that has no partner
_FIRST, _SECOND = unsigned(0x9E3779B97F4A7C15), unsigned(0xC2B2AE3D27D4EB4F)
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


class Partners(Record):
    """What a worker knows of one side's keys, and `by` what the other side's rows go by. `bits`: where the filter of
    those keys is once all have come, int64 (1 << _BITS - 6,); 0 until then, and where they are too many."""

    by: RoutingKey
    leaving: LeavingOut
    bits: int


@entry
def _pass_partners(world: int, me: int) -> int:
    """The rows of a message that may have a partner."""
    state, own = driven(world, me), own_record(world, me, Partners)
    message = state.reply = state.message
    if own.bits == 0 or not is_looked_at(own.leaving, message):
        return DONE
    graph, bits = world_at(world), words_at(own.bits, 1 << (_BITS - 6))
    words = routing_words(graph, message, own.by)
    chosen, made = words_at(lease(graph, 8 * len(words)), len(words)), 0
    for row in range(len(words)):
        if is_in_vain(made, row):
            made = -1
            break
        one, two = _bit(words[row], _FIRST), _bit(words[row], _SECOND)
        if bits[one >> 6] >> (one & 63) & 1 and bits[two >> 6] >> (two & 63) & 1:
            chosen[made] = row
            made += 1
    state.reply = left_of(graph, own.leaving, message, chosen, made)
    return DONE


class _Keys:
    """The keys of a side, as they come to one worker."""

    def __init__(self, own: Partners) -> None:
        self._own = own
        self._bits = np.zeros(1 << (_BITS - 6), np.int64)
        self._count = 0

    def take(self, rows: InputPort) -> None:
        """Keys arrived, or all have."""
        for _, batch in rows:
            self._count += batch.rows
            if self._count <= _MOST_KEYS:
                add_keys(np.ascontiguousarray(batch["key"]), self._bits)
        if rows.frontier == COMPLETE and self._count <= _MOST_KEYS:
            self._own.bits = address_of(self._bits)


def sides_with_partners(
    columns: JoinedColumns, sides: tuple[AnyStream, Stream], needs: tuple[tuple[str, ...], tuple[str, ...]], unique: int
) -> tuple[AnyStream, Stream]:
    """The sides, one of them perhaps without rows that have no partner: not where those would be missed, as they are
    sent alone, or a second row of a key is an error; nor where little is to be had by it. The side whose keys are asked
    for is read first, else the smaller one. needs: the columns of each side that the join takes."""
    scope = sides[LEFT].scope
    if scope.depth > 1 or has_bins(scope) or saving_of(scope) is not None:
        return sides
    for side, other in ((LEFT, RIGHT), (RIGHT, LEFT)):
        narrow = columns.where[other] is not None or is_filtered(sides[other])
        if narrow and has_known_end(sides[other]) and not columns.how.alone[side] and side != unique:
            said = needs[side], columns.on[side], _keys_known(columns, sides, other)
            left, right = sides
            if side == LEFT:
                return _with_partners(columns, left, *said), right
            return left, _with_partners(columns, right, *said)
    smaller = LEFT if rows_known(sides[LEFT]) < rows_known(sides[RIGHT]) else RIGHT
    read_first(sides[smaller], sides[1 - smaller])
    return sides


def _keys_known(columns: JoinedColumns, sides: tuple[AnyStream, Stream], side: int) -> Partners:
    """Have the keys of one side on every worker: what this one knows of them."""
    own = Partners()
    by, where, sent = columns.on[side], columns.where[side], 0

    def keys_of(batch: Batch) -> Batch | None:
        nonlocal sent
        if sent > _MOST_KEYS:
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
    builder.build(lambda context: _Keys(own).take)
    return own


def _with_partners(
    columns: JoinedColumns, side: AnyStream, needs: Sequence[str], by: Sequence[str], own: Partners
) -> AnyStream:
    """One side without rows that have no partner, as far as that is known."""
    few = select(side, *needs)

    def compiled() -> CompiledLogic:
        return CompiledLogic(own.words, _pass_partners, owners=(own, link_routing_key(own.by, few.schema, by)))

    return mechanism_of(side.scope).respond(
        f"{columns.operator}.partners", (few, Pipeline()), few.schema, None, remembers=False, moves=(),
        compiled=compiled,
    )  # fmt: skip
