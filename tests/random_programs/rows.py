"""The rows of random programs, and what both sides of a step know of its constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tokenring.engine import Schema

ROW = Schema.of({"k": "int64?", "s": "string?", "w": "float64", "v": "int64", "at": "int64", "id": "int64"})
"""Of all streams. `at`: the row's own time; `id`: rows that have the same are the same."""


class Row(NamedTuple):
    """See ROW."""

    k: int | None
    s: str | None
    w: float
    v: int
    at: int
    id: int


Message = tuple[int, list[Row]]
"""A time, and the rows that are sent together at it."""
Value = list[Message]
"""What a stream is, as far as all of it is determined: of streams in order its messages, of others a row each."""

PRIME = 2**31 - 1
FACTOR = 1_000_003
"""Ids are below PRIME; new ones are made by FACTOR."""
_MIXER = 65_521
NO_ID = PRIME - 7
"""In the place of the id of a side that is not there."""
SPAN = 1 << 12
"""Times of steps that send at times which nobody knows lie in spans of their own, one behind the other."""
REFS = 128
KEYS = ("k", "s", "w", "k s", "k v", "s k", "v")
NAMED = ("k", "s", "k s", "k v", "s k", "v")
"""Keys that `named` makes an id of."""
OF_NUMBERS = " of numbers"
"""How the names of steps end that are given streams without the column of text."""
LETTERS = "abcd"
ONS = (("k",), ("s",), ("w",), ("k", "s"), ("w", "k"))
"""Columns that are equal in both rows of a pair."""
WINDOWS = {"tumbling": (4, 4), "sliding": (6, 2)}
"""width, every."""
GAP, LOWER, UPPER = 3, -1, 2


def scrambled(found: Any) -> Any:
    """An id of a number below PRIME (or an array of them, or an expression): so that ids of ids are no sums of
    multiples, of which many would be the same."""
    return found * (found % _MIXER + 1) % PRIME


class Step(NamedTuple):
    """does: the name of a step in STEPS and PLAIN; of: the values that it is done to, by number; limit: unit and bound
    of a flow limit around it; plan: of collections."""

    does: str
    of: tuple[int, ...]
    constants: tuple[int, ...]
    limit: tuple[str, int] | None = None
    plan: Any = None

    def told(self, number: int) -> str:
        """The step as one line, and what is in it."""
        limit = f", limited to {self.limit[1]} {self.limit[0]}" if self.limit else ""
        within = f"\n{self.plan.told('    ')}" if self.plan else ""
        return f"{number} = {self.does} {self.of} {self.constants}{limit}{within}"


LAST = 2**62 - 1
"""The time at which is sent what is sent once, in the end: behind it there is none."""


def _chosen(step: Step, those: Sequence[Any]) -> Any:
    fitting = [one for one in those if "s" not in one or not step.does.endswith(OF_NUMBERS)]
    return fitting[step.constants[0] % len(fitting)]


def key_of(step: Step) -> str:
    """The key's columns."""
    return _chosen(step, KEYS)


def named_of(step: Step) -> str:
    """The same of keys that an id is made of."""
    return _chosen(step, NAMED)


def on_of(step: Step) -> tuple[str, ...]:
    """The columns that a join is on."""
    return _chosen(step, ONS)


def span_of(number: int) -> int:
    """Where the times begin that step `number` puts in place of those that nobody knows. Steps whose input is all of
    time LAST have number 0: what they send is, too."""
    return (number + 1) * SPAN
