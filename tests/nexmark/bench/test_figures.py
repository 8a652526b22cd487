"""Rows as tables and plots: the paper's form, and DNF and failures in the place of figures."""

from __future__ import annotations

import itertools
import re
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from tokenring.nexmark.bench.figures import EXPERIMENTS as KNOWN
from tokenring.nexmark.bench.figures import publish, render
from tokenring.nexmark.bench.parts import Row, machine, points
from tokenring.nexmark.bench.parts.plots import drawn as plotted

WAYS = ("tokens", "notifications", "watermarks-X")
FIGURES = ("p50_ms", "p99_ms", "p999_ms", "max_ms")


def row(experiment: str, point: Row, **figures: Any) -> Row:
    base = {"experiment": experiment, **point, "error": None, "hiccup_p999_ms": 0.1}
    if figures.get("dnf"):
        return base | dict.fromkeys(FIGURES) | {"p50_after_quantum_ms": None} | figures
    return base | {name: 0.25 * 4**at for at, name in enumerate(FIGURES)} | {"p50_after_quantum_ms": 0.2} | figures


def rows_of(experiment: str) -> list[Row]:
    """A small sweep, in which notifications do not finish at the finest quantum and on Q4."""
    if experiment == "wordcount":
        sweep = points(quantum_log2=(8, 16), rate=(1e6, 2e6), workers=(1, 2), mechanism=WAYS)
        lost = [point["mechanism"] == "notifications" and point["quantum_log2"] == 8 for point in sweep]
        return [row(experiment, point, dnf=dnf) for point, dnf in zip(sweep, lost, strict=True)]
    if experiment == "scaling":
        sweep = points(source=("each-time",), quantum_log2=(8,), rate_per_worker=(1e6,), workers=(1, 4), mechanism=WAYS)
        return [row(experiment, point, rate=1e6 * point["workers"], verdict="undecided") for point in sweep]
    if experiment == "chain":
        return [row(experiment, point) for point in points(operators=(8, 64), workers=(1, 2), mechanism=WAYS)]
    if experiment == "idle":
        figures = {"step_ms": 1.5, "build_s": 3.25, "settle_s": 0.5, "peak_rss_mb": 812.0, "group_mb": 900.0}
        return [
            row(experiment, point, **figures)
            for point in points(dataflows=(1000,), operators=(10, 100), operator_kind=("real",), workers=(1,))
        ]
    sweep = points(query=("q4", "q7"), rate=(1e6, 4e6), workers=(1, 2), mechanism=WAYS)
    lost = [point["mechanism"] == "notifications" and point["query"] == "q4" for point in sweep]
    return [row(experiment, point, dnf=dnf) for point, dnf in zip(sweep, lost, strict=True)]


EXPERIMENTS = ("wordcount", "scaling", "chain", "idle", "nexmark")


def plot(experiment: str, rows: list[Row]) -> bytes | None:
    return plotted(KNOWN[experiment].panels, rows)


@cache
def drawn(experiment: str) -> bytes | None:
    """The plot of those rows."""
    return plot(experiment, rows_of(experiment))


def figures_of(*experiments: str, complete: bool = True) -> dict[str, Any]:
    name = experiments[0] if len(experiments) == 1 else "all"
    rows = list(itertools.chain.from_iterable(rows_of(experiment) for experiment in experiments))
    return {"benchmark": f"bench-{name}", "complete": complete, "machine": machine(), "parameters": {}, "rows": rows}


def test_the_papers_table() -> None:
    text = render(figures_of("nexmark"))
    assert "| rate | workers | tokens p50 | p99 | p99.9 | max | notifications p50 | p99 | p99.9 | max |" in text
    assert "| 4 M/s | 2 | 250 | 1,000 | 4,000 | 16,000 | DNF |  |  |  | 250 | 1,000 | 4,000 | 16,000 | 100 |" in text
    assert text.count("DNF |") == 4  # Q4's lines and none of Q7's


def test_two_sources_are_two_tables_and_say_what_they_support() -> None:
    """What can send in one way only stands in both."""
    data = figures_of("wordcount")
    both = [one | {"source": "batched"} for one in data["rows"] if one["mechanism"] != "notifications"]
    each = [one | {"source": "each-time", "p50_ms": 0.5} for one in data["rows"]]
    text = render(data | {"rows": [*each, *both]})
    first, second = text.split("**Each mechanism's best source**")
    assert "**The same source for all" in first
    assert "| 1 M/s | 1 | 2^16 ns | 500 | 1,000 | 4,000 | 500 | 1,000 | 4,000 | 500 | 1,000 | 4,000 | 100 |" in first
    assert "| 1 M/s | 1 | 2^16 ns | 250 | 1,000 | 4,000 | 500 | 1,000 | 4,000 | 250 | 1,000 | 4,000 | 100 |" in second


def test_doubt_and_oversubscription_are_marked() -> None:
    data = figures_of("scaling")
    data["rows"] = [one | {"oversubscribed": one["workers"] == 4} for one in data["rows"]]
    text = render(data)
    assert "| 2^8 ns | 1 M/s | 4* | 250? | 1,000? | 4,000? |" in text
    assert "| 2^8 ns | 1 M/s | 1 | 250? |" in text
    assert "more workers than cores" in text and "too short to tell" in text
    assert "more workers than cores" not in render(figures_of("chain"))


def test_word_counts_say_what_the_quantum_costs_and_what_the_engine() -> None:
    text = render(figures_of("wordcount"))
    assert "| 1 M/s | 1 | 2^8 ns | 250 | 1,000 | 4,000 | DNF |  |  | 250 | 1,000 | 4,000 | 100 |" in text
    assert "| 1 M/s | 1 | 2^16 ns | 200 | 200 | 200 | 100 |" in text


def test_what_failed_or_was_not_measured_is_no_figure() -> None:
    data = figures_of("chain", complete=False)
    data["rows"] = data["rows"][:2]
    data["rows"][1] |= {"error": "WorkerError: worker 1\nwas killed", "p50_ms": None, "p99_ms": None}
    text = render(data)
    assert "Incomplete" in text
    assert "| 8 | 1 | 250 | 1,000 | failed |  | 100 |" in text
    assert "- operators 8, workers 1, mechanism notifications: WorkerError: worker 1 was killed" in text
    assert "Incomplete" not in render(figures_of("chain"))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_plot_shows_every_mechanism(experiment: str) -> None:
    text = (drawn(experiment) or b"").decode()
    assert text.count("<svg") == 1
    if experiment != "idle":
        assert all(f">{way} p50<" in text for way in WAYS)
    assert (">notifications DNF<" in text) == (">DNF<" in text) == (experiment in ("wordcount", "nexmark"))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_rows_without_figures_do_not_stop_a_plot(experiment: str) -> None:
    failed = [one | {"error": "WorkerError: gone", "dnf": None} for one in rows_of(experiment)]
    assert plot(experiment, failed) is None
    one = plot(experiment, [*failed[1:], rows_of(experiment)[0]])
    assert one is not None
    if experiment != "idle":
        unfinished = [row(experiment, one, dnf=True) | dict.fromkeys(FIGURES) for one in rows_of(experiment)[:1]]
        assert plot(experiment, unfinished) is not None


def test_files_stand_beside_the_json_and_plots_are_the_same_every_time(tmp_path: Path) -> None:
    publish("chain", rows_of("chain"), True, {}, tmp_path / "one.json")
    publish("all", figures_of(*EXPERIMENTS)["rows"], True, {}, tmp_path / "every.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["one.json", "one.md", "one.svg", "every.json", "every.md", *(f"every-{name}.svg" for name in EXPERIMENTS)]
    )
    assert len(orjson.loads((tmp_path / "every.json").read_bytes())["rows"]) == 24 + 6 + 12 + 2 + 24
    shown = re.findall(r"\((\S+\.svg)\)", (tmp_path / "every.md").read_text())
    assert shown == [f"every-{name}.svg" for name in EXPERIMENTS]
    for name in EXPERIMENTS:
        assert (tmp_path / f"every-{name}.svg").read_bytes() == drawn(name), name
