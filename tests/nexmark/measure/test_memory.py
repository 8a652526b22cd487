"""The memory of a group: what its processes have, that of descendants among it."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from tokenring.nexmark.measure import memory
from tokenring.nexmark.measure.memory import anonymous_mb, group_mb, peak_rss_mb, touched_mb

HAVE = """
import sys
mine = bytearray(b"x") * int(sys.argv[1])
print("there", flush=True)
sys.stdin.read()
"""
MB = 10**6


def test_all_that_processes_have_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this process were the launcher: a child's 400 MB, and nothing of it once it has ended. What this process
    has itself becomes less as others that were forked from the same one come to share it."""
    monkeypatch.setattr("os.getppid", os.getpid)
    before = group_mb()
    command = [sys.executable, "-c", HAVE, str(400 * MB)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"there\n"
        grown = group_mb() - before
        child.communicate()
    assert 370 < grown < 450
    assert abs(group_mb() - before) < 50


def test_what_the_system_tells_in_kib_is_told_in_millions_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "Name:\tVmHWM\nVmPeak:\t 9000000 kB\nVmHWM:\t 1000000 kB\nRssAnon:\t  500000 kB\nRssShmem:\t   250000 kB\n"
    asked = []

    def status(path: str, **_: str) -> io.StringIO:
        asked.append(path)
        return io.StringIO(told)

    monkeypatch.setattr(memory, "open", status, raising=False)
    assert (peak_rss_mb(), anonymous_mb(7), touched_mb()) == (1024, 512, 256)
    assert asked == ["/proc/self/status", "/proc/7/status", "/proc/self/status"]
