"""A progress bar on a terminal's stderr, and nothing at all anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[str, float, float], None]


def silent(_what: str, _done: float, _of: float) -> None:
    """The progress of a pipe."""


@contextmanager
def progress_bar() -> Iterator[Advance]:
    """Yields a function to call with what is being done, how much is done, and how much there is."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<16}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        tasks: dict[str, TaskID] = {}

        def advance(what: str, done: float, of: float) -> None:
            if what not in tasks:
                for task in tasks.values():
                    bar.update(task, completed=bar.tasks[task].total)
                tasks[what] = bar.add_task(what, total=of)
            bar.update(tasks[what], completed=done, total=of)

        yield advance
        for task in tasks.values():
            bar.update(task, completed=bar.tasks[task].total)


@contextmanager
def progress_line(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Like `progress_bar` for one task, but without a thread, since processes are forked meanwhile: drawn when it is
    called.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<16}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)
    task = bar.add_task(what, total=None)
    drawn = False

    def advance(done: int, of: int) -> None:
        nonlocal drawn
        if not drawn:
            drawn = True
            bar.start()
        bar.update(task, completed=done, total=of)
        bar.refresh()

    try:
        yield advance
    finally:
        if drawn:
            bar.stop()
