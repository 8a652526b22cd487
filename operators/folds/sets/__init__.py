"""Sets of different values by slot, for compiled operators, that are rearranged a piece at a time."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.folds.sets.moving import flags_before, move_some
    from tokenring.operators.folds.sets.value_sets import ValueSets
    from tokenring.operators.folds.sets.words import (
        CELL_COUNT,
        CELLS,
        DEAD,
        FREE_OWNERS,
        GONE,
        GREATEST_VALUE,
        IS_NUMBERED,
        LEAST_VALUE,
        MISFIT,
        MOST_FLAGS,
        OLD,
        OWNERS,
        OWNERS_LENGTH,
        OWNERS_ROOM,
        PAIRS,
        SET_COLUMN,
        SET_FOLDS,
        SET_WORDS,
        VALUE_BASE,
        VALUE_BITS,
        VALUES,
    )

__all__ = [
    "CELLS",
    "CELL_COUNT",
    "DEAD",
    "FREE_OWNERS",
    "GONE",
    "GREATEST_VALUE",
    "IS_NUMBERED",
    "LEAST_VALUE",
    "MISFIT",
    "MOST_FLAGS",
    "OLD",
    "OWNERS",
    "OWNERS_LENGTH",
    "OWNERS_ROOM",
    "PAIRS",
    "SET_COLUMN",
    "SET_FOLDS",
    "SET_WORDS",
    "VALUES",
    "VALUE_BASE",
    "VALUE_BITS",
    "ValueSets",
    "flags_before",
    "move_some",
]
