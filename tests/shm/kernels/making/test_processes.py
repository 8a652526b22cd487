"""The processes that make the library end with the one that started them, and leave what is said to it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.errors import raises
from tokenring.shm.errors import KernelError
from tokenring.shm.kernels import ENDING_SIGNALS
from tokenring.shm.kernels.making import library


@pytest.mark.parametrize("number", ENDING_SIGNALS)
def test_who_started_them_alone_says_by_which_signal_all_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """One that is sent to all: Ctrl-C, or `timeout`."""
    monkeypatch.setattr(library, "_compile", lambda *_: os.kill(os.getpid(), number))
    before = signal.signal(number, lambda *_: (tmp_path / "said").touch())
    try:
        with raises(KernelError, f"status {number}"):
            library._in_processes([[0]], [], [], tmp_path, lambda done, of: None)
    finally:
        signal.signal(number, before)
    assert not (tmp_path / "said").exists()
