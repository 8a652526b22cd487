"""Keys and results whose names clash, or that are none: refused when they are declared, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.errors import raises
from tokenring.engine import Schema, SchemaError, Scope, UsageError
from tokenring.operators import Count, Max, Mean, Session, Sliding, Tumbling, aggregate, col, count, map_batches, top
from tokenring.operators.aggregates import reduce
from tokenring.operators.collections import collection
from tokenring.operators.sinks import latest

ROWS = Schema("at key value")


def _refused(declare: Callable[[Any], Any], error: type[Exception], *facts: str) -> None:
    _, rows = Scope("wrong").new_input(ROWS)
    with raises(error, *facts):
        declare(rows)


@pytest.mark.parametrize("options", [
    {}, {"emit": "final"}, {"window": Tumbling("at", 10)}, {"window": Sliding("at", 10, 5)},
    {"window": Session("at", 3)},
])  # fmt: skip
@pytest.mark.parametrize("by", [["key", "key"], "key key", ["key", "value", "key"]])
def test_a_key_is_named_once(by: Any, options: dict[str, Any]) -> None:
    """Kernels would be told of two columns where one is kept."""
    _refused(lambda rows: aggregate(rows, by, n=Count(), **options), SchemaError, "named twice", "key")
    if "window" in options or not options:
        _refused(lambda rows: count(rows, by, **options), SchemaError, "named twice", "key")


def test_reduce_and_top_take_a_key_once() -> None:
    _refused(lambda rows: reduce(rows, "key key", lambda rows: rows, Schema("n")), SchemaError, "named twice")
    _refused(lambda rows: top(rows, "key key", order="value", k=2, emit="final"), SchemaError, "named twice")


def test_a_total_of_a_collection_is_not_called_as_its_key_is() -> None:
    """One of the two columns would be missing, and words written beyond the others."""
    facts = ("'at' is a column to group by", "otherwise")
    for fold in (Count(), Max("value"), Mean("value")):
        _refused(lambda rows, fold=fold: collection(rows).aggregate("at", at=fold), SchemaError, *facts)
        _refused(lambda rows, fold=fold: collection(rows).arrange("at").aggregate(at=fold), SchemaError, *facts)
    facts = ("'count' is a column", "otherwise")
    _refused(lambda rows: collection(rows).select("key", count=col("value")).count("count"), SchemaError, *facts)


def test_latest_goes_by_one_column() -> None:
    for key in ("key value", ["key", "value"], ("key",)):
        said = repr(tuple(key) if isinstance(key, list) else key)
        _refused(lambda rows, key=key: latest(rows, key), SchemaError, "one column", said, "at, key, value")
    _refused(lambda rows: latest(rows, "kay"), SchemaError, "'kay'", "did you mean 'key'")


def test_a_schema_comes_before_the_function() -> None:
    facts = ("'map_batches'", "Schema(...), function", "not function and Schema")
    _refused(lambda rows: map_batches(rows, lambda batch: batch, ROWS), UsageError, *facts)  # type: ignore[arg-type]
