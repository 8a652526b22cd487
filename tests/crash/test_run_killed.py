"""`tokenring run` killed and interrupted: one clear error, a status that says so, nothing left, no result written."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crash.run_process import Command
from tests.nexmark.helpers import seal_generated
from tokenring.nexmark.events.generator import GeneratorConfig

EVENTS = 100_000


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(tmp_path_factory.mktemp("killed") / "events", GeneratorConfig(EVENTS, rate=2_000))


@contextmanager
def _running(
    staged: Path, target: Path, query: str = "q4", workers: int = 2, fresh: bool = True
) -> Iterator[Command]:
    """An open loop that would last for a minute."""
    arguments = ("--workers", str(workers), "--rate", str(EVENTS / 60), "--json", target)
    with Command("run", query, "--input", staged, *arguments, fresh=fresh) as command:
        yield command
    assert not target.exists(), "no partial result is passed for a whole"
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize(("query", "victim"), [("q4", 0), ("q7", 1)])
def test_a_worker_killed(staged: Path, tmp_path: Path, query: str, victim: int) -> None:
    with _running(staged, tmp_path / "outcome.json", query, fresh=query == "q4") as command:
        workers = command.wait_for_workers(2)
        command.kill(workers[victim])
        status, out, err = command.end()
        assert (status, out) == (1, "")
        assert err.count("\n") == 1
        assert err.startswith(f"tokenring: error: worker {victim} was killed by SIGKILL")


def test_the_launcher_killed(staged: Path, tmp_path: Path) -> None:
    with _running(staged, tmp_path / "outcome.json", workers=3) as command:
        command.wait_for_workers(3, cpu_s=0)
        command.kill(command.pid)
        status, out, _ = command.end()
        assert (status, out) == (-signal.SIGKILL, "")


@pytest.mark.parametrize(
    ("number", "text"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")]
)
def test_the_command_interrupted(staged: Path, tmp_path: Path, number: int, text: str) -> None:
    with _running(staged, tmp_path / "outcome.json", fresh=number == signal.SIGINT) as command:
        workers = command.wait_for_workers(2)
        if number == signal.SIGINT:  # from a terminal, the whole group gets it
            for pid in workers:
                command.kill(pid, number)
        command.kill(command.pid, number)
        status, out, err = command.end()
        assert (status, out) == (128 + number, "")
        assert err.count("\n") == 1
        assert text in err


def test_what_a_killed_one_left_is_gone_after_the_next(staged: Path, tmp_path: Path) -> None:
    """Kept rows beside the result, and everything temporary."""
    out, temporary = tmp_path / "out", tmp_path / "temporary"
    out.mkdir()
    temporary.mkdir()
    arguments = ("run", "q3", "--input", staged, "--workers", "2", "--out", out / "rows.parquet")
    with Command(*arguments, "--rate", str(EVENTS / 60), environment={"TMPDIR": str(temporary)}) as command:
        command.wait_for_workers(2)
        command.kill(command.pid)
        assert command.end()[0] == -signal.SIGKILL
    left = [path.name.split("-")[1] for path in (*out.iterdir(), *temporary.iterdir())]
    assert left == ["rows", "work"]
    with Command(*arguments, environment={"TMPDIR": str(temporary)}) as command:
        assert command.end()[0] == 0
    assert [path.name for path in out.iterdir()] == ["rows.parquet"]
    assert list(temporary.iterdir()) == []
