"""Pacts: how the rows of an edge are spread over the workers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenring.engine.columns import Batch


@dataclass(frozen=True)
class Pipeline:
    """Rows stay with the worker that made them; batches pass by reference."""


@dataclass(frozen=True)
class Exchange:
    """Each row goes to the worker that owns the value of its column `key`, or of several columns together. Only
    `columns` (default: all) cross. Integers, booleans and timestamps are quickest; text and several columns are hashed.
    With `key_crosses=False`, for one such column, the key is left behind.
    """

    key: str | tuple[str, ...]
    columns: tuple[str, ...] | None = None
    key_crosses: bool = True

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        return (self.key,) if isinstance(self.key, str) else tuple(self.key)


@dataclass(frozen=True)
class Broadcast:
    """Every worker gets every row. Only `columns` (default: all) cross."""

    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, repr=False)
class Route:
    """Each row goes to the worker whose number, from 0, `to` says: a column of int64, which need not cross, or a
    function of the batch as it is sent that returns integers of shape (rows,). Only `columns` (default: all) cross.
    A number that no worker has is a UsageError.
    """

    to: "str | Callable[[Batch], Any]"
    columns: tuple[str, ...] | None = None

    def __repr__(self) -> str:  # the same on all workers
        to = self.to if isinstance(self.to, str) else getattr(self.to, "__qualname__", type(self.to).__name__)
        return f"Route(to={to!r}, columns={self.columns!r})"


Pact = Pipeline | Exchange | Broadcast | Route
