"""look_up: gives each row the value that a table has for it at the same time, once both are finished."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tokenring.engine import (
    AnyStream,
    Batch,
    Exchange,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Probe,
    Schema,
    SchemaError,
    Stream,
    Token,
)
from tokenring.operators.joins.compiled import compiled_look_up
from tokenring.operators.migrate import state_moves
from tokenring.operators.state import Keys, require_rows
from tokenring.operators.time import finished_first


def look_up(rows: AnyStream, key: str, table: Stream, value: str, name: str = "look_up") -> AnyStream:
    """The rows (int64 columns), each with a column `value` more: what the table's row of the same time has for `key`.

    table: rows (key, value) under whatever names, int64, one for each key that `rows` have at that time; a key that is
    not there gets 0. Both are exchanged by key, and a worker sends all rows of a time as one batch. Works in scopes of
    any depth: times are only compared with the frontiers. Memory: both sides of the times that are not finished, each
    with a token.
    """
    require_rows(name, rows, table)
    schema = Schema(" ".join((*rows.schema.names, value)))
    if len(table.schema) != 2:
        raise SchemaError(f"operator {name!r}: the table has two columns, a key and its value, not {table.schema!r}")
    table_key, table_value = table.schema.names
    sides: list[Probe] = []
    rows, table = finished_first(rows, f"{name}.rows", sides), finished_first(table, f"{name}.table", sides)
    builder = rows.operator(name, Notify.IF_TOKEN)
    builder.input(rows, Exchange(key))
    builder.input(table, Exchange(table_key))
    state_moves(builder)  # nothing is kept of times that are finished
    output = builder.output(schema)

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()  # nothing to say unless rows arrive
        open_times: dict[Any, tuple[Token, list[Batch], list[Batch]]] = {}

        def logic(asked: InputPort, known: InputPort, output: OutputPort) -> None:
            for side, port in ((1, asked), (2, known)):
                for reference, batch in port:
                    if reference.time not in open_times:
                        open_times[reference.time] = (reference.retain(), [], [])
                    open_times[reference.time][side].append(batch.copy())  # type: ignore[union-attr]
            for time in [time for time in open_times if asked.finished(time) and known.finished(time)]:
                held, questions, answers = open_times.pop(time)
                if questions:
                    output.give(held, answer(Batch.concatenate(questions), answers))
                held.drop()

        return logic

    def answer(questions: Batch, answers: list[Batch]) -> Batch:
        keys = Keys(questions.schema, (key,))
        asked = keys.slots_of(questions.words(key))
        values = np.zeros(keys.limit, np.int64)
        for batch in answers:
            slots = keys.find(batch, (table_key,))
            wanted = slots >= 0
            values[slots[wanted]] = batch.words(table_value)[wanted]
        return Batch.wrap(schema, (*questions.columns, values[asked]), questions.rows, of=questions)

    if builder.can_be_compiled:
        builder.build_compiled(lambda context: compiled_look_up(rows.schema, key, table.schema))
    else:
        builder.build(construct)
    return output
