"""The floor: what the two planes cost with nothing around them, a measuring stick to read the engine's figures against.

Rows of (key, value) are offered just as tokenring.nexmark.run.source offers events, exchanged by key through the data
queues, and
kept as the greatest value of each key; one token a worker, counted through the progress ring in two small tables, says
when a batch is done. Three calls a turn, on the planes' own kernels (shm): no operators, no graph, no checks, no
parking, no back-pressure, no failure model. The launcher starts the processes; of the Worker only its queues, its ring
and its start are used.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import numpy as np

from tokenring.engine import COMPLETE, Config, Worker, execute
from tokenring.nexmark.measure.latency import Histogram
from tokenring.nexmark.measure.verdict import DNF, Backlog, Verdict, judge
from tokenring.nexmark.run.pace import Pace
from tokenring.nexmark.run.runner import Plan
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.shm.kernels import COLUMN, TABLE, WORDS, Words, int64, kernel, void, words_at
from tokenring.shm.queues.data_queue import (
    CAPACITY,
    DATA_ADDRESS,
    INBOX_OFFSET,
    INBOX_QUEUE,
    INBOX_ROWS,
    INBOX_STAMP,
    INBOX_STRIDE,
    INBOX_WORDS,
    commit_all,
    partition_for,
    receive,
    release_all,
)
from tokenring.shm.queues.progress_ring import (
    CHANGE_WORDS,
    DELTA,
    LOCATION,
    TIME,
    advance,
    available,
    publish,
    record_word,
    release,
)

TOKENS, MESSAGES = range(
    2
)  # the locations: sources' tokens, messages in flight; what a probe sees is the least time of both
FREE = -(2**63)  # no key of ours
ROWS = 4_000_000
"""How many are offered, over and over."""
_TABLE_TIMES = 256
_HEAD_START_NS = 5_000_000
_STALLED_NS = 20_000_000_000
_CHECK_TURNS, _LOOK_TURNS = 1024, 64

_partition = partition_for(2)


@kernel(void(WORDS, WORDS, int64, int64, int64))
def log_change(changes: Words, used: Words, location: int, delta: int, stamp: int) -> None:
    """Add a change to the batch to publish; changes at one pointstamp become one, or none."""
    end = CHANGE_WORDS * used[0]
    for at in range(0, end, CHANGE_WORDS):
        if changes[at] == location and changes[at + 2] == stamp:
            changes[at + 1] += delta
            if changes[at + 1] == 0:
                used[0] -= 1
                for word in range(3):  # the other coordinates of times stay zero
                    changes[at + word] = changes[end - CHANGE_WORDS + word]
            return
    changes[end], changes[end + 1], changes[end + 2] = location, delta, stamp
    used[0] += 1


@kernel(int64(COLUMN, COLUMN, int64, int64, TABLE, WORDS, TABLE, int64, int64, WORDS, WORDS))
def send(
    keys: Words, values: Words, start: int, stop: int, outgoing: Words, routes: Words, counts: Words, stamp: int,
    later: int, changes: Words, used: Words,
) -> int:  # fmt: skip
    """Exchange rows at time `stamp` and move the token to `later`; the number of messages, or -1 if a queue is full."""
    sent = _partition((keys, values), 0, start, stop, outgoing, routes, counts, 0, stamp)
    if sent >= 0:
        commit_all(outgoing)
        log_change(changes, used, MESSAGES, sent, stamp)
        log_change(changes, used, TOKENS, -1, stamp)
        log_change(changes, used, TOKENS, 1, later)
    return sent


@kernel(int64(TABLE, WORDS, TABLE, WORDS, WORDS))
def take(incoming: Words, inbox: Words, best: Words, changes: Words, used: Words) -> int:
    """Take in every message that has arrived, its rows into the keyed maximum; returns the number of messages."""
    found = receive(incoming, inbox)
    mask = best.shape[0] - 1
    for message in range(found):
        at = message * INBOX_WORDS
        queue, rows, stride = inbox[at + INBOX_QUEUE], inbox[at + INBOX_ROWS], inbox[at + INBOX_STRIDE]
        words = words_at(incoming[queue, DATA_ADDRESS], incoming[queue, CAPACITY])
        first = inbox[at + INBOX_OFFSET]
        for i in range(first, first + rows):
            key, value = words[i], words[i + stride]
            slot = np.int64((np.uint64(key) * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(32)) & mask
            while best[slot, 0] != key and best[slot, 0] != FREE:
                slot = (slot + 1) & mask
            if best[slot, 0] == FREE:
                best[slot, 0], best[slot, 1] = key, value
            elif value > best[slot, 1]:
                best[slot, 1] = value
        log_change(changes, used, MESSAGES, -1, inbox[at + INBOX_STAMP])
    if found > 0:
        release_all(incoming)
    return found


@kernel
def count(table: Words, used: int, stamp: int, delta: int) -> int:
    """Apply one change to a location's unsorted (time, count) pairs; returns how many pairs there are now."""
    i = 0
    while i < used and table[i, 0] != stamp:
        i += 1
    if i == used:
        table[i, 0], table[i, 1] = stamp, 0
        used += 1
    table[i, 1] += delta
    if table[i, 1] == 0:
        used -= 1
        table[i, 0], table[i, 1] = table[used, 0], table[used, 1]
    return used


@kernel(int64(WORDS, WORDS, WORDS, int64[:, :, ::1], WORDS, int64))
def exchange(ring: Words, changes: Words, used: Words, tables: Words, sizes: Words, before: int) -> int:
    """Publish the logged changes as one batch, apply every published one; returns the least time still counted."""
    if used[0] > 0 and publish(ring, changes, 0, used[0]):
        used[0] = 0
    records = available(ring)
    if records == 0:
        return before
    while records > 0:
        for i in range(records):
            location = record_word(ring, i, LOCATION)
            sizes[location] = count(
                tables[location], sizes[location], record_word(ring, i, TIME), record_word(ring, i, DELTA)
            )
        advance(ring, records)
        records = available(ring)
    release(ring)
    least = COMPLETE
    for location in range(2):
        for i in range(sizes[location]):
            if tables[location, i, 1] > 0:
                least = min(least, tables[location, i, 0])
    return least


def floor_rows(staged: StagedEvents, most: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Keys and values for the floor: auctions and prices of the first bids."""
    keys, values = (staged.stream("bid").column(name)[: min(most, ROWS)] for name in ("auction", "price"))
    return keys, values


def measure_floor(keys: np.ndarray, values: np.ndarray, workers: int, plan: Plan, events: int) -> dict[str, Any]:
    """Run the floor at the plan's pace over `events` rows, which repeat these columns; figures are named as a run's."""
    pace = plan.pace(events, workers)
    columns = np.ascontiguousarray(keys), np.ascontiguousarray(values)
    cells = 1024
    while cells < 2 * len(np.unique(columns[0])):
        cells *= 2
    parts = execute(lambda worker: _work(worker, *columns, cells, pace), config=Config(workers=workers))
    seconds = max(part["seconds"] for part in parts)
    offered = sum(part["offered"] for part in parts)
    turns = {name: sum(part[name] for part in parts) for name in ("idle", "active", "idle_ns", "active_ns")}
    verdict = Verdict("", None)
    if pace.rate is not None:
        verdict = judge((part["trail"] for part in parts), any(part["dnf"] for part in parts))
    return {
        "events": offered,
        "seconds": seconds,
        "events_per_second": offered / seconds,
        "latency_ms": None if pace.rate is None else Histogram(part["latency"] for part in parts).quantiles_ms(),
        "dnf": verdict.verdict == DNF,
        "verdict": verdict.verdict or None,
        "slope": verdict.slope,
        "idle_step_us": turns["idle_ns"] / 1e3 / max(1, turns["idle"]),
        "active_step_us": turns["active_ns"] / 1e3 / max(1, turns["active"]),
        "active_steps": turns["active"],
    }


def _work(worker: Worker, keys: np.ndarray, values: np.ndarray, cells: int, pace: Pace) -> dict[str, Any]:
    """One worker: the turn is the loop's body."""
    outgoing, incoming, inbox = worker.plane.outgoing, worker.plane.incoming, worker.plane.inbox
    routes, counts, ring = worker.plane.routes, worker.plane.counts, worker.progress.ring
    best = np.full((cells, 2), FREE)
    changes, used = np.zeros(CHANGE_WORDS * _TABLE_TIMES, np.int64), np.zeros(1, np.int64)
    tables, sizes = np.zeros((2, _TABLE_TIMES, 2), np.int64), np.zeros(2, np.int64)
    tables[TOKENS, 0] = 0, worker.peers  # every worker starts with a token at time 0
    sizes[TOKENS] = 1
    histogram, backlog = Histogram(), Backlog(pace.discard_ns)
    waiting: deque[tuple[int, int, int]] = deque()  # time from which the batch is done, first event, last event
    rows, most_rows = len(keys), min(pace.block, worker.plane.message_limit_words // 2 - 64)
    event, block_end = worker.index * pace.block, min((worker.index + 1) * pace.block, pace.events)
    ns_per_event = 0.0 if pace.rate is None else 1e9 / pace.rate
    token, frontier, is_open, dnf = 0, 0, True, False
    turns = idle = idle_ns = active_ns = offered = 0
    start_ns = worker.barrier() + _HEAD_START_NS
    while time.monotonic_ns() < start_ns:
        pass
    now_ns = moved_ns = found = 0
    while frontier != COMPLETE:
        before_ns, now_ns = now_ns, time.monotonic_ns() - start_ns
        if found:
            active_ns += now_ns - before_ns
        else:
            idle += 1
            idle_ns += now_ns - before_ns
        turns += 1
        found = 0
        if is_open and event >= pace.events:
            is_open = False
            log_change(changes, used, TOKENS, -1, token)
        elif is_open and len(waiting) < pace.outstanding:
            stop = min(block_end, event + most_rows, event + rows - event % rows)
            if ns_per_event:
                stop = min(stop, int(now_ns / ns_per_event) + 1)
            if stop > event:
                following = stop if stop < block_end else (event // pace.block + worker.peers) * pace.block
                at = event % rows
                found = send(
                    keys, values, at, at + stop - event, outgoing, routes, counts, token, following, changes, used
                )
                found = max(found, 0)  # a full queue: the same rows once more, in the next turn
                if found:
                    waiting.append((following, event, stop - 1))
                    offered += stop - event
                    token = event = following
                    if event >= block_end:
                        block_end = min(event + pace.block, pace.events)
        found += take(incoming, inbox, best, changes, used)
        passed = exchange(ring, changes, used, tables, sizes, frontier)
        if passed != frontier:
            frontier = passed
            moved_ns = seen_ns = time.monotonic_ns() - start_ns
            while waiting and waiting[0][0] <= frontier:
                _, first, last = waiting.popleft()
                due_ns = int(first * ns_per_event)
                if ns_per_event and due_ns >= pace.discard_ns:
                    histogram.record(seen_ns - due_ns, seen_ns - int(last * ns_per_event), last - first + 1)
        if turns % _CHECK_TURNS == 0 and now_ns - moved_ns > _STALLED_NS:
            raise TimeoutError(
                f"nothing is done since event {waiting[0][1] if waiting else event}; the floor misuses the planes"
            )
        if is_open and turns % _LOOK_TURNS == 0 and ns_per_event and now_ns >= backlog.next_look_ns:
            oldest = waiting[0][1] if waiting else event
            if backlog.note(now_ns, now_ns - int(oldest * ns_per_event)):
                dnf = True
                worker.ending.ask()
            if dnf or worker.ending.asked:
                is_open = False
                log_change(changes, used, TOKENS, -1, token)
    return {
        "seconds": (time.monotonic_ns() - start_ns) / 1e9,
        "offered": offered,
        "latency": histogram.to_json(),
        "dnf": dnf,
        "trail": backlog.trail,
        "idle": idle,
        "active": turns - idle,
        "idle_ns": idle_ns,
        "active_ns": active_ns,
    }
