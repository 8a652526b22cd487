"""`tokenring run my.py:program`: a function of one's own on all workers, and what it returned."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from tokenring.tools.errors import CommandError, InputError, OptionError
from tokenring.tools.system import STANDARD_OUTPUT, PathOption, json_option, memory_option, verbose_option, write_json

if TYPE_CHECKING:
    from tokenring.operators.recovery import Recovery

MAX_WORKERS = 512
STARTS = ("fork", "spawn", "forkserver")


def program_options(command: Any) -> Any:
    """What is said of a group that runs a function; shared with `tokenring profile`."""
    options = [
        click.argument("target", metavar="FILE.py:FUNCTION"),
        click.argument("arguments", nargs=-1, metavar="[-- ARGUMENTS]..."),
        click.option("--workers", type=click.IntRange(0, MAX_WORKERS), metavar="N",
                     help="Worker processes; 0, as if none is said: one per usable core, within a cgroup's quota."),
        click.option("--start", type=click.Choice(STARTS), default="fork", show_default=True,
                     help="How workers begin: as copies of this process, or each importing the program."),
        click.option("--checks", type=click.Choice(["normal", "exhaustive"]),
                     help="exhaustive: doubt every step of the progress protocol; many times slower.  "
                     "[default: $TOKENRING_CHECKS, else normal]"),
        memory_option,
        click.option("--max-workers", type=click.IntRange(1, MAX_WORKERS), metavar="N",
                     help="Processes in all; those beyond --workers begin idle, and get work when bins move to them."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@click.command("run")
@program_options
@click.option("--recovery", "folder", metavar="DIR", type=PathOption(),
              help="Keep snapshots in DIR, and go on from the newest one that is there.")  # fmt: skip
@click.option("--every", metavar="DURATION", help="How long from one snapshot to the next: 10s, 500ms.  [default: 10s]")
@click.option("--from", "back_to", type=click.IntRange(1), metavar="N",
              help="Go back to snapshot N of DIR: newer ones, and results that appeared with them, are "
              "removed.")  # fmt: skip
@click.option("--drop", multiple=True, metavar="NAME",
              help="What may be lost of a snapshot that another program has made: an operator, a source or a sink, by "
              "the name that the error gives; as often as need be.")  # fmt: skip
@click.option("--dead-letters", is_flag=True,
              help="Where the same operator fails twice, go on without the rows at which it fails: they are in "
              "DIR/dead-letters, as Parquet files.")  # fmt: skip
@verbose_option
@json_option("how the run ended")
def run_program(
    target: str, arguments: tuple[str, ...], workers: int | None, start: str, checks: str | None, memory: int | None,
    max_workers: int | None, folder: Path | None, every: str | None, back_to: int | None, drop: tuple[str, ...],
    dead_letters: bool, json_file: Path | None,
) -> int:  # fmt: skip
    """Run a function of your own on all cores: FILE.py:FUNCTION, or package.module:FUNCTION.

    It is called on each worker, with the worker; or, if its parameter is called `scope` or annotated tokenring.Scope,
    with the scope of a dataflow, as tokenring.run calls it. What it returns is printed: rows (of `collect` or `latest`,
    of a scope's stream, Arrow tables) as a table on a terminal and as JSON lines elsewhere; other values as they are, a
    worker after the other; None, a sink's probe and a view not at all. ARGUMENTS are what it finds in sys.argv.

    While live sources are open, the first Ctrl-C finishes the run: they close, and what they sent is finished. The
    first SIGTERM stops it: they end where they are, what is not finished then is dropped, and told, on stderr and by
    --json ("stopped"). A second signal ends the run at once, as the first does where no source is live.

    With --recovery the same command goes on where the job was, whatever ended it: a signal ends the run at once, and
    results appear with snapshots, exactly once. `tokenring snapshots DIR` says what is kept. The program may have
    changed: what it still has goes on, what is new begins empty, and what would be lost is refused without --drop.

    Where the run fails, --json writes nothing: stderr says why, and the status that it did.

    A file is imported as if it were run, save that it is not called __main__.
    """
    from tokenring.tools.programs import load, print_returned, run
    from tokenring.tools.system import ending_signals_raise, in_one_line

    with ending_signals_raise():
        sys.argv[:] = [target.partition(":")[0], *arguments]
        recovery = _recovery(folder, every, back_to, drop, dead_letters, target, start, max_workers)
        named, program = load(target)
        with _naming(str(named)), in_one_line():
            from tokenring.engine import Config

            first = Config(workers=workers or 0)
            processes = first.workers if max_workers is None else max_workers
            if processes < first.workers:
                raise OptionError(f"--max-workers {processes} is less than --workers {first.workers}")
            config = Config(
                workers=processes, start=start, checks=checks or "", memory_bytes=memory or 0,
                idle=processes - first.workers,
            )  # fmt: skip
            if recovery is not None and back_to is not None:
                _go_back(recovery, back_to)
            values = run(str(named), program, config, recovery)
        if json_file is not None:
            write_json(json_file, {"workers": len(values), "stopped": values.stopped})
        if json_file != STANDARD_OUTPUT:
            print_returned(values)
    return 0


def _recovery(
    folder: Path | None, every: str | None, back_to: int | None, drop: tuple[str, ...], dead_letters: bool, target: str,
    start: str, max_workers: int | None,
) -> Recovery | None:  # fmt: skip
    """What is said of snapshots, before the program is imported: one that runs itself would do so now."""
    if folder is None:
        options = (("--every", every), ("--from", back_to), ("--drop", drop), ("--dead-letters", dead_letters))
        for option, given in options:
            if given:
                raise OptionError(f"{option} is said of snapshots: give --recovery DIR")
        return None
    if ":" not in target:
        raise InputError(
            f"{target}: --recovery is for a function: give {target}:FLOW, where FLOW(scope) declares the dataflow; a "
            f"program that calls tr.run itself says recovery=tr.Recovery({str(folder)!r}) there"
        )
    if start != "fork" or max_workers is not None:
        given = "--max-workers" if start == "fork" else f"--start {start}"
        raise OptionError(f"{given} and --recovery do not go together: leave one out")
    from tokenring.engine import UsageError
    from tokenring.operators.recovery import Recovery

    on_error: Literal["fail", "dead letters"] = "dead letters" if dead_letters else "fail"
    try:
        return Recovery(folder, Recovery.every if every is None else every, drop=drop, on_error=on_error)
    except UsageError as error:
        _, of, why = str(error).partition("Recovery: every: ")
        raise OptionError(f"--every {every}: {why}" if of else f"--{str(error).removeprefix('Recovery: ')}") from None


def _go_back(recovery: Recovery, number: int) -> None:
    from tokenring.engine import RecoveryError
    from tokenring.operators.recovery import JobFolder

    try:
        removed = JobFolder(recovery.folder).go_back(number)
    except RecoveryError as error:
        raise OptionError(f"--from {number}: {error}") from None
    click.echo(f"tokenring: {removed}", err=True)


@contextmanager
def _naming(program: str) -> Iterator[None]:
    """Errors of the block say which program they are of."""
    try:
        yield
    except CommandError as error:
        if program not in str(error):
            error.args = (f"{program}: {error}",)
        raise
