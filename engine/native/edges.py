"""Edges of compiled operators: within the worker, through the data queues, and to who is Python's.

What a full queue does not take waits in its edge with a token of its own at the output it comes from, as in the
channels of Python's operators, and for the same reason (docs/concurrency.md, A7).
"""

from tokenring.engine.native.crossing import has_private_texts, largest_row_fits, write_pieces
from tokenring.engine.native.layout import (
    BORDER,
    BROADCAST,
    EXCHANGE,
    FRESH,
    LOCAL,
    ON_ITS_WAY,
    STAGE,
    EdgeRow,
    Message,
    RunningGraph,
    StageBeginning,
    edges_at,
    inputs_at,
    message_at,
    operators_at,
    outputs_at,
    set_inner,
    world_at,
)
from tokenring.engine.native.memory import MOST_KEPT_BYTES, keep_texts, lease, let_go, log_change, owned_copy, refuse
from tokenring.engine.native.messages import (
    alias_of,
    column_of,
    end_of_message,
    enqueue,
    log_messages,
    part_of,
    put_behind,
)
from tokenring.engine.native.signals import retry_signals
from tokenring.engine.native.wrongs import (
    BEYOND_LOOP,
    EXPIRED_BURST,
    NO_SUCH_OUTPUT,
    STAGE_FAILED,
    TEXT_TOO_LONG,
    WRONG_WIDTH,
    fail,
)
from tokenring.engine.texts import moved_bytes
from tokenring.engine.times import MAX_TIME, MOST_COORDINATES
from tokenring.shm.kernels import RAISED, Record, Words, kernel, record_at, words_at
from tokenring.shm.memory import call_at, forget_bytes
from tokenring.shm.queues import clear_flag, set_flag


class Note(Record):
    """A message that is to go to so many edges as well, from the first one on; and the note `before`."""

    before: int
    message: int
    first: int
    edges: int


_NOTE_WORDS = Note.size


@kernel
def _congest(graph: RunningGraph, is_so: bool) -> None:
    """Say whether too much of this worker's waits for room: sources pause everywhere."""
    if is_so:
        set_flag(graph.congested_flags, graph.me)
    else:
        clear_flag(graph.congested_flags, graph.me)


@kernel
def _kept_bytes(graph: RunningGraph, message: int, texts: int) -> int:
    """What a message that waits for room takes, the bytes of its texts with it. texts: as in `owned_copy`."""
    header = message_at(message)
    rows, width = header.rows, header.width
    size_bytes = 8 * rows * width
    if texts != 0:
        is_text = words_at(texts, width)
        for column in range(width):
            if is_text[column] != 0:
                size_bytes += moved_bytes(column_of(message, column), graph.text_common)
    return size_bytes


@kernel
def _postpone(graph: RunningGraph, message: int, edge: EdgeRow, start: int) -> None:
    """Keep a message of which rows from `start` on did not fit, with a token of its own."""
    kept = owned_copy(graph, message, edge.texts)
    header = message_at(kept)
    if edge.pending == 0:
        edge.pending_at = start
        graph.pending_edges += 1
    edge.pending, edge.last_pending = put_behind(edge.pending, edge.last_pending, kept), kept
    log_change(graph, edge.origin, 1, header.time, header.inner)
    outputs_at(graph)[edge.output].held += 1
    outputs_at(graph)[edge.output].waiting += 1
    graph.backlog_bytes += _kept_bytes(graph, kept, edge.texts)
    if graph.backlog_bytes > graph.backlog_limit_bytes:
        _congest(graph, True)


@kernel
def _keep_texts_of(graph: RunningGraph, message: int, texts: int) -> None:
    """Move the texts of messages that wait, from this one on, to where room is now."""
    while message != 0 and texts != 0:
        header = message_at(message)
        is_text = words_at(texts, header.width)
        for column in range(header.width):
            if is_text[column] != 0:
                keep_texts(graph, column_of(message, column))
        message = header.next


@kernel
def settle_texts(graph: RunningGraph) -> None:
    """The round is over: texts of messages that waited go if none waits any more, else once they may be mostly of
    messages that do not: those of the others move together then."""
    first, used = graph.waiting_text, graph.waiting_text_at - graph.waiting_text
    if graph.waiting == 0 and graph.pending_edges == 0 and graph.aside == 0:
        graph.waiting_text_at, graph.waiting_text_limit = first, MOST_KEPT_BYTES
    elif used > graph.waiting_text_limit:
        graph.waiting_text = graph.waiting_text_at = graph.other_text
        graph.waiting_text_end += graph.other_text - first
        graph.other_text = first
        for operator in range(graph.operators_used):
            here = operators_at(graph)[operator]
            for port in range(here.first_input, here.first_input + here.inputs):
                _keep_texts_of(graph, inputs_at(graph)[port].first, inputs_at(graph)[port].texts)
                _keep_texts_of(graph, inputs_at(graph)[port].aside, inputs_at(graph)[port].texts)
        for number in range(graph.edges_used):
            _keep_texts_of(graph, edges_at(graph)[number].pending, edges_at(graph)[number].texts)
        graph.waiting_text_limit = max(MOST_KEPT_BYTES, 2 * (graph.waiting_text_at - graph.waiting_text))
    else:
        return
    if used > MOST_KEPT_BYTES // 4:
        forget_bytes(graph.text_base + first, used)


@kernel
def retry(graph: RunningGraph) -> bool:
    """Send what waits for room, in order, as far as it goes, of another edge first each time: around a loop one may
    always have more. Whether something was sent."""
    if graph.pending_edges == 0:
        return False
    sent = False
    edges = edges_at(graph)
    graph.retried = (graph.retried + 1) % graph.edges_used
    for at in range(graph.edges_used):
        edge = edges[(graph.retried + at) % graph.edges_used]
        while edge.pending != 0:
            message = edge.pending
            header = message_at(message)
            at = write_pieces(graph, message, edge, edge.pending_at, has_private_texts(graph, message, edge))
            sent |= at > edge.pending_at
            edge.pending_at = at
            if at < header.rows:
                break
            edge.pending, edge.pending_at = header.next, 0
            log_change(graph, edge.origin, -1, header.time, header.inner)
            outputs_at(graph)[edge.output].held -= 1
            outputs_at(graph)[edge.output].waiting -= 1
            graph.backlog_bytes -= _kept_bytes(graph, message, edge.texts)
            let_go(graph, message)
            if edge.pending == 0:
                graph.pending_edges -= 1
            if graph.backlog_bytes <= graph.backlog_limit_bytes // 2:
                _congest(graph, False)
    return sent | retry_signals(graph)


@kernel
def _hand_to_python(graph: RunningGraph, message: int, edge: EdgeRow, number: int) -> None:
    """Let a message wait for Python, which takes it on; until then a token stands for it."""
    header = message_at(message)
    header.edge_number, header.next, header.standing = number, 0, ON_ITS_WAY
    graph.lent = 1
    log_messages(graph, edge.origin, 1, message)
    outputs_at(graph)[edge.output].held += 1
    graph.for_python, graph.last_for_python = put_behind(graph.for_python, graph.last_for_python, message), message


@kernel
def _through(world: int, edge: EdgeRow, message: int) -> int:
    """What the stage of an edge makes of a message; in an error a row counts from the beginning of its message, of
    which a burst has several."""
    state = record_at(edge.state, StageBeginning)
    state.message = message
    made = call_at(edge.logic, world, edge.state)
    if made == RAISED:
        refuse(world_at(world), world_at(world).lacked, world_at(world).lacked_each)
    header = message_at(message)
    if made > 0:
        target = message_at(made)
        if target.rows == 0:
            return 0
        target.time, target.at_one_time = header.time, header.at_one_time
        set_inner(target.inner, header.inner)
        if target.keys != 0 and header.at_one_time == 0:
            target.time = words_at(target.keys, 1)[0]
    elif made < 0 and header.keys != 0:
        keys, row = words_at(header.keys, header.rows), state.row
        while row > 0 and keys[row - 1] == keys[row]:
            row -= 1
        state.row -= row
    return made


@kernel
def _add_to_do(graph: RunningGraph, before: int, message: int, first: int, edges: int) -> int:
    """Note that a message is to go to these edges as well, before what was noted `before`: the note's address."""
    note = lease(graph, 8 * _NOTE_WORDS)
    written = record_at(note, Note)
    written.before, written.message, written.first, written.edges = before, message, first, edges
    return note


@kernel
def _cross(header: Message, summary: Words) -> int:
    """Give a message the time that a border's summary makes of its own: -1, or, where there is none, the coordinate of
    the message's that would overflow."""
    for at in range(MOST_COORDINATES):
        kept = 0
        if at < summary[0]:
            kept = header.time if at == 0 else header.inner[at - 1]
        if kept > MAX_TIME - summary[1 + at]:
            return kept
        if at == 0:
            header.time = kept + summary[1]
        else:
            header.inner[at - 1] = kept + summary[1 + at]
    return -1


@kernel
def _across(world: int, me: int, edge: EdgeRow, message: int, to_do: int) -> int:
    """Note that a message is to go to what is behind a border, at the time that it has there; a burst message by
    message, since their times are told apart by more than one word there, the first one first: its note's address."""
    graph, start, rows = world_at(world), 0, message_at(message).rows
    first = last = 0
    while start < rows:
        stop = end_of_message(message, start)
        if message_at(message).keys == 0:
            part = alias_of(graph, message, 0, message_at(message).width)
        else:
            part = part_of(graph, message, start, stop)
        overflowing = _cross(message_at(part), edge.summary)
        if overflowing >= 0:
            fail(world, me, BEYOND_LOOP, overflowing, 0, 0)
            return to_do
        note = _add_to_do(graph, to_do, part, edge.first_edge, edge.edges)
        if first == 0:
            first = note
        else:
            record_at(last, Note).before = note
        last = note
        start = stop
    return first if first != 0 else to_do


@kernel
def _keep_for_round(graph: RunningGraph, message: int, number: int) -> None:
    """Keep what goes around a loop until the operator's call is over: one that feeds itself would never end its call.
    """
    kept = alias_of(graph, message, 0, message_at(message).width)
    message_at(kept).edge_number = number
    graph.going_round, graph.last_going_round = put_behind(graph.going_round, graph.last_going_round, kept), kept


@kernel
def send_round(world: int, me: int) -> None:
    """Hand on what the operator's call sent around loops; it is counted now."""
    graph = world_at(world)
    while graph.going_round != 0 and operators_at(graph)[me].error == 0:
        message = graph.going_round
        header = message_at(message)
        graph.going_round, header.next = header.next, 0
        to_do = _across(world, me, edges_at(graph)[header.edge_number], message, 0)
        _hand_to_edges(world, me, message, 0, 0, to_do)
    graph.going_round = 0  # of a call that failed nothing goes on


@kernel
def send_at(world: int, me: int, output: int, message: int, time: int) -> None:
    """Hand a message to all that read the operator's output number `output`, at a time that it may send at. What came
    or was sent before may be sent: it goes on under another header."""
    send_with(world, me, output, message, time, world_at(world).no_inner)


@kernel
def send_with(world: int, me: int, output: int, message: int, time: int, inner: Words) -> None:
    """`send_at` at a time that may have other coordinates, `inner`."""
    graph = world_at(world)
    sender = operators_at(graph)[me]
    if output < 0 or output >= sender.outputs:
        fail(world, me, NO_SUCH_OUTPUT, output, sender.outputs, 0)
        return
    here = outputs_at(graph)[sender.first_output + output]
    header = message_at(message)
    if header.width != here.width:
        fail(world, me, WRONG_WIDTH, output, here.width, header.width)
        return
    if header.rows == 0:
        return
    if header.keys != 0 and header.at_one_time == 0 and words_at(header.keys, 1)[0] < time:
        fail(world, me, EXPIRED_BURST, words_at(header.keys, 1)[0], time, 0)
        return
    if header.standing != FRESH:
        message = alias_of(graph, message, 0, header.width)
        header = message_at(message)
    header.time = time
    set_inner(header.inner, inner)
    _hand_to_edges(world, me, message, here.first_edge, here.edges, 0)


@kernel
def _hand_to_edges(world: int, me: int, message: int, first: int, count: int, to_do: int) -> None:
    """Hand a message to so many edges from the first one on, and others as noted. No recursion where stages branch:
    what they make waits in notes."""
    graph = world_at(world)
    edges = edges_at(graph)
    header = message_at(message)
    used = False
    while True:
        for number in range(first, first + count):
            edge = edges[number]
            if edge.kind == LOCAL:
                onward = message
                if used or edge.columns != 0:
                    onward = alias_of(graph, message, edge.columns, edge.width)
                used |= onward == message
                log_messages(graph, edge.location, 1, onward)
                enqueue(graph, edge.target, onward)
            elif edge.kind == EXCHANGE or edge.kind == BROADCAST:
                at = 0
                copies = has_private_texts(graph, message, edge)
                if copies and not largest_row_fits(graph, message, edge):
                    fail(world, me, TEXT_TOO_LONG, edge.limit_words, 0, 0)
                    return
                if edge.pending == 0:
                    at = write_pieces(graph, message, edge, 0, copies)
                if at < header.rows:
                    _postpone(graph, message, edge, at)
            elif edge.kind == STAGE:
                made = _through(world, edge, message)
                if made < 0:
                    fail(world, me, STAGE_FAILED, number, -1 - made, record_at(edge.state, StageBeginning).row)
                    return
                if made > 0:
                    to_do = _add_to_do(graph, to_do, made, edge.first_edge, edge.edges)
            elif edge.kind == BORDER:
                if edge.goes_round != 0:
                    _keep_for_round(graph, message, number)
                else:
                    to_do = _across(world, me, edge, message, to_do)
            else:
                onward = message
                if used:
                    onward = alias_of(graph, message, 0, header.width)
                used = True
                _hand_to_python(graph, onward, edge, number)
        if to_do == 0:
            return
        note = record_at(to_do, Note)
        to_do, message, first, count = note.before, note.message, note.first, note.edges
        header = message_at(message)
        used = header.standing != FRESH
