"""`--lanes`: reports are those of one process, whatever becomes of a file's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.imports import ROOT

CONFTEST = """
from pathlib import Path
from tests.lanes import Lanes

def pytest_addoption(parser):
    parser.addoption("--lanes", type=int, default=0)

def pytest_configure(config):
    if count := config.getoption("--lanes"):
        together = lambda file: "shared" if "shared" in file.name else str(file)
        config.pluginmanager.register(Lanes(config, count, together, lambda: None, lambda: None))
"""
FILES = {
    "test_good.py": """
        import os, warnings, pytest

        def test_passes(tmp_path):
            warnings.warn("heard of")
            print("words that a passing test prints")

        @pytest.mark.parametrize("number", [1, 2])
        def test_fails_at_two(number):
            print("words that a failing test prints")
            assert number != 2

        @pytest.mark.xfail
        def test_is_expected_to_fail():
            assert False

        def test_is_skipped():
            pytest.skip("no reason")
        """,
    "test_shared_first.py": """
        import os

        def test_sets():
            os.environ["SET_BY_THE_FIRST"] = str(os.getpid())
        """,
    "test_shared_second.py": """
        import os

        def test_finds():
            assert os.environ["SET_BY_THE_FIRST"] == str(os.getpid())
        """,
    "test_unset.py": """
        import os

        def test_finds_nothing():
            assert "SET_BY_THE_FIRST" not in os.environ
        """,
    "test_broken.py": "import no_such_module",
    "test_dies.py": """
        import os

        def test_before():
            pass

        def test_dies():
            os.abort()

        def test_after():
            pass
        """,
}


@pytest.fixture
def files(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite of its own, below the folder where pytest starts."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeini("[pytest]\naddopts = -ra --import-mode=importlib\n")
    pytester.makeconftest(CONFTEST)
    for name, text in FILES.items():
        pytester.makepyfile(**{name.removesuffix(".py"): text})
    return pytester


def test_what_is_told_is_what_one_process_tells(files: pytest.Pytester) -> None:
    options = ("--deselect", "test_dies.py", "--continue-on-collection-errors")
    one, several = [files.runpytest_subprocess(f"--lanes={count}", *options) for count in (0, 2)]
    expected = {"passed": 5, "failed": 1, "errors": 1, "skipped": 1, "xfailed": 1, "warnings": 1, "deselected": 3}
    for result in (one, several):
        # Where all is one process, the file that has one to itself finds what others have set.
        result.assert_outcomes(**expected | ({} if result is several else {"passed": 4, "failed": 2}))
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["*test_fails_at_two?2?*", "*words that a failing test prints*"])
        result.stdout.fnmatch_lines(["*UserWarning: heard of*", "SKIPPED ?1? test_good.py:*: no reason"])
        result.stdout.no_fnmatch_line("*words that a passing test prints*")


def test_a_process_that_dies_fails_the_test_that_it_was_about(files: pytest.Pytester) -> None:
    result = files.runpytest_subprocess("--lanes=2", "test_dies.py", "test_unset.py")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["*_ test_dies _*", "its process ended with status -6:", "*Fatal Python error: Aborted", "*in test_dies"]
    )


def test_tests_are_chosen_as_ever(files: pytest.Pytester) -> None:
    files.runpytest_subprocess("--lanes=2", "test_good.py::test_passes", "test_unset.py").assert_outcomes(
        passed=2, warnings=1
    )
    files.runpytest_subprocess("--lanes=2", "-k", "finds", "--ignore=test_broken.py").assert_outcomes(
        passed=1, failed=1, deselected=9
    )
    none = files.runpytest_subprocess("--lanes=2", "-k", "nobody", "--ignore=test_broken.py")
    assert none.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert files.runpytest_subprocess("--lanes=2", "test_absent.py").ret == pytest.ExitCode.USAGE_ERROR


def test_the_first_failure_ends_it(files: pytest.Pytester) -> None:
    result = files.runpytest_subprocess("--lanes=1", "-x", "test_good.py", "test_unset.py")
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["*stopping after 1 failures*"])


def test_ctrl_c_ends_all_of_it(files: pytest.Pytester) -> None:
    files.makepyfile(
        test_long="""
        import os, pathlib, time

        def test_waits():
            try:
                pathlib.Path("begun").write_text(str(os.getpid()))
                time.sleep(600)
            finally:
                pathlib.Path("ended").touch()
        """
    )
    command = [sys.executable, "-m", "pytest", "--lanes=2", "test_long.py"]
    with subprocess.Popen(
        command, cwd=files.path, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        begun = Path(files.path, "begun")
        while not (begun.exists() and begun.read_text()):
            assert running.poll() is None
        os.killpg(running.pid, signal.SIGINT)
        said, _ = running.communicate(timeout=60)
    assert running.returncode == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in said
    assert Path(files.path, "ended").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)
