"""`scripts/mutants`: which changes it makes, that its own list follows the files, and how a trial can end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from scripts.mutation.__main__ import main, sample
from scripts.mutation.careful import careful
from scripts.mutation.changes import changes
from scripts.mutation.explained import EQUIVALENT
from scripts.mutation.mutant import Mutant
from scripts.mutation.results import Results
from scripts.mutation.tests_of import TESTS, in_turn
from scripts.mutation.tests_of import tests_of as asked_about
from scripts.mutation.trial import HUNG, KILLED, SURVIVED, SWOLLEN, UNJUDGED, Trials
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
    own, *rest = in_turn("engine/ask/requests.py", ROOT)
    assert own == ("tests/engine/ask",)
    assert rest == [("tests/engine/explain", "tests/engine/install", "--ignore=tests/engine/ask")]
    assert in_turn("operators/rows/filter.py", ROOT)[0] == ("tests/operators/rows",)
    assert in_turn("nexmark/errors.py", ROOT) == (("tests/nexmark",),)
    assert len(in_turn("engine/bridge/edge_rows.py", ROOT)) == 1, "no tests mirror it"
    assert len(in_turn("nexmark/queries/q3.py", ROOT)) == 1, "a few are asked anyway"


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
    filled = "def filled(rows):\n    while len(rows) > 0:\n        rows += [b'.' * 2**22]\n        time.sleep(0.01)\n"
    (root / "memory.py").write_text(f"import time\n\n\n{filled}")
    # In a process of its own, as workers are.
    forked = "multiprocessing.get_context('fork').Process(target=memory.filled, args=([],))"
    (root / "test_memory.py").write_text(
        f"import multiprocessing\n\nimport memory\n\n\ndef test_it():\n    some = {forked}\n"
        "    some.start()\n    some.join()\n    assert some.exitcode == 0\n"
    )
    (root / "test_compiling.py").write_text(
        "import time, pathlib\n\nMADE = pathlib.Path('made')\n\n\ndef test_it():\n"
        "    if not MADE.exists():\n        MADE.touch()\n        time.sleep(1000)\n"
    )
    starts = "subprocess.Popen(['sleep', '1000'], start_new_session=True)"  # which is not to be left
    (root / "test_wrong.py").write_text(f"import subprocess\n\n\ndef test_it():\n    {starts}\n    assert False\n")
    (root / "test_with_some.py").write_text(
        "import sys\n\n\ndef test_it():\n    assert 'test_some' not in sys.modules\n"
    )
    (folder / "trials").mkdir()
    return folder


@pytest.fixture(scope="module")
def trials(folder: Path) -> Iterator[Trials]:
    """Of pytest without plugins, which take longer to come than the test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        yield Trials(folder / "checkout", folder / "trials", 4.0, 2**28)


@pytest.mark.parametrize(
    ("start", "before", "after", "outcome"),
    [(40, "<", "<=", KILLED), (40, "<", "!=", SURVIVED), (56, "+=", "-=", HUNG)],
)
def test_a_trial(trials: Trials, folder: Path, start: int, before: str, after: str, outcome: str) -> None:
    tests = ("test_some.py",)
    assert trials.outcome(Mutant("some.py", start, before, after, ""), tests) == outcome
    assert "def grown(a):\n    while a < 10:\n        a += 1" in (folder / "checkout" / "some.py").read_text()
    assert sorted(path.name for path in (folder / "trials").iterdir()) == ["pristine", "said.txt"]


def test_what_python_has_compiled_is_not_taken_for_the_mutant(trials: Trials) -> None:
    """Though it is as long, and made in the same second."""
    tests, source = ("test_some.py",), trials.pristine / "some.py"
    for _ in range(3):
        os.utime(source, None)
        subprocess.run([sys.executable, "-c", "import some"], cwd=trials.pristine, check=True)
        assert trials.outcome(Mutant("some.py", 59, "1", "9", ""), tests) == KILLED


def test_a_trial_that_fills_the_memory(trials: Trials) -> None:
    mutant = Mutant("memory.py", 52, ">", ">=", "")
    assert trials.outcome(mutant, ("test_memory.py",)) == SWOLLEN
    assert trials.passes(("test_memory.py",))


def test_a_trial_that_compiles_for_long_is_asked_once_more(trials: Trials) -> None:
    assert trials.outcome(Mutant("some.py", 40, "<", "!=", ""), ("test_compiling.py",)) == SURVIVED


@pytest.mark.parametrize("tests", ["test_wrong.py", "test_some.py test_with_some.py", "no_such_test.py"])
def test_what_fails_without_a_change_or_not_by_itself_is_no_evidence(trials: Trials, tests: str) -> None:
    assert trials.outcome(Mutant("some.py", 40, "<", "!=", ""), tuple(tests.split())) == UNJUDGED


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


def test_a_run_goes_on_where_one_stopped(tmp_path: Path) -> None:
    """The last line for each counts, half a line does not, and what was said of another text is of another mutant."""
    file = tmp_path / "results.json"
    assert Results(file).outcome("some") is None
    for words, outcome in [("some", SURVIVED), ("other", KILLED), ("some", HUNG)]:
        Results(file).keep(words, outcome)
    file.write_bytes(file.read_bytes() + b'{"mutant": "third", "out')
    results = Results(file)
    assert [results.outcome(words) for words in ("some", "other", "third")] == [HUNG, KILLED, None]
    results.keep("third", SURVIVED)
    assert Results(file).outcome("third") == SURVIVED


def test_what_is_known_of_a_mutant_is_not_tried_again(tmp_path: Path) -> None:
    """It counts all the same."""
    asked = ["--seed", "3", "--cases", "4", "--no-careful", "--file", "shm/memory"]
    known = [mutant.in_words(ROOT) for mutant in sample(3, 4, ("shm/memory",))]
    for words, outcome in zip(known, (KILLED, SURVIVED, HUNG, SWOLLEN), strict=True):
        Results(tmp_path / "results.json").keep(words, outcome)
    done = CliRunner().invoke(main, [*asked, "--json", str(tmp_path / "results.json")])
    told = [line for line in done.output.splitlines() if not line.startswith(" ")]
    assert [line.partition(": ")[0] for line in told] == [
        "[1/4] killed", "[2/4] survived", "[3/4] hung", "[4/4] out of memory", "3 of 4 noticed (75.0%)",
    ]  # fmt: skip
    assert done.exit_code == 1
