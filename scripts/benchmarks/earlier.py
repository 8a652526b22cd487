"""`benchmark earlier`: this checkout against an earlier commit of it, run by run in turns: paces, queries, a step."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import click
import orjson

from scripts.archives import unpack
from scripts.benchmarks.measure import ROOT, input_option, json_option, rounds_option, spread, take_turns, write_json
from scripts.benchmarks.render import render
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.queries import QUERIES
from tokenring.tools.errors import CommandError, OptionError
from tokenring.tools.system.files import require_writable

_LONGEST_RUN_S = 120
_PARTS = ("paces", "queries", "step")
_OTHERS = tuple(query for query in QUERIES if query not in ("q4", "q7", "q12"))  # q12 answers by the clock on the wall
# Each tree's own kernels under its own names, as JSON; both have had these two since they have a step.
_KERNELS = """
import sys, orjson
from scripts.benchmarks import step
sys.stdout.buffer.write(orjson.dumps(step.kernel_costs(step.StagedEvents.open(sys.argv[1]))))
"""


@click.command(cls=ListCommand)
@input_option
@click.option("--commit", required=True, metavar="REV", help="The earlier commit, as git names it.")
@click.option(
    "--rate",
    type=click.FloatRange(0, 1e12, min_open=True),
    default=4e6,
    show_default=True,
    help="Events a second offered in the open loop, with one worker.",
)
@click.option(
    "--duration", type=click.FloatRange(0, 1e6, min_open=True), default=2.0, show_default=True, help="Its seconds."
)
@click.option(
    "--part", "parts", multiple=True, type=click.Choice(_PARTS), default=_PARTS, metavar="PART...",
    help="paces: Q4 and Q7, closed and open loop; queries: all others in a closed loop; step: the kernels of a step.  "
    "[default: all]",
)  # fmt: skip
@click.option(
    "--events", type=click.IntRange(1), default=4_000_000, show_default=True, help="Of the other queries, at most."
)
@rounds_option
@json_option
def command(
    input_folder: Path,
    commit: str,
    rate: float,
    duration: float,
    parts: tuple[str, ...],
    events: int,
    rounds: int,
    json_file: Path,
) -> None:
    """What a change costs: both checkouts in turns, with this interpreter, so that the machine's moods hit both."""
    require_writable(json_file)
    folder = str(input_folder.resolve())
    open_loop = ["--workers", "1", "--rate", f"{rate:.0f}", "--duration", f"{duration}"]
    paces = {"1 worker": ["--workers", "1"], "2 workers": ["--workers", "2"], "open loop, 1 worker": open_loop}
    asked = [(query, pace) for query in ("q4", "q7") for pace in paces] if "paces" in parts else []
    if "queries" in parts:
        paces["2 workers, fewer events"] = ["--workers", "2", "--events", str(events)]
        asked += [(query, "2 workers, fewer events") for query in _OTHERS]
    with tempfile.TemporaryDirectory(prefix="tokenring-earlier-") as scratch:
        trees = (Path(scratch), ROOT)
        number = unpack_commit(commit, trees[0])
        for tree in trees:
            _warm_up(tree)
        cases = [(query, pace, tree) for query, pace in asked for tree in trees]
        outcomes = take_turns(
            f"against {number}", cases, rounds, lambda case: _run(case[2], case[0], folder, paces[case[1]])
        )
        kernels = []
        if "step" in parts:
            kernels = _kernels(*take_turns("a step", trees, rounds, lambda tree: _kernel_costs(tree, folder)))
    runs = dict(zip(cases, outcomes, strict=True))
    figures = [_compared(query, pace, runs[query, pace, trees[0]], runs[query, pace, ROOT]) for query, pace in asked]
    parameters = {"commit": number, "rounds": rounds, "rate": rate, "duration_s": duration, "events": events}
    click.echo(render(write_json(json_file, "earlier", parameters, {"figures": figures, "kernels": kernels})))


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


def _warm_up(tree: Path) -> None:
    """Compile that checkout's kernels, in minutes where none has: no measured run is to do it."""
    ran = subprocess.run([sys.executable, "-m", _module(tree), "warm-up"], cwd=tree, capture_output=True)
    if ran.returncode != 0:
        raise CommandError(f"the kernels of {tree} cannot be made: {ran.stderr.decode(errors='replace')[-500:]}")


def _module(tree: Path) -> str:
    """What the command was called before."""
    return "tokenring" if (tree / "tokenring").is_dir() else "nexmark.cli"


def _kernel_costs(tree: Path, events: str) -> dict[str, float]:
    """What one call of each of a step's kernels costs in that checkout, in microseconds."""
    command = [sys.executable, "-c", _KERNELS, events]
    ran = subprocess.run(command, cwd=tree, capture_output=True, timeout=_LONGEST_RUN_S)
    if ran.returncode != 0:
        raise CommandError(f"the kernels of {tree} cannot be timed: {ran.stderr.decode(errors='replace')[-500:]}")
    return {row["what"].strip(): row["us"] for row in orjson.loads(ran.stdout)}


def _kernels(before: list[dict[str, float]], now: list[dict[str, float]]) -> list[dict[str, Any]]:
    """Both, for each kernel that both have."""
    return [
        {
            "what": what,
            "before": spread(costs[what] for costs in before),
            "now": spread(costs[what] for costs in now),
            "ratio": spread(new[what] / old[what] for old, new in zip(before, now, strict=True)),
        }
        for what in now[0]
        if what in before[0] and all(costs[what] > 0 for costs in before)
    ]


def _run(tree: Path, query: str, events: str, options: list[str]) -> dict[str, Any]:
    """One run's JSON."""
    command = [sys.executable, "-m", _module(tree), "run", query, "--input", events, *options, "--json", "-"]
    ran = subprocess.run(command, cwd=tree, capture_output=True, timeout=_LONGEST_RUN_S)
    if ran.returncode != 0:
        raise CommandError(f"{' '.join(command)} in {tree} failed: {ran.stderr.decode(errors='replace')[-500:]}")
    outcome = orjson.loads(ran.stdout)
    assert isinstance(outcome, dict)
    return outcome


def _compared(query: str, pace: str, before: list[dict[str, Any]], now: list[dict[str, Any]]) -> dict[str, Any]:
    """Both in one measure, and the ratio within each round; for seconds and latencies, less than 1 is better now."""
    if any(run["result"] != before[0]["result"] for run in (*before, *now) if not run["dnf"]):
        raise CommandError(f"{query}, {pace}: this checkout answers differently; no figures were written")
    measures = {"p50_us": _p50_us} if "open" in pace else {"seconds": _seconds, "cpu_seconds": _cpu_seconds}
    return {
        "query": query,
        "pace": pace,
        "measures": {
            name: {
                "before": spread(measure(run) for run in before),
                "now": spread(measure(run) for run in now),
                "ratio": spread(measure(new) / measure(old) for old, new in zip(before, now, strict=True)),
            }
            for name, measure in measures.items()
        },
    }


def _p50_us(run: dict[str, Any]) -> float:
    return float(run["latency_ms"]["p50"]) * 1e3


def _seconds(run: dict[str, Any]) -> float:
    return float(run["seconds"])


def _cpu_seconds(run: dict[str, Any]) -> float:
    return float(run["cpu_seconds"])
