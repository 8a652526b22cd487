"""The operator that joins two arrangements with equal keys."""

import numpy as np

from tokenring.engine import OperatorBuilder, OperatorContext, Stream
from tokenring.engine.compiled import Compiled
from tokenring.operators.collections import compiled
from tokenring.operators.collections.trace import Trace


def build_joining(builder: OperatorBuilder[Stream], left: Trace, right: Trace, nulls: np.ndarray) -> None:
    """Give an operator its code, whose messages are (key, values of the left, of the right, coordinates, multiplicity).
    nulls: of the key, as `with_keys` has them."""
    readers = left.read(), right.read()

    def construct(context: OperatorContext) -> Compiled:
        numbers = readers[0].number, readers[1].number
        return compiled.joining(left.spine, right.spine, numbers, left.keys, left.depth, nulls)

    builder.build_compiled(construct, texts=True, loops=True)
