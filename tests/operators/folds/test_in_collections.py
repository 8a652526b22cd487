"""An aggregate is planned once: a stream and a collection make the same of the same rows, of every kind."""

from __future__ import annotations

from decimal import Decimal
from math import nan
from typing import Any

import pytest

import tokenring as tr
from tests.errors import raises

SOME = tr.col("k") > 0
ROWS: dict[str, list[Any]] = {
    "int64": [3, -5, 2**53 + 1, 7, 0, -(2**62)],
    "int64?": [3, None, 2**53 + 1, None, 0, None],
    "uint64": [3, 2**63 + 5, 2**62, 7, 0, 1],
    "uint64?": [3, 2**63 + 5, None, None, 0, None],
    "float64": [0.5, -0.0, nan, 2.25, 1e300, nan],
    "float64?": [0.5, None, nan, None, 1e-300, None],
    "decimal(5, 2)": [Decimal(cents) / 100 for cents in (99_999, -1, 0, 110, 700, 230)],
    "decimal(5, 2)?": [Decimal(99_999) / 100, None, Decimal(0), None, Decimal(7), None],
    "bool": [True, False, True, True, False, False],
    "bool?": [True, None, True, None, False, None],
}  # fmt: skip
KEYS = [0, 1, 0, 2, 2, 1]  # of key 1 no value is there, where nulls may be
TOTALS: dict[str, Any] = {
    "rows": tr.Count(), "values": tr.Count("v"), "sum": tr.Sum("v"), "mean": tr.Mean("v"), "least": tr.Min("v"),
    "greatest": tr.Max("v"), "some": tr.Count("v", where=SOME), "sum_of_some": tr.Sum("v", where=SOME),
    "mean_of_some": tr.Mean("v", where=SOME), "least_of_some": tr.Min("v", where=SOME),
}  # fmt: skip


def made(kind: str, in_collection: bool, totals: dict[str, Any]) -> tuple[dict[str, str], list[str]]:
    """The kinds of the results, and the rows, in words."""

    def program(worker: tr.Worker) -> tuple[dict[str, str], list[str]]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_input(tr.Schema.of({"k": "int64", "v": kind}))
            if in_collection:
                results = rows.collection().aggregate("k", **totals).changes().select("k", *totals)
            else:
                results = rows.aggregate("k", emit="final", **totals)
            table = results.collect()
        handle.send({"k": KEYS, "v": ROWS[kind]})
        worker.run()
        found = table.to_arrow().to_pylist()
        words = [repr([0 if value == 0 else value for value in row.values()]) for row in found]  # of either zero
        return results.schema.spec(), sorted(words)

    return tr.execute(program, workers=1)[0]


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("names", [[*TOTALS], [name for name in TOTALS if "least" not in name and name != "greatest"]])
def test_a_stream_and_a_collection_make_the_same(kind: str, names: list[str]) -> None:
    totals = {name: TOTALS[name] for name in names}
    assert made(kind, True, totals) == made(kind, False, totals)


@pytest.mark.parametrize("in_collection", [False, True])
@pytest.mark.parametrize("aggregate", [tr.Sum, tr.Mean])
def test_what_has_no_sum_is_refused_in_the_same_words(aggregate: Any, in_collection: bool) -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            _, rows = scope.new_input(tr.Schema.of({"k": "int64", "v": "date"}))
            of: Any = rows.collection() if in_collection else rows
            of.aggregate("k", made=aggregate("v"))

    name = aggregate.__name__
    said = f"{name} of column 'v', which is date; it takes int64, uint64, float64, bool, decimal(p, s); cast it"
    with raises(tr.TokenRingError, "operator 'aggregate', made", said, "or take Min, Max or Count of it"):
        tr.execute(program, workers=1)
