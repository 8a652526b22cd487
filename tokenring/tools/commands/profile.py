"""`tokenring profile -- PROGRAM`, and of a function, my.py:program: py-spy on the workers of any program's groups."""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from tokenring.tools.blas import environment_of_others
from tokenring.tools.commands.run import program_options
from tokenring.tools.errors import OptionError, RunError
from tokenring.tools.profile import (
    Recorders,
    Recording,
    output_folder,
    print_profile,
    read_recording,
    watch,
    write_profile,
)
from tokenring.tools.system import PathOption, at_work

_out = click.option("--out", "out_folder", default="profile", show_default=True, metavar="FOLDER", type=PathOption(),
                    help="Where the files go; those of an earlier profile there are replaced.")  # fmt: skip
_frequency = click.option("--frequency", type=click.IntRange(1, 1000), default=200, show_default=True, metavar="HZ",
                          help="Samples a second of each worker.")  # fmt: skip


@click.command(options_metavar="[OPTIONS] -- PROGRAM [ARGUMENTS]...")
@_out
@_frequency
@click.pass_obj
def profile_program(program: list[str], out_folder: Path, frequency: int) -> int:
    """Run PROGRAM, any that calls `execute`, and see where its workers' time goes.

    py-spy is attached to the workers of every group that the program runs, a moment after they have started; a worker's
    samples in groups one after the other come together. PROGRAM has the terminal, and its exit status is ours; tables
    go to stderr. A program that ran no group, or only one too short for py-spy, has no profile: then the status is 1,
    or the program's own if it failed.

    Files and tables are those of a query: `tokenring profile --help`.
    """
    if not program:
        raise OptionError("no program after `--`; give one, such as `tokenring profile -- python my_program.py`")
    return _profile(program, shlex.join(program), out_folder, frequency)


@click.command()
@program_options
@_out
@_frequency
def profile_function(
    target: str, arguments: tuple[str, ...], workers: int | None, start: str, checks: str | None, memory: int | None,
    max_workers: int | None, out_folder: Path, frequency: int,
) -> int:  # fmt: skip
    """Run a function of your own, as `tokenring run` does, and see where its workers' time goes.

    Files and tables are those of a query: `tokenring profile --help`. A group too short for py-spy has no profile.
    """
    options = {"--workers": workers, "--start": start, "--checks": checks}
    options |= {"--memory": memory, "--max-workers": max_workers}
    said = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    run = [sys.executable, "-m", "tokenring", "run", *said, target, "--", *arguments]
    return _profile(run, f"tokenring run {target}", out_folder, frequency)


def _profile(program: list[str], name: str, out_folder: Path, frequency: int) -> int:
    environment = environment_of_others()  # the program's temporary files are its own affair, and not in our folder
    with at_work(), output_folder(out_folder):
        began_s = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="tokenring-profile-") as scratch:
            status, groups, recordings, missed = _record(program, environment, frequency, Path(scratch))
        took = f"{groups} group(s) in {time.monotonic() - began_s:.1f} s"
        if not any(recording.stacks for recording in recordings):
            what = (
                "its workers ended before py-spy had seen anything" if groups else "it was not seen to call `execute`"
            )
            text = f"{name} ended with status {status} without a profile: {what}; a group must last a second or more"
            raise _without_profile(text, status)
        files = write_profile(out_folder, f"{name}, {len(recordings)} worker(s)", took, recordings)
    print_profile(files, took, recordings, err=True)
    if missed:
        click.echo(
            f"tokenring: {missed} worker process(es) ended before py-spy had attached and are left out", err=True
        )
    return status


def _record(
    program: list[str], environment: dict[str, str], frequency: int, scratch: Path
) -> tuple[int, int, list[Any], int]:
    """Run and sample: the program's exit status, how many groups it ran, a recording for each worker's index, and how
    many worker processes were missed."""
    with Recorders(scratch, frequency) as recorders:
        status, groups = watch(program, environment, recorders)
        workers = max(map(len, groups), default=0)
        recordings = [Recording(f"worker {worker}", [], 1 / frequency) for worker in range(workers)]
        missed = 0
        for group in groups:
            for whole, recorder in zip(recordings, group, strict=False):
                unread = recorder.finish()
                if unread is None:
                    recorder.check()
                    missed += 1
                    continue
                part = read_recording(recorder.file, whole.label, frequency, unread, recorder.seen)
                whole.stacks += part.stacks
                whole.unread += part.unread
                whole.is_anonymous |= part.is_anonymous
    return status, len(groups), recordings, missed


def _without_profile(text: str, status: int) -> RunError:
    error = RunError(text)
    error.exit_status = status or 1
    return error
