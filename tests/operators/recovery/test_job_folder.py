"""A job's folder: which snapshot is used where files are damaged, and what appears of results, once, whatever happens
in between."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.errors import raises
from tokenring import Batch, RecoveryError, Schema
from tokenring.operators.recovery import JobFolder, Snapshot
from tokenring.operators.recovery.folder import MANIFEST, part_name, write_manifest
from tokenring.operators.recovery.tables import read_table, write_table

NUMBERS = Schema(number="int64?", text="string")


def taken(job: JobFolder, number: int, results: Path, delivers: bool = True) -> Snapshot:
    """A snapshot with one table of state, and one file of results."""
    made = job.begin(number)
    table = write_table(made / "state.arrow", Batch(NUMBERS, {"number": [number, None], "text": ["a", ""]}))
    part = job.path.parent / f".part{number}"
    part.write_text(f"results {number}")
    manifest = {
        "number": number, "finished": False, "workers": [{"tables": [table]}],
        "sinks": [{"folder": str(results), "suffix": ".txt"}],
        "parts": [{"made": str(part), "folder": str(results), "name": f"part-{number:06d}-00000.txt"}],
    }  # fmt: skip
    snapshot = job.finish(made, manifest)
    if delivers:
        job.deliver(snapshot)
    return snapshot


def results_in(folder: Path) -> list[str]:
    return sorted(path.read_text() for path in folder.glob("*"))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "truncated": lambda folder: (folder / "state.arrow").write_bytes((folder / "state.arrow").read_bytes()[:-1]),
    "flipped": lambda folder: flip(folder / "state.arrow"),
    "missing": lambda folder: (folder / "state.arrow").unlink(),
    "no manifest": lambda folder: (folder / MANIFEST).unlink(),
    "half a manifest": lambda folder: (folder / MANIFEST).write_text((folder / MANIFEST).read_text()[:40]),
    "a manifest with a flipped bit": lambda folder: (folder / MANIFEST).write_text(
        (folder / MANIFEST).read_text().replace('"finished"', '"finishee"')
    ),
    "another format": lambda folder: (folder / MANIFEST).write_text('{"format": 999}'),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_the_snapshot_before_a_damaged_one_is_used(
    tmp_path: Path, damage: object, capsys: pytest.CaptureFixture[str]
) -> None:
    job, results = JobFolder(tmp_path / "job"), tmp_path / "results"
    with job.locked():
        taken(job, 1, results)
        damage(taken(job, 2, results).folder)  # type: ignore[operator]
        assert results_in(results) == ["results 1", "results 2"]
        found = job.newest()
        assert found is not None
        assert found.number == 1
        assert results_in(results) == ["results 1"]  # what comes again is taken back
        assert "snapshot 1 is used instead" in capsys.readouterr().err
        taken(job, 3, results)
        found = job.newest()
        assert found is not None
        assert found.number == 3


def test_what_has_appeared_outlives_the_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder has the entries that it had when it was brought to the disk; folders that are made on the way, too."""
    on_disk: dict[Path, set[str]] = {}

    def synced(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path.is_dir():
            on_disk[path] = {entry.name for entry in path.iterdir()}

    monkeypatch.setattr(os, "fsync", synced)
    job, results = JobFolder(tmp_path / "jobs/job"), tmp_path / "results/of/all"
    with job.locked():
        snapshot = taken(job, 1, results)
    for path in (results / "part-000001-00000.txt", snapshot.folder):
        while path != tmp_path:
            assert path.name in on_disk.get(path.parent, ()), path
            path = path.parent


def test_results_are_on_the_disk_before_the_manifest_that_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the end, too, of which no copy of a worker sees to that."""
    synced: list[tuple[str, bool]] = []
    job = JobFolder(tmp_path / "job")

    def note(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        synced.append((path.name.lstrip("."), bool(list(job.path.glob(f"*/*{MANIFEST}")))))

    with job.locked():
        monkeypatch.setattr(os, "fsync", note)
        taken(job, 1, tmp_path / "results", delivers=False)
    assert {("part1", False), (tmp_path.name, False), (MANIFEST, True)} <= {*synced}


def test_snapshots_that_go_while_results_are_delivered_are_told(tmp_path: Path) -> None:
    job = JobFolder(tmp_path / "job")
    with job.locked():
        snapshot = taken(job, 1, tmp_path / "results", delivers=False)
        shutil.rmtree(snapshot.folder)
        with raises(RecoveryError, str(job.path), "went", "put them back"):
            job.deliver(snapshot)
    assert not (tmp_path / "results").exists()


def test_results_wait_for_a_folder_that_is_gone(tmp_path: Path) -> None:
    job, results = JobFolder(tmp_path / "job"), tmp_path / "results"
    with job.locked():
        taken(job, 1, results)
        results.rename(tmp_path / "elsewhere")
        snapshot = taken(job, 2, results, delivers=False)
        for _ in range(2):
            with raises(RecoveryError, str(results), "is gone", "mount it", "empty folder"):
                job.deliver(snapshot)
        results.mkdir()
        job.deliver(snapshot)
    assert results_in(results) == ["results 2"]


def test_a_file_of_another_job_is_no_result_of_this_one(tmp_path: Path) -> None:
    job, results = JobFolder(tmp_path / "job"), tmp_path / "results"
    results.mkdir()
    (results / "part-000001-00000.txt").write_text("another's")
    with job.locked(), raises(RecoveryError, str(results), "another job, part-000001-00000.txt", "a folder of its own"):
        taken(job, 1, results)
    assert results_in(results) == ["another's"]


def test_nor_is_one_with_the_same_rows(tmp_path: Path) -> None:
    """However often the job is started again."""
    job, results = JobFolder(tmp_path / "job"), tmp_path / "results"
    with job.locked():
        snapshot = taken(job, 1, results, delivers=False)
        results.mkdir()
        (results / "part-000001-00000.txt").write_text("results 1")
        for _ in range(2):
            with raises(RecoveryError, str(results), "another job, part-000001-00000.txt"):
                job.deliver(snapshot)


def test_results_that_had_begun_to_appear_do_in_folders_that_were_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy has two files where there were two names of one."""
    job, results = JobFolder(tmp_path / "job"), tmp_path / "results"
    with job.locked():
        snapshot = taken(job, 1, results, delivers=False)
        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", Mock(side_effect=KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                job.deliver(snapshot)
        (copy := results / "copy").write_bytes((named := results / "part-000001-00000.txt").read_bytes())
        copy.rename(named)
        job.deliver(snapshot)
    assert results_in(results) == ["results 1"]
    assert not Path(snapshot.manifest["parts"][0]["made"]).exists()


def test_nothing_begins_anew_where_results_have_appeared(tmp_path: Path) -> None:
    job, results = JobFolder(tmp_path / "job"), tmp_path / "results"
    with job.locked():
        assert job.newest() is None
        flip(taken(job, 1, results).folder / "state.arrow")
        for _ in range(3):
            with raises(RecoveryError, str(job.path), "snapshot 1", "checksum"):
                job.newest()
        DAMAGES["missing"](job.path / "snapshot-000001")
        (job.path / "snapshot-000001" / MANIFEST).unlink()
        (job.path / "snapshot-000001").rmdir()
        with raises(RecoveryError, "snapshots are gone"):
            job.newest()


def test_a_newest_snapshot_that_is_gone_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unless somebody went back behind it, and was told so then."""
    job, results = JobFolder(tmp_path / "job"), tmp_path / "results"
    with job.locked():
        for number in (1, 2, 3):
            taken(job, number, results)
        shutil.rmtree(job.path / "snapshot-000003")
        found = job.newest()
        assert found is not None
        assert found.number == 2
        said = capsys.readouterr().err
        assert "snapshot 3 of" in said
        assert "snapshot 2 is used instead" in said
    job.go_back(1)
    with job.locked():
        assert job.newest() is not None
        taken(job, 4, results)
        assert job.newest() is not None
    assert capsys.readouterr().err == ""
    assert results_in(results) == ["results 1", "results 4"]


def test_a_note_of_what_has_appeared_may_be_lost(tmp_path: Path) -> None:
    """Results appear once more, those that are there no second time. A damaged one is refused, with that cure."""
    job, results = JobFolder(tmp_path / "job"), tmp_path / "results"
    with job.locked():
        for number in (1, 2):
            taken(job, number, results)
        (job.path / "last.json").write_bytes(b"{")
        with raises(RecoveryError, "last.json", "remove that file"):
            job.newest()
        (job.path / "last.json").unlink()
        found = job.newest()
        assert found is not None
        job.deliver(found)
        assert results_in(results) == ["results 1", "results 2"]
        assert job.last == 2


def test_a_folder_may_be_moved(tmp_path: Path) -> None:
    """With results in it that have not appeared yet, and are to go elsewhere from there."""
    job = JobFolder(tmp_path / "job")
    with job.locked():
        taken(job, 1, job.path / "outbox" / "a sink")
        snapshot = taken(job, 2, job.path / "outbox" / "another", delivers=False)
        [part] = snapshot.manifest["parts"]
        Path(part["made"]).rename(job.path / "outbox" / ".made")
        (snapshot.folder / MANIFEST).unlink()
        told = {name: value for name, value in snapshot.manifest.items() if name != "sum"}
        write_manifest(snapshot.folder, {**told, "parts": [{**part, "made": str(job.path / "outbox" / ".made")}]})
    moved = JobFolder(tmp_path / "elsewhere" / "job")
    moved.path.parent.mkdir()
    shutil.move(job.path, moved.path)
    with moved.locked():
        found = moved.newest()
        assert found is not None
        moved.deliver(found)
        assert results_in(moved.path / "outbox" / "another") == ["results 2"]
    moved.path.rename(tmp_path / "again")
    moved = JobFolder(tmp_path / "again")
    with moved.locked():
        (moved.path / "snapshot-000002" / MANIFEST).write_bytes(b"")
        found = moved.newest()
        assert found is not None
        assert results_in(moved.path / "outbox" / "a sink") == ["results 1"]
        assert results_in(moved.path / "outbox" / "another") == []
    assert not job.path.exists()


def test_results_appear_once_whatever_was_done_before(tmp_path: Path) -> None:
    job, results = JobFolder(tmp_path / "job"), tmp_path / "results"
    with job.locked():
        snapshot = taken(job, 1, results, delivers=False)
        assert not results.exists()
        for _ in range(2):
            job.deliver(snapshot)
            assert results_in(results) == ["results 1"]
        assert not list(tmp_path.glob(".part*"))
        (results / "part-000001-00000.txt").unlink()  # somebody has taken it
        job.deliver(snapshot)
        assert not results_in(results)
        snapshot = taken(job, 2, results, delivers=False)
        (tmp_path / ".part2").unlink()
        for _ in range(2):
            with raises(RecoveryError, "part-000002-00000.txt", "gone"):
                job.deliver(snapshot)


def test_results_of_which_some_had_appeared_appear_all(tmp_path: Path) -> None:
    job, results = JobFolder(tmp_path / "job"), tmp_path / "results"
    with job.locked():
        snapshot = taken(job, 1, results, delivers=False)
        part = snapshot.manifest["parts"][0]
        results.mkdir()
        os.link(part["made"], results / part["name"])  # and then it was killed
        job.deliver(snapshot)
        assert results_in(results) == ["results 1"]
        assert not list(tmp_path.glob(".part*"))


def test_what_was_not_finished_is_no_snapshot(tmp_path: Path) -> None:
    job, results = JobFolder(tmp_path / "job"), tmp_path / "results"
    with job.locked():
        taken(job, 1, results)
        (job.begin(2) / "state.arrow").write_bytes(b"")
    with job.locked():
        found = job.newest()
        assert found is not None
        assert found.number == 1
        assert not list(job.path.glob(".making*"))


def test_the_newest_ones_stay(tmp_path: Path) -> None:
    job = JobFolder(tmp_path / "job")
    with job.locked():
        for number in range(1, 5):
            taken(job, number, tmp_path / "results")
        assert [path.name for path in job.prune(2)] == ["snapshot-000002", "snapshot-000001"]
        assert [path.name for path, _, _ in job.all()] == ["snapshot-000004", "snapshot-000003"]


def test_tables_come_back_as_they_were(tmp_path: Path) -> None:
    rows = Batch(NUMBERS, {"number": [0, None, -1, 2**62], "text": ["", "ä", "x" * 1000, "\n"]})
    told = write_table(tmp_path / "rows.arrow", rows)
    back = read_table(tmp_path, told, NUMBERS)
    assert back.to_arrow().to_pydict() == rows.to_arrow().to_pydict()
    assert told["rows"] == 4


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with raises(RecoveryError, str(tmp_path / "file")), JobFolder(tmp_path / "file").locked():
        pass


@pytest.mark.parametrize(
    ("module", "function", "code", "cure"),
    [(os, "pwrite", errno.ENOSPC, "make room"), (tempfile, "mkdtemp", errno.EACCES, "chmod")],
)
def test_a_folder_that_cannot_be_written_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object, function: str, code: int, cure: str
) -> None:
    """And not once all work has been done."""

    def refused(*given: object, **more: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(module, function, refused)
    with raises(RecoveryError, str(tmp_path), os.strerror(code), cure), JobFolder(tmp_path).locked():
        pass


@pytest.mark.parametrize("name", [MANIFEST, "last.json", "job.json", "inserted.json", "state.arrow"])
def test_what_this_user_may_not_read_is_not_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """No other snapshot is used in its place, none is put aside, and nothing is to be removed."""
    job = JobFolder(tmp_path / "job")
    with job.locked():
        job.begun(1)
        for number in (1, 2):
            taken(job, number, job.path / "outbox" / "sink")
    opened = Path.open

    def may_open(path: Path, *given: object, **more: object) -> object:
        if path.name == name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, *given, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", may_open)
    with job.locked():
        with raises(RecoveryError, name, f"user {os.geteuid()}", "chown", "remove nothing"):
            job.newest()
            job.begun(1)
        assert [path.name for path in sorted(job.path.glob("*snapshot-*"), reverse=True)] == [
            "snapshot-000002",
            "snapshot-000001",
        ]


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


HARMS: dict[str, Callable[[Path], object]] = {
    "removed": shutil.rmtree,
    "emptied": empty,
    "moved": lambda folder: folder.rename(folder.with_name("moved")),
    "replaced": lambda folder: (folder.rename(folder.with_name("moved")), folder.mkdir(), (folder / "lock").touch()),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_folder_that_goes_while_it_is_held_is_missed(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    job, results = JobFolder(tmp_path / "job"), tmp_path / "results"
    with job.locked():
        job.require_held()
        taken(job, 1, results)
        harm(job.path)
        with raises(RecoveryError, str(job.path), "snapshot 1", str(results), "put them back", "another folder"):
            job.require_held()


def test_snapshots_that_go_while_the_folder_is_held_are_missed(tmp_path: Path) -> None:
    """With all that would tell another process of them, and what the job is called."""
    job = JobFolder(tmp_path / "job")
    with job.locked():
        job.begun(1)
        folder = taken(job, 1, tmp_path / "results").folder
        for path in (folder, job.path / "last.json", job.path / "job.json"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        with raises(RecoveryError, str(job.path), "snapshot 1", "snapshots are gone"):
            job.newest()
        with raises(RecoveryError, str(job.path), "snapshot 1", "put them back"):
            job.begun(1)


def test_results_are_taken_back_of_the_sinks_that_have_some(tmp_path: Path) -> None:
    """Another's folder may be gone."""
    job, sinks = JobFolder(tmp_path / "job"), [tmp_path / name for name in ("first", "second")]
    with job.locked():
        taken(job, 1, sinks[0])
        folder = taken(job, 2, sinks[0]).folder
        told = {name: value for name, value in job.taken(2).manifest.items() if name != "sum"}  # type: ignore[union-attr]
        write_manifest(folder, told | {"sinks": [{"folder": str(sink), "suffix": ".txt"} for sink in sinks]})
        job._say_last(job.taken(2), True)  # type: ignore[arg-type]
    assert "1 file of results removed" in job.go_back(1)
    assert results_in(sinks[0]) == ["results 1"]


def test_a_folder_of_other_things_is_no_job_s(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text("mine")
    with raises(RecoveryError, str(tmp_path), "job.json", "new or empty"), JobFolder(tmp_path).locked():
        pass
    assert [*tmp_path.iterdir()] == [tmp_path / "job.json"]
    (tmp_path / "job.json").rename(tmp_path / ".hidden")
    (tmp_path / "lost+found").mkdir()
    for _ in range(2):
        with JobFolder(tmp_path).locked():
            (tmp_path / "results").mkdir(exist_ok=True)


@pytest.mark.parametrize("left", ["", "there already", "finished"])
def test_a_folder_that_a_refused_run_has_made_goes_again(tmp_path: Path, left: str) -> None:
    """Another number of workers may come next, who decide in how many shares sources are read."""
    job = JobFolder(tmp_path / "job")
    if left == "there already":
        job.path.mkdir()
    with raises(RecoveryError, "refused"), job.locked():
        job.begun(2)
        if left == "finished":
            (job.path / left).mkdir()
        raise RecoveryError("refused")
    assert job.path.exists() == bool(left)


def test_names_of_results_are_in_their_order() -> None:
    names = [part_name(7, 1, which, ".parquet") for which in range(12)]
    assert names == sorted({*names}) and names[0] == "part-000007-00001.parquet"
