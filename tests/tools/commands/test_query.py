"""`tokenring views` and `tokenring query`: a running group is read at one time, over all its workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.copies import CopyBeside
from tests.errors import raises
from tests.imports import ROOT
from tests.nexmark.helpers import tokenring
from tests.tools.commands.serving import KEPT, WATCHDOG_S, Serving, serving
from tokenring.engine import ReadTimeError, UsageError
from tokenring.engine.ask import group_of, requested
from tokenring.engine.ask.places import private_folder
from tokenring.engine.ask.questions import asking_in
from tokenring.operators.collections import query, views_of
from tokenring.operators.collections.sharing import Shared, asking


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("serving")) as found:
        yield found


def test_all_rows_are_of_one_time(group: Serving) -> None:
    asked = group_of(group.launcher)
    times = []
    for _ in range(20):
        at, rows = query(asked, "rows", timeout_s=WATCHDOG_S)
        assert sorted(rows["key"].to_pylist()) == [-1, *range(at + 1 - KEPT, at + 1)]
        assert rows["times"].to_pylist() == [1] * len(rows)
        assert all(row["name"] == f"name {row['key'] % 7}" for row in rows.to_pylist() if row["key"] >= 0)
        times.append(at)
    assert times == sorted(times) and times[0] < times[-1]


def test_a_time_of_the_past_is_read_as_it_was(group: Serving) -> None:
    asked = group_of(group.launcher)
    at, _ = query(asked, "rows", timeout_s=WATCHDOG_S)
    with raises(ReadTimeError, "'rows'", f"at {at - 50}", "history="):
        query(asked, "rows", at - 50, timeout_s=WATCHDOG_S)
    with raises(ReadTimeError, "'rows'", f"at {at + 10**9}", "finished"):
        query(asked, "rows", at + 10**9, timeout_s=WATCHDOG_S)


def test_the_command_prints_rows_of_a_key(group: Serving) -> None:
    assert group.typed("query", "rows", "--key", "-1").stdout == '{"key":-1,"name":"stays","times":1}\n'
    said = json.loads(group.tokenring("query", "rows", "--key", "[-1]", "--json").stdout)
    assert said["view"] == "rows" and said["time"] > KEPT
    assert said["rows"] == [{"key": -1, "name": "stays", "times": 1}]
    lines = group.tokenring("query", "rows").stdout.splitlines()
    assert len(lines) == KEPT + 1 and {"key": -1, "name": "stays", "times": 1} in map(json.loads, lines)


@pytest.mark.parametrize("wrong", ["[1]", "7", "{}", "not json", "no view"])
def test_what_is_no_question_keeps_no_other_from_being_answered(group: Serving, wrong: str) -> None:
    asked = group_of(group.launcher)
    folder = private_folder() / f"query-{group.launcher}-0123456789abcdef"
    with asking_in(folder, {"workers": asked.workers}):
        if wrong != "no view":
            (folder / "question.json").write_text(wrong)
        assert query(asked, "rows", key=(-1,), timeout_s=WATCHDOG_S).rows.num_rows == 1
        if wrong == "no view":
            said = [json.loads(path.read_text())["error"] for path in folder.glob("[0-9].json")]
            assert said and all("'view'" in each for each in said)


def test_the_list_says_what_is_kept(group: Serving) -> None:
    said = group.typed("views").stdout
    assert "rows: key key int64; values name string; of dataflow 'base'" in said
    assert "imported by nobody" in said
    (view,) = json.loads(group.tokenring("views", "--json").stdout)["views"]
    assert view["name"] == "rows" and KEPT <= view["rows"] < 100 * KEPT and view["bytes"] > 0


@pytest.mark.parametrize(
    ("of_workers", "said"),
    [
        ([(94_299, 94_400), (94_100, 94_200)], "readable from 94299 to 94299;"),
        ([(5, 9), (4, None)], "readable from 5 to 8;"),
        ([(5, None), (5, None)], "readable from 5 to the end;"),
        ([(0, 3), (0, 0)], "nothing is readable yet;"),
    ],
)
def test_the_list_says_times_that_can_be_read_whenever_workers_looked(
    of_workers: list[tuple[int, int | None]], said: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    fixed = {"name": "rows", "dataflow": "base", "key": ["k"], "columns": {"k": "int64"}, "readers": []}
    sizes = {"rows": 1, "batches": 1, "bytes": 1}
    answers = [{"views": [{**fixed, **sizes, "since": since, "upper": upper}]} for since, upper in of_workers]
    shared = Shared(asking._views_in(answers), [])
    monkeypatch.setattr("tokenring.engine.ask.group_of", lambda process: None)
    monkeypatch.setattr("tokenring.operators.collections.listing_of", lambda group, timeout: (shared, {}))
    assert said in tokenring(capsys, "views", "1").out


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (("row",), "did you mean 'rows'"),
        (("rows", "--key", "one"), "'one' is no int64"),
        (("rows", "--key", "1_0"), "'1_0' is no int64"),
        (("rows", "--key", "9" * 23), f"{'9' * 23} is no int64"),
        (("rows", "--key", str(2**63)), f"{2**63} is no int64"),
        (("rows", "--key", "1,2"), "the key of 'rows' is (key)"),
        (("rows", "--time", "-7"), "an integer, 0 or more, not -7"),
        (("rows", "--time", "9" * 20), "times are finished up to"),
    ],
)
def test_what_cannot_be_read_is_one_line(group: Serving, arguments: tuple[str, ...], cure: str) -> None:
    said = group.tokenring("query", *arguments)
    assert said.returncode == 2 and cure in said.stderr and said.stderr.count("\n") == 1
    assert not group.folders()


def test_a_process_without_a_group() -> None:
    with raises(UsageError, "process 1", "tokenring why"):
        group_of(1)
    for more in ([], ["--follow"]):
        line = [sys.executable, "-m", "tokenring", "query", str(os.getpid()), "rows", *more]
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=WATCHDOG_S)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"tokenring: error: process {os.getpid()} runs no group")


def ask_and_stay(launcher: int) -> None:
    with requested(group_of(launcher), "query", {"view": "rows", "key": None}) as request:
        request.answers(WATCHDOG_S)
        print("asked", flush=True)
        time.sleep(WATCHDOG_S)


def test_an_asker_who_is_killed_holds_nothing(group: Serving) -> None:
    asked = group_of(group.launcher)
    with CopyBeside(lambda: ask_and_stay(group.launcher)) as asker:
        assert asker.stdout.readline() == "asked\n", asker.stderr()
        held = views_of(asked, WATCHDOG_S).views[0]["since"]
        at, _ = query(asked, "rows", timeout_s=WATCHDOG_S)
        assert at > held and group.folders()
        asker.kill()
    deadline = time.monotonic() + WATCHDOG_S
    while views_of(asked, WATCHDOG_S).views[0]["since"] <= at or group.folders():
        assert time.monotonic() < deadline


def following(group: Serving, *options: str) -> CopyBeside:
    return group.beside("query", "rows", "--follow", *options)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_who_follows_is_told_of_each_change_until_he_has_enough(group: Serving, options: tuple[str, ...]) -> None:
    with following(group, *options) as command:
        there: dict[int, int] = {}
        first = before = -1
        while before < 0 or before < first + 30:
            said = json.loads(command.stdout.readline())
            for row in said["rows"] if options else [said]:
                there[row["key"]] = there.get(row["key"], 0) + row["times"]
            now = said["time"]
            first = now if first < 0 else first
            if now > before >= 0 and options:
                assert now == before + 1
                assert {key for key, times in there.items() if times} == {-1, *range(now + 1 - KEPT, now + 1)}
            assert now >= before
            before = now
        command.send_signal(signal.SIGINT)
        assert (command.wait(), command.stderr()) == (130, "")
    assert not group.folders()


def test_who_follows_into_a_pipe_that_is_closed_ends_quietly(group: Serving) -> None:
    wrong = group.tokenring("query", "rows", "--follow", "--key", "-1,")
    assert wrong.returncode == 2 and "the key of 'rows' is (key)" in wrong.stderr
    line = [sys.executable, "-m", "tokenring", "query", str(group.launcher), "rows", "--follow"]  # as it is typed
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None and command.stderr is not None
        command.stdout.readline()
        command.stdout.close()
        assert command.wait(WATCHDOG_S) == 128 + signal.SIGPIPE
        assert command.stderr.read() == ""
    assert not group.folders()


ENDING = """
import sys

import tokenring as tr


def program(worker):
    with worker.dataflow() as scope:
        handle, rows = scope.new_collection(tr.Schema("key"))
        view = rows.arrange("key").export("rows", history=10)
    handle.insert({"key": [worker.index]})
    handle.advance_to(1)
    worker.step_while(lambda: view.upper < 1)
    worker.report("ready")
    worker.step_while(lambda: not worker.stopping)
    handle.insert({"key": [10 + worker.index]}, time=1)
    handle.remove({"key": [worker.index]}, time=2)
    handle.close()
    worker.run()


tr.execute(program, workers=2, on_note=lambda worker, value: print(value, flush=True))
"""


@pytest.mark.parametrize(("times", "rows"), [("times", "rows"), ("@times", "rows.with_columns(times=0)")])
def test_who_follows_ends_with_the_run_and_has_been_told_of_its_last_change(
    tmp_path: Path, times: str, rows: str
) -> None:
    with ExitStack() as commands:
        with serving(tmp_path, ENDING.replace("rows.arrange", f"{rows}.arrange")) as group:
            assert query(group_of(group.launcher), "rows", timeout_s=WATCHDOG_S).rows[times].to_pylist() == [1, 1]
            command = commands.enter_context(following(group))
            lines = [json.loads(command.stdout.readline()) for _ in range(2)]
        lines += [json.loads(line) for line in command.stdout]
        assert (command.wait(), command.stderr()) == (0, "")
    assert [(each["time"], each[times]) for each in lines] == [(0, 1)] * 2 + [(1, 1)] * 2 + [(2, -1)] * 2
    assert sorted([each["key"] for each in lines]) == [0, 0, 1, 1, 10, 11]


def test_values_are_the_same_in_all_forms_of_json(tmp_path: Path) -> None:
    values = """rows.with_columns(
        at=tr.lit(1).cast("timestamp"), day=tr.lit(1).cast("date"), price=tr.lit("-0.05").cast("decimal(9, 2)"),
        raw=tr.lit(b"\\xff"), share=tr.lit(float("nan")),
    )"""
    with serving(tmp_path, ENDING.replace("rows.arrange", f"{values}.arrange")) as group:
        lines = group.typed("query", "rows", "--key", "0").stdout.splitlines()
        rows = json.loads(group.typed("query", "rows", "--key", "0", "--json").stdout)["rows"]
    assert [json.loads(line) for line in lines] == rows == [{
        "key": 0, "at": "1970-01-01 00:00:00.000000001Z", "day": "1970-01-02", "price": "-0.05", "raw": "b'\\xff'",
        "share": None, "times": 1,
    }]  # fmt: skip


def test_who_follows_a_group_that_is_killed_says_so(tmp_path: Path) -> None:
    with ExitStack() as commands:
        with suppress(AssertionError), serving(tmp_path, ENDING) as group:
            command = commands.enter_context(following(group))
            command.stdout.readline()
            os.kill(group.launcher, signal.SIGKILL)
        assert command.wait() == 1
        assert f"the group of process {group.launcher} has ended" in command.stderr()
    assert not group.folders()
