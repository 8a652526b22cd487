"""Edges of compiled operators: within the worker, through the data queues, and to who is Python's.

What a full queue does not take waits in its edge with a token of its own at the output it comes from, as in the
channels of Python's operators, and for the same reason (docs/concurrency.md, A7).
"""

from tokenring.engine.native.crossing import write_pieces
from tokenring.engine.native.layout import (
    AT_ONE_TIME,
    BACKLOG_BYTES,
    BACKLOG_LIMIT_BYTES,
    BROADCAST,
    COLUMNS,
    CONGESTED_FLAGS,
    EDGE_NUMBER,
    EDGES_USED,
    EXCHANGE,
    FOR_PYTHON,
    FRESH,
    KEYS,
    LACKED,
    LACKED_EACH,
    LAST_FOR_PYTHON,
    LENT,
    LOCAL,
    ME,
    NEXT,
    ON_ITS_WAY,
    OPERATORS_USED,
    OTHER_TEXT,
    PENDING_EDGES,
    ROWS,
    STAGE,
    STAGE_MESSAGE,
    STAGE_ROW,
    STAGE_WORDS,
    STANDING,
    TEXT_BASE,
    TEXT_COMMON,
    TIME,
    WAITING,
    WAITING_TEXT,
    WAITING_TEXT_AT,
    WAITING_TEXT_END,
    WAITING_TEXT_LIMIT,
    WIDTH,
    edges_at,
    inputs_at,
    operators_at,
    outputs_at,
    world_at,
)
from tokenring.engine.native.memory import MOST_KEPT_BYTES, claim, keep_texts, let_go, log_change, owned_copy, refuse
from tokenring.engine.native.messages import alias_of, enqueue, log_messages
from tokenring.engine.native.text_crossing import has_private_texts, largest_row_fits
from tokenring.engine.native.wrongs import EXPIRED_BURST, NO_SUCH_OUTPUT, STAGE_FAILED, TEXT_TOO_LONG, WRONG_WIDTH, fail
from tokenring.engine.texts import moved_bytes
from tokenring.shm.kernels import RAISED, kernel, words_at
from tokenring.shm.memory import call_at, forget_bytes
from tokenring.shm.queues import clear_flag, set_flag

_NOTE_WORDS = 4


@kernel
def _congest(words, is_so):  # type: ignore[no-untyped-def]
    """Say whether too much of this worker's waits for room: sources pause everywhere."""
    if is_so:
        set_flag(words[CONGESTED_FLAGS], words[ME])
    else:
        clear_flag(words[CONGESTED_FLAGS], words[ME])


@kernel
def _kept_bytes(words, message, texts):  # type: ignore[no-untyped-def]
    """What a message that waits for room takes, the bytes of its texts with it. texts: as in `owned_copy`."""
    header = words_at(message, COLUMNS + words_at(message, COLUMNS)[WIDTH])
    rows, width = header[ROWS], header[WIDTH]
    size_bytes = 8 * rows * width
    if texts != 0:
        is_text = words_at(texts, width)
        for column in range(width):
            if is_text[column] != 0:
                size_bytes += moved_bytes(words_at(header[COLUMNS + column], rows), words[TEXT_COMMON])
    return size_bytes


@kernel
def _postpone(words, message, edge, start):  # type: ignore[no-untyped-def]
    """Keep a message of which rows from `start` on did not fit, with a token of its own."""
    kept = owned_copy(words, message, edge.texts)
    header = words_at(kept, COLUMNS)
    if edge.pending == 0:
        edge.pending, edge.pending_at = kept, start
        words[PENDING_EDGES] += 1
    else:
        words_at(edge.last_pending, COLUMNS)[NEXT] = kept
    edge.last_pending = kept
    log_change(words, edge.origin, 1, header[TIME])
    outputs_at(words)[edge.output].held += 1
    words[BACKLOG_BYTES] += _kept_bytes(words, kept, edge.texts)
    if words[BACKLOG_BYTES] > words[BACKLOG_LIMIT_BYTES]:
        _congest(words, True)


@kernel
def _keep_texts_of(words, message, texts):  # type: ignore[no-untyped-def]
    """Move the texts of messages that wait, from this one on, to where room is now."""
    while message != 0 and texts != 0:
        header = words_at(message, COLUMNS + words_at(message, COLUMNS)[WIDTH])
        is_text = words_at(texts, header[WIDTH])
        for column in range(header[WIDTH]):
            if is_text[column] != 0:
                keep_texts(words, words_at(header[COLUMNS + column], header[ROWS]))
        message = header[NEXT]


@kernel
def settle_texts(words):  # type: ignore[no-untyped-def]
    """The round is over: texts of messages that waited go if none waits any more, else once they may be mostly of
    messages that do not: those of the others move together then."""
    first, used = words[WAITING_TEXT], words[WAITING_TEXT_AT] - words[WAITING_TEXT]
    if words[WAITING] == 0 and words[PENDING_EDGES] == 0:
        words[WAITING_TEXT_AT], words[WAITING_TEXT_LIMIT] = first, MOST_KEPT_BYTES
    elif used > words[WAITING_TEXT_LIMIT]:
        words[WAITING_TEXT] = words[WAITING_TEXT_AT] = words[OTHER_TEXT]
        words[WAITING_TEXT_END] += words[OTHER_TEXT] - first
        words[OTHER_TEXT] = first
        for operator in range(words[OPERATORS_USED]):
            here = operators_at(words)[operator]
            for port in range(here.first_input, here.first_input + here.inputs):
                _keep_texts_of(words, inputs_at(words)[port].first, inputs_at(words)[port].texts)
        for number in range(words[EDGES_USED]):
            _keep_texts_of(words, edges_at(words)[number].pending, edges_at(words)[number].texts)
        words[WAITING_TEXT_LIMIT] = max(MOST_KEPT_BYTES, 2 * (words[WAITING_TEXT_AT] - words[WAITING_TEXT]))
    else:
        return
    if used > MOST_KEPT_BYTES // 4:
        forget_bytes(words[TEXT_BASE] + first, used)


@kernel
def retry(words):  # type: ignore[no-untyped-def]
    """Send what waits for room, in order, as far as it goes; whether something was sent."""
    if words[PENDING_EDGES] == 0:
        return False
    sent = False
    edges = edges_at(words)
    for number in range(words[EDGES_USED]):
        edge = edges[number]
        while edge.pending != 0:
            message = edge.pending
            header = words_at(message, COLUMNS)
            at = write_pieces(words, message, edge, edge.pending_at, has_private_texts(words, message, edge))
            sent |= at > edge.pending_at
            edge.pending_at = at
            if at < header[ROWS]:
                break
            edge.pending, edge.pending_at = header[NEXT], 0
            log_change(words, edge.origin, -1, header[TIME])
            outputs_at(words)[edge.output].held -= 1
            words[BACKLOG_BYTES] -= _kept_bytes(words, message, edge.texts)
            let_go(words, message)
            if edge.pending == 0:
                words[PENDING_EDGES] -= 1
            if words[BACKLOG_BYTES] <= words[BACKLOG_LIMIT_BYTES] // 2:
                _congest(words, False)
    return sent


@kernel
def _hand_to_python(words, message, edge, number):  # type: ignore[no-untyped-def]
    """Let a message wait for Python, which takes it on; until then a token stands for it."""
    header = words_at(message, COLUMNS)
    header[EDGE_NUMBER], header[NEXT], header[STANDING] = number, 0, ON_ITS_WAY
    words[LENT] = 1
    log_messages(words, edge.origin, 1, message)
    outputs_at(words)[edge.output].held += 1
    if words[FOR_PYTHON] == 0:
        words[FOR_PYTHON] = message
    else:
        words_at(words[LAST_FOR_PYTHON], COLUMNS)[NEXT] = message
    words[LAST_FOR_PYTHON] = message


@kernel
def _through(world, edge, message):  # type: ignore[no-untyped-def]
    """What the stage of an edge makes of a message; in an error a row counts from the beginning of its message, of
    which a burst has several."""
    state = words_at(edge.state, STAGE_WORDS)
    state[STAGE_MESSAGE] = message
    made = call_at(edge.logic, world, edge.state)
    if made == RAISED:
        refuse(world_at(world), world_at(world)[LACKED], world_at(world)[LACKED_EACH])
    header = words_at(message, COLUMNS)
    if made > 0:
        target = words_at(made, COLUMNS)
        if target[ROWS] == 0:
            return 0
        target[TIME], target[AT_ONE_TIME] = header[TIME], header[AT_ONE_TIME]
        if target[KEYS] != 0 and header[AT_ONE_TIME] == 0:
            target[TIME] = words_at(target[KEYS], 1)[0]
    elif made < 0 and header[KEYS] != 0:
        keys, row = words_at(header[KEYS], header[ROWS]), state[STAGE_ROW]
        while row > 0 and keys[row - 1] == keys[row]:
            row -= 1
        state[STAGE_ROW] -= row
    return made


@kernel
def _add_to_do(words, before, message, first, edges):  # type: ignore[no-untyped-def]
    """Note that a message is to go to these edges as well, before what was noted `before`: the note's address."""
    note = claim(words, 8 * _NOTE_WORDS)
    written = words_at(note, _NOTE_WORDS)
    written[0], written[1], written[2], written[3] = before, message, first, edges
    return note


@kernel
def send_at(world, me, output, message, time):  # type: ignore[no-untyped-def]
    """Hand a message to all that read the operator's output number `output`, at a time that it may send at. What came
    or was sent before may be sent: it goes on under another header. No recursion where stages branch: what they make
    waits in notes."""
    words = world_at(world)
    sender = operators_at(words)[me]
    if output < 0 or output >= sender.outputs:
        fail(world, me, NO_SUCH_OUTPUT, output, sender.outputs, 0)
        return
    here = outputs_at(words)[sender.first_output + output]
    header = words_at(message, COLUMNS)
    if header[WIDTH] != here.width:
        fail(world, me, WRONG_WIDTH, output, here.width, header[WIDTH])
        return
    if header[ROWS] == 0:
        return
    if header[KEYS] != 0 and header[AT_ONE_TIME] == 0 and words_at(header[KEYS], 1)[0] < time:
        fail(world, me, EXPIRED_BURST, words_at(header[KEYS], 1)[0], time, 0)
        return
    if header[STANDING] != FRESH:
        message = alias_of(words, message, 0, header[WIDTH])
        header = words_at(message, COLUMNS)
    header[TIME] = time
    first, count = here.first_edge, here.edges
    edges = edges_at(words)
    used = False
    to_do = 0
    while True:
        for number in range(first, first + count):
            edge = edges[number]
            if edge.kind == LOCAL:
                onward = message
                if used or edge.columns != 0:
                    onward = alias_of(words, message, edge.columns, edge.width)
                used |= onward == message
                log_messages(words, edge.location, 1, onward)
                enqueue(words, edge.target, onward)
            elif edge.kind == EXCHANGE or edge.kind == BROADCAST:
                at = 0
                copies = has_private_texts(words, message, edge)
                if copies and not largest_row_fits(words, message, edge):
                    fail(world, me, TEXT_TOO_LONG, edge.limit_words, 0, 0)
                    return
                if edge.pending == 0:
                    at = write_pieces(words, message, edge, 0, copies)
                if at < header[ROWS]:
                    _postpone(words, message, edge, at)
            elif edge.kind == STAGE:
                made = _through(world, edge, message)
                if made < 0:
                    fail(world, me, STAGE_FAILED, number, -1 - made, words_at(edge.state, STAGE_WORDS)[STAGE_ROW])
                    return
                if made > 0:
                    to_do = _add_to_do(words, to_do, made, edge.first_edge, edge.edges)
            else:
                onward = message
                if used:
                    onward = alias_of(words, message, 0, header[WIDTH])
                used = True
                _hand_to_python(words, onward, edge, number)
        if to_do == 0:
            return
        note = words_at(to_do, _NOTE_WORDS)
        to_do, message, first, count = note[0], note[1], note[2], note[3]
        header = words_at(message, COLUMNS)
        used = header[STANDING] != FRESH
