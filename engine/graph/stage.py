"""Stateless operators of a graph: functions from batch to batch that ride on the stream they follow.

Such an operator never holds a token and never sends but in answer to a batch, at that batch's time. So progress
tracking need not know it: it is no location, has no queue, and is run by whoever sends the batch, on the way to the
receivers. Each output's stateless operators form a tree of stages, which `tokenring.engine.data.stage_run` turns into
direct calls.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from tokenring.engine.columns import Batch, Schema
from tokenring.engine.graph.location import Source

BatchFunction = Callable[[Batch], Batch | None]
"""Rows in, rows out; None, or a batch of no rows, sends nothing on. It must not write into what it gets."""


class Fusable(Protocol):
    """What a stage may have instead of a function: a description of one, of which neighbours become one function.

    Its `repr` tells everything the function depends on, because workers compare it (the graph's digest).
    """

    @property
    def fused(self) -> Callable[[Sequence[Any]], BatchFunction]:
        """Makes one function that does what these do, one after the other. Neighbours go together if they have one and
        the same, so it is a static method; each may change the schema.
        """

    def reads(self, wanted: set[str]) -> set[str]:
        """The columns that it looks at, if of what it sends only those that are wanted are looked at."""


class Rejects(Protocol):
    """Who takes the rows that stateless operators fail at, so that the others go on."""

    def takes(self, stage: "Stage", label: str) -> bool:
        """Whether it takes what the operators called `label`, the last of them this stage, fail at; else they fail, and
        the run with them."""

    def take(self, stage: "Stage", label: str, rows: Batch, errors: Sequence[Exception]) -> None:
        """Take rows that came to these operators, each with its error."""


class Stage:
    """A stateless operator: what it does, and the stage before it (None: it reads the output itself)."""

    __slots__ = ("before", "followers", "function", "name", "number", "origin", "parent", "region", "rejects", "schema")

    def __init__(
        self,
        number: int,
        region: str,
        name: str,
        schema: Schema,
        function: BatchFunction | Fusable,
        origin: Source,
        parent: "Stage | None",
        before: Schema,
        rejects: Rejects | None = None,
    ) -> None:
        self.number = number  # position in the graph's list
        self.region = region
        self.name = name
        self.schema = schema
        self.function = function
        self.origin = origin
        self.parent = parent
        self.before = before  # the schema of what comes in
        self.rejects = rejects
        self.followers = 0  # stages and inputs that read what this stage sends
        if parent is not None:
            parent.followers += 1

    @property
    def label(self) -> str:
        """The name with the regions it is in."""
        return self.region + self.name

    def back(self) -> "Iterator[Stage]":
        """This stage and those before it, the nearest first."""
        stage: Stage | None = self
        while stage is not None:
            yield stage
            stage = stage.parent

    def digest_text(self) -> str:
        """What all workers must agree on. A function is compared by its place only, as constructors are."""
        parent, function = self.parent, self.function
        before = self.origin if parent is None else parent.number
        what = function if hasattr(function, "fused") else ""
        schema: Schema | str = self.schema
        if parent is not None and (parent.schema is schema or parent.schema == schema):
            schema = ""  # the repr of a schema costs as much as all the rest
        return f"{self.region}{self.name}|{before}|{what!r}|{schema!r}"
