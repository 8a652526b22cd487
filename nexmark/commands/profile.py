"""`tokenring profile`: runs a query or any program under py-spy; writes flame graphs and speedscope files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from tokenring.nexmark.commands.run import plan_from, run_options
from tokenring.tools.commands import first_argument, profile_function, profile_program
from tokenring.tools.errors import RunError
from tokenring.tools.profile import Recorders, output_folder, print_profile, read_recording, write_profile
from tokenring.tools.programs import is_named
from tokenring.tools.system import Number, PathOption, at_work, in_one_line, progress_line


class ProgramOrQuery(click.Command):
    """A command that becomes `profile_program` where there is a `--`: what is behind it is the program, untouched; and
    `profile_function` where a function of somebody's own is named."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if is_named(first_argument(args, self, profile_function)):
            return profile_function.make_context(info_name, args, parent, **extra)
        if "--" not in args:
            try:
                return super().make_context(info_name, args, parent, **extra)
            except click.BadParameter as error:
                if not isinstance(error.param, click.Argument):
                    raise
                # Most likely one is meant.
                cure = "A program goes behind `--`: tokenring profile -- python my.py; a function: my.py:FUNCTION"
                raise click.BadParameter(f"{error.message} {cure}", error.ctx, error.param) from None
        at = args.index("--")
        return profile_program.make_context(info_name, args[:at], parent, obj=args[at + 1 :], **extra)


@click.command(cls=ProgramOrQuery)
@run_options
@click.option("--out", "out_folder", required=True, metavar="FOLDER", type=PathOption(),
              help="Where the files go; those of an earlier profile there are replaced.")  # fmt: skip
@click.option("--seconds", type=Number(0.1, 3600), default=10.0, show_default=True, metavar="S",
              help="Repeat the run for so long.")  # fmt: skip
@click.option("--frequency", type=click.IntRange(1, 1000), default=200, show_default=True, metavar="HZ",
              help="Samples a second of each worker.")  # fmt: skip
def profile(out_folder: Path, seconds: float, frequency: int, **options: Any) -> int:
    """Run QUERY, or after `--` any program, under py-spy and see where its workers' time goes.

    A program of your own: `tokenring profile -- python my_program.py`, or a function of it, `tokenring profile
    my_program.py:FUNCTION`; with --help at the end, either says how.

    The run is repeated in the same worker processes, to its end each time, until --seconds have passed, with a py-spy
    on every worker from the first moment. Workers are not stopped for a sample, so a few samples cannot be read; the
    table says how many. Time in a kernel is named after it, where the line that was sampled calls one; the line's own
    time is in it; time in the inner loop after the operators that ran there, by what each was seen to run, second by
    second. The table of functions is about work: sleep, and looking again and again whether there is something
    to do, are told apart from it.

    Writes worker-N.svg and worker-N.speedscope.json for each worker, merged.svg and merged.speedscope.json for all of
    them. Open the SVGs in a browser (click to zoom), the others on https://www.speedscope.app.
    """
    plan = plan_from(**options)
    with at_work(), output_folder(out_folder):
        with tempfile.TemporaryDirectory(prefix="tokenring-profile-") as scratch:
            repeated, recordings = _record(plan, seconds, frequency, Path(scratch))
        if not any(recording.stacks for recording in recordings):
            raise RunError("py-spy took no samples in time; give more --seconds or a higher --frequency")
        took = f"{repeated.seconds:.1f} s"
        during = f"{took}, {repeated.runs} run(s) of {repeated.events // repeated.runs:,} events"
        run = f"tokenring {plan.query}, {repeated.workers} worker(s)"
        files = write_profile(out_folder, run, during, recordings)
    print_profile(files, f"{repeated.runs} run(s) in {took}", recordings)
    if repeated.dnf:
        click.echo("tokenring: fell more than one second behind (DNF); this profile is of an overload", err=True)
    return 1 if repeated.dnf else 0


def _record(plan: Any, seconds: float, frequency: int, scratch: Path) -> tuple[Any, list[Any]]:
    """Run and sample; the engine's errors become one line each."""
    from tokenring.nexmark.run import repeat_query

    name = f"{plan.query} under py-spy"
    with in_one_line(), Recorders(scratch, frequency) as recorders, progress_line(name) as progress:

        def advance(so_far: float) -> None:
            if progress is not None:
                progress(int(1000 * min(so_far, seconds)), int(1000 * seconds))

        repeated = repeat_query(plan, seconds, recorders.attach, advance)
        recordings = [
            read_recording(file, f"worker {worker}", frequency, unread, seen)
            for worker, (file, unread, seen) in enumerate(recorders.collect())
        ]
        return repeated, recordings
