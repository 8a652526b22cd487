"""look_up: gives each row the value that a table has for it at the same time, once both are finished."""

from tokenring.engine import AnyStream, Exchange, Notify, Probe, Schema, SchemaError, Stream
from tokenring.operators.joins.compiled import compiled_look_up
from tokenring.operators.migrate import state_moves
from tokenring.operators.rows import require_int64, require_other_columns
from tokenring.operators.state import require_rows
from tokenring.operators.time import finished_first, go_by_message_times


def look_up(rows: AnyStream, key: str, table: Stream, value: str, name: str = "look_up") -> AnyStream:
    """The rows (int64 columns), each with a column `value` more: what the table's row of the same time has for `key`.

    table: rows (key, value) under whatever names, int64, one for each key that `rows` have at that time; a key that is
    not there gets 0. Both are exchanged by key, and a worker sends all rows of a time as one batch. Works in scopes of
    any depth: times are only compared with the frontiers. Memory: both sides of the times that are not finished, each
    with a token. SchemaError for columns that are not int64, or may be null.
    """
    require_rows(name, rows, table)
    for side in (rows, table):
        go_by_message_times(name, side)
    results = *rows.schema.names, value
    require_other_columns(name, results)
    schema = Schema.of(dict.fromkeys(results, "int64"))
    if len(table.schema) != 2:
        raise SchemaError(f"operator {name!r}: the table has two columns, a key and its value, not {table.schema!r}")
    require_int64(name, rows.schema, key, *rows.schema.names)
    require_int64(name, table.schema, *table.schema.names)
    table_key, _ = table.schema.names
    sides: list[Probe] = []
    rows, table = finished_first(rows, f"{name}.rows", sides), finished_first(table, f"{name}.table", sides)
    builder = rows.operator(name, Notify.IF_TOKEN)
    builder.input(rows, Exchange(key))
    builder.input(table, Exchange(table_key))
    state_moves(builder)  # nothing is kept of times that are finished
    output = builder.output(schema)
    builder.build_compiled(lambda context: compiled_look_up(rows.schema, key, rows.scope.depth), loops=True)
    return output
