"""A batch of a closed loop has about as many rows whatever share of the events a query reads."""

from __future__ import annotations

import pytest

from tokenring.nexmark.run.runner import CLOSED_BLOCK_ROWS, LEAST_TURNS, Plan

EVENTS = 10_000_000


@pytest.mark.parametrize(("read", "block"), [(1.0, 16_384), (0.92, 17_808), (0.08, 204_800)])
def test_blocks_have_as_many_rows(read: float, block: int) -> None:
    assert Plan("q4", "").pace(EVENTS, 2, read).block == block == int(CLOSED_BLOCK_ROWS / read)


@pytest.mark.parametrize("read", [0.0, 1e-9])
def test_every_worker_has_some_turns(read: float) -> None:
    assert Plan("q4", "").pace(EVENTS, 2, read).block == EVENTS // (2 * LEAST_TURNS)
    assert Plan("q4", "").pace(1_000, 2, read).block == CLOSED_BLOCK_ROWS


def test_who_asks_for_a_batch_has_it() -> None:
    assert Plan("q4", "", block=100).pace(EVENTS, 2, 0.08).block == 100
    assert Plan("q4", "", mechanism="notifications").pace(EVENTS, 2, 0.08).block == 256


def test_an_open_loop_takes_what_is_due() -> None:
    assert Plan("q4", "", rate=4e6).pace(EVENTS, 2, 0.08).block == 2_000
