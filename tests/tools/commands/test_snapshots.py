"""`tokenring snapshots`: what a job's folder holds, what of it is damaged, and the state in it."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest

from tests.copies import in_a_copy
from tests.errors import raises
from tests.nexmark.helpers import Outcome, tokenring
from tests.tools.commands.jobs import KEYS, WINDOW, Job
from tokenring.engine import RecoveryError
from tokenring.nexmark.commands import main
from tokenring.operators.recovery import JobFolder
from tokenring.operators.recovery.folder import write_json, write_manifest

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a job that was ended, with two snapshots."""
    job = Job(tmp_path_factory.mktemp("ended"))
    with job.start("--every", "50ms") as command:
        job.wait_for(3)
        command.kill(command.pid, signal.SIGTERM)  # which comes to nothing half done
        command.end()
    return job.kept


@pytest.fixture
def kept(ended: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(ended, tmp_path / "job")
    return tmp_path / "job"


def numbers_in(folder: Path) -> list[int]:
    return sorted([int(path.name.removeprefix("snapshot-")) for path in folder.glob("snapshot-*")], reverse=True)


def listed(capsys: Capture, folder: Path) -> dict:  # type: ignore[type-arg]
    found = tokenring(capsys, "snapshots", folder, "--json")
    assert (found.status, found.err) == (0, "")
    made: dict = orjson.loads(found.out)  # type: ignore[type-arg]
    return made


def test_snapshots_are_listed_the_newest_first(capsys: Capture, kept: Path) -> None:
    found = listed(capsys, kept)
    last = orjson.loads((kept / "last.json").read_bytes())["number"]
    assert found["folder"] == str(kept) and found["results_up_to"] == last
    assert (found["finished"], found["process"]) == (False, None)
    assert [one["number"] for one in found["snapshots"]] == numbers_in(kept) and len(numbers_in(kept)) == 2
    for one in found["snapshots"]:
        folder = kept / f"snapshot-{one['number']:06d}"
        tables = [pa.ipc.open_file(path.read_bytes()).read_all() for path in folder.glob("*.arrow")]
        assert one["rows"] == sum(table.num_rows for table in tables) > 0
        assert one["bytes"] == one["new_bytes"] == sum(path.stat().st_size for path in folder.glob("*.arrow"))
        assert (one["whole"], one["problem"], one["workers"], one["shares"]) == (True, "", 2, 2)
    printed = tokenring(capsys, "snapshots", kept)
    *_, state = printed.out.splitlines()
    assert state == f"the job is not finished; results up to snapshot {last} have appeared; no run holds the folder"
    assert printed.out.count(" yes ") == 2 and (printed.status, printed.err) == (0, "")


@pytest.mark.parametrize("harm", ["flipped bit", "truncated", "gone", "no manifest", "no JSON", "other format"])
def test_a_damaged_snapshot_is_told_and_another_used(capsys: Capture, kept: Path, harm: str) -> None:
    newest, before = numbers_in(kept)
    folder = kept / f"snapshot-{newest:06d}"
    table = next(path for path in sorted(folder.glob("*.arrow")) if path.stat().st_size)
    content = table.read_bytes()
    manifest = folder / "manifest.json"
    if harm == "flipped bit":
        table.write_bytes(content[:-9] + bytes([content[-9] ^ 4]) + content[-8:])
    elif harm == "truncated":
        table.write_bytes(content[:-1])
    elif harm == "gone":
        table.unlink()
    elif harm == "no manifest":
        manifest.unlink()
    elif harm == "no JSON":
        manifest.write_bytes(manifest.read_bytes()[:-3])
    else:
        manifest.write_bytes(manifest.read_bytes().replace(b'"format": 4', b'"format": 99'))
    named = table if harm in ("flipped bit", "truncated", "gone") else folder if harm == "other format" else manifest
    broken, whole = listed(capsys, kept)["snapshots"]
    assert (broken["number"], broken["whole"]) == (newest, False) and str(named) in broken["problem"]
    assert (whole["number"], whole["whole"]) == (before, True)
    printed = tokenring(capsys, "snapshots", kept)
    assert printed.status == 0 and f"snapshot {newest} cannot be used: {broken['problem']}" in printed.out
    assert orjson.loads(tokenring(capsys, "snapshots", kept, "--operators", "--json").out)["number"] == before
    refused = tokenring(capsys, "snapshots", kept, "--operators", "--number", str(newest))
    assert (refused.status, refused.out) == (2, "") and broken["problem"] in refused.err
    assert tokenring(capsys, "snapshots", kept, "--prune", "1").status == 0
    assert numbers_in(kept) == [newest, before], "one that is whole stays"


def test_old_ones_are_removed(capsys: Capture, kept: Path) -> None:
    newest, before = numbers_in(kept)
    assert tokenring(capsys, "snapshots", kept, "--prune", "2").out == "removed: nothing\n"
    assert tokenring(capsys, "snapshots", kept, "--prune", "1").out == f"removed: {before}\n"
    assert numbers_in(kept) == [newest]
    assert sorted(path.name for path in kept.iterdir())[:2] == ["job.json", "last.json"]
    shutil.rmtree(kept / f"snapshot-{newest:06d}")
    refused = tokenring(capsys, "snapshots", kept, "--prune", "1")
    assert (refused.status, refused.err.count("\n")) == (2, 1) and "that is whole" in refused.err


def told_in(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = orjson.loads((folder / "manifest.json").read_bytes())
    del manifest["sum"]
    return manifest


def test_after_going_back_newer_ones_and_their_results_are_gone(capsys: Capture, kept: Path, tmp_path: Path) -> None:
    newest, before = numbers_in(kept)
    results = tmp_path / "results"
    results.mkdir()
    folder = kept / f"snapshot-{before:06d}"
    write_manifest(folder, told_in(folder) | {"sinks": [{"folder": str(results), "suffix": ".parquet"}]})
    write_json(kept / "last.json", {"number": newest, "all": True})
    for number in (before, newest, 1_000_000):
        (results / f"part-{number:06d}-00000.parquet").touch()
    said = JobFolder(kept).go_back(before)
    assert f"{kept} is back at snapshot {before}: 1 newer snapshot and 2 files of results removed" in said
    assert [path.name for path in results.iterdir()] == [f"part-{before:06d}-00000.parquet"]
    found = listed(capsys, kept)
    assert numbers_in(kept) == [one["number"] for one in found["snapshots"]] == [before]
    assert found["results_up_to"] == before
    for wrong in (newest, before + 100):
        with raises(RecoveryError, str(kept), f"no snapshot {wrong}", f"there are: {before}"):
            JobFolder(kept).go_back(wrong)


def test_state_of_an_operator_is_an_arrow_file(capsys: Capture, kept: Path, tmp_path: Path) -> None:
    newest, before = numbers_in(kept)
    for number, given in ((newest, ()), (before, ("--number", str(before)))):
        told = orjson.loads(tokenring(capsys, "snapshots", kept, "--operators", "--json", "-", *given).out)
        (operator,) = told["operators"]
        (table,) = operator["tables"]
        assert (told["number"], operator["name"], table["table"]) == (number, "aggregate", 0)
        file = tmp_path / "state.arrow"
        done = tokenring(capsys, "snapshots", kept, "--export", "aggregate", file, *given)
        assert done.out == f"{file}: {table['rows']:,} rows of 'aggregate' at snapshot {number}\n"
        rows = pa.ipc.open_file(file.read_bytes()).read_all()
        assert rows.num_rows == table["rows"] and list(table["columns"]) == rows.schema.names
        groups = set(zip(rows[0].to_pylist(), rows[1].to_pylist(), strict=True))
        assert len(groups) == rows.num_rows
        assert {end % WINDOW for end, _ in groups} == {0} and {key for _, key in groups} <= set(range(KEYS))
    printed = tokenring(capsys, "snapshots", kept, "--operators")
    assert printed.out.splitlines()[0] == f"snapshot {newest}" and "    aggregate: " in printed.out


def test_several_tables_are_a_file_each(capsys: Capture, kept: Path, tmp_path: Path) -> None:
    """By a manifest that says so of the files of two workers."""
    newest, _ = numbers_in(kept)
    folder = kept / f"snapshot-{newest:06d}"
    told = told_in(folder)
    rows = []
    for number, worker in enumerate(told["workers"]):
        (table,) = [file for file in worker["tables"] if file.get("operator") == "aggregate"]
        table["table"] = number
        rows.append(table["rows"])
    write_manifest(folder, told)
    done = tokenring(capsys, "snapshots", kept, "--export", "aggregate", tmp_path / "state.arrow", "--json")
    files = [str(tmp_path / f"state.{number}.arrow") for number in (0, 1)]
    assert [file["file"] for file in orjson.loads(done.out)["files"]] == files
    assert [pa.ipc.open_file(Path(file).read_bytes()).read_all().num_rows for file in files] == rows
    assert not (tmp_path / "state.arrow").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone"], ("gone", "No such file or directory")),
        (["empty"], ("empty", "no run has kept its snapshots")),
        (["other"], ("other", "no run has kept its snapshots")),
        (["file"], ("file", "Not a directory")),
        (["job", "--export", "agregate", "state.arrow"], ("'agregate'", "did you mean 'aggregate'?")),
        (["job", "--export", "join", "state.arrow"], ("'join'", "there are: 'aggregate'")),
        (["job", "--export", "aggregate", "empty"], ("--export empty", "it is a folder")),
        (["job", "--export", "aggregate", "gone/state.arrow"], ("--export gone/state.arrow", "make it first")),
        (["job", "--export", "aggregate", "a.arrow", "--json", "./a.arrow"], ("--export a.arrow", "two files")),
        (["job", "--operators", "--number", "999"], ("no snapshot 999", "there are: ")),
        (["job", "--operators", "--prune", "1"], ("--operators", "--prune", "give one")),
        (["job", "--number", "1"], ("--number", "--export")),
        (["job", "--prune", "0"], ("--prune",)),
    ],
)
def test_what_cannot_be_told_is_one_line(
    capsys: Capture, kept: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: tuple[str, ...]
) -> None:
    monkeypatch.chdir(kept.parent)
    for folder in ("empty", "other"):
        (kept.parent / folder).mkdir()
    (kept.parent / "other" / "data.csv").touch()
    (kept.parent / "file").touch()
    before = numbers_in(kept)
    done = tokenring(capsys, "snapshots", *arguments)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1), done.err
    assert all(one in done.err for one in said), done.err
    assert numbers_in(kept) == before and list((kept.parent / "empty").iterdir()) == []


def test_without_permission_it_is_one_line(kept: Path) -> None:
    def program() -> None:
        if os.geteuid() == 0:  # who may read everything
            os.setgroups([])
            os.setuid(65534)
        main(["snapshots", str(kept)])

    kept.chmod(0)
    done = in_a_copy(program, ("tokenring",), kept.parent, kept.parent)
    kept.chmod(0o700)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert str(kept) in done.stderr and "Permission denied" in done.stderr


def test_of_a_job_before_its_first_snapshot_and_after_its_end(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "lock").touch()
    said: Outcome = tokenring(capsys, "snapshots", tmp_path / "job")
    assert said.out == "no snapshot yet\nthe job is not finished; no results; no run holds the folder\n"
    (tmp_path / "job" / "lock").unlink()
    job = Job(tmp_path)
    job.let_go()
    with job.start() as command:
        command.end()
    found = listed(capsys, job.kept)
    end = found["snapshots"][0]
    assert found["finished"] and end["finished"] and end["number"] == found["results_up_to"]
    assert "the job is finished; " in tokenring(capsys, "snapshots", job.kept).out
    refused = tokenring(capsys, "snapshots", job.kept, "--export", "aggregate", tmp_path / "state.arrow")
    assert (refused.status, refused.out) == (2, "") and "the job was finished with it" in refused.err
