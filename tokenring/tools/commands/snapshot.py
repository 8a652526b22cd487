"""`tokenring snapshot`: a running group takes a snapshot now, and this returns once it is on the disk."""

from __future__ import annotations

from pathlib import Path

import click

from tokenring.tools.commands.query import asking
from tokenring.tools.system import STANDARD_OUTPUT, Number, ending_signals_raise, json_option, write_json


@click.command()
@click.argument("process", type=click.IntRange(min=1))
@click.option("--timeout", type=Number(0.1, 36000), default=60.0, show_default=True, metavar="S",
              help="How long it may take.")  # fmt: skip
@json_option("its number, time, rows, bytes and seconds")
def snapshot(process: int, timeout: float, json_file: Path | None) -> None:
    """Have a running group take a snapshot now, besides those that it takes in time; return once it is on the disk.

    PROCESS is the number of the process that launched the group, or of one of its workers: `tokenring snapshots DIR`
    names it. The run was started with --recovery, or recovery=. Results up to the snapshot have appeared then. The
    status is 1 if none could be taken, and why is said.
    """
    from tokenring.engine.budget import in_words
    from tokenring.operators.recovery import take_now

    with ending_signals_raise(), asking():
        taken = take_now(process, timeout)
    if json_file is not None:
        write_json(json_file, taken)
    if json_file != STANDARD_OUTPUT:
        at = "" if taken["time"] is None else f", of time {taken['time']}"
        click.echo(
            f"snapshot {taken['number']}{at}: {taken['rows']:,} rows in "
            f"{in_words(taken['bytes'])}, in {taken['seconds']:g} s"
        )
