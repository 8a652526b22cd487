"""The engine: timestamps, tokens, progress tracking, dataflow graphs, workers. What dataflow authors need is here.

    from tokenring.engine import execute, Schema, Exchange

    def program(worker):
        with worker.dataflow("hello") as scope:
            numbers, stream = scope.new_input(Schema("value"))
            probe = stream.probe()
        numbers.send({"value": [worker.index]})
        numbers.advance_to(1)
        worker.step_while(lambda: probe.less_than(1))

    execute(program, workers=2)
"""

if __name__ != "tokenring.engine":  # a second copy of all its modules, where the checkout stands on the path
    raise ImportError(f"{__name__} is a part of tokenring: import tokenring.engine", name=__name__)


from tokenring.faces import later

with later(__name__):
    from tokenring.engine.ask import Health, WorkerHealth
    from tokenring.engine.background import RunningGroup
    from tokenring.engine.budget import require_memory
    from tokenring.engine.columns import (
        Batch,
        Kind,
        Schema,
        Strings,
        columns_of,
        did_you_mean,
        table_of,
        text_equal,
        text_hash,
    )
    from tokenring.engine.data import InputPort, OutputPort, SendSession
    from tokenring.engine.declare import AnyStream, Feedback, Loop, OperatorBuilder, Part, Scope, ScopeOf, Stream
    from tokenring.engine.errors import (
        BrokenInvariant,
        ConfigError,
        DataflowFailedError,
        DroppedTokenError,
        ExpiredReferenceError,
        GraphError,
        GraphMismatchError,
        KernelError,
        MemoryBudgetError,
        MultiplicityOverflowError,
        NegativeMultiplicityError,
        OperatorError,
        OutOfSharedMemory,
        PinnedTokenError,
        ReadTimeError,
        RecoveryError,
        RejectedRowsError,
        SchemaError,
        SegmentError,
        TimeRegressionError,
        TokenError,
        TokenRingError,
        UsageError,
        WorkerError,
        WrongOutputError,
    )
    from tokenring.engine.explain import (
        ActivePointstamp,
        Dataflow,
        Explanation,
        Hold,
        Holder,
        OpenOperator,
        Stopped,
        StoppedDataflow,
    )
    from tokenring.engine.graph import (
        BatchFunction,
        Broadcast,
        Constructor,
        Exchange,
        Fusable,
        Notify,
        Pact,
        Pipeline,
        Route,
        Signal,
        Updates,
    )
    from tokenring.engine.group import Results, execute
    from tokenring.engine.running import (
        InputGroup,
        InputHandle,
        OperatorContext,
        Probe,
        ProbeGroup,
        SendingWarning,
        UnderWay,
        WhenStopped,
    )
    from tokenring.engine.times import COMPLETE, MAX_TIME, Antichain, PathSummary, Time, less_equal
    from tokenring.engine.tokens import Token, TokenRef
    from tokenring.engine.worker import Config, Worker
    from tokenring.shm.errors import KernelCacheWarning, KernelInWorkerWarning
    from tokenring.shm.kernels import (
        COLUMN,
        COLUMNS_COMPILED,
        TABLE,
        WORDS,
        boolean,
        float64,
        int64,
        kernel,
        kernel_for_columns,
        readonly,
        tuple_of,
        void,
    )

__all__ = [
    "COLUMN",
    "COLUMNS_COMPILED",
    "COMPLETE",
    "MAX_TIME",
    "TABLE",
    "WORDS",
    "ActivePointstamp",
    "Antichain",
    "AnyStream",
    "Batch",
    "BatchFunction",
    "BrokenInvariant",
    "Broadcast",
    "Config",
    "Constructor",
    "ConfigError",
    "DataflowFailedError",
    "Dataflow",
    "DroppedTokenError",
    "Exchange",
    "ExpiredReferenceError",
    "Explanation",
    "Feedback",
    "Fusable",
    "GraphError",
    "GraphMismatchError",
    "Health",
    "Hold",
    "Holder",
    "InputGroup",
    "InputHandle",
    "InputPort",
    "KernelCacheWarning",
    "KernelError",
    "MultiplicityOverflowError",
    "NegativeMultiplicityError",
    "KernelInWorkerWarning",
    "Kind",
    "Loop",
    "Notify",
    "OpenOperator",
    "OperatorBuilder",
    "OperatorContext",
    "OperatorError",
    "OutOfSharedMemory",
    "OutputPort",
    "Pact",
    "Part",
    "PathSummary",
    "PinnedTokenError",
    "Pipeline",
    "Probe",
    "ProbeGroup",
    "Results",
    "Route",
    "Schema",
    "ReadTimeError",
    "RecoveryError",
    "RejectedRowsError",
    "RunningGroup",
    "SchemaError",
    "Scope",
    "ScopeOf",
    "SegmentError",
    "SendSession",
    "SendingWarning",
    "Signal",
    "Stopped",
    "StoppedDataflow",
    "Stream",
    "Strings",
    "Time",
    "TimeRegressionError",
    "Token",
    "UnderWay",
    "Updates",
    "TokenError",
    "TokenRef",
    "TokenRingError",
    "UsageError",
    "WhenStopped",
    "Worker",
    "MemoryBudgetError",
    "WorkerError",
    "WorkerHealth",
    "WrongOutputError",
    "boolean",
    "columns_of",
    "did_you_mean",
    "execute",
    "float64",
    "int64",
    "kernel",
    "kernel_for_columns",
    "less_equal",
    "table_of",
    "readonly",
    "require_memory",
    "text_equal",
    "text_hash",
    "tuple_of",
    "void",
]
