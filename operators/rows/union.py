"""union: several streams of one schema as one."""


from tokenring.engine import AnyStream, Notify, Schema, SchemaError, Stream
from tokenring.engine.declare import require_streams
from tokenring.operators.expressions import cure_of_keys
from tokenring.operators.migrate import state_moves
from tokenring.operators.rows.passed_on import passing_on


def union(first: AnyStream, *others: Stream, name: str = "union") -> AnyStream:
    """The rows of all streams, which have one schema and belong to one scope, at their times, by reference and in no
    order. Keeps nothing. At the head of a loop: what enters and what comes round. SchemaError for different schemas.
    """
    require_streams(f"operator {name!r}", *others)
    for stream in others:
        if stream.schema != first.schema:
            cure = _cure(first.schema, stream.schema)
            raise SchemaError(f"operator {name!r}: {first.schema!r} and {stream.schema!r} are not one; {cure}")
    builder = first.operator(name, Notify.NEVER)
    everything: tuple[Stream, ...] = (first, *others)
    for stream in everything:
        builder.input(stream)
    state_moves(builder)
    output = builder.output(first.schema)
    for stream in everything:
        if stream.updates is not None and (output.updates is None or not stream.updates.of_collection):
            output.updates = stream.updates.unknown()

    builder.build_compiled(lambda context: passing_on(len(everything)), texts=True, loops=True)
    return output


def _cure(one: Schema, other: Schema) -> str:
    """What to do about two schemas that are not one."""
    if one.names != other.names:
        return "select and rename what fits"
    for name, mine, theirs in zip(one.names, one.kinds, other.kinds, strict=True):
        if mine.name != theirs.name:
            return f"{name!r} is {mine} and {theirs}: {cure_of_keys(mine, theirs)}"
    return "where a column may be null in one only, fill_null there, or say schema= where it is read"
