"""A running group answers questions from outside, whatever its workers are doing, and nothing is left of it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.errors import raises
from tests.imports import ROOT
from tests.long_form import examples
from tokenring.engine import UsageError, WorkerError
from tokenring.engine.ask import asker, questions
from tokenring.engine.ask.answer import question_folder
from tokenring.engine.ask.asker import Group, ask, running_groups
from tokenring.engine.ask.places import private_folder
from tokenring.engine.ask.questions import asking_in, made_in, question_in, require_private, write_whole
from tokenring.engine.ask.requested import Request, requested
from tokenring.shm.memory import hold

WATCHDOG_S = 60
STUCK = """
import sys
import time

from tokenring.engine import Exchange, Schema, execute

VALUE = Schema("value")


def keeper(context, token):
    token.drop()
    kept = []

    def logic(rows, output):
        for reference, _ in rows:
            kept.append(reference.retain())  # never dropped

    return logic


def asleep(worker, probe):
    worker.step_while(lambda: probe.less_than(40))


def spinning(worker, probe):
    while True:
        worker.step()


def blocked(worker, probe):
    for _ in range(20):
        worker.step_or_park()
    time.sleep(1000)


def program(worker):
    with worker.dataflow("stuck") as scope:
        numbers, stream = scope.new_input(VALUE)
        with scope.region("inner"):
            kept = stream.unary("keeper", VALUE, keeper, Exchange("value"))
        probe = kept.probe()
    if worker.index == 1:
        numbers.advance_to(3)
        numbers.send({"value": range(100)})
    numbers.advance_to(50)
    while not worker.inspection.why("inner/keeper", 3).passed:
        worker.step_or_park()
    worker.report("ready")
    globals()[sys.argv[1]](worker, probe)


def note(worker, value):
    print(value, flush=True)


if __name__ == "__main__":
    execute(program, workers=2, on_note=note, start=sys.argv[2])
"""
RETAINED_AT = STUCK.splitlines().index("            kept.append(reference.retain())  # never dropped") + 1


@contextmanager
def stuck(folder: Path, doing: str = "asleep", start: str = "fork") -> Iterator[tuple[Group, Path]]:
    """A group of two whose tokens at time 3 are never dropped; ended with its launcher."""
    program = folder / "stuck.py"
    program.write_text(STUCK)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, program, doing, start], env=environment, stdout=subprocess.PIPE) as launcher:
        try:
            assert launcher.stdout is not None
            assert [launcher.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2
            (group,) = [group for group in running_groups() if group.launcher == launcher.pid]
            yield group, program
        finally:
            launcher.kill()


@pytest.fixture(scope="module")
def asleep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Group, Path]]:
    """One for all that leave it as it was."""
    with stuck(tmp_path_factory.mktemp("stuck")) as found:
        yield found


@pytest.mark.parametrize(
    ("doing", "start"),
    [("asleep", "fork"), ("spinning", "fork"), ("blocked", "fork"), ("asleep", "spawn"), ("asleep", "forkserver")],
)
def test_every_worker_names_its_tokens(doing: str, start: str, asleep: tuple[Group, Path], tmp_path: Path) -> None:
    shared = (doing, start) == ("asleep", "fork")
    with nullcontext(asleep) if shared else stuck(tmp_path, doing, start) as (group, program):
        assert len(group.workers) == 2
        assert group.command.endswith(f"stuck.py {doing} {start}")
        for process in (group.launcher, group.workers[1]):
            found = ask(process, timeout_s=WATCHDOG_S)
            (explanation,) = found.explanations
            assert explanation.place == "the probe of operator 'inner/keeper' output 0"
            assert (explanation.frontier, explanation.workers, explanation.peers) == ((3,), (0, 1), 2)
            (pointstamp,) = explanation.pointstamps
            assert (pointstamp.operator, pointstamp.time, pointstamp.count) == ("inner/keeper", 3, 2)
            assert [(holder.kind, holder.worker) for holder in pointstamp.holders] == [("token", 0), ("token", 1)]
            assert {holder.origin for holder in pointstamp.holders} == {f"{program}:{RETAINED_AT} (logic)"}
            assert found.at.keys() == {0, 1}
            assert all(at.startswith(f"{program}:") for at in found.at.values())
            assert found.problems == ()
        assert not question_folder(private_folder(), group.launcher).exists()


def test_one_place_and_time_can_be_asked_about(asleep: tuple[Group, Path]) -> None:
    group, _ = asleep
    (explanation,) = ask(group.launcher, "inner/keeper", ("output", 0), 2, WATCHDOG_S).explanations
    assert explanation.passed
    (explanation,) = ask(group.launcher, "inner/keeper", ("output", 0), 3, WATCHDOG_S).explanations
    assert not explanation.passed
    found = ask(group.launcher, "keeper", timeout_s=WATCHDOG_S)
    assert found.explanations == ()
    assert found.problems[1] == "worker 1: no operator 'keeper' is running; there are: input, inner/keeper"


def test_a_worker_that_does_not_answer_is_named(asleep: tuple[Group, Path]) -> None:
    group, _ = asleep
    os.kill(group.workers[0], signal.SIGSTOP)
    try:
        with raises(WorkerError, str(group.workers[0]), str(group.launcher), "1.5 s", "--timeout"):
            ask(group.launcher, timeout_s=1.5)  # the other one must have answered
    finally:
        os.kill(group.workers[0], signal.SIGCONT)
    assert len(ask(group.launcher, timeout_s=WATCHDOG_S).explanations) == 1


def make_folder(folder: Path) -> None:
    made_in(folder.parent, lambda: (folder.mkdir(mode=0o700), folder))


def test_what_a_killed_asker_left_is_cleared_and_a_living_one_waited_for(asleep: tuple[Group, Path]) -> None:
    group, _ = asleep
    folder = question_folder(private_folder(), group.launcher)
    with asking_in(folder, {}), raises(UsageError, f"process {group.launcher}", "try again"):
        ask(group.launcher)
    make_folder(folder)
    for wrong in ({"id": "killed"}, {}, [1], 7):
        write_whole(folder / "question.json", wrong)
        assert len(ask(group.launcher, timeout_s=WATCHDOG_S).explanations) == 1
        assert not folder.exists()
        make_folder(folder)
    (folder / "question.json").write_text("{no json")
    assert len(ask(group.launcher, timeout_s=WATCHDOG_S).explanations) == 1
    assert not folder.exists()
    make_folder(folder)  # whose asker was killed before there was a question in it
    assert len(ask(group.launcher, timeout_s=WATCHDOG_S).explanations) == 1
    assert not folder.exists()


def test_who_is_just_asking_is_not_taken_for_a_killed_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder, question = tmp_path / "private" / "views-1-name", {"workers": [1]}
    cleared: list[bool] = []

    def hold_late(descriptor: int) -> None:
        if len(cleared) < 2:
            assert question_in(folder) is None
            cleared.append(not folder.exists())
        hold(descriptor)
        assert question_in(folder) is None

    monkeypatch.setattr("tokenring.engine.ask.questions.hold", hold_late)
    with asking_in(folder, question):
        assert question_in(folder) == question
    assert cleared == [True, True]
    assert not folder.parent.exists()


@pytest.mark.parametrize("call", ["fcntl.flock", "shutil.rmtree"])
def test_who_asks_under_a_name_that_somebody_else_just_cleared_keeps_it(
    call: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two clear what was left; the slower one is about to look whether it was, or to remove it."""
    folder, question = tmp_path / "private" / "views-1-name", {"workers": [1]}
    make_folder(folder)
    with ExitStack() as stack:

        def late(*given: Any, **named: Any) -> None:
            monkeypatch.undo()
            shutil.rmtree(folder)
            stack.enter_context(asking_in(folder, question))
            if call == "fcntl.flock":
                fcntl.flock(*given, **named)

        monkeypatch.setattr(call, late)
        assert question_in(folder) is None
        assert question_in(folder) == question
    assert not folder.parent.exists()


def test_a_process_without_a_group_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "1000"]) as other:  # SIGUSR1 would end it
        with raises(UsageError, f"process {other.pid}", "tokenring why"):
            ask(other.pid)
        assert other.poll() is None
        other.kill()


def test_who_took_the_number_of_a_worker_is_left_alone(asleep: tuple[Group, Path]) -> None:
    group, _ = asleep
    with subprocess.Popen(["sleep", "1000"]) as other:
        seen_before = replace(group, workers=(*group.workers, other.pid))
        with requested(seen_before, "views", {}):
            other.terminate()
        assert other.wait() == -signal.SIGTERM  # SIGUSR1 would have come before


def test_a_worker_that_the_first_look_missed_is_asked_too(
    monkeypatch: pytest.MonkeyPatch, asleep: tuple[Group, Path]
) -> None:
    group, _ = asleep
    missed = [group.workers[0]]
    launcher_of = asker._launcher_of

    def once_blind(process: int) -> int:
        return 0 if missed and process == missed[0] and missed.pop() else launcher_of(process)

    monkeypatch.setattr(asker, "_launcher_of", once_blind)
    assert ask(group.launcher).at.keys() == {0, 1}
    assert not missed


@pytest.mark.parametrize("mode", [0o755, 0o740, 0o701, None])
def test_a_folder_that_others_may_enter_is_not_used(
    monkeypatch: pytest.MonkeyPatch, asleep: tuple[Group, Path], tmp_path: Path, mode: int | None
) -> None:
    group, _ = asleep
    there = tmp_path / "open"
    if mode is None:  # no folder at all
        there.touch(mode=0o600)
    else:
        there.mkdir(mode=mode)
    monkeypatch.setattr("tokenring.engine.ask.asker.private_folder", lambda process: there)
    with raises(UsageError, str(there), "0700", "remove"):
        ask(group.launcher)


def test_the_private_folder_may_go_at_any_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever is done with a question removes the private folder if it is empty, also just before another asks."""
    private = tmp_path / "private"
    looks = iter(range(3))

    def removed_before_use(folder: Path) -> None:
        if next(looks, None) is not None:
            folder.rmdir()
        require_private(folder)

    monkeypatch.setattr(questions, "require_private", removed_before_use)
    make_folder(private / "question")
    assert (private / "question").is_dir()
    assert next(looks, None) is None
    with pytest.raises(FileExistsError):
        make_folder(private / "question")


BUSY = """
import sys
from select import select

from tokenring.engine import Exchange, Schema, execute
from tests.engine.explain.test_hold import counting

VALUE = Schema("value")


def program(worker):
    seen = []

    def sink(context):
        def logic(rows):
            for _, batch in rows:
                seen.extend(batch["value"].tolist())

        return logic

    with worker.dataflow("busy") as scope:
        numbers, stream = scope.new_input(VALUE)
        probe = stream.unary("count", VALUE, counting, Exchange("value")).sink("see", sink)
    worker.report("ready")
    time = 0
    while not worker.ending.asked or time < 500:
        numbers.send({"value": range(100)})
        time += 1
        numbers.advance_to(time)
        worker.step_while(lambda: probe.less_than(time - 8))
        if sys.stdin in select([sys.stdin], [], [], 0)[0]:
            worker.ending.ask()
    numbers.close()
    worker.run()
    return [time, sum(seen)]


print(execute(program, workers=2, on_note=lambda worker, value: print(value, flush=True)), flush=True)
"""


def test_questions_change_nothing_in_a_busy_run(tmp_path: Path) -> None:
    program = tmp_path / "busy.py"
    program.write_text(BUSY)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, program]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as launcher:
        try:
            assert launcher.stdout is not None
            assert launcher.stdin is not None
            assert [launcher.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2
            for _ in range(examples(60)):
                found = ask(launcher.pid, timeout_s=WATCHDOG_S)
                assert found.at.keys() == {0, 1}
            launcher.stdin.close()  # its end is what the workers look for
            results = json.loads(launcher.stdout.readline())
            assert launcher.wait(WATCHDOG_S) == 0
        finally:
            launcher.kill()
    assert sum(counted for _, counted in results) == sum(100 * sent for sent, _ in results)


def test_who_launched_a_group_that_has_ended_learns_why(tmp_path: Path) -> None:
    """Its workers may end between two looks at what they told, which says more than that they have ended."""
    ended = subprocess.Popen(["true"])
    ended.wait()

    def look() -> None:
        raise UsageError("what they told")

    with raises(UsageError, "what they told"):
        Request(Group(os.getpid(), (ended.pid,), ""), tmp_path, look).answers(WATCHDOG_S)
    with raises(WorkerError, "has ended"):
        Request(Group(os.getpid(), (ended.pid,), ""), tmp_path, lambda: None).answers(WATCHDOG_S)
