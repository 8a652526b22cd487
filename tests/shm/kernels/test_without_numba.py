"""A kernel that is not in the library, where numba is not there: how to have it is said; what else lacks is itself."""

from __future__ import annotations

import sys

import pytest

from tests.errors import raises
from tokenring.shm.errors import KernelError
from tokenring.shm.kernels import kernel


@kernel
def doubled(number):  # type: ignore[no-untyped-def]
    return 2 * number


@pytest.mark.parametrize("module", ["numba", "llvmlite"])
def test_numba_that_is_not_there_is_named(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks() -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr(sys.modules["tokenring.shm.kernels.kernel"], "numba_comes", lacks)
    if module == "numba":
        with raises(KernelError, "kernel", "doubled", "numba", "not installed", "kernels"):
            doubled.numba_comes()
    else:
        with raises(ModuleNotFoundError, module):
            doubled.numba_comes()
