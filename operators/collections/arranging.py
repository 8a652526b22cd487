"""The operator that arranges: it gathers updates, and seals those of finished times as a batch."""

from functools import partial

import numpy as np

from tokenring.engine import OperatorBuilder, OperatorContext, OutputPort, Schema, Stream
from tokenring.engine.compiled import Compiled
from tokenring.operators.collections import compiled
from tokenring.operators.collections.rights import Rights
from tokenring.operators.collections.trace import Trace, batch_of
from tokenring.operators.collections.updates import Parts, Sealed, as_table, split
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
            table = np.ascontiguousarray(updates)
            updates, mine = split(table, trace.data, as_table([time], trace.depth))
        if mine.shape[1]:
            batch = Sealed.of(mine, trace.depth)
            if batch.rows:
                trace.seal(batch)
                output.give(token, batch_of(schema, batch.words))


def build_arranging(
    builder: OperatorBuilder[Stream], trace: Trace, entering: Entering, parts: Parts | None
) -> None:
    """Give an operator its code: it seals in `trace` what comes. entering: makes tables of messages, of data, times and
    multiplicities; parts: of totals, where these are kept in place of rows."""

    def construct(context: OperatorContext) -> Compiled:
        made = compiled.arranging(trace.spine, entering, parts)
        trace.pending = partial(compiled.pending_of, made.state)
        return made

    builder.build_compiled(construct, texts=True, loops=True)
