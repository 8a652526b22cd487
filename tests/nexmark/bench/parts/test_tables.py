"""The table maker: what a column shows of a row, and the digits of numbers."""

from __future__ import annotations

import pytest

from tokenring.nexmark.bench.parts import figure, rate_text, table
from tokenring.nexmark.bench.parts.tables import cell_text

ROW = {"query": "q4", "events": 12_345, "none": None, "latency_ms": {"p50": 0.0123}, "s": 12.34}
ROW |= {"of": {"workers": [1, 2]}}
SPREAD = {"ratio": {"median": 2.0, "least": 1.0, "greatest": 30.0}}


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (("query",), "q4"),
        (("events",), "12345"),
        (("{events:,}",), "12,345"),
        (("{of[workers][0]} and {of[workers][1]}",), "1 and 2"),
        (("events", 1e3), "12.3"),
        (("none",), "–"),
        (("latency_ms.p50", 1e-3), "12.3"),
        (("s",), "12.3"),
        ((lambda row: row["query"].upper(),), "Q4"),
        (("ratio",), "2.00 (1.00 – 30.0)"),
        (("ratio", 10.0), "0.20 (0.10 – 3.00)"),
    ],
)
def test_a_cell_shows_a_text_a_path_or_what_a_function_gives(column: tuple[object, ...], shown: str) -> None:
    assert cell_text(ROW | SPREAD, *column) == shown


def test_a_table_has_its_first_column_to_the_left() -> None:
    lines = table([ROW, ROW | {"query": "q7"}], ("what", "query"), ("s", "s"), more=[["all", "1"]]).splitlines()
    assert lines == ["| what | s |", "| --- | ---: |", "| q4 | 12.3 |", "| q7 | 12.3 |", "| all | 1 |"]
    assert table([], ("what", "query")).splitlines() == ["| what |", "| --- |"]


def test_numbers_have_the_digits_that_matter() -> None:
    assert [figure(value) for value in (None, 0.0, 0.126, 12.34, -123.4, 1234.5)] == [
        *("–", "0.00", "0.13", "12.3", "-123", "1,234")
    ]
    assert [rate_text(rate) for rate in (None, 1e5, 1.5e6)] == ["closed loop", "100 k/s", "1.5 M/s"]
