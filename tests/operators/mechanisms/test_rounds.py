"""State in loops: by epoch, in the order of rounds, gone with its epoch; and sinks that take rows of any round."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, settle, simulated
from tests.long_form import examples
from tokenring import operators
from tokenring.engine import Schema, Scope, Stream, Worker
from tokenring.operators import col, distinct, filter, iterate, with_columns

ROW = Schema("node left at")


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_epochs_do_not_hear_of_each_other(workers: int) -> None:
    """0 sent at epoch 0 and 50 at epoch 1, each counting up to 99 while it is new."""

    def body(rows: Stream) -> tuple[Stream, Stream]:
        new = distinct(rows, "node")
        return operators.branch(with_columns(new, node=col("node") + 1), col("node") < 99)[0], new

    counts = {0: 0, 1: 0}

    def on_worker(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(Schema("node"))

        def add(time: int, batch: Any) -> None:
            counts[time] += batch.rows

        operators.for_each(iterate(stream, body), add)
        return handle

    with simulated(workers) as group:
        handles = build(group, on_worker)
        for epoch, start in enumerate((0, 50)):
            for handle in handles:
                handle.advance_to(epoch)
            handles[0].send({"node": [start]})
        for handle in handles:
            handle.close()
        settle(group, 20_000)
    assert counts == {0: 99, 1: 49}


def test_state_goes_with_its_epoch() -> None:
    scopes: list[Scope] = []

    def on_worker(worker: Worker, scope: Scope) -> Any:
        scopes.append(scope)
        handle, stream = scope.new_input(ROW)
        iterate(stream, lambda rows: (filter(distinct(rows, "node"), "left", "<", 0), rows))
        return handle

    with simulated(2) as group:
        handles = build(group, on_worker)
        for epoch in range(3):
            for handle in handles:
                handle.advance_to(epoch)
                handle.send({name: [1, 2, 3, 4, 5, 6] for name in ROW.names})
        seen = set()
        for time in (2, 3):
            for handle in handles:
                handle.advance_to(time)
            while any([worker.step() for worker in group.workers]):
                seen.update(scope.running.inspect("distinct")["epochs"] for scope in scopes)
            assert [scope.running.inspect("distinct") for scope in scopes] == [{"epochs": 0}] * 2
        assert max(seen) > 0


def test_sinks_in_a_loop() -> None:
    seen: list[Any] = []
    kept: list[Any] = []

    def on_worker(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(Schema("node"))

        def body(rows: Stream) -> tuple[Stream, Stream]:
            kept.append(operators.collect(rows))
            operators.for_each(rows, lambda time, batch: seen.append((time, batch["node"].tolist())))
            return filter(with_columns(rows, node=col("node") - 1), "node", ">", 0), rows

        iterate(stream, body)
        return handle

    with simulated() as group:
        (handle,) = build(group, on_worker)
        handle.send({"node": [2]})
        handle.advance_to(1)
        handle.send({"node": [3]})
        handle.close()
        settle(group)
    assert sorted(seen) == [((0, 0), [2]), ((0, 1), [1]), ((1, 0), [3]), ((1, 1), [2]), ((1, 2), [1])]
    assert sorted(kept[0].columns()["node"].tolist()) == [1, 1, 2, 2, 3]


ANSWERS: dict[str, Any] = {
    "distinct": lambda rows: distinct(rows, "key"),
    "aggregate": lambda rows: operators.aggregate(rows, "key", n=operators.Count(), total=operators.Sum("left")),
    "all": lambda rows: operators.aggregate(rows, n=operators.Count(), total=operators.Sum("left")),
    "best": lambda rows: operators.top(rows, "key", order="left", k=1),
    "top": lambda rows: operators.top(rows, "key", order="left", k=2),
    "top of all": lambda rows: operators.top(rows, order="left", k=2),
    "last": lambda rows: operators.last_by(rows, "key", order="left"),
}
KEYS = {"int64": st.integers(-2, 2), "string?": st.sampled_from(["", "pear", "a longer one: äöü", None])}


def _answers(name: str, kind: str, workers: int, sent: list[Any], queue: int) -> list[tuple[Any, ...]]:
    """What an operator in a loop answers by epoch; each row goes round as often as it says."""
    seen: list[tuple[Any, ...]] = []

    def body(rows: Stream) -> tuple[Stream, Stream]:
        again = operators.exchange(filter(with_columns(rows, left=col("left") - 1), "left", ">", 0), "key")
        return again, ANSWERS[name](rows)

    def on_worker(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(Schema(key=kind, left="int64"))

        def add(time: int, batch: Any) -> None:
            seen.extend(
                (time, *row) for row in zip(*[batch[name].tolist() for name in batch.schema.names], strict=True)
            )

        operators.for_each(iterate(stream, body), add)
        return handle

    with simulated(workers, queue_bytes=queue) as group:
        handles = build(group, on_worker)
        for epoch, worker, rows in sent:
            for handle in handles:
                handle.advance_to(epoch)
            key, left = zip(*rows, strict=True)
            handles[worker % workers].send({"key": list(key), "left": list(left)})
            group.workers[worker % workers].step()
        for handle in handles:
            handle.close()
        settle(group, 50_000)
        for worker in group.workers:
            assert worker.complete
            state = worker.world.state
            assert (state.aside, state.waiting, state.pending_edges) == (0, 0, 0)
    return sorted(seen, key=repr)


def _expected(name: str, sent: list[Any]) -> list[tuple[Any, ...]]:
    """The same in plain Python: what each finished round of an epoch changes."""
    told: list[tuple[Any, ...]] = []
    for epoch in {one[0] for one in sent}:
        came = [row for at, _, rows in sent if at == epoch for row in rows]
        seen: list[Any] = []
        rankings: dict[Any, list[Any]] = {}
        for number in range(max(left for _, left in came)):
            rows = [(key, left - number) for key, left in came if left > number]
            known, seen = {key for key, _ in seen}, seen + rows
            keys = {key for key, _ in rows}
            if name == "distinct":
                told += [(epoch, key) for key in keys - known]
            elif name == "aggregate":
                for key in keys:
                    values = [left for each, left in seen if each == key]
                    told.append((epoch, key, len(values), sum(values)))
            elif name == "all":
                told.append((epoch, len(seen), sum(left for _, left in seen)))
            elif name == "last":
                told += [(epoch, key, max(left for each, left in rows if each == key)) for key in keys - known]
            else:
                for key in [None] if name == "top of all" else keys:
                    ranked = [row for row in seen if name == "top of all" or row[0] == key]
                    ranked = sorted(ranked, key=lambda row: -row[1])[: 1 if name == "best" else 2]
                    before, rankings[key] = rankings.get(key, []), ranked
                    first = next((at for at, row in enumerate(ranked) if row not in before[at : at + 1]), len(ranked))
                    told += [(epoch, *row, rank + 1) for rank, row in enumerate(ranked) if rank >= first]
    return sorted(told, key=repr)


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("name", ANSWERS)
@settings(max_examples=examples(12), deadline=None)
@given(data=st.data(), workers=st.integers(1, 3), queue=st.sampled_from([4096, 1 << 16]))
def test_rounds_are_answered(name: str, kind: str, data: st.DataObject, workers: int, queue: int) -> None:
    rows = st.lists(st.tuples(KEYS[kind], st.integers(1, 6)), min_size=1, max_size=30)
    sent = data.draw(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), rows), max_size=6))
    epochs = [sum(more for more, *_ in sent[: at + 1]) for at in range(len(sent))]
    script = [(epoch, *rest) for epoch, (_, *rest) in zip(epochs, sent, strict=True)]
    found = _answers(name, kind, workers, script, queue)
    expected = _expected(name, script)
    if name == "distinct":
        found = sorted([row[:2] for row in found], key=repr)  # which row of several of one round is its key's, is open
    if name == "top of all":  # and which key's is first of those that have as many left; it may be another's then
        last = [{(row[0], row[-1]): row[2] for row in sorted(rows, key=repr)} for rows in (found, expected)]
        assert last[0] == last[1]
        return
    assert found == expected


@pytest.mark.parametrize("name", ANSWERS)
def test_operators_that_remember_are_compiled_in_loops(name: str) -> None:
    scopes: list[Scope] = []

    def on_worker(worker: Worker, scope: Scope) -> Any:
        scopes.append(scope)
        handle, stream = scope.new_input(Schema(key="string", left="int64"))
        iterate(stream, lambda rows: (operators.exchange(filter(rows, "left", "<", 0), "key"), ANSWERS[name](rows)))
        return handle

    with simulated(2) as group:
        build(group, on_worker)
        inside = [spec for spec in scopes[0].graph.operators if spec.depth > 1 and spec.relay is None]
        assert len(inside) > 1
        assert all(spec.is_compiled for spec in inside), [spec.name for spec in inside if not spec.is_compiled]


def test_what_is_set_aside_goes_with_a_dataflow_that_is_cancelled() -> None:
    scopes: list[Scope] = []

    def on_worker(worker: Worker, scope: Scope) -> Any:
        scopes.append(scope)
        handle, stream = scope.new_input(Schema("key left"))
        iterate(stream, lambda rows: (filter(rows, "left", "<", 0), distinct(rows, "key")))
        return handle

    with simulated() as group:
        handles = build(group, on_worker)
        handles[0].send({"key": [1, 2, 3, 4], "left": [5, 6, 7, 8]})
        settle(group)
        (worker,) = group.workers
        assert worker.world.state.aside == 1
        scopes[0].running.cancel()
        settle(group)
        assert worker.complete
        assert worker.world.state.aside == 0
