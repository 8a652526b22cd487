"""The leak check itself: each kind of leak fails the test that leaves it, and what is cleaned up does not."""

from __future__ import annotations

import mmap
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import leaks
from tokenring.shm.memory import new_name

REPOSITORY = Path(__file__).parents[1]
CONFTEST = """
import pytest
from tests import leaks
from tests.conftest import leaves_nothing_behind, pytest_runtest_makereport

@pytest.fixture(scope="session")
def kernels():  # no kernel runs here
    pass

leaks.GRACE_S = 0.3
leaks.SEGMENT_PREFIXES = tuple("selftest-" + prefix for prefix in leaks.SEGMENT_PREFIXES)
"""
HEADER = """
import multiprocessing, os, pathlib, signal, socket, subprocess, sys, threading
from multiprocessing.shared_memory import SharedMemory
kept = []
"""
SLEEPER = "[sys.executable, '-c', 'import time; time.sleep(600)']"
# A launcher that starts a worker, tells its pid and waits to be killed: init adopts the worker.
LAUNCHER = f"import subprocess, sys, time; print(subprocess.Popen({SLEEPER}).pid, flush=True); time.sleep(600)"

# name -> (body, what the report says about it)
LEAKS = {
    "socket": ("kept.append(socket.socket())", r"descriptor \d+ -> socket:"),
    "pipe": ("kept.append(os.pipe())", r"descriptor \d+ -> pipe:"),
    "eventfd": ("kept.append(os.eventfd(0))", r"descriptor \d+ -> anon_inode:"),
    "memfd": ("kept.append(os.memfd_create('x'))", r"descriptor \d+ -> /memfd:x"),
    "file": ("kept.append(open('data', 'w'))", r"descriptor \d+ -> .*/data"),
    "segment": ("pathlib.Path('{segment}').touch()", r"segment {segment}"),
    "child": (f"kept.append(subprocess.Popen({SLEEPER}))", r"process \d+ \(sleeping\): .*time.sleep"),
    "zombie": ("kept.append(subprocess.Popen(['true']))", r"process \d+ \(zombie\)"),
    "adopted": (
        f"with subprocess.Popen([sys.executable, '-c', {LAUNCHER!r}], stdout=subprocess.PIPE) as launcher:\n"
        "    assert int(launcher.stdout.readline())\n"
        "    launcher.kill()",
        r"process \d+ \(sleeping\): .*time.sleep",
    ),
    # Forked without exec, a process shows its parent's first environment: there is no mark to find it by.
    "forked": (
        "launcher = os.fork()\n"
        "if launcher == 0:\n"
        "    if os.fork() == 0:\n"
        "        signal.pause()\n"
        "    os._exit(0)\n"
        "os.waitpid(launcher, 0)",
        r"process \d+ \(sleeping\): .*pytest",
    ),
}
CLEAN = {
    "closed": "socket.socket().close()",
    "cycle": "one = [open('data', 'w')]\none[0].close()\none.append(one)",
    "reaped": f"child = subprocess.Popen({SLEEPER})\nchild.kill()\nchild.wait()",
    "ending": "kept.append(subprocess.Popen(['sleep', '0.1']))\nthreading.Thread(target=kept[-1].wait).start()",
    "spawned": "child = multiprocessing.get_context('spawn').Process(target=os.getpid)\nchild.start()\nchild.join()",
    "shared": "memory = SharedMemory(create=True, size=8)\nmemory.close()\nmemory.unlink()",
    "devnull": "kept.append(open(os.devnull))",
}


@pytest.fixture
def segment() -> Iterator[Path]:
    """Name a segment that is gone afterwards, whatever a test did with it; only runs within these tests look for it."""
    path = Path(f"/dev/shm/selftest-tokenring-{uuid.uuid4().hex}")
    yield path
    path.unlink(missing_ok=True)


def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, bodies: dict[str, str]) -> pytest.RunResult:
    """Run one test for each body in a pytest of its own, under this suite's leak check."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take longer to come than the tests
    pytester.makeconftest(CONFTEST)
    tests = [f"def test_{name}():\n" + re.sub("^", "    ", body, flags=re.M) + "\n" for name, body in bodies.items()]
    pytester.makepyfile(HEADER + "\n".join(tests))
    return pytester.runpytest_subprocess("-p", "no:cacheprovider")


def test_each_kind_of_leak_fails_its_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, segment: Path
) -> None:
    bodies = {name: body.replace("{segment}", str(segment)) for name, (body, _) in LEAKS.items()}
    result = run(pytester, monkeypatch, bodies)
    result.assert_outcomes(passed=len(LEAKS), errors=len(LEAKS))
    blocks = re.split(r"_+ ERROR at teardown of test_(\w+) _+\n", result.stdout.str())[1:]
    reports = dict(zip(blocks[::2], blocks[1::2], strict=True))
    for name, (_, what) in LEAKS.items():
        expected = what.replace("{segment}", str(segment))
        assert re.match(rf"the test left behind:\n  {expected}", reports[name]), (name, reports[name])
    for pid in re.findall(r"process (\d+)", result.stdout.str()):
        assert not runs(int(pid)), "what a test leaves running is ended, so that it cannot disturb the next"


def test_what_is_cleaned_up_passes(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    run(pytester, monkeypatch, CLEAN).assert_outcomes(passed=len(CLEAN))


def test_a_failing_test_is_not_blamed_for_what_its_traceback_holds(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run(pytester, monkeypatch, {"fails": "held = socket.socket()\nassert held is None"})
    result.assert_outcomes(failed=1)


WATCHED = """
from tests import conftest
from tests.conftest import pytest_exception_interact, pytest_runtest_protocol, pytest_sessionfinish

conftest._HANGS_S = 2.0
"""
SPINS = """
import ctypes

def test_fails():
    assert False

def test_holds_the_interpreter():
    ctypes.PyDLL(None).sleep(200)
"""


def test_a_call_that_holds_the_interpreter_ends_the_run(pytester: pytest.Pytester) -> None:
    """After a failed test too, with which pytest stops what watches."""
    pytester.makeconftest(WATCHED)
    pytester.makepyfile(SPINS)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=100)
    assert result.ret == 1
    result.stderr.fnmatch_lines(["Timeout*", "*in test_holds_the_interpreter"])


def test_a_segment_that_others_map_is_theirs(segment: Path) -> None:
    """Another run on the same machine makes and drops segments of its own while our tests run."""
    segment.write_bytes(bytes(mmap.PAGESIZE))
    map_it = "import mmap, sys; f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 0); print(flush=True); input()"
    command = [sys.executable, "-c", map_it, str(segment)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert leaks.belongs_to_others(segment, family={})
        assert not leaks.belongs_to_others(segment, family={process.pid: (process.pid, 0.0)})
        process.communicate(b"\n")
    assert not leaks.belongs_to_others(segment, family={})


MAKE_A_SEMAPHORE = """
import posix_ipc
from tokenring.shm.memory import new_name
semaphore = posix_ipc.Semaphore(new_name() + "-0", posix_ipc.O_CREX, mode=0o600)
try:
    print(semaphore.name, flush=True)
    input()
finally:
    semaphore.unlink()
"""


def test_a_semaphore_whose_maker_lives_is_its_makers(tmp_path: Path) -> None:
    """Its maker maps it, but under the name that it had until it was ready."""
    command = [sys.executable, "-c", MAKE_A_SEMAPHORE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        semaphore = leaks.SHM_DIRECTORY / f"sem.{process.stdout.readline().strip().lstrip('/')}"
        assert str(semaphore) not in Path(f"/proc/{process.pid}/maps").read_text()
        assert leaks.belongs_to_others(semaphore, family={})
        assert not leaks.belongs_to_others(semaphore, family={process.pid: (process.pid, 0.0)})
        process.communicate("\n")
    left = tmp_path / semaphore.name
    left.touch()
    assert not leaks.belongs_to_others(left, family={})


def test_what_this_process_made_is_its_own(tmp_path: Path) -> None:
    made = tmp_path / new_name().lstrip("/")
    made.touch()
    assert not leaks.belongs_to_others(made, family={})


def test_a_twin_is_an_orphan_once_its_parent_is_gone() -> None:
    """Until then it may be of another run from the same terminal, and killing it would end that one."""
    unmarked = {name: value for name, value in os.environ.items() if name != leaks.MARK_NAME}
    command = [sys.executable, "-c", LAUNCHER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=unmarked) as launcher:
        assert launcher.stdout is not None
        twin = psutil.Process(int(launcher.stdout.readline()))
        try:
            while not (like_it := Path(f"/proc/{twin.pid}/cmdline").read_bytes()):
                time.sleep(0.001)  # now and then it has none yet
            assert not leaks._is_adopted(twin.pid, 0, like_it)
            launcher.kill()
            launcher.wait()
            assert leaks._is_adopted(twin.pid, 0, like_it) is (os.getppid() != 1), "init's children look all the same"
        finally:
            launcher.kill()
            twin.kill()
    assert psutil.wait_procs([twin], timeout=60)[1] == []


@given(st.integers())
def test_hypothesis_runs_under_the_check(number: int) -> None:
    """Hypothesis refuses function-scoped fixtures in some forms; the check must not be one of them."""
    assert number - number == 0


def runs(pid: int) -> bool:
    """Tell whether a process exists and is more than a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
