"""The engine: timestamps, tokens, progress tracking, dataflow graphs, workers. What dataflow authors need is here.

    from engine import execute, Schema, Exchange

    def program(worker):
        with worker.dataflow("hello") as scope:
            numbers, stream = scope.new_input(Schema("value"))
            probe = stream.probe()
        numbers.send({"value": [worker.index]})
        numbers.advance_to(1)
        worker.step_while(lambda: probe.less_than(1))

    execute(program, workers=2)

docs/architecture.md draws its layers, pure, graph and runtime, and says what each file is for.
"""

from engine.antichain import Antichain
from engine.batch import Batch
from engine.config import Config
from engine.errors import (
    BrokenInvariant,
    ConfigError,
    DroppedTokenError,
    ExpiredReferenceError,
    GraphError,
    GraphMismatchError,
    KernelError,
    OperatorError,
    OutOfSharedMemory,
    PinnedTokenError,
    SchemaError,
    SegmentError,
    TimeRegressionError,
    TokenError,
    TokenRingError,
    UsageError,
    WorkerError,
    WrongOutputError,
)
from engine.explanation import Explanation, Holder, Pointstamp
from engine.hold import Hold
from engine.input import InputHandle
from engine.input_group import InputGroup
from engine.input_port import InputPort
from engine.kinds import Kind
from engine.launcher import execute
from engine.location import Notify
from engine.offered import columns_of, table_of
from engine.operator import OperatorContext
from engine.output_port import OutputPort
from engine.pact import Broadcast, Exchange, Pact, Pipeline, Route
from engine.probe import Probe
from engine.probe_group import ProbeGroup
from engine.schema import Schema, did_you_mean
from engine.scope import Feedback, Loop, Scope
from engine.session import Session
from engine.signal import Signal
from engine.stage import BatchFunction, Fusable
from engine.stream import OperatorBuilder, Stream
from engine.text import Strings
from engine.text_kernels import text_equal, text_hash
from engine.timestamp import COMPLETE, MAX_TIME, PathSummary, Time, less_equal
from engine.token_ref import TokenRef
from engine.tokens import Token
from engine.updates import Updates
from engine.worker import Worker
from shm.errors import KernelCacheWarning, KernelInWorkerWarning
from shm.kernels import (
    COLUMN,
    COLUMNS_COMPILED,
    TABLE,
    WORDS,
    address_of,
    boolean,
    bytes_at,
    float64,
    int64,
    kernel,
    kernel_for_columns,
    readonly,
    tuple_of,
    void,
    words_at,
)
from shm.text_words import LENGTH_BITS, LENGTH_MASK, copy_text

__all__ = [
    "COLUMN",
    "COLUMNS_COMPILED",
    "COMPLETE",
    "LENGTH_BITS",
    "LENGTH_MASK",
    "MAX_TIME",
    "TABLE",
    "WORDS",
    "Antichain",
    "Batch",
    "BatchFunction",
    "BrokenInvariant",
    "Broadcast",
    "Config",
    "ConfigError",
    "DroppedTokenError",
    "Exchange",
    "ExpiredReferenceError",
    "Explanation",
    "Feedback",
    "Fusable",
    "GraphError",
    "GraphMismatchError",
    "Hold",
    "Holder",
    "InputGroup",
    "InputHandle",
    "InputPort",
    "KernelCacheWarning",
    "KernelError",
    "KernelInWorkerWarning",
    "Kind",
    "Loop",
    "Notify",
    "OperatorBuilder",
    "OperatorContext",
    "OperatorError",
    "OutOfSharedMemory",
    "OutputPort",
    "Pact",
    "PathSummary",
    "PinnedTokenError",
    "Pipeline",
    "Pointstamp",
    "Probe",
    "ProbeGroup",
    "Route",
    "Schema",
    "SchemaError",
    "Scope",
    "SegmentError",
    "Session",
    "Signal",
    "Stream",
    "Strings",
    "Time",
    "TimeRegressionError",
    "Token",
    "Updates",
    "TokenError",
    "TokenRef",
    "TokenRingError",
    "UsageError",
    "Worker",
    "WorkerError",
    "WrongOutputError",
    "address_of",
    "boolean",
    "bytes_at",
    "columns_of",
    "copy_text",
    "did_you_mean",
    "execute",
    "float64",
    "int64",
    "kernel",
    "kernel_for_columns",
    "less_equal",
    "table_of",
    "readonly",
    "text_equal",
    "text_hash",
    "tuple_of",
    "void",
    "words_at",
]
