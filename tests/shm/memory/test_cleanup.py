"""Reclaiming: what a killed owner left goes, what a living one has stays, whatever became of the pid."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tokenring.shm.memory.cleanup import leftovers, reclaim
from tokenring.shm.memory.layout import Layout
from tokenring.shm.memory.segment import Segment, process_start_ticks
from tokenring.shm.queues import ParkingLot

SHM = Path("/dev/shm")
MAKE_AND_WAIT = """
import signal
from tokenring.shm.memory.layout import Layout
from tokenring.shm.queues.parking import ParkingLot
from tokenring.shm.memory.segment import Segment
segment = Segment.create(Layout(2, 64, 256))
print(segment.name, flush=True)
signal.pause()
"""


def test_what_a_killed_owner_left_is_removed_and_not_before(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", MAKE_AND_WAIT], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    name = owner.stdout.readline().strip().lstrip("/")
    assert (SHM / name).exists()
    assert name not in leftovers()
    assert name not in reclaim()
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    reclaim()  # or another launcher on this machine, which may have been quicker
    assert not (SHM / name).exists()
    (tmp_path / name).touch()
    assert reclaim(str(tmp_path)) == [name]


def test_our_own_segment_stays() -> None:
    segment = Segment.create(Layout(2, 64, 256))
    assert segment.name is not None
    reclaim()
    assert (SHM / segment.name.lstrip("/")).exists()
    segment.unlink()
    segment.close()


def test_a_living_launcher_whom_no_pid_here_means_keeps_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """One in a container that shares /dev/shm: its pid says nothing here, its lock does."""
    segment = Segment.create(Layout(2, 64, 256))
    lot = ParkingLot(2, keep_names=True)
    assert segment.name is not None
    names = {segment.name.lstrip("/"), *[f"sem.{name.lstrip('/')}" for name in lot.names]}
    monkeypatch.setattr("tokenring.shm.memory.cleanup.process_start_ticks", lambda pid: 0)
    assert not names & {*leftovers()}
    segment.close()  # as its end closes it
    assert names <= {*leftovers()}
    lot.unlink()
    segment.unlink()


@pytest.mark.parametrize("prefix", ["", "sem."])
@pytest.mark.parametrize("suffix", ["", "-3"])
def test_a_reused_pid_is_not_the_owner(tmp_path: Path, prefix: str, suffix: str) -> None:
    mine = os.getpid()
    before = tmp_path / f"{prefix}tokenring-{mine}-{process_start_ticks(mine) - 1}-0123456789abcdef{suffix}"
    now = tmp_path / f"{prefix}tokenring-{mine}-{process_start_ticks(mine)}-0123456789abcdef{suffix}"
    before.touch()
    now.touch()
    assert reclaim(str(tmp_path)) == [before.name]
    assert now.exists()


def test_other_files_are_nobodys_business(tmp_path: Path) -> None:
    names = [
        "tokenring",
        "tokenring-x-1-ab",
        "tokenring-1-2-",
        "other-1-2-ab",
        "tokenring-1-2-xyz",
        "xtokenring-1-2-ab",
    ]
    for name in names:
        (tmp_path / name).touch()
    assert reclaim(str(tmp_path)) == []
    assert sorted(os.listdir(tmp_path)) == sorted(names)


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    assert reclaim(str(tmp_path / "none")) == []


def test_what_cannot_be_removed_is_skipped(tmp_path: Path) -> None:
    folder = tmp_path / "tokenring-1-2-ab"
    folder.mkdir()  # unlink refuses, as it does for another user's file
    (tmp_path / "tokenring-1-2-cd").touch()
    assert reclaim(str(tmp_path)) == ["tokenring-1-2-cd"]
