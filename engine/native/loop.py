"""The worker's inner loop: take in messages, run compiled operators that are due, exchange progress, wait for more.

Python is entered for a reason that `turn` returns, and at the latest when its time is up. Everything that is due runs
once before anything runs twice (engine/native/due.py).
"""

from tokenring.engine.native.arrivals import take_in
from tokenring.engine.native.due import make_due, next_due
from tokenring.engine.native.edges import retry
from tokenring.engine.native.layout import (
    AGAIN,
    ARRIVALS,
    ARRIVED_FOR_PYTHON,
    CURRENT,
    DONE,
    DUE,
    DUE_COUNT,
    EXCHANGED_NS,
    FAILED,
    FIRST_PARKED,
    FOR_PYTHON,
    HANDED_OVER,
    INCOMING,
    LENT,
    LOG,
    LOG_CAPACITY,
    LOG_COUNT,
    LOG_SCRATCH,
    LOG_SCRATCH_WORDS,
    MOST_ROUNDS,
    NATIVE_CAPACITY,
    NATIVES,
    NEEDS_ROOM,
    NOBODY,
    NUMBER_BITS,
    OBSERVED,
    OPERATOR_STOPPED,
    OPERATORS_USED,
    OUTGOING,
    PEERS_SLEEP,
    POSITION,
    PYTHON_IS_DUE,
    QUIET,
    RING,
    RING_IS_FULL,
    RING_WORDS,
    ROUND,
    STOPPED_AT,
    TAKE_STOPPED,
    TAKEN,
    TIME_IS_UP,
    TO_EXCHANGE,
    TO_GIVE_BACK,
    TROUBLE,
    TROUBLED,
    UNPUBLISHED,
    WAITING,
    WAKE_NS,
    WAS_ACTIVE,
    WOKEN,
    WORKERS,
    inputs_at,
    operators_at,
    queues_at,
    state_at,
    world_at,
)
from tokenring.engine.native.memory import free_round
from tokenring.engine.native.messages import keep_waiting
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
    become_eager,
    exchange,
    locations_of,
    operators_of,
)
from tokenring.shm.kernels import int64, kernel, words_at
from tokenring.shm.memory import call_at, monotonic_now_ns
from tokenring.shm.queues import anything_waiting, commit_all, release_all

_EXCHANGE_EVERY_NS = 5_000
_ROUNDS_A_STEP = 16


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
        words[FIRST_PARKED],
    )
    words[LOG_COUNT] = words[UNPUBLISHED] = 0
    words[RING_IS_FULL] = told & FULL
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
def _hold(words, operator):  # type: ignore[no-untyped-def]
    """Tell the tracker how many tokens an operator holds whose policy counts them; False if Python must do it."""
    state = state_at(words)
    here = operators_at(words)[operator]
    tracked = operators_of(state)[here.number]
    tracked.holding = here.held
    if here.held > 0 and tracked.is_lazy:
        for location in range(tracked.first_input, tracked.first_input + tracked.inputs):
            if locations_of(state)[location].row == 0:
                return False
        tracked.is_lazy = 0
        for location in range(tracked.first_input, tracked.first_input + tracked.inputs):
            become_eager(state, location, False)
    return True


@kernel
def _run(world, words, operator):  # type: ignore[no-untyped-def]
    """Run a compiled operator; bits for Python. STOPPED_AT says which it is, TROUBLE why: what it returned, or DONE if
    Python has to tell the tracker what it holds."""
    here = operators_at(words)[operator]
    words[CURRENT] = operator + 1
    status = call_at(here.logic, world, operator)
    words[CURRENT] = 0
    words[UNPUBLISHED] = 1
    here.runs += 1
    for port in range(here.first_input, here.first_input + here.inputs):
        inputs_at(words)[port].at_hand = 0
    words[STOPPED_AT] = operator
    if here.error != 0 or status >= NEEDS_ROOM:
        words[TROUBLE] = FAILED if here.error != 0 else status
        return OPERATOR_STOPPED
    for port in range(here.first_input, here.first_input + here.inputs):
        if inputs_at(words)[port].waiting > 0:
            keep_waiting(words, port)
    if status == AGAIN or words[TAKE_STOPPED]:
        words[TAKE_STOPPED] = 0
        make_due(words, operator)
    if here.counts_tokens and not _hold(words, operator):
        words[TROUBLE] = DONE
        return OPERATOR_STOPPED
    return 0


@kernel
def _keep_all_waiting(words):  # type: ignore[no-untyped-def]
    """The round ends: what still waits gets memory of its own."""
    heap = words_at(words[DUE], 2 * words[DUE_COUNT])
    for i in range(words[DUE_COUNT]):
        here = operators_at(words)[heap[2 * i + 1]]
        for port in range(here.first_input, here.first_input + here.inputs):
            keep_waiting(words, port)


@kernel
def _end_round(words, python_key):  # type: ignore[no-untyped-def]
    """What was sent and taken in this round is done with."""
    free_round(words)
    if words[TAKEN]:
        words[TAKEN] = 0
        release_all(queues_at(words, INCOMING))
    words[ROUND] += 1
    words[POSITION] = -1
    if words[ROUND] > MOST_ROUNDS and python_key == NOBODY:
        heap = words_at(words[DUE], 2 * words[DUE_COUNT])
        for i in range(words[DUE_COUNT]):
            heap[2 * i] -= words[ROUND] << NUMBER_BITS
            operators_at(words)[heap[2 * i + 1]].due = heap[2 * i]
        words[ROUND] = 0


@kernel
def _wake_sleepers(words):  # type: ignore[no-untyped-def]
    """Let those run whose time has come, and note when the next one's does."""
    now_ns = monotonic_now_ns()
    words[WAKE_NS] = 0
    operators = operators_at(words)
    for operator in range(words[OPERATORS_USED]):
        wake_ns = operators[operator].wake_ns
        if wake_ns > 0 and wake_ns <= now_ns:
            operators[operator].wake_ns = 0
            make_due(words, operator)
        elif wake_ns > 0 and (words[WAKE_NS] == 0 or wake_ns < words[WAKE_NS]):
            words[WAKE_NS] = wake_ns


@kernel
def _is_to_exchange(words, depends):  # type: ignore[no-untyped-def]
    """Whether progress is to be exchanged before the next operator runs. Alone, nobody waits for what was done, and an
    operator that does not ask for the time needs not know; peers wait for a part of a round only."""
    if (words[LOG_COUNT] == 0 and words[UNPUBLISHED] == 0) or words[RING_IS_FULL]:
        return False
    if words[WORKERS] == 1:
        return depends != 0
    now_ns = monotonic_now_ns()
    if now_ns - words[EXCHANGED_NS] < _EXCHANGE_EVERY_NS:
        return False
    words[EXCHANGED_NS] = now_ns
    return True


@kernel(int64(int64, int64, int64, int64))
def turn(world, python_key, python_depends, until_ns):  # type: ignore[no-untyped-def]
    """Go on until Python is needed; why, as bits.

    python_key: of the first of Python's operators that are due (engine/native/due.py), NOBODY if none is;
    python_depends: whether it asks what time it is. until_ns: how long to wait for something to do (monotonic); 0: only
    as many rounds as there is something.
    """
    words = world_at(world)
    incoming = queues_at(words, INCOMING)
    flags = rounds = 0
    while True:
        if words[POSITION] < 0:  # a round begins, with what peers sent
            words[POSITION] = 0
            if words[WORKERS] > 1 and anything_waiting(incoming) and take_in(words) > 0:
                flags |= WAS_ACTIVE
                if words[ARRIVED_FOR_PYTHON] > 0:
                    return flags | ARRIVALS
        end = (words[ROUND] + 1) << NUMBER_BITS
        while True:
            if words[FOR_PYTHON] != 0:
                return flags | HANDED_OVER
            key, depends = python_key, python_depends
            is_native = False
            if words[DUE_COUNT] > 0:
                first = words_at(words[DUE], 2)
                is_native = first[0] < python_key
                if is_native:
                    key, depends = first[0], operators_at(words)[first[1]].depends
            if key >= end:
                break
            if _is_to_exchange(words, depends):
                if words[OBSERVED]:
                    return flags | TO_EXCHANGE
                told = exchange_now(words)
                flags |= told
                if told & (TROUBLED | WOKEN | PEERS_SLEEP):
                    return flags
                continue
            if not is_native:
                return flags | PYTHON_IS_DUE
            words[POSITION] = key & ((1 << NUMBER_BITS) - 1)
            told = _run(world, words, next_due(words))
            flags |= told | WAS_ACTIVE
            if told & OPERATOR_STOPPED:
                return flags
        if words[WAITING] > 0:
            _keep_all_waiting(words)
        if words[LENT] or (words[OBSERVED] and words[TAKEN]):
            return flags | TO_GIVE_BACK
        _end_round(words, python_key)
        rounds += 1
        if words[WAKE_NS] > 0 and monotonic_now_ns() >= words[WAKE_NS]:
            _wake_sleepers(words)
        if retry(words):
            flags |= WAS_ACTIVE
        if words[WORKERS] > 1 or words[LOG_COUNT] > 0 or words[UNPUBLISHED]:
            if words[OBSERVED]:
                return flags | TO_EXCHANGE
            told = exchange_now(words)
            flags |= told
            if told & (TROUBLED | WOKEN | PEERS_SLEEP):
                return flags
        if words[DUE_COUNT] == 0 and python_key == NOBODY:
            is_quiet = words[WORKERS] == 1 or not anything_waiting(incoming)
            if is_quiet and (until_ns == 0 or flags & WAS_ACTIVE):
                return flags | QUIET
        if (until_ns == 0 and rounds >= _ROUNDS_A_STEP) or (until_ns > 0 and monotonic_now_ns() >= until_ns):
            return flags | TIME_IS_UP


@kernel(int64(int64))
def exchange_once(world):  # type: ignore[no-untyped-def]
    """`exchange_now` for callers in Python."""
    return exchange_now(world_at(world))


@kernel(int64(int64, int64))
def run_once(world, operator):  # type: ignore[no-untyped-def]
    """Run a compiled operator now, again after it was given room."""
    return _run(world, world_at(world), operator)
