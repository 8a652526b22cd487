"""`benchmark earlier`: this checkout against an earlier commit of it, run by run in turns: paces, queries, a step."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import orjson

from scripts.archives import unpack
from scripts.benchmarks.measure import INPUT, RATE, ROOT, ROUNDS, SECONDS, Found, Row, benchmark, child
from scripts.benchmarks.nexmark import named
from tokenring.nexmark.bench.parts import option, paired, rate_text, spread, table, take_turns
from tokenring.nexmark.queries import QUERIES
from tokenring.tools.errors import CommandError, OptionError

_PARTS = ("paces", "queries", "step")
_OTHERS = tuple(query for query in QUERIES if query not in ("q4", "q7", "q12"))  # q12 answers by the clock on the wall
# Each tree's own kernels under its own names, as JSON; both have had these two since they have a step.
_KERNELS = """
import sys, orjson
from scripts.benchmarks import step
events = sys.modules[step.kernel_costs.__module__].StagedEvents.open(sys.argv[1])
sys.stdout.buffer.write(orjson.dumps(step.kernel_costs(events)))
"""
_MEASURES: dict[str, tuple[str, Callable[[Row], float]]] = {
    "seconds": ("s", lambda run: float(run["seconds"])),
    "cpu_seconds": ("CPU s", lambda run: float(run["cpu_seconds"])),
    "p50_us": ("µs, p50", lambda run: float(run["latency_ms"]["p50"]) * 1e3),
}


@benchmark(
    INPUT,
    option("--commit REV", None, "The earlier commit, as git names it.", required=True),
    option("--rate N", RATE, "Events a second offered in the open loop, with one worker.", 4e6),
    option("--duration S", SECONDS, "Its seconds.", 2.0),
    option(
        "--part PART...", click.Choice(_PARTS),
        "paces: Q4 and Q7, closed and open loop; queries: all others likewise; step: the kernels of a step.  "
        "[default: all]", _PARTS, "parts",
    ),
    option("--events N", click.IntRange(1), "Of the other queries in a closed loop, at most.", 4_000_000),
    ROUNDS,
)  # fmt: skip
def command(
    folder: Path, commit: str, rate: float, duration: float, parts: tuple[str, ...], events: int, rounds: int
) -> Found:
    """What a change costs: both checkouts in turns, with this interpreter, so that the machine's moods hit both."""
    read = str(folder.resolve())
    paces = {
        "1 worker": ["--workers", "1"],
        "2 workers": ["--workers", "2"],
        "open loop, 1 worker": ["--workers", "1", "--rate", f"{rate:.0f}", "--duration", f"{duration}"],
    }
    asked = [(query, pace) for query in ("q4", "q7") for pace in paces] if "paces" in parts else []
    if "queries" in parts:
        fewer = {f"{pace}, fewer events": [*paces[pace], "--events", str(events)] for pace in ("1 worker", "2 workers")}
        paces |= fewer
        asked += [(query, pace) for query in _OTHERS for pace in (*fewer, "open loop, 1 worker")]
    with tempfile.TemporaryDirectory(prefix="tokenring-earlier-") as scratch:
        trees = (Path(scratch), ROOT)
        number = unpack_commit(commit, trees[0])
        for tree in trees:
            warm_up(tree)
        cases = [(query, pace, tree) for query, pace in asked for tree in trees]
        runs = take_turns(f"against {number}", cases, rounds, lambda case: _run(case[2], case[0], read, paces[case[1]]))
        costs = take_turns("a step", trees if "step" in parts else (), rounds, lambda tree: _kernel_costs(tree, read))
    figures = [_compared(query, pace, runs[query, pace, trees[0]], runs[query, pace, ROOT]) for query, pace in asked]
    parameters = {"commit": number, "rounds": rounds, "rate": rate, "duration_s": duration, "events": events}
    return parameters, {"figures": figures, "kernels": _kernels(*costs.values()) if costs else []}


def unpack_commit(commit: str, folder: Path) -> str:
    """The commit's files in `folder`; returns its short number."""
    git = ["git", "-C", str(ROOT)]
    found = subprocess.run([*git, "rev-parse", "--short", f"{commit}^{{commit}}"], capture_output=True, text=True)
    if found.returncode != 0:
        raise OptionError(f"--commit {commit}: no such commit in {ROOT}")
    archive = subprocess.run([*git, "archive", commit], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        unpack(tar, folder)
    return found.stdout.strip()


def warm_up(tree: Path) -> None:
    """Compile that checkout's kernels, in minutes where none has: no measured run is to do it."""
    child(f"to make the kernels of {tree}", "-m", _module(tree), "warm-up", tree=tree)


def _module(tree: Path) -> str:
    """What the command was called before."""
    return "tokenring" if (tree / "tokenring").is_dir() else "nexmark.cli"


def _kernel_costs(tree: Path, events: str) -> dict[str, float]:
    """What one call of each of a step's kernels costs in that checkout, in microseconds."""
    done = child(f"to time the kernels of {tree}", "-c", _KERNELS, events, tree=tree)
    return {row["what"].strip(): row["us"] for row in orjson.loads(done.out)}


def _kernels(before: list[dict[str, float]], now: list[dict[str, float]]) -> list[Row]:
    """Both, for each kernel that both have."""
    return [
        {"what": what, **_both([costs[what] for costs in before], [costs[what] for costs in now])}
        for what in now[0]
        if what in before[0] and all(costs[what] > 0 for costs in before)
    ]


def _both(before: list[float], now: list[float]) -> Row:
    return {"before": spread(before), "now": spread(now), "ratio": paired(now, before)}


def _run(tree: Path, query: str, events: str, options: list[str]) -> dict[str, Any]:
    """One run's JSON."""
    command = ["-m", _module(tree), "run", query, "--input", events, *options, "--json", "-"]
    outcome = orjson.loads(child(f"{' '.join(command)} in {tree}", *command, tree=tree).out)
    assert isinstance(outcome, dict)
    return outcome


def _compared(query: str, pace: str, before: list[dict[str, Any]], now: list[dict[str, Any]]) -> Row:
    """Both in one measure, and the ratio within each round; for seconds and latencies, less than 1 is better now."""
    if any(run["result"] != before[0]["result"] for run in (*before, *now) if not run["dnf"]):
        raise CommandError(f"{query}, {pace}: this checkout answers differently; no figures were written")
    names = ["p50_us"] if "open" in pace else ["seconds", "cpu_seconds"]
    measures = {name: _both(*[[_MEASURES[name][1](run) for run in runs] for runs in (before, now)]) for name in names}
    return {"query": query, "pace": pace, "measures": measures}


def tables(data: dict[str, Any]) -> list[str]:
    """Queries and kernels, before and now."""
    asked, kernels = data["parameters"], data.get("kernels", [])
    rows = [
        {"query": named(row, "query"), "pace": row["pace"], "in": _MEASURES[name][0], **of}
        for row in data["figures"]
        for name, of in row["measures"].items()
    ]
    both = [(name, name) for name in ("before", "now", "ratio")]
    return [
        f"Against commit {asked['commit']}, in turns, median (least – greatest) of {asked['rounds']} rounds; a ratio "
        f"is taken within each round, and less than 1 is better now. Open loop: {rate_text(asked['rate'])}.",
        *([table(rows, ("query", "query"), ("pace", "pace"), ("in", "in"), *both)] if rows else []),
        *(["A step's kernels, µs a call:", table(kernels, ("what", "what"), *both)] if kernels else []),
    ]
