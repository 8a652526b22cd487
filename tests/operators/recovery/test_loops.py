"""Loops of streams under recovery: wherever a run is cut, what leaves them is what leaves those of a run that was not,
of all operators that may be in a loop; and of some, what plain Python makes of each epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.long_form import LONG
from tests.operators.recovery.worlds import Job, Rows
from tests.operators.test_in_loops import ANSWERS, ROW
from tokenring import operators
from tokenring.operators import (
    Count,
    Tumbling,
    aggregate,
    col,
    distinct,
    filter,
    from_generator,
    graphs,
    iterate,
    select,
    to_arrow_files,
    with_columns,
)

EPOCHS = 12
NAMES = [name for name in ANSWERS if name not in ("broadcast", "collection")]
"""The answers of the first are as many as there are workers; the other one is refused."""


def rows_of(share: int) -> Iterator[dict[str, list[int]]]:
    """Some rows at each time, out of order by up to 20."""
    random = Random(share)
    for epoch in range(EPOCHS):
        count = random.randrange(1, 5)
        yield {
            "node": [random.randrange(5) for _ in range(count)],
            "left": [random.randrange(5) for _ in range(count)],
            "at": [10 * epoch + share + 2 * (count - row) for row in range(count)],
        }


def source(scope: Any) -> Any:
    return from_generator(scope, ROW, lambda share, shares: rows_of(share), time="at", disorder=20)


def go_round(rows: Any) -> Any:
    """What goes round once more, to other workers."""
    more = filter(rows, "left", ">", 0)
    again = with_columns(more, node=(col("node") * 3 + col("left")) % 5, left=col("left") - 1)
    return operators.exchange(again, ("node", "left"))


def looping(answer: Callable[[Any], Any]) -> Callable[[Any, Path], None]:
    """A loop whose rows go round while `left` > 0; of each round what an operator answers leaves it."""

    def declare(scope: Any, results: Path) -> None:
        made = iterate(source(scope), lambda rows: (go_round(rows), answer(rows)))
        to_arrow_files(made, results / "out")

    return declare


def cut_often(job: Job, seed: int) -> Rows:
    """All results, after cuts anywhere, with several numbers of workers."""
    random = Random(seed)
    with job.world(2, random) as world:
        world.step(random.randrange(150))
        world.take(copied=True)
        world.step(random.randrange(20))
        world.take()
    for steps in (random.randrange(80), random.randrange(40)):
        with job.world(random.choice([1, 2, 3]), random) as world:
            world.step(steps)
            world.take(until=random.choice(["", "", "manifest", "results"]))
    with job.world(random.choice([1, 2, 3]), random) as world:
        world.finish()
    return job.rows("out")


@pytest.mark.filterwarnings("ignore::tokenring.operators.RowwiseWarning")
@pytest.mark.parametrize("name", NAMES)
def test_loops_of_all_operators_go_on(tmp_path: Path, name: str) -> None:
    whole = Job(tmp_path / "whole", looping(ANSWERS[name]))
    with whole.world(2, Random(1)) as world:
        world.finish()
    expected = whole.rows("out")
    assert expected
    for seed in range(8 if LONG else 1):
        assert cut_often(Job(tmp_path / f"{seed}", looping(ANSWERS[name])), seed) == expected


def of_one_time() -> dict[int, list[tuple[int, int]]]:
    """(node, left) of all rows that go round, and those that they become, by time."""
    found: dict[int, list[tuple[int, int]]] = {}
    for share in range(2):
        for batch in rows_of(share):
            for node, left, at in zip(batch["node"], batch["left"], batch["at"], strict=True):
                found.setdefault(at, []).append((node, left))
                while left > 0:
                    node, left = (node * 3 + left) % 5, left - 1
                    found[at].append((node, left))
    return found


def counted(scope: Any, results: Path) -> None:
    """How many rows each node has seen in a loop, by windows behind it."""
    made = iterate(source(scope), lambda rows: (go_round(rows), rows))
    to_arrow_files(aggregate(made, "node", window=Tumbling("at", 10), rows=Count()), results / "out")


@pytest.mark.parametrize("seed", range(6))
def test_all_that_goes_round_counts_once(tmp_path: Path, seed: int) -> None:
    expected: Counter[tuple[int, int]] = Counter()
    for at, rows in of_one_time().items():
        for node, _ in rows:
            expected[at // 10 * 10, node] += 1
    found = cut_often(Job(tmp_path, counted), seed)
    assert found == Counter({(start, start + 10, node, rows): 1 for (start, node), rows in expected.items()})


def test_rows_of_a_time_that_is_not_finished_wait_before_the_loop(tmp_path: Path) -> None:
    """They are part of the snapshot there, and nothing is in the loop."""
    job = Job(tmp_path, looping(lambda rows: distinct(select(rows, "node"), "node")))
    with job.world(2, Random(3)) as world:
        world.step(8)
        world.take()
    snapshot = job.folder.newest()
    assert snapshot is not None
    tables = {told["operator"] for told in snapshot.files if "operator" in told}
    assert tables == {"enter iterate"}
    with job.world(3, Random(3)) as world:
        world.finish()


def test_a_loop_within_a_loop_goes_on(tmp_path: Path) -> None:
    def declare(scope: Any, results: Path) -> None:
        def outer(rows: Any) -> Any:
            inner = iterate(rows, lambda within: (go_round(within), filter(within, "left", "==", 0)))
            return go_round(rows), distinct(select(inner, "node"), "node")

        to_arrow_files(iterate(source(scope), outer), results / "out")

    two = Job(tmp_path / "two", declare)
    with two.world(2, Random(1)) as world:
        world.finish()
    for seed in range(3):
        assert cut_often(Job(tmp_path / f"{seed}", declare), seed) == two.rows("out")


def test_streams_that_enter_wait_for_each_other(tmp_path: Path) -> None:
    """Of two that are read at their own pace; what is in the loop for one of them would be lost in a snapshot."""

    def entered(scope: Any, results: Path) -> None:
        rows = select(source(scope), "node", "at")
        few = from_generator(scope, ROW, lambda share, shares: rows_of(share + 7), time="at", disorder=60, name="slow")
        seeds = select(few, "node", "left")
        edges = select(rows, src=col("node"), dst=(col("node") + 1) % 5)
        to_arrow_files(graphs.least_values(edges, seeds, name="least"), results / "out")

    whole = Job(tmp_path / "whole", entered)
    with whole.world(2, Random(1)) as world:
        world.finish()
    assert whole.rows("out")
    for seed in range(6):
        assert cut_often(Job(tmp_path / f"{seed}", entered), seed) == whole.rows("out")
