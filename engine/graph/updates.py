"""Updates: that a stream's rows are not new ones each, but take the places of earlier ones."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Self


@dataclass(frozen=True)
class Updates:
    """A later row takes the place of the earlier one with equal values in the columns `by` (of all earlier ones, if
    there are none). None: which one it was cannot be told any more, as columns or rows were left out."""

    operator: str
    """Who sends them, for messages."""
    by: tuple[str, ...] | None
    reordered_by: str | None = None
    """The operator behind which a row may come before one that it replaces; None: they are in order."""
    of_collection: Literal["", "changes", "upserts"] = ""
    """As what they tell how a collection changes, in order of times; of changes none takes the place of another: rows
    are added and taken away, so `by` is None. "": they do not."""

    def reordered(self, operator: str) -> Self:
        """Behind an operator that sends rows of equal `by` in another order, or from several workers."""
        return self if self.reordered_by is not None else replace(self, reordered_by=operator)

    def exchanged(self, operator: str, columns: Collection[str]) -> Self:
        """Behind an exchange by what is computed of these columns: rows of equal `by` stay in order where they go to
        one worker."""
        is_together = self.by is not None and set(columns) <= set(self.by)
        return self if is_together else self.reordered(operator)

    def unknown(self) -> Self:
        """Behind something that leaves out rows, or columns, of which nothing is known."""
        return replace(self, by=None)

    def named(self, names: Mapping[str, str]) -> Self:
        """Behind something that makes rows of rows: names of columns there, by those here, of those that it keeps."""
        if self.by is None or not all([name in names for name in self.by]):
            return self.unknown()
        return replace(self, by=tuple([names[name] for name in self.by]))

    def filtered(self, *columns: str) -> Self:
        """Behind a filter that looks at these columns: all rows of a key stay, or none, if they are of the key."""
        return self if self.by is not None and set(columns) <= set(self.by) else self.unknown()
