"""The worker's inner loop: take in messages, run compiled operators that are due, exchange progress, wait for more.

Python is entered for a reason that `turn` returns, and at the latest when its time is up. Everything that is due runs
once before anything runs twice (engine/native/due.py).
"""

from tokenring.engine.native.arrivals import take_in
from tokenring.engine.native.due import next_due
from tokenring.engine.native.edges import retry, settle_texts
from tokenring.engine.native.exchanging import asks_for_time, exchange_now, is_to_exchange
from tokenring.engine.native.layout import (
    ARRIVALS,
    ARRIVED_FOR_PYTHON,
    CHECKED,
    DUE,
    DUE_COUNT,
    FOR_PYTHON,
    HANDED_OVER,
    HAS_RUN,
    IN_EXCHANGE,
    IN_LOOP,
    IN_PYTHON,
    IN_WAIT,
    INCOMING,
    LENT,
    LOG_COUNT,
    LOG_SPILLED,
    MOST_ROUNDS,
    NOBODY,
    NOTED,
    NUMBER_BITS,
    OBSERVED,
    OPERATOR_STOPPED,
    PEERS_SLEEP,
    POSITION,
    PYTHON_IS_DUE,
    QUIET,
    ROUND,
    SPILLED_COUNT,
    TAKEN,
    TIME_IS_UP,
    TO_EXCHANGE,
    TO_GIVE_BACK,
    TROUBLED,
    UNPUBLISHED,
    WAITING,
    WAITING_TEXT,
    WAITING_TEXT_AT,
    WAKE_NS,
    WAS_ACTIVE,
    WOKEN,
    WORKERS,
    operators_at,
    queues_at,
    say,
    world_at,
)
from tokenring.engine.native.memory import free_round
from tokenring.engine.native.messages import keep_waiting
from tokenring.engine.native.runs import run, wake_sleepers
from tokenring.shm.kernels import int64, kernel, words_at
from tokenring.shm.memory import monotonic_now_ns
from tokenring.shm.queues import anything_waiting, release_all

_ROUNDS_A_STEP = 16


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
    if words[WAITING_TEXT_AT] > words[WAITING_TEXT]:
        settle_texts(words)
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
def _exchange(words, waits):  # type: ignore[no-untyped-def]
    """`exchange_now`, and say so; who waits and looks whether peers published goes on waiting."""
    say(words, IN_WAIT if waits else IN_EXCHANGE)
    told = exchange_now(words)
    say(words, IN_WAIT if waits and not told & WAS_ACTIVE else IN_LOOP)
    return told


@kernel
def _go_on(world, words, python_key, python_depends, wait_ns, until_ns):  # type: ignore[no-untyped-def]
    """`turn`, which says what the worker does before and after."""
    incoming = queues_at(words, INCOMING)
    flags = rounds = quiet_since_ns = 0
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
            if words[SPILLED_COUNT] > 0:
                return flags | LOG_SPILLED
            key, depends = python_key, python_depends
            is_native = False
            if words[DUE_COUNT] > 0:
                first = words_at(words[DUE], 2)
                is_native = first[0] < python_key
                if is_native:
                    key, depends = first[0], asks_for_time(operators_at(words)[first[1]])
            if key >= end:
                break
            if is_to_exchange(words, depends):
                if words[OBSERVED]:
                    return flags | TO_EXCHANGE
                told = _exchange(words, False)
                flags |= told
                if told & (TROUBLED | WOKEN | PEERS_SLEEP):
                    return flags
                continue
            if not is_native:
                return flags | PYTHON_IS_DUE
            words[POSITION] = key & ((1 << NUMBER_BITS) - 1)
            told = run(world, words, next_due(words))
            flags |= told | WAS_ACTIVE
            if words[OBSERVED] & NOTED:
                flags |= HAS_RUN
            if flags & (OPERATOR_STOPPED | HAS_RUN):
                return flags
        if words[WAITING] > 0:
            _keep_all_waiting(words)
        if words[LENT] or (words[OBSERVED] & CHECKED and words[TAKEN]):
            return flags | TO_GIVE_BACK
        _end_round(words, python_key)
        rounds += 1
        if words[WAKE_NS] > 0 and monotonic_now_ns() >= words[WAKE_NS]:
            wake_sleepers(words)
        if retry(words):
            flags |= WAS_ACTIVE
        if words[SPILLED_COUNT] > 0:
            return flags | LOG_SPILLED
        if words[WORKERS] > 1 or words[LOG_COUNT] > 0 or words[UNPUBLISHED]:
            if words[OBSERVED]:
                return flags | TO_EXCHANGE
            told = _exchange(words, quiet_since_ns != 0)
            flags |= told
            if told & (TROUBLED | WOKEN | PEERS_SLEEP):
                return flags
        if words[DUE_COUNT] == 0 and python_key == NOBODY:
            if words[WORKERS] == 1 or not anything_waiting(incoming):
                if wait_ns == 0 or flags & WAS_ACTIVE:
                    return flags | QUIET
                now_ns = monotonic_now_ns()
                if quiet_since_ns == 0:
                    quiet_since_ns = now_ns
                    say(words, IN_WAIT)
                if now_ns - quiet_since_ns >= wait_ns:
                    return flags | QUIET
        if until_ns == 0:
            if rounds >= _ROUNDS_A_STEP:
                return flags | TIME_IS_UP
        elif monotonic_now_ns() >= until_ns:
            return flags | TIME_IS_UP


@kernel(int64(int64, int64, int64, int64, int64))
def turn(world, python_key, python_depends, wait_ns, until_ns):  # type: ignore[no-untyped-def]
    """Go on until Python is needed; why, as bits. MemoryError if there is no memory for messages.

    python_key: of the first of Python's operators that are due (engine/native/due.py), NOBODY if none is;
    python_depends: whether it asks what time it is. wait_ns: how long to wait for something to do. until_ns: how long
    to go on at most (monotonic); 0: some rounds, while there is something to do.
    """
    words = world_at(world)
    say(words, IN_LOOP)
    told = _go_on(world, words, python_key, python_depends, wait_ns, until_ns)
    say(words, IN_PYTHON)
    return told
