"""inspect: a look at what passes."""

from collections.abc import Callable
from typing import Any

from tokenring.engine import AnyStream, Batch, InputPort, Notify, OperatorContext, OutputPort, Token
from tokenring.engine.arguments import require_function
from tokenring.engine.columns import as_text
from tokenring.operators.migrate import state_moves

_ROWS_SHOWN = 10


def inspect(
    stream: AnyStream, function: Callable[[Batch, Any], None] | None = None, name: str = "inspect"
) -> AnyStream:
    """The rows as they are, at their times; `function(batch, time)` sees each batch first, and must not write into it.
    Without a function, a table of its first rows is printed, with the operator's name, the worker and the time.

    Keeps nothing. A batch dies with the call: `copy` it to keep it.
    """
    if function is not None:
        require_function(f"operator {name!r}", "function", function)

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()

        def show(batch: Batch, time: Any) -> None:
            print(f"{name}, worker {context.worker_index}, time {time}:\n{table(batch)}", flush=True)

        see = show if function is None else function

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                see(batch, reference.time)
                output.give(reference, batch)

        return logic

    builder = stream.operator(name, Notify.NEVER)
    builder.input(stream)
    state_moves(builder)
    passed = builder.output(stream.schema)
    builder.build(construct)
    passed.updates = stream.updates
    return passed


def table(batch: Batch, rows: int = _ROWS_SHOWN) -> str:
    """The first rows of a batch, columns under each other; "…" says that there are more."""
    shown = batch.slice(0, rows)
    columns = []
    for name in batch.schema.names:
        values = [
            "null" if null else as_text(value)
            for value, null in zip(list(shown[name]), shown.nulls(name).tolist(), strict=True)
        ]
        width = max(len(name), *[len(value) for value in values])
        columns.append([value.rjust(width) for value in (name, *values)])
    lines = ["  " + "  ".join(line) for line in zip(*columns, strict=True)]
    return "\n".join(lines + [f"  … {batch.rows - rows} more"] * (batch.rows > rows))
