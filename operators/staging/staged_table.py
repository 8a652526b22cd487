"""A staged table, opened: its manifest and sizes are proved first, columns then mapped read-only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from tokenring.engine import Schema, SchemaError, UsageError, did_you_mean
from tokenring.engine.raw import text_space
from tokenring.operators.staging.manifest import AGAIN, NAME, read_manifest

_HASH_BYTES: Final = 1 << 24


class StagedTable:
    """One table of a staged folder. Raises UsageError, with the cure, for what is not there, or is not what was staged.
    """

    def __init__(self, folder: str | Path, table: str | None = None) -> None:
        """table: its name; it may be left out where there is one alone."""
        self.folder = _folder_of(Path(folder), table)
        self.manifest = read_manifest(self.folder)
        self._columns: dict[str, dict[str, Any]] = self.manifest["columns"]
        self.name: str = self.manifest["table"]
        self.rows: int = self.manifest["rows"]
        self.schema = Schema.of({name: entry["kind"] for name, entry in self._columns.items()})
        """Of all columns, nullable where there are nulls."""
        self.time: str = self.manifest["time"]["column"]
        """By which rows are in order."""
        self.unique: tuple[str, ...] = tuple(self.manifest["unique"])
        """The columns of which no two rows have the same value."""
        for name in self._columns:
            self._require_sizes(name)

    def words(self, name: str) -> np.ndarray:
        """A column's words, read-only, mapped; of text those into its heap."""
        entry, dtype = self._entry(name), self.schema.kind(name).dtype
        if not self.rows:
            return np.empty(0, dtype)
        return np.memmap(self.folder / entry["file"], dtype.newbyteorder("<"), "r")

    def heap(self, name: str) -> np.ndarray:
        """The bytes that a text column's words point into, uint8, mapped: where compiled operators see texts, if the
        system has room there."""
        part = self._entry(name)["heap"]
        path, size = self.folder / part["file"], part["bytes"]
        if not size:
            return np.empty(0, np.uint8)
        space = text_space()
        if space is not None:
            try:
                return space.map_file(path, size).octets
            except (OSError, MemoryError):
                pass
        return np.memmap(path, np.uint8, "r")

    def require_content(self, name: str) -> None:
        """Compare a column's files with their checksums; they are read whole for it."""
        import xxhash

        for path, part in self._files(name):
            digest = xxhash.xxh3_64()
            try:
                with open(path, "rb", buffering=0) as file:
                    while piece := file.read(_HASH_BYTES):
                        digest.update(piece)
            except OSError as error:
                raise UsageError(f"{path}: column {name!r} cannot be read ({error.strerror})") from None
            if f"xxh3_64:{digest.hexdigest()}" != part["checksum"]:
                raise UsageError(f"{path}: column {name!r} is not what was staged (its checksum fails); {AGAIN}")

    def _require_sizes(self, name: str) -> None:
        for path, part in self._files(name):
            try:
                size = os.stat(path).st_size
            except OSError as error:
                raise UsageError(f"{path}: column {name!r} cannot be read ({error.strerror}); {AGAIN}") from None
            if size != part["bytes"]:
                told = f"column {name!r} has {size} bytes, the manifest says {part['bytes']}"
                raise UsageError(f"{path}: {told}; {AGAIN}")

    def _entry(self, name: str) -> dict[str, Any]:
        if name not in self._columns:
            raise SchemaError(f"{self.folder}: {self.schema.missing(name)}")
        return self._columns[name]

    def _files(self, name: str) -> list[tuple[Path, dict[str, Any]]]:
        """A column's files, and what the manifest says of each."""
        entry = self._entry(name)
        return [(self.folder / part["file"], part) for part in (entry, entry.get("heap")) if part is not None]


def _folder_of(folder: Path, table: str | None) -> Path:
    if not folder.is_dir():
        cure = f"make it with `tokenring stage --from FILE --time COLUMN --out {folder}`"
        raise UsageError(f"{folder}: no such folder; {cure}")
    there = sorted(path.parent.name for path in folder.glob(f"[!.]*/{NAME}"))
    if table is None and len(there) == 1:
        return folder / there[0]
    if table is not None and table in there:
        return folder / table
    if not there:
        is_one = (folder / NAME).is_file()
        cure = "it is one itself: name the folder above it" if is_one else "make one with `tokenring stage`"
        raise UsageError(f"{folder} holds no staged table; {cure}")
    if table is None:
        raise UsageError(f"{folder} holds {len(there)} tables: {', '.join(there)}; say which")
    raise UsageError(f"{folder} holds no table {table!r}; it has {', '.join(there)}{did_you_mean(table, there)}")
