"""Joins whose rows wait until an input has ended, to be sent alone: what waits, with its times, outlives a cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.operators.recovery.worlds import Job, Rows
from tokenring.engine import Schema
from tokenring.operators import Count, Tumbling, aggregate, col, filter, from_generator, join, select, to_arrow_files

LEFT = Schema.of({"at": "int64", "k": "string?", "v": "int64"})
RIGHT = Schema.of({"ra": "int64", "rk": "string?", "rv": "int64"})
Row = tuple[int, str | None, int]


def name_of(number: int) -> str | None:
    return None if number % 7 == 3 else f"key {number}" + " of a long name" * (number % 2)


def left_rows(share: int) -> list[Row]:
    return [(at, name_of((5 * at + share) % 33), 10 * at + share) for at in range(22)]


def right_rows(share: int, is_unique: bool) -> list[Row]:
    """They are done long before the others."""
    return [(at, name_of(2 * at + share if is_unique else (at + share) % 13), 100 * at + share) for at in range(12)]


def source(scope: Any, name: str, schema: Schema, rows_of: Any) -> Any:
    def function(share: int, shares: int) -> Iterator[dict[str, list[Any]]]:
        rows = rows_of(share)
        for first in range(0, len(rows), 2):
            yield dict(zip(schema.names, map(list, zip(*rows[first : first + 2], strict=True)), strict=True))

    return from_generator(scope, schema, function, time=schema.names[0], name=name)


def expected(how: str, is_unique: bool, wanted: bool) -> tuple[Rows, list[int], list[int]]:
    """All results, and the times of the rows of either side that are sent alone."""
    left = [row for share in range(2) for row in left_rows(share)]
    right = [row for share in range(2) for row in right_rows(share, is_unique) if not wanted or row[2] % 3]
    pairs = [(one, two) for one in left for two in right if one[1] is not None and one[1] == two[1]]
    of_left = [row for row in left if how in ("left", "full", "anti") and all(one is not row for one, _ in pairs)]
    of_right = [row for row in right if how in ("right", "full") and all(two is not row for _, two in pairs)]
    found: Rows = Counter()
    if how != "anti":
        found.update((one[1], one[0], one[2], two[0], two[2]) for one, two in pairs)
    found.update((row[1], row[0], row[2], None, None) for row in of_left)
    found.update((row[1], None, None, row[0], row[2]) for row in of_right)
    return found, [row[0] for row in of_left], [row[0] for row in of_right]


@pytest.mark.parametrize(
    ("how", "unique", "wanted"),
    [
        *[(how, None, False) for how in ("left", "right", "full", "anti")],
        *[(how, "right", wanted) for how in ("left", "right", "full") for wanted in (False, True)],
    ],
)
def test_rows_that_match_nothing_come_once(tmp_path: Path, how: str, unique: str | None, wanted: bool) -> None:
    """And at their times: windows behind them have the right to send then."""

    def declare(scope: Any, results: Path) -> None:
        rows = source(scope, "left", LEFT, left_rows)
        others = source(scope, "right", RIGHT, lambda share: right_rows(share, unique is not None))
        names = ["k", "at", "v"] if how == "anti" else ["k", "at", "v", "ra", "rv"]
        where = col("rv") % 3 != 0 if wanted else None
        made = join(rows, others, on={"k": "rk"}, how=how, columns=names, unique=unique, right_where=where)
        to_arrow_files(made, results / "joined")
        for time, missing in (("at", "ra"), ("ra", "at")):
            if how == "anti" and time == "ra":
                continue
            alone = made if how == "anti" else filter(made, col(missing).is_null())
            alone = select(filter(alone, col(time).is_not_null()), t=col(time).fill_null(0))
            counts = aggregate(alone, window=Tumbling("t", 4), n=Count(), name=f"of {time}")
            to_arrow_files(select(counts, "window_end", "n"), results / time)

    rows, of_left, of_right = expected(how, unique is not None, wanted)
    if how == "anti":
        rows = Counter({row[:3]: times for row, times in rows.items()})
    for steps in (0, 14, 25, 40, 80):
        job = Job(tmp_path / f"{steps}", declare)
        random = Random(steps)
        with job.world(2, random) as world:
            world.step(steps)
            world.take(copied=True)
        with job.world(random.choice([1, 3]), random) as world:
            world.step(steps // 2)
            world.take()
        with job.world(2, random) as world:
            world.finish()
        assert job.rows("joined") == rows
        for sink, times in (("at", of_left), ("ra", of_right)):
            ends = Counter(time // 4 * 4 + 4 for time in times)
            assert job.rows(sink) == Counter({each: 1 for each in ends.items()})
