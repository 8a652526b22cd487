"""Messages between compiled operators: made in the round's memory, sent on, taken; each counted in the log."""

from tokenring.engine.native.due import make_due
from tokenring.engine.native.layout import (
    ARRIVED_HERE,
    AT_ONE_TIME,
    CHECKED,
    COLUMNS,
    EDGE_NUMBER,
    FRESH,
    KEYS,
    LOG_CAPACITY,
    LOG_COUNT,
    MESSAGE_WORDS,
    NEXT,
    OBSERVED,
    ON_ITS_WAY,
    OWN_BLOCK,
    ROWS,
    STANDING,
    STOPPED_AT,
    TAKE_STOPPED,
    TIME,
    WAITING,
    WIDTH,
    inputs_at,
    operators_at,
    world_at,
)
from tokenring.engine.native.memory import append, claim, let_go, log_change, owned_copy, refuse
from tokenring.engine.native.wrongs import NO_SUCH_INPUT, fail
from tokenring.shm.kernels import kernel, words_at

_PAD = 8  # columns begin on cache lines
_ROWS_BITS = 40  # of the number of a message's rows; more have no address


@kernel
def bare_message(words, width, rows):  # type: ignore[no-untyped-def]
    """A message of this round whose columns are yet to be pointed to: its address."""
    message = claim(words, 8 * (MESSAGE_WORDS + width))
    header = words_at(message, MESSAGE_WORDS)
    header[NEXT] = header[TIME] = header[KEYS] = header[EDGE_NUMBER] = header[AT_ONE_TIME] = 0
    header[STANDING] = FRESH
    header[ROWS], header[WIDTH] = rows, width
    return message


@kernel
def point_to(message, position, address):  # type: ignore[no-untyped-def]
    """Let a column of a bare message be the words at an address, which stay until they are read: where a message still
    waits when its round ends, they are copied."""
    words_at(message + 8 * (COLUMNS + position), 1)[0] = address


@kernel
def message_of(words, width, rows):  # type: ignore[no-untyped-def]
    """A message of this round with `width` columns of so many rows, whatever is in them: its address."""
    if rows >> _ROWS_BITS != 0:  # below zero, too
        refuse(words, rows, 8 * width)
    message = bare_message(words, width, rows)
    columns = words_at(message + 8 * COLUMNS, width)
    stride = (rows + _PAD - 1) // _PAD * _PAD * 8
    at = claim(words, stride * width)
    for column in range(width):
        columns[column] = at + column * stride
    return message


@kernel
def alias_of(words, message, positions, width):  # type: ignore[no-untyped-def]
    """Another message of the same rows, with those columns that the words at address `positions` name; 0: with all."""
    header = words_at(message, COLUMNS)
    alias = bare_message(words, width, header[ROWS])
    target = words_at(alias, COLUMNS + width)
    target[TIME], target[KEYS], target[AT_ONE_TIME] = header[TIME], header[KEYS], header[AT_ONE_TIME]
    origin = words_at(message + 8 * COLUMNS, header[WIDTH])
    if positions == 0:
        for column in range(width):
            target[COLUMNS + column] = origin[column]
    else:
        chosen = words_at(positions, width)
        for column in range(width):
            target[COLUMNS + column] = origin[chosen[column]]
    return alias


@kernel
def part_of(words, message, start, stop):  # type: ignore[no-untyped-def]
    """Rows start..stop of a message as a message of one time, that of row `start`."""
    header = words_at(message, COLUMNS)
    width = header[WIDTH]
    part = bare_message(words, width, stop - start)
    target, origin = words_at(part, COLUMNS + width), words_at(message, COLUMNS + width)
    target[TIME] = header[TIME]
    if header[KEYS] != 0 and header[AT_ONE_TIME] == 0:
        target[TIME] = words_at(header[KEYS], header[ROWS])[start]
    for column in range(COLUMNS, COLUMNS + width):
        target[column] = origin[column] + 8 * start
    return part


@kernel
def gathered(words, column, chosen):  # type: ignore[no-untyped-def]
    """The address of a copy of the chosen rows of a column, one after the other; it stays until the round's end."""
    made = claim(words, 8 * len(chosen))
    target = words_at(made, len(chosen))
    for i in range(len(chosen)):
        target[i] = column[chosen[i]]
    return made


@kernel
def end_of_message(message, start):  # type: ignore[no-untyped-def]
    """Behind which row the message ends to which row `start` belongs; a burst is several."""
    header = words_at(message, COLUMNS)
    rows = header[ROWS]
    if header[KEYS] == 0:
        return rows
    keys = words_at(header[KEYS], rows)
    end = start + 1
    while end < rows and keys[end] == keys[start]:
        end += 1
    return end


@kernel
def rows_of(message):  # type: ignore[no-untyped-def]
    """How many rows a message has."""
    return words_at(message, COLUMNS)[ROWS]


@kernel
def time_of(message):  # type: ignore[no-untyped-def]
    """A message's time; of a burst the least of its messages'."""
    return words_at(message, COLUMNS)[TIME]


@kernel
def column_of(message, position):  # type: ignore[no-untyped-def]
    """A column's words: int64 of shape (rows,), good until the round's end. What a message brought is not to be
    written to: others read it as well."""
    return words_at(words_at(message, COLUMNS + position + 1)[COLUMNS + position], words_at(message, COLUMNS)[ROWS])


@kernel
def addresses_of(message):  # type: ignore[no-untyped-def]
    """The addresses of a message's columns, int64 of shape (columns,): to be written to in one that is being made."""
    return words_at(message + 8 * COLUMNS, words_at(message, COLUMNS)[WIDTH])


@kernel
def keys_of(message):  # type: ignore[no-untyped-def]
    """Where a burst has the key of each row, by which its messages are told apart; 0 of a single message."""
    return words_at(message, COLUMNS)[KEYS]


@kernel
def give_keys(message, keys):  # type: ignore[no-untyped-def]
    """Let a message that is being made be a burst, of the keys at an address; or a single one, with 0."""
    words_at(message, COLUMNS)[KEYS] = keys


@kernel
def shorten(message, rows):  # type: ignore[no-untyped-def]
    """Let a message that was made too long have its first `rows` rows only."""
    words_at(message, COLUMNS)[ROWS] = rows


@kernel
def _note_arrival(words, location, message):  # type: ignore[no-untyped-def]
    """Note that a message came, or each of a burst's, for the checks of what is consumed."""
    header = words_at(message, COLUMNS)
    if header[KEYS] == 0:
        append(words, ARRIVED_HERE, location, header[TIME], 1)
        return
    keys = words_at(header[KEYS], header[ROWS])
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            append(words, ARRIVED_HERE, location, header[TIME] if header[AT_ONE_TIME] else keys[i], 1)


@kernel
def enqueue(words, port, message):  # type: ignore[no-untyped-def]
    """Let a message, which is counted, wait at an input, and its operator run."""
    here = inputs_at(words)[port]
    header = words_at(message, COLUMNS)
    header[NEXT], header[STANDING] = 0, ON_ITS_WAY
    if words[OBSERVED] & CHECKED:
        _note_arrival(words, here.location, message)
    if here.first == 0:
        here.first = message
    else:
        words_at(here.last, COLUMNS)[NEXT] = message
    here.last = message
    here.waiting += 1
    words[WAITING] += 1
    make_due(words, here.operator)


@kernel
def log_messages(words, location, delta, message):  # type: ignore[no-untyped-def]
    """Log `delta` for the message; for each of a burst's, which are as many as it has distinct keys."""
    header = words_at(message, COLUMNS)
    if header[KEYS] == 0:
        log_change(words, location, delta, header[TIME])
        return
    keys = words_at(header[KEYS], header[ROWS])
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            log_change(words, location, delta, header[TIME] if header[AT_ONE_TIME] else keys[i])


@kernel
def input_of(world, me, port):  # type: ignore[no-untyped-def]
    """The row of the operator's input number `port`; -1 if it has none of that number, which is noted."""
    here = operators_at(world_at(world))[me]
    if port < 0 or port >= here.inputs:
        fail(world, me, NO_SUCH_INPUT, port, here.inputs, 0)
        return -1
    return here.first_input + port


@kernel
def peek(world, me, port):  # type: ignore[no-untyped-def]
    """The message that `take` takes next, which stays there; 0 if there is none. Where much has been logged in this
    call there is none either: the operator is run again once that is published."""
    words = world_at(world)
    row = input_of(world, me, port)
    if row < 0:
        return 0
    here = inputs_at(words)[row]
    if here.first != 0 and here.first != here.peeked and 2 * words[LOG_COUNT] > words[LOG_CAPACITY]:
        words[TAKE_STOPPED] = 1
        return 0
    here.peeked = here.first
    return here.first


@kernel
def take(world, me, port):  # type: ignore[no-untyped-def]
    """The next message that waits at the operator's input number `port`, 0 if none does. It is consumed: the right to
    answer it lasts until the next is taken, or the call ends."""
    message = peek(world, me, port)
    row = input_of(world, me, port)
    if row < 0:
        return 0
    words = world_at(world)
    here = inputs_at(words)[row]
    here.at_hand, here.peeked = message, 0
    if message != 0:
        here.first = words_at(message, COLUMNS)[NEXT]
        here.waiting -= 1
        words[WAITING] -= 1
        log_messages(words, here.location, -1, message)
        let_go(words, message)
    return message


@kernel
def keep_waiting(words, port):  # type: ignore[no-untyped-def]
    """The round ends: what an input still has waiting gets memory of its own."""
    here = inputs_at(words)[port]
    message = here.first
    before = 0
    while message != 0:
        header = words_at(message, COLUMNS)
        following = header[NEXT]
        if header[STANDING] != OWN_BLOCK:
            words[STOPPED_AT] = here.operator  # for the error, should there be no memory
            kept = owned_copy(words, message, here.texts)
            words_at(kept, COLUMNS)[NEXT] = following
            if before == 0:
                here.first = kept
            else:
                words_at(before, COLUMNS)[NEXT] = kept
            if here.last == message:
                here.last = kept
            message = kept
        before = message
        message = following
