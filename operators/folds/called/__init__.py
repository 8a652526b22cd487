"""Aggregates that are five functions, compiled and called by their address: whoever folds rows knows none of them."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.folds.called.calls import (
        ARE_STATES,
        CALL_WORDS,
        COMBINE,
        RETRACT,
        SCRATCH_ROWS,
        combine_rows,
        combine_slots,
        finish_slots,
        is_updated,
        update_rows,
    )
    from tokenring.operators.folds.called.functions import Function, Functions, functions_of
    from tokenring.operators.folds.called.job import FIRST, JOB_WORDS, Job
    from tokenring.operators.folds.called.takes import TAKES, take_argument, takes_of

__all__ = [
    "ARE_STATES",
    "CALL_WORDS",
    "COMBINE",
    "FIRST",
    "Function",
    "Functions",
    "JOB_WORDS",
    "Job",
    "RETRACT",
    "SCRATCH_ROWS",
    "TAKES",
    "combine_rows",
    "combine_slots",
    "finish_slots",
    "functions_of",
    "is_updated",
    "take_argument",
    "takes_of",
    "update_rows",
]
