"""How rows get to the workers that own their keys."""

from dataclasses import replace

import numpy as np

from tokenring.engine import AnyStream, Batch, Exchange, Pipeline, Schema
from tokenring.operators.folds.plan import ALL, Plan
from tokenring.operators.mechanisms import Edge, mechanism_of
from tokenring.operators.rows import exchanged_by


def to_owners(
    stream: AnyStream, plan: Plan, time: str, whole: bool = False
) -> tuple[Edge[AnyStream], Plan, tuple[str, ...]]:
    """The rows, as far as needed, go to the owners of their keys, or all to one worker: the edge, the plan over what
    arrives, and the key's columns there. whole: whether all columns are needed."""
    needed = None if whole else plan.needs()
    if needed is not None and time:
        needed = tuple(dict.fromkeys((*needed, time)))
    by = plan.by
    if not by:
        stream = everything_together(stream, plan.operator)
        plan, by = replace(plan, schema=stream.schema), (ALL,)
        needed = None if needed is None else (*needed, ALL)
    if needed is not None:
        plan = replace(plan, schema=stream.schema.select(needed))
    return (stream, Exchange(exchanged_by(by), needed)), plan, by


def everything_together(stream: AnyStream, name: str) -> AnyStream:
    """The rows with a column more, to exchange by, that is 0 in all of them."""
    schema = Schema.of(stream.schema.spec() | {ALL: "int64"})

    def answer(batch: Batch) -> Batch:
        zeros = np.zeros(batch.rows, np.int64)
        heaps = (*batch.heaps, None) if schema.has_text else ()
        return Batch.wrap(schema, (*batch.columns, zeros), batch.rows, heaps, batch)

    way = mechanism_of(stream.scope)
    return way.respond(f"{name}.together", (stream, Pipeline()), schema, lambda: answer, remembers=False)
