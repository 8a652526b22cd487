"""The operator that joins two arrangements with equal keys."""

from collections import deque
from collections.abc import Callable

import numpy as np

from tokenring.engine import InputPort, OperatorBuilder, OperatorContext, OutputPort, Schema, Stream, Token
from tokenring.engine.compiled import Compiled
from tokenring.operators.collections import compiled
from tokenring.operators.collections.trace import Lag, Reader, Trace, batch_of
from tokenring.operators.collections.updates import (
    TOO_OFTEN,
    Paired,
    Spine,
    both,
    distinct_keys,
    elements_of,
    pair_few,
    pair_some,
    too_often,
)
from tokenring.operators.collections.words import with_keys

_MOST_PAIRS = 1 << 14  # in a message
_MOST_MESSAGES = 16  # in one run
_FEW_ROWS, _FEW_PAIRS = 64, 256  # of a batch that is paired at once


class _Work:
    """A batch that came on one side, to be paired with all that the other side had by then; both are looked up at once,
    so that what merges do afterwards does not matter."""

    def __init__(self, keys: int, batch: np.ndarray, is_left: bool, other: Spine, before: int, token: Token) -> None:
        rows = batch.shape[1]
        asked, bounds = np.empty((keys, rows), np.int64), np.empty(rows + 1, np.int64)
        number = int(distinct_keys(batch, rows, keys, asked, bounds))
        self.asked = np.ascontiguousarray(asked[:, :number])
        self.mine, self.bounds = batch[keys:], bounds[: number + 1]
        self.others, self.other_bounds = other.rows_of_keys(keys, self.asked, before)
        self.left = int((np.diff(self.bounds) * np.diff(self.other_bounds)).sum())
        self.is_left, self.token = int(is_left), token
        self.paired = Paired()

    def some(self, depth: int, columns: int) -> np.ndarray:
        """Some pairs; `left` says how many there are still. MultiplicityOverflowError for one that would be there too
        often."""
        target = np.empty((columns, min(_MOST_PAIRS, self.left)), np.int64)
        status = pair_some(
            self.asked, self.asked.shape[1], depth, self.is_left, self.mine, self.bounds, self.others,
            self.other_bounds, target.shape[1], self.paired.words, target,
        )  # fmt: skip
        if status == TOO_OFTEN:
            raise too_often(target[-1 - depth : -1, self.paired.made].tolist())
        self.left -= target.shape[1]
        return target


def build_joining(
    builder: OperatorBuilder[Stream], left: Trace, right: Trace, schema: Schema, nulls: np.ndarray
) -> None:
    """Give an operator its code. schema: of its messages (key, values of the left, of the right, coordinates,
    multiplicity); nulls: of the key, as `with_keys` has them."""
    readers = left.read(), right.read()
    if builder.can_be_compiled_with_texts:

        def construct(context: OperatorContext) -> Compiled:
            return compiled.joining(left.spine, right.spine, (readers[0].number, readers[1].number), left.keys, nulls)

        builder.build_compiled(construct, texts=True)
    else:
        builder.build(_joining(left, right, readers, schema, nulls))


def _joining(
    left: Trace, right: Trace, readers: tuple[Reader, Reader], schema: Schema, nulls: np.ndarray
) -> Callable[..., Callable[..., None]]:
    """The operator's constructor."""

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()
        works: deque[_Work] = deque()
        lag = Lag()

        def take(port: InputPort, reader: Reader, is_left: bool, output: OutputPort) -> bool:
            """Look the batches up that came on one side, in what was taken of the other; whether it is time to say
            anew what is asked for at the earliest."""
            other, other_reader = (right, readers[1]) if is_left else (left, readers[0])
            is_time = False
            for reference, batch in reader.take(port):
                is_time |= lag.is_over(batch.shape[1])
                if len(nulls):
                    batch = with_keys(batch, nulls)
                if not works and batch.shape[1] <= _FEW_ROWS:
                    pairs = np.empty((len(schema), _FEW_PAIRS), np.int64)
                    made = pair_few(
                        other.spine.address, other.spine.least, other_reader.taken, left.keys, left.depth, is_left,
                        batch, pairs,
                    )  # fmt: skip
                    if made >= 0:
                        if made:
                            output.give(reference, batch_of(schema, pairs[:, :made]))
                        continue
                work = _Work(left.keys, batch, is_left, other.spine, other_reader.taken, reference.retain())
                works.append(work)
            return is_time

        def logic(lefts: InputPort, rights: InputPort, output: OutputPort) -> None:
            is_time = take(lefts, readers[0], True, output)
            is_time |= take(rights, readers[1], False, output)
            if is_time or left.depth == 1:
                readers[0].since = both(right.upper, elements_of(rights.frontier)) if right.upper else []
                readers[1].since = both(left.upper, elements_of(lefts.frontier)) if left.upper else []
            for _ in range(_MOST_MESSAGES):
                if not works:
                    return
                work = works[0]
                if work.left:
                    output.give(work.token, batch_of(schema, work.some(left.depth, len(schema))))
                if not work.left:
                    work.token.drop()
                    works.popleft()
            context.activate()

        return logic

    return construct
