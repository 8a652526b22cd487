"""Opens a staged folder for reading: manifest and checksums proven first, columns then mapped read-only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from tokenring.engine.raw import MappedFile, text_space
from tokenring.nexmark.errors import StagedError
from tokenring.nexmark.events import FLOOR, I64
from tokenring.nexmark.manifest import read_manifest

_DTYPE = np.dtype("<i8")
_HASH_BYTES = 1 << 24
_AGAIN = "stage the events again with `tokenring stage`"


class StagedStream:
    """One stream of a staged folder."""

    def __init__(self, folder: Path, name: str, entry: Mapping[str, Any]) -> None:
        self.name = name
        self.rows: int = entry["rows"]
        self.parquet = folder / entry["parquet"]
        self._folder = folder
        self._columns: Mapping[str, Mapping[str, Any]] = entry["columns"]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def has(self, column: str) -> bool:
        """Whether the column is staged; `floor` is only where times are out of order."""
        return column in self._columns

    def column(self, name: str) -> I64:
        """The whole column as a read-only 1-D int64 map of its file (a plain empty array when there are no rows); of
        text, the words into its heap."""
        return self._mapped(self.path(name), _DTYPE, self.rows)

    def heap(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of a text column's heap, likewise."""
        path, size = self.heap_file(name)
        return self._mapped(path, np.dtype(np.uint8), size)

    @staticmethod
    def _mapped(path: Path, dtype: np.dtype[Any], count: int) -> Any:
        if count == 0:
            empty = np.empty(0, dtype)
            empty.flags.writeable = False
            return empty
        return np.memmap(path, dtype, "r", shape=(count,))

    def _entry(self, name: str) -> Mapping[str, Any]:
        if name not in self._columns:
            raise StagedError(
                f"{self._folder}: stream {self.name} has no column {name!r}; it has {', '.join(self._columns)}"
            )
        return self._columns[name]

    def path(self, name: str) -> Path:
        """The raw file of a column."""
        return self._folder / str(self._entry(name)["file"])

    def is_text(self, name: str) -> bool:
        """Whether a column's words point into a heap."""
        return "heap" in self._entry(name)

    def map_texts(self, name: str) -> MappedFile | None:
        """A text column's heap in the text space: before workers are forked, so that all have it at the same place.
        None if it is empty, or there is no room; errors are for who reads it then."""
        path, size = self.heap_file(name)
        space = text_space()
        if space is None or size == 0:
            return None
        try:
            return space.map_file(path, size)
        except (OSError, MemoryError):
            return None

    def heap_file(self, name: str) -> tuple[Path, int]:
        """The raw file of a text column's heap, and its bytes."""
        heap = self._entry(name)["heap"]
        return self._folder / heap["file"], heap["bytes"]

    def map_all_texts(self, names: Sequence[str]) -> None:
        """Map the heaps of those of these columns that are text."""
        for name in names:
            if self.is_text(name):
                self.map_texts(name)

    def check_size(self, name: str) -> None:
        """Compares the sizes of a column's files with the manifest."""
        entry = self._entry(name)
        if entry["dtype"] != _DTYPE.str or entry["bytes"] != self.rows * _DTYPE.itemsize:
            raise StagedError(f"{self.path(name)}: column {name} is declared as {entry['dtype']} of {entry['bytes']} "
                              f"bytes, not {self.rows} int64; {_AGAIN}")  # fmt: skip
        for path, part in self._files(name):
            try:
                size = os.stat(path).st_size
            except OSError as error:
                raise StagedError(f"{path}: column {name} cannot be read ({error.strerror}); {_AGAIN}") from None
            if size != part["bytes"]:
                raise StagedError(
                    f"{path}: column {name} has {size} bytes, the manifest says {part['bytes']}; {_AGAIN}"
                )

    def check_content(self, name: str) -> None:
        """Compares the content of a column's files with its checksums."""
        for path, part in self._files(name):
            digest = xxhash.xxh3_64()
            try:
                with open(path, "rb", buffering=0) as file:
                    while piece := file.read(_HASH_BYTES):
                        digest.update(piece)
            except OSError as error:
                raise StagedError(f"{path}: column {name} cannot be read ({error.strerror})") from None
            if f"xxh3_64:{digest.hexdigest()}" != part["checksum"]:
                raise StagedError(
                    f"{path}: column {name} is not what was staged (its checksum does not hold); {_AGAIN}"
                )

    def _files(self, name: str) -> list[tuple[Path, Mapping[str, Any]]]:
        """The raw files of a column, and what the manifest says of each."""
        entry = self._entry(name)
        return [(self._folder / part["file"], part) for part in (entry, entry.get("heap")) if part is not None]


class StagedEvents:
    """A staged folder whose manifest, sizes and chosen columns have been proven."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self._streams = {name: StagedStream(folder, name, entry) for name, entry in manifest["streams"].items()}

    @classmethod
    def open(cls, path: str | os.PathLike[str], check: Mapping[str, Sequence[str]] | None = None) -> StagedEvents:
        """Opens a folder: all sizes are compared with the manifest, and the content of the columns named in `check`
        ({"bid": ["auction", "price"], ...}) with its checksum. A column that is named but not staged is an error,
        save `floor`, which is there only for times out of order."""
        folder = Path(path)
        if not os.path.isdir(folder):  # a name that is too long, which pathlib raises at, is none either
            raise StagedError(f"{folder}: no such folder; make it with `tokenring stage --out {folder} --events N`")
        staged = cls(folder, read_manifest(folder))
        for stream in staged._streams.values():
            for column in stream.columns:
                stream.check_size(column)
        for name, columns in (check or {}).items():
            stream = staged.stream(name)
            for column in columns:
                if column != FLOOR or stream.has(FLOOR):
                    stream.check_content(column)
        return staged

    @property
    def events(self) -> int:
        return int(self.manifest["events"])

    @property
    def digest(self) -> str:
        """Names the events themselves; equal for equal events however they were staged."""
        return str(self.manifest["digest"])

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(self._streams)

    def stream(self, name: str) -> StagedStream:
        if name not in self._streams:
            raise StagedError(f"{self.folder}: no stream {name!r}; it has {', '.join(self._streams)}")
        return self._streams[name]
