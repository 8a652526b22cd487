"""distinct and count: operators that need little more than the numbering of keys."""

from typing import Any, Literal, overload

from tokenring.engine import AnyStream, Exchange
from tokenring.operators import collections, running
from tokenring.operators.aggregates.aggregate import aggregate
from tokenring.operators.folds import Count, Plan
from tokenring.operators.mechanisms import mechanism_of
from tokenring.operators.migrate import of_version
from tokenring.operators.rows import Columns, exchanged_by, require_kept, said_of_aliases, with_key, without_unnamed
from tokenring.operators.state import require_rows


def distinct(stream: AnyStream, by: Columns = (), *, name: str = "distinct") -> AnyStream:
    """The first row of each key to arrive, at its time; of each different row without `by`. Others are dropped.

    Rows are exchanged by key. Memory: each key ever seen. In a loop the first row of each epoch, by round: rows wait
    until their round is finished, and an epoch's keys go with it.
    """
    if stream.updates is None or not set(stream.schema.names) <= set(stream.updates.by or ()):
        require_rows(name, stream)  # updates of which nothing is left but their keys are equal rows
    require_kept(name, stream.schema)
    stream, names = with_key(stream, name, by)
    names = names or stream.schema.names
    plan = Plan.of(name, stream.schema, names, {}, *said_of_aliases(by))

    edge = stream, Exchange(exchanged_by(names))
    schema = stream.schema
    moves = of_version(running.moved_keys(plan.schema, names), plan.said)
    firsts = mechanism_of(stream.scope).respond(
        name, edge, schema, None, compiled=lambda: running.compiled_firsts(schema, names), moves=moves
    )
    return without_unnamed(firsts, name)


@overload
def count(
    stream: AnyStream, by: Columns = ..., *, name: str = ..., changes: Literal[True], **settings: Any
) -> "collections.Collection": ...


@overload
def count(
    stream: AnyStream, by: Columns = ..., *, name: str = ..., late: Literal[True], **settings: Any
) -> tuple[AnyStream, AnyStream]: ...


@overload
def count(stream: AnyStream, by: Columns = ..., *, name: str = ..., **settings: Any) -> AnyStream: ...


def count(
    stream: AnyStream, by: Columns = (), *, name: str = "count", **settings: Any
) -> "AnyStream | tuple[AnyStream, AnyStream] | collections.Collection":
    """Rows (the columns `by`, count), int64: how many rows there are; `aggregate` with Count and its settings."""
    return aggregate(stream, by, name=name, count=Count(), **settings)
