"""Raw columns under way: a word of 8 bytes for each row, and of text a heap of bytes in which equal texts are the same.

Of each block of a file, BLOCK_BYTES long, a table's files of sums hold xxh3_64: who reads some rows proves those alone.

A word of text is `offset << 24 | length` into the heap, -1 for null. The first SHARED_TEXTS distinct texts of a column
are stored once each, where they first occur; a text beyond them is stored at every row that has it. So a column of few
distinct texts has a heap that stays in the cache, and the files depend on the rows alone, not on how they came.
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from tokenring.engine import SchemaError
from tokenring.engine.raw import LENGTH_BITS, LENGTH_MASK
from tokenring.operators.staging.manifest import BLOCK_BYTES, SUM, WORD, checksum_of

I64 = npt.NDArray[np.int64]

COLUMNS: Final = "columns"
SHARED_TEXTS: Final = 1 << 16
_NULL: Final = -1
_NOT_STORED: Final = -2


class RawFile:
    """One raw file under way: appended to, hashed, counted. sums: whether blocks are hashed, too."""

    def __init__(self, folder: Path, name: str, sums: bool = False) -> None:
        self.file = f"{COLUMNS}/{name}"
        self.bytes = 0
        self._folder = folder
        self._out: BinaryIO = open(folder / self.file, "xb")  # noqa: SIM115 - closed by close()
        self._hash = xxhash.xxh3_64()
        self._of_blocks = _BlockSums() if sums else None

    def append(self, octets: Any) -> None:
        """Bytes-like: of one dimension and contiguous."""
        self._out.write(octets)
        self._hash.update(octets)
        if self._of_blocks is not None:
            self._of_blocks.update(memoryview(octets))
        self.bytes += len(octets)

    def close(self) -> dict[str, Any]:
        """Ends the file; returns what the manifest says of it."""
        self._out.close()
        said: dict[str, Any] = {"file": self.file, "bytes": self.bytes, "checksum": checksum_of(self._hash)}
        if self._of_blocks is not None:
            said["sums"] = write_sealed(self._folder, f"{self.file}.sums", self._of_blocks.close())
        return said


class _BlockSums:
    """xxh3_64 of each block of a file under way, the last of which may be shorter."""

    def __init__(self) -> None:
        self._sums = array("Q")
        self._hash = xxhash.xxh3_64()
        self._missing = BLOCK_BYTES

    def update(self, octets: memoryview) -> None:
        while len(octets) >= self._missing:
            self._hash.update(octets[: self._missing])
            octets = octets[self._missing :]
            self._next()
        self._hash.update(octets)
        self._missing -= len(octets)

    def close(self) -> np.ndarray:
        if self._missing < BLOCK_BYTES:
            self._next()
        return np.array(self._sums, SUM)

    def _next(self) -> None:
        self._sums.append(self._hash.intdigest())
        self._hash.reset()
        self._missing = BLOCK_BYTES


def write_sealed(folder: Path, file: str, words: np.ndarray) -> dict[str, Any]:
    """Write a small file at once, see `read_sealed`; returns what the manifest says of it."""
    octets = words.tobytes()
    (folder / file).write_bytes(octets)
    return {"file": file, "bytes": len(octets), "checksum": checksum_of(xxhash.xxh3_64(octets))}


class WordWriter:
    """One raw column of numbers, booleans or times under way. dtype: of its words, of 8 bytes and little-endian; sums:
    see `RawFile`."""

    def __init__(self, folder: Path, name: str, dtype: np.dtype[Any] = WORD, *, sums: bool = False) -> None:
        self._file = RawFile(folder, name, sums)
        self._dtype = dtype.newbyteorder("<")

    def append(self, words: np.ndarray) -> None:
        """words: 1-D, of the column's dtype."""
        self._file.append(np.ascontiguousarray(words, self._dtype).view(np.uint8).data)

    def close(self) -> dict[str, Any]:
        return {**self._file.close(), "dtype": self._dtype.str}


class TextWriter:
    """One raw column of text under way. name: of its files, to which endings are added; column: what messages call it,
    if not so; is_text: whether it is text, or bytes; sums: see `RawFile`.
    """

    def __init__(
        self, folder: Path, name: str, column: str = "", is_text: bool = True, *, sums: bool = False
    ) -> None:
        self._column = column or name
        self._type = pa.large_string() if is_text else pa.large_binary()
        self._words = RawFile(folder, f"{name}.str", sums)
        self._heap = RawFile(folder, f"{name}.heap", sums)
        self._shared = pa.array([], self._type)
        self._shared_words = np.empty(0, np.int64)
        self._is_all_shared = True

    @property
    def distinct(self) -> int | None:
        """How many distinct texts there are, null aside; None for more than are told apart."""
        return len(self._shared) if self._is_all_shared else None

    def append(self, texts: pa.Array) -> None:
        """texts: Arrow strings, plain or of a dictionary."""
        encoded = texts if pa.types.is_dictionary(texts.type) else texts.dictionary_encode()
        words = self._words_of(encoded.indices, encoded.dictionary.cast(self._type))
        self._words.append(words.astype(WORD, copy=False).view(np.uint8).data)

    def close(self) -> dict[str, Any]:
        return {**self._words.close(), "dtype": WORD.str, "heap": self._heap.close()}

    def _words_of(self, indices: pa.Array, dictionary: pa.Array) -> I64:
        """The rows' words; what is not in the heap yet is put there, in the order of the rows."""
        rows = len(indices)
        code = indices.fill_null(len(dictionary)).to_numpy()  # null is the last of the distinct ones
        first = np.full(len(dictionary) + 1, rows, np.int64)
        first[code[::-1]] = np.arange(rows - 1, -1, -1)
        word_of = np.full(len(dictionary) + 1, _NULL, np.int64)
        place = pc.index_in(dictionary, value_set=self._shared).fill_null(_NOT_STORED).to_numpy()
        known = place != _NOT_STORED
        word_of[:-1][known] = self._shared_words[place[known]]
        new = np.flatnonzero(~known & (first[:-1] < rows))
        new = new[np.argsort(first[new])]
        room = SHARED_TEXTS - len(self._shared)
        shared, single = new[:room], new[room:]
        if len(shared):
            self._shared = pa.concat_arrays([self._shared, dictionary.take(pa.array(shared))])
        self._is_all_shared = self._is_all_shared and not len(single)
        if not len(single):
            word_of[shared] = self._store(dictionary.take(pa.array(shared)))
            words: I64 = word_of[code]
        else:
            is_single = np.zeros(len(word_of), np.bool_)
            is_single[single] = True
            stored = is_single[code]
            stored[first[shared]] = True
            words = np.empty(rows, np.int64)
            words[stored] = self._store(dictionary.take(pa.array(code[stored])))
            word_of[shared] = words[first[shared]]
            words[~stored] = word_of[code[~stored]]
        self._shared_words = np.concatenate([self._shared_words, word_of[shared]])
        return words

    def _store(self, texts: pa.Array) -> I64:
        """Puts every one of these texts, none of which is null, into the heap; returns their words."""
        _, offset_buffer, octets = texts.buffers()
        offsets: npt.NDArray[np.int64] = np.frombuffer(offset_buffer, np.int64)[texts.offset :][: len(texts) + 1]
        lengths = np.diff(offsets)
        if len(lengths) and lengths.max() > LENGTH_MASK:
            raise SchemaError(
                f"column {self._column}: a text has {int(lengths.max()):,} bytes; at most {LENGTH_MASK:,} can be "
                "staged, so shorten it in the source"
            )
        words: I64 = (offsets[:-1] - offsets[:1] + self._heap.bytes) << LENGTH_BITS | lengths
        if len(texts):
            self._heap.append(memoryview(octets)[int(offsets[0]) : int(offsets[-1])])
        return words
