"""`tokenring views` and `tokenring query`: a running group is read at one time, over all its workers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.imports import ROOT
from tests.tools.commands.serving import KEPT, WATCHDOG_S, Serving, serving
from tokenring.engine import ReadTimeError, UsageError
from tokenring.engine.ask import group_of
from tokenring.engine.ask.places import private_folder
from tokenring.engine.ask.questions import asking_in
from tokenring.operators.collections import query, views_of


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
    with pytest.raises(ReadTimeError, match=r"forgotten.*history="):
        query(asked, "rows", at - 50, timeout_s=WATCHDOG_S)
    with pytest.raises(ReadTimeError, match="finished up to"):
        query(asked, "rows", at + 10**9, timeout_s=WATCHDOG_S)


def test_the_command_prints_rows_of_a_key(group: Serving) -> None:
    assert group.tokenring("query", "rows", "--key", "-1").stdout == '{"key":-1,"name":"stays","times":1}\n'
    said = json.loads(group.tokenring("query", "rows", "--key", "-1", "--json").stdout)
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
    said = group.tokenring("views").stdout
    assert "rows: key key int64; values name string; of dataflow 'base'" in said
    assert "imported by nobody" in said
    (view,) = json.loads(group.tokenring("views", "--json").stdout)["views"]
    assert view["name"] == "rows" and KEPT <= view["rows"] < 100 * KEPT and view["bytes"] > 0


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (("row",), "did you mean 'rows'"),
        (("rows", "--key", "one"), "'one' is no int64"),
        (("rows", "--key", "1,2"), "the key of 'rows' is (key)"),
        (("rows", "--time", "-7"), "forgotten"),
    ],
)
def test_what_cannot_be_read_is_one_line(group: Serving, arguments: tuple[str, ...], cure: str) -> None:
    said = group.tokenring("query", *arguments)
    assert said.returncode == 2 and cure in said.stderr and said.stderr.count("\n") == 1
    assert not group.folders()


def test_a_process_without_a_group() -> None:
    with pytest.raises(UsageError, match="runs no group"):
        group_of(1)


ASKING = """
import time
from tokenring.engine.ask import group_of, requested
with requested(group_of({launcher}), "query", {{"view": "rows", "key": None}}) as request:
    request.answers({watchdog})
    print("asked", flush=True)
    time.sleep({watchdog})
"""


def test_an_asker_who_is_killed_holds_nothing(group: Serving) -> None:
    asked = group_of(group.launcher)
    code = ASKING.format(launcher=group.launcher, watchdog=WATCHDOG_S)
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE) as asker:
        assert asker.stdout is not None and asker.stdout.readline() == b"asked\n"
        held = views_of(asked, WATCHDOG_S).views[0]["since"]
        at, _ = query(asked, "rows", timeout_s=WATCHDOG_S)
        assert at > held and group.folders()
        asker.kill()
    deadline = time.monotonic() + WATCHDOG_S
    while views_of(asked, WATCHDOG_S).views[0]["since"] <= at or group.folders():
        assert time.monotonic() < deadline
