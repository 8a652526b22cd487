"""on_error: what becomes of the rows that a stateless operator fails at."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from tokenring.engine import (
    AnyStream,
    Batch,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Schema,
    SchemaError,
    Token,
    TokenRef,
)
from tokenring.engine.columns import is_one_of
from tokenring.engine.data import made_of_good
from tokenring.operators.expressions import said_of_row
from tokenring.operators.migrate import state_moves
from tokenring.operators.state import require_rows

OnError = Literal["fail", "stream"]
ERROR = "error"
"""The column that says why, behind the row's own."""


def gives_failed(name: str, on_error: str) -> bool:
    """Whether what fails is a stream of its own; SchemaError, naming the operator, for what `on_error` cannot be."""
    if not is_one_of(on_error, ("fail", "stream")):
        cure = "" if isinstance(on_error, str) else "; call a column so behind it: .rename(other='on_error')"
        raise SchemaError(
            f"operator {name!r}: on_error is \"fail\", which ends the run, or \"stream\", which gives one stream "
            f"more, not {on_error!r}{cure}"
        )
    return on_error == "stream"


def applied(stream: AnyStream, name: str, schema: Schema, function: Any, on_error: str) -> Any:
    """The stateless operator `stream.apply(name, schema, function)`; or, with on_error="stream", two streams: what it
    makes, and the rows that it fails at, each with an error. They go through Python then, a batch at a time."""
    if not gives_failed(name, on_error):
        return stream.apply(name, schema, function)
    if ERROR in stream.schema.positions:
        raise SchemaError(f"operator {name!r}: rows that fail get a column {ERROR!r}; rename the one that is there")
    require_rows(name, stream)
    run = function.fused([function]) if hasattr(function, "fused") else function
    failed = Schema.of(stream.schema.spec() | {ERROR: "string"})
    builder = stream.operator(name, Notify.NEVER)
    builder.input(stream)
    state_moves(builder)
    outputs = builder.output(schema), builder.output(failed)

    def construct(context: OperatorContext, *tokens: Token) -> Callable[[InputPort, OutputPort, OutputPort], None]:
        for token in tokens:
            token.drop()

        def logic(rows: InputPort, good: OutputPort, bad: OutputPort) -> None:
            for reference, batch in rows:
                try:
                    made = run(batch) if batch.rows else None
                except Exception:
                    made = made_of_good(run, batch, partial(_give, bad, reference, failed))
                if made is not None and made.rows:
                    good.give(reference, made)

        return logic

    builder.build(construct)
    return outputs


def _give(output: OutputPort, reference: TokenRef, schema: Schema, rows: Batch, errors: list[Exception]) -> None:
    """Send rows on, each with what is wrong with it."""
    output.give(reference, with_errors(schema, rows, list(map(said_of_row, errors))))


def with_errors(schema: Schema, rows: Batch, errors: Sequence[str]) -> Batch:
    """Rows, each with what is wrong with it in the last column of this schema, which they lack."""
    *names, why = schema.names
    return Batch(schema, {name: rows[name] for name in names} | {why: errors})
