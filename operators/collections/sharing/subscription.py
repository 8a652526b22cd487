"""A view from a time on: its rows then, and after that how they change, time by time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine import COMPLETE, Batch
from tokenring.operators.collections.sharing.reading import Answer, told, words_of
from tokenring.operators.collections.sharing.rejected import complaint
from tokenring.operators.collections.updates import Sealed
from tokenring.operators.collections.words import table_of

if TYPE_CHECKING:
    from tokenring.operators.collections.sharing.view import View


class Subscription:
    """A view on this worker, from a time on: `View.subscribe` makes it. It ends with its `with` block, or `close()`."""

    def __init__(self, view: View, time: int, key: Any, times: str, heard: Callable[[], None]) -> None:
        """heard: called whenever something was sealed, or more is finished."""
        self.time = time
        """The time of the first rows."""
        self._view, self._key, self._times, self._heard = view, key, times, heard
        self._first = [Answer(time, view.at(time, key, times))]
        there = [batch.words for batch in view.trace.spine.batches(view.taken)]
        self._waiting = [np.empty((view.trace.spine.columns, 0), np.int64)]
        self._waiting += [words[:, words[-2] > time] for words in there]

    def take(self) -> list[Answer]:
        """What is known since the last call: first the rows as of `time`; then for each time that has finished, and at
        which rows changed, in order of times, how: each row that did once, and in the column `times` how much more
        often it is there, below 0 if less. RejectedRowsError, and nothing is taken, while operators fail at rows that
        are there at the latest of these times; DataflowFailedError once the view's dataflow has failed."""
        self._view.require_sound()
        lacking = self._view.lacking(self._view.latest)
        if lacking:
            raise complaint(self._view.name, self._view.latest, lacking)
        first, self._first = self._first, []
        rows = np.concatenate(self._waiting, axis=1)
        is_finished = rows[-2] < self._view.upper
        self._waiting = [rows[:, ~is_finished]]
        if self._key is not ...:
            asked = words_of(self._view.schema, self._view.keys, self._key)
            is_finished &= bool(asked.shape[1]) and (rows[: len(asked)] == asked).all(axis=0)
        in_turn = [len(rows) - 2, *range(len(rows) - 2), len(rows) - 1]
        net = Sealed.of(np.ascontiguousarray(rows[in_turn][:, is_finished]), 0).words
        pieces = np.split(net, np.flatnonzero(np.diff(net[0])) + 1, axis=1) if net.shape[1] else []
        return first + [Answer(int(each[0, 0]), told(self._view.schema, each[1:], self._times)) for each in pieces]

    @property
    def upper(self) -> int:
        """All times before are finished, so that `take` tells them; COMPLETE once nothing changes any more."""
        return self._view.upper

    @property
    def is_over(self) -> bool:
        """Whether all is taken, and nothing changes any more."""
        return self.upper == COMPLETE and not self._first and not any([each.shape[1] for each in self._waiting])

    def bring(self, batches: Sequence[tuple[int, Batch]]) -> None:
        """What was sealed comes; the view says what is finished."""
        self._waiting += [table_of(batch) for _, batch in batches]
        self._heard()

    def close(self) -> None:
        """Hear no more (idempotent)."""
        self._view.forget(self)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
