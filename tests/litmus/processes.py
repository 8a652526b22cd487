"""Runs functions in real processes over shared memory, each on a core of its own as far as there are any, with a
watchdog that kills them all rather than wait for ever."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest

WATCHDOG_S = 60.0
needs_two_cores = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="two processes run at once on two cores only; tests/model covers it"
)
"""For tests that what is forbidden can be seen: with two cores it must."""


def run_in_processes(*functions: Callable[[], Any], watchdog_s: float = WATCHDOG_S) -> list[Any]:
    """Fork a process for each function; returns what they returned (JSON values), or raises AssertionError with what
    went wrong."""
    sys.stdout.flush()
    sys.stderr.flush()
    children = []
    cores = sorted(os.sched_getaffinity(0))
    for number, function in enumerate(functions):
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            _child(function, write_end, cores[number % len(cores)])
        os.close(write_end)
        children.append((pid, read_end))
    return [_result(answer) for answer in _collect(children, watchdog_s)]


def _collect(children: list[tuple[int, int]], watchdog_s: float) -> list[str]:
    deadline = time.monotonic() + watchdog_s
    waiting = {pid for pid, _ in children}
    hung = False
    while waiting:
        for pid in list(waiting):
            if os.waitpid(pid, os.WNOHANG)[0]:
                waiting.discard(pid)
        if time.monotonic() > deadline and not hung:
            hung = True
            for pid in waiting:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
    answers = []
    for _, read_end in children:
        with os.fdopen(read_end) as pipe:
            answers.append(pipe.read())
    assert not hung, f"hung: the processes were killed after {watchdog_s} s; answers so far: {answers}"
    return answers


def _result(answer: str) -> Any:
    assert answer, "a process ended without an answer"
    result = json.loads(answer)
    assert "error" not in result, result["error"]
    return result["value"]


def _child(function: Callable[[], Any], write_end: int, core: int) -> None:
    """Answers are small enough for the pipe's buffer, so nobody need read them meanwhile."""
    status = 1
    try:
        os.sched_setaffinity(0, {core})
        answer = json.dumps({"value": function()})
        status = 0
    except BaseException:
        answer = json.dumps({"error": traceback.format_exc()[-8000:]})
    finally:
        os.write(write_end, answer.encode())
        os._exit(status)
