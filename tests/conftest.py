"""What every test runs under: a leak check after each, numba warmed up first, no deadlines for hypothesis.

Spread over processes (`-n 2 --dist loadscope`), a file stays in one of them, and so do all that share a Spark.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings

from tests import leaks
from tests.imports import ROOT
from tests.long_form import LONG, examples
from tokenring.engine.group.warm_up import warm_up as make_kernels_ready
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

# A shell has what it starts in the background ignore Ctrl-C, children included; tests are about programs that do not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_FAILED = pytest.StashKey[bool]()
_LIBC = ctypes.CDLL(None)


@cache
def _shares_spark(file: str) -> bool:
    """Whether its tests use the Spark that a process keeps for them; a fixture is named where it is asked for."""
    return re.search(r"\bmark\.spark\b|resident_spark\b|shared_staged\b", (ROOT / file).read_text()) is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In a process of several, files that share a Spark come first, since nothing else takes so long."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: not _shares_spark(item.nodeid.partition("::")[0]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out whole files, which share fixtures, in the order of collection; those that share a Spark as one."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "spark" if _shares_spark(file) else file

    return ByFile(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember that a test failed: its traceback then keeps its locals alive, open descriptors among them."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.fixture(scope="session")
def warm_numba() -> Iterator[None]:
    """Compile all kernels that are not (no test is to measure that, nor to hear of it), and run one here, so that
    whatever numba and LLVM open at first use is there before we count, and the file of the text space's constants, too.
    With TOKENRING_TESTS_LAZY in the environment kernels are compiled where they are needed: of a few tests' most are
    not.
    """
    if "TOKENRING_TESTS_LAZY" not in os.environ:
        subprocess.run([sys.executable, "-m", "tokenring", "warm-up"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        make_kernels_ready()  # those that tests declare
    text_space()

    @numba.njit
    def total(values: np.ndarray) -> int:
        result = 0
        for value in values:
            result += value
        return result

    assert total(np.arange(4)) == 6

    # Thousands of tests and kernels have made a million objects that stay: a look at all of them takes as long as
    # dozens of tests, and each of the workers that are forked would have to copy what it touches.
    gc.collect()
    gc.freeze()
    pa.set_memory_pool(pa.system_memory_pool())  # its own allocator keeps hundreds of megabytes of what was freed
    _LIBC.malloc_trim(0)
    yield
    gc.unfreeze()  # libraries tell of what is left of them when Python ends


@pytest.fixture(scope="module", autouse=True)
def little_to_look_through(warm_numba: None) -> None:
    """What earlier files have left is nothing that a file's tests, or workers that they fork, look through for garbage:
    they would copy all of it. And a fork takes as long as memory is large: what was freed goes back to the system."""
    gc.collect()
    gc.freeze()
    _LIBC.malloc_trim(0)


@pytest.fixture(scope="session")
def no_memory_made_ready() -> Iterator[None]:
    """Benchmarks need not ask the system for gigabytes before they measure: of their figures none is looked at."""
    from scripts.benchmarks import measure

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "_READY_BYTES", mmap.PAGESIZE)
        yield


@pytest.fixture(autouse=True)
def leaves_nothing_behind(request: pytest.FixtureRequest, warm_numba: None) -> Iterator[None]:
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
