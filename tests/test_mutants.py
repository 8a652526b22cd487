"""`scripts/mutants`: which changes it makes, that its own list follows the files, and how a trial can end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.mutation.careful import careful
from scripts.mutation.changes import changes
from scripts.mutation.explained import EQUIVALENT
from scripts.mutation.mutant import Mutant
from scripts.mutation.tests_of import TESTS, nearest_of
from scripts.mutation.tests_of import tests_of as asked_about
from scripts.mutation.trial import HUNG, KILLED, SURVIVED, Trials
from tests.imports import ROOT

KERNEL = b'''"""Some kernels."""
LIMIT = 3  # no function's

def plain(a: int | None = 5) -> int:
    found: int | None = a
    return f"{a + 1}", found is not None and a < 7

class Some:
    def __repr__(self):
        return 8 * "a"

    def method(self):
        self.note(9)

@kernel(int64(int64))
def first(a, b="\xc3\xa4"):
    """Not 1 + 1."""
    if a <= 10 and b:
        a += min(a, 2)
    store_release(a, b)
    return (a) - (1)
'''


def test_what_is_changed_in_a_function() -> None:
    """Neither what is no function, nor what is said of one, nor what it says to readers."""
    found = changes("shm/some.py", KERNEL)
    changed = [(mutant.before, mutant.after) for mutant in found if mutant.line(KERNEL) < 16]
    assert sorted(changed) == [
        ("7", "6"), ("7", "8"), ("9", "10"), ("9", "8"), ("<", "<="), ("and", "or"), ("self.note(9)", "pass"),
    ]  # fmt: skip
    assert {(mutant.before, mutant.after) for mutant in found if mutant.line(KERNEL) >= 16} == {
        ("<=", "<"), ("10", "9"), ("10", "11"), ("and", "or"), ("a <= 10 and b", "not (a <= 10 and b)"),
        ("+", "-"), ("a += min(a, 2)", "pass"), ("min", "max"), ("2", "1"), ("2", "3"),
        ("store_release", "store_word"), ("store_release(a, b)", "pass"), ("-", "+"), ("1", "0"), ("1", "2"),
    }  # fmt: skip
    for mutant in found:
        changed = mutant.applied(KERNEL)
        compile(changed, "some.py", "exec")
        assert changed.count(b"\n") == KERNEL.count(b"\n")


def test_what_is_changed_in_a_query() -> None:
    source = (ROOT / "nexmark/queries/q9.py").read_bytes()
    found = {(mutant.before, mutant.after) for mutant in changes("nexmark/queries/q9.py", source)}
    assert ('"bid_time event"', '"bid_time"') in found
    assert all("nexmark" not in before for before, _ in found)


def test_the_list_follows_the_files() -> None:
    for mutant in careful(ROOT):
        source = (ROOT / mutant.file).read_bytes()
        compile(mutant.applied(source), mutant.file, "exec")
        assert mutant.file in mutant.in_words(ROOT)
    for file, text, *_ in EQUIVALENT:
        assert text in (ROOT / file).read_text(), f"{file} does not say {text!r} any more"


def test_every_file_has_tests_that_exist() -> None:
    chosen = {*TESTS.values(), asked_about("nexmark/queries/q3.py")}
    for tests in chosen:
        for name in tests:
            assert not name.startswith("tests/") or (ROOT / name).exists(), name
    for package in ("shm", "engine", "operators", "nexmark"):
        for path in (ROOT / package).rglob("*.py"):
            assert asked_about(str(path.relative_to(ROOT)))


def test_a_room_s_own_tests_are_asked_first() -> None:
    assert nearest_of("engine/ask/requests.py", ROOT) == ("tests/engine/ask",)
    assert nearest_of("engine/bridge/stages.py", ROOT) == (), "no tests mirror it"
    assert nearest_of("nexmark/queries/q3.py", ROOT) == (), "a few are asked anyway"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a checkout of one module and one test is, and trials of it."""
    folder = tmp_path_factory.mktemp("mutants")
    root = folder / "checkout"
    root.mkdir()
    # It waits at each step, and so does the mutant that goes on for ever.
    function = "def grown(a):\n    while a < 10:\n        a += 1\n        time.sleep(0.001)\n    return a\n"
    (root / "some.py").write_text(f"import time\n\n\n{function}")
    (root / "test_some.py").write_text("import some\n\n\ndef test_it():\n    assert some.grown(3) == 10\n")
    (folder / "trials").mkdir()
    return folder


@pytest.fixture(scope="module")
def trials(folder: Path) -> Iterator[Trials]:
    """Of pytest without plugins, which take longer to come than the test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        yield Trials(folder / "checkout", folder / "trials", 10.0)


@pytest.mark.parametrize(
    ("start", "before", "after", "outcome"),
    [(40, "<", "<=", KILLED), (40, "<", "!=", SURVIVED), (56, "+=", "-=", HUNG)],
)
def test_a_trial(trials: Trials, folder: Path, start: int, before: str, after: str, outcome: str) -> None:
    tests = ("test_some.py",)
    assert trials.outcome(Mutant("some.py", start, before, after, ""), tests) == outcome
    assert "def grown(a):\n    while a < 10:\n        a += 1" in (folder / "checkout" / "some.py").read_text()
    assert sorted(path.name for path in (folder / "trials").iterdir()) == ["pristine", "said.txt"]


def test_tests_that_fail_by_themselves_are_no_evidence(trials: Trials) -> None:
    assert not trials.passes(("no_such_test.py",))
    assert trials.passes(("test_some.py",))


@pytest.mark.parametrize("files", [("--file", "shm/memory"), pytest.param((), marks=pytest.mark.slow)])
def test_the_command_says_which_there_are(files: tuple[str, ...]) -> None:
    """The same ones in any process."""
    command = [sys.executable, "-m", "scripts.mutation", "--list", "--seed", "3", "--cases", "4", "--no-careful"]
    told = [
        subprocess.run(
            [*command, *files], cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert told[0] == told[1]
    assert sum(not line.startswith(" ") for line in told[0].splitlines()) == 4
