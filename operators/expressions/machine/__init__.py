"""The machine that computes expressions a block of rows at a time, and its operations on numbers, times and texts."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.expressions.machine.blocks import REAL_TO_INT, magic_for
    from tokenring.operators.expressions.machine.program_run import (
        AND,
        AND_NULL,
        BLOCK,
        CHECKED,
        COMPACT,
        COPY,
        FILTER,
        FITS,
        IS_NULL,
        KNOWN,
        LOAD,
        NOT,
        NOT_NULL,
        NULLIFY,
        OPERATIONS,
        OR,
        OR_NULL,
        RANGED,
        SCRATCH_ROWS,
        SELECT,
        TEXT_LENGTH,
        WIDTH,
        run,
        words_address,
    )
    from tokenring.operators.expressions.machine.text_blocks import choose, split_part, take_chosen
