"""Results that change, as collections: the old one is taken away, the new one added, at each time."""

from collections.abc import Mapping, Sequence
from typing import Any

from tokenring.engine import SchemaError, Stream
from tokenring.operators import collections
from tokenring.operators.expressions import col
from tokenring.operators.rows import filter, without_unnamed

_PARAMETERS = {"self", "key", "name"}


def require_alone(name: str, **others: Any) -> None:
    """SchemaError for what cannot be said beside changes=True."""
    for parameter, value in others.items():
        if value:
            raise SchemaError(
                f"operator {name!r}: changes=True is a collection of all results, each taken away when the next one "
                f"comes; leave {parameter}={value!r} out, or changes="
            )


def errors_of_views(name: str) -> SchemaError:
    """What to say of on_error= beside changes=True."""
    return SchemaError(
        f"operator {name!r}: changes=True is a collection, which keeps what it fails at itself, and its views say so "
        f"(view.errors()); leave on_error='stream' out. With a window, leave changes= out, and make the results, of "
        f"which there are two streams then, a collection by .collection()"
    )


def totals_that_change(
    stream: Stream, name: str, by: Sequence[str], aggregates: Mapping[str, Any]
) -> "collections.Collection":
    """A row of totals for each key, at each time that of all rows up to it."""
    rows = collections.collection(stream, name=f"{name}.rows")
    if not _PARAMETERS & set(aggregates):
        return rows.aggregate(by, name, **aggregates)
    numbered = {f"@total {number}": each for number, each in enumerate(aggregates.values())}
    renamed = dict(zip(numbered, aggregates, strict=True))
    return rows.aggregate(by, name, **numbered).rename(renamed)


def first_that_change(
    stream: Stream, name: str, by: Sequence[str], order: Sequence[str], k: int, largest: bool
) -> "collections.Collection":
    """The k first rows of each key by the first column of `order`, among equals those with the least values in the
    others, at each time of all rows up to it; those whose first column is null or NaN are left out."""
    rows = collections.collection(rankable(stream, order[0]), name=f"{name}.rows")
    made = rows.top(by, order, k, [largest, *[False] * (len(order) - 1)], name)
    return as_named(made, stream, name)


def rankable(stream: Stream, order: str) -> Stream:
    """The rows that have a place by this column: those where it is neither null nor NaN."""
    kind = stream.schema.kind(order)
    if kind.nullable:
        stream = filter(stream, col(order).is_not_null())
    if kind.is_float:
        stream = filter(stream, col(order) == col(order))
    return stream


def as_named(made: "collections.Collection", stream: Stream, name: str) -> "collections.Collection":
    named = without_unnamed(stream, name).schema
    return made if made.schema == named else made.select(*named.names)
