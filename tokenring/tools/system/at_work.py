"""What a command does its work under: signals raise, and temporary files have one folder, which goes with it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from tokenring.tools.system.signals import ending_signals_raise


@contextmanager
def at_work() -> Iterator[None]:
    """Within the block, signals raise `Ended`, and whatever makes temporary files, Spark and its JVM included, makes
    them in one folder, which is removed at the end, or by the next command if this one is killed."""
    from tokenring.engine.group import scratch_folder

    with ending_signals_raise(), scratch_folder("work") as folder:
        before, tempfile.tempdir = tempfile.tempdir, str(folder)
        told = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = str(folder)
        try:
            yield
        finally:
            tempfile.tempdir = before
            if told is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = told
