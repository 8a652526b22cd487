"""Pacts: how the rows of an edge are spread over the workers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pipeline:
    """Rows stay with the worker that made them; batches pass by reference."""


@dataclass(frozen=True)
class Exchange:
    """Each row goes to the worker that owns the value of its int64 column `key`. Only `columns` (default: all) cross.
    """

    key: str
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Broadcast:
    """Every worker gets every row. Only `columns` (default: all) cross."""

    columns: tuple[str, ...] | None = None


Pact = Pipeline | Exchange | Broadcast
