"""Signals that end a process wait while numba compiles."""

from __future__ import annotations

import signal
from types import FrameType

import pytest
from numba.core.compiler_lock import global_compiler_lock

import tokenring.shm.kernels.compiler_lock  # noqa: F401 - which has numba tell of its lock


def compile_in_two_turns(said: list[str]) -> None:
    """Each kernel that one calls is compiled within it."""
    with global_compiler_lock:
        for turn in ("first", "second"):
            with global_compiler_lock:
                signal.raise_signal(signal.SIGINT)
                said.append(turn)
        said.append("all")


def test_a_signal_waits_for_the_end_of_all_that_is_compiled() -> None:
    before, said = signal.getsignal(signal.SIGINT), list[str]()
    with pytest.raises(KeyboardInterrupt):
        compile_in_two_turns(said)
    assert said == ["first", "second", "all"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_handler_that_ends_the_process_need_not_wait() -> None:
    said = list[str]()

    def handler(number: int, frame: FrameType | None) -> None:
        said.append("signal")

    handler.exits = True  # type: ignore[attr-defined]
    before = signal.signal(signal.SIGINT, handler)
    try:
        compile_in_two_turns(said)
    finally:
        signal.signal(signal.SIGINT, before)
    assert said == ["signal", "first", "signal", "second", "all"]
