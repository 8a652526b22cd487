"""`tokenring migrate`: bins of a running group move while its answers stay right."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.copies import CopyBeside
from tests.errors import Fact, raises
from tests.tools.commands.serving import WATCHDOG_S, Serving, serving
from tokenring.engine import UsageError, WorkerError
from tokenring.engine.ask import group_of
from tokenring.operators.migrate import bins_of
from tokenring.tools.commands.migrate import migrate
from tokenring.tools.errors import OptionError

BINS = 32
_PROGRAM = f"""
from itertools import count

import tokenring as tr
from tests.operators.migrate.totals import ROWS, totals


def check(time, batch):
    assert batch["total"].tolist() == [key * (time + 1) for key in batch["key"].tolist()], (time, batch)


def program(worker):
    inputs = []
    for name in ("moving", "still"):
        with worker.dataflow(name, bins={BINS}) as scope:
            handle, rows = scope.new_input(ROWS)
            made = totals(rows)
            tr.latest(rows, "key", "at last")
            made.for_each(check)
            probe = made.probe()
            inputs.append((handle, probe))
    (moving, passed), (still, last) = inputs
    still.advance_to(5)
    for time in count():
        if worker.stopping:
            break
        if worker.index == 0:
            moving.send({{"key": list(range(100)), "value": list(range(100))}})
        moving.advance_to(time + 1)
        worker.step_while(lambda: passed.less_than(time - 3) and not worker.stopping)
        worker.step_or_park(0.0005)
        if time == 10:
            worker.step_while(lambda: last.less_than(5))
            worker.report("ready")


if __name__ == "__main__":
    tr.execute(program, workers=2, on_note=lambda worker, value: print(value, flush=True))
"""


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("moving"), _PROGRAM) as found:
        yield found


def test_bins_go_where_they_are_told_and_are_evened_out_again(group: Serving) -> None:
    told = group.typed("migrate", "moving", "--to", "0-7:1,8:1", "--plan", "batched:4", "--wait", "--timeout", "50")
    assert told.returncode == 0 and told.stderr == "", told.stderr
    first, *lines = told.stdout.splitlines()
    assert first == "3 steps moved" and lines[0] == "moving: 32 bins on 2 workers"
    assert lines[-1] == "    stays where it is: 'at last'"
    assert "worker 0: 7 bins" in lines[1] and "rows of state" in lines[1] and "worker 1: 25 bins" in lines[2]
    asked = group_of(group.launcher)
    assert bins_of(asked, "moving", "even", "optimized", wait=True, timeout_s=WATCHDOG_S)["steps"] == 9
    found = json.loads(group.tokenring("migrate", "moving", "--json").stdout)
    assert found["bins"].count(0) == found["bins"].count(1) == BINS // 2
    assert all(found["rows"]) and all(found["bytes"]) and not found["steps_left"] and sum(found["load"]) > 0


def test_a_worker_is_drained_without_anybody_waiting(group: Serving) -> None:
    told = group.tokenring("migrate", "moving", "--drain", "0")
    assert "steps asked for; `tokenring migrate` says how far it is" in told.stdout
    wait_until_nothing_moves(group)
    asked = group_of(group.launcher)
    assert set(bins_of(asked, "moving", timeout_s=WATCHDOG_S)["bins"]) == {1}
    assert group.tokenring("migrate", "moving", "--drain", "0").stdout == "all bins are there already\n"
    bins_of(asked, "moving", "even", "all_at_once", wait=True, timeout_s=WATCHDOG_S)


def wait_until_nothing_moves(group: Serving) -> None:
    deadline = time.monotonic() + WATCHDOG_S
    while bins_of(group_of(group.launcher), "moving", timeout_s=WATCHDOG_S)["steps_left"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_where_rows_stand_still_it_says_what_is_waited_for(group: Serving) -> None:
    with raises(WorkerError, "dataflow 'still'", "time", "'totals'", "5", "tokenring why", "--timeout", "0 of 2 steps"):
        bins_of(group_of(group.launcher), "still", {0: 1, 1: 1}, wait=True, timeout_s=0.3)
    said = group.tokenring("migrate", "still").stdout
    assert "1 step is not done yet; the next waits for time" in said  # the other one was forgotten


@pytest.mark.parametrize(
    ("dataflow", "target", "plan", "cure"),
    [
        (None, None, "", ("several dataflows", "'moving'", "'still'")),
        ("movin", None, "", ("'movin'", "did you mean 'moving'")),
        ("moving", {0: 2}, "", "workers are 0 to 1"),
        ("moving", {32: 1}, "", ("bin 32", "0 to 31")),
        ("moving", 7, "", "workers are 0 to 1"),
        ("moving", "even", "optimised", ("'optimised'", "did you mean 'optimized'")),
    ],
)
def test_what_cannot_be_moved_is_refused(
    group: Serving, dataflow: str | None, target: Any, plan: str, cure: Fact
) -> None:
    with raises(UsageError, cure):
        bins_of(group_of(group.launcher), dataflow, target, plan, timeout_s=WATCHDOG_S)
    assert not group.folders()


def test_a_refusal_is_one_line(group: Serving) -> None:
    said = group.tokenring("migrate", "moving", "--to", "0:2")
    assert said.returncode == 2 and "workers are 0 to 1" in said.stderr and said.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (("--to", "1-:1"), ("--to '1-:1'", "0-63:1,64:0")),
        (("--to", "1:1,0-3:0"), ("--to '1:1,0-3:0'", "bin 1", "worker 1 and 0")),
        (("--to", "7-3:0"), ("--to '7-3:0'", "first bin", "last", "65,536")),
        (("--even", "--drain", "1"), ("--to", "--drain", "--even", "one of them")),
        (("--wait",), ("--wait", "--to", "--drain", "--even")),
        ((), ("process 1", "tokenring why")),
    ],
)
def test_options_that_say_nothing_are_refused(arguments: tuple[str, ...], cure: Fact) -> None:
    with raises(OptionError, cure):
        migrate.main(["1", *arguments], standalone_mode=False)


def test_when_the_asker_is_killed_what_has_not_begun_stays(group: Serving) -> None:
    asked = group_of(group.launcher)

    def asking() -> None:
        def say(*at: int) -> None:
            print(at, flush=True)

        bins_of(asked, "still", {2: 1, 3: 1, 4: 1}, wait=True, timeout_s=WATCHDOG_S, advance=say)

    with CopyBeside(asking) as asker:
        assert asker.stdout.readline() == "(0, 3)\n", asker.stderr()
        assert bins_of(asked, "still", timeout_s=WATCHDOG_S)["steps_left"] >= 3
        asker.kill()
    deadline = time.monotonic() + WATCHDOG_S
    while bins_of(asked, "still", timeout_s=WATCHDOG_S)["steps_left"] > 1 or group.folders():  # one waits for its time
        assert time.monotonic() < deadline
        time.sleep(0.01)
