"""Messages between compiled operators: made in the round's memory, sent on, taken; each counted in the log."""

from tokenring.engine.native.due import make_due
from tokenring.engine.native.layout import (
    CHECKED,
    FRESH,
    MESSAGE_WORDS,
    ON_ITS_WAY,
    OWN_BLOCK,
    RunningGraph,
    addresses_of,
    inputs_at,
    message_at,
    operators_at,
    set_inner,
    world_at,
)
from tokenring.engine.native.memory import append, lease, let_go, log_change, owned_copy, refuse
from tokenring.engine.native.wrongs import NO_SUCH_INPUT, fail
from tokenring.shm.kernels import Words, kernel, words_at

_PAD = 8  # columns begin on cache lines
_ROWS_BITS = 40  # of the number of a message's rows; more have no address


@kernel
def bare_message(graph: RunningGraph, width: int, rows: int) -> int:
    """A message of this round whose columns are yet to be pointed to: its address."""
    message = lease(graph, 8 * (MESSAGE_WORDS + width))
    header = message_at(message)
    header.next = header.time = header.keys = header.edge_number = header.at_one_time = 0
    header.places = 0
    set_inner(header.inner, graph.no_inner)
    header.standing = FRESH
    header.rows, header.width = rows, width
    return message


@kernel
def point_to(message: int, position: int, address: int) -> None:
    """Let a column of a bare message be the words at an address, which stay until they are read: where a message still
    waits when its round ends, they are copied."""
    addresses_of(message)[position] = address


@kernel
def message_of(graph: RunningGraph, width: int, rows: int) -> int:
    """A message of this round with `width` columns of so many rows, whatever is in them: its address."""
    if rows >> _ROWS_BITS != 0:  # below zero, too
        refuse(graph, rows, 8 * width)
    message = bare_message(graph, width, rows)
    columns = addresses_of(message)
    stride = (rows + _PAD - 1) // _PAD * _PAD * 8
    at = lease(graph, stride * width)
    for column in range(width):
        columns[column] = at + column * stride
    return message


@kernel
def alias_of(graph: RunningGraph, message: int, positions: int, width: int) -> int:
    """Another message of the same rows, with those columns that the words at address `positions` name; 0: with all."""
    header = message_at(message)
    alias = bare_message(graph, width, header.rows)
    target, columns = message_at(alias), addresses_of(alias)
    target.time, target.keys, target.at_one_time = header.time, header.keys, header.at_one_time
    set_inner(target.inner, header.inner)
    origin = addresses_of(message)
    if positions == 0:
        for column in range(width):
            columns[column] = origin[column]
    else:
        chosen = words_at(positions, width)
        for column in range(width):
            columns[column] = origin[chosen[column]]
    return alias


@kernel
def part_of(graph: RunningGraph, message: int, start: int, stop: int) -> int:
    """Rows start..stop of a message as a message of one time, that of row `start`."""
    header = message_at(message)
    width = header.width
    part = bare_message(graph, width, stop - start)
    target, columns, origin = message_at(part), addresses_of(part), addresses_of(message)
    target.time = header.time
    set_inner(target.inner, header.inner)
    if header.keys != 0 and header.at_one_time == 0:
        target.time = words_at(header.keys, header.rows)[start]
    for column in range(width):
        columns[column] = origin[column] + 8 * start
    return part


@kernel
def gathered(graph: RunningGraph, column: Words, chosen: Words) -> int:
    """The address of a copy of the chosen rows of a column, one after the other; it stays until the round's end."""
    made = lease(graph, 8 * len(chosen))
    target = words_at(made, len(chosen))
    for i in range(len(chosen)):
        target[i] = column[chosen[i]]
    return made


@kernel
def chosen_rows(graph: RunningGraph, message: int, rows: Words) -> int:
    """A message of these rows of one, at the same time, good until the round's end."""
    made = part_of(graph, message, 0, len(rows))
    for column in range(len(addresses_of(message))):
        point_to(made, column, gathered(graph, column_of(message, column), rows))
    return made


@kernel
def end_of_message(message: int, start: int) -> int:
    """Behind which row the message ends to which row `start` belongs; a burst is several."""
    header = message_at(message)
    rows = header.rows
    if header.keys == 0:
        return rows
    keys = words_at(header.keys, rows)
    end = start + 1
    while end < rows and keys[end] == keys[start]:
        end += 1
    return end


@kernel
def rows_of(message: int) -> int:
    """How many rows a message has."""
    return message_at(message).rows


@kernel
def time_of(message: int) -> int:
    """A message's time; of a burst the least of its messages'."""
    return message_at(message).time


@kernel
def inner_of(message: int) -> Words:
    """The coordinates of a message's time behind the first, int64 of shape (3,): 0 where there are none."""
    return message_at(message).inner


@kernel
def column_of(message: int, position: int) -> Words:
    """A column's words: int64 of shape (rows,), good until the round's end. What a message brought is not to be
    written to: others read it as well."""
    return words_at(addresses_of(message)[position], message_at(message).rows)


@kernel
def keys_of(message: int) -> int:
    """Where a burst has the key of each row, by which its messages are told apart; 0 of a single message."""
    return message_at(message).keys


@kernel
def give_keys(message: int, keys: int, at_one_time: bool = False) -> None:
    """Let a message that is being made be a burst, of the keys at an address; or a single one, with 0. at_one_time:
    whether its messages are all at the time that it is sent at, and not at their keys."""
    message_at(message).keys, message_at(message).at_one_time = keys, at_one_time


@kernel
def shorten(message: int, rows: int) -> None:
    """Let a message that was made too long have its first `rows` rows only."""
    message_at(message).rows = rows


@kernel
def note_arrival(graph: RunningGraph, location: int, message: int) -> None:
    """Note that a message came, or each of a burst's, for the checks of what is consumed."""
    header = message_at(message)
    if header.keys == 0:
        append(graph, graph.arrived_here, location, 1, header.time, header.inner)
        return
    keys = words_at(header.keys, header.rows)
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            time = header.time if header.at_one_time != 0 else keys[i]
            append(graph, graph.arrived_here, location, 1, time, header.inner)


@kernel
def put_behind(first: int, last: int, message: int) -> int:
    """Put a message behind the last one of a list; the first one of it, 0 where there is none before."""
    if first == 0:
        return message
    message_at(last).next = message
    return first


@kernel
def enqueue(graph: RunningGraph, port: int, message: int) -> None:
    """Let a message, which is counted, wait at an input, and its operator run."""
    here = inputs_at(graph)[port]
    header = message_at(message)
    header.next, header.standing = 0, ON_ITS_WAY
    if graph.observed & CHECKED != 0:
        note_arrival(graph, here.location, message)
    here.first, here.last = put_behind(here.first, here.last, message), message
    here.waiting += 1
    graph.waiting += 1
    make_due(graph, here.operator)


@kernel
def log_messages(graph: RunningGraph, location: int, delta: int, message: int) -> None:
    """Log `delta` for the message; for each of a burst's, which are as many as it has distinct keys."""
    header = message_at(message)
    if header.keys == 0:
        log_change(graph, location, delta, header.time, header.inner)
        return
    keys = words_at(header.keys, header.rows)
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            log_change(graph, location, delta, header.time if header.at_one_time != 0 else keys[i], header.inner)


@kernel
def input_of(world: int, me: int, port: int) -> int:
    """The row of the operator's input number `port`; -1 if it has none of that number, which is noted."""
    here = operators_at(world_at(world))[me]
    if port < 0 or port >= here.inputs:
        fail(world, me, NO_SUCH_INPUT, port, here.inputs, 0)
        return -1
    return here.first_input + port


@kernel
def peek(world: int, me: int, port: int) -> int:
    """The message that `take` takes next, which stays there; 0 if there is none. Where much has been logged in this
    call there is none either: the operator is run again once that is published."""
    graph = world_at(world)
    row = input_of(world, me, port)
    if row < 0:
        return 0
    here = inputs_at(graph)[row]
    if here.first != 0 and here.first != here.peeked and 2 * graph.log_count > graph.log_capacity:
        graph.take_stopped = 1
        return 0
    here.peeked = here.first
    return here.first


@kernel
def take(world: int, me: int, port: int) -> int:
    """The next message that waits at the operator's input number `port`, 0 if none does. It is consumed: the right to
    answer it lasts until the next is taken, or the call ends."""
    message = peek(world, me, port)
    row = input_of(world, me, port)
    if row < 0:
        return 0
    graph = world_at(world)
    here = inputs_at(graph)[row]
    here.at_hand, here.peeked = message, 0
    if message != 0:
        here.first = message_at(message).next
        here.waiting -= 1
        graph.waiting -= 1
        log_messages(graph, here.location, -1, message)
        let_go(graph, message)
    return message


@kernel
def keep_waiting(graph: RunningGraph, port: int) -> None:
    """The round ends: what an input still has waiting gets memory of its own."""
    here = inputs_at(graph)[port]
    message = here.first
    before = 0
    while message != 0:
        header = message_at(message)
        following = header.next
        if header.standing != OWN_BLOCK:
            graph.stopped_at = here.operator  # for the error, should there be no memory
            kept = owned_copy(graph, message, here.texts)
            message_at(kept).next = following
            if before == 0:
                here.first = kept
            else:
                message_at(before).next = kept
            if here.last == message:
                here.last = kept
            message = kept
        before = message
        message = following
