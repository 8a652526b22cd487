"""CountDistinct under several conditions: as sets of Python say, in whatever form pairs are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenring as tr
from tests.long_form import examples
from tests.operators.helpers import bench
from tokenring.operators import aggregate
from tokenring.operators.folds.sets import ValueSet, value_sets

FAR = 2**63 - 1
VALUES = {
    "close together": st.integers(0, 30),
    "apart": st.integers(-(10**9), 10**9),
    "anywhere": st.sampled_from((-FAR - 1 + 1, -3, 0, 5, 2**40, FAR)) | st.integers(-FAR, FAR),
}
LIMITS = (0, 1, 3, 5, 8, 13, 21, 34, 55, 89, 144)


def aggregates(conditions: int) -> dict[str, Any]:
    """Without a condition, and under some: more than one set has flags for, if there are many."""
    found: dict[str, Any] = {"all": tr.CountDistinct("value")}
    for limit in LIMITS[:conditions]:
        found[f"from_{limit}"] = tr.CountDistinct("value", where=tr.col("price") >= limit)
    return found


def reference(rows: list[tuple[int, ...]], conditions: int, by: Any) -> set[tuple[int, ...]]:
    seen: dict[Any, list[set[int]]] = {}
    for row in rows:
        _, _, value, price = row
        sets = seen.setdefault(by(row), [set() for _ in range(1 + conditions)])
        if value is not None:
            for at, limit in enumerate((-1, *LIMITS[:conditions])):
                if price >= limit:
                    sets[at].add(value)
    return {(*key, *(len(each) for each in sets)) for key, sets in seen.items()}


def found(table: Any, names: tuple[str, ...], conditions: int) -> set[tuple[int, ...]]:
    columns = [table[name].to_pylist() for name in (*names, *aggregates(conditions))]
    return set(zip(*columns, strict=True))


@pytest.mark.parametrize("values", list(VALUES))
@settings(max_examples=examples(5))
@given(data=st.data(), conditions=st.sampled_from((0, 2, 7, 11)), workers=st.integers(1, 3))
def test_as_sets_say(data: st.DataObject, values: str, conditions: int, workers: int) -> None:
    row = st.tuples(st.integers(0, 60), st.integers(0, 4), st.none() | VALUES[values], st.integers(0, 200))
    rows = data.draw(st.lists(row, min_size=1, max_size=150))
    columns = list(zip(*rows, strict=True))
    schema = pa.schema([(name, pa.int64()) for name in ("at", "key", "value", "price")])
    table = pa.table([pa.array(column, pa.int64()) for column in columns], schema=schema)

    def windowed(scope: tr.Scope) -> Any:
        made = scope.read_arrow(table).aggregate("key", window=tr.Tumbling("at", 10), **aggregates(conditions))
        return made.collect()

    def at_the_end(scope: tr.Scope) -> Any:
        return scope.read_arrow(table).aggregate("key", emit="final", **aggregates(conditions)).collect()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_sets, "_LEAST_DENSE", data.draw(st.sampled_from((4, 1 << 10))))
        patch.setattr(value_sets, "_FEW", data.draw(st.sampled_from((-1, 1 << 12))))
        in_windows = tr.run(windowed, workers=workers)
        in_all = tr.run(at_the_end, workers=workers)
    assert found(in_windows, ("window_start", "key"), conditions) == reference(
        rows, conditions, lambda row: (row[0] // 10 * 10, row[1])
    )
    assert found(in_all, ("key",), conditions) == reference(rows, conditions, lambda row: (row[1],))


def sliding_of(at: int) -> list[tuple[int, int]]:
    """The windows of 12, one every 5, in which a time is."""
    return [(start, start + 12) for start in range((at - 12) // 5 * 5 + 5, at + 1, 5) if start <= at < start + 12]


def sessions_of(rows: list[tuple[Any, ...]], gap: int) -> dict[tuple[Any, ...], tuple[int, int]]:
    """The session in which each row of one key is."""
    found: dict[tuple[Any, ...], tuple[int, int]] = {}
    some: list[tuple[Any, ...]] = []
    for row in sorted(rows, key=lambda row: row[0]):
        if some and row[0] - some[-1][0] >= gap:
            some = []
        some.append(row)
        found |= dict.fromkeys(some, (some[0][0], row[0] + gap))
    return found


@settings(max_examples=examples(25))
@given(data=st.data(), kind=st.sampled_from(["sliding", "session"]), workers=st.integers(1, 3))
def test_windows_that_overlap_or_grow(data: st.DataObject, kind: str, workers: int) -> None:
    """A value that is in two panes of a window, or in both sessions that a late row joins, is one."""
    value, name = st.none() | st.integers(0, 6), st.none() | st.sampled_from(["", "a", "a longer one than eight"])
    row = st.tuples(st.integers(0, 60), st.sampled_from(["x", "yy", None]), value, name, st.integers(0, 9))
    rows = data.draw(st.lists(row, min_size=1, max_size=60))
    names = ("at", "key", "value", "name", "price")
    kinds = (pa.int64(), pa.string(), pa.int64(), pa.string(), pa.int64())
    columns = [pa.array(column, of) for column, of in zip(zip(*rows, strict=True), kinds, strict=True)]
    table = pa.table(columns, names=list(names))
    window = tr.Sliding("at", 12, 5) if kind == "sliding" else tr.Session("at", 5)

    def program(scope: tr.Scope) -> Any:
        return scope.read_arrow(table).aggregate(
            "key", window=window, values=tr.CountDistinct("value"), names=tr.CountDistinct("name"),
            dear=tr.CountDistinct("value", where=tr.col("price") >= 5),
        ).collect()  # fmt: skip

    sets: dict[tuple[Any, ...], list[set[Any]]] = {}
    for key in {row[1] for row in rows}:
        of_key = [row for row in rows if row[1] == key]
        sessions = sessions_of(of_key, 5)
        for row in of_key:
            for bounds in sliding_of(row[0]) if kind == "sliding" else [sessions[row]]:
                values, texts, dear = sets.setdefault((*bounds, key), [set(), set(), set()])
                values.add(row[2])
                texts.add(row[3])
                dear |= {row[2]} if row[4] >= 5 else set()
    got = tr.run(program, workers=workers).to_pylist()
    assert len(got) == len(sets)
    assert {tuple(row.values()) for row in got} == {
        (*at, *(len(each - {None}) for each in of_window)) for at, of_window in sets.items()
    }


@pytest.mark.parametrize("step", [1, 10**6, 2**45 + 1])
@pytest.mark.parametrize("keys", [1, 3, 700])
def test_many_values(step: int, keys: int) -> None:
    """So many that tables are rearranged in each way, as `changes`."""
    count = 20_000
    numbers = list(range(count))
    table = pa.table({"key": [n % keys for n in numbers], "value": [n // 2 * step - 7 for n in numbers]})

    def program(scope: tr.Scope) -> Any:
        rows = scope.read_arrow(table)
        return rows.aggregate(
            "key", all=tr.CountDistinct("value"), some=tr.CountDistinct("value", where=tr.col("value") % 3 == 0)
        ).latest("key")

    got = tr.run(program, workers=2).sort_by("key").to_pydict()
    sets = [{n // 2 * step - 7 for n in range(key, count, keys)} for key in range(keys)]
    assert got["key"] == list(range(keys))
    assert got["all"] == [len(each) for each in sets]
    assert got["some"] == [len({value for value in each if value % 3 == 0}) for each in sets]


@pytest.fixture
def moved_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], tuple[int, int]]:
    """How often pairs moved to another form, and of how many places each most were left when that was ended at once."""
    finish, note = value_sets.ValueSets._finish, tmp_path / "moved"
    note.touch()

    def noted(self: value_sets.ValueSets) -> None:
        if self._old is not None:
            words, cells, dense = self._old
            row, old = self._row, ValueSet(words)
            end = min(old.limit << old.value_bits, len(dense)) if len(dense) else len(cells)
            left = 0 if old.live <= value_sets._FEW else max(end - row.scan, 0)
            with note.open("a") as lines:
                lines.write(f"{left}\n")
        finish(self)

    monkeypatch.setattr(value_sets.ValueSets, "_finish", noted)

    def told() -> tuple[int, int]:
        left = [int(line) for line in note.read_text().split()]
        return len(left), max(left, default=0)

    return told


@pytest.mark.parametrize(("keys", "power"), [(1, 1), (3, 1), (40, 2), (3_000, 2)])
def test_values_that_become_greater(keys: int, power: int, moved_at_once: Callable[[], tuple[int, int]]) -> None:
    """The form of pairs changes while they come, again and again, of many keys as values need more bits than they were
    given: none is lost or there twice, and but for the first thousands none moves but a few with each row."""
    numbers = np.arange(400_000)
    values = np.where(numbers % 5 == 0, numbers // 2, numbers) ** power + 1_000  # every fifth comes again
    table = pa.table({"key": numbers % keys, "value": values})

    def program(scope: tr.Scope) -> Any:
        rows = scope.read_arrow(table)
        return rows.aggregate(
            "key", all=tr.CountDistinct("value"), some=tr.CountDistinct("value", where=tr.col("value") % 3 == 0)
        ).latest("key")

    got = tr.run(program, workers=1).sort_by("key").to_pydict()
    of_keys = [np.unique(values[key::keys]) for key in range(keys)]
    assert got["all"] == [len(each) for each in of_keys]
    assert got["some"] == [int((each % 3 == 0).sum()) for each in of_keys]
    times, at_once = moved_at_once()
    assert times >= 2
    assert at_once == 0


@pytest.mark.parametrize("spread", [1, 50, 10**6])
def test_owners_that_leave_while_pairs_move(spread: int) -> None:
    """Windows end, and their keys' owners go, in the middle of a move; others come, and use the same numbers."""
    rng = np.random.default_rng(2)
    at = np.sort(rng.integers(0, 120_000, 300_000))
    key, value = rng.integers(0, 50, len(at)), rng.integers(0, 4_000, len(at)) * spread
    table = pa.table({"at": at, "key": key, "value": value})

    def program(scope: tr.Scope) -> Any:
        rows = scope.read_arrow(table, time="at")
        return rows.aggregate("key", window=tr.Tumbling("at", 10_000), n=tr.CountDistinct("value")).collect()

    got = tr.run(program, workers=2).to_pydict()
    found = dict(zip(zip(got["window_start"], got["key"], strict=True), got["n"], strict=True))
    pairs = np.unique(np.stack([at // 10_000 * 10_000, key, value]), axis=1)
    windows, counts = np.unique(pairs[:2], axis=1, return_counts=True)
    assert found == dict(zip(zip(*windows.tolist(), strict=True), counts.tolist(), strict=True))


def test_slots_that_go_while_others_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions end, each of many values, at any point of the moves of sets from one form to another, which need room
    for those that are left: as many as there are, and not fewer by what had not moved yet."""
    monkeypatch.setattr(value_sets, "_FEW", 0)
    rng = np.random.default_rng(5)
    rows = 40_000
    at, key, value = np.sort(rng.integers(0, 400_000, rows)), rng.integers(0, 20, rows), rng.integers(0, 500, rows)
    seen: dict[int, tuple[int, set[int]]] = {}
    expected = []
    for time, whose, what in zip(at.tolist(), key.tolist(), value.tolist(), strict=True):
        last, values = seen.get(whose, (-(10**9), set()))
        if time - last >= 400 and values:
            expected.append((whose, last + 400, len(values)))
            values = set()
        seen[whose] = time, values | {what}
    expected += [(whose, last + 400, len(values)) for whose, (last, values) in seen.items()]

    def declare(stream: Any) -> Any:
        return aggregate(stream, "key", window=tr.Session("at", 400, start=None), n=tr.CountDistinct("value"))

    with bench([tr.Schema("at key value")], declare, queue_bytes=1 << 20) as made:
        for start in range(0, rows, 97):
            some = slice(start, start + 97)
            made.send({"at": at[some], "key": key[some], "value": value[some]}, time=int(at[start]))
            made.settle()
        made.close()
        found = sorted((row[3], row[2], row[4]) for row in made.rows)
    assert found == sorted(expected)
