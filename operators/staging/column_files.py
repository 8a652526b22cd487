"""A staged column's raw files: held against what a manifest says of them, whole or block by block, and mapped
read-only."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from tokenring.engine import UsageError
from tokenring.engine.raw import LENGTH_BITS, LENGTH_MASK, MappedFile, text_space
from tokenring.operators.staging.manifest import AGAIN, BLOCK_BYTES, SUM, checksum_of

_WORD_BYTES: Final = 8
_HASH_BYTES: Final = 1 << 24
_TEXTS_AT_ONCE: Final = 1 << 12  # so that what is made to look at them is small


class ColumnFiles:
    """One column of a staged folder. UsageError, with the cure, for files that are not what the manifest says.

    entry: of the manifest: `file`, `dtype`, `bytes`, `checksum`, of a table's columns `sums`, and of text `heap` with
    the same but for its dtype. dtype: what the words are.
    """

    def __init__(self, folder: Path, name: str, entry: Mapping[str, Any], rows: int, dtype: np.dtype[Any]) -> None:
        self.name = name
        self.path = folder / entry["file"]
        """The file of its words."""
        self.folder = folder
        self._entry, self._rows = entry, rows
        self._dtype = dtype.newbyteorder("<")

    @property
    def is_text(self) -> bool:
        """Whether its words point into a heap."""
        return "heap" in self._entry

    @property
    def heap_file(self) -> tuple[Path, int]:
        """The file of its texts' bytes, and how many they are."""
        heap = self._entry["heap"]
        return self.folder / heap["file"], heap["bytes"]

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
            if checksum_of(digest) != part["checksum"]:
                raise _changed(f"{path}: column {self.name!r}")

    def proved(self) -> ProvedColumn:
        """The column of a table, mapped to be proved block by block."""
        words = _Blocks(self, self._entry, self.words())
        return ProvedColumn(words, _Blocks(self, self._entry["heap"], self.heap()) if self.is_text else None)

    def _files(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """Its files, and what the manifest says of each."""
        for part in (self._entry, self._entry.get("heap")):
            if part is not None:
                yield self.folder / part["file"], part


class ProvedColumn:
    """A mapped column, whose blocks are held against their checksums before rows are sent from them, each once."""

    def __init__(self, words: _Blocks, heap: _Blocks | None) -> None:
        self._words, self._heap = words, heap
        self.words = words.content
        """All of them, of shape (rows,)."""
        self.heap = None if heap is None else heap.content
        """The bytes of its texts; None for other columns."""

    def require(self, start: int, stop: int) -> None:
        """Prove these rows' words, and the texts that they stand for."""
        self._words.require(start * _WORD_BYTES, stop * _WORD_BYTES)
        if self._heap is None:
            return
        for at in range(start, stop, _TEXTS_AT_ONCE):
            if self._heap.all_proved:
                return
            words = self.words[at : min(at + _TEXTS_AT_ONCE, stop)]
            words = words[words >= 0]  # null has no text
            starts = words >> LENGTH_BITS
            self._heap.require_each(starts, starts + (words & LENGTH_MASK))


class _Blocks:
    """One mapped file, and which of its blocks have been proved."""

    def __init__(self, column: ColumnFiles, part: Mapping[str, Any], content: np.ndarray) -> None:
        self.content = content
        self._octets: Any = content.view(np.uint8)
        self._where = f"{column.folder / part['file']}: column {column.name!r}"
        self._sums = read_sealed(column.folder, part["sums"], SUM)
        self._proved = np.zeros(len(self._sums), np.bool_)
        wanted = -(-len(self._octets) // BLOCK_BYTES)
        if len(self._sums) != wanted:
            raise UsageError(f"{self._where} has checksums of {len(self._sums)} blocks, not of {wanted}; {AGAIN}")

    @property
    def all_proved(self) -> bool:
        return bool(self._proved.all())

    def require(self, start: int, stop: int) -> None:
        """Prove the blocks that hold the bytes from start to stop."""
        for block in range(start // BLOCK_BYTES, -(-stop // BLOCK_BYTES)):
            if not self._proved[block]:
                self._prove(block)

    def require_each(self, starts: np.ndarray, stops: np.ndarray) -> None:
        """Prove the blocks that hold the bytes from each start, int64 (n,), to its stop."""
        blocks = len(self._sums)
        begun = np.bincount(starts // BLOCK_BYTES, minlength=blocks + 1)
        ended = np.bincount(-(-stops // BLOCK_BYTES), minlength=blocks + 1)
        for block in np.flatnonzero((np.cumsum(begun - ended)[:blocks] > 0) & ~self._proved):
            self._prove(int(block))

    def _prove(self, block: int) -> None:
        import xxhash

        octets = self._octets[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES]
        if xxhash.xxh3_64_intdigest(octets) != self._sums[block]:
            raise _changed(self._where, f"the checksum of its bytes from {block * BLOCK_BYTES} on")
        self._proved[block] = True


def read_sealed(folder: Path, part: Mapping[str, Any], dtype: np.dtype[Any]) -> np.ndarray:
    """The words of a small file that is held against its checksum at once. UsageError, with the cure, for another."""
    import xxhash

    path = folder / part["file"]
    try:
        octets = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); {AGAIN}") from None
    if checksum_of(xxhash.xxh3_64(octets)) != part["checksum"]:
        raise _changed(path)
    return np.frombuffer(octets, dtype)


def _changed(what: str | Path, checksum: str = "its checksum") -> UsageError:
    return UsageError(f"{what} is not what was staged ({checksum} fails); {AGAIN}")


def _mapped(path: Path, dtype: np.dtype[Any], count: int) -> Any:
    if count:
        return np.memmap(path, dtype, "r", shape=(count,))
    empty = np.empty(0, dtype)
    empty.flags.writeable = False
    return empty
