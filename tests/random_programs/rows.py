"""The rows of random programs, and what both sides of a step know of its constants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tests.random_programs.values import HUGE, NAN
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


def columns_of(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Rows as they are sent: NaN has either sign."""
    columns = {name: [getattr(row, name) for row in rows] for name in ROW.names}
    return columns | {"w": [math.copysign(one.w, (-1) ** one.id) if one.w is NAN else one.w for one in rows]}


def with_one_nan(values: Iterable[Any]) -> tuple[Any, ...]:
    """A row that was found, to be compared."""
    return tuple([NAN if value != value else value for value in values])


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
OF_KINDS = ("float64", "bool", "timestamp", "date", "decimal(9, 2)")
"""Kinds of what is made of a row, or null, to be a key and a value."""
KEYS = ("k", "s", "w", "k s", "k v", "s k", "v")
NAMED = ("k", "s", "k s", "k v", "s k", "v")
"""Keys that `named` makes an id of."""
OF_NUMBERS = " of numbers"
"""How the names of steps end that are given streams without the column of text."""
LETTERS = "abcd"
ONS = (("k",), ("s",), ("w",), ("k", "s"), ("w", "k"))
"""Columns that are equal in both rows of a pair."""
MARKS = (-math.inf, -2.25, 0.0, 1e-300, 1.5, HUGE, math.inf)
NO_FLOAT = 77.5
"""In the place of null, where a float becomes a whole number that says which of MARKS it reaches."""
SMALL = 2**40
"""Keys below are added up: sums of others are beyond 64 bits."""
WINDOWS = {"tumbling": (4, 4), "sliding": (6, 2)}
"""width, every."""
GAP, LOWER, UPPER = 3, -1, 2


def scrambled(found: Any) -> Any:
    """An id of a number below PRIME (or an array of them, or an expression): so that ids of ids are no sums of
    multiples, of which many would be the same."""
    return found * (found % _MIXER + 1) % PRIME


class Step(NamedTuple):
    """does: the name of a step in STEPS and PLAIN; of: the values that it is done to, by number; limit: unit and bound
    of a flow limit around it; plan: of collections; as_sent: whether rows stay in the messages in which they come, at
    times that nobody knows, in place of each at its own."""

    does: str
    of: tuple[int, ...]
    constants: tuple[int, ...]
    limit: tuple[str, int] | None = None
    plan: Any = None
    as_sent: bool = False

    def told(self, number: int) -> str:
        """The step as one line, and what is in it."""
        limit = f", limited to {self.limit[1]} {self.limit[0]}" if self.limit else ""
        within = f"\n{self.plan.told('    ')}" if self.plan else ""
        as_sent = ", as sent" if self.as_sent else ""
        return f"{number} = {self.does} {self.of} {self.constants}{as_sent}{limit}{within}"


LAST = 2**62 - 1
"""The time at which is sent what is sent once, in the end: behind it there is none."""


def folds_of(step: Step, folds: str) -> str:
    """Which aggregates: in the place of all at times others, since queues would be too small for all."""
    return "more" if folds == "all" and step.constants[3] % 2 else folds


def _chosen(step: Step, those: Sequence[Any]) -> Any:
    fitting = [one for one in those if "s" not in one or not step.does.endswith(OF_NUMBERS)]
    return fitting[step.constants[0] % len(fitting)]


def key_of(step: Step) -> str:
    """The key's columns."""
    return _chosen(step, KEYS)


def kinds_of(step: Step) -> tuple[str, str, str]:
    """What two columns of a key are, and one of values."""
    x, y, _, z = [OF_KINDS[one % len(OF_KINDS)] for one in step.constants]
    return x, y, z


def order_of(step: Step) -> tuple[str, bool]:
    """What ranks go by, and whether the greatest is the first."""
    return ("v", "v", "w", "k")[step.constants[3] % 4], step.constants[3] < 8


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
