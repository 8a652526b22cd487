"""Updates: that a stream's rows are not new ones each, but take the places of earlier ones."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True)
class Updates:
    """A later row takes the place of the earlier one with equal values in the columns `by` (of all earlier ones, if
    there are none). None: which one it was cannot be told any more, as columns or rows were left out."""

    operator: str
    """Who sends them, for messages."""
    by: tuple[str, ...] | None

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
