"""The operator that joins two arrangements with equal keys."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from tokenring.engine import Batch, InputPort, OperatorContext, OutputPort, Schema, Token
from tokenring.operators.collections.frontiers import both, elements_of
from tokenring.operators.collections.reduction import rows_of_keys
from tokenring.operators.collections.trace import Reader, Trace
from tokenring.operators.collections.updates import MADE, PAIR_WORDS, Sealed, Spine, distinct_keys, pair_some

_MOST_PAIRS = 1 << 14  # in a message
_MOST_MESSAGES = 16  # in one run


class _Work:
    """A batch that came on one side, to be paired with all that the other side had by then; both are looked up at once,
    so that what merges do afterwards does not matter."""

    def __init__(self, keys: int, batch: Sealed, is_left: bool, other: Spine, before: int, token: Token) -> None:
        asked, bounds = np.empty((keys, batch.rows), np.int64), np.empty(batch.rows + 1, np.int64)
        number = int(distinct_keys(batch.table, batch.rows, keys, asked, bounds))
        self.asked = np.ascontiguousarray(asked[:, :number])
        self.mine = np.ascontiguousarray(batch.table[keys:, : batch.rows])
        self.bounds = bounds[: number + 1]
        self.others, self.other_bounds = rows_of_keys(other, keys, self.asked, before)
        self.is_left, self.token = int(is_left), token
        self.state = np.zeros(PAIR_WORDS, np.int64)

    def some(self, depth: int, columns: int) -> tuple[np.ndarray, bool]:
        """Some pairs; whether there may be more."""
        most = min(_MOST_PAIRS, self.most)
        target = np.empty((columns, most), np.int64)
        goes_on = pair_some(
            self.asked, self.asked.shape[1], depth, self.is_left, self.mine, self.bounds, self.others,
            self.other_bounds, most, self.state, target,
        )  # fmt: skip
        return target[:, : self.state[MADE]], bool(goes_on)

    @property
    def most(self) -> int:
        """How many pairs there are."""
        return int((np.diff(self.bounds) * np.diff(self.other_bounds)).sum())


def joining(left: Trace, right: Trace, schema: Schema, chosen: np.ndarray) -> Callable[..., Callable[..., None]]:
    """The operator's constructor. schema: of its messages; chosen: for each column of these, which it is of (key,
    values of the left, of the right, coordinates, multiplicity)."""
    depth, columns = left.depth, left.keys + left.data - left.keys + right.data - right.keys + left.depth + 1
    readers = left.read(), right.read()

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()
        works: deque[_Work] = deque()

        def take(port: InputPort, reader: Reader, is_left: bool) -> None:
            """Look the batches up that came on one side, in what was taken of the other."""
            other, other_reader = (right, readers[1]) if is_left else (left, readers[0])
            references = [reference.retain() for reference, _ in port]
            batches = reader.take()
            for held, batch in zip(references, batches, strict=True):
                works.append(_Work(left.keys, batch, is_left, other.spine, other_reader.taken, held))

        def logic(lefts: InputPort, rights: InputPort, output: OutputPort) -> None:
            take(lefts, readers[0], True)
            take(rights, readers[1], False)
            readers[0].since = both(right.upper, elements_of(rights.frontier)) if right.upper else []
            readers[1].since = both(left.upper, elements_of(lefts.frontier)) if left.upper else []
            for _ in range(_MOST_MESSAGES):
                if not works:
                    return
                work = works[0]
                pairs, goes_on = work.some(depth, columns)
                if pairs.shape[1]:
                    output.give(work.token, batch_of(schema, pairs, chosen))
                if not goes_on:
                    work.token.drop()
                    works.popleft()
            context.activate()

        return logic

    return construct


def batch_of(schema: Schema, table: np.ndarray, chosen: np.ndarray) -> Batch:
    """Columns of a table as a batch."""
    columns: Any = [table[column].view(dtype) for column, dtype in zip(chosen, schema.dtypes, strict=True)]
    return Batch.wrap(schema, tuple(columns), table.shape[1])
