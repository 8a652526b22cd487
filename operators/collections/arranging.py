"""The operator that arranges: it gathers updates, and seals those of finished times as a batch."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import Batch, InputPort, OperatorContext, OutputPort, Schema, Token
from tokenring.operators.collections.frontiers import as_table, elements_of, least_times, split
from tokenring.operators.collections.rights import Rights
from tokenring.operators.collections.trace import Trace
from tokenring.operators.collections.updates import HALF_BITS, LOWER_HALF, Sealed

SEALED = Schema("updates")
"""Of the stream of an arrangement: for each batch, which its readers have, how many updates it has."""


def send_sealed(trace: Trace, updates: np.ndarray, rights: Rights, output: OutputPort) -> None:
    """Seal finished updates, of shape (columns, rows), and tell of them: a batch for each right that is needed."""
    for token, time in zip(rights.tokens, rights.times, strict=True):
        if updates.shape[1] == 0:
            return
        if trace.depth == 1 or len(rights.tokens) == 1:
            mine, updates = updates, updates[:, :0]
        else:
            updates, mine = split(updates, trace.data, as_table([time], trace.depth))
        if mine.shape[1]:
            batch = Sealed.of(mine)
            if batch.rows:
                trace.seal(batch)
                output.give(token, Batch.wrap(SEALED, (np.array([batch.rows]),), 1))


def as_parts(updates: np.ndarray, keys: int, depth: int, summed: Sequence[int]) -> np.ndarray:
    """Updates by key and part of its totals, as often as the part changes: part 0 counts rows; two parts for each
    column of `summed` add up the lower halves of its words, and the upper. So totals stay exact, and a key has few
    rows."""
    parts, rows = 1 + 2 * len(summed), updates.shape[1]
    made = np.empty((keys + 1 + depth + 1, parts, rows), np.int64)
    made[:keys] = updates[:keys, None]
    made[keys] = np.arange(parts)[:, None]
    made[keys + 1 : -1] = updates[len(updates) - depth - 1 : -1, None]
    made[-1, 0] = updates[-1]
    for number, column in enumerate(summed):
        made[-1, 1 + 2 * number] = (updates[column] & LOWER_HALF) * updates[-1]
        made[-1, 2 + 2 * number] = (updates[column] >> HALF_BITS) * updates[-1]
    return made.reshape(len(made), parts * rows)


def arranging(
    trace: Trace,
    positions: Sequence[int],
    prepare: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Callable[[OperatorContext, Token], Callable[..., None]]:
    """The operator's constructor. positions: where data, times and multiplicities are in messages; prepare: what makes
    of updates with these columns what `trace` keeps."""
    first = len(positions) - trace.depth - 1

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        rights = Rights()
        pending: list[np.ndarray] = []

        def logic(rows: InputPort, output: OutputPort) -> None:
            nonlocal pending
            for reference, batch in rows:
                if batch.rows:
                    table = np.empty((len(positions), batch.rows), np.int64)
                    for column, position in zip(table, positions, strict=True):
                        column[:] = batch.columns[position].view(np.int64)
                    pending.append(table)
                    rights.keep(reference)
            if not pending:
                return
            upper = elements_of(rows.frontier)
            if upper == trace.upper:
                return
            frontier = as_table(upper, trace.depth)
            whole = pending[0] if len(pending) == 1 else np.concatenate(pending, axis=1)
            finished, left = split(whole, first, frontier)
            pending = [left] if left.shape[1] else []
            trace.upper = upper
            send_sealed(trace, finished if prepare is None else prepare(finished), rights, output)
            rights.keep_only(least_times(left, first, trace.depth))

        return logic

    return construct
