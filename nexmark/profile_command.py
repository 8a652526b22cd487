"""`tokenring profile`: runs a query under py-spy; writes flame graphs and speedscope files, per worker and merged."""

from __future__ import annotations

import math
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from nexmark.at_work import at_work
from nexmark.errors import InputError, OptionError
from nexmark.files import PathOption, replace
from nexmark.run_command import plan_from, run_options
from nexmark.run_query import RunError

_TOP = 15
_WORKER_FILE = re.compile(r"worker-\d+\.(svg|speedscope\.json)")


@click.command()
@run_options
@click.option("--out", "out_folder", required=True, metavar="FOLDER", type=PathOption(),
              help="Where the files go; those of an earlier profile there are replaced.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(0.1, 3600), default=10.0, show_default=True, metavar="S",
              help="Repeat the run for so long.")  # fmt: skip
@click.option("--frequency", type=click.IntRange(1, 1000), default=200, show_default=True, metavar="HZ",
              help="Samples a second of each worker.")  # fmt: skip
def profile(out_folder: Path, seconds: float, frequency: int, **options: Any) -> int:
    """Run QUERY under py-spy and see where its workers' time goes.

    The run is repeated in the same worker processes, to its end each time, until --seconds have passed, with a py-spy
    on every worker from the first moment. Workers are not stopped for a sample, so a few samples cannot be read; the
    table says how many. Time in a kernel is named after it, where the line that was sampled calls one; the line's own
    time is in it. The table of functions is about work: sleep, and looking again and again whether there is something
    to do, are told apart from it.

    Writes worker-N.svg and worker-N.speedscope.json for each worker, merged.svg and merged.speedscope.json for all of
    them. Open the SVGs in a browser (click to zoom), the others on https://www.speedscope.app.
    """
    plan = plan_from(**options)
    if math.isnan(seconds):
        raise OptionError("--seconds is nan; give a number")
    with at_work(), _folder(out_folder):
        with tempfile.TemporaryDirectory(prefix="tokenring-profile-") as scratch:
            repeated, recordings = _record(plan, seconds, frequency, Path(scratch))
        if not any(recording.stacks for recording in recordings):
            raise RunError("py-spy took no samples in time; give more --seconds or a higher --frequency")
        files = _write(out_folder, plan.query, repeated, recordings)
    _print(files, repeated, recordings)
    if repeated.dnf:
        click.echo("tokenring: fell more than one second behind (DNF); this profile is of an overload", err=True)
    return 1 if repeated.dnf else 0


def _record(plan: Any, seconds: float, frequency: int, scratch: Path) -> tuple[Any, list[Any]]:
    """Run and sample; the engine's errors become one line each."""
    from engine import ConfigError, SegmentError, TokenRingError
    from engine.errors import SharedMemoryError
    from nexmark.profile_run import repeat_query
    from nexmark.progress import progress_line
    from nexmark.py_spy import Recorders
    from nexmark.stacks import read_recording

    try:
        with Recorders(scratch, frequency) as recorders, progress_line(f"{plan.query} under py-spy") as progress:

            def advance(so_far: float) -> None:
                if progress is not None:
                    progress(int(1000 * min(so_far, seconds)), int(1000 * seconds))

            repeated = repeat_query(plan, seconds, recorders.attach, advance)
            recordings = [
                read_recording(file, f"worker {worker}", frequency, unread)
                for worker, (file, unread) in enumerate(recorders.collect())
            ]
    except (ConfigError, SegmentError) as error:
        raise InputError(str(error)) from error
    except (TokenRingError, SharedMemoryError) as error:
        raise RunError(str(error)) from error
    return repeated, recordings


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """See that files can be made in `out`; a folder that was made for nothing is removed."""
    made = [path for path in (out, *out.parents) if not path.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise OptionError(f"--out {out}: cannot write there ({error.strerror}); choose another folder") from None
    done = False
    try:
        yield
        done = True
    finally:
        if not done:
            for path in made:
                path.rmdir()


def _write(out: Path, query: str, repeated: Any, recordings: list[Any]) -> list[Path]:
    """Make all texts, then write the files, each whole; returns them."""
    from nexmark.flame_graph import flame_graph
    from nexmark.stacks import labelled, speedscope

    run = f"tokenring {query}, {repeated.workers} worker(s)"
    texts: dict[str, bytes] = {}
    for worker, recording in enumerate(recordings):
        title = f"{run}: {recording.label}"
        texts[f"worker-{worker}.svg"] = flame_graph(recording.stacks, title, _subtitle(repeated, recording)).encode()
        texts[f"worker-{worker}.speedscope.json"] = speedscope(title, [recording])
    merged = labelled(recordings)
    texts["merged.svg"] = flame_graph(merged.stacks, run, _subtitle(repeated, merged)).encode()
    texts["merged.speedscope.json"] = speedscope(run, [merged, *recordings])
    for name, text in texts.items():
        replace(out / name, text)
    try:
        for path in out.iterdir():
            if _WORKER_FILE.fullmatch(path.name) and path.name not in texts:
                path.unlink()  # of an earlier profile with more workers
    except OSError as error:
        raise OptionError(f"--out {out}: cannot be written ({error.strerror}); choose another folder") from error
    return [out / name for name in texts]


def _subtitle(repeated: Any, recording: Any) -> str:
    return (
        f"{len(recording.stacks):,} samples at {1 / recording.seconds_a_sample:.0f} Hz over {repeated.seconds:.1f} s, "
        f"{repeated.runs} run(s) of {repeated.events // repeated.runs:,} events"
    )


def _print(files: list[Path], repeated: Any, recordings: list[Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from nexmark.stacks import function_shares

    console = Console(width=None if sys.stdout.isatty() else 120)
    workers = Table(title=f"{repeated.runs} run(s) in {repeated.seconds:.1f} s", title_justify="left")
    for name in ("", "samples", "not readable", "asleep %", "looking for work %"):
        workers.add_column(name, justify="right" if name else "left")
    for recording in recordings:
        samples = len(recording.stacks)
        waits = (recording.parked, samples - len(recording.at_work) - recording.parked)
        shares = [f"{100 * wait / samples:.1f}" if samples else "-" for wait in waits]
        workers.add_row(recording.label, f"{samples:,}", f"{recording.unread:,}", *shares)
    console.print(workers)
    stacks = [stack for recording in recordings for stack in recording.at_work]
    top = Table(title=f"top {_TOP} functions by their own share of the time at work, all workers", title_justify="left")
    for name in ("own %", "total %"):
        top.add_column(name, justify="right")
    top.add_column("function", overflow="fold")
    top.add_column("file: its hottest line", overflow="fold")
    by_function = sorted(function_shares(stacks).items(), key=lambda item: (-item[1].own, item[0]))
    for (name, file), share in by_function[:_TOP]:
        own, total = (f"{100 * samples / len(stacks):.1f}" for samples in (share.own, share.total))
        hottest = "".join(f":{line}" for line, _ in share.lines.most_common(1))
        top.add_row(own, total, name, file + hottest)
    console.print(top)
    for path in files:
        click.echo(path)
