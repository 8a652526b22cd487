"""Views from a time on: their rows then, and how they change, beside recomputation."""

from __future__ import annotations

import time as clock
from typing import Any

import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.collections.feed import Feed, as_rows
from tests.operators.collections.harness import TIMES, Rows, at, made_up
from tokenring.engine import COMPLETE


@pytest.mark.parametrize("history", [0, 3])
@pytest.mark.parametrize("workers", [1, 2])
def test_rows_and_then_changes_come_to_the_rows_of_each_time(workers: int, history: int) -> None:
    updates = made_up(6, 80)

    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            feed = Feed(worker, scope, updates)
            view = feed.collection.arrange("k").export("rows", history)
        found: dict[str, list[Any]] = {}
        open_ones = {}

        def take() -> None:
            for name, each in open_ones.items():
                found[name] += [(time, as_rows(rows)) for time, rows in each.take()]

        for time in range(1, TIMES + 1):
            feed.go_to(time)
            worker.step_while(lambda time=time: view.upper < time)
            for name, asked in (("all", {}), ("of a key", {"key": 2}), ("of none", {"key": 99})):
                name = f"{name} at {time}"
                open_ones[name] = view.subscribe(max(0, time - 1 - history), **asked)
                found[name] = []
            if time % 3:
                take()
        feed.handle.close()
        worker.run()
        take()
        assert all(each.is_over for each in open_ones.values())
        return found

    parts = tr.execute(program, workers=workers)
    for name in parts[0]:
        changes = sorted([each for part in parts for each in part[name]], key=lambda each: each[0])
        begun = max(0, int(name.split()[-1]) - 1 - history)
        wanted = [u for u in updates if name.startswith("all") or u[0] == (2 if "a key" in name else 99)]
        for part in parts:
            times = [time for time, _ in part[name]]
            assert times == sorted(set(times)) and times[0] == begun
            assert all([rows and all(rows.values()) for _, rows in part[name][1:]])
        there = Rows()
        for time in range(begun, TIMES):
            for when, rows in changes:
                if when == time:
                    there.update(rows)
            assert Rows({row: times for row, times in there.items() if times}) == at(wanted, time), (name, time)


def test_texts_that_come_later_are_found_by_their_key_and_a_view_may_go_meanwhile() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema(name="string?", n="float64"))
            view = rows.arrange("name").export("names")
        handle.advance_to(1)
        worker.step_while(lambda: view.upper < 1)
        heard = []
        with view.subscribe(key="never seen before", heard=lambda: heard.append(view.upper)) as one:
            every = view.subscribe(times="often")
            handle.insert({"name": ["never seen before", None], "n": [0.5, 1.0]})
            handle.insert({"name": ["never seen before"], "n": [0.5]}, time=4)
            handle.close()
            worker.run()
            assert one.upper == heard[-1] == COMPLETE
            told = [(time, rows.to_pylist()) for time, rows in one.take()]
        assert one.is_over and not every.is_over
        return told, [(time, rows.num_rows, rows.column_names) for time, rows in every.take()]

    row = {"name": "never seen before", "n": 0.5, "times": 1}
    names = ["name", "n", "often"]
    assert tr.execute(program, workers=1) == [
        ([(0, []), (1, [row]), (4, [row])], [(0, 0, names), (1, 2, names), (4, 1, names)])
    ]


def test_what_cannot_be_read_cannot_be_subscribed_to() -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k"))
            view = rows.arrange("k").export("rows")
        with raises(tr.ReadTimeError, "'rows'", "no time", "advance"):
            view.subscribe()
        handle.advance_to(5)
        worker.step_while(lambda: view.upper < 5)
        for time in (1, 5):
            with raises(tr.ReadTimeError, "'rows'", f"at {time}", "before 4 is forgotten" if time == 1 else "up to 4"):
                view.subscribe(time)
        with raises(tr.SchemaError, "the key is (k)", "(1, 2)", "tuple"):
            view.subscribe(key=(1, 2))
        handle.close()
        worker.run()

    tr.execute(program, workers=1)


def test_a_launcher_follows_its_group() -> None:
    rows = 40

    def program(worker: tr.Worker) -> int:
        with worker.dataflow() as scope:
            handle, made = scope.new_collection(tr.Schema("k v"))
            view = made.arrange("k").export("rows", history=rows)
        for time in range(rows):
            if time % worker.peers == worker.index:
                handle.insert({"k": [time, -1], "v": [time, time]})
                handle.remove({"k": [-1], "v": [time]}, time=time + 2)
            handle.advance_to(time + 1)
            worker.step()
        worker.step_while(lambda: view.upper < rows)
        worker.report("ready")
        worker.step_while(lambda: not worker.stopping)
        handle.close()
        worker.run()
        return 1

    ready: list[int] = []
    with tr.start(program, workers=2, on_note=lambda worker, _: ready.append(worker)) as group:
        while len(ready) < 2:
            group.poll()
            clock.sleep(0.01)
        followed, of_one = group.subscribe("rows", 0), group.subscribe("rows", 3, key=7)
        for time in range(rows):
            now, changes = next(followed)
            came = {(time, time): 1, (-1, time): 1} | ({(-1, time - 2): -1} if time > 1 else {})
            assert (now, as_rows(changes)) == (time, came)
        assert [(time, as_rows(rows)) for time, rows in (next(of_one), next(of_one))] == [(3, {}), (7, {(7, 7): 1})]
        followed.close()
        with raises(tr.UsageError, "'row'", "did you mean 'rows'", "there are: 'rows'"):
            next(group.subscribe("row"))
