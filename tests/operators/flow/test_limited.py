"""Limited regions: the answers of the unlimited ones, however workers interleave, and little under way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenring as tr
from tests.engine.helpers import build, simulated
from tests.long_form import examples
from tokenring import operators
from tokenring.engine import Schema, Scope, Stream, Worker
from tokenring.operators import Count, Max, Session, Sliding, Sum, Tumbling, aggregate, col, graphs, limited
from tokenring.operators.flow import gate

ROW = Schema("node left at")


def several(batch: Any) -> Any:
    return {name: np.repeat(batch[name], 3) for name in ROW.names}


def rounds(rows: Stream) -> Stream:
    def body(rows: Stream) -> tuple[Stream, Stream]:
        more = operators.filter(rows, "left", ">", 0)
        again = operators.with_columns(more, node=(col("node") * 3 + col("left")) % 5, left=col("left") - 1)
        return operators.exchange(operators.map_batches(again, ROW, several), "node left"), rows

    return operators.count(operators.iterate(rows, body), "node left", emit="final")


REGIONS: dict[str, Callable[[Stream], Stream]] = {
    "nothing": lambda s: s,
    "stateless": lambda s: operators.filter(operators.map_batches(s, ROW, several), "left", ">", 1),
    "exchanges": lambda s: operators.exchange(operators.broadcast(operators.exchange(s, "node")), "left"),
    "one key": lambda s: operators.map_batches(operators.exchange(s, col("node") * 0), ROW, several),
    "windows": lambda s: aggregate(s, "node", window=Tumbling("at", 7), n=Count(), most=Max("left")),
    "sliding": lambda s: aggregate(s, window=Sliding("at", 40, 10), n=Count(), left=Sum("left")),
    "sessions": lambda s: aggregate(s, "node", window=Session("at", 3), n=Count()),
    "final": lambda s: operators.count(operators.map_batches(s, ROW, several), "left", emit="final"),
    "top": lambda s: operators.top(s, "node", order="left", k=2, ties="at", window=Tumbling("at", 10)),
    "join": lambda s: operators.join(s, operators.select(s, "node", weight=col("left")), on="node"),
    "interval": lambda s: operators.interval_join(
        s, s, on="node", left_time="at", right_time="at", upper=3, columns="left.left right.at"
    ),
    "average": lambda s: operators.tumbling_average(s, "at", "left", 5),
    "loop": rounds,
    "delay": lambda s: operators.delay(s, 5),
    "nested": lambda s: operators.exchange(limited(operators.exchange(s, "left"), rounds, most=9), "node left"),
    "union": lambda s: operators.union(*operators.branch(s, col("left") > 2)),
    "components": lambda s: graphs.connected_components(operators.select(s, src=col("node"), dst=col("left"))),
}

Epochs = list[list[tuple[int, int]]]


def answers(
    region: Callable[..., Stream], epochs: Epochs, workers: int, order: list[int], bound: dict[str, Any] | None
) -> list[tuple[Any, ...]]:
    """(time, *row) of all that leaves a region, without a bound if that is None."""
    found: list[tuple[Any, ...]] = []

    def on_worker(worker: Worker, scope: Scope) -> Any:
        def record(time: Any, batch: Any) -> None:
            columns = [batch[name].tolist() for name in batch.schema.names]
            found.extend((time, *row) for row in zip(*columns, strict=True))

        handle, stream = scope.new_input(ROW)
        made = region(stream) if bound is None else limited(stream, region, **bound)
        operators.for_each(made, record)
        return handle

    with simulated(workers) as group:
        handles = build(group, on_worker)
        for epoch, rows in enumerate(epochs):
            for worker, handle in enumerate(handles):
                mine = rows[worker::workers]
                handle.advance_to(10 * epoch)
                at = [10 * epoch + row[1] for row in mine]
                handle.send({"node": [row[0] for row in mine], "left": [row[1] for row in mine], "at": at})
            for worker in order[epoch::3]:
                group.workers[worker % workers].step()
        for handle in handles:
            handle.close()
        group.run([at % workers for at in order])
        for worker in group.workers:
            worker.tracker.entries.check()
    return sorted(found)


@pytest.mark.parametrize("name", REGIONS)
@settings(max_examples=examples(8))
@given(
    epochs=st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=30), min_size=2, max_size=4),
    workers=st.integers(1, 3),
    order=st.lists(st.integers(0, 2), max_size=40),
    per=st.sampled_from(["rows", "bytes", "times"]),
    most=st.integers(1, 60),
)
def test_answers_are_those_of_the_unlimited_region(
    name: str, epochs: Epochs, workers: int, order: list[int], per: str, most: int
) -> None:
    expected = answers(REGIONS[name], epochs, workers, [], None)
    found = answers(REGIONS[name], epochs, workers, order, {"most": most, "per": per})
    first = name == "sessions"  # those that end together are sent at one time
    assert sorted(row[first:] for row in found) == sorted(row[first:] for row in expected)


Triple = tuple[int, int, int]
"""node, left, at."""


def by_window(rows: list[Triple], width: int, every: int, by_node: bool) -> dict[tuple[int, ...], list[Triple]]:
    """Rows by (start, end, and the node if so)."""
    found: dict[tuple[int, ...], list[Triple]] = {}
    for row in rows:
        for start in range(-width, row[2] + 1):
            if start % every == 0 and row[2] < start + width:
                found.setdefault((start, start + width, *([row[0]] if by_node else [])), []).append(row)
    return found


def by_session(rows: list[Triple]) -> list[tuple[int, ...]]:
    """(start, end, node, rows) of stretches with gaps below 3."""
    found = []
    for node in {row[0] for row in rows}:
        times = sorted(row[2] for row in rows if row[0] == node)
        begins = [at for at, time in enumerate(times) if at == 0 or time - times[at - 1] >= 3]
        for begin, end in zip(begins, [*begins[1:], len(times)], strict=True):
            found.append((times[begin], times[end - 1] + 3, node, end - begin))
    return found


def best_two(rows: list[Triple]) -> list[tuple[int, ...]]:
    found = []
    for (start, end, _), some in by_window(rows, 10, 10, True).items():
        ranked = sorted(some, key=lambda row: (-row[1], row[2]))[:2]
        found += [(start, end, *row, rank) for rank, row in enumerate(ranked, 1)]
    return found


def counted_rounds(rows: list[Triple]) -> list[tuple[int, ...]]:
    counts: Counter[tuple[int, int]] = Counter()
    for node, left, _ in rows:
        times = 1
        while left >= 0:
            counts[node, left] += times
            node, left, times = (node * 3 + left) % 5, left - 1, 3 * times
    return [(*key, count) for key, count in counts.items()]


PLAIN: dict[str, Callable[[list[Triple], int], list[Any]]] = {
    "nothing": lambda rows, workers: rows,
    "stateless": lambda rows, workers: 3 * [row for row in rows if row[1] > 1],
    "exchanges": lambda rows, workers: workers * rows,
    "one key": lambda rows, workers: 3 * rows,
    "windows": lambda rows, workers: [
        (*key, len(some), max(row[1] for row in some)) for key, some in by_window(rows, 7, 7, True).items()
    ],
    "sliding": lambda rows, workers: [
        (*key, len(some), sum(row[1] for row in some)) for key, some in by_window(rows, 40, 10, False).items()
    ],
    "sessions": lambda rows, workers: by_session(rows),
    "final": lambda rows, workers: [(left, 3 * n) for left, n in Counter(row[1] for row in rows).items()],
    "top": lambda rows, workers: best_two(rows),
    "join": lambda rows, workers: [(*a, b[1]) for a in rows for b in rows if a[0] == b[0]],
    "interval": lambda rows, workers: [
        (a[1], b[2]) for a in rows for b in rows if a[0] == b[0] and a[2] <= b[2] <= a[2] + 3
    ],
    "loop": lambda rows, workers: counted_rounds(rows),
    "delay": lambda rows, workers: rows,
    "nested": lambda rows, workers: counted_rounds(rows),
    "union": lambda rows, workers: rows,
}
"""What regions make of all rows, without times; the others are held to the unlimited ones alone."""


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("bound", [None, {"most": 7}, {"most": 200, "per": "bytes"}], ids=str)
def test_answers_are_those_of_plain_python(name: str, bound: dict[str, Any] | None) -> None:
    for seed in range(3):
        dice = Random(seed)
        epochs = [[(dice.randint(0, 4), dice.randint(0, 4)) for _ in range(dice.randint(0, 20))] for _ in range(3)]
        workers = 1 + seed
        found = answers(REGIONS[name], epochs, workers, [dice.randrange(3) for _ in range(30)], bound)
        rows = [(node, left, 10 * at + left) for at, some in enumerate(epochs) for node, left in some]
        assert sorted(row[1:] for row in found) == sorted(PLAIN[name](rows, workers))


def multiplied(times: int) -> Callable[[Stream], Stream]:
    return lambda s: operators.map_batches(s, ROW, lambda b: {name: np.repeat(b[name], times) for name in ROW.names})


@contextmanager
def noted_gates() -> Iterator[list[Any]]:
    """The gates that are made within the block, a worker's at a time."""
    made: list[Any] = []

    def new_gate(*arguments: Any) -> Any:
        made.append(gate.new_gate(*arguments))
        return made[-1]

    with mock.patch.object(import_module("tokenring.operators.flow.limited"), "new_gate", new_gate):
        yield made


def totals(
    region: Callable[..., Stream], rows: int, workers: int, most: int, order: list[int], per: str = "rows"
) -> list[int]:
    """The counts of rows that leave a region into which each worker puts so many rows, of node 0, at one time."""

    def on_worker(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(ROW)
        return handle, operators.collect(limited(stream, region, most=most, per=per))

    with simulated(workers, queue_bytes=1 << 16) as group:
        made = build(group, on_worker)
        for handle, _ in made:
            handle.send({name: np.zeros(rows, np.int64) for name in ROW.names})
            handle.close()
        group.run([at % workers for at in order])
        return [count for _, kept in made for count in kept.columns()["count"].tolist()]


@pytest.mark.parametrize("behind", [False, True])
@settings(max_examples=examples(6))
@given(workers=st.integers(1, 3), order=st.lists(st.integers(0, 2), max_size=30))
def test_a_region_that_multiplies_gets_few_rows_at_a_time(
    behind: bool, workers: int, order: list[int]
) -> None:
    """Before or behind an exchange that brings all rows to one worker: those that see nothing of it hold back too."""
    most, factor, rows = 3000, 100, 400

    def region(s: Stream) -> Stream:
        by = col("node") * 0
        many = multiplied(factor)
        made = many(operators.exchange(s, by)) if behind else operators.exchange(many(s), by)
        return operators.count(made, "node", emit="final")

    with noted_gates() as gates:
        found = totals(region, rows, workers, most, order)
    assert found == [workers * rows * factor]
    peaks = [each.view()["most"] for each in gates]
    assert 0 < max(peaks) < 6 * workers * most < rows * factor * workers


@pytest.mark.parametrize("workers", [2, 3])
def test_a_compiled_region_that_multiplies_on_one_worker_has_all_hold_back(workers: int) -> None:
    """A join whose pairs become more with every row: who puts rows in and sees none of them is asked for less."""
    most, rows = 3000, 300

    def region(s: Stream) -> Stream:
        there = operators.exchange(s, col("node") * 0)
        pairs = operators.join(there, there, on="node", columns={"node": "left.node"})
        return operators.count(pairs, "node", emit="final")

    with noted_gates() as gates:
        found = totals(region, rows, workers, most, [])
    assert found == [(workers * rows) ** 2]
    assert max([each.view()["most"] for each in gates]) < 12 * workers * most < (workers * rows) ** 2


def test_state_by_key_within_a_region_lies_in_bins_that_move() -> None:
    rows = [(at % 5, 0, at) for at in range(40)]

    def program(worker: Worker) -> list[tuple[Any, ...]]:
        moves = [(20, number, 1) for number in range(4)]
        with worker.dataflow("moving", bins=4, moves=moves) as scope:
            handle, stream = scope.new_input(ROW)
            made = operators.collect(limited(stream, REGIONS["windows"], most=5))
        for row in rows[worker.index :: worker.peers]:
            handle.advance_to(row[2])
            handle.send(dict(zip(ROW.names, [[value] for value in row], strict=True)))
        worker.run()
        return list(zip(*[column.tolist() for column in made.columns().values()], strict=True))

    found = [row for part in tr.execute(program, 2) for row in part]
    assert sorted(found) == sorted(PLAIN["windows"](rows, 2))
