"""Answers about a running dataflow: why time stands still, breakpoints, a look at state, stalls."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.explain.cancel import let_go, stop
    from tokenring.engine.explain.dataflow import Dataflow
    from tokenring.engine.explain.explanation import ActivePointstamp, Explanation, Holder, merge
    from tokenring.engine.explain.hold import Hold
    from tokenring.engine.explain.inspection import Inspection
    from tokenring.engine.explain.left_open import (
        OpenOperator,
        Stopped,
        StoppedDataflow,
        as_plain,
        ending_with,
        from_plain,
        keep_times,
        left_open,
        together,
    )
    from tokenring.engine.explain.place import Named, Place, is_called, of_port, of_probes
    from tokenring.engine.explain.stall import StallWatch
    from tokenring.engine.explain.why import explain, live_tokens
