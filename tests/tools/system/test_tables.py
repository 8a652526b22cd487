"""Tables fit terminals, and nothing of a figure is lost."""

from __future__ import annotations

import re
import sys

import pytest
from rich.table import Table

from tokenring.tools.system import console_of, print_table

FIGURES = [f"{number}23,456,789,01{number}" for number in range(1, 8)]
PATH = "a/folder/" * 12 + "file.py"
HEADINGS = [f"a long heading of {number}" for number in range(1, 8)]


def _table(figures: list[str], text: str) -> Table:
    table = Table(title="what it is")
    table.add_column("file")
    for heading in HEADINGS[: len(figures)]:
        table.add_column(heading, justify="right")
    table.add_row(text, *figures)
    table.add_row("short", *["7"] * len(figures))
    return table


def _printed(capsys: pytest.CaptureFixture[str], table: Table) -> str:
    capsys.readouterr()
    print_table(table, console_of())
    return re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)


def _folded(printed: str, column: int) -> str:
    """A column's cells, put together."""
    lines = [re.split("[│┃]", line) for line in printed.splitlines() if line.startswith("│")]
    return "".join([line[column + 1].strip() for line in lines])


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
@pytest.mark.parametrize("count", [2, 4, 7])
def test_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, count: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    printed = _printed(capsys, _table(FIGURES[:count], PATH))
    assert max(map(len, printed.splitlines())) <= width
    assert _folded(printed, 0) == f"{PATH}short"
    for column, figure in enumerate(FIGURES[:count], 1):
        assert _folded(printed, column) == f"{figure}7"
    if width >= 10 + 15 * count + 3 * (count + 1) + 1:
        assert all(figure in printed for figure in FIGURES[:count])


@pytest.mark.parametrize("count", [2, 4, 7])
def test_a_pipe(capsys: pytest.CaptureFixture[str], count: int) -> None:
    printed = _printed(capsys, _table(FIGURES[:count], PATH))
    assert max(map(len, printed.splitlines())) <= max(120, 10 + 15 * count + 3 * (count + 1) + 1)
    assert all(figure in printed for figure in FIGURES[:count])
    assert _folded(printed, 0) == f"{PATH}short"


def test_what_fits_is_as_wide_as_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    printed = _printed(capsys, _table(FIGURES[:2], "here"))
    assert "a long heading of 1" in printed
    assert max(map(len, printed.splitlines())) < 60
