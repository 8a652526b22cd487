"""`tokenring run`: checks the options, runs the query, verifies it if asked, writes and prints the outcome."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any

import click

from nexmark.errors import CommandError, InputError, OptionError
from nexmark.files import replace, replace_by
from nexmark.signals import ending_signals_raise

MAX_RATE = 1e12
MAX_DURATION_S = 1e6
MAX_WORKERS = 512
MAX_MICRO_BATCH_MS = 1e9
# As operators.mechanisms has them; named here too, since importing it costs every command a second.
MECHANISMS = ("tokens", "notifications", "watermarks-X", "watermarks-P", "sequential")


class RunError(CommandError):
    """A run that did not complete; the text says which worker or operator failed, and how."""


def run_options(command: Any) -> Any:
    """The options that say what to run; shared with `tokenring profile`."""
    options = [
        click.argument("query", type=click.Choice(["q4", "q7"])),
        click.option("--input", "input_folder", required=True, metavar="DIR", type=click.Path(path_type=Path),
                     help="A folder staged by `tokenring stage`."),
        click.option("--workers", type=click.IntRange(1, MAX_WORKERS), metavar="N",
                     help="Worker processes.  [default: one per usable core]"),
        click.option("--rate", type=click.FloatRange(0, MAX_RATE, min_open=True), metavar="EVENTS_PER_S",
                     help="Open loop: offer so many events a second, each due at its instant.  [default: closed loop]"),
        click.option("--duration", type=click.FloatRange(0, MAX_DURATION_S, min_open=True), metavar="S",
                     help="Length of an open loop in seconds.  [default: until the events end]"),
        click.option("--mechanism", type=click.Choice(MECHANISMS), default="tokens", show_default=True,
                     help="How operators coordinate: docs/mechanisms.md."),
        click.option("--micro-batch", type=click.FloatRange(0, MAX_MICRO_BATCH_MS, min_open=True), metavar="MS",
                     help="Event time that sequential lets in at once.  [default: 1]"),
        click.option("--events", type=click.IntRange(1), metavar="N", help="Use only the first N staged events."),
        click.option("--batch", type=click.IntRange(1), metavar="EVENTS",
                     help="Events a worker takes in turn, and the most in one batch.  "
                     "[default: 16384; in an open loop 1 ms of events]"),
        click.option("--queue-kib", type=click.IntRange(4, 1 << 21), metavar="KIB",
                     help="Size of each pair's data queue, a power of two.  [default: 2048, less for many workers]"),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def plan_from(**options: Any) -> Any:
    """The plan that the options of `run_options` describe; OptionError if they do not go together."""
    from nexmark.runner import Plan

    for name in ("rate", "duration", "micro_batch"):
        if options[name] is not None and math.isnan(options[name]):  # compares with nothing, so click lets it through
            raise OptionError(f"--{name.replace('_', '-')} is nan; give a number")
    if options["duration"] is not None and options["rate"] is None:
        raise OptionError("--duration is for an open loop; give --rate with it")
    if options["micro_batch"] is not None and options["mechanism"] != "sequential":
        raise OptionError(f"--micro-batch is for --mechanism sequential, not {options['mechanism']}")
    kib = options["queue_kib"] or 0
    if kib & (kib - 1):
        raise OptionError(f"--queue-kib is {kib}; it must be a power of two")
    return Plan(
        query=options["query"],
        input_folder=os.fspath(options["input_folder"]),
        workers=options["workers"] or 0,
        mechanism=options["mechanism"],
        rate=options["rate"],
        duration_s=options["duration"],
        events=options["events"],
        block=options["batch"] or 0,
        micro_batch_ns=max(1, int((options["micro_batch"] or 1) * 1e6)),
        queue_bytes=kib * 1024,
        checks=options.get("checks", ""),
    )


@click.command()
@run_options
@click.option(
    "--json", "json_file", metavar="FILE", help="Write the outcome as one JSON object; - for standard output."
)
@click.option(
    "--out", "out_file", metavar="FILE.parquet", type=click.Path(path_type=Path), help="Write the result's rows."
)
@click.option("--verify", is_flag=True, help="Compare the result with Spark SQL's over the same events.")
@click.option(
    "--checks",
    type=click.Choice(["normal", "exhaustive"]),
    default=None,
    help="exhaustive: doubt every step of the progress protocol; many times slower.  "
    "[default: $TOKENRING_CHECKS, else normal]",
)
def run(json_file: str | None, out_file: Path | None, verify: bool, checks: str | None, **options: Any) -> int:
    """Answer QUERY over staged events on all cores.

    Without --rate as fast as it goes; with it, each event is due at its scheduled instant whatever the engine does, and
    latency is measured from that instant until the probe passes the event (the first second is left out). A run that
    falls one second behind is DNF. Exit status 0 only if the run completed, and was right where --verify asks.
    """
    plan = plan_from(**options, checks=checks or "")
    for target in (json_file, out_file):
        if target is not None and target != "-" and not Path(target).resolve().parent.is_dir():
            raise OptionError(f"{target}: its folder does not exist; make it first")
    with ending_signals_raise():
        outcome = execute_plan(plan)
        if verify:
            _verify(plan, outcome)
    if out_file is not None:
        _write_parquet(out_file, outcome)
    if json_file is not None:
        _write_json(json_file, outcome)
    if json_file != "-":
        _print(plan, outcome)
    return 0 if not outcome["dnf"] and outcome["verified"] is not False else 1


def execute_plan(plan: Any, on_start: Any = None) -> dict[str, Any]:
    """Run a plan with a progress bar; the engine's errors become one line each."""
    from engine import ConfigError, SegmentError, TokenRingError
    from engine.errors import SharedMemoryError
    from nexmark.progress import progress_line
    from nexmark.runner import run_query

    try:
        with progress_line(f"{plan.query}") as progress:
            return run_query(plan, on_progress=progress, on_start=on_start)
    except (ConfigError, SegmentError) as error:
        raise InputError(str(error)) from error
    except (TokenRingError, SharedMemoryError) as error:
        notes = "\n".join(getattr(error, "__notes__", ()))
        if notes and os.environ.get("TOKENRING_TRACEBACK"):
            click.echo(notes, err=True)
        raise RunError(f"{error} (set TOKENRING_TRACEBACK=1 for the traceback)" if notes else str(error)) from error


def _verify(plan: Any, outcome: dict[str, Any]) -> None:
    from nexmark.oracle import compare, oracle

    if outcome["dnf"]:
        outcome["verified"] = False
        click.echo("tokenring: not verified: the run did not finish", err=True)
        return
    differences = compare(outcome["result"], oracle(plan.query, plan.input_folder, events=outcome["events"]))
    outcome["verified"] = not differences
    for difference in differences[:5]:
        click.echo(f"tokenring: differs from Spark SQL: {difference}", err=True)


def _write_parquet(path: Path, outcome: dict[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from nexmark.queries import QUERIES

    columns = QUERIES[outcome["query"]].columns
    table = pa.table({name: pa.array([row[name] for row in outcome["result"]], pa.int64()) for name in columns})
    replace_by(path, lambda temporary: pq.write_table(table, temporary))


def _write_json(target: str, outcome: dict[str, Any]) -> None:
    import orjson

    data = orjson.dumps(outcome, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if target == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        replace(Path(target), data)


def _print(plan: Any, outcome: dict[str, Any]) -> None:
    from rich.console import Console

    from nexmark.report import print_report

    print_report(outcome, Console(width=None if sys.stdout.isatty() else 120))
    if plan.duration_s is not None and outcome["planned_events"] < int(plan.rate * plan.duration_s):
        seconds = outcome["planned_events"] / plan.rate
        click.echo(
            f"tokenring: the events ended after {seconds:.2f} s of the {plan.duration_s:g} s asked for; stage more",
            err=True,
        )
