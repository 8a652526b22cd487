"""Channels by worker number: rows go where their sender says."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine.columns import Batch, Schema
from tokenring.engine.data.burst import Burst
from tokenring.engine.data.channel import SelectChannel
from tokenring.engine.data.input_port import InputPort
from tokenring.engine.data.output_port import OutputPort
from tokenring.engine.data.text_channel import TextChannel, rows_for
from tokenring.engine.errors import SchemaError, UsageError
from tokenring.engine.graph import Route
from tokenring.shm.queues import key_of_worker

if TYPE_CHECKING:
    from tokenring.engine.data.plane import DataPlane
    from tokenring.engine.worker.worker import Worker


class RoutedChannel(TextChannel):
    """An edge between workers whose rows are routed by a key of the worker each is for, which does not cross."""

    def __init__(
        self, worker: "Worker", origin: OutputPort, carried: Schema, target: InputPort, plane: "DataPlane", pact: Route
    ) -> None:
        super().__init__(worker, origin, carried, target, plane, pact)
        self._pact = pact
        self._keys_of_workers = np.array([key_of_worker(peer, worker.peers) for peer in range(worker.peers)], np.int64)

    def push(self, time: Any, batch: Batch) -> None:
        """Send the rows of a batch; count the messages that were made."""
        numbers = _worker_numbers(self._pact, batch, len(self._keys_of_workers), self.target)
        rows = rows_for(batch.select(self._schema), self._keys_of_workers[numbers])
        self._push_pieces(rows, batch.rows, time)


class CheckedChannel(SelectChannel):
    """The same in a group of one: rows stay, and are looked at."""

    def __init__(self, worker: "Worker", target: InputPort, pact: Route) -> None:
        super().__init__(worker, target)
        self._pact = pact

    def push(self, time: Any, batch: Batch) -> None:
        """Hand over the selected columns, if all rows are for this worker."""
        _worker_numbers(self._pact, batch, 1, self.target)
        super().push(time, batch)

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Hand over one message after the other."""
        for time, rows in burst.messages(batch):
            self.push(time, rows)


def _worker_numbers(pact: Route, batch: Batch, workers: int, target: InputPort) -> np.ndarray:
    """Which worker each row is for: integers of shape (rows,)."""
    numbers = batch.words(pact.to) if isinstance(pact.to, str) else np.asarray(pact.to(batch))
    if numbers.shape != (batch.rows,) or numbers.dtype.kind not in "iu":
        raise SchemaError(
            f"{target.describe()}: the function of {pact!r} returned {numbers.dtype} of shape {numbers.shape}; it must "
            f"return the numbers of workers, integers of shape ({batch.rows},)"
        )
    wrong = (numbers < 0) | (numbers >= workers)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise UsageError(
            f"{target.describe()}: row {row} of a message is for worker {numbers[row]} by {pact!r}; there are workers "
            f"0 to {workers - 1}"
        )
    return numbers
