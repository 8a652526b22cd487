"""A staged table, opened: its manifest and sizes are proved first, columns then mapped read-only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tokenring.engine import Schema, SchemaError, UsageError, did_you_mean
from tokenring.engine.arguments import folder_at
from tokenring.operators.staging.column_files import ColumnFiles, read_sealed
from tokenring.operators.staging.manifest import NAME, WORD, read_manifest


class StagedTable:
    """One table of a staged folder. Raises UsageError, with the cure, for what is not there, or is not what was staged.
    """

    def __init__(self, folder: str | Path, table: str | None = None) -> None:
        """table: its name; it may be left out where there is one alone."""
        self.folder = _folder_of(folder_at("a staged folder", folder), table)
        self.manifest = read_manifest(self.folder)
        columns: dict[str, dict[str, Any]] = self.manifest["columns"]
        self.name: str = self.manifest["table"]
        self.rows: int = self.manifest["rows"]
        self.schema = Schema.of({name: entry["kind"] for name, entry in columns.items()})
        """Of all columns, nullable where there are nulls."""
        self.time: str = self.manifest["time"]["column"]
        """By which rows are in order."""
        self.last_time: int = self.manifest["time"]["max"] or 0
        """The greatest time; 0 where there are no rows."""
        self.unique: tuple[str, ...] = tuple(self.manifest["unique"])
        """The columns of which no two rows have the same value."""
        self._columns = {
            name: ColumnFiles(self.folder, name, entry, self.rows, self.schema.kind(name).dtype)
            for name, entry in columns.items()
        }
        for column in self._columns.values():
            column.require_sizes()

    def starts(self) -> np.ndarray:
        """The time of the first row of each block of BLOCK_ROWS rows, int64 (blocks,)."""
        return read_sealed(self.folder, self.manifest["starts"], WORD)

    def column(self, name: str) -> ColumnFiles:
        """A column's files; SchemaError if there is none of that name."""
        if name not in self._columns:
            raise SchemaError(f"{self.folder}: {self.schema.missing(name)}")
        return self._columns[name]


def _folder_of(folder: Path, table: str | None) -> Path:
    if not folder.is_dir():
        cure = f"make it with `tokenring stage --from FILE --time COLUMN --out {folder}`"
        raise UsageError(f"{folder}: no such folder; {cure}")
    there = sorted(path.parent.name for path in folder.glob(f"[!.]*/{NAME}"))
    if table is None and len(there) == 1:
        return folder / there[0]
    if table is not None and table in there:
        return folder / table
    if not there and (folder / NAME).is_file():
        read_manifest(folder)  # which may be of something else
        raise UsageError(f"{folder} holds no staged table, it is one itself: name the folder above it")
    if not there:
        raise UsageError(f"{folder} holds no staged table; make one with `tokenring stage`")
    if table is None:
        raise UsageError(f"{folder} holds {len(there)} tables: {', '.join(there)}; say which")
    raise UsageError(f"{folder} holds no table {table!r}; it has {', '.join(there)}{did_you_mean(table, there)}")
