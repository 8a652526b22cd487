"""A staged folder appears whole or not at all, whatever ends the one who makes it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.errors import raises
from tokenring.engine import UsageError
from tokenring.engine.group import remove_leftovers
from tokenring.operators.staging.folder import staging_folder

BUILDER = """
import sys, time
from pathlib import Path
from tokenring.operators.staging.folder import staging_folder
with staging_folder(Path(sys.argv[1]), False, 0) as building:
    (building / "half").write_text("done")
    print("ready", flush=True)
    time.sleep(600)
"""


def start_builder(target: Path) -> subprocess.Popen[str]:
    builder = subprocess.Popen([sys.executable, "-c", BUILDER, str(target)], stdout=subprocess.PIPE, text=True)
    assert builder.stdout is not None
    assert builder.stdout.readline() == "ready\n"
    return builder


def end(builder: subprocess.Popen[str], number: int) -> None:
    assert builder.stdout is not None
    builder.send_signal(number)
    builder.stdout.close()
    builder.wait()


def old_target(path: Path) -> Path:
    path.mkdir()
    (path / "manifest.json").write_text("old")
    return path


def test_it_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "parents" / "events"
    with staging_folder(target, False, 0) as building:
        (building / "manifest.json").write_text("new")
        assert not target.exists()
    assert [path.name for path in target.iterdir()] == ["manifest.json"]
    assert list(target.parent.iterdir()) == [target]


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    def fail_half_way() -> None:
        with staging_folder(tmp_path / "new" / "events", False, 0) as building:
            (building / "half").write_text("done")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []


def test_a_killed_builders_leftover_is_removed_by_the_next_and_a_living_ones_is_not(tmp_path: Path) -> None:
    living, killed = start_builder(tmp_path / "living"), start_builder(tmp_path / "killed")
    try:
        assert len(list(tmp_path.iterdir())) == 2
        end(killed, signal.SIGKILL)
        with staging_folder(tmp_path / "events", False, 0) as building:
            (building / "manifest.json").write_text("new")
        names = sorted(path.name for path in tmp_path.iterdir())
        assert len(names) == 2
        assert names[0].startswith(".tokenring-staging-")
        assert names[1] == "events"
        assert remove_leftovers(tmp_path) == []
    finally:
        end(living, signal.SIGKILL)
    assert len(remove_leftovers(tmp_path)) == 1


def test_a_builder_whom_no_pid_here_means_keeps_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with staging_folder(tmp_path / "events", False, 0) as building:
        monkeypatch.setattr("tokenring.engine.group.scratch.process_start_ticks", lambda pid: 0)
        assert remove_leftovers(tmp_path) == []
        assert building.is_dir()


def test_an_existing_folder_needs_force(tmp_path: Path) -> None:
    target = old_target(tmp_path / "events")
    with raises(UsageError, str(target), "--force", "--out"), staging_folder(target, False, 0):
        pass
    assert (target / "manifest.json").read_text() == "old"
    with staging_folder(target, True, 0) as building:
        (building / "manifest.json").write_text("new")
        assert (target / "manifest.json").read_text() == "old"
    assert (target / "manifest.json").read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failed_replacement_keeps_the_old(tmp_path: Path) -> None:
    target = old_target(tmp_path / "events")
    with pytest.raises(ZeroDivisionError), staging_folder(target, True, 0):
        raise ZeroDivisionError
    assert (target / "manifest.json").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_force_does_not_replace_what_is_no_staged_folder(tmp_path: Path) -> None:
    target = tmp_path / "thesis"
    target.mkdir()
    (target / "chapter1.txt").write_text("precious")
    with raises(UsageError, str(target), "--force", "--out"), staging_folder(target, True, 0):
        pass
    assert (target / "chapter1.txt").read_text() == "precious"


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    target = tmp_path / "events"
    target.mkdir()
    with staging_folder(target, False, 0) as building:
        (building / "manifest.json").write_text("new")
    assert (target / "manifest.json").read_text() == "new"


def test_a_folder_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "events"
    with raises(UsageError, str(target), "--force", "--out"), staging_folder(target, False, 0):
        old_target(target)
    assert (target / "manifest.json").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "events").write_text("")
    with (
        raises(UsageError, str(tmp_path / "events"), "not a folder", "--out"),
        staging_folder(tmp_path / "events", True, 0),
    ):
        pass
    with (
        raises(UsageError, str(tmp_path / "events/x"), os.strerror(20), "--out"),
        staging_folder(tmp_path / "events/x/y", True, 0),
    ):
        pass


def test_a_link_in_the_way(tmp_path: Path) -> None:
    old_target(tmp_path / "real")
    (tmp_path / "events").symlink_to(tmp_path / "real")
    with (
        raises(UsageError, str(tmp_path / "events"), "symbolic link", "--out"),
        staging_folder(tmp_path / "events", True, 0),
    ):
        pass
    assert (tmp_path / "events" / "manifest.json").read_text() == "old"


def test_too_little_space(tmp_path: Path) -> None:
    needed_bytes = shutil.disk_usage(tmp_path).total * 2
    told = raises(UsageError, str(tmp_path), "GB", "--events", "--out")
    with told, staging_folder(tmp_path / "new" / "events", False, needed_bytes):
        pytest.fail("it should not have started")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_told_in_words(tmp_path: Path) -> None:
    def fill_the_disk() -> None:
        with staging_folder(tmp_path / "events", False, 0), open("/dev/full", "wb", buffering=0) as full:
            full.write(b"x")

    with raises(UsageError, "events", "disk is full", "--out"):
        fill_the_disk()
    assert list(tmp_path.iterdir()) == []
