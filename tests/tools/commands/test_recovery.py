"""`tokenring run --recovery`: whatever ends it, the same command goes on, and each result is there once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.copies import in_a_copy
from tests.tools.commands.jobs import Job, expected
from tokenring.nexmark.commands import main
from tokenring.operators.recovery import JobFolder


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.mark.parametrize(
    ("number", "everybody", "function"),
    [
        (signal.SIGTERM, False, "flow"),
        (signal.SIGTERM, True, "of_worker"),
        (signal.SIGINT, True, "flow"),
        (signal.SIGINT, False, "of_worker"),
        (signal.SIGKILL, False, "flow"),
    ],
)
def test_whatever_ends_it_the_same_command_goes_on(job: Job, number: int, everybody: bool, function: str) -> None:
    with job.start("--every", "50ms", function=function, fresh=everybody) as command:
        command.wait_for_workers(2, cpu_s=0)
        job.wait_for_results()
        if everybody:
            os.killpg(command.pid, number)
        else:
            command.kill(command.pid, number)
        status, out, err = command.end()
    said = {signal.SIGTERM: "ended by SIGTERM", signal.SIGINT: "interrupted"}
    if number == signal.SIGKILL:
        assert (status, out, err) == (-number, "", "")
    else:
        assert (status, out, err) == (128 + number, "", f"tokenring: error: {said[signal.Signals(number)]}\n")
    before = job.parts()
    assert before and job.results() < expected()
    job.let_go()
    with job.start(function=function, workers=1) as command:
        assert command.end() == (0, "", "")
    assert job.parts() > before
    assert job.results() == expected()


ROOT = Path(__file__).parents[3]
FAILING = """
import tokenring as tr


def flow(scope):
    rows = scope.from_generator(tr.Schema("at n"), lambda: iter([{"at": [1, 2, 3], "n": [2, 0, 1]}]), time="at")
    rows.with_columns(share=10 // tr.col("n")).to_json_lines("out")
"""


def tokenring(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tokenring", *arguments], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_a_row_that_fails_twice_ends_it_or_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("failing.py").write_text(FAILING)
    command = ["run", "failing.py:flow", "--workers", "1", "--recovery", "job"]
    ended = tokenring(*command)
    assert ended.returncode == 1
    assert "division by zero" in ended.stderr and "failed so twice, from snapshot 0" in ended.stderr
    assert "Traceback" not in ended.stderr
    ended = tokenring(*command, "--dead-letters")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "second time" in ended.stderr and "dead-letters/with_columns" in ended.stderr
    rows = [orjson.loads(line) for part in Path("out").iterdir() for line in part.read_bytes().splitlines()]
    assert [(row["at"], row["share"]) for row in rows] == [(1, 5), (3, 10)]
    listed = tokenring("snapshots", "job", "--json")
    assert [one["rows"] for one in orjson.loads(listed.stdout)["dead_letters"]] == [1]
    refused = tokenring("run", "failing.py:flow", "--dead-letters")
    assert refused.returncode == 2 and "--recovery DIR" in refused.stderr


def test_a_job_that_was_finished_is_not_done_again(job: Job) -> None:
    job.let_go()
    with job.start("--json") as command:
        status, out, err = command.end()
    assert (status, orjson.loads(out), err) == (0, {"workers": 2, "stopped": None}, "")
    before = job.parts()
    with job.start() as command:
        status, out, err = command.end()
    assert (status, out) == (0, "") and err.count("\n") == 1
    assert str(job.kept) in err and "finished" in err
    assert job.parts() == before and job.results() == expected()


def test_it_goes_back_to_a_snapshot_on_purpose(job: Job) -> None:
    with job.start("--every", "50ms") as command:
        job.wait_for_results()
        number = job.wait_for(3).number
        job.wait_for(number + 3)
        command.kill(command.pid, signal.SIGTERM)
        assert command.end()[0] == 143
    newest = job.wait_for(1).number
    job.let_go()
    with job.start("--from", str(newest - 2)) as command:
        status, _, err = command.end()
    assert status == 2 and f"--from {newest - 2}" in err and f"there are: {newest}, {newest - 1}" in err
    assert err.count("\n") == 1 and f"part-{newest:06d}-00000.parquet" in job.parts() and job.wait_for(newest)
    newer = {name for name in job.parts() if name.startswith(f"part-{newest:06d}-")}
    with job.start("--from", str(newest - 1)) as command:
        status, out, err = command.end()
    assert (status, out) == (0, "") and err.count("\n") == 1
    assert f"back at snapshot {newest - 1}: 1 newer snapshot and {len(newer)} file" in err and newer
    assert not newer & job.parts() and job.results() == expected()


def test_another_program_goes_on_with_what_is_its(job: Job) -> None:
    with job.start("--every", "50ms") as command:
        job.wait_for_results()
        command.kill(command.pid, signal.SIGKILL)
        command.end()
    job.let_go()
    job.program.write_text(job.program.read_text().replace("by=\"key\",", "by=\"key\", name=\"totals\","))
    with job.start(workers=1) as command:
        status, out, err = command.end()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "operator 'aggregate'" in err and "--drop aggregate," in err and "new in this program: operator" in err
    before = job.results()
    with job.start("--drop", "aggregate", "--drop", "another", workers=1) as command:
        status, out, err = command.end()
    assert (status, out, err.count("\n")) == (0, "", 1)
    assert "operator 'totals' is new; operator 'aggregate' is let go" in err
    assert before < job.results() and job.results() != expected()


@pytest.mark.parametrize("function", ["collecting", "streaming"])
def test_what_would_be_lost_is_refused(job: Job, function: str) -> None:
    with job.start(function=function, workers=1) as command:
        status, out, err = command.end()
    assert (status, out) == (1, "") and err.count("\n") == 1
    assert f"app.py:{function}" in err and "to_parquet(folder)" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["app.py", "--recovery", "job"], ("app.py:FLOW", "tr.run", "recovery=tr.Recovery('job')")),
        (["app.py:flow", "--every", "5s"], ("--every", "--recovery DIR")),
        (["app.py:flow", "--from", "5"], ("--from", "--recovery DIR")),
        (["app.py:flow", "--drop", "it"], ("--drop", "--recovery DIR")),
        (["app.py:flow", "--recovery", "job", "--every", "5"], ("--every 5", "duration", "'1h'")),
        (["app.py:flow", "--recovery", "job", "--every", "0s"], ("--every 0s", "duration", "'1h'")),
        (["app.py:flow", "--recovery", "job", "--drop", ""], ("error: --drop", "list of names")),
        (["app.py:flow", "--recovery", "job", "--start", "spawn"], ("--start spawn", "--recovery", "leave one out")),
        (["app.py:flow", "--recovery", "job", "--max-workers", "3"], ("--max-workers", "leave one out")),
        (["app.py:flow", "--recovery", "job", "--from", "5"], ("--from 5", "job", "No such file or directory")),
        (["app.py:flow", "--recovery", "file"], ("file", "File exists", "name a folder")),
    ],
)
def test_what_cannot_be_kept_is_one_line(tmp_path: Path, arguments: list[str], said: tuple[str, ...]) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "app.py").write_text("def flow(scope): ...\nprint('is imported')\n")
    done = in_a_copy(lambda: main(["run", *arguments]), ("tokenring",), tmp_path, tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert all(one in done.stderr for one in said), done.stderr
    assert (done.stdout == "is imported\n") == ("No such file or directory" in said or "file" in arguments)
    assert not (tmp_path / "job").exists()


def test_two_runs_do_not_share_a_folder(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenring.operators.recovery.folder._LOCK_S", 0.1)
    with JobFolder(job.kept).locked(), job.start() as command:
        status, out, err = command.end()
    assert (status, out, err.count("\n")) == (2, "", 1) and f"another run keeps its snapshots in {job.kept}" in err


def test_a_source_that_has_changed_is_told(job: Job) -> None:
    with job.start("--every", "50ms") as command:
        job.wait_for(1)
        command.kill(command.pid, signal.SIGTERM)
        command.end()
    os.utime(job.folder / "rows" / "all.parquet")
    with job.start() as command:
        status, out, err = command.end()
    assert (status, out, err.count("\n")) == (2, "", 1) and "which has changed" in err and str(job.kept) in err
