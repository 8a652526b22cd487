"""The declared graph: operators, ports, pacts, stages, the paths between locations, and cycles."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.graph.compiled_logic import (
        AtFirstMessage,
        Compiled,
        CompiledConstructor,
        CompiledStage,
        require_usable,
        stage_of,
    )
    from tokenring.engine.graph.graph import Graph
    from tokenring.engine.graph.location import NOTIFY_CODES, Location, Notify, Source, Target
    from tokenring.engine.graph.pact import Broadcast, Exchange, Pact, Pipeline, Route
    from tokenring.engine.graph.paths import Paths, identity_paths
    from tokenring.engine.graph.reachability import Reachability, shared
    from tokenring.engine.graph.reading import columns_read, functions_behind, rows_cross
    from tokenring.engine.graph.signal import Signal
    from tokenring.engine.graph.spec import Constructor, InputSpec, OperatorSpec, arriving_schema
    from tokenring.engine.graph.stage import BatchFunction, Fusable, Rejects, Stage
    from tokenring.engine.graph.updates import Updates
