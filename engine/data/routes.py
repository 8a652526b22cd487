"""Routes by worker number: rows go where their sender says."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tokenring.engine.columns import Batch
from tokenring.engine.data.burst import Burst
from tokenring.engine.data.channel import Edge
from tokenring.engine.data.raised import in_words
from tokenring.engine.errors import BrokenInvariant, GroupStopped, OperatorError, SchemaError, UsageError
from tokenring.engine.graph import Route


class CheckedChannel:
    """An edge by worker number in a group of one: rows stay, and are looked at."""

    __slots__ = ("_describe", "_onward", "_pact")

    def __init__(self, onward: Edge, pact: Route, describe: Callable[[], str]) -> None:
        self._onward = onward
        self._pact = pact
        self._describe = describe

    def push(self, time: Any, batch: Batch) -> None:
        """Hand rows on, if all are for this worker."""
        worker_numbers(self._pact, batch, 1, self._describe)
        self._onward.push(time, batch)

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Hand over one message after the other."""
        for time, rows in burst.messages(batch):
            self.push(time, rows)


def worker_numbers(pact: Route, batch: Batch, workers: int, describe: Callable[[], str]) -> np.ndarray:
    """Which worker each row is for: integers of shape (rows,)."""
    if isinstance(pact.to, str):
        numbers = batch.words(pact.to)
    else:
        try:
            numbers = np.asarray(pact.to(batch))
        except (GroupStopped, BrokenInvariant, KeyboardInterrupt):
            raise
        except BaseException as error:
            said = in_words(error, "it is called with a batch")
            raise OperatorError(f"{describe()}: the function of {pact!r} raised {said}") from error
    if numbers.shape != (batch.rows,) or numbers.dtype.kind not in "iu":
        raise SchemaError(
            f"{describe()}: the function of {pact!r} returned {numbers.dtype} of shape {numbers.shape}; it must "
            f"return the numbers of workers, integers of shape ({batch.rows},)"
        )
    wrong = (numbers < 0) | (numbers >= workers)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise UsageError(
            f"{describe()}: row {row} of a message is for worker {numbers[row]} by {pact!r}; there are workers "
            f"0 to {workers - 1}"
        )
    return numbers
