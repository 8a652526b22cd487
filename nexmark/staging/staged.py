"""Opens a staged folder for reading: manifest and checksums proven first, columns then mapped read-only."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenring.engine import UsageError
from tokenring.engine.raw import MappedFile
from tokenring.nexmark.errors import StagedError
from tokenring.nexmark.events import FLOOR, I64
from tokenring.nexmark.manifest import read_manifest
from tokenring.operators.staging import ColumnFiles

_DTYPE = np.dtype(np.int64)


@contextmanager
def _told() -> Iterator[None]:
    """What is wrong with a column's files, as commands tell it."""
    try:
        yield
    except UsageError as error:
        raise StagedError(str(error)) from None


class StagedStream:
    """One stream of a staged folder."""

    def __init__(self, folder: Path, name: str, entry: Mapping[str, Any]) -> None:
        self.name = name
        self.rows: int = entry["rows"]
        self.parquet = folder / entry["parquet"]
        self._folder = folder
        self._columns = {
            column: ColumnFiles(folder, column, said, self.rows, _DTYPE) for column, said in entry["columns"].items()
        }

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def has(self, column: str) -> bool:
        """Whether the column is staged; `floor` is only where times are out of order."""
        return column in self._columns

    def column(self, name: str) -> I64:
        """The whole column as a read-only 1-D int64 map of its file (a plain empty array when there are no rows); of
        text, the words into its heap."""
        return self._files(name).words()

    def heap(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of a text column's heap, likewise."""
        return self._files(name).heap()

    def _files(self, name: str) -> ColumnFiles:
        if name not in self._columns:
            raise StagedError(
                f"{self._folder}: stream {self.name} has no column {name!r}; it has {', '.join(self._columns)}"
            )
        return self._columns[name]

    def path(self, name: str) -> Path:
        """The raw file of a column."""
        return self._files(name).path

    def is_text(self, name: str) -> bool:
        """Whether a column's words point into a heap."""
        return self._files(name).is_text

    def map_texts(self, name: str) -> MappedFile | None:
        """A text column's heap in the text space: before workers are forked, so that all have it at the same place.
        None if it is empty, or there is no room; errors are for who reads it then."""
        return self._files(name).map_texts()

    def heap_file(self, name: str) -> tuple[Path, int]:
        """The raw file of a text column's heap, and its bytes."""
        return self._files(name).heap_file

    def map_all_texts(self, names: Sequence[str]) -> None:
        """Map the heaps of those of these columns that are text."""
        for name in names:
            if self.is_text(name):
                self.map_texts(name)

    def check_size(self, name: str) -> None:
        """Compares the sizes of a column's files with the manifest."""
        with _told():
            self._files(name).require_sizes()

    def check_content(self, name: str) -> None:
        """Compares the content of a column's files with its checksums."""
        with _told():
            self._files(name).require_content()


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
            if os.path.isfile(folder):
                raise StagedError(f"{folder}: it is a file; give a folder that `tokenring stage --out DIR` has made")
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
