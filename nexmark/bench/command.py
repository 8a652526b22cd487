"""`tokenring bench`: a subcommand for each experiment, and `all`; options are sweeps, with defaults by size."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from nexmark.at_work import at_work
from nexmark.bench.options import ListCommand
from nexmark.errors import OptionError
from nexmark.files import STANDARD_OUTPUT, PathOption, require_writable
from nexmark.run_command import MAX_DURATION_S, MAX_RATE, MAX_WORKERS, MECHANISMS

if TYPE_CHECKING:
    from nexmark.bench.sweep import Job, Row

_EXCHANGING: Final = tuple(name for name in MECHANISMS if name != "watermarks-P")  # Q4 and Q7 exchange rows
_QUERIES: Final = ("q4", "q7")

_SIZES: Final = ((1000, 10), (1000, 100), (1000, 1000), (100, 10_000))  # dataflows, operators in each
# What is swept where an option does not say: with --quick, and without it.
_QUICK: Final[dict[str, dict[str, Any]]] = {
    "wordcount": {"mechanism": MECHANISMS, "quantum_log2": (8, 13, 16, 20), "rate": (1e6, 4e6, 8e6), "duration": 1.2},
    "chain": {"mechanism": MECHANISMS, "operators": (8, 64, 256), "duration": 0.6},
    "idle": {"sizes": _SIZES, "workers": (1,), "steps": 100},
    "nexmark": {"mechanism": _EXCHANGING, "query": _QUERIES, "rate": (1e6, 4e6), "duration": 2.0},
}
_WHOLE: Final[dict[str, dict[str, Any]]] = {
    "wordcount": {
        "mechanism": MECHANISMS,
        "quantum_log2": (8, 10, 12, 14, 16, 18, 20),
        "rate": (1e6, 4e6, 8e6, 16e6),
        "duration": 3.0,
    },
    "chain": {"mechanism": MECHANISMS, "operators": (8, 16, 32, 64, 128, 256), "duration": 2.0},
    "idle": {"sizes": _SIZES, "workers": (1,), "steps": 500},
    "nexmark": {"mechanism": _EXCHANGING, "query": _QUERIES, "rate": (1e6, 4e6, 8e6), "duration": 3.0},
}
_LARGEST_QUANTUM_LOG2 = 28  # a quarter of a second: a coarser one would fall "behind" by itself

Command = TypeVar("Command", bound=Callable[..., Any])


def _many(name: str, kind: click.ParamType[Any], metavar: str, text: str) -> Callable[[Command], Command]:
    return click.option(name, multiple=True, type=kind, metavar=f"{metavar}...", help=text)


class _Rate(click.FloatRange):
    """A rate that is a number: NaN compares with nothing, so a plain range lets it through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        converted = super().convert(value, param, ctx)
        if math.isnan(converted):
            self.fail("nan is no number", param, ctx)
        return converted


_WORKERS: Final = click.IntRange(1, MAX_WORKERS)
_rate = _many("--rate", _Rate(0, MAX_RATE, min_open=True), "EVENTS_PER_S", "Offered over all workers.")
_workers = _many("--workers", _WORKERS, "N", "Worker processes.  [default: 1, and one per usable core]")
_duration = click.option(
    "--duration", type=_Rate(0, MAX_DURATION_S, min_open=True), metavar="S", help="Seconds of each point."
)
_quick = click.option("--quick", is_flag=True, help="Fewer points and shorter ones.")
_json = click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=PathOption(),
    help="Write the figures as JSON, and beside it, with the same stem, the table (.md) and the plot (.svg); "
    "- for JSON on standard output alone.",
)
_input = click.option(
    "--input",
    "input_folder",
    metavar="DIR",
    type=PathOption(),
    help="A folder staged by `tokenring stage`.  [default: just enough events, staged for this]",
)


def _mechanism(names: tuple[str, ...]) -> Callable[[Command], Command]:
    return _many("--mechanism", click.Choice(names), "NAME", f"How operators coordinate: {', '.join(names)}.")


def _defaults(name: str) -> str:
    """What is swept where the options do not say, in words."""

    def said(sweep: dict[str, Any]) -> str:
        parts = []
        for option, value in sweep.items():
            if option not in ("mechanism", "query", "sizes"):  # their options say it
                values = value if isinstance(value, tuple) else (value,)
                parts.append(f"{option.replace('_', '-')} {' '.join(f'{one:g}' for one in values)}")
        return ", ".join(parts)

    return f"Defaults: {said(_WHOLE[name])}; with --quick: {said(_QUICK[name])}."


@click.group()
def bench() -> None:
    """Repeat the paper's experiments. Leave the machine alone meanwhile.

    Options that end in "..." take several values: --workers 1 2. Every combination is a point, and each point runs in a
    fresh group. Exit status 1 if a point failed; one that falls a second behind is DNF, which is a result.

    \b
      tokenring bench all --quick --json quick.json
      tokenring bench wordcount --quantum-log2 8 13 --rate 1e6 --mechanism tokens notifications
    """


@bench.command(
    cls=ListCommand,
    short_help="Word count: latency by timestamp quantum, load and workers.",
    epilog=_defaults("wordcount"),
)
@_many("--quantum-log2", click.IntRange(0, _LARGEST_QUANTUM_LOG2), "LOG2_NS", "Times are multiples of 2^this ns.")
@_rate
@_workers
@_mechanism(MECHANISMS)
@_duration
@_quick
@_json
def wordcount(json_file: Path | None, quick: bool, **options: Any) -> int:
    """A rolling word count: latency by timestamp quantum, load and workers (the paper's figures 6 and 7)."""
    chosen = _chosen("wordcount", quick, options)
    return _conduct("wordcount", _wordcount_jobs(chosen), {"quick": quick, **chosen}, json_file)


@bench.command(
    cls=ListCommand, short_help="A tick of time through idle operators, by their number.", epilog=_defaults("chain")
)
@_many("--operators", click.IntRange(1, 100_000), "N", "Idle operators in the chain.")
@_workers
@_mechanism(MECHANISMS)
@_duration
@_quick
@_json
def chain(json_file: Path | None, quick: bool, **options: Any) -> int:
    """A tick of time through a chain of idle operators, by its length (the paper's figure 8)."""
    chosen = _chosen("chain", quick, options)
    return _conduct("chain", _chain_jobs(chosen), {"quick": quick, **chosen}, json_file)


@bench.command(
    cls=ListCommand, short_help="Many idle dataflows: a step, by their number and size.", epilog=_defaults("idle")
)
@_many("--dataflows", click.IntRange(1, 100_000), "N", "Dataflows in the group.  [default: 1000]")
@_many(
    "--operators",
    click.IntRange(1, 1_000_000),
    "N",
    "Operators in each.  [default: 10 100 1000, and 10,000 in 100 dataflows]",
)
@_many("--workers", _WORKERS, "N", "Worker processes.  [default: 1]")
@click.option("--steps", type=click.IntRange(1), metavar="N", help="Steps of each point.")
@_quick
@_json
def idle(
    json_file: Path | None, quick: bool, dataflows: tuple[int, ...], operators: tuple[int, ...], **options: Any
) -> int:
    """Many idle dataflows: one update, all inputs advanced, all probes confirmed (the article's experiment)."""
    chosen = _chosen("idle", quick, options)
    if dataflows or operators:
        chosen["sizes"] = tuple(itertools.product(dataflows or (1000,), operators or (10, 100, 1000)))
    return _conduct("idle", _idle_jobs(chosen), {"quick": quick, **chosen}, json_file)


@bench.command(cls=ListCommand, short_help="Q4 and Q7: latency by rate and workers.", epilog=_defaults("nexmark"))
@_input
@_many("--query", click.Choice(_QUERIES), "NAME", "q4, q7.")
@_rate
@_workers
@_mechanism(_EXCHANGING)
@_duration
@_quick
@_json
def nexmark(json_file: Path | None, quick: bool, input_folder: Path | None, **options: Any) -> int:
    """NEXMark Q4 and Q7: latency by rate, workers and mechanism (the paper's table)."""
    chosen = _chosen("nexmark", quick, options)
    with ExitStack() as stack:
        jobs = _nexmark_jobs(chosen, input_folder, stack)
        return _conduct("nexmark", jobs, {"quick": quick, **chosen}, json_file)


@bench.command("all", cls=ListCommand, short_help="Every experiment, with its defaults.")
@_input
@_workers
@_quick
@_json
def everything(json_file: Path | None, quick: bool, input_folder: Path | None, workers: tuple[int, ...]) -> int:
    """Every experiment with its own defaults; with --quick in less than ten minutes on two cores."""
    given = {"workers": workers}
    chosen = {name: _chosen(name, quick, given) for name in _QUICK}
    with ExitStack() as stack:
        queries = _nexmark_jobs(chosen["nexmark"], input_folder, stack)
        jobs = [*_wordcount_jobs(chosen["wordcount"]), *_chain_jobs(chosen["chain"]), *_idle_jobs(chosen["idle"])]
        return _conduct("all", [*jobs, *queries], {"quick": quick, **chosen}, json_file)


def _chosen(name: str, quick: bool, options: dict[str, Any]) -> dict[str, Any]:
    """The sweep of one experiment: what the options say, else its defaults."""
    from engine.config import usable_cores

    defaults = {"workers": tuple(sorted({1, len(usable_cores())})), **(_QUICK if quick else _WHOLE)[name]}
    return {option: options.get(option) or default for option, default in defaults.items()}


def _wordcount_jobs(chosen: dict[str, Any]) -> list[Job]:
    from nexmark.bench import wordcount

    sweep = (chosen[name] for name in ("quantum_log2", "rate", "workers", "mechanism", "duration"))
    return wordcount.jobs(*sweep)


def _chain_jobs(chosen: dict[str, Any]) -> list[Job]:
    from nexmark.bench import chain

    return chain.jobs(*(chosen[name] for name in ("operators", "workers", "mechanism", "duration")))


def _idle_jobs(chosen: dict[str, Any]) -> list[Job]:
    from nexmark.bench import idle

    return idle.jobs(chosen["sizes"], chosen["workers"], chosen["steps"])


def _nexmark_jobs(chosen: dict[str, Any], folder: Path | None, stack: ExitStack) -> list[Job]:
    """The jobs over the given events; else over some that are staged now, and gone when `stack` is left."""
    from nexmark.bench import queries

    stack.enter_context(at_work())
    staged = stack.enter_context(queries.staged_events(folder, chosen["rate"], chosen["duration"]))
    return queries.jobs(staged, *(chosen[name] for name in ("query", "rate", "workers", "mechanism", "duration")))


def _conduct(name: str, jobs: list[Job], parameters: dict[str, Any], json_file: Path | None) -> int:
    """Measure, print, write; whoever interrupts keeps what was measured, marked as incomplete."""
    from nexmark.bench.sweep import measure_all
    from nexmark.progress import progress_line

    if json_file not in (None, STANDARD_OUTPUT):
        if json_file.suffix in (".md", ".svg"):
            raise OptionError(f"--json {json_file}: .md and .svg are written beside it; name it .json")
        require_writable(json_file)
    rows: list[Row] = []
    with at_work():
        try:
            with progress_line(f"bench {name}") as progress:
                measure_all(jobs, rows, progress)
        finally:
            if rows:
                _publish(name, rows, len(rows) == len(jobs), parameters, json_file)
    failed = sum(row["error"] is not None for row in rows)
    if failed:
        click.echo(f"tokenring: {failed} of {len(rows)} points failed", err=True)
    return 1 if failed else 0


def _publish(name: str, rows: list[Row], complete: bool, parameters: dict[str, Any], json_file: Path | None) -> None:
    import orjson

    from nexmark.bench import publish
    from nexmark.bench.machine import machine
    from nexmark.bench.tables import render

    data = {
        "benchmark": f"bench-{name}",
        "complete": complete,
        "machine": machine(),
        "parameters": parameters,
        "rows": rows,
    }
    if json_file == STANDARD_OUTPUT:
        sys.stdout.buffer.write(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        sys.stdout.flush()
        return
    click.echo(render(data))
    if json_file is not None:
        publish.write(json_file, data)
