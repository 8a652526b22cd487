"""Temporary folders: gone after use; what a killed owner left goes at the next use, what a living one has stays."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tokenring.engine.group import scratch
from tokenring.engine.group.scratch import new_group_file, owned_file, owned_name, remove_leftovers, scratch_folder
from tokenring.shm.memory.locks import is_held
from tokenring.shm.memory.segment import process_start_ticks

HOLD = """
import sys, time
from pathlib import Path
from tokenring.engine.group.scratch import owned_name, scratch_folder
with scratch_folder("rows", Path(sys.argv[1])) as folder:
    (folder / "deep").mkdir()
    (folder / "deep" / "file").write_text("x" * 1000)
    (Path(sys.argv[1]) / f".{owned_name('file')}").touch()
    print(folder, flush=True)
    time.sleep(600)
"""


def test_it_is_private_and_gone_after_use(tmp_path: Path) -> None:
    with pytest.raises(ArithmeticError), scratch_folder("rows", tmp_path) as folder:  # noqa: PT012
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
        raise ArithmeticError
    assert list(tmp_path.iterdir()) == []


def test_a_dead_owners_goes_and_a_living_ones_stays(tmp_path: Path) -> None:
    others = [tmp_path / "tokenring-rows-mine", tmp_path / "tokenring-notes-1-2", tmp_path / "x-tokenring-a-1-2-ab"]
    for other in others:
        other.mkdir()
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        held = Path(owner.stdout.readline().strip())
        assert remove_leftovers(tmp_path) == []
        owner.kill()
    assert held.is_dir()
    with scratch_folder("profile", tmp_path) as folder:
        assert sorted(tmp_path.iterdir()) == sorted([*others, folder])
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_whom_no_pid_here_means_keeps_what_he_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's process that shares the place: its pid says nothing here, its lock does."""
    monkeypatch.setattr("tokenring.engine.group.scratch.process_start_ticks", lambda pid: 5)
    with scratch_folder("rows", tmp_path) as folder:
        monkeypatch.setattr("tokenring.engine.group.scratch.process_start_ticks", lambda pid: 0)
        assert remove_leftovers(tmp_path) == []
        assert folder.is_dir()
    folder.mkdir()
    assert remove_leftovers(tmp_path) == [folder]


def test_whom_no_pid_here_means_keeps_his_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenring.engine.group.scratch.process_start_ticks", lambda pid: 5)
    with owned_file(tmp_path / "target") as file:
        monkeypatch.setattr("tokenring.engine.group.scratch.process_start_ticks", lambda pid: 0)
        assert remove_leftovers(tmp_path) == []
        file.write_text("whole")
        os.replace(file, tmp_path / "target")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    file.touch()
    assert remove_leftovers(tmp_path) == [file]


def test_a_file_that_was_not_moved_goes_with_the_block(tmp_path: Path) -> None:
    with suppress(ValueError), owned_file(tmp_path / "target") as file:
        file.write_text("half")
        raise ValueError
    assert [*tmp_path.iterdir()] == []


def test_a_reused_pid_is_no_owner(tmp_path: Path) -> None:
    started = process_start_ticks(os.getpid())
    name = owned_name("rows").replace(f"-{os.getpid()}-{started}-", f"-{os.getpid()}-{started - 1}-")
    (tmp_path / name).mkdir()
    (tmp_path / owned_name("rows")).mkdir()
    assert remove_leftovers(tmp_path) == [tmp_path / name]


def test_a_group_s_folder_that_goes_meanwhile_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker whose file was the last in it removes it, before we hold it or have a file there."""
    folder, looks, holds = tmp_path / "group", 0, scratch._holds

    def raced(lock: int) -> bool:
        nonlocal looks
        looks += 1
        if looks == 1:  # and another makes it anew
            folder.rmdir()
            folder.mkdir(mode=0o700)
        found = holds(lock)
        if looks == 2:
            folder.rmdir()
        return found

    monkeypatch.setattr(scratch, "_holds", raced)
    before = len(os.listdir("/proc/self/fd"))
    file, lock = new_group_file(folder / "file")
    with file:
        assert looks == 3
        assert (folder / "file").exists()
        assert os.fstat(lock).st_ino == folder.stat().st_ino
        assert is_held(folder)
        assert len(os.listdir("/proc/self/fd")) == before + 2
    os.close(lock)
    assert not is_held(folder)
