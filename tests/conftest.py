"""What every test runs under: a leak check after each, kernels made ready first, no deadlines for hypothesis.

With `--lanes N` files run N at a time, each in a process of its own; those that share a Spark, in one.
"""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import gc
import mmap
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from hypothesis import given, settings
from hypothesis.strategies import integers

from tests import leaks
from tests.imports import ROOT
from tests.lanes import Lanes
from tests.long_form import LONG, examples
from tokenring.engine.group.warm_up import warm_up as make_kernels_ready
from tokenring.engine.kernel_library import import_everything
from tokenring.shm.memory import text_space

# A deadline would measure this machine's load. On CI the examples are the same each time; those of the long form are
# new ones, and what one needs to see them again is printed.
settings.register_profile(
    "tokenring",
    deadline=None,
    derandomize="CI" in os.environ and not LONG,
    print_blob=True,
    max_examples=examples(100),
)
settings.load_profile("tokenring")

atexit.register(gc.unfreeze)  # libraries tell of what is left of them when Python ends

# A shell has what it starts in the background ignore Ctrl-C, children included; tests are about programs that do not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_FAILED = pytest.StashKey[bool]()
_LIBC = ctypes.CDLL(None)

# Ends the run with every stack printed, when a kernel spins where no Python signal handler can run: a test has this
# long, or as much less as it may start later than the watchdog did. pytest's own (faulthandler_timeout) starts a thread
# and waits for its end with each test, which takes as long as all else that is done for a test.
_HANGS_S, _LATER_S = 420.0, 30.0
_WATCHED_SINCE = [-_LATER_S]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --lanes to what pytest takes."""
    said = "run N files at a time, each in a process of its own (0: all in this one)"
    parser.addoption("--lanes", type=int, default=0, metavar="N", help=said)


def pytest_configure(config: pytest.Config) -> None:
    """Where files have processes of their own, this one forks them."""
    if (count := config.getoption("--lanes")) and not config.option.collectonly:
        config.pluginmanager.register(Lanes(config, count, _process_of, _make_all_ready, leaks.mark))


def _process_of(file: Path) -> str:
    """A name that files have in common that are to run in one process: those whose tests use the Spark, or the library
    of kernels, that is made once for them. A fixture is named where it is asked for."""
    for name, words in _SHARED.items():
        if re.search(words, file.read_text()):
            return name
    return str(file)


_SHARED = {"spark": r"\bmark\.spark\b|\bresident_spark\b|\bshared_staged\b", "library": r"\blittle_library\b"}


def _make_all_ready() -> None:
    """Load and look through, once, what files' processes would each: not numba, which is large, and few need."""
    _make_ready()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "numba", None)
        import_everything()
    pa.array([0])  # pyarrow loads pandas for it
    given(integers())(lambda _: None)()  # Hypothesis reads the source of all modules of ours
    _keep_what_there_is()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Start the watchdog anew, unless it has just been started."""
    now = time.monotonic()
    if now - _WATCHED_SINCE[0] >= _LATER_S:
        _WATCHED_SINCE[0] = now
        faulthandler.dump_traceback_later(_HANGS_S, file=item.config.stash[fault_handler_stderr_fd_key], exit=True)


def pytest_exception_interact() -> None:
    """pytest has stopped the watchdog: the next test starts one."""
    _WATCHED_SINCE[0] = -_LATER_S


def pytest_sessionfinish() -> None:
    """What follows the last test is not watched."""
    faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember that a test failed: its traceback then keeps its locals alive, open descriptors among them."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@cache
def _make_ready() -> None:
    """Compile all kernels of the package that are not (no test is to measure that, nor to hear of it), in a process of
    its own: numba here would be half of what each fork copies. The file of the text space's constants is there before
    we count. With TOKENRING_TESTS_LAZY in the environment kernels are compiled where they are needed: of a few tests'
    most are not.
    """
    if "TOKENRING_TESTS_LAZY" not in os.environ:
        subprocess.run([sys.executable, "-m", "tokenring", "warm-up"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    text_space()
    pa.set_memory_pool(pa.system_memory_pool())  # its own allocator keeps hundreds of megabytes of what was freed


@pytest.fixture(scope="session")
def kernels() -> None:
    """Kernels are ready, those that tests declare among them."""
    _make_ready()
    if "TOKENRING_TESTS_LAZY" not in os.environ:
        make_kernels_ready()
    _keep_what_there_is()


@pytest.fixture(scope="session")
def arrow_reads_csv() -> None:
    """Arrow's reader of CSV has in this process what it makes at first, and keeps: a pipe."""
    with pa.lib.SignalStopHandler():
        pass


def _keep_what_there_is() -> None:
    """What has been made stays: a look for garbage at all of it takes as long as dozens of tests, and each process that
    is forked would have to copy what it touches. And a fork takes as long as memory is large: what was freed goes back
    to the system.
    """
    gc.collect()
    gc.freeze()
    _LIBC.malloc_trim(0)


@pytest.fixture(scope="module", autouse=True)
def little_to_look_through(kernels: None) -> None:
    """What earlier files have left is nothing that a file's tests, or workers that they fork, look through."""
    _keep_what_there_is()


@pytest.fixture(scope="session")
def no_memory_made_ready() -> Iterator[None]:
    """Benchmarks need not ask the system for gigabytes before they measure: of their figures none is looked at."""
    from tokenring.nexmark.bench.parts import rounds

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "_READY_BYTES", mmap.PAGESIZE)
        yield


@pytest.fixture(autouse=True)
def leaves_nothing_behind(request: pytest.FixtureRequest, kernels: None) -> Iterator[None]:
    """Fail a test that leaves a segment, a process or a descriptor behind.

    It is the first fixture of its scope, hence the last to end: a test's own fixtures have cleaned up by then.
    """
    before = leaks.take()
    yield
    failed = request.node.stash.get(_FAILED, False)
    left = leaks.left_behind(before, check_descriptors=not failed)
    if left:
        leaks.kill_new_processes(before)
        pytest.fail("the test left behind:\n" + "\n".join(f"  {line}" for line in left), pytrace=False)
