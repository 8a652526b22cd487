"""Ways to coordinate, all over one engine: an operator is written once, compiled or as a TimedLogic, and driven by any.

tokens          one token at the least pending time; whole intervals are retired at once
notifications   Naiad: one time a call
watermarks      Flink: marks in band, forwarded by every operator, broadcast (X) or local to a worker (P)
sequential      Spark: each time finishes before the next starts
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.mechanisms.drivers import (
        Beginning,
        CompiledLogic,
        Driven,
        asks_nothing,
        driven,
        drop_first,
        give,
        own_record,
        times_asked,
    )
    from tokenring.operators.mechanisms.emit import EACH, FINAL, emission
    from tokenring.operators.mechanisms.interface import Edge, Mechanism, Progress
    from tokenring.operators.mechanisms.logic import Answer, Give, TimedLogic, distinct
    from tokenring.operators.mechanisms.outlets import (
        CompiledOutlet,
        Watched,
        close_outlet,
        frontier_watched,
        in_order_of,
        outlets_at,
        promise,
        send_out,
        time_of_outlet,
        watch,
    )
    from tokenring.operators.mechanisms.tokens import TOKENS, late_rows
    from tokenring.operators.mechanisms.used import MECHANISMS, mechanism, mechanism_of, use
    from tokenring.operators.time import Outlet, go_by_message_times

__all__ = [
    "Answer",
    "Beginning",
    "CompiledLogic",
    "CompiledOutlet",
    "Driven",
    "EACH",
    "Edge",
    "FINAL",
    "Give",
    "MECHANISMS",
    "Mechanism",
    "Outlet",
    "Progress",
    "TOKENS",
    "TimedLogic",
    "Watched",
    "asks_nothing",
    "close_outlet",
    "distinct",
    "driven",
    "drop_first",
    "emission",
    "frontier_watched",
    "give",
    "go_by_message_times",
    "in_order_of",
    "late_rows",
    "mechanism",
    "mechanism_of",
    "outlets_at",
    "own_record",
    "promise",
    "send_out",
    "time_of_outlet",
    "times_asked",
    "use",
    "watch",
]
