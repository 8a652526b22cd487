"""no_op: passes rows on and has nothing to say about time, for chains of idle operators (the paper's 7.3)."""

import numpy as np

from tokenring.engine import AnyStream, Exchange, Notify, Pipeline
from tokenring.engine.compiled import DONE, entry
from tokenring.operators.mechanisms import CompiledLogic, driven, mechanism_of


def no_op(stream: AnyStream, key: str, *, local: bool = False, name: str = "no_op") -> AnyStream:
    """The same rows at the same times. Exchanged by `key`, so that frontiers are computed as if every hop crossed
    workers; `local` keeps rows where they are. Under tokens and notifications it looks at time only while it holds a
    token, which it never does: idle, it is never run. Under watermarks it is run for each, to forward it.
    """
    pact = Pipeline() if local else Exchange(key)
    way = mechanism_of(stream.scope)
    passed = way.respond(name, (stream, pact), stream.schema, None, Notify.IF_TOKEN, False, _compiled_same, ())
    if stream.updates is not None:
        passed.updates = stream.updates if local else stream.updates.exchanged(name, [key])
    return passed


@entry
def _answer_same(world: int, me: int) -> int:
    """Answer a message with itself."""
    state = driven(world, me)
    state.reply = state.message
    return DONE


def _compiled_same() -> CompiledLogic:
    return CompiledLogic(np.zeros(1, np.int64), _answer_same, keeps_rows=True)
