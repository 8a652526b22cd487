"""State moves at exactly its time, in groups of processes; what cannot be right is refused; kills end the run."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.migrate.own_sums import SUMS, VALUES, sums
from tests.operators.migrate.runs import run
from tokenring.engine import MAX_TIME, Batch, Exchange, GraphError, OperatorError, Schema, UsageError, WorkerError
from tokenring.operators.migrate import Bins, Staying, Table

EPOCHS, KEYS, BINS = 12, 20, 8
MOVES = [(5, 0, 1), (5, 1, 1), (7, 0, 0), (9, 7, 0), (10**6, 3, 1)]


def run_sums(
    worker: Any, moves: Any = (), feed: Any = None
) -> tuple[list[tuple[int, int, int]], int]:
    """What this worker saw: (epoch, key, total), and the rows of state that it sent away. feed(worker, handle, probe,
    placement) sends instead of all workers together."""
    seen: list[tuple[int, int, int]] = []
    with worker.dataflow("sums", bins=BINS, moves=moves) as scope:
        handle, rows = scope.new_input(VALUES)

        def keep(context: Any) -> Any:
            def logic(made: Any) -> None:
                for reference, batch in made:
                    seen.extend((reference.time, *row) for row in zip(*map(list, batch.columns), strict=True))

            return logic

        probe = sums(rows).sink("seen", keep)
    (feed or feed_epochs)(worker, handle, probe, scope.placement)
    handle.close()
    worker.run()
    return [(int(a), int(b), int(c)) for a, b, c in seen], scope.placement.rows_moved


def test_rows_and_state_are_where_they_are_to_be_from_that_time_on() -> None:
    parts = tr.execute(lambda worker: run_sums(worker, MOVES), 2)
    assert sorted(parts[0][0] + parts[1][0]) == [(e, k, (e + 1) * k) for e in range(EPOCHS) for k in range(KEYS)]
    bins = Bins(BINS).of(tr.Batch(VALUES, {"key": range(KEYS), "value": range(KEYS)}), ["key"])
    at = {number: number * 2 // BINS for number in range(BINS)}
    for epoch in range(EPOCHS):
        at |= {number: worker for time, number, worker in MOVES if time == epoch}
        for worker, (seen, _) in enumerate(parts):
            assert {key for time, key, _ in seen if time == epoch} == {k for k in range(KEYS) if at[bins[k]] == worker}
    assert sum(rows for _, rows in parts) > 0


def feed_epochs(worker: Any, handle: Any, probe: Any, placement: Any) -> None:
    """Some epochs, waited for now and then."""
    for epoch in range(EPOCHS):
        handle.advance_to(epoch)
        if worker.index == 0:
            handle.send({"key": range(KEYS), "value": range(KEYS)})
        if epoch % 3 == 2:
            handle.advance_to(epoch + 1)
            worker.step_while(lambda epoch=epoch: probe.less_than(epoch + 1))


def feed_until_moved(worker: Any, handle: Any, probe: Any, placement: Any) -> None:
    """As many epochs as it takes until all bins have moved that worker 0 asks for."""
    epoch = 0
    while worker.index == 0 and (epoch < EPOCHS or placement.is_moving):
        if epoch == 4:
            placement.move([dict.fromkeys(range(BINS), 1), {0: 0}])
        handle.send({"key": range(KEYS), "value": range(KEYS)})
        epoch += 1
        handle.advance_to(epoch)
        worker.step_while(lambda epoch=epoch: probe.less_than(epoch))


def test_bins_move_when_somebody_asks() -> None:
    parts = tr.execute(lambda worker: run_sums(worker, feed=feed_until_moved), 2)
    epochs = 1 + max(epoch for seen, _ in parts for epoch, _, _ in seen)
    assert sorted(parts[0][0] + parts[1][0]) == [(e, k, (e + 1) * k) for e in range(epochs) for k in range(KEYS)]
    assert parts[0][1] > 0
    last = {key for time, key, _ in parts[0][0] if time == epochs - 1}
    bins = Bins(BINS).of(tr.Batch(VALUES, {"key": range(KEYS), "value": range(KEYS)}), ["key"])
    assert last == {key for key in range(KEYS) if bins[key] == 0}


def test_one_worker_has_all_bins() -> None:
    ((seen, rows),) = tr.execute(lambda worker: run_sums(worker, [(3, 0, 0)]), 1)
    assert len(seen) == EPOCHS * KEYS
    assert rows == 0


def test_a_worker_killed_while_state_moves_ends_the_run() -> None:
    def program(worker: Any) -> None:
        calls = []

        def killed() -> None:
            calls.append("take_out")
            if len(calls) > 1:  # the first is tried at the start, of no key
                os.kill(os.getpid(), signal.SIGKILL)

        with worker.dataflow("sums", bins=BINS, moves=[(2, number, 0) for number in range(BINS)]) as scope:
            handle, rows = scope.new_input(VALUES)
            probe = sums(rows, killed).probe()
        for epoch in range(5):
            handle.advance_to(epoch)
            handle.send({"key": range(KEYS), "value": range(KEYS)})
        handle.advance_to(6)
        worker.step_while(lambda: probe.less_than(5))

    with raises(WorkerError, "worker 1", "SIGKILL"):
        tr.execute(program, 2)


REFUSED: dict[str, tuple[Any, type[Exception], Fact]] = {
    "no power of two": (lambda w: w.dataflow("x", bins=3).__enter__(), UsageError, ("bins=3", "power of two", "65536")),
    "moves without bins": (
        lambda w: w.dataflow("x", moves=[(1, 0, 0)]).__enter__(), UsageError, ("dataflow 'x'", "moves=", "bins=256")
    ),
    "no such bin": (lambda w: w.dataflow("x", bins=4, moves=[(1, 4, 0)]).__enter__(), UsageError, ("bin 4", "0 to 3")),
    "no such worker": (
        lambda w: w.dataflow("x", bins=4, moves=[(1, 0, 2)]).__enter__(), UsageError, ("bin 0", "worker 2", "0 to 1")
    ),
    "no such time": (
        lambda w: w.dataflow("x", bins=4, moves=[(-1, 0, 0)]).__enter__(),
        UsageError,
        ("bin 0", "at -1", f"0 to {MAX_TIME}"),
    ),
    "another mechanism": (
        lambda w: w.dataflow("x", mechanism="notifications", bins=4).__enter__(),
        UsageError,
        ("dataflow 'x'", "tokens", "not 'notifications'", "bins="),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name: str) -> None:
    declare, error, words = REFUSED[name]
    with raises(error, words):
        tr.execute(declare, 2)


def declared(declare: Any) -> Any:
    """A program with a dataflow in bins."""

    def program(worker: Any) -> None:
        with worker.dataflow("x", bins=4) as scope:
            declare(scope, scope.new_input(VALUES)[1])

    return program


def undeclared(scope: Any, rows: Any) -> None:
    rows.unary("mine", VALUES, lambda context, token: None, Exchange("key"))


def moving_and_staying(scope: Any, rows: Any) -> None:
    rows.binary(rows, "mine", VALUES, lambda context, token: None, (Exchange("key"), Staying("key")))


def staying_and_moving(scope: Any, rows: Any) -> None:
    rows.binary(rows, "mine", VALUES, lambda context, token: None, (Staying("key"), Exchange("key")))


def output_first(scope: Any, rows: Any) -> None:
    builder = scope.operator("mine")
    builder.output(VALUES)
    builder.input(rows, Exchange("key"))


def raising() -> None:
    raise ValueError("a socket cannot be taken out")


_OTHER = Batch(Schema("key"), {"key": []})
BROKEN: list[tuple[Callable[[], list[Batch] | None], Fact]] = [
    (raising, "ValueError: a socket cannot be taken out"),
    (list, "0 of 1 tables"),
    (lambda: [None], "[None], and not a Batch for each table"),  # type: ignore[list-item]
    (lambda: [_OTHER], ("Schema(key=int64)", "Schema(key=int64, total=int64)")),
    (lambda: [Batch(SUMS, {"key": [1], "total": [1]})], "1 rows of keys that did not leave"),
]
_TWO = Schema("key value")
KEYS_OF_OTHERS: list[tuple[str | tuple[str, ...], Table, Fact]] = [
    ("key", Table(SUMS, ()), ("there is no key", "Schema(key=int64, total=int64)", "('key',)")),
    ("key", Table(SUMS, ("word",)), ("'word' of its key", "no column")),
    ("key", Table(SUMS, "key"), ("'k' of its key 'key'", "('key',)")),  # type: ignore[arg-type]
    ("key", Table(Schema(key="string"), ("key",)), ("('key': string)", "('key': int64)", "same kinds")),
    (("key", "value"), Table(_TWO, ("key",)), ("('key': int64)", "('key': int64, 'value': int64)", "as many columns")),
    (("key", "value"), Table(_TWO, ("value", "key")), ("('value': int64, 'key': int64)", "same order")),
]


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (undeclared, ("'mine'", "state_moves(builder, tables)", "Staying(...)")),
        (output_first, ("'mine'", "inputs", "before its outputs")),
        (moving_and_staying, ("'mine'", "Staying(...)", "all inputs")),
        (staying_and_moving, ("'mine'", "Staying(...)", "all inputs")),
        (lambda scope, rows: sums(rows, offers=0), ("'sums'", "offered 0 states", "offer(moves) once")),
        (lambda scope, rows: sums(rows, offers=2), ("'sums'", "offered 2 states", "offer(moves) once")),
        *[(lambda scope, rows, out=out: sums(rows, on_out=out), ("'sums'", "take_out", said)) for out, said in BROKEN],
        (lambda scope, rows: sums(rows, tables=[]), ("'sums'", "offered 1 states", "no table", "[Table(schema, key)]")),
        *[
            (lambda scope, rows, by=by, table=table: sums(rows, tables=[table], by=by), ("'sums'", said))
            for by, table, said in KEYS_OF_OTHERS
        ],
    ],
)
def test_what_does_not_say_how_its_state_moves_is_refused(declare: Any, words: Fact) -> None:
    with raises(GraphError, "operator", words):
        tr.execute(declared(declare), 2)


@pytest.mark.parametrize("tables", [SUMS, [SUMS], Table(SUMS, ("key",)), [("key",)], [Table("key total", ("key",))], 1])
def test_what_is_no_list_of_tables_is_refused_whether_state_moves_or_not(tables: Any) -> None:
    def program(worker: Any) -> None:
        with worker.dataflow("x") as scope:
            sums(scope.new_input(VALUES)[1], tables=tables)

    for refused in (program, declared(lambda scope, rows: sums(rows, tables=tables))):
        with raises(UsageError, "operator 'sums'", repr(tables), "[Table(schema, key)]"):
            tr.execute(refused, 1)


@pytest.mark.parametrize(
    ("by", "key"), [("key", ("key?",)), (("key", "value"), ("one", "other")), (("key", "value"), ("value", "one"))]
)
def test_columns_of_a_key_may_have_other_names_than_the_exchange_has(by: Any, key: tuple[str, ...]) -> None:
    nullable = Schema.of({name: "int64?" for name in ("key?", "value", "one", "other")})
    empty = Batch(nullable, {name: [] for name in nullable.names})
    tr.execute(declared(lambda scope, rows: sums(rows, lambda: [empty], tables=[Table(nullable, key)], by=by)), 2)


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        ([Batch(SUMS, {"key": range(9), "total": range(9)})], ("rows of keys that did not leave", "leaving.rows")),
        ([_OTHER], ("Schema(key=int64)", "Schema(key=int64, total=int64)")),
    ],
)
def test_what_is_taken_out_is_looked_at_as_bins_move(taken: list[Batch], words: Fact) -> None:
    calls: list[None] = []

    def out() -> list[Batch] | None:
        calls.append(None)
        return taken if len(calls) > 2 else None  # the first are tried at the start, on each worker

    messages = [[(key, key) for key in range(KEYS)]] * 3
    with raises(OperatorError, "UsageError: operator 'sums'", "take_out returned", words):
        run(VALUES, lambda rows: sums(rows, out), messages, 2, [(1, 0, 1)])


def test_only_worker_0_moves_bins() -> None:
    def program(worker: Any) -> None:
        with worker.dataflow("x", bins=4) as scope:
            sums(scope.new_input(VALUES)[1])
        if worker.index == 1:
            scope.placement.move([{0: 0}])

    with raises(UsageError, "worker 0", "this is worker 1"):
        tr.execute(program, 2)


def test_a_dataflow_without_bins_has_no_placement() -> None:
    def program(worker: Any) -> None:
        with worker.dataflow("x") as scope:
            scope.new_input(Schema("value"))
        _ = scope.placement

    with raises(GraphError, "dataflow 'x'", "bins=256"):
        tr.execute(program, 1)


KEYED: list[Callable[[Any], Any]] = [
    lambda rows: rows.aggregate("key", n=tr.Count(), emit="final"),
    lambda rows: rows.filter(tr.col("key") > 0).aggregate("key", n=tr.Count(), emit="each"),
    lambda rows: rows.select("key").join(rows.select("key"), on="key"),
]
NOT_MOVING: list[Callable[[Any], Any]] = [lambda rows: rows.collect(), lambda rows: rows.collection().count("key")]


@pytest.mark.parametrize("how", ["inner", "semi", "left", "right", "full", "anti"])
def test_what_cannot_move_before_a_join_has_ended_is_told_when_it_is_declared(how: str) -> None:
    def declared(worker: Any, behind: Callable[[Any], Any], window: Any = None, **bins: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with worker.dataflow("joined", **bins) as scope:
                left = scope.new_input(Schema("key value"), "left")[1]
                right = scope.new_input(Schema("key other"), "right")[1]
                joined = left.join(right, on="key", how=how, window=window, right_time=window and "other", name="outer")
                behind(joined)
                behind(joined)
        found = [each for each in told if each.category is tr.HeldBackWarning]
        assert all([each.filename == __file__ for each in found])
        return [str(each.message) for each in found]

    def program(worker: Any) -> Any:
        return (
            [declared(worker, behind, bins=BINS) for behind in KEYED],
            [declared(worker, behind, bins=BINS) for behind in NOT_MOVING],
            [declared(worker, KEYED[0]), declared(worker, KEYED[0], tr.Tumbling("value", 10), bins=BINS)],
        )

    (keyed, *others), on_the_other = tr.execute(program, 2)
    assert not any(others[0] + others[1]) and not any([any(told) for told in on_the_other])
    for told in keyed:
        assert len(told) == (how not in ("inner", "semi"))
        for fact in ("input 0", "'outer'", "'joined'", "window=", "interval_join", "without bins=", "HeldBackWarning"):
            assert all([fact in each for each in told])
