"""When and how the inner loop exchanges progress, and whom that wakes."""

from tokenring.engine.native.due import make_due
from tokenring.engine.native.layout import (
    EXCHANGE_EVERY_NS,
    EXCHANGED_NS,
    EXCHANGES,
    EXCHANGING_NS,
    INCOMING,
    LOG,
    LOG_CAPACITY,
    LOG_COUNT,
    LOG_SCRATCH,
    LOG_SCRATCH_WORDS,
    NATIVE_CAPACITY,
    NATIVES,
    OUTGOING,
    PARKED_FLAGS,
    PEERS_SLEEP,
    RING,
    RING_IS_FULL,
    RING_WORDS,
    TIMED,
    TROUBLE,
    TROUBLED,
    UNPUBLISHED,
    WAS_ACTIVE,
    WOKEN,
    WORKERS,
    queues_at,
    state_at,
)
from tokenring.engine.progress import (
    APPLIED_ANY,
    BROKEN,
    CHANGE_WORDS,
    FULL,
    LISTS_ADDRESS,
    LOCATION_CAPACITY,
    PARKED,
    PUBLISHED,
    ROOM,
    WOKEN_COUNT,
    exchange,
)
from tokenring.shm.kernels import kernel, words_at
from tokenring.shm.memory import monotonic_now_ns
from tokenring.shm.queues import commit_all


@kernel
def _tell_woken(words):  # type: ignore[no-untyped-def]
    """Let the compiled operators run that a frontier's move woke; how many others there are."""
    state = state_at(words)
    woken = words_at(state[LISTS_ADDRESS], 3 * state[LOCATION_CAPACITY])
    natives = words_at(words[NATIVES], words[NATIVE_CAPACITY])
    first = 2 * state[LOCATION_CAPACITY]
    left = 0
    for i in range(state[WOKEN_COUNT]):
        number = woken[first + i]
        native = natives[number] - 1 if number < words[NATIVE_CAPACITY] else -1
        if native >= 0:
            make_due(words, native)
        else:
            woken[first + left] = number
            left += 1
    state[WOKEN_COUNT] = left
    return left


@kernel
def exchange_now(words):  # type: ignore[no-untyped-def]
    """Publish, apply, wake; what Python must do about it, as bits of what `turn` returns."""
    began_ns = 0
    if words[TIMED]:
        began_ns = monotonic_now_ns()
    outgoing = queues_at(words, OUTGOING)
    commit_all(outgoing)
    state = state_at(words)
    told = exchange(
        state,
        words_at(words[RING], words[RING_WORDS]),
        words_at(words[LOG], words[LOG_CAPACITY] * CHANGE_WORDS),
        words[LOG_COUNT],
        words_at(words[LOG_SCRATCH], words[LOG_SCRATCH_WORDS]),
        queues_at(words, INCOMING),
        words[UNPUBLISHED] != 0,
        words[PARKED_FLAGS],
    )
    words[LOG_COUNT] = words[UNPUBLISHED] = 0
    words[RING_IS_FULL] = told & FULL
    if words[TIMED]:
        words[EXCHANGES] += 1
        words[EXCHANGING_NS] += monotonic_now_ns() - began_ns
    if told & (FULL | ROOM | BROKEN):
        words[TROUBLE] = told
        return TROUBLED
    flags = 0
    if told & (APPLIED_ANY | PUBLISHED):
        flags = WAS_ACTIVE
        if _tell_woken(words) > 0:
            flags |= WOKEN
    if told & PARKED:
        flags |= PEERS_SLEEP
    return flags


@kernel
def asks_for_time(operator):  # type: ignore[no-untyped-def]
    """Whether a compiled operator may look at a frontier when it runs next; one that asks only while it holds a token
    learns of what has moved, once it holds one, by being woken."""
    return 0 if operator.counts_tokens != 0 and operator.held == 0 else operator.depends


@kernel
def is_to_exchange(words, depends):  # type: ignore[no-untyped-def]
    """Whether progress is to be exchanged before the next operator runs. Alone, nobody waits for what was done, and an
    operator that does not ask for the time needs not know; peers wait for a part of a round only."""
    if (words[LOG_COUNT] == 0 and words[UNPUBLISHED] == 0) or words[RING_IS_FULL]:
        return False
    if words[WORKERS] == 1:
        return depends != 0
    now_ns = monotonic_now_ns()
    if now_ns - words[EXCHANGED_NS] < words[EXCHANGE_EVERY_NS]:
        return False
    words[EXCHANGED_NS] = now_ns
    return True
