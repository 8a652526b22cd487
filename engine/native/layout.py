"""Where everything of the running graph lies that is compiled: the words of each table, and the kernels' views of them.

    world      addresses and scalars, the kernels' one handle on everything
    operators  an OPERATOR each: its logic's address, its state's, its ports, whether it is due
    inputs     an INPUT each: the messages that wait there, as a list
    outputs    an OUTPUT each: its location, its edges
    edges      an EDGE each: how messages go on from an output, and what waits because a queue is full
    tokens     a TOKEN each: the right of an operator to send, as a row
    messages   MESSAGE_WORDS and the addresses of the columns, in the round's memory (engine/native/memory.py)

All are int64 words. Operators here are numbered by themselves; `natives` says which a number of the tracker's is.
"""

from tokenring.engine.progress import STATE_WORDS, record
from tokenring.shm.kernels import RAISED, Record, kernel, records_at, table_at, words_at
from tokenring.shm.memory import store_word
from tokenring.shm.queues import QUEUE_STATE

# Words of the world.
(
    STATE,
    RING,
    RING_WORDS,
    LOG,
    LOG_CAPACITY,
    LOG_COUNT,
    LOG_SCRATCH,
    LOG_SCRATCH_WORDS,
    INCOMING,
    OUTGOING,
    WORKERS,
    ME,
    ARRIVED,
    ARRIVED_WORDS,
    ROUTES,
    ROUTES_WORDS,
    COUNTS,
    COUNTS_ROWS,
    PARKED_FLAGS,
    CONGESTED_FLAGS,
    OPERATORS,
    OPERATOR_CAPACITY,
    OPERATORS_USED,
    INPUTS,
    INPUT_CAPACITY,
    OUTPUTS,
    OUTPUT_CAPACITY,
    EDGES,
    EDGE_CAPACITY,
    CHANNELS,
    CHANNEL_CAPACITY,
    NATIVES,
    NATIVE_CAPACITY,
    TOKENS,
    TOKEN_CAPACITY,
    TOKENS_USED,
    FREE_TOKEN,
    DUE,
    DUE_CAPACITY,
    DUE_COUNT,
    ROUND,
    POSITION,
    CHUNK,
    CHUNK_AT,
    CHUNK_END,
    CHUNKS_BYTES,
    FREED,
    TAKEN,
    LENT,
    WAITING,
    FOR_PYTHON,
    LAST_FOR_PYTHON,
    ARRIVED_FOR_PYTHON,
    OBSERVED,
    UNPUBLISHED,
    EXCHANGED_NS,
    EXCHANGE_EVERY_NS,
    TIMED,
    EXCHANGES,
    EXCHANGING_NS,
    EDGES_USED,
    TROUBLE,
    RING_IS_FULL,
    STOPPED_AT,
    TAKE_STOPPED,
    WAKE_NS,
    RUNNING,
    PENDING_EDGES,
    BACKLOG_BYTES,
    BACKLOG_LIMIT_BYTES,
    PENDING_CHANNELS,
    ENDING,
    SPILLED,
    SPILLED_COUNT,
    SPILLED_CAPACITY,
    ARRIVED_HERE,
    ARRIVED_HERE_COUNT,
    ARRIVED_HERE_CAPACITY,
    RUN_NS,
    RUN_MESSAGES,
    RUN_ROWS,
    LACKED,
    LACKED_EACH,
    TEXT_BASE,
    TEXT_COMMON,
    ROUND_TEXT,
    ROUND_TEXT_AT,
    ROUND_TEXT_END,
    WAITING_TEXT,
    WAITING_TEXT_AT,
    WAITING_TEXT_END,
    OTHER_TEXT,
    WAITING_TEXT_LIMIT,
    LIVING,
) = range(94)
WORLD_WORDS = 96

# `number`: the tracker's. `due`: the key under which it waits to run, 0 if it does not. `error` and the operands behind
# it: what went wrong in its call. `depends`: whether it asks what time it is. `wake_ns`: when it is to run (monotonic),
# 0 if at no time of its own. `spent_ns`: in its runs, while they are timed. `label`: the address of what people call it
# (engine/bridge/labels.py).
OPERATOR = record(
    *("logic", "state", "label", "number", "first_input", "inputs", "first_output", "outputs", "due", "depends"),
    *("counts_tokens", "error", "operand", "operand_too", "operand_three", "held", "runs", "wake_ns", "spent_ns"),
)
# `peeked`: the message that `peek` showed, which `take` is then to take.
# `texts`: the address of a word for each column, 1 where it is text; 0 where none is.
INPUT = record("operator", "location", "first", "last", "waiting", "at_hand", "width", "peeked", "texts")
OUTPUT = record("operator", "location", "first_edge", "edges", "width", "held")
# `target`: the input it leads to, here or in Python; `location`: that input's; `origin`: the output's. `columns`: the
# address of the positions of those `width` columns that cross, 0 if all do. `pending`: messages that wait for room.
# `burst_rows`: so many rows of a burst are one message of the queue, under the number `burst_channel`; 0: none are.
# `logic`: of a stage, what makes one message of another, with its own words at `state`; `first_edge`, `edges`: what is
# behind it. `texts`: as at an input, of the messages that come to the edge. `hashed`: the address of (position, whether
# it is text, whether it is float64) of each of `hashed_columns`, by whose hash rows go; 0: they go by the column `key`
# of those that cross; below zero, by -1 - `key` of those that come to the edge.
# `limit_words`: what a message of the queue may have, texts with it. `workers`: over how many of them rows are spread.
EDGE = record(
    *("kind", "target", "location", "origin", "channel", "key", "columns", "width", "most_rows"),
    *("pending", "last_pending", "pending_at", "output", "logic", "state", "first_edge", "edges"),
    *("burst_channel", "burst_rows", "texts", "hashed", "hashed_columns", "limit_words", "workers"),
)
LOCAL, EXCHANGE, BROADCAST, OUTSIDE, STAGE = range(5)
"""Kinds of edges. OUTSIDE: to what is Python's; STAGE: through a function, to other edges."""
STAGE_MESSAGE, STAGE_ROW, STAGE_WORDS = range(3)
"""Words of a stage's state: the message that is to go through it, the row of an error; where its own words begin."""


class StageBeginning(Record):
    """What a stage's state begins with: the message that is to go through it, and the row of an error."""

    message: int
    row: int


# `handle`: the slot of the token that is there; where none is, below zero, and what was is to be told apart from it.
TOKEN = record("operator", "output", "time", "handle", "next_free")
GENERATION = 1 << 32
"""A slot is a row below it, and above it how many tokens have had the row: so a slot outlives no token."""

# Words of a message. KEYS: the address of a column of times, where it stands for many messages (a burst), else 0.
# AT_ONE_TIME: whether those are all at TIME, and not at their keys. STANDING: see below.
NEXT, TIME, ROWS, WIDTH, KEYS, STANDING, EDGE_NUMBER, AT_ONE_TIME, COLUMNS = range(9)
MESSAGE_WORDS = COLUMNS
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

# What the worker's shared word RUNNING says it does, where it is not the address of the running operator's label.
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
) = (1 << bit for bit in range(14))

# Bits of OBSERVED: every arrival is noted, and bytes are given back by Python; every run is told. With either, Python
# exchanges progress.
CHECKED, NOTED = 1, 2


@kernel
def world_at(world):  # type: ignore[no-untyped-def]
    """The world's words."""
    return words_at(world, WORLD_WORDS)


@kernel
def say(words, what):  # type: ignore[no-untyped-def]
    """Say in the worker's shared line what it does from now on: who samples it reads that."""
    store_word(words[RUNNING], what)


@kernel
def operators_at(words):  # type: ignore[no-untyped-def]
    """The operators' records."""
    return records_at(words[OPERATORS], words[OPERATOR_CAPACITY], OPERATOR)


@kernel
def inputs_at(words):  # type: ignore[no-untyped-def]
    """The inputs' records."""
    return records_at(words[INPUTS], words[INPUT_CAPACITY], INPUT)


@kernel
def outputs_at(words):  # type: ignore[no-untyped-def]
    """The outputs' records."""
    return records_at(words[OUTPUTS], words[OUTPUT_CAPACITY], OUTPUT)


@kernel
def edges_at(words):  # type: ignore[no-untyped-def]
    """The edges' records."""
    return records_at(words[EDGES], words[EDGE_CAPACITY], EDGE)


@kernel
def tokens_at(words):  # type: ignore[no-untyped-def]
    """The tokens' records."""
    return records_at(words[TOKENS], words[TOKEN_CAPACITY], TOKEN)


@kernel
def state_at(words):  # type: ignore[no-untyped-def]
    """The tracker's state."""
    return words_at(words[STATE], STATE_WORDS)


@kernel
def queues_at(words, which):  # type: ignore[no-untyped-def]
    """The data queues' private states, INCOMING or OUTGOING."""
    return table_at(words[which], words[WORKERS], QUEUE_STATE)
