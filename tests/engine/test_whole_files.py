"""Hidden names say whose they are: what the dead have left is found and removed, what the living write is not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tokenring.engine.whole_files import given, hidden, keep, leftovers, remove_leftovers
from tokenring.shm.memory import process_start_ticks


def test_the_living_keep_their_parts(tmp_path: Path) -> None:
    target = tmp_path / "answer"
    part = hidden(target, 3)
    assert part.parent == tmp_path
    assert part.name.startswith(".")
    part.touch()
    assert hidden(target, 3) == part
    assert len({hidden(target, 4), hidden(tmp_path / "other", 3), part}) == 3
    assert leftovers(target) == []


def test_whom_no_pid_here_means_keeps_his_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's process that shares the folder: its pid says nothing here, its lock does."""
    target = tmp_path / "answer"
    file, folder = hidden(target, 1), hidden(target, "all")
    folder.mkdir()
    keep(file, made=False)
    keep(folder)
    monkeypatch.setattr("tokenring.engine.whole_files.process_start_ticks", lambda pid: 0)
    assert leftovers(target) == []
    file.write_text("whole")
    given(file)
    given(folder)
    assert leftovers(target) == [file, folder]


def test_what_the_dead_have_left_goes(tmp_path: Path) -> None:
    target = tmp_path / "answer"
    child = subprocess.Popen(["true"])
    child.wait()
    started = process_start_ticks(os.getpid())
    file = tmp_path / f".answer.tokenring-{child.pid}-{started}-0"
    folder = tmp_path / f".answer.tokenring-{os.getpid()}-{started + 1}-all"  # one that had this process's pid
    file.touch()
    (folder / "inside").mkdir(parents=True)
    others = [hidden(target, 1), tmp_path / ".answer.tokenring-mine", tmp_path / ".other.tokenring-1-1-0", target]
    for other in others:
        other.touch()
    assert leftovers(target) == sorted([file, folder])
    remove_leftovers(target)
    assert sorted(tmp_path.iterdir()) == sorted(others)
