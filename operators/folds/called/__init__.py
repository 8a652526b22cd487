"""Aggregates that are five functions, compiled and called by their address: whoever folds rows knows none of them."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.folds.called.calls import (
        SCRATCH_ROWS,
        Call,
        argument_of,
        call_words,
        combine_rows,
        combine_slots,
        finish_slots,
        is_updated,
        update_rows,
    )
    from tokenring.operators.folds.called.functions import Function, Functions, functions_of
    from tokenring.operators.folds.called.job import FoldJob, gave_no, made_also
    from tokenring.operators.folds.called.takes import TAKES, take_argument, takes_of
