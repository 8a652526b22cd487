"""`tokenring migrate`: where the bins of a running dataflow are, and moving them to other workers by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tokenring.tools.commands.query import asking
from tokenring.tools.errors import OptionError
from tokenring.tools.system import STANDARD_OUTPUT, Number, json_option, write_json


@click.command()
@click.argument("process", type=click.IntRange(min=1))
@click.argument("dataflow", required=False)
@click.option("--to", metavar="BINS:WORKER,...", help="Where bins are to be: 0-63:1,64:0 (bins 0 to 63 with worker 1).")
@click.option("--drain", type=click.IntRange(min=0), metavar="W", help="Leave worker W no bin.")
@click.option("--even", is_flag=True, help="Give all workers equally many bins, with as few moves as that takes.")
@click.option("--end", is_flag=True,
              help="With --drain W: of all dataflows, and then end worker W, the last one, in the running group.")
@click.option("--plan", default="fluid", show_default=True, metavar="PLAN",
              help="In which steps: fluid (a bin each), batched:N, optimized (no worker sends, or takes, two), "
              "all_at_once.")  # fmt: skip
@click.option("--wait", is_flag=True, help="Wait until all state has arrived.")
@click.option("--timeout", type=Number(0.1, 3600), default=5.0, show_default=True, metavar="S",
              help="How long workers get to answer; with --wait, how long nothing may move.")  # fmt: skip
@json_option("where bins are, or which worker has ended,")
def migrate(
    process: int, dataflow: str | None, to: str | None, drain: int | None, even: bool, end: bool, plan: str, wait: bool,
    timeout: float, json_file: Path | None,
) -> None:  # fmt: skip
    """Move bins of keyed state to other workers of a running group, whose dataflow was declared with bins=.

    PROCESS is the number of the process that launched the group, or of one of its workers: `tokenring why` lists them.
    DATAFLOW is needed where several have bins. Without --to, --drain or --even it says where the bins are, each
    worker's share of the rows (of a sample), and what state has moved so far.

    What was asked for is done while the run goes on, one step after another, each at one time of the rows: their
    answers are the same. With --wait, if this command ends before, what has not begun stays where it is.

    --drain W --end ends the last worker, once all bins have left it: its program is to be in run(), or to have
    returned, its sources closed, and rows that go from worker to worker are to go by bins in all dataflows.
    """
    from tokenring.engine.ask import group_of
    from tokenring.operators.leaving import end_worker
    from tokenring.operators.migrate import bins_of
    from tokenring.tools.system import progress_line

    target = _target(to, drain, even)
    if wait and target is None:
        raise OptionError("--wait waits for what moves: say what, by --to, --drain or --even")
    if end:
        if drain is None or dataflow is not None:
            raise OptionError("--end ends the worker that --drain names, of no dataflow in particular: --drain 1 --end")
        with asking(), progress_line("moving") as advance:
            end_worker(group_of(process), drain, plan, timeout, advance)
        if json_file is not None:
            write_json(json_file, {"ended": drain})
        if json_file != STANDARD_OUTPUT:
            click.echo(f"worker {drain} has ended")
        return
    with asking(), progress_line("moving") as advance:
        found = bins_of(group_of(process), dataflow, target, plan, wait, timeout, advance)
    if json_file is not None:
        write_json(json_file, found)
    if json_file == STANDARD_OUTPUT:
        return
    if target is not None and not found["steps"]:
        click.echo("all bins are there already")
    elif target is not None:
        how = "moved" if wait else "asked for; `tokenring migrate` says how far it is"
        click.echo(f"{found['steps']:,} step{'s' * (found['steps'] != 1)} {how}")
    if target is None or wait:
        _print(found)


def _print(found: Mapping[str, Any]) -> None:
    bins, load = found["bins"], found["load"]
    click.echo(f"{found['dataflow']}: {len(bins):,} bins on {len(load)} worker{'s' * (len(load) != 1)}")
    for worker, rows in enumerate(load):
        share = f"{rows / sum(load):.1%} of the rows" if sum(load) else "no rows seen"
        click.echo(
            f"    worker {worker}: {bins.count(worker):,} bins, {share}; has sent {found['rows'][worker]:,} rows of "
            f"state, {found['bytes'][worker]:,} bytes"
        )
    waiting = found["waiting"]
    if found["steps_left"]:
        what = f"; the next waits for time {waiting['time']}, and the rows of {waiting['operator']!r} stand at " \
            f"{waiting['frontier']}" if waiting else ""  # fmt: skip
        many = "1 step is" if found["steps_left"] == 1 else f"{found['steps_left']:,} steps are"
        click.echo(f"    {many} not done yet{what}")
    if found["staying"]:
        click.echo(f"    stays where it is: {', '.join(map(repr, found['staying']))}")
    if balance := found["balance"]:
        click.echo(f"    kept in balance: the greatest load is {balance['greatest']:.2f} times the mean, of a sample")
        if balance["problem"]:
            click.echo(f"    {balance['problem']}")


def _target(to: str | None, drain: int | None, even: bool) -> Mapping[int, int] | int | str | None:
    if (to is not None) + (drain is not None) + even > 1:
        raise OptionError("--to, --drain and --even each say where bins are to be: give one of them")
    if to is not None:
        return _parsed(to)
    return "even" if even else drain


def _parsed(text: str) -> dict[int, int]:
    target: dict[int, int] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?:(\d+)\s*", part)
        if match is None:
            raise OptionError(f"--to {text!r}: {part!r} is not BIN:WORKER or FIRST-LAST:WORKER, such as 0-63:1,64:0")
        first, last, worker = int(match[1]), int(match[2] or match[1]), int(match[3])
        if last < first or last - first >= 1 << 16:
            raise OptionError(f"--to {text!r}: {part!r} goes from its first bin to its last, of 65,536 at most")
        for number in range(first, last + 1):
            if target.setdefault(number, worker) != worker:
                raise OptionError(f"--to {text!r}: bin {number} cannot be with worker {target[number]} and {worker}")
    return target
