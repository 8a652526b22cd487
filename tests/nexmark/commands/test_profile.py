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
from tests.nexmark.helpers import seal_generated, tokenring
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.measure import verdict
from tokenring.tools.profile import py_spy

EVENTS = 1_000_000
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


@pytest.mark.parametrize("pace", [[], ["--rate", "4000000"]], ids=["closed loop", "open loop"])
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
    for operator in ("nexmark", "winning_bids"):
        assert f"operator '{operator}' of dataflow 'q4'" in outcome.out

    merged = orjson.loads((out / "merged.speedscope.json").read_bytes())
    assert [profile["name"] for profile in merged["profiles"]] == ["all workers", "worker 0", "worker 1"]
    assert {stack[0] for stack in _names(merged, 0)} == {"worker 0", "worker 1"}
    seen: set[str] = set()
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
        seen |= labels
        operators = [stack for stack in stacks if stack and stack[-1].startswith("operator ")]
        assert {stack[-2] for stack in operators} <= {"kernel turn", "kernel run_once"}
    # In an open loop a worker mostly waits: of so few samples one may have none of an operator.
    assert any(label.startswith("operator 'winning_bids' of dataflow 'q4' (operators/") for label in seen)
    assert {"worker 0", "worker 1"} <= {box.get("data-n") for box in _boxes((out / "merged.svg").read_text())}


def test_a_profile_of_an_overload_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of one event cannot keep up: a machine may be through with all in less than what loses a run."""
    monkeypatch.setattr(verdict, "BEHIND_NS", 20_000_000)
    arguments = ["--rate", "1000000000", "--batch", "1", "--mechanism", "watermarks-X", "--workers", "2"]
    arguments += ["--seconds", "1", "--out", str(tmp_path / "out")]
    outcome = tokenring(capsys, "profile", "q7", "--input", staged, *arguments)
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
        ("--workers -1", "--workers"),
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
    ("victim", "cpu_s"),
    [
        ("worker", 0),
        pytest.param("worker", 0.6, marks=pytest.mark.slow),
        ("launcher", 0),
        ("launcher", 0.6),
        pytest.param("interrupt", 0.6, marks=pytest.mark.slow),
    ],
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
