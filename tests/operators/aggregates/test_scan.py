"""scan: keyed state in Python, like a dictionary of states; forgotten keys, text, nulls, several rows, and mistakes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.errors import Fact, raises
from tests.operators.helpers import bench
from tokenring.engine import OperatorError, Schema, SchemaError, Stream, UsageError, Worker, execute
from tokenring.operators import Last, aggregate, collect, collection, last_by, scan, select, union
from tokenring.operators.state import Keys

ROWS = Schema("key value", name="string?", at="timestamp")
OUT = Schema("before", seen="string?")


def rows(count: int, keys: int, seed: int = 0) -> dict[str, list[Any]]:
    some = np.random.default_rng(seed)
    names = ["a", None, "a name of some length"]
    return {
        "key": some.integers(0, keys, count).tolist(),
        "value": some.integers(0, 100, count).tolist(),
        "name": [names[each] for each in some.integers(0, 3, count)],
        "at": list(range(count)),
    }


@pytest.mark.parametrize("workers", [1, 3])
def test_running_totals_like_pandas(workers: int) -> None:
    """Each key's rows are sent by one worker, so that their order is known."""

    def add(total: int, row: Any) -> Any:
        return total + row["value"], {"before": total, "seen": row["name"]}

    given = rows(600, 7)
    frame = pd.DataFrame(given)
    with bench([ROWS], lambda stream: scan(stream, "key", add, OUT, initial=0), workers=workers) as made:
        for start in range(0, 600, 100):
            for worker in range(workers):
                mine = [at for at in range(start, start + 100) if given["key"][at] % workers == worker]
                piece = {name: [values[at] for at in mine] for name, values in given.items()}
                made.send(piece, worker=worker, time=start)
            made.settle()
        made.close()
        frame["before"] = frame.groupby("key")["value"].cumsum() - frame["value"]
        for key, some in frame.groupby("key"):
            found = [row[3:] for row in made.rows if row[2] == key]
            names = [name if isinstance(name, str) else None for name in some["name"]]
            assert found == list(zip(some["before"], names, strict=True))
        assert len({row[0] for row in made.rows}) == workers
        assert len(made.rows) == 600


@pytest.mark.parametrize("by", ["name", "name key", ""])
def test_any_key_and_any_number_of_rows(by: str) -> None:
    """A third of the calls forgets the key: its next row starts anew."""

    def step(seen: list[int], row: Any) -> Any:
        seen.append(row["value"])
        made = [{"n": len(seen), "last": row["value"]}] * (row["value"] % 3)
        return (None if row["value"] % 3 == 1 else seen), made if row["value"] % 2 else iter(made)

    given, states = rows(500, 3, 1), defaultdict(list)
    expected = []
    for at in range(500):
        key = tuple(given[name][at] for name in by.split())
        state = states[key]
        state.append(given["value"][at])
        expected += [(*key, len(state), given["value"][at])] * (given["value"][at] % 3)
        if given["value"][at] % 3 == 1:
            del states[key]
    with bench([ROWS], lambda stream: scan(stream, by, step, Schema("n last"), initial=list)) as made:
        for start in range(0, 500, 50):
            made.send({name: values[start : start + 50] for name, values in given.items()})
        made.close()
        assert [row[2:] for row in made.rows] == expected


@pytest.mark.parametrize("by", ["key", "name", ""])
@pytest.mark.parametrize("workers", [1, 3])
def test_rows_in_order_of_their_times(workers: int, by: str) -> None:
    """They come on any worker, up to 40 behind their messages' times; those of one time as they came."""
    dice = Random(f"{workers} {by}")
    given = rows(600, 7) | {"at": sorted(dice.randrange(500) for _ in range(600)), "value": list(range(600))}
    late = sorted(range(600), key=lambda number: given["at"][number] + dice.randrange(40))

    def note(before: int, row: Any) -> Any:
        return before + 1, {"at": row["at"], "value": row["value"], "before": before}

    def declare(stream: Stream) -> Stream:
        return scan(stream, by, note, Schema("at value before"), initial=0, order="at")

    with bench([ROWS], declare, workers=workers) as made:
        for start in range(0, 600, 20):
            for worker in range(workers):
                mine = late[start + worker : start + 20 : workers]
                coming = min(given["at"][number] for number in late[start:])
                made.send({name: [given[name][at] for at in mine] for name in given}, worker=worker, time=coming)
            made.settle()
            done = min(given["at"][number] for number in late[start:])
            assert len(made.rows) == sum(at < done for at in given["at"]), "what is finished does not wait"
        made.close()
    for key in set(given[by] if by else [None]):
        found = [row[-3:] for row in made.rows if not by or row[2] == key]
        wanted = [number for number in range(600) if not by or given[by][number] == key]
        assert [(at, before) for at, _, before in found] == [(given["at"][n], at) for at, n in enumerate(wanted)]
        assert sorted(value for _, value, _ in found) == wanted
        if workers == 1:
            came = [number for number in late if number in set(wanted)]
            assert [value for _, value, _ in found] == sorted(came, key=lambda number: given["at"][number])


@pytest.mark.parametrize("steps", [False, True])
def test_who_goes_by_times_of_messages_has_rows_at_their_own(steps: bool) -> None:
    """However many are found together."""

    def note(before: Any, row: Any) -> Any:
        return None, {"seen": row["value"]}

    def program(worker: Worker) -> Any:
        with worker.dataflow("told") as scope:
            given, stream = scope.new_input(Schema("at value"))
            told = collect(collection(scan(stream, "value", note, Schema("seen"), order="at")).changes())
        for at in range(4):
            given.advance_to(at)
            given.send({"at": [at], "value": [at]})
            for _ in range(5 * steps):
                worker.step()
        given.close()
        worker.run()
        return told.to_arrow().to_pylist()

    (made,) = execute(program, workers=1)
    assert sorted((row["time"], row["seen"]) for row in made) == [(at, at) for at in range(4)]


def test_results_that_come_at_the_end_are_put_in_order() -> None:
    def note(before: Any, row: Any) -> Any:
        return None, {"n": row["value"]}

    def declare(stream: Stream) -> Stream:
        last = last_by(stream, "key value", order="at", emit="final")
        return scan(last if alone else union(last, stream), "", note, Schema("n"), order="at")

    given = rows(100, 5) | {"at": list(range(100, 0, -1)), "value": list(range(100, 0, -1))}
    for alone in (True, False):
        with bench([ROWS], declare) as made:
            made.send(given)
            if alone:
                made.close()
                assert [row[-1] for row in made.rows] == sorted(given["value"])
            else:
                with raises(OperatorError, "TimeRegressionError", "at the end, and others before"):
                    made.close()


def _values(before: Any, row: Any) -> Any:
    return before, {"before": row["value"]}


@pytest.mark.parametrize(
    ("name", "declare"),
    [
        ("scan", lambda stream: scan(stream, "key", _values, Schema("before"), order="at")),
        ("aggregate", lambda stream: aggregate(stream, "key", emit="each", order="at", before=Last("value"))),
    ],
)
def test_times_before_all_times_and_late_ones(name: str, declare: Callable[[Stream], Stream]) -> None:
    with bench([ROWS], declare, workers=2) as made:
        none = {"key": [], "value": [], "name": [], "at": []}
        for worker, at in enumerate([[5, -7], [-8, 5]]):
            made.send(none | {"key": [1, 1], "value": at, "name": [None] * 2, "at": at}, worker=worker)
        made.advance(4)
        assert [row[3] for row in made.rows] == [-8, -7]
        made.send({"key": [1], "value": [9], "name": [None], "at": [3]}, worker=1)
        with raises(
            OperatorError, f"TimeRegressionError: operator '{name}': column 'at'",
            "1970-01-01T00:00:00.000000003 came when those before 1970-01-01T00:00:00.000000004", "time='at'",
        ):  # fmt: skip
            made.close()


def test_forgotten_keys_leave_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2000 keys, 100 at a time: their slots are used again."""
    kept: list[Any] = []
    made_keys: list[Keys] = []

    def keys_of(*given: Any) -> Keys:
        made_keys.append(Keys(*given))
        return made_keys[0]

    monkeypatch.setattr(import_module("tokenring.operators.aggregates.scan"), "Keys", keys_of)

    def step(state: Any, row: Any) -> Any:
        kept.append(state)
        return (None if row["value"] else "open"), None

    with bench([Schema("key value")], lambda stream: scan(stream, "key", step, Schema("n"))) as made:
        for turn in range(20):
            keys = list(range(turn * 100, turn * 100 + 100)) * 2
            made.send({"key": keys, "value": [0] * 100 + [1] * 100})
            made.settle()
        made.send({"key": [0], "value": [0]})
        made.close()
    assert kept == ([None] * 100 + ["open"] * 100) * 20 + [None]
    (keys,) = made_keys
    assert (len(keys), keys.limit) == (1, 100)


def test_a_function_that_fails_is_found() -> None:
    def fails(state: Any, row: Any) -> Any:
        return 1 // (row["value"] - 5), None

    with bench([ROWS], lambda stream: scan(stream, "name key", fails, Schema("n"), name="steps"), workers=2) as made:
        made.send({"key": [1, 1], "value": [1, 5], "name": ["Bern", "Bern"], "at": [0, 0]}, worker=1, time=4)
        with pytest.raises(OperatorError) as caught:
            made.close()
    said = str(caught.value)
    assert said.startswith("operator 'steps' raised on worker ")
    assert "rows at time 4" in said
    assert "name='Bern', key=1: ZeroDivisionError" in said
    assert f"(at {__file__}:" in said and " in fails)" in said


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (7, ("returned 7", "(state, row, rows or None)")),
        ({"state": 1, "row": 2}, ("returned {'state': 1, 'row': 2}", "(state, row, rows or None)")),
        ((1, 7), ("returned 7", "mapping of columns")),
        ((1, "text"), ("returned 'text'", "mapping of columns")),
        ((1, [None]), ("returned None", "mapping of columns")),
        ((1, {"other": 1}), ("'n' is missing", "'other' is too much")),
        ((1, {"n": "x"}), ("column 'n'", "<U1", "int64")),
    ],
)
def test_answers_that_are_none(answer: Any, says: Fact) -> None:
    with bench([ROWS], lambda stream: scan(stream, "key", lambda state, row: answer, Schema("n"))) as made:
        made.send({"key": [1], "value": [1], "name": [None], "at": [0]})
        with raises(OperatorError, "operator 'scan' on worker 0: SchemaError", says):
            made.close()


def test_mistakes() -> None:
    def nothing(state: Any, row: Any) -> Any:
        return None, None

    def declare(stream: Stream) -> Stream:
        with raises(SchemaError, "operator 'scan'", "column 'nowhere'", "key, value, name, at"):
            scan(stream, "nowhere", nothing, OUT)
        with raises(SchemaError, "operator 'scan'", "'key' is a column of the key"):
            scan(stream, "key", nothing, Schema("key"))
        with raises(UsageError, "operator 'scan'", "initial=[1]", "initial=list", "initial=lambda: [1]"):
            scan(stream, "key", nothing, OUT, initial=[1])
        with raises(SchemaError, "operator 'scan'", "column 'when' to order rows by"):
            scan(stream, "key", nothing, OUT, order="when")
        with raises(SchemaError, "operator 'scan': order 'name' is string?"):
            scan(stream, "key", nothing, OUT, order="name")
        not_one: Any = OUT
        with raises(
            UsageError, "operator 'scan'", "function of a state and a row", "not Schema(before=int64, seen=string?)"
        ):
            scan(stream, "key", not_one, not_one)
        return select(stream, "key")

    with bench([ROWS], declare):
        pass
