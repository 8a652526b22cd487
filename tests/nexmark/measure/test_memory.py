"""The memory of a group: what its processes have, that of descendants among it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tokenring.nexmark.measure.memory import group_mb

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
