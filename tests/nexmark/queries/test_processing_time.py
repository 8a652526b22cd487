"""Q12's windows under a clock that the test sets: ten seconds each, and its own oracle knows which."""

from __future__ import annotations

from collections import Counter

import pytest

from tokenring.engine import Config, InputHandle, Schema
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.nexmark.queries import q12
from tokenring.operators import collect

_S = 10**9
# (clock, bidders of one message): bounds of windows and beside them, more than one message in a window, long pauses.
MESSAGES = [
    (1_500_000_000 * _S - 1, [1, 1, 2]),
    (1_500_000_000 * _S, [1, 2]),
    (1_500_000_000 * _S + 1, [2, 2, -3]),
    (1_500_000_009 * _S, [1]),
    (1_500_000_010 * _S - 1, [1]),
    (1_500_000_010 * _S, [1, -3]),
    (1_500_000_015 * _S, [2]),
    (1_500_000_020 * _S, [1]),
    (1_500_003_600 * _S + 7, [1]),
]


def windows() -> dict[tuple[int, int], int]:
    """(bidder, window's start) -> bids."""
    return dict(Counter((bidder, at - at % (10 * _S)) for at, bidders in MESSAGES for bidder in bidders))


@pytest.mark.parametrize("workers", [1, 2])
def test_bids_count_in_the_ten_seconds_of_the_clock(workers: int) -> None:
    now = 0
    handles: list[InputHandle] = []
    results = []
    group = SimulatedGroup(Config(workers=workers, pin=False))
    try:
        for worker in group.workers:
            with group.building(worker), worker.dataflow() as scope:
                handle, bids = scope.new_input(Schema("bidder"))
                handles.append(handle)
                results.append(collect(q12.build(bids, lambda: now)))
        for number, (at, bidders) in enumerate(MESSAGES):
            now = at
            handles[number % workers].send({"bidder": bidders})
            for _ in range(3):  # rounds of all workers; with the message taken, the rest need not see this clock
                for worker in group.workers:
                    worker.step()
        for handle in handles:
            handle.close()
        group.run()
    finally:
        group.close()
    last: dict[tuple[int, int], int] = {}
    for result in results:
        columns = result.columns()
        for bidder, start, count in zip(columns["bidder"], columns["window_start"], columns["bids"], strict=True):
            last[bidder, start] = max(count, last.get((bidder, start), 0))
    assert last == windows()
