"""What state is kept by: a program for each operator with a key, over two streams of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.operators.migrate.random_moves.streams import (
    JOINED,
    bursts,
    edges,
    intervals,
    last,
    numbers,
    other,
    other_by_id,
    rounds,
    timed,
)
from tokenring import operators
from tokenring.engine import Batch, Exchange, Schema, Stream
from tokenring.operators import (
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Mean,
    Min,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    col,
    collection,
    graphs,
)
from tokenring.operators.sinks import Latest


class Program(NamedTuple):
    """build: of both streams, the result. ordered: whether the result depends on the order of arrival, so that one
    worker alone sends."""

    build: Callable[[Stream, Stream], Stream | Latest]
    ordered: bool = True


def all_of(**more: Any) -> dict[str, Any]:
    """Every aggregate that there is."""
    return dict(
        n=Count(), total=Sum("left"), most=Max("left"), least=Min("left"), mean=Mean("left"),
        kinds=CountDistinct("left"), names=CountDistinct("name"), first=First("left", order="id"),
        last=Last("left", order="id"), weight=Max("weight"), **more,
    )  # fmt: skip


def words(**more: Any) -> dict[str, Any]:
    """Aggregates that kernels know of keys that are words."""
    return dict(
        n=Count(), total=Sum("left"), most=Max("left"), least=Min("left"), mean=Mean("left"),
        first=First("left", order="id"), last=Last("left", order="id"), **more,
    )  # fmt: skip


def numbered(state: int | None, row: Any) -> Any:
    """How many rows a key had before."""
    n = (state or 0) + 1
    return n, {"n": n}


def sums(rows: Batch, starts: np.ndarray) -> dict[str, np.ndarray]:
    """The sum of each key's rows."""
    return {"total": np.add.reduceat(rows["left"], starts)}


WINDOWS = {"tumbling": Tumbling("at", 4), "sliding": Sliding("at", 6, 2), "session": Session("at", 3)}

PROGRAMS: dict[str, Program] = {
    "exchange": Program(lambda a, b: operators.exchange(a, "node name"), False),
    "running": Program(lambda a, b: aggregate(numbers(a), "node", **words())),
    "running all": Program(lambda a, b: aggregate(a, "node", **all_of())),
    "running text": Program(lambda a, b: aggregate(a, "name", n=Count(), most=Max("left"))),
    "running float": Program(lambda a, b: aggregate(a, "weight", n=Count(), most=Max("left"))),
    "running two": Program(lambda a, b: aggregate(numbers(a), "node left", n=Count())),
    "running text and number": Program(lambda a, b: aggregate(a, "node name", n=Count(), total=Sum("left"))),
    "each": Program(lambda a, b: aggregate(numbers(a), "node", emit="each", n=Count(), total=Sum("left"))),
    "final": Program(lambda a, b: aggregate(a, "node", emit="final", **all_of()), False),
    "of all": Program(lambda a, b: aggregate(numbers(a), emit="final", n=Count(), total=Sum("left")), False),
    **{
        name: Program(lambda a, b, w=window: aggregate(numbers(a), "node", window=w, **words()), False)
        for name, window in WINDOWS.items()
    },
    **{
        f"{name} all": Program(lambda a, b, w=window: aggregate(a, "name node", window=w, **all_of()), False)
        for name, window in WINDOWS.items()
    },
    "tumbling of all": Program(lambda a, b: aggregate(numbers(a), window=WINDOWS["tumbling"], n=Count()), False),
    "sliding of all": Program(lambda a, b: aggregate(numbers(a), window=WINDOWS["sliding"], n=Count()), False),
    "tumbling kinds": Program(
        lambda a, b: aggregate(numbers(a), "node", window=WINDOWS["tumbling"], kinds=CountDistinct("left")), False
    ),
    "distinct": Program(lambda a, b: operators.select(operators.distinct(a, "node name"), "node", "name")),
    "last_by": Program(lambda a, b: operators.last_by(a, "node", order="at")),
    "last_by of numbers": Program(lambda a, b: operators.last_by(numbers(a), "node", order="at")),
    "top": Program(lambda a, b: operators.top(numbers(a), "node", order="left", k=2, ties="at")),
    "top with text": Program(lambda a, b: operators.top(a, "name", order="left", k=2, ties="at")),
    "top of one": Program(lambda a, b: operators.top(a, "node", order="left", k=1, ties="at")),
    "top by window": Program(
        lambda a, b: operators.top(a, "node", order="left", k=2, ties="id", window=WINDOWS["tumbling"]),
        False,
    ),
    "top with ties by window": Program(
        lambda a, b: operators.top(a, "node", order="left", k=2, ties="all", window=WINDOWS["sliding"]),
        False,
    ),
    "bursts": Program(lambda a, b: aggregate(bursts(numbers(a)), "node", emit="final", **words()), False),
    "bursts by window": Program(
        lambda a, b: aggregate(bursts(numbers(a)), "node", window=WINDOWS["sliding"], **words()), False
    ),
    "count": Program(lambda a, b: operators.count(a, "name")),
    "scan": Program(lambda a, b: operators.scan(a, "node", numbered, Schema("n"))),
    "reduce": Program(
        lambda a, b: operators.reduce(numbers(a), "node", sums, Schema("total"), window=WINDOWS["tumbling"]), False
    ),
    "running_average": Program(lambda a, b: operators.running_average(numbers(a), "node", "left")),
    "tumbling_average": Program(lambda a, b: operators.tumbling_average(numbers(a), "at", "left", 4), False),
    "average_of_last": Program(
        lambda a, b: operators.average_of_last(numbers(a), "node", "left", rows=2, order="at id"), False
    ),
    "word_count": Program(lambda a, b: operators.word_count(numbers(a), "node", "at")),
    "best_offers": Program(
        lambda a, b: operators.best_offers(
            intervals(a), operators.select(b, "ref", "at", "left"), key="id", start="at", end="until",
            threshold="asked", payload="asked", offer_key="ref", offer_time="at", offer_value="left",
        ),
        False,
    ),
    "join": Program(lambda a, b: operators.join(a, other(b), on="node", columns=JOINED), False),
    **{
        f"join {how} of a unique side": Program(
            lambda a, b, h=how: timed(operators.join(
                a, other_by_id(b), left_on="ref", right_on="other_id", how=h, unique="right", columns=JOINED
            )),
            False,
        )
        for how in ("inner", "left", "right", "full")
    },
    **{
        f"join {how}": Program(
            lambda a, b, h=how: timed(operators.join(
                a, other(b), on="node", how=h, columns=None if h in ("semi", "anti") else JOINED
            )),
            False,
        )
        for how in ("left", "right", "full", "anti")
    },
    "join semi": Program(lambda a, b: operators.join(a, other(b), on="node", how="semi"), False),
    "join left of some": Program(
        lambda a, b: operators.join(
            a, other_by_id(b), left_on="ref", right_on="other_id", how="left", unique="right", columns=JOINED,
            right_where=col("other_left") > 1,
        ),
        False,
    ),
    "join full by text": Program(
        lambda a, b: timed(operators.join(
            a, other(b), on={"name": "other_name", "node": "node"}, how="full",
            columns=["id", "left", "other_id", "node"],
        )),
        False,
    ),
    "behind a join": Program(
        lambda a, b: aggregate(operators.join(a, other(b), on="node", how="anti"), "name", emit="final", n=Count()),
        False,
    ),
    "join of numbers": Program(
        lambda a, b: operators.join(numbers(a), operators.select(b, "node", right=col("left")), on="node"), False
    ),
    **{
        f"windowed {how}": Program(
            lambda a, b, h=how: operators.join(
                a, other(b), on="node", how=h, window=Tumbling("at", 4), right_time="other_at",
                columns=None if h in ("semi", "anti") else JOINED,
            ),
            False,
        )
        for how in ("inner", "left", "full", "semi", "anti")
    },
    **{
        f"interval {how}": Program(
            lambda a, b, h=how: operators.interval_join(
                a, other(b), on="node", how=h, left_time="at", right_time="other_at", upper=2, lower=-1,
                columns=None if h in ("semi", "anti") else JOINED,
            ),
            False,
        )
        for how in ("inner", "left", "right", "full", "semi", "anti")
    },
    **{
        f"interval {how} of a unique side": Program(
            lambda a, b, h=how: operators.interval_join(
                a, other_by_id(b), left_on="ref", right_on="other_id", how=h, left_time="at", right_time="other_at",
                upper=2, lower=-1, unique="right", columns=JOINED,
            ),
            False,
        )
        for how in ("inner", "left")
    },
    **{
        f"temporal {how}": Program(
            lambda a, b, h=how: operators.temporal_join(
                a, last(b), on="node", time="at", version_time="other_at", how=h, columns=JOINED
            ),
            False,
        )
        for how in ("inner", "left")
    },
    "look_up": Program(
        lambda a, b: operators.look_up(
            operators.select(a, "node"), "node", operators.distinct(operators.select(a, "node", x=col("node") * 2)), "x"
        )
    ),
    "tumbling_average of an exchange": Program(
        lambda a, b: operators.tumbling_average(numbers(a), "at", "left", 4, Exchange("node")), False
    ),
    "latest": Program(lambda a, b: operators.latest(numbers(a), "node")),
    "latest of running": Program(
        lambda a, b: operators.latest(aggregate(numbers(a), "node", n=Count(), total=Sum("left")), "node")
    ),
    "collection": Program(lambda a, b: collection(numbers(a)).count("node").changes(), False),
    "collection of moving rows": Program(
        lambda a, b: aggregate(
            collection(
                aggregate(a, "name node", window=WINDOWS["tumbling"], n=Count(), most=Max("left"))
            ).top("name", "most", 2).changes(times="often"), "name", emit="final", n=Sum("often"), at=Max("time"),
        ),
        False,
    ),
    "collections joined": Program(
        lambda a, b: collection(edges(a)).antijoin(collection(edges(b)), "src").consolidate().changes(), False
    ),
    "loop": Program(lambda a, b: aggregate(rounds(a), "node", emit="final", n=Count()), False),
    "components": Program(
        lambda a, b: aggregate(graphs.connected_components(edges(a)), "component", emit="final", n=Count()), False
    ),
    "no_op": Program(lambda a, b: operators.no_op(a, "node"), False),
}
