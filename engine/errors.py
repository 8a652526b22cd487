"""The engine's exceptions: misuse names operator, port, worker, time and cure; a broken invariant of ours is a
different thing.

TokenRingError
├── UsageError              the caller did something that the model does not allow
│   ├── ConfigError         an option of the run has a value that cannot work
│   ├── DataflowFailedError an installed dataflow, of which something is asked, has failed
│   ├── GraphError          the dataflow graph cannot be built (a cycle, a stream of another dataflow, ...)
│   ├── NegativeMultiplicityError   a collection has rows fewer times than not at all
│   ├── RejectedRowsError   rows of a collection are missing, because an operator failed at them
│   ├── ReadTimeError       a time of an arrangement is not finished yet, or known no more
│   ├── SchemaError         columns, dtypes or lengths do not fit
│   └── TokenError          a token, token reference or session was misused
│       ├── DroppedTokenError, ExpiredReferenceError, PinnedTokenError, WrongOutputError, TimeRegressionError
├── OperatorError           the code of an operator, or of a program, raised
├── GraphMismatchError      two workers built different graphs
├── MemoryBudgetError       what the run keeps does not fit into its budget of memory
├── WorkerError             a worker process died
├── GroupStopped            the group is being stopped (seen inside workers only)
└── KernelError, SharedMemoryError and its own, and, apart from all these, BrokenInvariant: see tokenring.shm.errors
"""

from collections.abc import Sequence

from tokenring.shm.errors import (
    BrokenInvariant,
    KernelError,
    OutOfSharedMemory,
    SegmentError,
    SharedMemoryError,
    TokenRingError,
)

__all__ = [
    "BrokenInvariant",
    "ConfigError",
    "DataflowFailedError",
    "DroppedTokenError",
    "ExpiredReferenceError",
    "GraphError",
    "GraphMismatchError",
    "GroupStopped",
    "KernelError",
    "MemoryBudgetError",
    "NegativeMultiplicityError",
    "NoSuchMethodError",
    "OperatorError",
    "OutOfSharedMemory",
    "PinnedTokenError",
    "ReadTimeError",
    "RejectedRowsError",
    "SchemaError",
    "SegmentError",
    "SharedMemoryError",
    "TimeRegressionError",
    "TokenError",
    "TokenRingError",
    "UsageError",
    "WorkerError",
    "WrongOutputError",
]


class UsageError(TokenRingError):
    """The caller did something that the model does not allow."""


class ConfigError(UsageError):
    """An option of the run has a value that cannot work."""


class DataflowFailedError(UsageError):
    """Something is asked of an installed dataflow that has failed: which operator did, on which worker, and why."""


class NoSuchMethodError(UsageError, AttributeError):
    """A method was asked for that a stream does not have: operators are functions."""


class GraphError(UsageError):
    """The dataflow graph cannot be built as asked."""


class NegativeMultiplicityError(UsageError):
    """Of a row of a collection more was taken away than was there."""


class MultiplicityOverflowError(UsageError):
    """A row of a collection would be there, or be taken away, more often than 2**63 - 1 times."""


class ReadTimeError(UsageError):
    """An arrangement cannot be read at a time: it is not finished yet, or what was then is forgotten."""


class RejectedRowsError(UsageError):
    """What is read lacks rows that an operator failed at, and says which."""


class RecoveryError(UsageError):
    """A job's folder of snapshots cannot be used, or a program cannot go on from what is in it."""


class SchemaError(UsageError):
    """Columns, dtypes or lengths do not fit what a port carries."""


class TokenError(UsageError):
    """A token, token reference or session was misused."""


class DroppedTokenError(TokenError):
    """A token was used, or dropped again, after it was dropped."""


class ExpiredReferenceError(TokenError):
    """A token reference was used after the call (or the message) that gave it; `retain` it to keep it."""


class PinnedTokenError(TokenError):
    """A token was moved or dropped while a session pinned it."""


class WrongOutputError(TokenError):
    """A token was used at an output that it is not for."""


class TimeRegressionError(TokenError):
    """A time earlier than the token's was asked for."""


class OperatorError(TokenRingError):
    """The code of an operator, or of a program, raised; the cause is chained or in the text."""

    number = -1
    """On the worker where it was raised the tracker's number of the operator, or of its dataflow, if that is known."""

    def of(self, number: int) -> "OperatorError":
        """The same, of an operator by its number, unless one inside of it was named before."""
        if self.number < 0:
            self.number = number
        return self


class GraphMismatchError(TokenRingError):
    """Two workers of one group built different dataflow graphs. `declared` is what this worker's has, in order."""

    def __init__(self, text: str, declared: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.declared = declared


class MemoryBudgetError(TokenRingError):
    """The group's state does not fit into the memory that the run may take (`memory_bytes`)."""


class WorkerError(TokenRingError):
    """A worker process ended without finishing its work."""


class GroupStopped(TokenRingError):
    """The launcher asked this worker to stop."""
