"""How rows get to the workers that own their keys."""

from dataclasses import replace

from tokenring.engine import AnyStream, Exchange
from tokenring.engine.columns import free_name
from tokenring.operators.expressions import lit
from tokenring.operators.folds.plan import ALL, Plan
from tokenring.operators.mechanisms import Edge
from tokenring.operators.rows import exchanged_by, with_columns


def to_owners(
    stream: AnyStream, plan: Plan, time: str | None, whole: bool = False
) -> tuple[Edge[AnyStream], Plan, tuple[str, ...]]:
    """The rows, as far as needed, go to the owners of their keys, or all to one worker: the edge, the plan over what
    arrives, and the key's columns there. time: a column that is needed besides. whole: whether all are."""
    needed = None if whole else plan.needs()
    if needed is not None and time is not None:
        needed = tuple(dict.fromkeys((*needed, time)))
    by = plan.by
    if not by:
        by = (free_name(ALL, stream.schema.positions),)
        stream = with_columns(stream, lit(0).alias(*by))  # what all rows are exchanged by
        plan = replace(plan, schema=stream.schema)
        needed = None if needed is None else (*needed, *by)
    if needed is not None:
        plan = replace(plan, schema=stream.schema.select(needed))
    return (stream, Exchange(exchanged_by(by), needed)), plan, by
