"""top with all that are equal to the last, like DuckDB's rank(), with nulls and NaN; rankings without their ranks."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenring as tr
from tests import duck
from tests.errors import Fact, raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tokenring.engine import Schema, SchemaError
from tokenring.operators import Sliding, Tumbling, top

top_module = import_module("tokenring.operators.ranking.top")  # a function hides it
NAN = float("nan")
ROW = st.tuples(
    st.integers(0, 29),
    st.sampled_from(["a", "bb", None]),
    st.one_of(st.none(), st.integers(-2, 2)),
    st.sampled_from([0.0, -0.0, -1.5, 2.0, NAN, float("inf"), float("-inf")]),
)
Rows = list[tuple[Any, ...]]


def table(rows: Rows) -> pa.Table:
    columns = [*zip(*rows, strict=True)] or [()] * 4
    kinds = pa.int64(), pa.string(), pa.int64(), pa.float64()
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, ["at", "key", "score", "share"])


RANKED = """
select {bounds} "at", key, score, share, rank() over (partition by {by} order by {order} {way}) as place from {source}
where {order} is not null and not isnan({order}::double) qualify place <= {k} """


@settings(max_examples=examples(60))
@given(
    rows=st.lists(ROW, max_size=40),
    by=st.sampled_from(["", "key"]),
    order=st.sampled_from(["score", "share"]),
    k=st.integers(1, 4),
    largest=st.booleans(),
    window=st.sampled_from([None, Tumbling("at", 10), Sliding("at", 10, 5)]),
    workers=st.integers(1, 2),
)
def test_all_that_are_equal_to_the_last_like_duckdb(
    rows: Rows, by: str, order: str, k: int, largest: bool, window: Any, workers: int
) -> None:
    emit = "final" if window is None else None
    schema = Schema("at", key="string?", score="int64?", share="float64")
    with bench(
        [schema],
        lambda s: top(s, by, order=order, k=k, largest=largest, ties="all", rank="place", window=window, emit=emit),
        workers,
    ) as made:
        for at, row in enumerate(rows):
            made.send({name: [value] for name, value in zip(schema.names, row, strict=True)}, worker=at % workers)
        made.close()
        found = [row[2:] for row in made.rows]
    parts, bounds, source = [by or "1"], "", "sold"
    if window is not None:
        every = getattr(window, "every", 10)
        parts, bounds = ["start", *parts], "start as window_start, start + 10 as window_end,"
        source = f'range(-10, 40, {every}) w(start) join sold on "at" >= start and "at" < start + 10'
    query = RANKED.format(
        bounds=bounds, by=", ".join(parts), order=order, way="desc" if largest else "asc", k=k, source=source
    )
    assert sorted(map(repr, found)) == sorted(map(repr, duck.answer(query, sold=table(rows))))


SALES = pa.table({"city": ["Oslo", "Rome", "Oslo", "Oslo", "Rome"], "price": [5, 7, 5, 9, None]})


def test_ranks_are_left_out_where_nobody_asks_for_them() -> None:
    def pipeline(scope: tr.Scope, **options: Any) -> tr.Collected:
        return scope.read_arrow(SALES).top("city", order="price", k=2, rank=None, **options).collect()

    for options in ({"emit": "final"}, {"emit": "final", "ties": "all"}):
        found = tr.run(lambda scope, options=options: pipeline(scope, **options), workers=2)
        rows = [("Oslo", 5), ("Oslo", 9), ("Rome", 7)] + [("Oslo", 5)] * ("ties" in options)
        assert found.column_names == ["city", "price"]
        assert sorted((row["city"], row["price"]) for row in found.to_pylist()) == sorted(rows)
    best = tr.run(lambda scope: scope.read_arrow(SALES).top("city", order="price", k=1, rank=None).collect(), 1)
    assert sorted((row["city"], row["price"]) for row in best.to_pylist()) == [("Oslo", 9), ("Rome", 7)]


def test_what_cannot_be_ranked_so_is_refused() -> None:
    wrong: list[tuple[dict[str, Any], Fact]] = [
        (
            {"ties": "all"},
            ("operator 'top'", "ties='all'", "emit='final'", "window=", "changes=True"),
        ),
        (
            {"rank": None},
            ("operator 'top'", "rank=", "emit='final'", "window="),
        ),
    ]

    def declare(stream: tr.Stream) -> tr.Stream:
        for options, message in wrong:
            with raises(SchemaError, message):
                top(stream, "key", order="at", k=2, **options)
        return stream

    def of_a_column(stream: tr.Stream) -> tr.Stream:
        with raises(SchemaError, "operator 'top'", "column 'all'", "ties=['all']"):
            top(stream, order="key", k=1, ties="all")
        return top(stream, order="key", k=1, ties=["all"])

    with bench([Schema("at key")], declare), bench([Schema("all key")], of_a_column):
        pass


def test_rows_that_cannot_be_among_the_best_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred thousand rows of three keys in a window, all in one pane, some thousand are looked at a time."""
    ranked, seen = top_module._ranks_with_ties, list[int]()

    def counted(words: np.ndarray, *how: Any) -> Any:
        seen.append(len(words))
        return ranked(words, *how)

    monkeypatch.setattr(top_module, "_ranks_with_ties", counted)
    window = Tumbling("at", 10)
    with bench([Schema("at key v")], lambda s: top(s, "key", order="v", k=2, window=window, ties="all")) as made:
        for turn in range(1000):
            values = [*range(100 - turn % 2)]
            made.send({"at": [5] * len(values), "key": [value % 3 for value in values], "v": values})
            made.settle()
        assert max(seen) < 6_000
        assert len(seen) < 200
        made.close()
        assert len(made.rows) == 500 + 1_000 + 1_000, "all that have the greatest value of their key, more than two"
