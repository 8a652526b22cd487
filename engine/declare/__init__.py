"""How dataflows are declared: scopes, streams, loops and the builder of operators."""

from tokenring.engine.declare.scope import Feedback, Loop, Scope
from tokenring.engine.declare.stream import OperatorBuilder, Stream

__all__ = [
    "Feedback",
    "Loop",
    "OperatorBuilder",
    "Scope",
    "Stream",
]
