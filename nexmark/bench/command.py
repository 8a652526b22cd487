"""`tokenring bench`: a subcommand for each experiment, and `all`; options are sweeps, with defaults by size."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tokenring.nexmark.bench.experiments import SOURCES
from tokenring.nexmark.bench.parts import ExperimentCommand, option, with_options
from tokenring.nexmark.bench.sizes import (
    EXCHANGING,
    MOVING,
    OPERATOR_KINDS,
    PAPER,
    PLANS,
    QUERIES,
    WORKLOADS,
    chosen,
    said,
)
from tokenring.nexmark.commands import MAX_DURATION_S, MAX_RATE, MAX_WORKERS, MECHANISMS
from tokenring.tools.errors import OptionError
from tokenring.tools.system import Number, PathOption, at_work, json_option

if TYPE_CHECKING:
    from tokenring.nexmark.bench.parts import Row

_LARGEST_QUANTUM_LOG2 = 28  # a quarter of a second: a coarser one would fall "behind" by itself

_WORKERS: Final = click.IntRange(1, MAX_WORKERS)
_RATE: Final = Number(0, MAX_RATE, min_open=True)
_rate = option("--rate EVENTS_PER_S...", _RATE, "Offered over all workers.")
_cores = "Worker processes.  [default: 1, and one per usable core within a cgroup's quota]"
_workers = option("--workers N...", _WORKERS, _cores)
_workers_and_more = option("--workers N...", _WORKERS, _cores.replace("]", ", and twice as many]"))
_duration = option(
    "--duration S",
    Number(0, MAX_DURATION_S, min_open=True),
    "Seconds of each point; where they do not tell whether it holds, up to four times as many.",
)
_quanta = option(
    "--quantum-log2 LOG2_NS...", click.IntRange(0, _LARGEST_QUANTUM_LOG2), "Times are multiples of 2^this ns."
)
_source = option(
    "--source NAME...", click.Choice(SOURCES),
    "each-time: a message for each distinct time; batched: each mechanism's best.  [default: both; scaling: each-time]",
)  # fmt: skip
_input = option(
    "--input DIR", PathOption(),
    "A folder staged by `tokenring stage`.  [default: just enough events, staged for this]", to="folder",
)  # fmt: skip
_quick = option("--quick", None, "Fewer points, smaller and shorter ones.", is_flag=True)
_json = json_option("the figures", "Beside FILE stand, with the same stem, the table (.md) and the plot (.svg).")


def _mechanism(names: tuple[str, ...]) -> Callable[..., Any]:
    return option("--mechanism NAME...", click.Choice(names), f"How operators coordinate: {', '.join(names)}.")


@click.group()
def bench() -> None:
    """Repeat the paper's experiments. Leave the machine alone meanwhile.

    Options that end in "..." take several values: --workers 1 2. Every combination is a point, and each point runs in a
    fresh group. Exit status 1 if a point failed; one that falls behind is DNF, which is a result.

    \b
      tokenring bench all --quick --json quick.json
      tokenring bench wordcount --quantum-log2 8 13 --rate 1e6 --mechanism tokens notifications
    """


def _experiment(name: str, short: str, text: str, *options: Callable[..., Any], more: str = "") -> None:
    """Add the command of one experiment. text: its help, short: in a line; more: said before its defaults."""

    def run(json_file: Path | None, quick: bool, folder: Path | None = None, **asked: Any) -> int:
        return _conduct(name, {name: chosen(name, quick, asked)}, quick, folder, json_file)

    run.__doc__ = text
    command = bench.command(name, cls=ExperimentCommand, short_help=short, epilog=f"{more}{said(name)}")
    command(with_options(run, (*options, _quick, _json)))


def _plans_that_there_are(_context: click.Context, _option: click.Parameter, plans: tuple[str, ...]) -> tuple[str, ...]:
    """The same; OptionError if there is none of one of them."""
    from tokenring.engine import UsageError
    from tokenring.operators.migrate import require_plan

    try:
        for plan in set(plans) - {"none"}:
            require_plan(plan)
    except UsageError as error:
        raise OptionError(f"--plan: {error}") from None
    return plans


_experiment(
    "wordcount",
    "Word count: latency by timestamp quantum, load and workers.",
    "A rolling word count: latency by timestamp quantum, load and workers (the paper's figures 6 and 7).",
    _quanta, _rate, _workers, _mechanism(MECHANISMS), _source, _duration,
)  # fmt: skip
_experiment(
    "scaling",
    "Word count, weak scaling: load grows with workers.",
    "Weak scaling: the word count with so many words a second for each worker (the paper's figure 7).",
    _quanta, option("--rate-per-worker WORDS_PER_S...", _RATE, "Offered for each worker."), _workers_and_more,
    _mechanism(MECHANISMS), _source, _duration,
)  # fmt: skip
_experiment(
    "chain",
    "A tick of time through idle operators, by their number.",
    "A tick of time through a chain of idle operators, by its length (the paper's figure 8).",
    option("--operators N...", click.IntRange(1, 100_000), "Idle operators in the chain."), _workers_and_more,
    _mechanism(MECHANISMS), _duration,
)  # fmt: skip


@bench.command(
    cls=ExperimentCommand, short_help="Many idle dataflows: a step, by their number and size.", epilog=said("idle")
)
@option("--dataflows N...", click.IntRange(1, 100_000), "Dataflows in the group.  [default: 1000]")
@option(
    "--operators N...", click.IntRange(1, 1_000_000),
    "Operators in each.  [default: 10 100 1000, and 12,000 in 100 dataflows]",
)  # fmt: skip
@option(
    "--operator-kind KIND...", click.Choice(OPERATOR_KINDS),
    "real: stateful, each known to progress tracking; fused: filters in one function; always: real, and notified of "
    "every move of a frontier.  [default: real]",
)  # fmt: skip
@option("--workers N...", _WORKERS, "Worker processes.  [default: 1]")
@option("--steps N", click.IntRange(1), "Steps of each point.")
@_quick
@_json
def idle(
    json_file: Path | None, quick: bool, dataflows: tuple[int, ...], operators: tuple[int, ...], **asked: Any
) -> int:
    """Many idle dataflows: one update, all inputs advanced, all probes confirmed (the article's experiment)."""
    sweep = chosen("idle", quick, asked)
    if dataflows or operators:
        sweep["sizes"] = tuple(itertools.product(dataflows or (1000,), operators or (10, 100, 1000)))
    return _conduct("idle", {"idle": sweep}, quick, None, json_file)


_experiment(
    "nexmark",
    "Q4 and Q7: latency by rate and workers.",
    "NEXMark Q4 and Q7: latency by rate, workers and mechanism (the paper's table).",
    _input, option("--query NAME...", click.Choice(QUERIES), "q4, q7."), _rate, _workers_and_more,
    _mechanism(EXCHANGING), _source, _duration,
)  # fmt: skip


@bench.command("all", cls=ExperimentCommand, short_help="Every experiment, with its defaults.")
@_input
@_workers
@_quick
@_json
def everything(json_file: Path | None, quick: bool, folder: Path | None, workers: tuple[int, ...]) -> int:
    """Every experiment of the paper with its own defaults; with --quick in about ten minutes on two cores."""
    sweeps = {name: chosen(name, quick, {"workers": workers}) for name in PAPER}
    return _conduct("all", sweeps, quick, folder, json_file)


_experiment(
    "collections",
    "Views kept up to date: changes a second and latency, by the size of epochs.",
    """Load records, then change them: each epoch is sent when the one before it is done (a closed loop).

    Rows: {workload, workers, epoch_rows, changes_per_second, p50_ms, p99_ms, load_s, rss_mb}, one for each size of
    epochs. Sizes are those of --scale 1: arrange, 10 M records; count, min and each side of join, 1 M; bfs and
    components, 1 M nodes and 5 M edges; strong, 100 k and 200 k; page rank, 10 k and 50 k. Keys and values are uniform
    at random. A change adds a record or takes the oldest one away; of a graph, an epoch replaces an edge. import: 10 M
    records that are arranged, looked up, and asked by dataflows that are declared later; interactive: 2,000 questions
    a second about a graph of 1 M nodes and 5 M edges, an open loop, over shared indexes and over each question's own.
    """,
    option("--workload NAME...", click.Choice(WORKLOADS), "[default: all]"), _workers,
    option("--scale X", Number(0, 100, min_open=True), "Times the records of each workload."),
    option("--seconds S", Number(0, 3600, min_open=True), "Of each size of epochs."),
    more=f"Workloads: {'; '.join(WORKLOADS)}. ",
)  # fmt: skip
_experiment(
    "migration",
    "State that moves between workers meanwhile: latency by plan.",
    """Offer an open loop; after some seconds move half of the bins to other workers, and later back.

    Rows: {workload, keys_log2, bins_log2, workers, plan, rate, rows_moved, bytes_moved, memory_before_mb,
    memory_moving_mb, away, back, timeline}, one a run. away and back: {seconds, before_p999_ms, during_p999_ms, spike,
    above_s}: how long it took, the latency of the second before and of the second (or the whole) of the move, their
    ratio, and for how long it was more than twice what it was before.
    """,
    option("--workload NAME...", click.Choice(MOVING), "[default: all]"),
    option("--plan PLAN...", str, f"[default: {' '.join(PLANS)}]", callback=_plans_that_there_are),
    option("--keys-log2 K...", click.IntRange(4, 26), "How many keys key-count has."),
    option("--bins-log2 K...", click.IntRange(0, 16), "How many bins."),
    option("--workers N...", click.IntRange(2, MAX_WORKERS), "Worker processes."),
    option("--rate EVENTS_PER_S", _RATE, "Offered over all workers."),
    option("--seconds S", Number(0, 60, min_open=True), "Before each move."),
    _input,
    more=f"Workloads: {'; '.join(MOVING)}. Plans: {'; '.join(PLANS)}, batched:N. ",
)  # fmt: skip
_experiment(
    "flow",
    "Regions whose content is bounded: memory saved, time lost.",
    """A region that makes 10,000 rows of each, bounded and not; and dataflows in which nothing is to be held back.

    Rows: {case: multiplied, bound, workers, rows_made, seconds, rows_per_s, peak_mb}, one a run: peak_mb is the most
    anonymous memory above the start, of all workers; and {case, workers, rounds, without_s, with_s, ratio, ratios}:
    a count of words, Q4 and Q7; with --quick queries only over events that are given.
    """,
    option("--rounds N", click.IntRange(1), "With the bound and without."),
    option("--workers N...", _WORKERS, "Where rows multiply; the most of them elsewhere."),
    _input,
)  # fmt: skip


def _conduct(
    name: str, sweeps: dict[str, dict[str, Any]], quick: bool, folder: Path | None, json_file: Path | None
) -> int:
    """Measure, print, write; whoever interrupts keeps what was measured, marked as incomplete."""
    from tokenring.nexmark.bench.experiments import staged_events
    from tokenring.nexmark.bench.figures import EXPERIMENTS, publish
    from tokenring.nexmark.bench.parts import measure_all
    from tokenring.tools.system import progress_line

    if json_file is not None and json_file.suffix in (".md", ".svg"):
        raise OptionError(f"--json {json_file}: .md and .svg are written beside it; name it .json")
    rows: list[Row] = []
    jobs = []
    with at_work(), ExitStack() as stack:
        for one, sweep in sweeps.items():
            experiment = EXPERIMENTS[one]
            asked = {**sweep, "quick": quick, "folder": folder}
            needed = experiment.events(asked)
            if needed is not None:
                asked["folder"] = stack.enter_context(staged_events(folder, *needed))
            jobs += [(experiment, point, asked) for point in experiment.points(asked)]
        done = 0
        try:
            with progress_line(f"bench {name}") as progress:
                for measured in measure_all(jobs, progress):
                    rows += measured
                    done += 1
        finally:
            if rows:
                parameters = {"quick": quick, **sweeps.get(name, sweeps)}
                publish(name, rows, done == len(jobs), parameters, json_file)
    failed = sum(row["error"] is not None for row in rows)
    if failed:
        click.echo(f"tokenring: {failed} of {len(rows)} points failed", err=True)
    return 1 if failed else 0
