"""Idle partitions: those that have had nothing for a while hold nobody.

They promise what all others do: the least of that; or, where all are idle, the greatest that one of them had promised,
which is what it comes to when they become idle one after the other. A token that says nothing holds back what all
workers know. So a worker with an idle partition asks the others, by a message to each, to say from then on what their
partitions promise, and moves the tokens of its idle ones on. While no partition is idle nobody says anything.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from tokenring.engine import MAX_TIME, Batch, Broadcast, InputPort, OperatorContext, OutputPort, Schema, Time, Token

_SAID = Schema("worker least greatest asks")
_NONE = -1


class Said(NamedTuple):
    """What a worker says of its partitions that may still send."""

    least: Time
    """What those promise that are not idle: MAX_TIME where nothing is to come, _NONE where all are idle."""
    greatest: Time
    """The greatest promise of one, idle or not; _NONE where there is none."""
    asks: bool
    """Whether one is idle, so that others are to say what theirs promise."""


class Partition(Protocol):
    """One that this worker reads."""

    is_idle: bool

    @property
    def time(self) -> Time:
        """It sends nothing earlier."""

    def promise(self, time: Time) -> None:
        """It sends nothing earlier any more."""


class Promises:
    """What partitions of one source promise: this worker's, and what others say of theirs."""

    def __init__(self) -> None:
        self._here = 0
        self._wake: Callable[[], None] = lambda: None
        self._told: list[Said | None] = []
        """Of each worker what it said last; None: nothing yet."""
        self._to_say: list[Said] = []
        self._said: Said | None = None
        self._speaker: OperatorContext | None = None

    def declare(self, scope: Any, name: str) -> None:
        """Declare what says it, and what hears it."""
        (said,) = scope.source(f"{name}.promises", _SAID, self._speak)
        said.sink(f"{name}.promised", self._hear, Broadcast())

    def begin(self, worker: int, peers: int, wake: Callable[[], None]) -> None:
        """The source is made, on this worker of so many. wake: lets it run."""
        self._here, self._told, self._wake = worker, [None] * peers, wake

    def say(self, partitions: Sequence[Partition]) -> None:
        """These of the source's partitions may still send: say what they promise, if somebody asks."""
        idle = [one for one in partitions if one.is_idle]
        awake = [one.time for one in partitions if not one.is_idle]
        least = min(awake) if awake else _NONE if idle else MAX_TIME
        said, was = Said(least, max([one.time for one in partitions], default=_NONE), bool(idle)), self._said
        is_asked = said.asks or any([one is not None and one.asks for one in self._told])
        is_over = was is not None and was.least == MAX_TIME
        if said != was and not is_over and (is_asked or was is None or was.asks or least == MAX_TIME):
            self._said = said
            self._to_say.append(said)
            if self._speaker is not None:
                self._speaker.activate()

    def move_on(self, idle: Partition) -> None:
        """One of them has been asked, and had nothing: let it promise what it may."""
        told = [self._said if worker == self._here else one for worker, one in enumerate(self._told)]
        heard = [one for one in told if one is not None]
        if len(heard) < len(told):
            return  # somebody has said nothing yet
        bound = min([one.least for one in heard if one.least != _NONE], default=MAX_TIME)
        if bound == MAX_TIME:
            bound = max([one.greatest for one in heard])
        if idle.time < bound:
            idle.promise(bound)

    def _speak(self, context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
        self._speaker = context

        def logic(output: OutputPort) -> None:
            for said in self._to_say:
                output.give(
                    token,
                    Batch(_SAID, {name: [value] for name, value in zip(_SAID.names, (self._here, *said), strict=True)}),
                )
                if said.least == MAX_TIME:
                    token.drop()
            self._to_say.clear()

        return logic

    def _hear(self, context: OperatorContext) -> Callable[[InputPort], None]:
        def logic(said: InputPort) -> None:
            for _, batch in said:
                for worker, *told in zip(*[batch[name].tolist() for name in _SAID.names], strict=True):
                    self._told[worker] = Said(*told)
            self._wake()

        return logic
