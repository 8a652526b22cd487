"""The operator that arranges: it gathers updates, and seals those of finished times as a batch."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import Batch, InputPort, OperatorContext, OutputPort, Schema, Token
from tokenring.operators.collections.frontiers import as_table, elements_of, least_times, split
from tokenring.operators.collections.rights import Rights
from tokenring.operators.collections.trace import Trace
from tokenring.operators.collections.updates import Sealed

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


def arranging(trace: Trace, positions: Sequence[int]) -> Callable[[OperatorContext, Token], Callable[..., None]]:
    """The operator's constructor. positions: where the columns of `trace` are in messages."""
    first = trace.data

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
            send_sealed(trace, finished, rights, output)
            rights.keep_only(least_times(left, first, trace.depth))

        return logic

    return construct
