"""Loops deeper than times reach as they are: refused by name of the cure, and right where the environment says more."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.declare.deep_loops import EPOCHS
from tests.house.strangers import environment
from tests.imports import ROOT

PROGRAM = Path(__file__).with_name("deep_loops.py")


def followed(deepest: int, time: tuple[int, ...], value: int, seen: list[tuple[tuple[int, ...], int]]) -> int:
    """What becomes of one row in the loops within `time`, by recursion; each visit of the innermost is written down."""
    level, turn = len(time), 0
    while True:
        if level == deepest:
            seen.append(((*time, turn), value))
            value -= 1
        else:
            value = followed(deepest, (*time, turn), value, seen)
        if value <= 0 or value % (level + 1) == 0:
            return value
        turn += 1


def ran(coordinates: str, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """What came of Python with these arguments, and the setting."""
    told = environment(TOKENRING_COORDINATES=coordinates, PYTHONPATH=str(ROOT))
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=told, timeout=1800)


def expect_followed(deepest: int, answer: str) -> None:
    """The answer of the program is what following each row says."""
    seen: list[tuple[tuple[int, ...], int]] = []
    out = [followed(deepest, (epoch,), value, seen) for epoch, values in enumerate(EPOCHS) for value in values]
    found = ast.literal_eval(answer)
    assert sorted([visit for of_worker, _ in found for visit in of_worker]) == sorted(seen)
    assert sorted([value for _, of_worker in found for value in of_worker]) == sorted(out)


def test_three_loops_as_they_are() -> None:
    done = ran("", PROGRAM, "3", "2")
    expect_followed(3, done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(("coordinates", "deepest", "workers"), [("8", 6, 2), ("8", 7, 1), ("5", 4, 2)])
def test_more_loops_where_times_are_to_have_more_coordinates(coordinates: str, deepest: int, workers: int) -> None:
    """Kernels are compiled for it, which takes minutes."""
    done = ran(coordinates, PROGRAM, str(deepest), str(workers))
    assert done.returncode == 0, done.stderr
    expect_followed(deepest, done.stdout)


def test_what_is_too_deep_is_refused_with_the_cure() -> None:
    done = ran("", PROGRAM, "4", "1")
    assert done.returncode != 0
    for part in ("GraphError", "loop 4", "5 coordinates", "carry 4", "TOKENRING_COORDINATES"):
        assert part in done.stderr


SAYS = """
from tokenring.engine.native.layout import Message, TokenRow
from tokenring.engine.progress.change_log import Change, ChangeLog
from tokenring.engine.times import MOST_COORDINATES
from tokenring.shm.kernels import library
from tokenring.shm.memory import RECORD_WORDS
from tokenring.shm.queues import HEADER_WORDS
log = ChangeLog()
log.words[:] = -1
deep = tuple(range(3, 3 + MOST_COORDINATES))
log.add(1, deep, 1)
log.add(2, 9, -1)
words = log.words[: 2 * Change.size].tolist()
assert words == [1, 1, *deep, 2, -1, 9, *[0] * (MOST_COORDINATES - 1)], words
assert Message.dtype["inner"].shape == TokenRow.dtype["inner"].shape == (MOST_COORDINATES - 1,)
print(MOST_COORDINATES, RECORD_WORDS, HEADER_WORDS, library())
"""


@pytest.mark.parametrize(("coordinates", "words"), [("", 8), ("4", 8), ("5", 16), ("12", 16), ("13", 24), ("60", 64)])
def test_records_have_room_for_all_coordinates(coordinates: str, words: int) -> None:
    done = ran(coordinates, "-c", SAYS)
    assert done.returncode == 0, done.stderr
    told = done.stdout.split(maxsplit=3)
    assert told[:3] == [coordinates or "4", str(words), str(words)]
    assert (f"of 4 coordinates, not {coordinates}" in told[3]) == (coordinates not in ("", "4")), told[3]


@pytest.mark.parametrize("coordinates", ["3", "61", "0", "-8", "4.0", "many", "\u0664"])
def test_another_number_is_refused(coordinates: str) -> None:
    done = ran(coordinates, "-c", "from tokenring.engine import MAX_TIME")
    assert done.returncode != 0
    assert f"TOKENRING_COORDINATES={coordinates!r}" in done.stderr and "4 to 60" in done.stderr
