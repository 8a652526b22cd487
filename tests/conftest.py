"""What every test runs under: a leak check after each, numba warmed up first, no deadlines for hypothesis."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numba
import numpy as np
import pytest
from hypothesis import settings

from tests import leaks

# A deadline would measure this machine's load. On CI the examples are the same each time.
settings.register_profile("tokenring", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("tokenring")

_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember that a test failed: its traceback then keeps its locals alive, open descriptors among them."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.fixture(scope="session")
def warm_numba() -> None:
    """Compile and run one kernel, so that whatever numba and LLVM open at first use is there before we count."""

    @numba.njit
    def total(values: np.ndarray) -> int:
        result = 0
        for value in values:
            result += value
        return result

    assert total(np.arange(4)) == 6


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
