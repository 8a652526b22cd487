"""Sampled stacks: read from py-spy's speedscope files, labelled by worker, written as speedscope files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from tokenring.tools.profile.frame import Frame
from tokenring.tools.profile.kernel_calls import kernel_called_at, shortened
from tokenring.tools.profile.operators import WAITS_IN_LOOP, Seen, share_out

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_PROGRAM = ("live", "engine/group/child.py")
"""The frame above which a worker's own program begins; what is below it was the launcher's stack when it forked."""
_GATE = ("wait_at_gate", "tools/profile/gate.py")
_PARKED = ("ParkingLot.wait", "shm/queues/parking.py")
_WAITS = {
    _PARKED,
    ("Worker._park", "engine/worker/worker.py"),
    ("Agreement._wait", "engine/worker/agreement.py"),
    (WAITS_IN_LOOP, "engine/native/loop.py"),
}
_WORKS = ("RunningOperator.run", "engine/running/operator.py")


Stack = tuple[Frame, ...]
"""From the outermost call to the innermost."""


@dataclass
class Recording:
    """What one py-spy saw: a stack for each sample, in the order of time. unread: samples that failed. is_anonymous:
    compiled operators could not be told apart."""

    label: str
    stacks: list[Stack]
    seconds_a_sample: float
    unread: int = 0
    is_anonymous: bool = False

    @property
    def parked(self) -> int:
        """Samples in which the worker slept for want of work."""
        return sum(_is_in(stack, _PARKED) for stack in self.stacks)

    @property
    def at_work(self) -> list[Stack]:
        """Samples in which it neither slept nor looked whether there was something to do."""
        return [stack for stack in self.stacks if not is_waiting(stack)]


@dataclass
class FunctionShare:
    """Samples in which a function was innermost (`own`), or anywhere on the stack (`total`)."""

    own: int = 0
    total: int = 0
    lines: Counter[int] = field(default_factory=Counter)


def is_waiting(stack: Stack) -> bool:
    """Whether a worker waits, asleep or looking for work again and again: what it finds and runs is work."""
    for frame in reversed(stack):
        if frame[:2] == _WORKS:
            return False
        if frame[:2] in _WAITS:
            return True
    return False


def read_recording(path: Path, label: str, frequency: int, unread: int, seen: Seen) -> Recording:
    """Take in one worker's file, with a kernel as the innermost frame where the line calls one, and within the inner
    loop what was seen of it; raises ValueError if it is not what py-spy writes."""
    document = orjson.loads(path.read_bytes())
    frames, kernels = [], {}
    for at, entry in enumerate(document["shared"]["frames"]):
        file, line = entry.get("file") or "", entry.get("line") or 0
        frames.append(Frame(entry["name"], shortened(file), line))
        kernel = kernel_called_at(file, line)
        if kernel is not None:
            kernels[at] = kernel._replace(file=shortened(kernel.file))
    threads = document["profiles"]
    stacks: list[Stack] = []
    for thread in threads:
        above = (Frame(thread["name"]),) if len(threads) > 1 else ()
        of_thread: list[Stack] = []
        for sample in thread["samples"]:
            innermost = tuple([kernels[at] for at in sample[-1:] if at in kernels])
            of_thread.append(above + _program([frames[at] for at in sample]) + innermost)
        stacks += share_out(of_thread, seen, 1 / frequency)
    during = [stack for stack in stacks if not _is_in(stack, _GATE)]
    return Recording(label, during, 1 / frequency, unread, seen.denied)


def labelled(recordings: Sequence[Recording]) -> Recording:
    """All samples in one, each under its worker's label."""
    stacks = [(Frame(recording.label), *stack) for recording in recordings for stack in recording.stacks]
    return Recording("all workers", stacks, recordings[0].seconds_a_sample, sum(r.unread for r in recordings))


def speedscope(name: str, recordings: Iterable[Recording]) -> bytes:
    """A speedscope file with one profile for each recording over shared frames."""
    numbers: dict[Frame, int] = {}
    profiles = []
    for recording in recordings:
        samples = [[numbers.setdefault(frame, len(numbers)) for frame in stack] for stack in recording.stacks]
        profiles.append(
            {
                "type": "sampled",
                "name": recording.label,
                "unit": "seconds",
                "startValue": 0,
                "endValue": len(samples) * recording.seconds_a_sample,
                "samples": samples,
                "weights": [recording.seconds_a_sample] * len(samples),
            }
        )
    document: dict[str, Any] = {
        "$schema": _SCHEMA,
        "name": name,
        "exporter": "tokenring profile",
        "activeProfileIndex": 0,
        "profiles": profiles,
        "shared": {"frames": [_frame_entry(frame) for frame in numbers]},
    }
    return orjson.dumps(document)


def function_shares(stacks: Iterable[Stack]) -> dict[tuple[str, str], FunctionShare]:
    """Samples by function (name, file); a function that calls itself counts once a sample."""
    shares: dict[tuple[str, str], FunctionShare] = {}
    for stack in stacks:
        for function in {(frame.name, frame.file) for frame in stack if frame.file}:
            shares.setdefault(function, FunctionShare()).total += 1
        if stack and stack[-1].file:
            innermost = shares[stack[-1].name, stack[-1].file]
            innermost.own += 1
            innermost.lines[stack[-1].line] += 1
    return shares


def _program(frames: Sequence[Frame]) -> Stack:
    for at in range(len(frames) - 1, -1, -1):
        if frames[at][:2] == _PROGRAM:
            return tuple(frames[at + 1 :])
    return tuple(frames)


def _is_in(stack: Stack, function: tuple[str, str]) -> bool:
    return bool(stack) and stack[-1][:2] == function


def _frame_entry(frame: Frame) -> dict[str, Any]:
    return {"name": frame.name, "file": frame.file, "line": frame.line} if frame.file else {"name": frame.name}
