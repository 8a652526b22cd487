"""iterate: a loop in one call."""

from collections.abc import Callable

from tokenring.engine import AnyStream, GraphError
from tokenring.operators.rows.union import union


def iterate(
    stream: AnyStream, body: Callable[[AnyStream], tuple[AnyStream, AnyStream]], name: str = "iterate"
) -> AnyStream:
    """What leaves a loop that the stream's rows enter. `body(rows)` declares one round: it returns the rows that go
    round once more, of the stream's schema, and those that are done, of any schema, which leave at the times at which
    they entered.

    Times inside are (time, round). Other streams are brought in with `rows.scope.enter(other)`. The loop of a time ends
    when nothing goes round any more: behind it the time has passed. Keeps nothing itself. SchemaError if what goes
    round has other columns, GraphError if the body returns streams of another scope. (Naiad's
    section 2.1.)
    """
    with stream.scope.loop(name) as loop:
        back = loop.feedback(stream.schema)
        head = union(loop.enter(stream), back.stream)
        made = body(head)
        if not isinstance(made, tuple | list) or len(made) != 2:
            raise GraphError(
                f"operator {name!r}: the body returns two streams, of the rows that go round once more and of those "
                f"that are done, not {made!r}"
            )
        again, done = made
        back.connect(again)
    return loop.leave(done)
