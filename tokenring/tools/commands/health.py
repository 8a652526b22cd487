"""`tokenring health`: whether a running group is ready and live, for people and for what watches over services."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokenring.tools.errors import CommandError, OptionError
from tokenring.tools.system import STANDARD_OUTPUT, Number, json_option, write_json

if TYPE_CHECKING:
    from tokenring.engine import Health


@click.command()
@click.argument("process", type=click.IntRange(min=1))
@click.option("--ready", "only_ready", is_flag=True, help="Exit by whether it is ready alone.")
@click.option("--live", "only_live", is_flag=True, help="Exit by whether it is live alone.")
@click.option("--within", type=Number(0.1, 3600), default=10.0, show_default=True, metavar="S",
              help="How long a worker may take from one look between two steps to the next.")  # fmt: skip
@json_option("the answer")
def health(process: int, only_ready: bool, only_live: bool, within: float, json_file: Path | None) -> int:
    """Say whether a run is ready and live. The status is 0 if it is both, else 1.

    PROCESS is the number of the process that launched the group (`tokenring run`, or any program that calls `execute`)
    or of one of its workers.

    Ready: every worker has built all the dataflows that it has declared, and at least one. Live: every worker comes
    round, between two steps, within some seconds, or sleeps for want of work; none is stopped. That is seen at once
    where it is so, from outside: workers are not asked. A worker in one call of a function or a kernel that takes
    longer is not live; nor is a program that does something else than to step for so long.
    """
    from tokenring.engine import UsageError
    from tokenring.engine.ask import health as health_of

    if only_ready and only_live:
        raise OptionError("--ready and --live each ask for one alone; leave both out to ask for both")
    try:
        found = health_of(process, within)
    except UsageError as error:
        raise CommandError(str(error)) from None
    if json_file is not None:
        write_json(json_file, found)
    if json_file != STANDARD_OUTPUT:
        _print(found)
    is_well = found.ready if only_ready else found.live if only_live else found.ready and found.live
    return 0 if is_well else 1


def _print(found: Health) -> None:
    ending = {"": "", "finish": ", finishing", "stop": ", stopping"}[found.ending]
    click.echo(f"{'ready' if found.ready else 'not ready'}, {'live' if found.live else 'not live'}{ending}")
    if found.launcher_is_stopped:
        click.echo(f"launcher (pid {found.launcher}) is stopped: `kill -CONT {found.launcher}` lets it go on")
    for one in found.workers:
        process = f" (pid {one.process})" if one.process else ""
        built = f"{one.built} of {one.declared} dataflows built"
        click.echo(f"worker {one.worker}{process} {_STATES.get(one.state, one.state)}; {built}")


_STATES = {
    "parked": "is parked", "stopped": "is stopped", "ended": "has ended", "died": "has died", "starts": "is starting",
}  # fmt: skip
