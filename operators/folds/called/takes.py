"""What an aggregate's function takes of a column: which kinds it may be of, and what becomes of its words."""

import numpy as np

from tokenring.engine import COLUMN, WORDS, Kind, int64, kernel, void
from tokenring.engine.columns import FLOAT, ORDERS, SIGNED, UNSIGNED
from tokenring.engine.compiled import Words, unsigned
from tokenring.operators.state import LEAST, MOST

AS_IT_IS, FLOAT_OF_SIGNED, FLOAT_OF_UNSIGNED, FLIPPED, ORDER_OF_FLOAT = range(5)
_REVERSED = 8
"""Added, where the greatest is to come first."""

TAKES: dict[str, dict[str, int]] = {
    "float64": {
        "int64": FLOAT_OF_SIGNED, "uint64": FLOAT_OF_UNSIGNED, "float64": AS_IT_IS, "bool": FLOAT_OF_SIGNED,
    },
    "int64": {family: AS_IT_IS for family, order in ORDERS.items() if order == SIGNED and family != "decimal"},
    "word": dict.fromkeys(ORDERS, AS_IT_IS),
    "order": {
        family: {SIGNED: AS_IT_IS, UNSIGNED: FLIPPED, FLOAT: ORDER_OF_FLOAT}[order] for family, order in ORDERS.items()
    },
}  # fmt: skip
"""By what a function takes, the families of kinds that a column may be of, and what becomes of each: a number as
float64; an int64, as which a bool is 0 or 1, a timestamp nanoseconds and a date days; a word of whatever kind; an int64
that is in order where values are, NaN the least."""
TAKES["reverse"] = {kind: how + _REVERSED for kind, how in TAKES["order"].items()}


def takes_of(taken: str, kind: Kind) -> int:
    """What `take_argument` is told for a column of this kind."""
    return TAKES[taken][kind.family]


@kernel(void(int64, COLUMN, WORDS))
def take_argument(takes: int, words: Words, target: Words) -> None:
    """Write what a function takes of a column's words, which may be the target's own."""
    floats, how = target.view(np.float64), takes % _REVERSED
    if how == FLOAT_OF_SIGNED:
        for i in range(len(words)):
            floats[i] = np.float64(words[i])
    elif how == FLOAT_OF_UNSIGNED:
        for i in range(len(words)):
            floats[i] = np.float64(unsigned(words[i]))
    elif how == FLIPPED:
        for i in range(len(words)):
            target[i] = words[i] ^ LEAST
    elif how == ORDER_OF_FLOAT:
        values = words.view(np.float64)
        for i in range(len(words)):
            value, word = values[i], words[i]
            if value == 0.0:
                word = 0  # whatever its sign
            elif word < 0:
                word ^= MOST
            target[i] = LEAST if value != value else ~word if takes >= _REVERSED else word
        return
    else:
        for i in range(len(words)):
            target[i] = words[i]
    if takes >= _REVERSED:
        for i in range(len(words)):
            target[i] = ~target[i]
