"""Channels by worker number: rows go where their sender says."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tokenring.engine.columns import Batch, Schema
from tokenring.engine.data.burst import Burst
from tokenring.engine.data.channel import SelectChannel
from tokenring.engine.data.input_port import InputPort
from tokenring.engine.data.runtime import Runtime
from tokenring.engine.data.text_channel import TextChannel, rows_for
from tokenring.engine.errors import SchemaError, UsageError
from tokenring.engine.graph import Route
from tokenring.engine.progress import ChangeLog
from tokenring.shm.queues import key_of_worker


class RoutedChannel(TextChannel):
    """An edge between workers whose rows are routed by a key of the worker each is for, which does not cross."""

    def __init__(self, runtime: Runtime, origin: int, carried: Schema, target: InputPort, pact: Route) -> None:
        super().__init__(runtime, origin, carried, target, pact)
        self._pact = pact
        peers = runtime.peers
        self._keys_of_workers = np.array([key_of_worker(peer, peers) for peer in range(peers)], np.int64)

    def push(self, time: Any, batch: Batch) -> None:
        """Send the rows of a batch; count the messages that were made."""
        numbers = _worker_numbers(self._pact, batch, len(self._keys_of_workers), self._describe)
        rows = rows_for(batch.select(self._schema), self._keys_of_workers[numbers])
        self._push_pieces(rows, batch.rows, time)


class CheckedChannel(SelectChannel):
    """The same in a group of one: rows stay, and are looked at."""

    def __init__(self, log: ChangeLog, target: InputPort, pact: Route) -> None:
        super().__init__(log, target.inbox, target.schema)
        self._describe = target.describe
        self._pact = pact

    def push(self, time: Any, batch: Batch) -> None:
        """Hand over the selected columns, if all rows are for this worker."""
        _worker_numbers(self._pact, batch, 1, self._describe)
        super().push(time, batch)

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Hand over one message after the other."""
        for time, rows in burst.messages(batch):
            self.push(time, rows)


def _worker_numbers(pact: Route, batch: Batch, workers: int, describe: Callable[[], str]) -> np.ndarray:
    """Which worker each row is for: integers of shape (rows,)."""
    numbers = batch.words(pact.to) if isinstance(pact.to, str) else np.asarray(pact.to(batch))
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
