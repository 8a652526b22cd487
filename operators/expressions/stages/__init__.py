"""Expressions in the worker's inner loop: stages that compute, that choose columns, that have Python make some, and
several as one."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.expressions.stages.chain import chained
    from tokenring.operators.expressions.stages.compute import computing, projecting
    from tokenring.operators.expressions.stages.looked_up import (
        CELLS,
        LEAST_USES,
        MOST_KEYS,
        ROWS_AT_ONCE,
        look_up,
        number_words,
    )
    from tokenring.operators.expressions.stages.made_columns import MadeColumns
