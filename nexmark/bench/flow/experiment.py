"""`tokenring bench flow`: rows that multiply, bounded and not, and dataflows in which nothing is to be held back."""

from __future__ import annotations

from tokenring.nexmark.bench.flow.multiplied import BOUNDS, measured_multiplied
from tokenring.nexmark.bench.flow.overhead import OVERHEADS, WORD_COUNT, measured_overhead
from tokenring.nexmark.bench.parts import Experiment, Row, Sweep, points, table

_MULTIPLIED = "multiplied"
_EVENTS = ((4e6,), 1.0)


def _points(sweep: Sweep) -> list[Row]:
    """With `quick`, queries only over a folder that is given."""
    cases = (WORD_COUNT,) if sweep["quick"] and sweep["folder"] is None else OVERHEADS
    multiplied = points(case=(_MULTIPLIED,), workers=sweep["workers"], bound=BOUNDS)
    return [*multiplied, *points(case=cases, workers=(max(sweep["workers"]),))]


def _measure(point: Row, sweep: Sweep) -> Row:
    if point["case"] == _MULTIPLIED:
        return measured_multiplied(point["workers"], sweep["rows"], point["bound"])
    return measured_overhead(point["case"], point["workers"], sweep["rounds"], sweep["words"], sweep["folder"])


def _tables(rows: list[Row], sweep: Sweep) -> list[str]:
    """A table of what multiplies, one of what does not."""
    done = [row for row in rows if not row.get("error")]
    return [
        f"{sweep['rows']:,} rows, of each of which a region makes 10,000; then dataflows in which nothing is to be "
        f"held back, medians of {sweep['rounds']} rounds by turns.",
        table(
            [row for row in done if row["case"] == _MULTIPLIED],
            ("workers", "workers"), ("bound", "bound"), ("rows made", "{rows_made:,}"),
            ("peak MB above the start", "peak_mb"), ("s", "seconds"), ("M rows/s", "rows_per_s", 1e6),
        ),
        table(
            [row for row in done if row["case"] != _MULTIPLIED],
            ("dataflow", "case"), ("workers", "workers"), ("s without", "without_s"), ("s with", "with_s"),
            ("with / without", "ratio"),
        ),
    ]  # fmt: skip


FLOW = Experiment("flow", _points, _measure, _tables, events=lambda sweep: None if sweep["quick"] else _EVENTS)
