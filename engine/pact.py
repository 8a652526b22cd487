"""Pacts: how the rows of an edge are spread over the workers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pipeline:
    """Rows stay with the worker that made them; batches pass by reference."""


@dataclass(frozen=True)
class Exchange:
    """Each row goes to the worker that owns the value of its column `key`, or of several columns together. Only
    `columns` (default: all) cross. Integers, booleans and timestamps are quickest; text and several columns are hashed.
    """

    key: str | tuple[str, ...]
    columns: tuple[str, ...] | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        return (self.key,) if isinstance(self.key, str) else tuple(self.key)


@dataclass(frozen=True)
class Broadcast:
    """Every worker gets every row. Only `columns` (default: all) cross."""

    columns: tuple[str, ...] | None = None


Pact = Pipeline | Exchange | Broadcast
