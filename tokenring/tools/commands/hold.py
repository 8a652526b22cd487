"""`tokenring hold`: a breakpoint from outside, kept until Ctrl-C."""

from __future__ import annotations

import signal
import time

import click

from tokenring.tools.commands.why import port_of, time_of
from tokenring.tools.errors import CommandError, OptionError
from tokenring.tools.system import Ended, Number, ending_signals_raise

_PAUSE_S = 0.1


@click.command()
@click.argument("process", type=click.IntRange(min=1))
@click.option("--operator", required=True, metavar="NAME",
              help="Where: an operator, regions included; or DATAFLOW/NAME.")  # fmt: skip
@click.option("--port", metavar="PORT", help="Which port of it: input, output, input:1, ...")
@click.option("--time", "at", required=True, metavar="T", help="What is not to pass: 7, or in a loop 7,2.")
@click.option("--for", "duration", metavar="DURATION", help="Release after so long: 10s, 500ms, 2min.")
@click.option("--timeout", type=Number(0.1, 3600), default=5.0, show_default=True, metavar="S",
              help="How long workers get to take it.")  # fmt: skip
def hold(process: int, operator: str, port: str | None, at: str, duration: str | None, timeout: float) -> int:
    """Keep the frontier at a port of a running group from passing a time, until Ctrl-C or for a while.

    PROCESS is the number of the process that launched the group, or of one of its workers: `tokenring why` lists them.
    The run goes on meanwhile, up to that time at that place; `tokenring why PROCESS` shows the hold and what waits.
    Under recovery snapshots are taken meanwhile, and a start after a death is not held.

    If this command is killed, the workers notice and let go. The exit status is 0 once the hold was released, 1 if the
    group ended before, or died.
    """
    from tokenring.engine import UsageError, WorkerError
    from tokenring.engine.ask import hold as held_in
    from tokenring.operators.durations import nanoseconds_of

    place = port_of(port, operator)
    number = None
    try:
        seconds = None if duration is None else nanoseconds_of(duration, f"--for {duration}") / 1e9
        with ending_signals_raise(), held_in(process, operator, place, time_of(at), timeout) as held:
            who = ", ".join(map(str, held.workers))
            click.echo(f"holding {held.place} at {at}, on worker(s) {who}; Ctrl-C releases it")
            deadline = None if seconds is None else time.monotonic() + seconds
            while held.lasts and (deadline is None or time.monotonic() < deadline):
                time.sleep(_PAUSE_S if deadline is None else max(0.0, min(_PAUSE_S, deadline - time.monotonic())))
            ended = not held.lasts
    except Ended as signalled:
        if signalled.number != signal.SIGINT:
            raise
        ended, number = False, signalled.number
    except UsageError as error:
        raise OptionError(str(error)) from None
    except WorkerError as error:
        raise CommandError(str(error)) from None
    if ended:
        raise CommandError(f"the group of process {process} has ended")
    click.echo("released" if number is None else "\nreleased")
    return 0
