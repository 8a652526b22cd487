"""no_op: passes rows on and has nothing to say about time, for chains of idle operators (the paper's 7.3)."""

from tokenring.engine import AnyStream, Batch, Exchange, Notify, Pipeline
from tokenring.operators.mechanisms import mechanism_of
from tokenring.operators.rows import passing_on


def no_op(stream: AnyStream, key: str, *, local: bool = False, name: str = "no_op") -> AnyStream:
    """The same rows at the same times. Exchanged by `key`, so that frontiers are computed as if every hop crossed
    workers; `local` keeps rows where they are. Under tokens and notifications it looks at time only while it holds a
    token, which it never does: idle, it is never run. Under watermarks it is run for each, to forward it.
    """
    pact = Pipeline() if local else Exchange(key)
    way = mechanism_of(stream.scope)
    passed = way.respond(name, (stream, pact), stream.schema, lambda: _same, Notify.IF_TOKEN, False, passing_on, ())
    passed.updates = stream.updates
    return passed


def _same(batch: Batch) -> Batch:
    return batch
