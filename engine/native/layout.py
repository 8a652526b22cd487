"""Where everything of the running graph lies that is compiled: the records of each table, and kernels' views of them.

    world      addresses and scalars, the kernels' one handle on everything: a RunningGraph
    operators  an OperatorRow each: its logic's address, its state's, its ports, whether it is due
    inputs     an InputRow each: the messages that wait there, as a list
    outputs    an OutputRow each: its location, its edges
    edges      an EdgeRow each: how messages go on from an output, and what waits because a queue is full
    tokens     a TokenRow each: the right of an operator to send, as a row
    messages   a Message and the addresses of its columns, in the round's memory (engine/native/memory.py)

All are int64 words. Operators here are numbered by themselves; `natives` says which a number of the tracker's is.
"""

from collections.abc import Sequence

from tokenring.engine.progress import TrackerState
from tokenring.engine.times import MOST_COORDINATES
from tokenring.shm.kernels import RAISED, Record, Words, kernel, record_at, records_at, room, table_at, words_at
from tokenring.shm.memory import store_word
from tokenring.shm.queues import QUEUE_STATE

INNER_WORDS = MOST_COORDINATES - 1
"""Of a time: its coordinates behind the first, which are 0 in the root scope."""


class GrowingTable(Record, is_checked=False):
    """Changes that kernels note (`append`): where they are, how many, and for how many there is room."""

    rows: int
    count: int
    capacity: int


class RunningGraph(Record, is_checked=False):
    """The kernels' one handle on everything of a worker. `state`: where the tracker's is; `ring` its ring's, `log` the
    log of changes, with room for how many, how many there are, and scratch to net them. `incoming`, `outgoing`: the
    data queues' private states; `arrived`: what `receive` wrote of them; `routes`, `counts`: scratch to sort rows out.
    `operators` to `tokens`: the tables, and for how many rows each has room; `due`: the heap of who is due; `round`,
    `position`: which round it is, the tracker's number of who runs in it, -1 between two. `chunk` to `freed`: see
    memory.py, as for texts. `for_python`: the first of the messages that wait for Python, and the last. `observed`:
    bits of CHECKED and NOTED. `going_round`: the first of the messages that the running operator sent around a loop,
    and the last. `retried`: the edge whose rows that wait were tried first last. `signals`: see signals.py;
    `signalled`: whether one runs what is Python's. `aside`: how many messages are set aside. `no_inner`: always 0.
    `stopped_at`, `trouble`: which operator Python is to look at, and why; `lacked` times `lacked_each` bytes were asked
    for in vain. `pending_edges`, `pending_channels`: how many have what waits for room, of `backlog_bytes`; signals
    count with edges. `parked_flags`, `congested_flags`, `ending`, `running`: addresses in the group's segment."""

    state: int
    ring: int
    ring_words: int
    log: int
    log_capacity: int
    log_count: int
    log_scratch: int
    log_scratch_words: int
    incoming: int
    outgoing: int
    workers: int
    me: int
    arrived: int
    arrived_words: int
    routes: int
    routes_words: int
    counts: int
    counts_rows: int
    parked_flags: int
    congested_flags: int
    operators: int
    operator_capacity: int
    operators_used: int
    inputs: int
    input_capacity: int
    outputs: int
    output_capacity: int
    edges: int
    edge_capacity: int
    channels: int
    channel_capacity: int
    natives: int
    native_capacity: int
    tokens: int
    token_capacity: int
    tokens_used: int
    free_token: int
    due: int
    due_capacity: int
    due_count: int
    round: int
    position: int
    chunk: int
    chunk_at: int
    chunk_end: int
    chunks_bytes: int
    freed: int
    taken: int
    lent: int
    waiting: int
    for_python: int
    last_for_python: int
    arrived_for_python: int
    observed: int
    unpublished: int
    exchanged_ns: int
    exchange_every_ns: int
    timed: int
    exchanges: int
    exchanging_ns: int
    edges_used: int
    trouble: int
    ring_is_full: int
    stopped_at: int
    take_stopped: int
    wake_ns: int
    running: int
    pending_edges: int
    backlog_bytes: int
    backlog_limit_bytes: int
    pending_channels: int
    ending: int
    spilled: GrowingTable
    arrived_here: GrowingTable
    run_ns: int
    run_messages: int
    run_rows: int
    lacked: int
    lacked_each: int
    text_base: int
    text_common: int
    round_text: int
    round_text_at: int
    round_text_end: int
    waiting_text: int
    waiting_text_at: int
    waiting_text_end: int
    other_text: int
    waiting_text_limit: int
    living: int
    going_round: int
    last_going_round: int
    retried: int
    signals: int
    signal_capacity: int
    signals_used: int
    signalled: int
    aside: int
    no_inner: Words = room(INNER_WORDS)


class OperatorRow(Record):
    """A compiled operator. `number`: the tracker's. `due`: the key under which it waits to run, 0 if it does not.
    `error` and the operands behind it: what went wrong in its call. `depends`: whether it asks what time it is.
    `wake_ns`: when it is to run (monotonic), 0 if at no time of its own. `spent_ns`: in its runs, while they are timed.
    `label`: the address of what people call it (engine/bridge/labels.py)."""

    logic: int
    state: int
    label: int
    number: int
    first_input: int
    inputs: int
    first_output: int
    outputs: int
    due: int
    depends: int
    counts_tokens: int
    error: int
    operand: int
    operand_too: int
    operand_three: int
    held: int
    runs: int
    wake_ns: int
    spent_ns: int


class InputRow(Record):
    """An input of one. `depth`: how many coordinates times have there. `peeked`: the message that `peek` showed,
    which `take` is then to take. `texts`: the address of a word for each column, 1 where it is text; 0 where none
    is. `aside`: the first of the messages that were taken and are kept (`set_aside`), and the last."""

    operator: int
    location: int
    first: int
    last: int
    waiting: int
    at_hand: int
    width: int
    peeked: int
    texts: int
    depth: int
    aside: int
    last_aside: int


class OutputRow(Record):
    """An output of one, or of a loop's border that its edges lead across. `waiting`: how many of its messages wait for
    room; `depth`: how many coordinates times have there."""

    operator: int
    location: int
    first_edge: int
    edges: int
    width: int
    held: int
    waiting: int
    depth: int


class HashedColumn(Record):
    """A column of a key that is hashed."""

    position: int
    is_text: int
    is_float: int


class RoutingKey(Record):
    """What rows go by between workers. `column`: that of the key, -1 if it is a hash of several, or of text or floats:
    then there are HashedColumns at `told`, `width` of them."""

    column: int
    told: int
    width: int


class EdgeRow(Record):
    """An edge from one. `target`: the input it leads to, here or in Python; `location`: that input's; `origin`: the
    output's. `columns`: the address of the positions of those `width` columns that cross, 0 if all do. `pending`:
    messages that wait for room. `burst_rows`: so many rows of a burst are one message of the queue, under the number
    `burst_channel`; 0: none are. `logic`: of a stage, what makes one message of another, with its own words at `state`;
    `first_edge`, `edges`: what is behind it. `texts`: as at an input, of the messages that come to the edge. `key`:
    what rows of an exchange go by. `limit_words`: what a message of the queue may have, texts with it. `workers`: over
    how many of them rows are spread. `depth`: how many coordinates times have that come to the edge. `summary`: of a
    border, what it makes of them: so many coordinates are kept, and this is added to each or put in its place (a
    compiled path summary); `goes_round`: whether it leads around a loop."""

    kind: int
    target: int
    location: int
    origin: int
    channel: int
    key: RoutingKey
    columns: int
    width: int
    most_rows: int
    pending: int
    last_pending: int
    pending_at: int
    output: int
    logic: int
    state: int
    first_edge: int
    edges: int
    burst_channel: int
    burst_rows: int
    texts: int
    limit_words: int
    workers: int
    goes_round: int
    depth: int
    summary: Words = room(1 + MOST_COORDINATES)


LOCAL, EXCHANGE, BROADCAST, OUTSIDE, STAGE, BORDER = range(6)
"""Kinds of edges. OUTSIDE: to what is Python's; STAGE: through a function, to other edges; BORDER: across a loop's
border, to other edges."""


class StageBeginning(Record):
    """What a stage's state begins with: the message that is to go through it, and the row of an error."""

    message: int
    row: int


class TokenRow(Record):
    """A token of one. `handle`: the slot of the token that is there; where none is, below zero, and what was is to be
    told apart from it. `inner`: the time's other coordinates."""

    operator: int
    output: int
    time: int
    inner: Words = room(INNER_WORDS)
    handle: int
    next_free: int


GENERATION = 1 << 32
"""A slot is a row below it, and above it how many tokens have had the row: so a slot outlives no token."""


class Message(Record):
    """What a message's columns' addresses stand behind. `next`: the message behind it in a list. `keys`: the address of
    a column of times, where it stands for many messages (a burst), else 0; `at_one_time`: whether those are all at its
    time, and not at their keys. `standing`: see below. `places`: how many rows its columns have room for, of one that
    came from a peer and may be joined by others (engine/native/arrivals.py), else 0. `inner`: the time's other
    coordinates, in a loop."""

    next: int
    time: int
    rows: int
    width: int
    keys: int
    standing: int
    edge_number: int
    at_one_time: int
    places: int
    inner: Words = room(INNER_WORDS)


MESSAGE_WORDS = Message.size
_MESSAGE_BYTES = 8 * MESSAGE_WORDS
FRESH, ON_ITS_WAY, OWN_BLOCK, LET_GO = range(4)
"""How a message stands: nobody has it yet, so its header may go on; somebody has, or had, it, in the round's memory; it
waits in a block of its own; that block is freed when the round ends."""

OWN_TIMES = -1
"""In place of one time for all messages of a burst that travels: their keys are their times."""

NOBODY = 2**62
"""The key under which nobody is due."""
NUMBER_BITS = 24
"""Of a key: below the round, the tracker's number of the operator."""
MOST_ROUNDS = 1 << 37

# What an operator's logic returns.
DONE, AGAIN, NEEDS_ROOM, FAILED = range(4)
assert FAILED == RAISED, "a logic that raised has failed"

# What the worker's shared word `running` says it does, where it is not the address of the running operator's label.
IN_PYTHON, IN_LOOP, IN_EXCHANGE, IN_WAIT = range(4)

# Bits of what a turn returns.
(
    PYTHON_IS_DUE,
    ARRIVALS,
    HANDED_OVER,
    WOKEN,
    TO_EXCHANGE,
    TO_GIVE_BACK,
    TROUBLED,
    PEERS_SLEEP,
    OPERATOR_STOPPED,
    TIME_IS_UP,
    WAS_ACTIVE,
    QUIET,
    LOG_SPILLED,
    HAS_RUN,
    SIGNALLED,
) = (1 << bit for bit in range(15))

# Bits of `observed`: every arrival is noted, and bytes are given back by Python; every run is told. With either, Python
# exchanges progress.
CHECKED, NOTED = 1, 2


@kernel
def world_at(world: int) -> RunningGraph:
    """The running graph whose state is at this address."""
    return record_at(world, RunningGraph)


@kernel
def say(graph: RunningGraph, what: int) -> None:
    """Say in the worker's shared line what it does from now on: who samples it reads that."""
    store_word(graph.running, what)


@kernel
def operators_at(graph: RunningGraph) -> Sequence[OperatorRow]:
    """The compiled operators."""
    return records_at(graph.operators, graph.operator_capacity, OperatorRow)


@kernel
def inputs_at(graph: RunningGraph) -> Sequence[InputRow]:
    """Their inputs."""
    return records_at(graph.inputs, graph.input_capacity, InputRow)


@kernel
def outputs_at(graph: RunningGraph) -> Sequence[OutputRow]:
    """Their outputs."""
    return records_at(graph.outputs, graph.output_capacity, OutputRow)


@kernel
def edges_at(graph: RunningGraph) -> Sequence[EdgeRow]:
    """Their edges."""
    return records_at(graph.edges, graph.edge_capacity, EdgeRow)


@kernel
def tokens_at(graph: RunningGraph) -> Sequence[TokenRow]:
    """Their tokens."""
    return records_at(graph.tokens, graph.token_capacity, TokenRow)


@kernel
def set_inner(target: Words, source: Words) -> None:
    """Let the coordinates of one time be those of another."""
    for at in range(INNER_WORDS):
        target[at] = source[at]


@kernel
def message_at(message: int) -> Message:
    """What a message begins with."""
    return record_at(message, Message)


@kernel
def addresses_of(message: int) -> Words:
    """The addresses of a message's columns, int64 of shape (columns,): to be written to in one that is being made."""
    return words_at(message + _MESSAGE_BYTES, message_at(message).width)


@kernel
def state_at(graph: RunningGraph) -> TrackerState:
    """The tracker's state."""
    return record_at(graph.state, TrackerState)


@kernel
def queues_at(graph: RunningGraph, states: int) -> Words:
    """The data queues' private states, the incoming or the outgoing ones."""
    return table_at(states, graph.workers, QUEUE_STATE)
