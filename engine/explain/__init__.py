"""Answers about a running dataflow: why time stands still, breakpoints, a look at state, stalls."""

from tokenring.engine.explain.cancel import cancel
from tokenring.engine.explain.explanation import Explanation, Holder, Pointstamp, merge
from tokenring.engine.explain.hold import Hold
from tokenring.engine.explain.inspection import Inspectable, inspect, take_hold, why
from tokenring.engine.explain.place import Named, Place, of_port, of_probe
from tokenring.engine.explain.stall import StallWatch
from tokenring.engine.explain.why import explain, live_tokens

__all__ = [
    "Explanation",
    "Hold",
    "Holder",
    "Inspectable",
    "Named",
    "Place",
    "Pointstamp",
    "StallWatch",
    "cancel",
    "explain",
    "inspect",
    "live_tokens",
    "merge",
    "of_port",
    "of_probe",
    "take_hold",
    "why",
]
