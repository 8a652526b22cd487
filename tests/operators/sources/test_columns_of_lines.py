"""Columns of lines at which no operator looks are neither read nor checked; all others are what they were."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

import tokenring as tr
from tests.errors import raises

SCHEMA = tr.Schema(at="timestamp", bad="int64", key="string?", value="float64", more="string")
ROWS = [
    ("2026-01-01T00:00:00", "x", "a", 1.5, ""),
    ("2026-01-01T00:00:01", "", None, 2.5, "ä"),
    ("2026-01-01T00:00:02", "9" * 30, "a", -4.0, "x"),
]
CSV = [",".join("" if value is None else str(value) for value in row) for row in ROWS]
LINES = [
    orjson.dumps({name: value for name, value in zip(SCHEMA.names, row, strict=True) if value is not None}).decode()
    for row in ROWS
]
Read = Callable[[tr.Scope, Path], tr.Stream]


def csv(scope: tr.Scope, path: Path) -> tr.Stream:
    return scope.read_csv(path, SCHEMA, time="at", header=False)


def csv_with_header(scope: tr.Scope, path: Path) -> tr.Stream:
    return scope.read_csv(path, SCHEMA, time="at", block_bytes=1)


def json_lines(scope: tr.Scope, path: Path) -> tr.Stream:
    return scope.read_json_lines(path, SCHEMA, time="at")


FORMS: dict[str, tuple[Read, list[str]]] = {
    "csv": (csv, CSV),
    "csv with header": (csv_with_header, [",".join(SCHEMA.names), *CSV]),
    "json lines": (json_lines, LINES),
}
USES: dict[str, tuple[Callable[[tr.Stream], Any], list[dict[str, Any]]]] = {
    "a key and a value": (
        lambda rows: rows.aggregate("key", total=tr.Sum("value"), emit="final"),
        [{"key": "a", "total": -2.5}, {"key": None, "total": 2.5}],
    ),
    "a text": (lambda rows: rows.select("more"), [{"more": ""}, {"more": "x"}, {"more": "ä"}]),
    "rows alone": (lambda rows: rows.aggregate(n=tr.Count(), emit="final"), [{"n": 3}]),
    "times alone": (
        lambda rows: rows.aggregate(window=tr.Tumbling("at", "2s"), n=tr.Count()).select("n"),
        [{"n": 1}, {"n": 2}],
    ),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("form", FORMS)
def test_what_nobody_looks_at_may_be_anything(form: str, use: str, tmp_path: Path) -> None:
    (read, lines), (made, wanted) = FORMS[form], USES[use]
    (tmp_path / "rows").write_text("\n".join(lines))
    answer = tr.run(lambda scope: made(read(scope, tmp_path / "rows")).collect(), workers=2).to_pylist()
    assert sorted(answer, key=str) == wanted


@pytest.mark.parametrize("form", FORMS)
def test_what_somebody_looks_at_is_checked(form: str, tmp_path: Path) -> None:
    read, lines = FORMS[form]
    (tmp_path / "rows").write_text("\n".join(lines))
    with raises(tr.OperatorError, "rows line", "'bad'"):
        tr.run(
            lambda scope: read(scope, tmp_path / "rows").filter(tr.col("bad") > 0).select("value").collect(), workers=2
        )


def test_a_line_that_is_no_json_is_an_error_whoever_looks(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("\n".join([*LINES, "{"]))
    with raises(tr.OperatorError, "rows line 4"):
        tr.run(lambda scope: json_lines(scope, tmp_path / "rows").select("value").collect(), workers=1)


def _put_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _put_another(path: Path) -> None:
    """It is longer, as one to which rows were appended."""
    other = path.with_name("other")
    other.write_bytes(2 * path.read_bytes())
    other.replace(path)


CHANGES: dict[str, tuple[Callable[[Path], Any], tuple[str, ...]]] = {
    "shorter, within a row": (lambda path: os.truncate(path, 50), ("had 288 bytes", "has 50 now")),
    "shorter, after a row": (lambda path: os.truncate(path, 288 - 9), ("had 288 bytes", "has 279 now")),
    "another one": (_put_another, ("rows was replaced", "other names")),
    "gone": (Path.unlink, ("cannot read", "No such file")),
    "a folder": (_put_folder, ("cannot read", "Is a directory")),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("form", ["csv", "csv, whole", "json lines"])
def test_a_file_that_loses_rows_before_they_are_read_is_an_error(tmp_path: Path, form: str, change: str) -> None:
    """Who shortens a file meanwhile may cut a number in two, or lines off."""
    path, schema = tmp_path / "rows", tr.Schema("a")
    path.write_text("".join([f'{{"a":{row}}}\n' if form == "json lines" else f"{row:08}\n" for row in range(10, 42)]))
    make, said = CHANGES[change]

    def flow(scope: tr.Scope) -> tr.Stream:
        if form == "json lines":
            rows = scope.read_json_lines(path, schema, block_bytes=40)
        else:
            rows = scope.read_csv(path, schema, header=False, block_bytes=40, quoted_newlines=form == "csv, whole")
        make(path)
        return rows.collect()

    with raises(tr.OperatorError, str(path), *said):
        tr.run(flow, workers=1)
