"""Expressions over columns: what users write, its kinds, and the machine that computes it a block of rows at a time.

tree          what `col`, `lit` and `when` make
typed         the same with kinds, over a schema: terms; the mistakes; decimals: what is special to these
program       values and instructions of adjacent steps
machine/      the kernel that runs them, and its operations
stages/       the same in the inner loop, over all messages
hoist         functions of text taken out of steps, between runs of the machine; texts are these functions
remembered    results that are made once for each word
ranges        what conditions can be, by the least and the greatest values of columns
fuse          neighbouring operators as one function: batch_runs, and stages of the inner loop: stage_runs
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.expressions.batch_runs import said_of_row
    from tokenring.operators.expressions.decimals import cure_of_keys
    from tokenring.operators.expressions.fuse import Computation, Part
    from tokenring.operators.expressions.node import Alias, column_named_by, with_aliased
    from tokenring.operators.expressions.program import Step
    from tokenring.operators.expressions.ranges import Range, RangeOf, may_pass
    from tokenring.operators.expressions.terms import Term, column_term
    from tokenring.operators.expressions.tree import (
        Condition,
        Expression,
        When,
        col,
        greatest,
        least,
        lit,
        not_null_word,
        when,
        words_as,
    )
    from tokenring.operators.expressions.typed import typed
