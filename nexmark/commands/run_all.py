"""`tokenring run all`: every query as fast as it goes, in an open loop for its latency, and again to be verified."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import click

from tokenring.nexmark.errors import SparkError
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run import Plan, count, execute_plan, executed, in_ms, verify
from tokenring.tools.errors import CommandError

Row = dict[str, Any]


def run_all(open_loops: Sequence[Plan], is_verified: bool) -> list[Row]:
    """A row for each plan whose query has the plan's mechanism.

    What fails is said on stderr and in the row's `error`, and the others go on; `failed` is true for it, for a run that
    fell behind, and for a result that differs from Spark SQL's.
    """
    if is_verified:
        _answer(open_loops)
    return [
        _run(plan, replace(plan, rate=None, duration_s=None), is_verified)
        for plan in open_loops
        if plan.mechanism in QUERIES[plan.query].mechanisms
    ]


def _answer(plans: Sequence[Plan]) -> None:
    """Have the oracle answer all of them in one Spark session. What fails here is said when the query is verified."""
    from tokenring.nexmark.oracle import answers

    with suppress(SparkError):
        answers([plan.query for plan in plans], plans[0].input_folder, plans[0].events)


def _run(open_loop: Plan, closed: Plan, is_verified: bool) -> Row:
    row: Row = {"query": closed.query, "engine": "tokenring", "mechanism": closed.mechanism, "rate": open_loop.rate}
    row |= dict.fromkeys(("workers", "events", "seconds", "events_per_second", "result_rows"))
    row |= dict.fromkeys(("p50_ms", "p99_ms", "p999_ms", "max_ms", "dnf", "verdict", "slope", "verified", "error"))
    try:
        outcome = execute_plan(closed)
        row |= {name: outcome[name] for name in ("workers", "events", "seconds", "events_per_second", "result_rows")}
        paced = execute_plan(open_loop)
        row |= {name: paced[name] for name in ("dnf", "verdict", "slope")}
        if not paced["dnf"]:  # what was done in time says nothing about the rest
            row |= {f"{name}_ms": value for name, value in paced["latency_ms"].items()}
        if is_verified:
            row |= _verified(closed)
    except CommandError as error:
        row["error"] = str(error)
        click.echo(f"tokenring: {closed.query} failed: {error}", err=True)
    row["failed"] = row["error"] is not None or row["dnf"] or row["verified"] is False
    return row


def _verified(plan: Plan) -> Row:
    """Run it with all rows kept, which is not what is to be timed, and compare them."""
    with executed(plan, keep=True) as (outcome, rows):
        for difference in verify(plan, outcome, rows)[:1]:
            click.echo(f"tokenring: {plan.query} differs from Spark SQL: {difference}", err=True)
        return {"verified": outcome["verified"], "result_rows": outcome["result_rows"]}


def print_rows(rows: Sequence[Row]) -> None:
    """Print the table."""
    from rich.table import Table

    from tokenring.tools.system import console_of, print_table

    table = Table(title="closed loop: events/s; open loop: latency in ms", title_justify="left")
    for name in ("query", "events/s", "offered/s", "p50", "p99", "p99.9", "rows", "verified"):
        table.add_column(name, justify="left" if name == "query" else "right")
    for row in rows:
        table.add_row(
            row["query"],
            "failed" if row["error"] else count(row["events_per_second"]),
            count(row["rate"]),
            *(["DNF"] * 3 if row["dnf"] else [in_ms(row[f"{name}_ms"]) for name in ("p50", "p99", "p999")]),
            "-" if row["result_rows"] is None else f"{row['result_rows']:,}",
            {True: "yes", False: "NO", None: "-"}[row["verified"]],
        )
    print_table(table, console_of())
