"""Timestamp tokens of compiled operators: rows (operator, output, time), named by their slots.

A slot is a row and a generation of it, so a token's slot is good until the token is dropped and never again, whoever
has the row then (until 2^31 tokens have had it). What a token does is logged where Python's tokens log it, so nobody
who looks at counts can tell them apart. Misuse is noted in the operator's `error`, with operands, and raised when its
call is over.
"""

from tokenring.engine.native.layout import (
    GENERATION,
    RunningGraph,
    TokenRow,
    inputs_at,
    message_at,
    operators_at,
    outputs_at,
    set_inner,
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
from tokenring.shm.kernels import WORDS, Words, int64, kernel, void

NO_TOKEN = -1
_ROW = GENERATION - 1
_POSITIVE = (1 << 63) - 1


@kernel
def token_at(graph: RunningGraph, slot: int) -> TokenRow:
    """The record of the token that a slot names, or named."""
    return tokens_at(graph)[slot & _ROW]


@kernel
def new_token(graph: RunningGraph, me: int, output: int, time: int, inner: Words) -> int:
    """A row for a token whose count is logged, or known to all: its slot; NO_TOKEN if there is no room."""
    row = graph.free_token - 1
    if row >= 0:
        token = tokens_at(graph)[row]
        graph.free_token = token.next_free
        slot = (~token.handle + GENERATION) & _POSITIVE
    elif graph.tokens_used < graph.token_capacity:
        slot = graph.tokens_used
        graph.tokens_used += 1
    else:
        return NO_TOKEN
    token = token_at(graph, slot)
    token.operator, token.output, token.time, token.handle = me, output, time, slot
    set_inner(token.inner, inner)
    operators_at(graph)[me].held += 1
    outputs_at(graph)[output].held += 1
    return slot


@kernel
def at_hand(world: int, me: int, port: int) -> int:
    """The message at hand at the operator's input number `port`; 0 if there is none, which is noted."""
    row = input_of(world, me, port)
    if row < 0:
        return 0
    message = inputs_at(world_at(world))[row].at_hand
    if message == 0:
        fail(world, me, NOTHING_AT_HAND, port, 0, 0)
    return message


@kernel
def retain(world: int, me: int, port: int, output: int) -> int:
    """A token for the operator's output number `output`, at the time of the message at hand at input `port`: its slot.
    """
    graph = world_at(world)
    record = operators_at(graph)[me]
    message = at_hand(world, me, port)
    if message == 0:
        return NO_TOKEN
    if output < 0 or output >= record.outputs:
        fail(world, me, NO_SUCH_OUTPUT, output, record.outputs, 0)
        return NO_TOKEN
    header = message_at(message)
    return _granted(world, graph, me, record.first_output + output, header.time, header.inner)


@kernel
def _granted(world: int, graph: RunningGraph, me: int, output: int, time: int, inner: Words) -> int:
    """A token, which is logged: its slot; where there is no room, that is noted."""
    slot = new_token(graph, me, output, time, inner)
    if slot == NO_TOKEN:
        fail(world, me, TOO_MANY_TOKENS, graph.token_capacity, 0, 0)
    else:
        log_change(graph, outputs_at(graph)[output].location, 1, time, inner)
    return slot


@kernel
def clone(world: int, me: int, slot: int) -> int:
    """Another token for the same output and time: its slot."""
    if not is_good(world, me, slot):
        return NO_TOKEN
    graph = world_at(world)
    token = token_at(graph, slot)
    return _granted(world, graph, me, token.output, token.time, token.inner)


@kernel
def is_live(graph: RunningGraph, slot: int) -> bool:
    """Whether the slot is of a token that was not dropped."""
    return slot >= 0 and slot & _ROW < graph.tokens_used and token_at(graph, slot).handle == slot


@kernel
def is_good(world: int, me: int, slot: int) -> bool:
    """Whether the slot is of a token of this operator; if not, that is noted."""
    graph = world_at(world)
    if not is_live(graph, slot):
        fail(world, me, NO_SUCH_TOKEN, slot if slot < 0 else slot & _ROW, 0, 0)
        return False
    if token_at(graph, slot).operator != me:
        fail(world, me, ANOTHERS_TOKEN, slot & _ROW, 0, 0)
        return False
    return True


@kernel
def may_be_at(world: int, me: int, slot: int, first: int, last: int) -> bool:
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
def downgrade(world: int, me: int, slot: int, time: int) -> None:
    """Give up the right to send before `time`."""
    if not may_be_at(world, me, slot, time, time):
        return
    graph = world_at(world)
    token = token_at(graph, slot)
    if time > token.time:
        location = outputs_at(graph)[token.output].location
        log_change(graph, location, -1, token.time, token.inner)
        log_change(graph, location, 1, time, token.inner)
        token.time = time


@kernel
def downgrade_to(world: int, me: int, slot: int, coordinates: Words) -> None:
    """In a loop, give up the right to send at times that are not these coordinates or later in each: of as many as
    times have there."""
    if not is_good(world, me, slot):
        return
    graph = world_at(world)
    token = token_at(graph, slot)
    before, last = token.time, token.time
    for at in range(len(coordinates)):
        before = token.time if at == 0 else token.inner[at - 1]
        if coordinates[at] < before:
            fail(world, me, BACK_IN_TIME, before, coordinates[at], 0)
            return
        last = max(last, coordinates[at])
    if last > MAX_TIME:
        fail(world, me, BEYOND_TIME, last, 0, 0)
        return
    location = outputs_at(graph)[token.output].location
    log_change(graph, location, -1, token.time, token.inner)
    token.time = coordinates[0]
    for at in range(1, len(coordinates)):
        token.inner[at - 1] = coordinates[at]
    log_change(graph, location, 1, token.time, token.inner)


@kernel
def give_up(graph: RunningGraph, slot: int) -> None:
    """Let a token's row be another's."""
    token = token_at(graph, slot)
    outputs_at(graph)[token.output].held -= 1
    operators_at(graph)[token.operator].held -= 1
    token.handle, token.next_free = ~slot, graph.free_token
    graph.free_token = (slot & _ROW) + 1


@kernel
def drop(world: int, me: int, slot: int) -> None:
    """Give up a token for good."""
    if not is_good(world, me, slot):
        return
    graph = world_at(world)
    token = token_at(graph, slot)
    output = outputs_at(graph)[token.output]
    log_change(graph, output.location, -1, token.time, token.inner)
    give_up(graph, slot)


@kernel
def time_of_token(world: int, slot: int) -> int:
    """The least time at which a token lets its holder send; -1 if it was dropped, which is no time to send at."""
    graph = world_at(world)
    return token_at(graph, slot).time if is_live(graph, slot) else -1


@kernel
def inner_of_token(world: int, slot: int) -> Words:
    """The coordinates of that time behind the first, int64 of shape (3,): 0 where there are none."""
    return token_at(world_at(world), slot).inner


@kernel(int64(int64, int64, int64, WORDS))
def grant(world: int, me: int, output: int, time: Words) -> int:
    """`new_token` for callers in Python: `output` is the row's number, `time` all of a time's coordinates."""
    return new_token(world_at(world), me, output, time[0], time[1:])


@kernel(void(int64, int64))
def cancel_token(world: int, slot: int) -> None:
    """`drop` for callers in Python, who log it."""
    give_up(world_at(world), slot)
