"""How rows get to the workers that own their keys."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine import Batch, Exchange, Pipeline, Schema, SchemaError, Stream
from operators.aggregates.plan import ALL, Plan
from operators.mechanisms import Edge, Mechanism


def columns_of(by: str | Sequence[str]) -> tuple[str, ...]:
    """Column names as a tuple: a string of names, or a sequence of them. SchemaError for what is neither."""
    if not isinstance(by, str | Sequence):
        raise SchemaError(f"columns are named as 'auction bidder' or ('auction', 'bidder'), not by {by!r}")
    return tuple(by.split()) if isinstance(by, str) else tuple(by)


def exchanged_by(by: tuple[str, ...]) -> str | tuple[str, ...]:
    """The key of an exchange by these columns."""
    return by[0] if len(by) == 1 else by


def to_owners(
    stream: Stream, plan: Plan, time: str, way: Mechanism, whole: bool = False
) -> tuple[Edge, Plan, tuple[str, ...]]:
    """The rows, as far as needed, go to the owners of their keys, or all to one worker: the edge, the plan over what
    arrives, and the key's columns there. whole: whether all columns are needed."""
    needed = None if whole else plan.needs()
    if needed is not None and time:
        needed = tuple(dict.fromkeys((*needed, time)))
    by = plan.by
    if not by:
        stream = everything_together(stream, way, plan.operator)
        plan, by = replace(plan, schema=stream.schema), (ALL,)
        needed = None if needed is None else (*needed, ALL)
    if needed is not None:
        plan = replace(plan, schema=stream.schema.select(needed))
    return (stream, Exchange(exchanged_by(by), needed)), plan, by


def everything_together(stream: Stream, way: Mechanism, name: str) -> Stream:
    """The rows with a column more, to exchange by, that is 0 in all of them."""
    schema = Schema.of(stream.schema.spec() | {ALL: "int64"})

    def answer(batch: Batch) -> Batch:
        zeros = np.zeros(batch.rows, np.int64)
        heaps = (*batch.heaps, None) if schema.has_text else ()
        return Batch.wrap(schema, (*batch.columns, zeros), batch.rows, heaps, batch)

    return way.respond(f"{name}.together", (stream, Pipeline()), schema, lambda: answer, remembers=False)
