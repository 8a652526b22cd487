"""What `tokenring run` prints: a line of throughput, a latency table with the machine's hiccups beside it, and the
answer.
"""

from typing import Any

from rich.table import Table
from rich.text import Text

from tokenring.nexmark.measure import UNDECIDED
from tokenring.tools.system import console_of, print_table

_MOST_ROWS = 12


def print_report(outcome: dict[str, Any]) -> None:
    """Print the JSON object of a run for people."""
    console = console_of()
    loop = "closed loop" if outcome["rate"] is None else f"open loop, {count(outcome['rate'])} events/s offered"
    console.print(
        f"[bold]{outcome['query']}[/bold]: {outcome['workers']} worker(s), {outcome['mechanism']}, {loop}",
        highlight=False,
    )
    summary = Table(show_header=True, header_style="bold")
    for name in ("events", "seconds", "events/s", "CPU s", "peak MB a worker", "verified"):
        summary.add_column(name, justify="right")
    verified = {True: "yes", False: "NO", None: "not asked"}[outcome["verified"]]
    summary.add_row(
        f"{outcome['events']:,}",
        f"{outcome['seconds']:.3f}",
        count(outcome["events_per_second"]),
        f"{outcome['cpu_seconds']:.2f}",
        f"{outcome['peak_rss_mb']:.0f}",
        verified,
    )
    print_table(summary, console)
    if outcome["latency_ms"] is not None:
        print_table(_latency_table(outcome), console)
    if outcome["dnf"]:
        grows = "" if outcome["slope"] is None else f", {1e3 * outcome['slope']:,.1f} ms later with each second"
        console.print(
            f"[bold red]DNF[/bold red]: falls behind{grows}; ended after {outcome['events']:,} events", highlight=False
        )
    elif outcome["verdict"] == UNDECIDED:
        console.print("too short to tell whether this rate holds: offer it for longer", highlight=False)
    if outcome["result"] is None:
        kept = "changes" if outcome["result_rows"] is None else f"{outcome['result_rows']:,} rows"
        console.print(f"result: {kept}, counted only; --out keeps the rows")
    else:
        print_table(_result_table(outcome["result"], outcome["result_rows"]), console)


def _latency_table(outcome: dict[str, Any]) -> Table:
    table = Table(
        title="latency in ms, from the instant an event is due until the probe passes it", title_justify="left"
    )
    table.add_column("")
    for name in ("p50", "p99", "p99.9", "max"):
        table.add_column(name, justify="right")
    latency = outcome["latency_ms"]
    table.add_row(outcome["query"], *(in_ms(latency[name]) for name in ("p50", "p99", "p999", "max")))
    for core, meter in enumerate(outcome["hiccups_ms"] or ()):
        table.add_row(f"machine's hiccups, spinning process {core}", "", "", in_ms(meter["p999"]), in_ms(meter["max"]))
    return table


def _result_table(rows: list[dict[str, Any]], of: int) -> Table:
    table = Table(title=f"result ({of:,} rows)", title_justify="left")
    add_rows(table, rows[:_MOST_ROWS])
    if of > _MOST_ROWS:
        table.caption = f"... {of - _MOST_ROWS:,} more rows; --out gives them all"
    return table


def add_rows(table: Table, rows: list[dict[str, Any]]) -> None:
    """Give a table without columns those of these rows, figures to the right."""
    for name, value in (rows[0] if rows else {"(no rows)": ""}).items():
        table.add_column(name, justify="left" if isinstance(value, str) else "right")
    for row in rows:
        table.add_row(*[Text(str(value)) for value in row.values()])


def count(value: float) -> str:
    """A number of events for people."""
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value:,.0f}"


def in_ms(value: float | None) -> str:
    """A latency, or its absence."""
    return "-" if value is None else f"{value:.3f}"
