"""Traces keep what their readers may still tell apart, and nothing else: at all times, beside every update."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tests.imports import ROOT
from tests.operators.collections.feed import as_rows
from tokenring.engine.times import NestedTime
from tokenring.operators.collections.trace import Trace
from tokenring.operators.collections.updates import Sealed

KEYS, ROUNDS = 3, 40


def there_at(updates: list[tuple[int, ...]], time: NestedTime) -> Counter[int]:
    """How often each key is there, by its (key, *time, times)."""
    found: Counter[int] = Counter()
    for key, *at, times in updates:
        if all(one <= other for one, other in zip(at, time, strict=True)):
            found[key] += times
    return Counter({key: times for key, times in found.items() if times})


def read(trace: Trace, time: NestedTime) -> Counter[int]:
    rows = [tuple(row) for batch in trace.spine.batches() for row in batch.words.T.tolist()]
    return there_at(rows, time)


@pytest.mark.parametrize("first", range(2))
@pytest.mark.parametrize("sinces", [
    [(30, 0), (2, 0)], [(2, 0), (30, 0)], [(30, 1), (4, 3)], [(30, 30), (0, 0)], [(12, 12), (11, 13), (13, 11)],
])  # fmt: skip
def test_each_reader_in_a_loop_tells_its_own_times_apart(sinces: list[NestedTime], first: int) -> None:
    """The one who is furthest behind, whichever came first: what others let go stays for it."""
    random = np.random.default_rng(len(sinces) + first)
    trace = Trace(1, 1, 2)
    readers = [trace.read_all() for _ in sinces]
    updates: list[tuple[int, ...]] = []
    for number in range(60):
        rows = [
            (int(random.integers(KEYS)), number // 2, int(random.integers(ROUNDS)), int(random.choice([-1, 1])))
            for _ in range(20)
        ]
        for reader, since in zip(readers[first:] + readers[:first], sinces, strict=True):
            reader.since = [tuple(min(one, number // 2) for one in since)]
        updates += rows
        trace.seal(Sealed.of(np.ascontiguousarray(np.array(rows, np.int64).T)))
    while trace.spine.work(1000):
        pass
    for since in sinces:
        for more in [(0, 0), (1, 0), (0, 1), (5, 5), (40, 0), (0, 40), (40, 40)]:
            time = tuple(one + other for one, other in zip(since, more, strict=True))
            assert read(trace, time) == there_at(updates, time), time


def test_what_no_reader_in_a_loop_tells_apart_is_one_row() -> None:
    trace = Trace(1, 1, 2)
    readers = [trace.read_all() for _ in range(3)]
    for number in range(400):
        rows = [(key, number, number % 7, 1) for key in range(KEYS)]
        for late, reader in enumerate(readers):
            reader.since = [(max(0, number - late), 0)]
        trace.seal(Sealed.of(np.ascontiguousarray(np.array(rows, np.int64).T)))
    assert trace.spine.rows < 400
    assert read(trace, (400, 7)) == Counter(dict.fromkeys(range(KEYS), 400))


def replaced(worker: tr.Worker, times: int, keep: bool) -> tuple[int, list[Any]]:
    """How many rows an arrangement keeps in which three keys' rows are replaced at every time, and what is read of it.
    keep: whether somebody keeps what is from the last time on."""
    update = tr.Schema("k v time times")
    with worker.dataflow("base") as scope:
        feed, stream = scope.new_input(update)
        view = stream.collection("time", "times").arrange("k").export("rows")
    kept = None
    most = 0
    for time in range(times):
        rows = [(key, time, time, 1) for key in range(3)] + [(key, time - 1, time, -1) for key in range(3) if time]
        feed.send(dict(zip(update.names, map(list, zip(*rows, strict=True)), strict=True)))
        feed.advance_to(time + 1)
        worker.step_while(lambda time=time: view.upper <= time)
        if keep:
            following = view.keep_since(time)
            if kept is not None:
                kept.release()
            kept = following
        most = max(most, view.facts["rows"])
    rows_read = sorted(as_rows(view.at(times - 1)))
    if kept is not None:
        kept.release()
    feed.close()
    worker.run()
    return most, rows_read


@pytest.mark.parametrize("keep", [False, True])
def test_who_keeps_a_time_keeps_nothing_that_was_before(keep: bool) -> None:
    """Three rows, and what merges have not come to."""
    ((most, found),) = tr.execute(lambda worker: replaced(worker, 400, keep), workers=1)
    assert found == [(key, 399) for key in range(3)]
    assert most < 150


def test_who_reads_a_collection_as_upserts_lets_the_past_go() -> None:
    def program(worker: tr.Worker) -> tuple[int, int]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k v"), key="k")
            arranged = rows.select("k", "v").arrange("k")
            said = rows.to_upserts("k").collect()
            assert rows.kept is not None
        for time in range(800):
            handle.upsert({"k": [time % 3], "v": [time]})
            handle.advance_to(time + 1)
            worker.step()
        worker.run()
        return max(rows.kept.trace.spine.rows, arranged.trace.spine.rows), len(said.columns()["k"])

    ((kept, said),) = tr.execute(program, workers=1)
    assert said == 800
    assert kept < 300


def test_python_ends_without_a_word_of_what_is_still_kept() -> None:
    """Kernels are loaded at their first call, which cannot be as late as that."""
    program = "from tokenring.operators.collections.trace import Trace\nimport builtins\nbuiltins.kept = Trace(1, 1, 1)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=200)
    assert (done.returncode, done.stderr) == (0, "")
