"""`tokenring run --engine spark`, on behalf of the command: runs, verifies, writes rows, prints a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tokenring.nexmark.errors import SparkError
from tokenring.nexmark.run import add_rows, count
from tokenring.nexmark.scale_out import SparkPlan, require_local, run_on_spark, verify_by_tokenring

Row = dict[str, Any]

_SHOWN = 5
_MOST_ROWS = 12


def run_queries(plan: SparkPlan, out_file: Path | None, is_verified: bool) -> list[Row]:
    """The outcome of each of the plan's queries; `failed` is true for one that has an `error`, and for a result that
    differs from TokenRing's. A plan of one query raises its error instead; out_file is for such a plan."""
    from tokenring.nexmark.run import write_rows

    if is_verified:
        require_local(plan.folder)
    rows = []
    with run_on_spark(plan, keep=is_verified or out_file is not None) as outcomes:
        for outcome, table in outcomes:
            error = outcome["error"]
            if error is not None and len(outcomes) == 1:
                raise SparkError(error)
            if error is not None:
                click.echo(f"tokenring: {outcome['query']} failed: {error}", err=True)
            elif is_verified:
                for difference in verify_by_tokenring(plan, outcome, table)[:_SHOWN]:
                    click.echo(f"tokenring: {outcome['query']} differs from TokenRing: {difference}", err=True)
            if out_file is not None:
                write_rows(table, out_file)
            rows.append(outcome | {"failed": error is not None or outcome["verified"] is False})
    return rows


def print_runs(rows: list[Row]) -> None:
    """Print a line for each run, and the rows of a single small result."""
    from rich.table import Table

    from tokenring.tools.system import console_of, print_table

    console = console_of()
    first = rows[0]
    title = f"Spark, {first['mode']}, {first['master']}: {first['workers']} cores"
    title += f"; seconds without the {first['start_seconds']:.1f} of its start"
    table = Table(title=title, title_justify="left")
    for name in ("query", "events", "seconds", "events/s", "CPU s", "rows", "verified"):
        table.add_column(name, justify="left" if name == "query" else "right")
    for row in rows:
        if row["error"] is not None:
            table.add_row(row["query"], "failed")
            continue
        table.add_row(
            row["query"],
            f"{row['events']:,}",
            f"{row['seconds']:.2f}",
            count(row["events_per_second"]),
            f"{row['cpu_seconds']:.1f}",
            "-" if row["result_rows"] is None else f"{row['result_rows']:,}",
            {True: "yes", False: "NO", None: "-"}[row["verified"]],
        )
    print_table(table, console)
    if len(rows) == 1 and first["result"] is not None:
        result = Table(title=f"result ({first['result_rows']:,} rows)", title_justify="left")
        add_rows(result, first["result"][:_MOST_ROWS])
        print_table(result, console)
