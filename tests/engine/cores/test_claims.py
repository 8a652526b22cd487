"""Claims on cores: one holder each, gone with whoever made them, never a child's."""

from __future__ import annotations

import os
import signal

import pytest

from tokenring.engine.cores.claims import Claims, taken_among

CORES = (900_001, 900_002, 900_003)
"""That no machine has."""


def test_a_core_has_one_group() -> None:
    with Claims() as ours, Claims() as theirs:
        assert ours.claim(CORES[0])
        assert not theirs.claim(CORES[0])
        assert theirs.claim(CORES[1])
        assert taken_among(CORES) == set(CORES[:2])
    assert taken_among(CORES) == set()


def test_claims_end_with_their_process() -> None:
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        claims = Claims()
        os.write(write_end, bytes([claims.claim(CORES[0])]))
        signal.pause()
    assert os.read(read_end, 1) == b"\x01"
    assert taken_among(CORES) == {CORES[0]}
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert taken_among(CORES) == set()
    os.close(read_end)
    os.close(write_end)


def test_a_child_holds_none_of_its_parents() -> None:
    read_end, write_end = os.pipe()
    with Claims() as claims:
        assert claims.claim(CORES[0])
        child = os.fork()
        if child == 0:
            os.write(write_end, b"1")
            signal.pause()
        assert os.read(read_end, 1)
    try:
        assert taken_among(CORES) == set()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(read_end)
        os.close(write_end)


def test_where_names_cannot_be_had_cores_are_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenring.engine.cores.claims._name", lambda core: f"/no/such/folder/{core}")
    with Claims() as claims:
        assert claims.claim(CORES[0])
        assert taken_among(CORES) == set()
