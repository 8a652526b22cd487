"""Arrangements of other dataflows, imported while rows come, and read at a time: beside recomputation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tokenring as tr
import tokenring.engine.explain.stall
from tests.errors import Fact, raises
from tests.operators.collections.feed import Feed, Update, as_rows, one_view, rows_of
from tests.operators.collections.harness import TIMES, UPDATE, Rows, at, made_up
from tests.operators.collections.test_collections import joined, total, totals, without_values
from tokenring.engine import COMPLETE
from tokenring.operators.collections.sharing import Views
from tokenring.operators.collections.sharing.answering import Query

IMPORTED: dict[str, tuple[Callable[[tr.Arranged, tr.Collection], tr.Collection], Callable[[Rows, Rows], Rows]]] = {
    "rows": (lambda shared, own: shared.collection(), lambda rows, own: rows),
    "totals": (
        lambda shared, own: shared.aggregate(
            n=tr.Count(), s=tr.Sum("v"), low=tr.Min("v"), high=tr.Max("v")
        ).collection(),
        lambda rows, own: totals(rows),
    ),
    "distinct": (lambda shared, own: shared.each().collection(), lambda rows, own: Rows(dict.fromkeys(rows, 1))),
    "join": (lambda shared, own: shared.join(own.select("k", w=tr.col("v")).arrange("k")), joined),
    "totals of a join": (
        lambda shared, own: total(
            own.join(shared.collection().select("k", w=tr.col("v")), "k").select("k", v=tr.col("w"))
        ),
        lambda rows, own: totals(without_values(joined(own, rows))),
    ),
    "join with itself": (
        lambda shared, own: shared.join(shared.each().aggregate(n=tr.Count())),
        lambda rows, own: Rows(
            {(k, v, sum(other == k for other, _ in rows)): times for (k, v), times in rows.items()}
        ),
    ),
}


def imported(
    updates: list[Update], own: list[Update], build: Callable[..., tr.Collection], seed: int
) -> Callable[[tr.Worker], Any]:
    """What a second dataflow, declared at some time, makes of the arrangement of a first, and from which time on."""

    def program(worker: tr.Worker) -> Any:
        random = np.random.default_rng(seed)
        begin, paces = int(random.integers(TIMES + 1)), random.integers(0, 3, (TIMES + 1, worker.peers))
        with worker.dataflow("first") as scope:
            first = Feed(worker, scope, updates)
            view = first.collection.arrange("k").export("shared", history=int(random.integers(3)))
        second = since = found = None
        for time in range(TIMES + 1):
            if time == begin:
                with worker.dataflow("second") as scope:
                    second = Feed(worker, scope, own)
                    found = build(scope.import_arrangement("shared"), second.collection).changes().collect()
                since = view.since
            first.go_to(time)
            if second is not None:
                second.go_to(time)
            for _ in range(paces[time, worker.index]):
                worker.step()
        worker.run()
        return since, rows_of(found)

    return program


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", IMPORTED)
def test_what_is_imported_is_as_if_it_were_made_there(name: str, workers: int) -> None:
    build, expected = IMPORTED[name]
    given = [(made_up(10 * seed, 40, 5, 5), made_up(10 * seed + 1, 20, 5, 5)) for seed in range(6)]
    programs = [imported(*each, build, seed) for seed, each in enumerate(given)]
    made = tr.execute(lambda worker: [program(worker) for program in programs], workers=workers)
    for seed, (parts, (updates, own)) in enumerate(zip(zip(*made, strict=True), given, strict=True)):
        since = max(part[0] for part in parts)
        found = [row for part in parts for row in part[1]]
        for time in range(since, TIMES):
            assert at(found, time) == expected(at(updates, time), at(own, time)), (seed, time)


@pytest.mark.parametrize(
    ("wrong", "cure"),
    [
        (lambda worker, view, scope: scope.import_arrangement("row"), ("'row'", "did you mean 'rows'")),
        (lambda worker, view, scope: worker.view("other"), ("'other'", "there are: 'rows'")),
        (lambda worker, view, scope: again(scope, "rows"), ("'rows' already", "another name")),
        (lambda worker, view, scope: (again(scope, "x"), again(scope, "x")), ("'x' already", "another name")),
        (lambda worker, view, scope: view.at(key=(1, 2)), ("the key is (k)", "(1, 2)", "tuple")),
        (lambda worker, view, scope: view.at(key="one"), ("'one'", "column 'k'", "int64")),
        (lambda worker, view, scope: view.at("x"), ("'rows'", "a time, an integer", "not 'x'")),
        (lambda worker, view, scope: view.at(times="v"), ("column 'v'", "times=")),
    ],
)
def test_what_cannot_be_is_refused(wrong: Callable[..., Any], cure: Fact) -> None:
    def program(worker: tr.Worker) -> None:
        feed, view = one_view(worker)
        feed.go_to(1)
        worker.step_while(lambda: view.upper < 1)
        with worker.dataflow("second") as scope:
            wrong(worker, view, scope)

    with raises(tr.UsageError, cure):
        tr.execute(program, workers=1)


def again(scope: tr.Scope, name: str) -> None:
    scope.new_input(tr.Schema("k v"), name)[1].collection().arrange("k").export(name)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", IMPORTED)
def test_what_is_imported_and_exported_again_unchanged_is_as_it_was(name: str, workers: int) -> None:
    build, expected = IMPORTED[name]
    for seed in range(4):
        updates, own = made_up(10 * seed, 40, 5, 5), made_up(10 * seed + 1, 20, 5, 5)
        parts = imported_again(updates, own, build, workers, seed)
        since = max(part[0] for part in parts)
        found = [row for part in parts for row in part[1]]
        for time in range(since, TIMES):
            assert at(found, time) == expected(at(updates, time), at(own, time)), (seed, time)
        for time in range(TIMES):
            reads = [part[2][time] for part in parts if time in part[2]]
            if len(reads) == workers:
                assert sum(reads, Rows()) == at(updates, time), (seed, time)
        assert all([held == read for part in parts for held, read in part[3]])


def imported_again(
    updates: list[Update], own: list[Update], build: Callable[..., tr.Collection], workers: int, seed: int
) -> list[Any]:
    """What a third dataflow makes of the arrangement of a first, which a second imports and exports; from which time
    on; what the second's view has at times; and what was read twice, the second time from a past that was kept."""

    def program(worker: tr.Worker) -> Any:
        random = np.random.default_rng(seed)
        second_begins, third_begins = sorted(random.integers(0, TIMES + 1, 2).tolist())
        paces = random.integers(0, 3, (TIMES + 1, worker.peers))
        with worker.dataflow("first") as scope:
            first = Feed(worker, scope, updates)
            first.collection.arrange("k").export("shared", history=int(random.integers(3)))
        view = third = since = found = kept = None
        read, held = dict[int, Rows](), []
        for time in range(TIMES + 1):
            if time == second_begins:
                with worker.dataflow("second") as scope:
                    view = scope.import_arrangement("shared").export("again", history=int(random.integers(3)))
            if time == third_begins:
                with worker.dataflow("third") as scope:
                    third = Feed(worker, scope, own)
                    found = build(scope.import_arrangement("again"), third.collection).changes().collect()
                since = view.since
            first.go_to(time)
            if third is not None:
                third.go_to(time)
            for _ in range(paces[time, worker.index]):
                worker.step()
            if view is not None and view.since < view.upper < COMPLETE:
                read[view.latest] = as_rows(view.at())
                kept = kept or (view.latest, view.keep_since(view.latest), as_rows(view.at()))
        worker.run()
        if kept is not None:
            time, keeping, rows = kept
            held.append((rows, as_rows(view.at(time))))
            keeping.release()
        return since, rows_of(found), read, held

    return tr.execute(program, workers=workers)


def test_what_was_exported_again_is_read_when_its_dataflow_and_the_first_have_ended() -> None:
    def program(worker: tr.Worker) -> Any:
        feed, first = one_view(worker)
        with worker.dataflow("second") as second:
            view = second.import_arrangement("rows").export("again")
        with worker.dataflow("third") as third:
            seen = third.import_arrangement("again").collection().changes().collect()
            other, stream = third.new_input(UPDATE)
            stream.collect()
        feed.go_to(4)
        worker.step_while(lambda: view.upper < 4)
        facts = view.facts
        subscription = view.subscribe()
        feed.go_to(9)
        feed.handle.close()
        worker.step_while(lambda: not second.running.done)
        assert view.upper == COMPLETE and worker.view("again") is view
        with raises(tr.GraphError, "'rows'", "'again'"):
            worker.view("rows")
        with worker.dataflow("fourth") as fourth:
            late = fourth.import_arrangement("again").collection().changes().collect()
        worker.step_while(lambda: not fourth.running.done)
        told = [(time, as_rows(rows)) for time, rows in subscription.take()]
        at_last, readers = as_rows(view.at()), len(first.trace.readers)
        other.close()
        worker.run()
        with raises(tr.GraphError, "'again'", "none"):
            worker.view("again")
        return facts, told, at(rows_of(late), 9), at_last, at(rows_of(seen), 9), readers, len(first.trace.readers)

    ((facts, told, late, at_last, seen, readers, left),) = tr.execute(program, workers=1)
    assert facts["readers"] == ["third"] and (facts["since"], facts["upper"], facts["rows"]) == (3, 4, 2)
    assert told == [(3, {(1, 5): 1, (2, 6): 1}), (4, {(1, 5): -1})]
    assert late == at_last == seen == {(2, 6): 1}
    assert (readers, left) == (1, 0)


@pytest.mark.parametrize("workers", [1, 2])
def test_readers_who_leave_let_the_past_go(workers: int) -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("base") as scope:
            feed, stream = scope.new_input(UPDATE)
            view = stream.collection("time", "times").arrange("k").export("rows")
        facts = []
        for time in range(60):
            feed.send({"k": [time % 3], "v": [0], "time": [time], "times": [1]})
            if time:
                feed.send({"k": [(time - 1) % 3], "v": [0], "time": [time], "times": [-1]})
            feed.advance_to(time + 1)
            worker.step_while(lambda time=time: view.upper <= time)
            with worker.dataflow(f"reader {time}") as scope:
                seen = scope.import_arrangement("rows").aggregate(n=tr.Count()).collection().changes().probe()
            worker.step_while(lambda time=time, seen=seen: seen.less_than(time + 1))
            facts.append(view.facts)
            scope.running.cancel()
            worker.step_while(lambda running=scope.running: not running.done)
        return facts, view.facts, len(view.trace.readers)

    for facts, last, readers in tr.execute(program, workers=workers):
        assert [each["readers"] for each in facts] == [[f"reader {time}"] for time in range(60)]
        assert last["readers"] == [] and readers == 1
        assert max(each["rows"] for each in facts) < 40


def test_an_arrangement_goes_when_its_dataflow_has_ended_and_nobody_reads() -> None:
    def program(worker: tr.Worker) -> Any:
        feed, view = one_view(worker)
        with worker.dataflow("second") as scope:
            scope.import_arrangement("rows").collection().changes().collect()
            other, stream = scope.new_input(UPDATE)
            stream.collect()
        kept = view.keep_since(0)
        feed.go_to(9)
        feed.handle.close()
        worker.step_while(lambda: view.upper < COMPLETE)
        with worker.dataflow("third") as scope:  # while it is there it is imported
            late = scope.import_arrangement("rows").collection().changes().collect()
        worker.step_while(lambda: not scope.running.done)
        assert worker.view("rows") is view
        other.close()
        worker.run()
        kept.release()
        with raises(tr.GraphError, "'rows'", "none"):
            worker.view("rows")
        return at(rows_of(late), 10)

    assert tr.execute(program, workers=1) == [{(2, 6): 1}]


@pytest.mark.parametrize("kept", [True, False])
def test_what_goes_while_its_importer_is_declared_is_refused(kept: bool) -> None:
    def program(worker: tr.Worker) -> None:
        feed, view = one_view(worker)
        with worker.dataflow("second") as scope:
            scope.import_arrangement("rows").collection().changes().collect()
            feed.go_to(9)
            feed.handle.close()
            worker.step_while(lambda: bool(list(worker.kept(Views))))
            if kept:
                view.keep_since(view.since).release()
        worker.run()

    with raises(tr.GraphError, "'rows'", "'base'", "has ended", "while that runs"):
        tr.execute(program, workers=1)


def test_a_name_is_free_once_its_dataflow_has_ended_and_who_asked_before_is_told(tmp_path: Path) -> None:
    def program(worker: tr.Worker) -> Any:
        feed, view = one_view(worker)
        asked = Query(worker, tmp_path, {"view": "rows", "key": None})
        feed.handle.close()
        worker.step_while(lambda: view.upper < COMPLETE)
        with worker.dataflow("again") as scope:
            again = scope.new_collection(tr.Schema("k"))[1].arrange("k").export("rows")
        asked.look()
        assert worker.view("rows") is again
        return pa.ipc.open_file(tmp_path / "0.arrow").schema.metadata[b"error"]

    (error,) = tr.execute(program, workers=1)
    assert b"'rows' was removed" in error and b"ask again" in error


def test_those_who_import_what_is_cancelled_come_to_an_end() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("base") as base:
            feed, stream = base.new_input(UPDATE)
            view = stream.collection("time", "times").arrange("k").export("rows")
        with worker.dataflow("second") as scope:
            found = scope.import_arrangement("rows").collection().changes().collect()
        feed.send({"k": [1], "v": [2], "time": [0], "times": [1]})
        feed.advance_to(1)
        worker.step_while(lambda: view.upper < 1)
        base.running.cancel()
        worker.step_while(lambda: not scope.running.done)
        return rows_of(found)

    assert tr.execute(program, workers=1) == [[(1, 2, 0, 1)]]


def test_an_import_that_waits_for_an_open_input_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tokenring.engine.explain.stall, "STALLED_S", 0.1)

    def program(worker: tr.Worker) -> None:
        feed, _ = one_view(worker)
        with worker.dataflow("second") as scope:
            scope.import_arrangement("rows").aggregate(n=tr.Count()).export("counts")
        feed.go_to(1)
        end = monotonic() + 0.5
        worker.step_while(lambda: monotonic() < end)

    tr.execute(program, workers=2)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_first_look_up_takes_as_many_rows_as_it_finds(workers: int) -> None:
    rows = 200_000

    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("base") as scope:
            feed, stream = scope.new_input(UPDATE)
            view = stream.collection("time", "times").arrange("k").export("rows")
        if worker.index == 0:
            zeros = np.zeros(rows, np.int64)
            feed.send({"k": np.arange(rows), "v": zeros, "time": zeros, "times": zeros + 1})
        feed.advance_to(1)
        worker.step_while(lambda: view.upper < 1)
        events, kept = worker.watch_events(), view.facts["bytes"]
        with worker.dataflow("second") as scope:
            asked, stream = scope.new_input(tr.Schema("k"))
            found = scope.import_arrangement("rows").join(stream.collection().arrange("k")).changes().collect()
        if worker.index == 0:
            asked.send({"k": [777, 778]})
        worker.barrier()
        worker.run()
        ran = [event.rows for event in events.take() if event.dataflow == "second" and event.event == "run"]
        return rows_of(found), sum(ran), view.facts["bytes"] <= kept

    parts = tr.execute(program, workers=workers)
    assert sorted(row for found, _, _ in parts for row in found) == [(777, 0, 0, 1), (778, 0, 0, 1)]
    assert sum(ran for _, ran, _ in parts) < 20
    assert all(is_as_before for _, _, is_as_before in parts)


def test_two_imports_are_joined() -> None:
    """One side brings what is there, the other is looked up; changes of both come."""

    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("base") as scope:
            left = Feed(worker, scope, [(1, 5, 0, 1), (2, 6, 0, 1), (1, 5, 4, -1)], "left")
            right = Feed(worker, scope, [(1, 7, 0, 1), (2, 8, 3, 1)], "right")
            left.collection.arrange("k").export("left")
            view = right.collection.select("k", w=tr.col("v")).arrange("k").export("right")
        left.go_to(1), right.go_to(1)
        worker.step_while(lambda: view.upper < 1)
        with worker.dataflow("second") as scope:
            sides = [scope.import_arrangement(name) for name in ("left", "right")]
            found = sides[0].join(sides[1]).changes().collect()
        left.go_to(5), right.go_to(5)
        worker.run()
        return sorted(rows_of(found))

    assert tr.execute(program, workers=1) == [[(1, 5, 7, 0, 1), (1, 5, 7, 4, -1), (2, 6, 8, 3, 1)]]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_made_of_an_import_is_asked_for_from_the_import_s_first_time_on(workers: int) -> None:
    """Though its own history reaches back farther."""

    def program(worker: tr.Worker) -> None:
        feed, view = one_view(worker)
        feed.go_to(10)
        worker.step_while(lambda: view.upper < 10)
        with worker.dataflow("second") as scope:
            made = scope.import_arrangement("rows").collection().arrange("v").export("made", history=100)
        feed.go_to(12)
        while not worker.stopping:
            worker.step_or_park(0.001)
        assert made.since < 9, "here it would do"

    with tr.start(program, workers) as group:
        while "made" not in {view["name"] for view in group.views(60)[0] if view["upper"] == 12}:
            pass
        with raises(tr.ReadTimeError, "'made'", "at 5", "before 9"):
            group.query("made", 5, timeout_s=60)
        for time in (9, 11):
            assert group.query("made", time, timeout_s=60).rows.to_pylist() == [{"k": 2, "v": 6, "times": 1}]
        group.stop()
