"""`tokenring run`: checks the options, runs a query or all of them, verifies, writes and prints the outcome."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from tokenring.tools.commands import first_argument, run_program
from tokenring.tools.errors import OptionError
from tokenring.tools.programs import is_named
from tokenring.tools.system import (
    STANDARD_OUTPUT,
    Number,
    PathOption,
    at_work,
    is_special,
    json_option,
    memory_option,
    require_writable,
    verbose_option,
    write_json,
)

MAX_RATE = 1e12
MAX_DURATION_S = 1e6
MAX_WORKERS = 512
MAX_MICRO_BATCH_MS = 1e9
ALL_RATE = 1e6
ALL_DURATION_S = 3.0
_SHOWN = 5
# As tokenring.operators.mechanisms and tokenring.nexmark.queries have them; named here too, since importing those
# costs every command a second.
MECHANISMS = ("tokens", "notifications", "watermarks-X", "watermarks-P", "sequential")
QUERIES = (
    "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8",
    "q9", "q10", "q11", "q12", "q13", "q14", "q15", "q16", "q17", "q18", "q19", "q20", "q21", "q22",
)  # fmt: skip
ALL = "all"
# Options that mean nothing to Spark.
_OURS = ("workers", "rate", "duration", "mechanism", "micro_batch", "batch", "queue_kib", "memory", "bins", "checks")


def _looked_at(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """A path, as the text it is: Spark takes addresses for one."""
    PathOption()(value, param, ctx)
    return value


def run_options(command: Any, queries: tuple[str, ...] = QUERIES) -> Any:
    """The options that say what to run; shared with `tokenring profile`."""
    options = [
        click.argument("query", type=click.Choice(queries)),
        click.option("--input", "input_folder", required=True, metavar="DIR", callback=_looked_at,
                     help="A folder staged by `tokenring stage`."),
        click.option("--workers", type=click.IntRange(0, MAX_WORKERS), metavar="N",
                     help="Worker processes; 0, as if none is said: one per usable core, within a cgroup's quota."),
        click.option("--rate", type=Number(0, MAX_RATE, min_open=True), metavar="EVENTS_PER_S",
                     help="Open loop: offer so many events a second, each due at its instant.  [default: closed loop]"),
        click.option("--duration", type=Number(0, MAX_DURATION_S, min_open=True), metavar="S",
                     help="Length of an open loop in seconds.  [default: until the events end]"),
        click.option("--mechanism", type=click.Choice(MECHANISMS), default="tokens", show_default=True,
                     help="How operators coordinate: by tokens, or as Naiad, Flink and Spark do."),
        click.option("--micro-batch", type=Number(0, MAX_MICRO_BATCH_MS, min_open=True), metavar="MS",
                     help="Event time that sequential lets in at once.  [default: 1]"),
        click.option("--events", type=click.IntRange(1), metavar="N", help="Use only the first N staged events."),
        click.option("--batch", type=click.IntRange(1, 1 << 40), metavar="EVENTS",
                     help="Events a worker takes in turn, and the most in one batch.  "
                     "[default: as many as 16384 rows that the query reads; in an open loop 1 ms of events]"),
        click.option("--queue-kib", type=click.IntRange(4, 1 << 21), metavar="KIB",
                     help="Size of each pair's data queue, a power of two.  [default: 2048, less for many workers]"),
        memory_option,
        click.option("--bins", type=click.IntRange(1, 1 << 16), metavar="N",
                     help="Keep state by key in N bins, a power of two, which can be moved between workers."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def plan_from(**options: Any) -> Any:
    """The plan that the options of `run_options` describe; OptionError if they do not go together."""
    from tokenring.nexmark.run import Plan

    if options["duration"] is not None and options["rate"] is None:
        raise OptionError("--duration is for an open loop; give --rate with it")
    if options["micro_batch"] is not None and options["mechanism"] != "sequential":
        raise OptionError(f"--micro-batch is for --mechanism sequential, not {options['mechanism']}")
    bins = options.get("bins") or 0
    if bins & (bins - 1):
        raise OptionError(f"--bins is {bins}; it must be a power of two")
    if bins and options["mechanism"] != "tokens":
        raise OptionError(f"--bins is for --mechanism tokens, not {options['mechanism']}: state moves among tokens")
    kib = options["queue_kib"] or 0
    if kib & (kib - 1):
        raise OptionError(f"--queue-kib is {kib}; it must be a power of two")
    return Plan(
        query=options["query"],
        input_folder=options["input_folder"],
        workers=options["workers"] or 0,
        mechanism=options["mechanism"],
        rate=options["rate"],
        duration_s=options["duration"],
        events=options["events"],
        block=options["batch"] or 0,
        micro_batch_ns=max(1, int((options["micro_batch"] or 1) * 1e6)),
        bins=bins,
        queue_bytes=kib * 1024,
        memory_bytes=options["memory"] or 0,
        checks=options.get("checks", ""),
    )


class QueryOrProgram(click.Command):
    """A command that becomes `run_program` where a function of somebody's own is named."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        what = first_argument(args, self, run_program)
        if is_named(what):
            return run_program.make_context(info_name, args, parent, **extra)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.BadParameter as error:
            if not isinstance(error.param, click.Argument):
                raise
            said = f"{what!r} is no query" if what else "what to run is missing"
            cure = f"name one of {', '.join(QUERIES)} or all, or a function of your own as my_program.py:FUNCTION"
            raise click.UsageError(f"{said}; {cure}", error.ctx) from None


@click.command(cls=QueryOrProgram)
@partial(run_options, queries=(*QUERIES, ALL))
@json_option("the outcome")
@click.option(
    "--out", "out_file", metavar="FILE", type=PathOption(),
    help="Write the result's rows: as FILE.parquet, FILE.arrow or FILE.jsonl.",
)  # fmt: skip
@click.option("--verify", is_flag=True, help="Compare the result with Spark SQL's over the same events.")
@click.option(
    "--checks",
    type=click.Choice(["normal", "exhaustive"]),
    default=None,
    help="exhaustive: doubt every step of the progress protocol; many times slower.  "
    "[default: $TOKENRING_CHECKS, else normal]",
)
@click.option(
    "--engine",
    type=click.Choice(["tokenring", "spark"]),
    default="tokenring",
    show_default=True,
    help="spark: the same query by Spark SQL, for events beyond one machine.",
)
@click.option("--master", metavar="URL", help="Spark's master, for --engine spark.  [default: local[*]]")
@click.option("--streaming", is_flag=True, help="Spark's Structured Streaming instead of a batch, for --engine spark.")
@verbose_option
def run(
    json_file: Path | None,
    out_file: Path | None,
    verify: bool,
    checks: str | None,
    engine: str,
    master: str | None,
    streaming: bool,
    **options: Any,
) -> int:
    """Answer QUERY over staged events on all cores. (A function of your own: `tokenring run my_program.py:FUNCTION`.)

    Without --rate as fast as it goes; with it, each event is due at its scheduled instant whatever the engine does, and
    latency is measured from that instant until the probe passes the event (the first second is left out). A run is DNF
    if it falls behind: a second late, or ever later, so that it would be within five minutes. Exit status 0 only if the
    run completed, and was right where --verify asks.

    Rows of large results are counted only, unless --verify or --out has them kept, which takes its time. QUERY "all"
    runs every query that has the mechanism: as fast as it goes, in an open loop (--rate, by default 1e6; --duration, by
    default 3), and again for --verify; one that fails does not stop the others.

    With --engine spark DIR may be any folder that Hadoop reads, as hdfs://host/events, and --verify compares with
    TokenRing's own result.
    """
    if out_file is not None:
        from tokenring.nexmark.run import require_known

        require_known(out_file)
        require_writable(out_file, "--out", json_file)
    if verify or engine == "spark":
        from tokenring.nexmark.spark import require_spark

        require_spark("--verify" if verify else "--engine spark")
    if options["query"] == ALL and out_file is not None:
        raise OptionError("--out is for one query's rows; leave it out, or name the query")
    if engine == "spark":
        return _run_on_spark(json_file, out_file, verify, master, streaming, options | {"checks": checks})
    if master is not None or streaming:
        raise OptionError(f"{'--streaming' if streaming else '--master'} is for Spark; give --engine spark with it")
    if options["query"] == ALL:
        return _run_all(json_file, verify, checks, options)
    plan = plan_from(**options, checks=checks or "")
    with at_work():
        outcome = _run_one(plan, out_file, verify)
    if json_file is not None:
        write_json(json_file, outcome)
    if json_file != STANDARD_OUTPUT:
        _print(plan, outcome)
    return 0 if not outcome["dnf"] and outcome["verified"] is not False else 1


def _run_one(plan: Any, out_file: Path | None, is_verified: bool) -> dict[str, Any]:
    """Run a plan, verify it and write its rows, as asked."""
    from tokenring.nexmark.run import executed, verify, write_rows

    beside = None if out_file is None or is_special(out_file) else out_file.resolve().parent
    with executed(plan, is_verified or out_file is not None, beside) as (outcome, rows):
        if is_verified:
            for difference in verify(plan, outcome, rows)[:_SHOWN]:
                click.echo(f"tokenring: differs from Spark SQL: {difference}", err=True)
        if out_file is not None:
            write_rows(rows, out_file)
    return outcome


def _run_all(json_file: Path | None, is_verified: bool, checks: str | None, options: dict[str, Any]) -> int:
    """Run all queries; write and print their table."""
    from tokenring.nexmark.commands.run_all import print_rows, run_all

    options |= {"rate": options["rate"] or ALL_RATE, "duration": options["duration"] or ALL_DURATION_S}
    plans = [plan_from(**{**options, "query": query}, checks=checks or "") for query in QUERIES]
    with at_work():
        rows = run_all(plans, is_verified)
    if json_file is not None:
        write_json(json_file, {"rows": rows})
    if json_file != STANDARD_OUTPUT:
        print_rows(rows)
    return 1 if any(row["failed"] for row in rows) else 0


def _run_on_spark(
    json_file: Path | None, out_file: Path | None, is_verified: bool, master: str | None, streaming: bool,
    options: dict[str, Any],
) -> int:  # fmt: skip
    """Run one query or all on Spark; write and print."""
    from tokenring.nexmark.commands.run_spark import print_runs, run_queries
    from tokenring.nexmark.scale_out import LOCAL, SparkPlan
    from tokenring.nexmark.sql import STREAMED

    for name in _OURS:
        if options[name] is not None and (name, options[name]) != ("mechanism", "tokens"):
            raise OptionError(f"--{name.replace('_', '-')} is for TokenRing's own engine; leave --engine spark out")
    is_all = options["query"] == ALL
    queries: tuple[str, ...] = (options["query"],)
    if is_all:
        queries = tuple([query for query in QUERIES if query in STREAMED or not streaming])
    plan = SparkPlan(queries, options["input_folder"], master or LOCAL, streaming, options["events"])
    with at_work():
        rows = run_queries(plan, out_file, is_verified)
    if json_file is not None:
        write_json(json_file, {"rows": rows} if is_all else rows[0])
    if json_file != STANDARD_OUTPUT:
        print_runs(rows)
    return 1 if any(row["failed"] for row in rows) else 0


def _print(plan: Any, outcome: dict[str, Any]) -> None:
    from tokenring.nexmark.run import print_report

    print_report(outcome)
    if plan.duration_s is not None and outcome["planned_events"] < int(plan.rate * plan.duration_s):
        seconds = outcome["planned_events"] / plan.rate
        click.echo(
            f"tokenring: the events ended after {seconds:.2f} s of the {plan.duration_s:g} s asked for; stage more",
            err=True,
        )
