"""Full disks: a job under recovery runs where there is little room. Once there is more, the same command is to come to
the results of a run that had it from the first.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from scripts.storms.setting import Setting
from scripts.storms.small_job import SINKS, Outcome, command_of

_ROOMY_KIB = 1 << 16


def why_unmounted() -> str:
    """Why no disk of a size can be had here; "" if one can."""
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True)
    return "" if done.returncode == 0 else f"no disk of a size can be mounted: {done.stderr.decode().strip()}"


def case(setting: Setting, random: Random) -> tuple[str, str]:
    """A run with little room, which may get more meanwhile, and one with enough: in words, and what was wrong."""
    if why := why_unmounted():
        sys.exit(f"full: {why}")
    sink, workers, base = random.choice([*SINKS]), random.choice("12"), setting.new("full")
    base.mkdir()
    kib, after_s = random.randrange(8, 200, 4), random.choice([0.0, 0.5, 1.0, 1.5])
    told = f"{sink}, {workers} workers, {kib} KiB" + (f", and enough after {after_s} s" if after_s else "")
    command = command_of(sink, base, workers)
    with _disk(base, kib):
        more = threading.Timer(after_s, _size, (base, _ROOMY_KIB))
        if after_s:
            more.start()
        outcome = Outcome(command)
        if after_s:
            more.join()
        if outcome.status is None or "BrokenInvariant" in outcome.said:
            return told, f"it hangs, or is broken: {outcome.said[-400:]!r}"
        if outcome.status and "No space left" not in outcome.said and "disk is full" not in outcome.said:
            return told, f"status {outcome.status}, and nothing says that the disk is full: {outcome.said[-400:]!r}"
        if outcome.status == 0 and (wrong := outcome.complaint(sink, base)):
            return told, f"it ended: {wrong}"
        _size(base, _ROOMY_KIB)
        return told, Outcome(command).complaint(sink, base)


@contextmanager
def _disk(base: Path, kib: int) -> Iterator[None]:
    """Within the block a disk of that size is there."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tokenring", base], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", base], check=True)


def _size(base: Path, kib: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={kib}k", base], check=True)
