"""`tokenring profile`: py-spy on real workers, the files it makes, what it says when it cannot, and nothing left."""

from __future__ import annotations

import signal
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.crash.run_process import Command
from tests.imports import ROOT
from tests.nexmark.helpers import seal_generated, tokenring
from tokenring.engine import Worker
from tokenring.engine.running.operator import RunningOperator
from tokenring.engine.worker.agreement import Agreement
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.profile import py_spy
from tokenring.nexmark.profile.flame_graph import flame_graph
from tokenring.nexmark.profile.frame import Frame
from tokenring.nexmark.profile.kernel_calls import kernel_called_at
from tokenring.nexmark.profile.stacks import Recording, Stack, function_shares, labelled, read_recording, speedscope

EVENTS = 200_000
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(tmp_path_factory.mktemp("profile") / "events", GeneratorConfig(EVENTS, rate=5_000))


def _boxes(svg: str) -> list[ET.Element]:
    return [group for group in ET.fromstring(svg).iter(f"{SVG}g") if group.get("class") == "f"]


def _names(document: dict[str, Any], profile: int) -> list[list[str]]:
    frames = document["shared"]["frames"]
    return [[frames[at]["name"] for at in sample] for sample in document["profiles"][profile]["samples"]]


# With real workers


@pytest.mark.parametrize("pace", [[], ["--rate", "400000"]], ids=["closed loop", "open loop"])
def test_files_for_every_worker_and_merged(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, pace: list[str]
) -> None:
    out = tmp_path / "profiles" / "q4"
    out.mkdir(parents=True)
    (out / "worker-2.svg").write_text("of an earlier profile with more workers")
    (out / "notes.txt").write_text("mine")
    arguments = ["--workers", "2", "--seconds", "1.5", "--frequency", "100", *pace]
    outcome = tokenring(capsys, "profile", "q4", "--input", staged, "--out", out, *arguments)
    assert (outcome.status, outcome.err) == (0, "")
    names = [f"{part}.{kind}" for part in ("worker-0", "worker-1", "merged") for kind in ("svg", "speedscope.json")]
    assert {path.name for path in out.iterdir()} == {*names, "notes.txt"}
    assert all(str(out / name) in outcome.out for name in names)
    assert "kernel " in outcome.out
    assert "ParkingLot.wait" not in outcome.out, "sleep is no work"

    merged = orjson.loads((out / "merged.speedscope.json").read_bytes())
    assert [profile["name"] for profile in merged["profiles"]] == ["all workers", "worker 0", "worker 1"]
    assert {stack[0] for stack in _names(merged, 0)} == {"worker 0", "worker 1"}
    for worker in (0, 1):
        one = orjson.loads((out / f"worker-{worker}.speedscope.json").read_bytes())
        stacks = _names(one, 0)
        assert stacks == _names(merged, 1 + worker)
        assert [[f"worker {worker}", *stack] for stack in stacks] == [
            stack for stack in _names(merged, 0) if stack[0] == f"worker {worker}"
        ]
        # Runs follow each other; of one so short, declaring its dataflow is a good part.
        assert sum("_repeat" in stack for stack in stacks) > len(stacks) / 2, "it is the run that was sampled"
        assert sum("Worker.run" in stack for stack in stacks) > len(stacks) / 4
        assert not any("execute" in stack for stack in stacks), "the launcher's frames are cut off"
        total = sum(one["profiles"][0]["weights"])
        assert total == pytest.approx(one["profiles"][0]["endValue"]) == pytest.approx(len(stacks) / 100)
        labels = {box.get("data-n", "") for box in _boxes((out / f"worker-{worker}.svg").read_text())}
        assert any(label.startswith("Worker.run (engine/worker/worker.py:") for label in labels)
    assert {"worker 0", "worker 1"} <= {box.get("data-n") for box in _boxes((out / "merged.svg").read_text())}


def test_a_profile_of_an_overload_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = seal_generated(tmp_path / "events", GeneratorConfig(1_500_000))
    arguments = ["--rate", "10000000", "--batch", "1", "--workers", "2", "--out", tmp_path / "out", "--seconds", "1"]
    outcome = tokenring(capsys, "profile", "q7", "--input", folder, *arguments)
    assert outcome.status == 1
    assert "DNF" in outcome.err
    assert (tmp_path / "out" / "merged.svg").exists()


# When it cannot


def test_py_spy_may_not_attach(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real py-spy without the right to trace processes that have more rights than it has."""
    powerless = tmp_path / "py-spy"
    real = py_spy.find_py_spy()
    powerless.write_text(f'#!/bin/sh\nexec setpriv --bounding-set -all --inh-caps -all "{real}" "$@"\n')
    powerless.chmod(0o755)
    monkeypatch.setattr(py_spy, "find_py_spy", lambda: str(powerless))
    out = tmp_path / "out" / "deep"
    outcome = tokenring(capsys, "profile", "q4", "--input", staged, "--out", out)
    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    for text in ("may not look at worker 0", "kernel.yama.ptrace_scope", "CAP_SYS_PTRACE"):
        assert text in outcome.err
    assert not out.parent.exists(), "folders made for nothing are removed"


def test_py_spy_is_not_installed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    outcome = tokenring(capsys, "profile", "q4", "--input", staged, "--out", tmp_path / "out")
    assert (outcome.status, "pip install py-spy" in outcome.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--seconds 0", "--seconds"),
        ("--seconds nan", "--seconds"),
        ("--frequency 0", "--frequency"),
        ("--frequency 1001", "--frequency"),
        ("--workers 0", "--workers"),
        ("--duration 1", "--rate"),
    ],
)
def test_a_bad_option_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, arguments: str, named: str
) -> None:
    out = tmp_path / "out"
    outcome = tokenring(capsys, "profile", "q4", "--input", staged, "--out", out, *arguments.split())
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert named in outcome.err
    assert not out.exists()


def test_a_folder_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/out")):
        outcome = tokenring(capsys, "profile", "q4", "--input", staged, "--out", out)
        assert (outcome.status, outcome.err.count("\n")) == (2, 1)
        assert f"--out {out}" in outcome.err


@pytest.mark.parametrize(
    ("victim", "cpu_s"), [("worker", 0), ("worker", 0.6), ("launcher", 0), ("launcher", 0.6), ("interrupt", 0.6)]
)
def test_no_process_is_left(tmp_path: Path, staged: Path, victim: str, cpu_s: float) -> None:
    """Killed while py-spy attaches, or in the midst of the run."""
    out = tmp_path / "out"
    arguments = ("--workers", "2", "--seconds", "60", "--out", out)
    with Command("profile", "q4", "--input", staged, *arguments) as command:
        workers = command.wait_for_workers(2, py_spies=2, cpu_s=cpu_s)
        number = signal.SIGINT if victim == "interrupt" else signal.SIGKILL
        command.kill(workers[1] if victim == "worker" else command.pid, number)
        status, printed, err = command.end()  # waits for the py-spies too
    assert printed == ""
    if victim == "launcher":
        assert status == -signal.SIGKILL
        return
    assert status == (130 if victim == "interrupt" else 1)
    assert err.splitlines()[-1].startswith("tokenring: error: ")
    assert not out.exists()


# The pieces

A, B, C = Frame("a", "engine/a.py", 1), Frame("b", "operators/b.py", 2), Frame("<c>", "numba/c.py", 3)
STACKS: list[Stack] = [(A, B), (A, B), (A, C), (A,), (B,), (A, B, A)]


def test_functions_are_counted_once_a_sample() -> None:
    shares = function_shares(STACKS)
    assert {key[0]: (share.own, share.total) for key, share in shares.items()} == {
        "a": (2, 5),
        "b": (3, 4),
        "<c>": (1, 1),
    }


def test_boxes_are_as_wide_as_their_share() -> None:
    svg = flame_graph(STACKS, "a < b & c", "six samples")
    widths = {(int(b.get("data-d", "")), b.get("data-n")): float(b.get("data-w", "")) for b in _boxes(svg)}
    assert widths == {
        (0, "all samples"): pytest.approx(1),
        (1, str(A)): pytest.approx(5 / 6, abs=1e-8),
        (1, str(B)): pytest.approx(1 / 6, abs=1e-8),
        (2, str(B)): pytest.approx(3 / 6, abs=1e-8),
        (2, str(C)): pytest.approx(1 / 6, abs=1e-8),
        (3, str(A)): pytest.approx(1 / 6, abs=1e-8),
    }
    assert "a &lt; b &amp; c" in svg


def test_no_samples_are_an_empty_graph() -> None:
    (box,) = _boxes(flame_graph([], "none", ""))
    assert box.get("data-n") == "all samples"


def test_a_recording_survives_its_file(tmp_path: Path) -> None:
    one, two = Recording("worker 0", STACKS, 0.01), Recording("worker 1", STACKS[:2], 0.01, unread=3)
    merged = labelled([one, two])
    assert (len(merged.stacks), merged.unread) == (8, 3)
    file = tmp_path / "profile.json"
    file.write_bytes(speedscope("a run", [two]))
    again = read_recording(file, "worker 1", 100, 3)
    assert again == two


def test_a_line_that_calls_a_kernel_names_it(tmp_path: Path) -> None:
    source = ROOT / "engine/progress/exchange.py"
    lines = source.read_text().splitlines()
    at = next(number for number, line in enumerate(lines, 1) if "flags: int = exchange(" in line)
    kernel = kernel_called_at(str(source), at)
    declared = next(number for number, line in enumerate(lines, 1) if line.startswith("def exchange("))
    assert kernel == Frame("kernel exchange", str(source), declared)
    assert kernel_called_at(str(source), at - 1) is None
    sending = ROOT / "engine/data/remote_channel.py"
    called, *_ = [n for n, line in enumerate(sending.read_text().splitlines(), 1) if "= self._partition(" in line]
    found = kernel_called_at(str(sending), called)
    assert found is not None
    assert (found.name, found.file) == ("kernel partition_for", str(ROOT / "tokenring/shm/queues/data_queue.py"))
    assert kernel_called_at(str(tmp_path / "nowhere.py"), 1) is None
    (tmp_path / "own.py").write_text("@kernel\ndef double(value): ...\n")
    (tmp_path / "program.py").write_text("from own import double\ndouble(1)\n")
    assert kernel_called_at(str(tmp_path / "program.py"), 2) == Frame("kernel double", str(tmp_path / "own.py"), 2)


RUN, STEP = Frame("Worker.run", "engine/worker/worker.py", 1), Frame("Worker.step", "engine/worker/worker.py", 2)
SPIN, PARK = Frame("Worker._spin", "engine/worker/worker.py", 3), Frame("Worker._park", "engine/worker/worker.py", 4)
OPERATOR = Frame("RunningOperator.run", "engine/running/operator.py", 5)
WAIT = Frame("Agreement._wait", "engine/worker/agreement.py", 6)


def test_waiting_is_told_apart_from_work() -> None:
    working = [(RUN, STEP), (RUN, STEP, OPERATOR, A), (RUN, SPIN, STEP, OPERATOR, A)]
    waiting = [(WAIT,), (RUN, SPIN), (RUN, SPIN, STEP), (RUN, SPIN, STEP, B), (RUN, PARK, A)]
    assert Recording("worker 0", [*waiting, *working], 0.01).at_work == working


def test_the_frames_that_mean_waiting_are_there() -> None:
    for function in ("_spin", "_park"):
        assert callable(getattr(Worker, function))
    assert callable(Agreement._wait)
    assert callable(RunningOperator.run)
