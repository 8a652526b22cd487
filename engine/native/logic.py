"""What a compiled operator's logic may do, beside taking messages and moving tokens: send, ask for frontiers.

A logic is an entry `logic(world, me)` that returns DONE, AGAIN (it wants another run), NEEDS_ROOM (its arrays must
grow, then it is called again; it has taken nothing) or FAILED (with `fail`).
"""

from typing import TypeVar

from tokenring.engine.native.edges import send_at
from tokenring.engine.native.layout import (
    AT_ONE_TIME,
    COLUMNS,
    CONGESTED_FLAGS,
    DONE,
    ENDING,
    KEYS,
    NEXT,
    NOBODY,
    ON_ITS_WAY,
    PENDING_CHANNELS,
    PENDING_EDGES,
    RING_IS_FULL,
    ROUND,
    ROWS,
    STANDING,
    TIME,
    WAITING,
    WAKE_NS,
    WORKERS,
    inputs_at,
    operators_at,
    outputs_at,
    state_at,
    world_at,
)
from tokenring.engine.native.memory import let_go
from tokenring.engine.native.messages import end_of_message, input_of, message_of, part_of, rows_of, take
from tokenring.engine.native.rights import is_good, may_be_at, time_at_hand, token_at
from tokenring.engine.native.wrongs import NO_SUCH_OUTPUT, fail
from tokenring.engine.progress import count_at, current_frontier, fingerprint, locations_of, sum_of_times
from tokenring.shm.kernels import Words, entry, kernel, record_at, words_at
from tokenring.shm.memory import load_acquire
from tokenring.shm.queues import any_set, next_set

R = TypeVar("R")
_ANY_WIDTH = 16  # of a message that no output takes


@kernel
def state_of(world: int, me: int, count: int) -> Words:
    """The first `count` words of the operator's state."""
    return words_at(operators_at(world_at(world))[me].state, count)


@kernel
def state_as(world: int, me: int, record: type[R]) -> R:
    """The operator's state, as the record that its words begin with."""
    return record_at(operators_at(world_at(world))[me].state, record)


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
def latest_of(message):  # type: ignore[no-untyped-def]
    """A message's time; of a burst the greatest of its messages'."""
    header = words_at(message, COLUMNS)
    if header[KEYS] == 0 or header[AT_ONE_TIME] or header[ROWS] == 0:
        return header[TIME]
    return words_at(header[KEYS], header[ROWS])[header[ROWS] - 1]


@kernel
def postpone(world, me, port):  # type: ignore[no-untyped-def]
    """Let the message that `take` would take next wait behind all others."""
    row = input_of(world, me, port)
    here = inputs_at(world_at(world))[row]
    message = here.first
    here.peeked = 0
    if row < 0 or message == here.last:
        return
    here.first = words_at(message, COLUMNS)[NEXT]
    words_at(here.last, COLUMNS)[NEXT] = message
    words_at(message, COLUMNS)[NEXT] = 0
    here.last = message


@kernel
def keep_back(world, me, port, rest):  # type: ignore[no-untyped-def]
    """Let a new message, of some rows of the one that `take` takes next, wait behind all others in its place: of one
    time, not a burst. That one is at hand then, so that its other rows can be answered. Nothing is counted: a message
    of that time waits as before, and supports the answer."""
    words = world_at(world)
    row = input_of(world, me, port)
    if row < 0:
        return
    here = inputs_at(words)[row]
    message = here.first
    here.first, here.at_hand, here.peeked = words_at(message, COLUMNS)[NEXT], message, 0
    header = words_at(rest, COLUMNS)
    header[TIME], header[NEXT], header[STANDING] = words_at(message, COLUMNS)[TIME], 0, ON_ITS_WAY
    if here.first == 0:
        here.first = rest
    else:
        words_at(here.last, COLUMNS)[NEXT] = rest
    here.last = rest
    let_go(words, message)


@kernel
def take_apart(world, me, port):  # type: ignore[no-untyped-def]
    """Let the messages of the burst that `take` would take next wait one by one, behind all others."""
    words = world_at(world)
    row = input_of(world, me, port)
    if row < 0:
        return
    here = inputs_at(words)[row]
    burst = here.first
    here.first, here.peeked = words_at(burst, COLUMNS)[NEXT], 0
    if here.first == 0:
        here.last = 0
    start, rows = 0, rows_of(burst)
    here.waiting -= 1
    words[WAITING] -= 1
    while start < rows:
        stop = end_of_message(burst, start)
        part = part_of(words, burst, start, stop)
        words_at(part, COLUMNS)[STANDING] = ON_ITS_WAY
        if here.first == 0:
            here.first = part
        else:
            words_at(here.last, COLUMNS)[NEXT] = part
        here.last = part
        here.waiting += 1
        words[WAITING] += 1
        start = stop
    let_go(words, burst)


@kernel
def messages_waiting(world, me, port):  # type: ignore[no-untyped-def]
    """How many messages wait at an input; those of a burst are one."""
    row = input_of(world, me, port)
    return 0 if row < 0 else inputs_at(world_at(world))[row].waiting


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
    """Whether queues are so full, or memory so short, that a source should send nothing now, and look again."""
    words = world_at(world)
    if words[PENDING_EDGES] > 0 or words[PENDING_CHANNELS] > 0:
        return True
    return any_set(words[CONGESTED_FLAGS], words[WORKERS] + 1)


@kernel
def is_backed_up(world):  # type: ignore[no-untyped-def]
    """Whether queues are so full that who makes many rows of few should make none now, and look again. Short memory is
    no reason: who takes rows frees theirs."""
    words = world_at(world)
    if words[PENDING_EDGES] > 0 or words[PENDING_CHANNELS] > 0:
        return True
    first = next_set(words[CONGESTED_FLAGS], words[WORKERS], 0)
    return 0 <= first < words[WORKERS]


@kernel
def messages_under_way(world, locations):  # type: ignore[no-untyped-def]
    """How many messages were sent to these inputs, on whatever workers, and not taken; very many where this worker has
    not said all that it did, since then it cannot know."""
    words = world_at(world)
    if words[RING_IS_FULL]:
        return NOBODY
    state = state_at(words)
    total = 0
    for at in range(len(locations)):
        total += count_at(state, locations[at])
    return total


@kernel
def print_of(world, locations):  # type: ignore[no-untyped-def]
    """A number that changes, but for rare accidents, when what is counted at these locations does."""
    state = state_at(world_at(world))
    found = 0
    for at in range(len(locations)):
        found = found * 1_000_033 + fingerprint(state, locations[at])
    return found


@kernel
def sum_of_tokens(world, location):  # type: ignore[no-untyped-def]
    """The sum of the times of all workers' tokens at an output: by it, who holds one can tell all a number."""
    return sum_of_times(state_at(world_at(world)), location)


@kernel
def is_ending(world):  # type: ignore[no-untyped-def]
    """Whether somebody asked for an early end: sources close then."""
    return load_acquire(world_at(world)[ENDING]) != 0


@entry
def leave_waiting(world, me):  # type: ignore[no-untyped-def]
    """The logic of every compiled operator of a dataflow that has failed, while others may still run: nothing is taken.
    """
    return DONE


@entry
def discard(world, me):  # type: ignore[no-untyped-def]
    """The logic of every compiled operator of a dataflow that was cancelled."""
    for port in range(operators_at(world_at(world))[me].inputs):
        while take(world, me, port) != 0:
            pass
    return DONE
