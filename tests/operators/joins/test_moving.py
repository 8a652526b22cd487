"""A join's rows go on when its other side has ended while bins move; the rest of moving joins is in random programs."""

from __future__ import annotations

from tests.operators.helpers import bench
from tests.operators.moving import BINS, moving
from tokenring.engine import Schema, Stream
from tokenring.operators import join


def test_rows_go_on_when_the_other_side_has_ended_while_bins_move() -> None:
    left, right, key = Schema("n key"), Schema("key other"), 5

    def declare(*streams: Stream) -> Stream:
        return join(*streams, on="key", how="left")

    moves = [(time, number, time % 2) for time in (10, 15, 20) for number in range(BINS)]
    with bench([left, right], moving(declare, 2, moves), 2) as made:
        made.send({"key": [1], "other": [7]}, to=1, time=2)
        made.send({"n": [0], "key": [key]}, time=3)
        made.settle()
        assert made.sent() == []  # its match may still come
        for handles in made.inputs:
            handles[1].close()
        made.settle()
        assert [row[:3] for row in made.sent()] == [(3, 0, key)]
        for time in range(9, 25):
            made.send({"n": [time, time], "key": [key, 1]}, worker=time % 2, time=time)
            for handles in made.inputs:
                handles[0].advance_to(time + 1)
            made.settle()
            assert [row[:3] for row in made.sent()] == [(time, time, 1), (time, time, key)]
        made.close()
