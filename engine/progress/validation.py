"""What one worker may report: its own tokens and messages, and a check of each batch of changes before it is published.

The duty (docs/concurrency.md, A6, A7, A9; the progress chapter's "each batch that increments a pointstamp must
decrement one strictly less than it"): a worker gives up only what it owns, and whatever it adds is implied by what it
owns, which others still count or stop counting with the same batch. Written against an abstract order and path
summaries, so it knows no kind of time; it shares no code with the tables that it is there to doubt.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tokenring.engine.errors import BrokenInvariant
from tokenring.engine.times import PathSummary, less_equal

Pointstamp = tuple[int, Any]
"""(location, time)."""

PathsTo = Callable[[int], Mapping[int, Iterable[PathSummary]]]
"""The least summaries of the paths from every location to the one given, itself included."""


@dataclass(frozen=True)
class NamedLocation:
    """A location as errors name it. is_source: tokens live here; otherwise messages under way are counted."""

    name: str
    is_source: bool


def differences(after: Mapping[Pointstamp, int], before: Mapping[Pointstamp, int]) -> dict[Pointstamp, int]:
    """What is added from `before` to `after`, without zeros."""
    found = {at: after.get(at, 0) - before.get(at, 0) for at in {**after, **before}}
    return {at: delta for at, delta in found.items() if delta}


def naive_frontier(
    target: int,
    paths_to: PathsTo,
    entries: Mapping[int, Iterable[tuple[Any, int]]],
    order: Callable[[Any, Any], bool] = less_equal,
) -> list[Any]:
    """The minimal times that positive counts can still bring to `target`, by trying every count and every path.

    entries: the (time, count) pairs of locations that have some.
    """
    paths = paths_to(target)
    images = [
        image
        for origin, pairs in entries.items()
        for time, count in pairs
        if count > 0
        for summary in paths.get(origin, ())
        if (image := summary.results_in(time)) is not None
    ]
    return sorted({image for image in images if not any(order(other, image) and other != image for other in images)})


class Validator:
    """What one worker owns, as its own reports have it."""

    def __init__(self, worker: int, order: Callable[[Any, Any], bool] = less_equal) -> None:
        self._worker = worker
        self._order = order
        self._places: dict[int, NamedLocation] = {}
        self._paths: dict[int, PathsTo] = {}
        self._tokens: Counter[Pointstamp] = Counter()
        self._messages: Counter[Pointstamp] = Counter()

    def watch(self, places: Mapping[int, NamedLocation], paths_to: PathsTo) -> None:
        """A new dataflow, with its locations and their paths."""
        for location, place in places.items():
            self._places[location] = place
            self._paths[location] = paths_to

    def grant(self, source: int, time: Any) -> None:
        """The worker got an initial token."""
        self._tokens[source, time] += 1

    def received(self, target: int, time: Any) -> None:
        """A message is in the worker's hands, whoever sent it."""
        self._messages[target, time] += 1

    def owned(self, source: int) -> int:
        """The tokens that the worker owns at a source, at all times together."""
        return sum(count for (location, _), count in self._tokens.items() if location == source)

    def check_batch(self, changes: Mapping[Pointstamp, int], waiting: Mapping[Pointstamp, int]) -> None:
        """Take over the net changes of whole actions since the last call, if the worker may report them.

        waiting: the messages received that no operator has taken. Raises BrokenInvariant naming place and time.
        """
        consumed = differences(self._messages, waiting)
        added: set[Pointstamp] = set()
        given_up = {at for at, delta in changes.items() if delta < 0}
        for at in {**changes, **consumed}:
            delta = changes.get(at, 0)
            if self._places[at[0]].is_source:
                if self._tokens[at] + delta < 0:
                    self._refuse("drop", at, -delta, f"token(s) and owns {self._tokens[at]} (A6)")
                if delta > 0:
                    added.add(at)
            else:
                sent = delta + consumed.get(at, 0)
                if sent < 0:
                    self._refuse("consume", at, -delta, f"message(s) and took {consumed.get(at, 0)} (A6)")
                if sent > 0:
                    added.add(at)
        owned = {at for at, count in self._tokens.items() if count > 0}
        waits = {at for at, count in waiting.items() if count}  # what only this worker can take
        for at in added:
            self._require_support(at, changes.get(at, 0), owned, given_up | waits)
        for at, delta in changes.items():
            if self._places[at[0]].is_source:
                self._tokens[at] += delta
                if not self._tokens[at]:
                    del self._tokens[at]
        self._messages = Counter(dict(waiting))

    def check_published(self, published: Mapping[Pointstamp, int], left: Mapping[Pointstamp, int]) -> None:
        """A batch that did not go as a whole: what it gives up must not go before what it adds (A8)."""
        late = next((at for at, delta in left.items() if delta > 0), None)
        early = next((at for at, delta in published.items() if delta < 0), None)
        if late is not None and early is not None:
            self._refuse("publish the end of", early, -published[early], f"before {self._describe(late)} of one batch")

    def check_held(self, source: int, held: int) -> None:
        """The tokens in the hands of operators must be those reported: nothing gained or lost without a change."""
        if self.owned(source) != held:
            raise BrokenInvariant(
                f"worker {self._worker} holds {held} token(s) of {self._places[source].name}, but has reported "
                f"{self.owned(source)}: {self._times_at(source)}"
            )

    def _require_support(self, at: Pointstamp, delta: int, owned: set[Pointstamp], others: set[Pointstamp]) -> None:
        location, time = at
        paths = self._paths[location](location)
        for origin, before in owned | others:
            if (origin, before) == at and at not in owned:
                continue
            for summary in paths.get(origin, ()):
                result = summary.results_in(before)
                if result is not None and self._order(result, time):
                    return
        self._refuse("add", at, delta, f"without a token or a message that could result in it (A7, A9); {self._all()}")

    def _refuse(self, verb: str, at: Pointstamp, count: int, why: str) -> None:
        raise BrokenInvariant(f"worker {self._worker} is about to {verb} {count} at {self._describe(at)} {why}")

    def _describe(self, at: Pointstamp) -> str:
        return f"{self._places[at[0]].name}, time {at[1]}"

    def _times_at(self, source: int) -> str:
        return ", ".join(f"{n} at {time}" for (at, time), n in self._tokens.items() if at == source) or "none"

    def _all(self) -> str:
        tokens = "; ".join(self._describe(at) for at in list(self._tokens)[:5])
        return f"it owns tokens of: {tokens or 'nothing'}"
