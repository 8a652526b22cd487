"""The operator that arranges: it gathers updates, and seals those of finished times as a batch."""

from collections.abc import Callable
from functools import partial

import numpy as np

from tokenring.engine import InputPort, OperatorBuilder, OperatorContext, OutputPort, Schema, Stream, Token
from tokenring.engine.compiled import Compiled
from tokenring.operators.collections import compiled
from tokenring.operators.collections.rights import Rights
from tokenring.operators.collections.trace import Trace, batch_of
from tokenring.operators.collections.updates import Parts, Sealed, as_table, elements_of, least_times, split
from tokenring.operators.collections.words import Entering
from tokenring.operators.migrate import Staying


def spread_by_key(
    builder: OperatorBuilder[Stream], rows: Stream, keys: tuple[str, ...], arriving: Schema
) -> None:
    """Give an operator the input by which a collection's rows go to their keys' workers. They stay there where other
    state moves: others read what is kept here, and keep more by the same keys, so that all of it would have to go at
    once."""
    builder.input(rows, Staying(keys if len(keys) > 1 else keys[0], arriving.names))


def send_sealed(trace: Trace, schema: Schema, updates: np.ndarray, rights: Rights, output: OutputPort) -> None:
    """Seal finished updates, of shape (columns, rows), and send them: a batch for each right that is needed."""
    for token, time in zip(rights.tokens, rights.times, strict=True):
        if updates.shape[1] == 0:
            return
        if trace.depth == 1 or len(rights.tokens) == 1:
            mine, updates = updates, updates[:, :0]
        else:
            updates, mine = split(updates, trace.data, as_table([time], trace.depth))
        if mine.shape[1]:
            batch = Sealed.of(mine, trace.depth)
            if batch.rows:
                trace.seal(batch)
                output.give(token, batch_of(schema, batch.words))


def build_arranging(
    builder: OperatorBuilder[Stream], trace: Trace, entering: Entering, schema: Schema, parts: Parts | None
) -> None:
    """Give an operator its code: it seals in `trace` what comes. entering: makes tables of messages, of data, times and
    multiplicities; schema: of what it sends, keys first; parts: of totals, where these are kept in place of rows."""
    if builder.can_be_compiled_with_texts:

        def construct(context: OperatorContext) -> Compiled:
            made = compiled.arranging(trace.spine, entering, parts)
            trace.pending = partial(compiled.pending_of, made.state)
            return made

        builder.build_compiled(construct, texts=True)
    else:
        builder.build(arranging(trace, entering, schema, parts))


def arranging(
    trace: Trace, entering: Entering, schema: Schema, prepare: Callable[[np.ndarray], np.ndarray] | None
) -> Callable[[OperatorContext, Token], Callable[..., None]]:
    """The constructor of the operator in Python. prepare: what makes of updates that come what `trace` keeps."""

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        rights = Rights()
        pending: list[np.ndarray] = []
        none = np.empty((len(entering.kinds), 0), np.int64)
        trace.pending = lambda: np.concatenate([none, *pending], axis=1)

        def seal_finished(rows: InputPort, output: OutputPort) -> None:
            nonlocal pending
            was_waiting = bool(pending)
            for reference, batch in rows:
                if batch.rows:
                    pending.append(entering.table_of(batch))
                    rights.keep(reference)
            if not was_waiting:
                return  # what has just come is not finished while it counts as under way: it is run again when it is
            upper = elements_of(rows.frontier)
            if upper == trace.upper:
                return
            frontier = as_table(upper, trace.depth)
            whole = pending[0] if len(pending) == 1 else np.concatenate(pending, axis=1)
            first = len(whole) - trace.depth - 1
            finished, left = split(whole, first, frontier)
            pending = [left] if left.shape[1] else []
            trace.upper = upper
            send_sealed(trace, schema, finished if prepare is None else prepare(finished), rights, output)
            rights.keep_only(least_times(left, first, trace.depth))

        def logic(rows: InputPort, output: OutputPort) -> None:
            seal_finished(rows, output)
            trace.merge_on(context)

        return logic

    return construct
