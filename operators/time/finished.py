"""Messages that a compiled operator has set aside, once their times are finished, in order of time, in loops or not."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    Words,
    addresses_of,
    bare_message,
    column_of,
    end_of_message,
    first_aside,
    inner_of,
    lease,
    next_aside,
    peek,
    point_to,
    rows_of,
    set_aside,
    take_apart,
    time_of,
    words_at,
    world_at,
)


@kernel
def set_all_aside(world: int, me: int, port: int) -> None:
    """Set aside what came at an input; of a burst each message by itself."""
    while True:
        message = peek(world, me, port)
        if message == 0:
            return
        if end_of_message(message, 0) < rows_of(message):
            take_apart(world, me, port)  # its messages wait behind others, of which the first may be a burst
        else:
            set_aside(world, me, port)


@kernel
def coordinate_of(message: int, at: int) -> int:
    """One of the coordinates of a message's time."""
    return time_of(message) if at == 0 else inner_of(message)[at - 1]


@kernel
def may_come(frontier: Words, time: Words) -> bool:
    """Whether the time is not finished: some element of a frontier, (elements, coordinates), is less or equal."""
    for element in range(len(frontier)):
        is_less = True
        for at in range(len(time)):
            is_less &= frontier[element, at] <= time[at]
        if is_less:
            return True
    return False


@kernel
def compared(message: int, other: int, depth: int) -> int:
    """Whether a message's time is before another's (-1), the same (0) or behind it (1), coordinate by coordinate."""
    for at in range(depth):
        mine, its = coordinate_of(message, at), coordinate_of(other, at)
        if mine != its:
            return -1 if mine < its else 1
    return 0


@kernel
def finished_aside(world: int, me: int, port: int, elements: Words, depth: int) -> Words:
    """The messages that are set aside at an input of whose times none may come, by the elements of a frontier: in order
    of time, those of one time as they came."""
    count, message = 0, first_aside(world, me, port)
    while message != 0:
        count += 1
        message = next_aside(message)
    found, times = np.empty(count, np.int64), np.empty((depth, count), np.int64)
    count, message = 0, first_aside(world, me, port)
    while message != 0:
        for at in range(depth):
            times[at, count] = coordinate_of(message, at)
        if not may_come(elements, times[:, count]):
            found[count] = message
            count += 1
        message = next_aside(message)
    order = np.arange(count)
    for at in range(depth - 1, -1, -1):
        order = order[np.argsort(times[at, :count][order], kind="mergesort")]
    return found[:count][order]


@kernel
def end_of_time(messages: Words, start: int, depth: int) -> int:
    """Behind which of the messages, in order of time, those end of the time of number `start`."""
    stop = start + 1
    while stop < len(messages) and compared(messages[stop], messages[start], depth) == 0:
        stop += 1
    return stop


@kernel
def together(world: int, messages: Words) -> int:
    """The rows of messages, at least one, as one message."""
    rows = 0
    for message in messages:
        rows += rows_of(message)
    if len(messages) == 1:
        return messages[0]
    width = len(addresses_of(messages[0]))
    made = bare_message(world_at(world), width, rows)
    for column in range(width):
        target, at = words_at(lease(world_at(world), 8 * rows), rows), 0
        for message in messages:
            target[at : at + rows_of(message)] = column_of(message, column)
            at += rows_of(message)
        point_to(made, column, target.ctypes.data)
    return made
