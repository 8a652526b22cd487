"""What a compiled operator's logic may do, beside taking messages and moving tokens: send, ask for frontiers.

A logic is an entry `logic(world, me)` that returns DONE, AGAIN (it wants another run), NEEDS_ROOM (its arrays must
grow, then it is called again; it has taken nothing) or FAILED (with `fail`).
"""

from typing import TypeVar

import numpy as np

from tokenring.engine.native.edges import send_at, send_with
from tokenring.engine.native.layout import (
    DONE,
    NEEDS_ROOM,
    NOBODY,
    ON_ITS_WAY,
    RunningGraph,
    addresses_of,
    inputs_at,
    message_at,
    operators_at,
    outputs_at,
    set_inner,
    state_at,
    world_at,
)
from tokenring.engine.native.memory import let_go, owned_copy
from tokenring.engine.native.messages import (
    end_of_message,
    input_of,
    message_of,
    part_of,
    peek,
    put_behind,
    rows_of,
    take,
)
from tokenring.engine.native.rights import at_hand, is_good, may_be_at, retain, token_at
from tokenring.engine.native.wrongs import NO_SUCH_OUTPUT, fail
from tokenring.engine.progress import count_at, current_frontier, fingerprint, locations_of, pool_words, sum_of_times
from tokenring.engine.times import COMPLETE, MOST_COORDINATES
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
def round_of(world: int) -> int:
    """The number of the round, another one than the one before: what messages point to lasts as long as one."""
    return world_at(world).round


@kernel
def frontier_at(world: int, me: int, port: int) -> int:
    """The least time that may still arrive at the operator's input number `port`; COMPLETE if none."""
    row = input_of(world, me, port)
    if row < 0:
        return 0
    graph = world_at(world)
    return frontier_of(graph, inputs_at(graph)[row].location)


@kernel
def frontier_of(graph: RunningGraph, location: int) -> int:
    """The frontier of a location whose paths are compiled."""
    state = state_at(graph)
    kept = locations_of(state)[location].frontier
    if kept >= 0:
        return kept
    if locations_of(state)[location].row != 0:
        current_frontier(graph.state, location)
    return locations_of(state)[location].reached_frontier


@kernel
def elements_at(world: int, me: int, port: int) -> Words:
    """The frontier of the operator's input number `port`, in a loop or not: the least times that may still arrive,
    int64 (elements, coordinates), which rise; none: nothing can. Where no room is there to find it out, an earlier one.
    """
    row = input_of(world, me, port)
    graph = world_at(world)
    location, depth = inputs_at(graph)[max(row, 0)].location, inputs_at(graph)[max(row, 0)].depth
    frontier = frontier_of(graph, location)
    here, pool = locations_of(state_at(graph))[location], pool_words(state_at(graph))
    count = here.chain_count if here.chain_capacity > 0 else 1
    if frontier == COMPLETE:
        count = 0
    elements = np.zeros((count, depth), np.int64)
    if here.chain_capacity == 0 and count > 0:
        elements[0, 0] = frontier
    else:
        for element in range(count):
            for at in range(depth):
                elements[element, at] = pool[here.chain_region + element * MOST_COORDINATES + at]
    return elements


@kernel
def new_message(world: int, me: int, output: int, rows: int) -> int:
    """A message for the operator's output number `output`, with room for so many rows: its address."""
    graph = world_at(world)
    here = operators_at(graph)[me]
    if output < 0 or output >= here.outputs:
        fail(world, me, NO_SUCH_OUTPUT, output, here.outputs, 0)
        return message_of(graph, _ANY_WIDTH, rows)
    return message_of(graph, outputs_at(graph)[here.first_output + output].width, rows)


@kernel
def answer(world: int, me: int, port: int, output: int, message: int) -> None:
    """Send a message at the time of the one at hand at input `port`; that message itself, or one of its columns, may
    be sent on."""
    taken = at_hand(world, me, port)
    if taken != 0:
        send_with(world, me, output, message, message_at(taken).time, message_at(taken).inner)


@kernel
def send(world: int, me: int, slot: int, message: int, time: int) -> None:
    """Send a message with a token at `time`, which is its own or later; a burst becomes one message of that time."""
    if may_be_at(world, me, slot, time, time):
        _send_by(world, me, slot, message, time)


@kernel
def send_by(world: int, me: int, slot: int, message: int) -> None:
    """Send a message with a token at the token's own time; a burst becomes one message of that time."""
    if is_good(world, me, slot):
        _send_by(world, me, slot, message, token_at(world_at(world), slot).time)


@kernel
def _send_by(world: int, me: int, slot: int, message: int, time: int) -> None:
    graph = world_at(world)
    if message_at(message).keys != 0:
        message = part_of(graph, message, 0, message_at(message).rows)
    token = token_at(graph, slot)
    send_with(world, me, token.output - operators_at(graph)[me].first_output, message, time, token.inner)


@kernel
def send_each(world: int, me: int, slot: int, message: int, position: int) -> None:
    """Send a message with a token for each distinct time in the column at `position`, which ascends; in a loop that is
    the first coordinate, and the others are the token's."""
    if not is_good(world, me, slot):
        return
    graph = world_at(world)
    header = message_at(message)
    if header.rows == 0:
        return
    keys = addresses_of(message)[position]
    times = words_at(keys, header.rows)
    if may_be_at(world, me, slot, times[0], times[header.rows - 1]):
        token = token_at(graph, slot)
        output = token.output - operators_at(graph)[me].first_output
        header.keys, header.at_one_time = keys, 0
        if outputs_at(graph)[token.output].depth == 1:
            send_at(world, me, output, message, times[0])
            return
        start = 0
        while start < header.rows:
            stop = end_of_message(message, start)
            send_with(world, me, output, part_of(graph, message, start, stop), times[start], token.inner)
            start = stop
        header.keys = 0


@kernel
def latest_of(message: int) -> int:
    """A message's time; of a burst the greatest of its messages'."""
    header = message_at(message)
    if header.keys == 0 or header.at_one_time != 0 or header.rows == 0:
        return header.time
    return words_at(header.keys, header.rows)[header.rows - 1]


@kernel
def postpone(world: int, me: int, port: int) -> None:
    """Let the message that `take` would take next wait behind all others."""
    row = input_of(world, me, port)
    here = inputs_at(world_at(world))[row]
    message = here.first
    here.peeked = 0
    if row < 0 or message == here.last:
        return
    here.first = message_at(message).next
    message_at(here.last).next = message
    message_at(message).next = 0
    here.last = message


@kernel
def keep_back(world: int, me: int, port: int, rest: int) -> None:
    """Let a new message, of some rows of the one that `take` takes next, wait behind all others in its place: of one
    time, not a burst. That one is at hand then, so that its other rows can be answered. Nothing is counted: a message
    of that time waits as before, and supports the answer."""
    graph = world_at(world)
    row = input_of(world, me, port)
    if row < 0:
        return
    here = inputs_at(graph)[row]
    message = here.first
    here.first, here.at_hand, here.peeked = message_at(message).next, message, 0
    header = message_at(rest)
    header.time, header.next, header.standing = message_at(message).time, 0, ON_ITS_WAY
    set_inner(header.inner, message_at(message).inner)
    here.first, here.last = put_behind(here.first, here.last, rest), rest
    let_go(graph, message)


@kernel
def take_apart(world: int, me: int, port: int) -> None:
    """Let the messages of the burst that `take` would take next wait one by one, behind all others."""
    graph = world_at(world)
    row = input_of(world, me, port)
    if row < 0:
        return
    here = inputs_at(graph)[row]
    burst = here.first
    here.first, here.peeked = message_at(burst).next, 0
    if here.first == 0:
        here.last = 0
    start, rows = 0, rows_of(burst)
    here.waiting -= 1
    graph.waiting -= 1
    while start < rows:
        stop = end_of_message(burst, start)
        part = part_of(graph, burst, start, stop)
        message_at(part).standing = ON_ITS_WAY
        here.first, here.last = put_behind(here.first, here.last, part), part
        here.waiting += 1
        graph.waiting += 1
        start = stop
    let_go(graph, burst)


@kernel
def set_aside(world: int, me: int, port: int) -> int:
    """Take the next message, and keep it until `let_go_aside`, with a token for output 0 at its time: its address; 0 if
    there is none. Not of bursts, which there are none of in loops."""
    message = take(world, me, port)
    if message == 0:
        return 0
    graph = world_at(world)
    here = inputs_at(graph)[input_of(world, me, port)]
    kept = owned_copy(graph, message, here.texts)
    message_at(kept).edge_number = retain(world, me, port, 0)
    here.aside, here.last_aside = put_behind(here.aside, here.last_aside, kept), kept
    graph.aside += 1
    return kept


@kernel
def first_aside(world: int, me: int, port: int) -> int:
    """The first of the messages that are set aside, in the order in which they came; 0 if there is none."""
    return inputs_at(world_at(world))[input_of(world, me, port)].aside


@kernel
def next_aside(message: int) -> int:
    """The one that came after it."""
    return message_at(message).next


@kernel
def slot_aside(message: int) -> int:
    """The slot of the token that is kept with a message."""
    return message_at(message).edge_number


@kernel
def let_go_aside(world: int, me: int, port: int, message: int) -> None:
    """Keep a message no longer than until the round ends. Its token is the caller's."""
    graph = world_at(world)
    here = inputs_at(graph)[input_of(world, me, port)]
    before, at = 0, here.aside
    while at != message:
        before, at = at, message_at(at).next
    following = message_at(message).next
    if before == 0:
        here.aside = following
    else:
        message_at(before).next = following
    if here.last_aside == message:
        here.last_aside = before
    graph.aside -= 1
    let_go(graph, message)


@kernel
def messages_waiting(world: int, me: int, port: int) -> int:
    """How many messages wait at an input; those of a burst are one."""
    row = input_of(world, me, port)
    return 0 if row < 0 else inputs_at(world_at(world))[row].waiting


@kernel
def wake_at(world: int, me: int, wake_ns: int) -> None:
    """Run the operator again when the monotonic clock shows `wake_ns`; the worker may sleep until then."""
    graph = world_at(world)
    wake_ns = max(1, wake_ns)
    operators_at(graph)[me].wake_ns = wake_ns
    if graph.wake_ns == 0 or wake_ns < graph.wake_ns:
        graph.wake_ns = wake_ns


@kernel
def is_congested(world: int) -> bool:
    """Whether queues are so full, or memory so short, that a source should send nothing now, and look again."""
    graph = world_at(world)
    if graph.pending_edges > 0 or graph.pending_channels > 0:
        return True
    return any_set(graph.congested_flags, graph.workers + 1)


@kernel
def is_backed_up(world: int) -> bool:
    """Whether queues are so full that who makes many rows of few should make none now, and look again. Short memory is
    no reason: who takes rows frees theirs."""
    graph = world_at(world)
    if graph.pending_edges > 0 or graph.pending_channels > 0:
        return True
    first = next_set(graph.congested_flags, graph.workers, 0)
    return 0 <= first < graph.workers


@kernel
def messages_under_way(world: int, locations: Words) -> int:
    """How many messages were sent to these inputs, on whatever workers, and not taken; very many where this worker has
    not said all that it did, since then it cannot know."""
    graph = world_at(world)
    if graph.ring_is_full != 0:
        return NOBODY
    state = state_at(graph)
    total = 0
    for at in range(len(locations)):
        total += count_at(state, locations[at])
    return total


@kernel
def print_of(world: int, locations: Words) -> int:
    """A number that changes, but for rare accidents, when what is counted at these locations does."""
    state = state_at(world_at(world))
    found = 0
    for at in range(len(locations)):
        found = found * 1_000_033 + fingerprint(state, locations[at])
    return found


@kernel
def sum_of_tokens(world: int, location: int) -> int:
    """The sum of the times of all workers' tokens at an output: by it, who holds one can tell all a number."""
    return sum_of_times(state_at(world_at(world)), location)


@kernel
def is_ending(world: int) -> bool:
    """Whether somebody asked for an early end: sources close then."""
    return load_acquire(world_at(world).ending) != 0


@entry
def leave_waiting(world: int, me: int) -> int:
    """The logic of every compiled operator of a dataflow that has failed, while others may still run: nothing is taken.
    """
    return DONE


@entry
def wait_for_message(world: int, me: int) -> int:
    """The logic of an operator whose own is made when the first message comes."""
    for port in range(operators_at(world_at(world))[me].inputs):
        if peek(world, me, port) != 0:
            return NEEDS_ROOM
    return DONE


@entry
def discard(world: int, me: int) -> int:
    """The logic of every compiled operator of a dataflow that was cancelled."""
    for port in range(operators_at(world_at(world))[me].inputs):
        while take(world, me, port) != 0:
            pass
        while first_aside(world, me, port) != 0:
            let_go_aside(world, me, port, first_aside(world, me, port))
    return DONE
