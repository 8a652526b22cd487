"""What `tokenring profile` makes of its recordings: flame graphs, speedscope files, and tables of where time went."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from tokenring.tools.errors import OptionError
from tokenring.tools.system import console_of, print_table, replace

_TOP = 15
_WORKER_FILE = re.compile(r"worker-\d+\.(svg|speedscope\.json)")


@contextmanager
def output_folder(out: Path) -> Iterator[None]:
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


def write_profile(out: Path, run: str, during: str, recordings: list[Any]) -> list[Path]:
    """Make all texts, then write the files, each whole; returns them. The graphs say which run it was, and what it did
    while it was looked at."""
    from tokenring.tools.profile.flame_graph import flame_graph
    from tokenring.tools.profile.stacks import labelled, speedscope

    texts: dict[str, bytes] = {}
    for worker, recording in enumerate(recordings):
        title = f"{run}: {recording.label}"
        texts[f"worker-{worker}.svg"] = flame_graph(recording.stacks, title, _subtitle(during, recording)).encode()
        texts[f"worker-{worker}.speedscope.json"] = speedscope(title, [recording])
    merged = labelled(recordings)
    texts["merged.svg"] = flame_graph(merged.stacks, run, _subtitle(during, merged)).encode()
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


def _subtitle(during: str, recording: Any) -> str:
    return f"{len(recording.stacks):,} samples at {1 / recording.seconds_a_sample:.0f} Hz over {during}"


def print_profile(files: list[Path], title: str, recordings: list[Any], err: bool = False) -> None:
    """Say for each worker how it spent its time, then which functions took most of the work, then what was written; on
    stdout, or on stderr where stdout is somebody else's."""
    from rich.table import Table

    from tokenring.tools.profile.stacks import function_shares

    console = console_of(err)
    workers = Table(title=title, title_justify="left")
    for name in ("", "samples", "not readable", "asleep %", "looking for work %"):
        workers.add_column(name, justify="right" if name else "left")
    for recording in recordings:
        samples = len(recording.stacks)
        waits = (recording.parked, samples - len(recording.at_work) - recording.parked)
        shares = [f"{100 * wait / samples:.1f}" if samples else "-" for wait in waits]
        workers.add_row(recording.label, f"{samples:,}", f"{recording.unread:,}", *shares)
    print_table(workers, console)
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
    print_table(top, console)
    if any(recording.is_anonymous for recording in recordings):
        click.echo("tokenring: compiled operators have no names here: /proc/PID/mem may not be read", err=True)
    for path in files:
        click.echo(path, err=err)
