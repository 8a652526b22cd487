"""What a compiled operator's logic may do, beside taking messages and moving tokens: send, ask for frontiers.

A logic is an entry `logic(world, me)` that returns DONE, AGAIN (it wants another run), NEEDS_ROOM (its arrays must
grow, then it is called again; it has taken nothing) or FAILED (with `fail`).
"""

from tokenring.engine.native.edges import send_at
from tokenring.engine.native.layout import (
    COLUMNS,
    CONGESTED_FLAGS,
    ENDING,
    KEYS,
    PENDING_CHANNELS,
    PENDING_EDGES,
    TIME,
    WAKE_NS,
    WORKERS,
    inputs_at,
    operators_at,
    outputs_at,
    state_at,
    tokens_at,
    world_at,
)
from tokenring.engine.native.messages import message_of
from tokenring.engine.native.rights import BACK_IN_TIME, NOTHING_AT_HAND, fail, is_good
from tokenring.engine.progress import current_frontier, locations_of
from tokenring.shm.kernels import kernel, words_at
from tokenring.shm.memory import load_acquire
from tokenring.shm.queues import any_set


@kernel
def state_of(world, me, count):  # type: ignore[no-untyped-def]
    """The first `count` words of the operator's state."""
    return words_at(operators_at(world_at(world))[me].state, count)


@kernel
def frontier_at(world, me, port):  # type: ignore[no-untyped-def]
    """The least time that may still arrive at the operator's input number `port`; COMPLETE if none."""
    words = world_at(world)
    location = inputs_at(words)[operators_at(words)[me].first_input + port].location
    return frontier_of(words, location)


@kernel
def frontier_of(words, location):  # type: ignore[no-untyped-def]
    """The frontier of a location whose paths are compiled."""
    state = state_at(words)
    kept = locations_of(state)[location].frontier
    if kept >= 0:
        return kept
    current_frontier(state, location)
    return locations_of(state)[location].reached_frontier


@kernel
def new_message(world, me, output, rows):  # type: ignore[no-untyped-def]
    """A message for the operator's output number `output`, with room for so many rows: its address."""
    words = world_at(world)
    return message_of(words, outputs_at(words)[operators_at(words)[me].first_output + output].width, rows)


@kernel
def answer(world, me, port, output, message):  # type: ignore[no-untyped-def]
    """Send a message at the time of the one at hand at input `port`; that message itself, or one of its columns, may
    be sent on."""
    words = world_at(world)
    at_hand = inputs_at(words)[operators_at(words)[me].first_input + port].at_hand
    if at_hand == 0:
        fail(world, me, NOTHING_AT_HAND, port, 0, 0)
    else:
        send_at(world, me, output, message, words_at(at_hand, COLUMNS)[TIME])


@kernel
def send(world, me, slot, message, time):  # type: ignore[no-untyped-def]
    """Send a message with a token at `time`, which is its own or later."""
    if not is_good(world, me, slot):
        return
    words = world_at(world)
    token = tokens_at(words)[slot]
    if time < token.time:
        fail(world, me, BACK_IN_TIME, token.time, time, 0)
        return
    words_at(message, COLUMNS)[KEYS] = 0
    send_at(world, me, token.output - operators_at(words)[me].first_output, message, time)


@kernel
def wake_at(world, me, wake_ns):  # type: ignore[no-untyped-def]
    """Run the operator again when the monotonic clock shows `wake_ns`; the worker may sleep until then."""
    words = world_at(world)
    operators_at(words)[me].wake_ns = wake_ns
    if words[WAKE_NS] == 0 or wake_ns < words[WAKE_NS]:
        words[WAKE_NS] = wake_ns


@kernel
def is_congested(world):  # type: ignore[no-untyped-def]
    """Whether queues are so full that a source should send nothing now, and look again."""
    words = world_at(world)
    if words[PENDING_EDGES] > 0 or words[PENDING_CHANNELS] > 0:
        return True
    return any_set(words[CONGESTED_FLAGS], words[WORKERS])


@kernel
def is_ending(world):  # type: ignore[no-untyped-def]
    """Whether somebody asked for an early end: sources close then."""
    return load_acquire(world_at(world)[ENDING]) != 0
