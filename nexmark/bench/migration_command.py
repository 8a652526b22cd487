"""`tokenring bench migration`: keyed state that moves between workers while the stream goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokenring.nexmark.bench.sweeps import ExperimentCommand, Number
from tokenring.nexmark.commands import MAX_WORKERS
from tokenring.tools.extras import require_extra
from tokenring.tools.system import STANDARD_OUTPUT, PathOption, at_work, json_option

if TYPE_CHECKING:
    from tokenring.nexmark.bench.sweeps import Row

KEY_COUNT = "key-count"
NAMES = (KEY_COUNT, "q3", "q4", "q5", "q6", "q7", "q8")
PLANS = ("none", "all_at_once", "batched:16", "fluid", "optimized")
_STAGED_S = 20.0


@click.command(
    cls=ExperimentCommand,
    short_help="State that moves between workers meanwhile: latency by plan.",
    epilog=f"Workloads: {'; '.join(NAMES)}. Plans: {'; '.join(PLANS)}, batched:N.",
)
@click.option(
    "--workload", "workloads", multiple=True, type=click.Choice(NAMES), metavar="NAME...", help="[default: all]"
)
@click.option("--plan", "plans", multiple=True, metavar="PLAN...", help=f"[default: {' '.join(PLANS)}]")
@click.option("--keys-log2", multiple=True, type=click.IntRange(4, 26), metavar="K...", help="[default: 20]")
@click.option("--bins-log2", multiple=True, type=click.IntRange(0, 16), metavar="K...", help="[default: 8]")
@click.option(
    "--workers", multiple=True, type=click.IntRange(2, MAX_WORKERS), metavar="N...", help="[default: 2]"
)  # fmt: skip
@click.option(
    "--rate", type=Number(0, 1e12, min_open=True), metavar="EVENTS_PER_S", help="[default: 1e6]"
)
@click.option(
    "--seconds", type=Number(0, 60, min_open=True), metavar="S", help="Before each move.  [default: 2.5]"
)
@click.option("--input", "folder", type=PathOption(), metavar="DIR",
              help="Staged events for queries.  [default: some are staged now, and gone afterwards]")  # fmt: skip
@click.option("--quick", is_flag=True, help="Small: to see that all works.")
@json_option("the figures", "Beside FILE stand the timelines, as SVG.")
def migration(
    workloads: tuple[str, ...],
    plans: tuple[str, ...],
    keys_log2: tuple[int, ...],
    bins_log2: tuple[int, ...],
    workers: tuple[int, ...],
    rate: float | None,
    seconds: float | None,
    folder: Path | None,
    quick: bool,
    json_file: Path | None,
) -> int:
    """Offer an open loop; after some seconds move half of the bins to other workers, and later back.

    Rows: {workload, keys_log2, bins_log2, workers, plan, rate, rows_moved, bytes_moved, memory_before_mb,
    memory_moving_mb, away, back, timeline}, one a run. away and back: {seconds, before_p999_ms, during_p999_ms, spike,
    above_s}: how long it took, the latency of the second before and of the second (or the whole) of the move, their
    ratio, and for how long it was more than twice what it was before.
    """
    parameters: dict[str, Any] = {
        "workload": workloads or ((KEY_COUNT,) if quick else NAMES),
        "plan": plans or (("all_at_once", "fluid") if quick else PLANS),
        "keys_log2": keys_log2 or ((12,) if quick else (20,)),
        "bins_log2": bins_log2 or ((4,) if quick else (8,)),
        "workers": workers or (2,),
        "rate": rate or (1e5 if quick else 1e6),
        "seconds": seconds or (0.3 if quick else 2.5),
    }
    if json_file not in (None, STANDARD_OUTPUT):
        require_extra("bench", "--json, which draws timelines,", "matplotlib")
    rows: list[Row] = []
    points = list(_points(parameters))
    with at_work(), ExitStack() as stack:
        if folder is None and any(point["workload"] != KEY_COUNT for point in points):
            from tokenring.nexmark.bench.experiments import staged_events

            folder = Path(stack.enter_context(staged_events(None, (parameters["rate"],), _STAGED_S)))
        try:
            for number, point in enumerate(points, 1):
                said = ", ".join([f"{name} {value}" for name, value in point.items() if value is not None])
                click.echo(f"bench migration: {number} of {len(points)}: {said}", err=True)
                rows.append(measure(point, folder, parameters["seconds"]))
        finally:
            if rows:
                _publish(rows, len(rows) == len(points), parameters, json_file)
    return 1 if any(row["error"] for row in rows) else 0


def _points(parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for workload in parameters["workload"]:
        for keys in parameters["keys_log2"] if workload == KEY_COUNT else (None,):
            for bins in parameters["bins_log2"]:
                for workers in parameters["workers"]:
                    for plan in parameters["plan"]:
                        yield {
                            "workload": workload, "keys_log2": keys, "bins_log2": bins, "workers": workers,
                            "plan": plan, "rate": parameters["rate"],
                        }  # fmt: skip


def measure(point: dict[str, Any], folder: Path | None, quiet_s: float) -> Row:
    """One run's row; whatever it ends by, those of others are worth keeping."""
    from tokenring.nexmark.bench.migration import measured_key_count, measured_query

    try:
        is_keys = point["workload"] == KEY_COUNT
        row = measured_key_count(point, quiet_s) if is_keys else measured_query(point, str(folder), quiet_s)
        return row | {"error": None}
    except Exception as error:
        return point | {"error": f"{type(error).__name__}: {error}"}


def _publish(rows: list[Row], complete: bool, parameters: dict[str, Any], json_file: Path | None) -> None:
    from tokenring.nexmark.bench.migration import draw_timelines, render
    from tokenring.nexmark.bench.rendering import say

    say("bench-migration", rows, complete, parameters, json_file, render, draw_timelines)
