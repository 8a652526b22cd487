"""Sliding windows while bins move at almost every time: what is inside the window at hand goes on with what comes."""

import random

import pytest

import tokenring as tr
from tokenring.operators.aggregates.sliding import _Sliding

BID = tr.Schema("at key other value")
TIMES, BINS, PEERS = 120, 32, 2
COLUMNS = ("window_start", "window_end", "key", "other", "n", "value")
FOLDS = {
    "moved on": {"n": tr.Count(), "value": tr.Sum("value")},
    "merged anew": {"n": tr.Count(), "value": tr.Max("value")},
}


def _rows(seed: int) -> dict[int, list[tuple[int, int, int]]]:
    """key, other and value of the rows of some times; there is a gap in which windows become empty."""
    some = random.Random(seed)
    times = [at for at in range(TIMES) if not 50 < at < 75 and some.random() < 0.7]
    return {at: [(some.randrange(60), some.randrange(3), some.randrange(1000)) for _ in range(9)] for at in times}


@pytest.mark.parametrize("folds", FOLDS)
def test_windows_go_on_with_what_comes_and_without_what_leaves(folds: str) -> None:
    some = random.Random(3)
    moves = sorted([(some.randrange(TIMES), some.randrange(BINS), some.randrange(PEERS)) for _ in range(150)])

    def program(worker: tr.Worker) -> tuple[list[tuple[int, ...]], int]:
        anew, seen = [0], []
        take_out = _Sliding.take_out

        def counted(sliding: _Sliding) -> None:
            anew[0] += 1
            take_out(sliding)

        _Sliding.take_out = counted  # type: ignore[method-assign]
        with worker.dataflow("bids", bins=BINS, moves=moves if worker.peers > 1 else []) as scope:
            bids, stream = scope.new_input(BID)
            made = stream.aggregate(["key", "other"], window=tr.Sliding("at", 20, 5), **FOLDS[folds])
            done = made.for_each(
                lambda time, batch: seen.extend(zip(*[batch[name].tolist() for name in COLUMNS], strict=True))
            )
        rows = [_rows(number) for number in range(PEERS)]
        for at in range(TIMES):
            bids.advance_to(at)
            for number in range(worker.index, PEERS, worker.peers):
                if at in rows[number]:
                    key, other, value = zip(*rows[number][at], strict=True)
                    bids.send({"at": [at] * len(key), "key": key, "other": other, "value": value})
            worker.step_while(lambda at=at: done.less_than(at))
        worker.run()
        return seen, anew[0]

    alone, moved = (tr.execute(program, workers=workers) for workers in (1, PEERS))
    answers = sorted(alone[0][0])
    assert len(answers) > 1000
    assert sorted([row for seen, _ in moved for row in seen]) == answers
    assert sum([anew for _, anew in moved]) < 10  # of some 100 steps that each worker takes part in
