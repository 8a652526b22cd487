"""docs/phrasebook.md: every line of it can be said, and its words are those that are exported."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tokenring as tr
from tests.imports import ROOT

TEXT = (ROOT / "docs" / "phrasebook.md").read_text()
LINES = re.findall(r"^\| [^|]+ \| [^|]+ \| `(.+)` \|$", TEXT, flags=re.M)
SCHEMA = tr.Schema("price", city="string?", at="timestamp")
AT = pa.array([0, 1], pa.timestamp("ns"))
TABLE = pa.table({"price": [1, 20], "city": ["Oslo", None], "at": AT}, SCHEMA.to_arrow())


def rows_of(text: str) -> int:
    return len([line for line in text.splitlines() if re.match(r"\| (?!---)", line)])


def construct(context: tr.OperatorContext, token: tr.Token) -> Any:
    token.drop()
    return lambda *ports: None


def names(scope: tr.Scope, folder: Path) -> dict[str, Any]:
    """What the lines take for granted."""
    path = folder / "rows.csv"
    path.write_text("price,city,at\n1,Oslo,2026-03-01\n")
    streams = {name: scope.new_input(SCHEMA, name) for name in ("rows", "left", "right", "more")}
    return {
        "tr": tr, "scope": scope, "path": path, "folder": folder / "captured", "schema": SCHEMA, "table": TABLE,
        "frame": pd.DataFrame({"price": [1]}), "poll": lambda: tr.END_OF_STREAM, "construct": construct,
        "Decimal": Decimal, "date": date, "widest": lambda rows, starts: {"widest": rows["price"][starts]},
        "pipeline": lambda scope: scope.read_arrow(TABLE).collect(), "program": lambda worker: worker.index,
        **{name: stream for name, (_, stream) in streams.items()},
    }  # fmt: skip


RUN = [line for line in LINES if "tr.run(" in line or "tr.execute(" in line]
OF_A_CALL = ["token.downgrade(5)", "reference.retain()", "numbers.send(", "worker.step_while(", "probe.frontier"]
DECLARED = [line for line in LINES if line not in RUN and not line.startswith(tuple(OF_A_CALL))]


def test_each_row_has_its_line() -> None:
    tables = TEXT.count("| --- | --- | --- |")
    assert tables == 6 and len(LINES) == rows_of(TEXT) - tables
    assert len(DECLARED) + len(RUN) + len(OF_A_CALL) == len(LINES)


@pytest.mark.parametrize("line", DECLARED)
def test_a_line_can_be_declared(line: str, tmp_path: Path) -> None:
    if "scope.replay(" in line:
        recorded(tmp_path / "captured")
    scope = tr.Scope("phrasebook")
    assert eval(line, names(scope, tmp_path)) is not None


def recorded(folder: Path) -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            scope.read_arrow(TABLE).capture(folder)

    tr.execute(program, workers=1)


@pytest.mark.parametrize("line", RUN)
def test_a_line_runs(line: str, tmp_path: Path) -> None:
    found = eval(line, names(tr.Scope("phrasebook"), tmp_path))
    assert found == [0, 1] if "execute" in line else len(found) == 2


def test_a_line_of_a_call_is_right() -> None:
    """Those of timely that are said of what a running program has: tokens, references, inputs, workers."""
    said = [line for line in LINES if line.startswith(tuple(OF_A_CALL))]
    token_line, retain_line, send_line, step_line, frontier_line = said
    retained = []

    def construct(context: tr.OperatorContext, token: tr.Token) -> Any:
        eval(token_line, {"token": token})
        token.drop()

        def logic(rows: tr.InputPort, output: tr.OutputPort) -> None:
            for reference, batch in rows:
                held = eval(retain_line, {"reference": reference})
                retained.append(batch["price"].tolist())
                held.drop()

        return logic

    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            numbers, rows = scope.new_input(tr.Schema("price"))
            probe = rows.unary("mine", tr.Schema("price"), construct).probe()
        eval(send_line, {"numbers": numbers})
        numbers.advance_to(5)
        eval(step_line, {"worker": worker, "probe": probe})
        return [*retained, eval(frontier_line, {"probe": probe})]

    assert tr.execute(program, workers=1) == [[[1, 2], 5]]
