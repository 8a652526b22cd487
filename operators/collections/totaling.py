"""Totals of keys that are counts, sums and means alone, where times are totally ordered: kept by key, not arranged."""

from collections.abc import Mapping

import numpy as np

from tokenring.engine import Notify, OperatorContext, Schema, Stream
from tokenring.engine.compiled import Compiled
from tokenring.operators.collections import compiled
from tokenring.operators.collections.arranging import spread_by_key
from tokenring.operators.collections.reduction import KeyFaults
from tokenring.operators.collections.streams import schema_of_updates
from tokenring.operators.collections.updates import SummedColumn, width_of
from tokenring.operators.collections.words import Entering
from tokenring.operators.folds import SUM_FLOAT
from tokenring.operators.migrate import made_again


def totaled(
    rows: Stream, data: Schema, keys: tuple[str, ...], name: str, summed: np.ndarray, totals: np.ndarray,
    kinds: Mapping[str, str],
) -> tuple[Stream, Schema] | None:  # fmt: skip
    """Updates of a row by key with totals of these kinds, and the schema of that; None where an arrangement is to keep
    the parts. rows: updates of `data`, whose first columns are the key; summed, totals: as `tables_of_parts` has them.
    """
    if SUM_FLOAT in SummedColumn.of_table(summed)["how"] or rows.scope.depth > 1:
        return None
    made = Schema.of({key: str(data.kind(key)) for key in keys} | dict(kinds))
    arriving = schema_of_updates(data, 1)
    entering = Entering(name, arriving)
    ends = [
        max(first_part + width_of(how), present_part + 1)
        for _, how, first_part, present_part in SummedColumn.of_table(summed).tolist()
    ]
    width = max([1, *ends])  # part 0 counts rows
    builder = rows.operator(name, Notify.IF_TOKEN)
    made_again(rows.scope)
    spread_by_key(builder, rows, keys, arriving)
    changes = builder.output(schema_of_updates(made, 1))
    faults = KeyFaults(name, data.select(keys), changes)

    def construct(context: OperatorContext) -> Compiled:
        return compiled.totaling(entering, len(keys), summed, totals, width, faults.tell_all, faults.wrong)

    builder.build_compiled(construct, texts=True)
    return changes, made
