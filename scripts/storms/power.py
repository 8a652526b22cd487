"""Power failures: a job under recovery runs while all that its processes do to files is noted. Its folders are then
made what a disk may have at some instant of that, and the same command is to come to the same results.

Delta tables are left out: `deltalake` does not wait for the disk (docs/recovery.md).
"""

from __future__ import annotations

import shutil
import sys
from random import Random

from scripts.storms.disk import MANNERS, Call, Disk, calls, paths_of, traced, why_untraced
from scripts.storms.setting import Setting
from scripts.storms.small_job import SINKS, Outcome, command_of

_FAILURES = 5  # of the power, in a run
_NAMING = ("link", "rename", "unlink")  # behind which the power fails more often


def case(setting: Setting, random: Random) -> tuple[str, str]:
    """A run, and power failures at instants of it: in words, and what was wrong."""
    if why := why_untraced():
        sys.exit(f"power: {why}")
    base, notes = setting.new("power"), setting.new("notes")
    base.mkdir()
    notes.mkdir()
    sink, workers = random.choice([*SINKS]), random.choice("12")
    command = command_of(sink, base, workers)
    told = f"{sink}, {workers} workers"
    if wrong := Outcome(traced(command, notes)).complaint(sink, base):
        return told, wrong
    done = calls(notes)
    shutil.rmtree(notes)
    named = [at for at, call in enumerate(done) if call.name in _NAMING and str(base) in _told(call)]
    for _ in range(_FAILURES):
        at = random.choice([random.randrange(len(done)), random.choice(named) + random.randint(0, 3), len(done)])
        manner = random.choice(MANNERS)
        shutil.rmtree(base)
        base.mkdir()
        disk = Disk(base)
        last = [call for call in done[:at] if disk.do(call)][-1:]
        disk.fail(manner, random)
        behind = f"behind {_told(last[0])}" if last else "at the beginning"
        if wrong := Outcome(command).complaint(sink, base):
            return f"{told}; {manner} of what was not synced, {behind}, call {at} of {len(done)}", wrong
    return told, ""


def _told(call: Call) -> str:
    """A call with its paths."""
    return f"{call.name}({', '.join(paths_of(call))})"
