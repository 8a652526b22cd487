"""Why a frontier stands where it stands, as data and in words: which counts hold it back, and who is behind them.

One worker knows all counts but only its own tokens and messages; `merge` puts the workers' explanations together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tokenring.engine.times import Antichain, coordinates, less_equal, time_from_plain

_SHOWN = 12  # counts that are put into words
TOKEN, INPUT, HOLD, WAITING, IN_HAND, POSTPONED = "token", "input", "hold", "waiting", "in hand", "postponed"


@dataclass(frozen=True)
class Holder:
    """Tokens or messages of one worker that are alike: what a count is made of."""

    kind: str
    """token, input (a manual one, not closed), hold; waiting (in the input's queue), in hand (being processed);
    postponed (rows that wait for room in a full data queue, and keep a token).
    """
    worker: int
    count: int
    origin: str = ""
    """file:line (function) that made the token, took the hold or declared the input."""
    rows: int = 0
    target: str = ""
    """Where postponed rows go."""

    def __str__(self) -> str:
        if self.kind == INPUT:
            return f"the manual input on worker {self.worker}, not closed, declared at {self.origin}"
        if self.kind == HOLD:
            return f"{_number(self.count, 'hold')} on worker {self.worker}, taken at {self.origin}"
        if self.kind == TOKEN:
            return f"{_number(self.count, 'token')} on worker {self.worker}, made at {self.origin}"
        if self.kind == IN_HAND:
            return f"{_number(self.count, 'message')} being processed on worker {self.worker}"
        messages = f"{_number(self.count, 'message')} ({_number(self.rows, 'row')})"
        if self.kind == POSTPONED:
            return f"{messages} on worker {self.worker}, waiting for room in a full data queue to {self.target}"
        return f"{messages} on worker {self.worker}, waiting at this input"


@dataclass(frozen=True)
class ActivePointstamp:
    """A pointstamp whose count holds the place back: of tokens (at an output) or messages under way (to an input)."""

    location: int
    operator: str
    port: str
    """"input N" or "output N"."""
    time: Any
    count: int
    results: tuple[Any, ...]
    """The least times at which they could still arrive at the place."""
    holders: tuple[Holder, ...]
    """Those of the workers that were asked."""

    @property
    def elsewhere(self) -> int:
        """How many of the count nobody who was asked has."""
        return max(0, self.count - sum(holder.count for holder in self.holders))

    def lines(self, all_asked: bool) -> list[str]:
        """In words: where and when, then a line for each holder."""
        what = "message" if self.port.startswith("input") else "token"
        results = ", ".join(map(str, self.results))
        then = "" if self.results == (self.time,) else f" (as {results} there)"
        lines = [f"operator {self.operator!r} {self.port}, time {self.time}{then}:"]
        lines += [f"  {holder}" for holder in self.holders]
        if self.elsewhere:
            where = "on other workers" if what == "token" else "on other workers, or in the data queues to them or here"
            if all_asked:
                where = "that changed hands just now" if what == "token" else "in the data queues between workers"
            lines.append(f"  {_number(self.elsewhere, what)} {where}")
        return lines


@dataclass(frozen=True)
class Explanation:
    """What holds the frontier of a place, or keeps one time from passing there. A dictionary of it is JSON."""

    dataflow: str
    place: str
    location: int
    """Its number on every worker; negative if the dataflow is finished and forgotten."""
    time: Any
    """The time that was asked about; None: whatever the frontier is."""
    frontier: tuple[Any, ...]
    """The minimal times that may still come; empty if none."""
    pointstamps: tuple[ActivePointstamp, ...]
    """The counts that could result in `time` or in the frontier, earliest result first."""
    more: int
    """How many further ones there are, beyond those listed."""
    workers: tuple[int, ...]
    """Who was asked."""
    peers: int
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing can come any more at `time` (without one: at any)."""
        if self.time is None:
            return not self.frontier
        return not any(less_equal(element, self.time) for element in self.frontier)

    def __str__(self) -> str:
        if self.location < 0:
            return f"{self.place}: its dataflow is finished, nothing can come any more"
        where = f"{self.place} of dataflow {self.dataflow!r}"
        stands = f"its frontier is {', '.join(map(str, self.frontier))}" if self.frontier else "it is complete"
        if self.passed:
            what = "nothing can come any more" if self.time is None else f"time {self.time} has passed"
            return "\n".join([f"{where}: {what}; {stands}", *self.notes])
        what = "" if self.time is None else f"time {self.time} has not passed; "
        lines = [f"{where}: {what}{stands}, held back by"]
        for pointstamp in self.pointstamps[:_SHOWN]:
            lines += [f"  {line}" for line in pointstamp.lines(len(self.workers) == self.peers > 1)]
        more = self.more + max(0, len(self.pointstamps) - _SHOWN)
        if more:
            lines.append(f"  and {more} later or equal")
        return "\n".join([*lines, *self.notes])

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Explanation":
        """What `orjson.dumps(explanation)` wrote, read again."""
        pointstamps = tuple(
            ActivePointstamp(
                **{
                    **found,
                    "time": time_from_plain(found["time"]),
                    "results": tuple(map(time_from_plain, found["results"])),
                    "holders": tuple(Holder(**holder) for holder in found["holders"]),
                }
            )
            for found in value["pointstamps"]
        )
        rest = {name: tuple(value[name]) for name in ("workers", "notes")}
        frontier = tuple(map(time_from_plain, value["frontier"]))
        changed = {"pointstamps": pointstamps, "time": time_from_plain(value["time"]), "frontier": frontier}
        return cls(**{**value, **rest, **changed})


def merge(explanations: Iterable[Explanation]) -> Explanation:
    """One explanation from those of several workers for one place. What any of them sees holding is in it."""
    first, *others = explanations
    found: dict[tuple[int, Any], ActivePointstamp] = {}
    for explanation in (first, *others):
        for pointstamp in explanation.pointstamps:
            at = pointstamp.location, pointstamp.time
            known = found.get(at)
            found[at] = pointstamp if known is None else replace(
                known,
                count=max(known.count, pointstamp.count),
                holders=known.holders + pointstamp.holders,
            )
    views = [explanation.frontier for explanation in (first, *others)]
    return replace(
        first,
        frontier=tuple(sorted(Antichain([element for view in views for element in view], less_equal), key=coordinates)),
        pointstamps=tuple(sorted(found.values(), key=order)),
        more=max(explanation.more for explanation in (first, *others)),
        workers=tuple(sorted({worker for explanation in (first, *others) for worker in explanation.workers})),
        notes=tuple(note for explanation in (first, *others) for note in explanation.notes),
    )


def order(pointstamp: ActivePointstamp) -> tuple[Any, ...]:
    """The order in which counts are listed: by what they result in, then in the order of the graph."""
    return coordinates(pointstamp.results[0]), pointstamp.location, coordinates(pointstamp.time)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
