"""Ways to coordinate, all over one engine: an operator is written once (TimedLogic) and driven by any of them.

tokens          one token at the least pending time; whole intervals are retired at once
notifications   Naiad: one time a call
watermarks      Flink: marks in band, forwarded by every operator, broadcast (X) or local to a worker (P)
sequential      Spark: each time finishes before the next starts
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.mechanisms.compiled import (
        Beginning,
        CompiledLogic,
        Driven,
        can_be_compiled,
        compile_with,
        driven,
        drop_first,
        give,
        own_record,
        respond,
    )
    from tokenring.operators.mechanisms.emit import EACH, FINAL, answer_each, emission
    from tokenring.operators.mechanisms.interface import Edge, Mechanism, Outlet, Progress
    from tokenring.operators.mechanisms.logic import Answer, Give, TimedLogic, distinct
    from tokenring.operators.mechanisms.tokens import TOKENS, late_rows
    from tokenring.operators.mechanisms.used import MECHANISMS, mechanism, mechanism_of, use

__all__ = [
    "Answer",
    "Beginning",
    "CompiledLogic",
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
    "answer_each",
    "can_be_compiled",
    "compile_with",
    "distinct",
    "driven",
    "drop_first",
    "emission",
    "give",
    "late_rows",
    "mechanism",
    "mechanism_of",
    "own_record",
    "respond",
    "use",
]
