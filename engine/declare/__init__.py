"""How dataflows are declared: scopes, streams, loops and the builder of operators."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.declare.builder import OperatorBuilder
    from tokenring.engine.declare.feedback import Feedback
    from tokenring.engine.declare.part import Part
    from tokenring.engine.declare.scope import Loop, Scope, frame_in_program, one_of
    from tokenring.engine.declare.scope_of import ScopeOf
    from tokenring.engine.declare.stream import AnyStream, Stream, require_streams
