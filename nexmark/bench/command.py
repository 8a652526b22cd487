"""`tokenring bench`: a subcommand for each experiment, and `all`; options are sweeps, with defaults by size."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from tokenring.nexmark.bench.collections_command import collections
from tokenring.nexmark.bench.flow_command import flow
from tokenring.nexmark.bench.migration_command import migration
from tokenring.nexmark.bench.sweeps import (
    EXCHANGING,
    OPERATOR_KINDS,
    QUERIES,
    QUICK,
    SOURCES,
    ExperimentCommand,
    Number,
    chosen,
    said,
)
from tokenring.nexmark.commands import MAX_DURATION_S, MAX_RATE, MAX_WORKERS, MECHANISMS
from tokenring.tools.errors import OptionError
from tokenring.tools.system import STANDARD_OUTPUT, PathOption, at_work, json_option, write_json

if TYPE_CHECKING:
    from tokenring.nexmark.bench.sweeps import Job, Row

_LARGEST_QUANTUM_LOG2 = 28  # a quarter of a second: a coarser one would fall "behind" by itself

Command = TypeVar("Command", bound=Callable[..., Any])


def _many(name: str, kind: click.ParamType[Any], metavar: str, text: str) -> Callable[[Command], Command]:
    return click.option(name, multiple=True, type=kind, metavar=f"{metavar}...", help=text)


_WORKERS: Final = click.IntRange(1, MAX_WORKERS)
_rate = _many("--rate", Number(0, MAX_RATE, min_open=True), "EVENTS_PER_S", "Offered over all workers.")
_workers = _many(
    "--workers", _WORKERS, "N", "Worker processes.  [default: 1, and one per usable core within a cgroup's quota]"
)
_workers_and_more = _many(
    "--workers", _WORKERS, "N",
    "Worker processes.  [default: 1, one per usable core within a cgroup's quota, and twice as many]",
)
_duration = click.option(
    "--duration",
    type=Number(0, MAX_DURATION_S, min_open=True),
    metavar="S",
    help="Seconds of each point; where they do not tell whether it holds, up to four times as many.",
)
_quanta = _many(
    "--quantum-log2", click.IntRange(0, _LARGEST_QUANTUM_LOG2), "LOG2_NS", "Times are multiples of 2^this ns."
)
_source = _many(
    "--source", click.Choice(SOURCES), "NAME",
    "each-time: a message for each distinct time; batched: each mechanism's best.  [default: both; scaling: each-time]",
)  # fmt: skip
_quick = click.option("--quick", is_flag=True, help="Fewer points and shorter ones.")
_json = json_option("the figures", "Beside FILE stand, with the same stem, the table (.md) and the plot (.svg).")
_input = click.option(
    "--input",
    "input_folder",
    metavar="DIR",
    type=PathOption(),
    help="A folder staged by `tokenring stage`.  [default: just enough events, staged for this]",
)


def _mechanism(names: tuple[str, ...]) -> Callable[[Command], Command]:
    return _many("--mechanism", click.Choice(names), "NAME", f"How operators coordinate: {', '.join(names)}.")


@click.group()
def bench() -> None:
    """Repeat the paper's experiments. Leave the machine alone meanwhile.

    Options that end in "..." take several values: --workers 1 2. Every combination is a point, and each point runs in a
    fresh group. Exit status 1 if a point failed; one that falls behind is DNF, which is a result.

    \b
      tokenring bench all --quick --json quick.json
      tokenring bench wordcount --quantum-log2 8 13 --rate 1e6 --mechanism tokens notifications
    """


@bench.command(
    cls=ExperimentCommand,
    short_help="Word count: latency by timestamp quantum, load and workers.",
    epilog=said("wordcount"),
)
@_quanta
@_rate
@_workers
@_mechanism(MECHANISMS)
@_source
@_duration
@_quick
@_json
def wordcount(json_file: Path | None, quick: bool, **options: Any) -> int:
    """A rolling word count: latency by timestamp quantum, load and workers (the paper's figures 6 and 7)."""
    sweep = chosen("wordcount", quick, options)
    return _conduct("wordcount", _wordcount_jobs(sweep), {"quick": quick, **sweep}, json_file)


@bench.command(
    cls=ExperimentCommand, short_help="Word count, weak scaling: load grows with workers.", epilog=said("scaling")
)
@_quanta
@_many("--rate-per-worker", Number(0, MAX_RATE, min_open=True), "WORDS_PER_S", "Offered for each worker.")
@_workers_and_more
@_mechanism(MECHANISMS)
@_source
@_duration
@_quick
@_json
def scaling(json_file: Path | None, quick: bool, **options: Any) -> int:
    """Weak scaling: the word count with so many words a second for each worker (the paper's figure 7)."""
    sweep = chosen("scaling", quick, options)
    return _conduct("scaling", _scaling_jobs(sweep), {"quick": quick, **sweep}, json_file)


@bench.command(
    cls=ExperimentCommand, short_help="A tick of time through idle operators, by their number.", epilog=said("chain")
)
@_many("--operators", click.IntRange(1, 100_000), "N", "Idle operators in the chain.")
@_workers_and_more
@_mechanism(MECHANISMS)
@_duration
@_quick
@_json
def chain(json_file: Path | None, quick: bool, **options: Any) -> int:
    """A tick of time through a chain of idle operators, by its length (the paper's figure 8)."""
    sweep = chosen("chain", quick, options)
    return _conduct("chain", _chain_jobs(sweep), {"quick": quick, **sweep}, json_file)


@bench.command(
    cls=ExperimentCommand, short_help="Many idle dataflows: a step, by their number and size.", epilog=said("idle")
)
@_many("--dataflows", click.IntRange(1, 100_000), "N", "Dataflows in the group.  [default: 1000]")
@_many(
    "--operators",
    click.IntRange(1, 1_000_000),
    "N",
    "Operators in each.  [default: 10 100 1000, and 12,000 in 100 dataflows]",
)
@_many(
    "--operator-kind",
    click.Choice(OPERATOR_KINDS),
    "KIND",
    "real: stateful, each known to progress tracking; fused: filters in one function; always: real, and notified of "
    "every move of a frontier.  [default: real]",
)
@_many("--workers", _WORKERS, "N", "Worker processes.  [default: 1]")
@click.option("--steps", type=click.IntRange(1), metavar="N", help="Steps of each point.")
@_quick
@_json
def idle(
    json_file: Path | None, quick: bool, dataflows: tuple[int, ...], operators: tuple[int, ...], **options: Any
) -> int:
    """Many idle dataflows: one update, all inputs advanced, all probes confirmed (the article's experiment)."""
    sweep = chosen("idle", quick, options)
    if dataflows or operators:
        sweep["sizes"] = tuple(itertools.product(dataflows or (1000,), operators or (10, 100, 1000)))
    return _conduct("idle", _idle_jobs(sweep), {"quick": quick, **sweep}, json_file)


@bench.command(cls=ExperimentCommand, short_help="Q4 and Q7: latency by rate and workers.", epilog=said("nexmark"))
@_input
@_many("--query", click.Choice(QUERIES), "NAME", "q4, q7.")
@_rate
@_workers_and_more
@_mechanism(EXCHANGING)
@_source
@_duration
@_quick
@_json
def nexmark(json_file: Path | None, quick: bool, input_folder: Path | None, **options: Any) -> int:
    """NEXMark Q4 and Q7: latency by rate, workers and mechanism (the paper's table)."""
    sweep = chosen("nexmark", quick, options)
    with ExitStack() as stack:
        jobs = _nexmark_jobs(sweep, input_folder, stack)
        return _conduct("nexmark", jobs, {"quick": quick, **sweep}, json_file)


@bench.command("all", cls=ExperimentCommand, short_help="Every experiment, with its defaults.")
@_input
@_workers
@_quick
@_json
def everything(json_file: Path | None, quick: bool, input_folder: Path | None, workers: tuple[int, ...]) -> int:
    """Every experiment with its own defaults; with --quick in about ten minutes on two cores."""
    given = {"workers": workers}
    sweeps = {name: chosen(name, quick, given) for name in QUICK}
    with ExitStack() as stack:
        queries = _nexmark_jobs(sweeps["nexmark"], input_folder, stack)
        jobs = [
            *_wordcount_jobs(sweeps["wordcount"]),
            *_scaling_jobs(sweeps["scaling"]),
            *_chain_jobs(sweeps["chain"]),
            *_idle_jobs(sweeps["idle"]),
        ]
        return _conduct("all", [*jobs, *queries], {"quick": quick, **sweeps}, json_file)


bench.add_command(collections)
bench.add_command(migration)
bench.add_command(flow)


def _wordcount_jobs(sweep: dict[str, Any]) -> list[Job]:
    from tokenring.nexmark.bench.experiments import wordcount_jobs

    names = ("quantum_log2", "rate", "workers", "mechanism", "source", "duration")
    return wordcount_jobs(*(sweep[name] for name in names))


def _scaling_jobs(sweep: dict[str, Any]) -> list[Job]:
    from tokenring.nexmark.bench.experiments import scaling_jobs

    names = ("quantum_log2", "rate_per_worker", "workers", "mechanism", "source", "duration")
    return scaling_jobs(*(sweep[name] for name in names))


def _chain_jobs(sweep: dict[str, Any]) -> list[Job]:
    from tokenring.nexmark.bench.experiments import chain_jobs

    return chain_jobs(*(sweep[name] for name in ("operators", "workers", "mechanism", "duration")))


def _idle_jobs(sweep: dict[str, Any]) -> list[Job]:
    from tokenring.nexmark.bench.experiments import idle_jobs

    return idle_jobs(sweep["sizes"], sweep["operator_kind"], sweep["workers"], sweep["steps"])


def _nexmark_jobs(sweep: dict[str, Any], folder: Path | None, stack: ExitStack) -> list[Job]:
    """The jobs over the given events; else over some that are staged now, and gone when `stack` is left."""
    from tokenring.nexmark.bench.experiments import query_jobs, staged_events

    stack.enter_context(at_work())
    staged = stack.enter_context(staged_events(folder, sweep["rate"], sweep["duration"]))
    names = ("query", "rate", "workers", "mechanism", "source", "duration")
    return query_jobs(staged, *(sweep[name] for name in names))


def _conduct(name: str, jobs: list[Job], parameters: dict[str, Any], json_file: Path | None) -> int:
    """Measure, print, write; whoever interrupts keeps what was measured, marked as incomplete."""
    from tokenring.nexmark.bench.sweeps import measure_all
    from tokenring.tools.system import progress_line

    if json_file is not None and json_file.suffix in (".md", ".svg"):
        raise OptionError(f"--json {json_file}: .md and .svg are written beside it; name it .json")
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
    from tokenring.nexmark.bench.rendering import machine, publish, render

    measured = {"complete": complete, "machine": machine(), "parameters": parameters, "rows": rows}
    data = {"benchmark": f"bench-{name}", **measured}
    if json_file == STANDARD_OUTPUT:
        write_json(json_file, data)
        return
    click.echo(render(data))
    if json_file is not None:
        publish(json_file, data)
