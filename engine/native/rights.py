"""Timestamp tokens of compiled operators: rows (operator, output, time), named by their slots.

A slot is a row and a generation of it, so a token's slot is good until the token is dropped and never again, whoever
has the row then (until 2^31 tokens have had it). What a token does is logged where Python's tokens log it, so nobody
who looks at counts can tell them apart. Misuse is noted in the operator's `error`, with operands, and raised when its
call is over.
"""

from tokenring.engine.native.layout import (
    COLUMNS,
    FREE_TOKEN,
    GENERATION,
    TIME,
    TOKEN_CAPACITY,
    TOKENS_USED,
    inputs_at,
    operators_at,
    outputs_at,
    tokens_at,
    world_at,
)
from tokenring.engine.native.memory import log_change
from tokenring.engine.native.messages import input_of
from tokenring.engine.native.wrongs import (
    ANOTHERS_TOKEN,
    BACK_IN_TIME,
    BEYOND_TIME,
    NO_SUCH_OUTPUT,
    NO_SUCH_TOKEN,
    NOTHING_AT_HAND,
    TOO_MANY_TOKENS,
    fail,
)
from tokenring.engine.times import MAX_TIME
from tokenring.shm.kernels import int64, kernel, void, words_at

NO_TOKEN = -1
_ROW = GENERATION - 1
_POSITIVE = (1 << 63) - 1


@kernel
def token_at(words, slot):  # type: ignore[no-untyped-def]
    """The record of the token that a slot names, or named."""
    return tokens_at(words)[slot & _ROW]


@kernel
def new_token(words, me, output, time):  # type: ignore[no-untyped-def]
    """A row for a token whose count is logged, or known to all: its slot; NO_TOKEN if there is no room."""
    row = words[FREE_TOKEN] - 1
    if row >= 0:
        token = tokens_at(words)[row]
        words[FREE_TOKEN] = token.next_free
        slot = (~token.handle + GENERATION) & _POSITIVE
    elif words[TOKENS_USED] < words[TOKEN_CAPACITY]:
        slot = words[TOKENS_USED]
        words[TOKENS_USED] += 1
    else:
        return NO_TOKEN
    token = token_at(words, slot)
    token.operator, token.output, token.time, token.handle = me, output, time, slot
    operators_at(words)[me].held += 1
    outputs_at(words)[output].held += 1
    return slot


@kernel
def time_at_hand(world, me, port):  # type: ignore[no-untyped-def]
    """The time of the message at hand at the operator's input number `port`; -1 if there is none, which is noted."""
    row = input_of(world, me, port)
    if row < 0:
        return -1
    at_hand = inputs_at(world_at(world))[row].at_hand
    if at_hand == 0:
        fail(world, me, NOTHING_AT_HAND, port, 0, 0)
        return -1
    return words_at(at_hand, COLUMNS)[TIME]


@kernel
def retain(world, me, port, output):  # type: ignore[no-untyped-def]
    """A token for the operator's output number `output`, at the time of the message at hand at input `port`: its slot.
    """
    words = world_at(world)
    record = operators_at(words)[me]
    time = time_at_hand(world, me, port)
    if time < 0:
        return NO_TOKEN
    if output < 0 or output >= record.outputs:
        fail(world, me, NO_SUCH_OUTPUT, output, record.outputs, 0)
        return NO_TOKEN
    slot = new_token(words, me, record.first_output + output, time)
    if slot == NO_TOKEN:
        fail(world, me, TOO_MANY_TOKENS, words[TOKEN_CAPACITY], 0, 0)
    else:
        log_change(words, outputs_at(words)[record.first_output + output].location, 1, time)
    return slot


@kernel
def is_live(words, slot):  # type: ignore[no-untyped-def]
    """Whether the slot is of a token that was not dropped."""
    return slot >= 0 and slot & _ROW < words[TOKENS_USED] and token_at(words, slot).handle == slot


@kernel
def is_good(world, me, slot):  # type: ignore[no-untyped-def]
    """Whether the slot is of a token of this operator; if not, that is noted."""
    words = world_at(world)
    if not is_live(words, slot):
        fail(world, me, NO_SUCH_TOKEN, slot if slot < 0 else slot & _ROW, 0, 0)
        return False
    if token_at(words, slot).operator != me:
        fail(world, me, ANOTHERS_TOKEN, slot & _ROW, 0, 0)
        return False
    return True


@kernel
def may_be_at(world, me, slot, first, last):  # type: ignore[no-untyped-def]
    """Whether a token of this operator is good for all times from `first` to `last`; if not, that is noted."""
    if not is_good(world, me, slot):
        return False
    token = token_at(world_at(world), slot)
    if first < token.time:
        fail(world, me, BACK_IN_TIME, token.time, first, 0)
        return False
    if last > MAX_TIME:
        fail(world, me, BEYOND_TIME, last, 0, 0)
        return False
    return True


@kernel
def downgrade(world, me, slot, time):  # type: ignore[no-untyped-def]
    """Give up the right to send before `time`."""
    if not may_be_at(world, me, slot, time, time):
        return
    words = world_at(world)
    token = token_at(words, slot)
    if time > token.time:
        location = outputs_at(words)[token.output].location
        log_change(words, location, -1, token.time)
        log_change(words, location, 1, time)
        token.time = time


@kernel
def give_up(words, slot):  # type: ignore[no-untyped-def]
    """Let a token's row be another's."""
    token = token_at(words, slot)
    outputs_at(words)[token.output].held -= 1
    operators_at(words)[token.operator].held -= 1
    token.handle, token.next_free = ~slot, words[FREE_TOKEN]
    words[FREE_TOKEN] = (slot & _ROW) + 1


@kernel
def drop(world, me, slot):  # type: ignore[no-untyped-def]
    """Give up a token for good."""
    if not is_good(world, me, slot):
        return
    words = world_at(world)
    token = token_at(words, slot)
    output = outputs_at(words)[token.output]
    log_change(words, output.location, -1, token.time)
    give_up(words, slot)


@kernel
def time_of_token(world, slot):  # type: ignore[no-untyped-def]
    """The least time at which a token lets its holder send; -1 if it was dropped, which is no time to send at."""
    words = world_at(world)
    return token_at(words, slot).time if is_live(words, slot) else -1


@kernel(int64(int64, int64, int64, int64))
def grant(world, me, output, time):  # type: ignore[no-untyped-def]
    """`new_token` for callers in Python: `output` is the row's number."""
    return new_token(world_at(world), me, output, time)


@kernel(void(int64, int64))
def cancel_token(world, slot):  # type: ignore[no-untyped-def]
    """`drop` for callers in Python, who log it."""
    give_up(world_at(world), slot)
