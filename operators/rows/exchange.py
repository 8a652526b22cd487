"""exchange, broadcast: rows to the worker that owns their key, or to every worker."""


from tokenring.engine import AnyStream, Broadcast, Exchange, Notify, Pact
from tokenring.operators.migrate import state_moves
from tokenring.operators.rows.key_columns import (
    Columns,
    columns_read,
    exchanged_by,
    require_kept,
    with_key,
    without_unnamed,
)
from tokenring.operators.rows.passed_on import passing_on


def exchange(stream: AnyStream, by: Columns, name: str = "exchange") -> AnyStream:
    """The rows, at their times, on the worker that owns the value of the column `by`, or of several columns, of any
    kind, or of an expression: rows of equal keys meet. Rows of one worker stay in order. Operators with a key exchange
    by themselves.

    All columns cross, so `select` what is needed before. Keeps nothing. SchemaError for a column that is not there.
    """
    require_kept(name, stream.schema)
    before = stream
    stream, names = with_key(stream, name, by)
    passed = hand_on(stream, Exchange(exchanged_by(names)), name)
    if before.updates is not None:
        passed.updates = before.updates.exchanged(name, columns_read(by))
    return without_unnamed(passed, name)


def broadcast(stream: AnyStream, name: str = "broadcast") -> AnyStream:
    """Every row, at its time, on every worker. Keeps nothing."""
    passed = hand_on(stream, Broadcast(), name)
    if stream.updates is not None:
        passed.updates = stream.updates.reordered(name)
    return passed


def hand_on(stream: AnyStream, pact: Pact | None, name: str) -> AnyStream:
    """The rows, at their times, where a pact sends them: an operator that does nothing else. Keeps nothing."""

    builder = stream.operator(name, Notify.NEVER)
    builder.input(stream, pact)
    state_moves(builder)
    passed = builder.output(stream.schema)
    builder.build_compiled(lambda context: passing_on(), texts=True, loops=True)
    passed.updates = stream.updates
    return passed
