"""A staged column's raw files: held against what a manifest says of them, and mapped read-only."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from tokenring.engine import UsageError
from tokenring.engine.raw import MappedFile, text_space
from tokenring.operators.staging.manifest import AGAIN

_WORD_BYTES: Final = 8
_HASH_BYTES: Final = 1 << 24


class ColumnFiles:
    """One column of a staged folder. UsageError, with the cure, for files that are not what the manifest says.

    entry: of the manifest: `file`, `dtype`, `bytes`, `checksum`, and of text `heap` with the same but for its dtype.
    dtype: what the words are.
    """

    def __init__(self, folder: Path, name: str, entry: Mapping[str, Any], rows: int, dtype: np.dtype[Any]) -> None:
        self.name = name
        self.path = folder / entry["file"]
        """The file of its words."""
        self._folder, self._entry, self._rows = folder, entry, rows
        self._dtype = dtype.newbyteorder("<")

    @property
    def is_text(self) -> bool:
        """Whether its words point into a heap."""
        return "heap" in self._entry

    @property
    def heap_file(self) -> tuple[Path, int]:
        """The file of its texts' bytes, and how many they are."""
        heap = self._entry["heap"]
        return self._folder / heap["file"], heap["bytes"]

    def words(self) -> np.ndarray:
        """All words, of shape (rows,); of text those into the heap."""
        return _mapped(self.path, self._dtype, self._rows)

    def heap(self) -> np.ndarray:
        """The bytes of its texts, uint8 (bytes,): where compiled operators see them, if the system has room there."""
        mapped = self.map_texts()
        return _mapped(self.heap_file[0], np.dtype(np.uint8), self.heap_file[1]) if mapped is None else mapped.octets

    def map_texts(self) -> MappedFile | None:
        """The heap in the text space: if that is done before workers are forked, all have it at the same place. None if
        it is empty, or there is no room; errors are for who reads it then."""
        path, size = self.heap_file
        space = text_space()
        if space is None or size == 0:
            return None
        try:
            return space.map_file(path, size)
        except (OSError, MemoryError):
            return None

    def require_sizes(self) -> None:
        """Compare the sizes of its files with the manifest, and that with the rows."""
        said = self._entry["dtype"], self._entry["bytes"]
        if said != (self._dtype.str, self._rows * _WORD_BYTES):
            wanted = f"{self._rows} {self._dtype.name}"
            raise UsageError(
                f"{self.path}: column {self.name!r} is declared as {said[0]} of {said[1]} bytes, not {wanted}; {AGAIN}"
            )
        for path, part in self._files():
            try:
                size = os.stat(path).st_size
            except OSError as error:
                raise UsageError(f"{path}: column {self.name!r} cannot be read ({error.strerror}); {AGAIN}") from None
            if size != part["bytes"]:
                told = f"column {self.name!r} has {size} bytes, the manifest says {part['bytes']}"
                raise UsageError(f"{path}: {told}; {AGAIN}")

    def require_content(self) -> None:
        """Compare its files with their checksums; they are read whole for it."""
        import xxhash

        for path, part in self._files():
            digest = xxhash.xxh3_64()
            try:
                with open(path, "rb", buffering=0) as file:
                    while piece := file.read(_HASH_BYTES):
                        digest.update(piece)
            except OSError as error:
                raise UsageError(f"{path}: column {self.name!r} cannot be read ({error.strerror})") from None
            if f"xxh3_64:{digest.hexdigest()}" != part["checksum"]:
                raise UsageError(f"{path}: column {self.name!r} is not what was staged (its checksum fails); {AGAIN}")

    def _files(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """Its files, and what the manifest says of each."""
        for part in (self._entry, self._entry.get("heap")):
            if part is not None:
                yield self._folder / part["file"], part


def _mapped(path: Path, dtype: np.dtype[Any], count: int) -> Any:
    if count:
        return np.memmap(path, dtype, "r", shape=(count,))
    empty = np.empty(0, dtype)
    empty.flags.writeable = False
    return empty
