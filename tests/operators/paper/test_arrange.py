"""arrange: net updates of each time once it is finished, an index of what they add up to, and silence when idle."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import tokenring as tr
from tests.errors import raises
from tests.operators.helpers import bench
from tokenring.engine import Schema, SchemaError, Stream
from tokenring.operators import Arrangement, arrange

UPDATES = Schema("change key other")
ROW = st.tuples(st.integers(0, 4), st.integers(0, 5) | st.sampled_from([-(2**63), 2**63 - 1]), st.integers(-2, 2))


@settings(deadline=None)
@given(st.lists(ROW, max_size=30), st.integers(1, 3), st.integers(1, 3))
def test_net_updates_of_each_time(rows: list[tuple[int, int, int]], workers: int, pieces: int) -> None:
    indexes: list[Arrangement] = []

    def declare(stream: Stream) -> Stream:
        arranged, index = arrange(stream, "key", "change")
        indexes.append(index)
        return arranged

    net: Counter[tuple[int, int]] = Counter()
    for time, key, change in rows:
        net[time, key] += change
    expected = sorted((time, key, change) for (time, key), change in net.items() if change)
    with bench([UPDATES], declare, workers) as made:
        for now in range(5):
            mine = [(key, change) for time, key, change in rows if time == now]
            for piece in range(pieces):
                part: Any = list(zip(*mine[piece::pieces], strict=True)) or [(), ()]
                made.send({"key": part[0], "change": part[1], "other": part[0]}, worker=piece % workers, time=now)
            made.settle()
            assert not [row for row in made.rows if row[1] >= now], "a time that is open says nothing"
        made.close()
        assert made.sent() == expected
    totals: Counter[int] = Counter()
    for _, key, change in rows:
        totals[key] += change
    held = [dict(zip(*index.columns().values(), strict=True)) for index in indexes]
    assert {key: total for part in held for key, total in part.items()} == {k: t for k, t in totals.items() if t}
    assert sum(len(part) for part in held) == sum(1 for total in totals.values() if total), "each key on one worker"


def test_it_holds_a_token_only_for_open_times_and_is_not_run_when_idle() -> None:
    with bench([UPDATES], lambda stream: arrange(stream, "key", "change")[0]) as made:
        worker = made.group.workers[0]
        operator = next(each for each in worker.inspection.operators if each.name == "arrange")
        made.settle()
        runs = []
        logic = operator.logic
        operator.logic = lambda *ports: runs.append(operator.held) or logic(*ports)
        for time in range(1, 50):
            made.advance(time)
        assert (runs, operator.held) == ([], 0)
        made.send({"key": [7], "change": [1], "other": [0]})
        made.settle()
        assert (len(runs), operator.held) == (1, 1)
        made.advance(51)
        assert (len(runs), operator.held) == (2, 0)
        assert made.sent() == [(49, 7, 1)]


def test_without_a_column_of_changes_the_rows_are_to_be_a_collection() -> None:
    def declare(stream: Any) -> Any:
        with stream.scope.loop("around") as loop:
            entered = loop.enter(stream)
            for rows in (stream, entered):
                with raises(SchemaError, "operator 'arrange'", "change='...'", ".collection().arrange('key')"):
                    rows.arrange("key")
            there = entered.collection(times="change").arrange("key").collection().leave(loop)
        return there.changes().collect()

    def program(worker: Any) -> Any:
        with worker.dataflow("declared") as scope:
            handle, rows = scope.new_input(Schema("key change"))
            found = declare(rows)
        handle.send({"key": [1, 1, 2], "change": [2, 1, -1]})
        worker.run()
        return sorted(zip(*[column.tolist() for column in found.columns().values()], strict=True))

    assert tr.execute(program, workers=1) == [[(1, 0, 3), (2, 0, -1)]]
