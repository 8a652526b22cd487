"""What the launcher imports for its workers: what a program's code names, and that of functions that it names."""

from __future__ import annotations

import warnings
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tokenring as tr
from tokenring import operators
from tokenring.operators.fluent import named


def _helper(stream: Any) -> Any:
    return stream.distinct("key")


def _program(pipeline: Any, scope: Any) -> Any:
    return [_helper(pipeline(each)) for each in scope.read_csv("rows.csv")]


def _names(program: Any) -> set[str]:
    return {*named._names(program, set(), "")} & {*operators.__all__}


def test_names_are_found_wherever_a_program_has_them() -> None:
    def late(stream: Any) -> Any:
        return unset(stream)

    program = partial(_program, lambda scope: late(scope.union(operators.Tumbling)))
    assert _names(program) == {"distinct", "read_csv", "union", "Tumbling"}
    unset = _helper
    assert _names(late) == {"distinct"}


def test_the_library_s_own_code_is_no_program() -> None:
    assert isinstance(operators.aggregate, FunctionType)
    assert not _names(operators.aggregate)
    assert not _names(len)


KEPT: list[int] = []


def _into_a_global(scope: Any) -> Any:
    return scope.read_csv("rows.csv").for_each(lambda time, batch: KEPT.extend(batch["n"].tolist()))


def test_what_stays_in_a_worker_is_told_of_before() -> None:
    found: list[int] = []
    by_key: dict[int, int] = {}
    seen: set[int] = set()

    def keep(time: int, batch: Any) -> None:
        by_key.update(batch["n"])
        found.append(batch.rows)

    def into_a_closure(scope: Any) -> Any:
        scope.read_csv("rows.csv").for_each(keep)
        return scope.read_csv("rows.csv").for_each(lambda time, batch: seen.add(time))

    for program, names in ((into_a_closure, {"found", "by_key", "seen"}), (_into_a_global, {"KEPT"})):
        with pytest.warns(named.OwnCopyWarning) as told:
            named.say_what_stays(partial(_program, program))
        assert {str(each.message).split("'")[1] for each in told} == names
        assert all(each.filename == __file__ for each in told)
        assert "that each worker has for itself" in str(told[0].message)
        assert "return rows.collect()" in str(told[0].message)


BY_TIME: dict[int, int] = {}
ROWS = 0
TOTALS = {"rows": 0}


def _sets_globals(time: int, batch: Any) -> None:
    global ROWS
    ROWS += batch.rows
    BY_TIME[time] = BY_TIME.get(time, 0) + batch.rows
    TOTALS["rows"] += 1


def test_what_is_set_stays_in_a_worker_too() -> None:
    rows, last = 0, None
    sums, bounds, begun = np.zeros(2), [0, 0], 0

    def keep(time: int, batch: Any) -> None:
        nonlocal rows, last, begun
        rows = rows + batch.rows
        last = batch
        sums[0] += batch.rows
        bounds[1:] = [time]
        begun += 1

    def program(scope: Any) -> Any:
        scope.read_csv("rows.csv").for_each(_sets_globals)
        return scope.read_csv("rows.csv").for_each(keep), begun

    with pytest.warns(named.OwnCopyWarning) as told:
        named.say_what_stays(program)
    said = {str(each.message).split("'")[1]: each for each in told}
    assert said.keys() == {"ROWS", "BY_TIME", "TOTALS", "rows", "last", "sums", "bounds"}
    assert "'ROWS' stays what it is here: a value is given to a variable that each" in str(said["ROWS"].message)
    assert "'BY_TIME' stays empty here: an item is set in a dict that each" in str(said["BY_TIME"].message)
    assert said["ROWS"].lineno == _sets_globals.__code__.co_firstlineno + 2


def test_a_worker_s_own_lists_are_no_loss() -> None:
    def own(worker: Any) -> Any:
        kept: list[int] = []
        worker.for_each(lambda time, batch: kept.append(time))
        return kept, [kept.append for _ in KEPT]

    def own_count(worker: Any) -> Any:
        count = 0

        def keep(time: int, batch: Any) -> None:
            nonlocal count
            count += 1

        worker.for_each(keep)

    cache: dict[int, int] = {}
    mapped = np.zeros(2)[:]

    def looks(worker: Any) -> Any:
        cache[1] = 2
        mapped[0] += len([each for each in cache])

    seen: list[int] = []

    def returns_it(worker: Any) -> Any:
        worker.for_each(lambda time, batch: seen.append(time))
        return seen

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named.say_what_stays(own)
        named.say_what_stays(own_count)
        named.say_what_stays(looks)
        named.say_what_stays(returns_it)
        named.say_what_stays(len)


def test_a_run_says_so(recwarn: pytest.WarningsRecorder) -> None:
    found: list[int] = []
    rows = pa.table({"n": [1, 2]})
    tr.run(lambda scope: scope.read_arrow(rows).for_each(lambda time, batch: found.append(batch.rows)), workers=1)
    assert [str(each.message) for each in recwarn if "'found'" in str(each.message)] and not found
