"""Row groups of which no row comes through a filter are not read; every row that does is there."""

from __future__ import annotations

import math
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokenring as tr
from tests.errors import raises
from tokenring.operators.sources import parquet

GROUPS, ROWS = 8, 40  # of each
NAMES = ["", "a", "ab", "b", "ä"]
START = datetime(2026, 1, 1, tzinfo=UTC)
Row = dict[str, Any]
Truth = bool | None
Test = tuple[tr.Expression, Callable[[Row], Truth]]


def row_of(dice: random.Random, group: int, n: int) -> Row:
    """The greater the group, the greater its values; in one there is NaN, in one nulls alone, in one both zeros."""

    def some(value: Any) -> Any:
        return None if group == 3 or dice.random() < 0.1 else value

    real = {1: math.nan, 2: dice.choice([0.0, -0.0])}.get(group if dice.random() < 0.5 else -1, group - 2.5)
    return {
        "n": n,
        "i": some(group * 10 + dice.randrange(12)),
        "u": 2**64 - 100 + group * 10 + dice.randrange(3) if group > 4 else group,
        "x": some(real),
        "b": some(group > 3),
        "at": START + timedelta(hours=group, seconds=dice.randrange(3600)),
        "day": date(2026, 1, 1 + group),
        "s": some(NAMES[min(group, 4)] + dice.choice(["", "z"])),
    }


def table_of(dice: random.Random) -> pa.Table:
    rows = [row_of(dice, group, group * ROWS + at) for group in range(GROUPS) for at in range(ROWS)]
    schema = pa.schema(
        [("n", pa.int64()), ("i", pa.int32()), ("u", pa.uint64()), ("x", pa.float64()), ("b", pa.bool_()),
         ("at", pa.timestamp("ms", "UTC")), ("day", pa.date32()), ("s", pa.string())]
    )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=schema)


def compared(name: str, sign: str, value: Any) -> Test:
    column = tr.col(name)
    made = {
        "<": lambda: column < value, "<=": lambda: column <= value, ">": lambda: column > value,
        ">=": lambda: column >= value, "==": lambda: column == value, "!=": lambda: column != value,
    }[sign]()  # fmt: skip

    def truth(row: Row) -> Truth:
        there = row[name]
        if there is None:
            return None
        return {
            "<": lambda: there < value, "<=": lambda: there <= value, ">": lambda: there > value,
            ">=": lambda: there >= value, "==": lambda: there == value, "!=": lambda: there != value,
        }[sign]()  # fmt: skip

    return made, truth


def condition(dice: random.Random, depth: int) -> Test:
    kind = dice.choice(["compare"] * 4 + ["is_null", "in", "bool"] + ["and", "or", "not"] * 2 * (depth > 0))
    if kind == "compare":
        name = dice.choice(["i", "u", "x", "at", "day", "s"])
        value = row_of(dice, dice.choice([0, 1, 2, 4, 5, 6, 7]), 0)[name]
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return condition(dice, depth)
        return compared(name, dice.choice(["==", "!="] if name == "s" else ["<", "<=", ">", ">=", "==", "!="]), value)
    if kind == "is_null":
        name = dice.choice(["i", "s", "b"])
        return tr.col(name).is_null(), lambda row: row[name] is None
    if kind == "in":
        values = [dice.randrange(90) for _ in range(3)]
        return tr.col("i").is_in(values), lambda row: None if row["i"] is None else row["i"] in values
    if kind == "bool":
        return tr.col("b") == True, lambda row: row["b"]  # noqa: E712
    one, is_one = condition(dice, depth - 1)
    if kind == "not":
        return ~one, lambda row: None if (made := is_one(row)) is None else not made
    two, is_two = condition(dice, depth - 1)

    def both(row: Row) -> Truth:
        found = {is_one(row), is_two(row)}
        decisive = kind == "or"
        return decisive if decisive in found else None if None in found else not decisive

    return (one & two if kind == "and" else one | two), both


@contextmanager
def groups_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[int]]]:
    """Tells which row groups were read, of a file if one is said."""
    with tempfile.TemporaryFile() as noted, monkeypatch.context() as patched:
        decoded = parquet._decoded

        def told(group: Any, *more: Any) -> Any:
            os.write(noted.fileno(), f"{group.number} {group.file}\n".encode())
            return decoded(group, *more)

        def found(file: Path | None = None) -> list[int]:
            noted.seek(0)
            lines = [line.split(" ", 1) for line in noted.read().decode().splitlines()]
            return sorted(int(number) for number, name in lines if file is None or name == str(file))

        patched.setattr(parquet, "_decoded", told)
        yield found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    table = table_of(random.Random(7))
    path = tmp_path_factory.mktemp("groups") / "t.parquet"
    pq.write_table(table, path, row_group_size=ROWS)
    rows = table.to_pylist()
    for row in rows:
        row["at"] = row["at"].replace(tzinfo=UTC)
    return path, rows


def numbers_of(flow: Callable[[tr.Scope], Any], workers: int = 1) -> list[int]:
    return sorted(tr.run(lambda scope: flow(scope).collect(), workers=workers)["n"].to_pylist())


def test_every_row_that_passes_is_there(whole: tuple[Path, list[Row]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of random conditions, each behind a source of its own."""
    path, rows = whole
    tests = [condition(random.Random(seed), seed % 4) for seed in range(200)]

    def flow(scope: tr.Scope) -> Any:
        found = [
            scope.read_parquet(path, time=0, name=f"source {at}").filter(expression).select("n", at=tr.lit(at))
            for at, (expression, _) in enumerate(tests)
        ]
        return found[0].union(*found[1:]).collect()

    with groups_read(monkeypatch) as read:
        table = tr.run(flow, workers=2)
        assert 0 < len(read()) < 0.8 * GROUPS * len(tests)
    found: dict[int, list[int]] = {at: [] for at in range(len(tests))}
    for n, at in zip(table["n"].to_pylist(), table["at"].to_pylist(), strict=True):
        found[at].append(n)
    for at, (expression, is_true) in enumerate(tests):
        assert sorted(found[at]) == [row["n"] for row in rows if is_true(row)], expression


READ: dict[str, tuple[tr.Expression, list[int]]] = {
    "some": (tr.col("i") >= 65, [6, 7]),
    "none": (tr.col("i") < 0, []),
    "unsigned": (tr.col("u") > 2**64 - 50, [5, 6, 7]),
    "times": (tr.col("at") < "2026-01-01T02:00:00", [0, 1]),
    "days": ((tr.col("day") > "2026-01-03") & (tr.col("day") <= "2026-01-05"), [3, 4]),
    "text": (tr.col("s") == "b", [0]),  # from "" to "z"; but not 3, where all are null
    "not": (~(tr.col("n") >= 40), [0]),
    "or": ((tr.col("n") == 0) | (tr.col("n") == 319), [0, 7]),
    "in": (tr.col("n").is_in([50, 300]), [1, 7]),
    "null": (tr.col("n").is_null(), []),
    "true": (tr.col("b") == False, [0, 1, 2]),  # noqa: E712
    "truth": (tr.col("b"), [4, 5, 6, 7]),
    "real": (tr.col("x") > 4, [7]),
    "all null": (tr.col("i").is_not_null() & (tr.col("n") >= 120) & (tr.col("n") < 160), []),
}


def test_only_groups_that_may_matter_are_read(
    whole: tuple[Path, list[Row]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in READ:
        (tmp_path / name).symlink_to(whole[0])

    def flow(scope: tr.Scope) -> Any:
        found = [scope.read_parquet(tmp_path / name, time=0, name=name).filter(READ[name][0]) for name in READ]
        return found[0].union(*found[1:]).collect()

    with groups_read(monkeypatch) as read:
        tr.run(flow, workers=2)
        assert {name: read(tmp_path / name) for name in READ} == {name: groups for name, (_, groups) in READ.items()}


def test_what_others_need_is_read(whole: tuple[Path, list[Row]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reader by its own filters, whatever they are called there; everything where one has none."""
    late, early = tr.col("hour") >= "2026-01-01T07:00:00", tr.col("number") < 40

    def two(scope: tr.Scope) -> tr.Stream:
        rows = scope.read_parquet(whole[0], time=0)
        named = rows.rename(at="hour", n="number")
        first = named.with_columns(double=tr.col("x")).filter(late)
        return first.select("number").union(named.filter(early).select("number")).rename(number="n")

    with groups_read(monkeypatch) as read:
        assert numbers_of(two) == [*range(40), *range(280, 320)]
        assert read() == [0, 7]

    def all_rows(scope: tr.Scope) -> tr.Stream:
        rows = scope.read_parquet(whole[0], time=0)
        return rows.filter(tr.col("n") < 1).union(rows)

    with groups_read(monkeypatch) as read:
        assert len(numbers_of(all_rows)) == 321
        assert read() == [*range(GROUPS)]


@pytest.mark.parametrize("why", ["may fail", "is shown", "own function", "computed"])
def test_where_it_is_not_certain_all_are_read(
    why: str, whole: tuple[Path, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def flow(scope: tr.Scope) -> tr.Stream:
        rows = scope.read_parquet(whole[0], time=0)
        if why == "may fail":
            return rows.with_columns(half=100 // (tr.col("n") + 1)).filter(tr.col("n") < 1)
        if why == "is shown":
            good, _ = rows.with_columns(half=100 // (tr.col("n") + 1), on_error="stream")
            return good.filter(tr.col("n") < 1)
        if why == "own function":
            return rows.map_batches(rows.schema, lambda batch: batch).filter(tr.col("n") < 1)
        return rows.filter(tr.col("s").lower() == "x").union(rows.filter(tr.col("n") < 1))

    with groups_read(monkeypatch) as read:
        assert numbers_of(flow) == [0]
        assert read() == [*range(GROUPS)]


def test_rows_that_would_fail_do(whole: tuple[Path, list[Row]]) -> None:
    def flow(scope: tr.Scope) -> Any:
        rows = scope.read_parquet(whole[0], time=0)
        return rows.filter((tr.col("n") < 40) & (100 // (tr.col("n") - 300) < 9)).collect()

    with raises(tr.OperatorError, "division by zero"):
        tr.run(flow)


def test_times_go_on_behind_groups_that_are_left_out(whole: tuple[Path, list[Row]]) -> None:
    """Windows of the rows that are read close, and those before and behind are no hindrance."""

    def flow(scope: tr.Scope) -> Any:
        rows = scope.read_parquet(whole[0], time="at").filter(
            (tr.col("at") >= "2026-01-01T02:00:00") & (tr.col("at") < "2026-01-01T04:00:00")
        )
        return rows.aggregate(window=tr.Tumbling("at", "1h"), n=tr.Count()).collect()

    for workers in (1, 3):
        assert sorted(tr.run(flow, workers=workers)["n"].to_pylist()) == [ROWS, ROWS]


def test_files_without_statistics_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(table_of(random.Random(7)), path, row_group_size=ROWS, write_statistics=False)
    with groups_read(monkeypatch) as read:
        assert numbers_of(lambda scope: scope.read_parquet(path, time=0).filter(tr.col("n") < 1)) == [0]
        assert read() == [*range(GROUPS)]


def test_a_nan_that_stands_for_null_is_found_where_there_are_no_nulls(tmp_path: Path) -> None:
    """There is one NaN that no calculation makes, which columns hold for null; a file may hold it, too."""
    null = np.array([0x7FF80000000007A2]).view(np.float64)[0]
    pq.write_table(pa.table({"n": [0, 1], "x": pa.array(np.array([1.0, null]))}), tmp_path / "t.parquet")
    schema = tr.Schema.of({"n": "int64", "x": "float64?"})
    missing = tr.col("x").is_null()
    assert numbers_of(lambda scope: scope.read_parquet(tmp_path / "t.parquet", schema=schema).filter(missing)) == [1]


def test_a_files_footer_is_read_once(tmp_path: Path) -> None:
    """It tells of all row groups, so that to read it for each took as long as their number squared. Here it is gone
    before the first one is read."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": range(100)}), path, row_group_size=10)

    def program(worker: tr.Worker) -> int:
        with worker.dataflow() as scope:
            total = scope.read_parquet(path).aggregate("", total=tr.Sum("n"), emit="final").collect()
        footer_bytes, was = pq.read_metadata(path).serialized_size, path.stat()
        with path.open("r+b") as file:
            file.seek(path.stat().st_size - 8 - footer_bytes)
            file.write(b"\xff" * footer_bytes)
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        worker.run()
        return int(total.columns()["total"].sum())

    assert tr.execute(program, workers=1) == [sum(range(100))]


@pytest.mark.parametrize("name", ["a.b", "a", "a.", "."])
def test_a_column_with_a_point_in_its_name_is_no_part_of_another(name: str, tmp_path: Path) -> None:
    """The paths of the columns of a struct `a` have a point, too."""
    values = {"a": [{"b": 100, "": 7}] * 3} if name != "a" else {"a.b": [100] * 3}
    pq.write_table(pa.table(values | {name: [1, 2, 3], f"{name}?": [1, None, 3]}), tmp_path / "f.parquet", 1)

    def rows(scope: tr.Scope, **options: Any) -> tr.Stream:
        return scope.read_parquet(tmp_path / "f.parquet", columns=[name, f"{name}?"], **options)

    found = tr.run(lambda scope: rows(scope).filter(tr.col(name) < 3).collect(), workers=1)
    assert found.to_pylist() == [{name: 1, f"{name}?": 1}, {name: 2, f"{name}?": None}]
    found = tr.run(lambda scope: rows(scope, time=name).collect(), workers=1)
    assert found[name].to_pylist() == [1, 2, 3]
