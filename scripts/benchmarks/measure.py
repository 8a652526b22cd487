"""What the benchmarks share: options, the command around what is measured, and the processes that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import click

from tokenring.nexmark.bench.figures import EXPERIMENTS
from tokenring.nexmark.bench.figures import render as render_experiment
from tokenring.nexmark.bench.parts import ListCommand, option, record, with_options
from tokenring.nexmark.bench.parts import render as rendered
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.errors import CommandError
from tokenring.tools.system import Number, PathOption, require_writable, write_json

ROOT = Path(__file__).parents[2]
DOCUMENTS = tuple([ROOT / "docs" / f"{name}.md" for name in ("performance", "experiments", "scale-out")])
RESULTS = ROOT / "docs" / "benchmarks"
_LONGEST_S = 900

Row = dict[str, Any]
Found = tuple[dict[str, Any], dict[str, Any]]
"""What a benchmark gives: the parameters it was measured with, and its figures."""

INPUT = option(
    "--input DIR", click.Path(path_type=Path), "A folder staged by `tokenring stage`.", to="folder", required=True
)
ROUNDS = option("--rounds N", click.IntRange(1), "How often everything is measured.", 5)
EVENTS = option("--events N", click.IntRange(1), "Use only the first N staged events.")
ASKED = option("--query QUERY...", click.Choice(tuple(QUERIES)), "[default: all]", tuple(QUERIES), "queries")
COUNT = click.IntRange(1, 512)
WORKERS = option("--workers N...", COUNT, "Worker processes.", (1, 2))
GROUP = option("--workers N", COUNT, "Worker processes.", 2)
RATE = Number(0, 1e12, min_open=True)
SECONDS = Number(0, 1e6, min_open=True)
_JSON = option("--json FILE", PathOption(), "Where the figures go.", to="json_file", required=True)


def benchmark(*options: Callable[..., Any]) -> Callable[[Callable[..., Found]], click.Command]:
    """Make a verb of what measures: its module's name, whose `tables` shows the figures, is the benchmark's."""

    def verb(measure: Callable[..., Found]) -> click.Command:
        name = measure.__module__.rpartition(".")[2]

        def run(json_file: Path, **asked: Any) -> None:
            require_writable(json_file)
            parameters, figures = measure(**asked)
            data = record(name, parameters, **figures)
            write_json(json_file, data)
            click.echo(render(data))

        run.__doc__ = measure.__doc__
        return click.command(name, cls=ListCommand)(with_options(run, (*options, _JSON)))

    return verb


def render(data: dict[str, Any]) -> str:
    """One benchmark's figures as Markdown."""
    name = data["benchmark"]
    own = name.removeprefix("bench-")
    if own == name:
        return rendered(data, import_module(f"scripts.benchmarks.{name}").tables(data))
    plot = f"\n\n![{name}](benchmarks/{name}.svg)" if EXPERIMENTS[own].panels else ""
    return f"{render_experiment(data)}{plot}"


def opened(folder: Path, events: int | None = None) -> tuple[StagedEvents, int]:
    """The staged events, and how many of them are used."""
    staged = StagedEvents.open(folder)
    return staged, staged.events if events is None else min(events, staged.events)


def of_events(staged: StagedEvents, events: int, rounds: int) -> dict[str, Any]:
    """The parameters that say what was measured, and how often."""
    made = {"staged_rate": staged.manifest.get("rate"), "seed": staged.manifest.get("seed")}
    return {"events": events, "rounds": rounds, **made}


class Done(NamedTuple):
    """What a process wrote to standard output; seconds from call to exit; and of processors, its children's too."""

    out: bytes
    wall_s: float
    processor_s: float


def child(what: str, *arguments: str, tree: Path = ROOT, **environment: str) -> Done:
    """Run this Python with these arguments in a checkout. what: said of it where it fails."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, start_s = os.times(), perf_counter()
    command, env = [sys.executable, *arguments], inherited | environment
    try:
        done = subprocess.run(command, cwd=tree, env=env, capture_output=True, timeout=_LONGEST_S)
    except subprocess.TimeoutExpired as error:
        raise CommandError(f"{what} takes more than {_LONGEST_S} s") from error
    wall_s, after = perf_counter() - start_s, os.times()
    require_done(done.returncode, done.stderr, what)
    used_s = after.children_user + after.children_system - before.children_user - before.children_system
    return Done(done.stdout, wall_s, used_s)


def require_done(status: int, errors: bytes, what: str) -> None:
    """CommandError for a process that failed, with the end of what it said."""
    if status:
        raise CommandError(f"{what} failed: {errors.decode(errors='replace').strip()[-500:]}")
