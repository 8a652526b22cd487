"""What a compiled operator's logic may do, beside taking messages and moving tokens: send, ask for frontiers.

A logic is an entry `logic(world, me)` that returns DONE, AGAIN (it wants another run), NEEDS_ROOM (its arrays must
grow, then it is called again; it has taken nothing) or FAILED (with `fail`).
"""

from tokenring.engine.native.edges import send_at
from tokenring.engine.native.layout import (
    AT_ONE_TIME,
    COLUMNS,
    CONGESTED_FLAGS,
    DONE,
    ENDING,
    KEYS,
    PENDING_CHANNELS,
    PENDING_EDGES,
    ROUND,
    ROWS,
    WAKE_NS,
    WORKERS,
    inputs_at,
    operators_at,
    outputs_at,
    state_at,
    world_at,
)
from tokenring.engine.native.messages import input_of, message_of, part_of, take
from tokenring.engine.native.rights import is_good, may_be_at, time_at_hand, token_at
from tokenring.engine.native.wrongs import NO_SUCH_OUTPUT, fail
from tokenring.engine.progress import current_frontier, locations_of
from tokenring.shm.kernels import entry, kernel, words_at
from tokenring.shm.memory import load_acquire
from tokenring.shm.queues import any_set

_ANY_WIDTH = 16  # of a message that no output takes


@kernel
def state_of(world, me, count):  # type: ignore[no-untyped-def]
    """The first `count` words of the operator's state."""
    return words_at(operators_at(world_at(world))[me].state, count)


@kernel
def round_of(world):  # type: ignore[no-untyped-def]
    """The number of the round, another one than the one before: what messages point to lasts as long as one."""
    return world_at(world)[ROUND]


@kernel
def frontier_at(world, me, port):  # type: ignore[no-untyped-def]
    """The least time that may still arrive at the operator's input number `port`; COMPLETE if none."""
    row = input_of(world, me, port)
    if row < 0:
        return 0
    words = world_at(world)
    return frontier_of(words, inputs_at(words)[row].location)


@kernel
def frontier_of(words, location):  # type: ignore[no-untyped-def]
    """The frontier of a location whose paths are compiled."""
    state = state_at(words)
    kept = locations_of(state)[location].frontier
    if kept >= 0:
        return kept
    if locations_of(state)[location].row != 0:
        current_frontier(state, location)
    return locations_of(state)[location].reached_frontier


@kernel
def new_message(world, me, output, rows):  # type: ignore[no-untyped-def]
    """A message for the operator's output number `output`, with room for so many rows: its address."""
    words = world_at(world)
    here = operators_at(words)[me]
    if output < 0 or output >= here.outputs:
        fail(world, me, NO_SUCH_OUTPUT, output, here.outputs, 0)
        return message_of(words, _ANY_WIDTH, rows)
    return message_of(words, outputs_at(words)[here.first_output + output].width, rows)


@kernel
def answer(world, me, port, output, message):  # type: ignore[no-untyped-def]
    """Send a message at the time of the one at hand at input `port`; that message itself, or one of its columns, may
    be sent on."""
    time = time_at_hand(world, me, port)
    if time >= 0:
        send_at(world, me, output, message, time)


@kernel
def send(world, me, slot, message, time):  # type: ignore[no-untyped-def]
    """Send a message with a token at `time`, which is its own or later; a burst becomes one message of that time."""
    if not may_be_at(world, me, slot, time, time):
        return
    words = world_at(world)
    if words_at(message, COLUMNS)[KEYS] != 0:
        message = part_of(words, message, 0, words_at(message, COLUMNS)[ROWS])
    send_at(world, me, token_at(words, slot).output - operators_at(words)[me].first_output, message, time)


@kernel
def send_each(world, me, slot, message, position):  # type: ignore[no-untyped-def]
    """Send a message with a token for each distinct time in the column at `position`, which ascends."""
    if not is_good(world, me, slot):
        return
    words = world_at(world)
    header = words_at(message, COLUMNS + position + 1)
    if header[ROWS] == 0:
        return
    keys = header[COLUMNS + position]
    times = words_at(keys, header[ROWS])
    if may_be_at(world, me, slot, times[0], times[header[ROWS] - 1]):
        header[KEYS], header[AT_ONE_TIME] = keys, 0
        send_at(world, me, token_at(words, slot).output - operators_at(words)[me].first_output, message, times[0])


@kernel
def wake_at(world, me, wake_ns):  # type: ignore[no-untyped-def]
    """Run the operator again when the monotonic clock shows `wake_ns`; the worker may sleep until then."""
    words = world_at(world)
    wake_ns = max(1, wake_ns)
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


@entry
def discard(world, me):  # type: ignore[no-untyped-def]
    """The logic of every compiled operator of a dataflow that was cancelled."""
    for port in range(operators_at(world_at(world))[me].inputs):
        while take(world, me, port) != 0:
            pass
    return DONE
