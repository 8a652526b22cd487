"""The operators as methods: streams, scopes and workers whose methods are the functions of the library.

    from tokenring.operators.fluent import run

    run(lambda scope: scope.read_csv(path, schema).filter(col("price") > 100).to_parquet(folder), workers=2)
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.fluent.named import OwnCopyWarning
    from tokenring.operators.fluent.running_group import RunningGroup, start
    from tokenring.operators.fluent.scope import Feedback, Loop, OperatorBuilder, Scope
    from tokenring.operators.fluent.stream import Stream
    from tokenring.operators.fluent.worker import Worker, execute, gather, run
    from tokenring.operators.recovery import Recovery

__all__ = [
    "Feedback",
    "Loop",
    "OperatorBuilder",
    "OwnCopyWarning",
    "Recovery",
    "RunningGroup",
    "Scope",
    "Stream",
    "Worker",
    "execute",
    "gather",
    "run",
    "start",
]
