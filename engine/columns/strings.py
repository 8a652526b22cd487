"""Strings: what a column of text looks like from outside."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tokenring.engine.columns.arrow import text_array
from tokenring.engine.columns.from_arrow import text_from
from tokenring.engine.columns.text_kernels import equal_rows, equal_to, gather, heap_address, text_bytes
from tokenring.shm.kernels import LENGTH_BITS, LENGTH_MASK


class Strings:
    """A column of strings (or bytes, with `is_text` false), None where null: what `batch["name"]` gives.

    words: int64 (rows,), heap: uint8 (bytes,); see `Kind`. `strings[3]` is a str, `strings[mask]`,
    `strings[indices]` and `strings[2:5]` are Strings over the same heap; `strings == "x"` is a bool array of shape
    (rows,), in which a null equals nothing. For other vectorised functions: pyarrow.compute of `to_arrow()`.
    """

    __slots__ = ("heap", "is_text", "words")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, words: np.ndarray, heap: np.ndarray, is_text: bool = True) -> None:
        self.words = words
        self.heap = heap
        self.is_text = is_text

    @classmethod
    def of(cls, values: Any, is_text: bool = True) -> "Strings":
        """From a sequence of str (or bytes) and None, a numpy array of them, or an Arrow array."""
        words, heap = text_from(values, is_text)
        return cls(words, heap, is_text)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, chosen: Any) -> Any:
        words = self.words[chosen]
        if isinstance(words, np.ndarray):
            return Strings(np.ascontiguousarray(words), self.heap, self.is_text)
        return self._value(int(words))

    def _value(self, word: int) -> str | bytes | None:
        if word < 0:
            return None
        start = word >> LENGTH_BITS
        found = self.heap[start : start + (word & LENGTH_MASK)].tobytes()
        return found.decode(errors="replace") if self.is_text else found

    def __iter__(self) -> Iterator[str | bytes | None]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """All values: str or bytes, None where null."""
        return [self._value(word) for word in self.words.tolist()]

    def __eq__(self, other: object) -> Any:
        found = np.empty(len(self), np.int64)
        heap = heap_address(self.heap)
        if isinstance(other, str | bytes):
            octets = np.frombuffer(other.encode() if isinstance(other, str) else other, np.uint8)
            equal_to(self.words, heap, len(octets), heap_address(octets), found)
        elif isinstance(other, Strings) and len(other) == len(self):
            equal_rows(self.words, heap, other.words, heap_address(other.heap), found)
        else:
            return NotImplemented
        return found.astype(np.bool_)

    def __ne__(self, other: object) -> Any:
        same = self == other
        return same if same is NotImplemented else ~same & (self.words >= 0)

    def compact(self) -> "Strings":
        """The same texts over a heap of their own, that holds nothing else."""
        heap = np.empty(text_bytes(self.words), np.uint8)
        words = np.empty(len(self), np.int64)
        gather(self.words, heap_address(self.heap), words, heap_address(heap), 0, np.full((1, 2), -1))
        return Strings(words, heap, self.is_text)

    def to_arrow(self) -> Any:
        """A pyarrow large_string (large_binary) array; nulls are Arrow's."""
        return text_array(self.words, self.heap, self.is_text)

    def __repr__(self) -> str:
        shown = ", ".join(repr(value) for value in self[:4].tolist())
        return f"Strings({len(self)} rows: {shown}{', …' if len(self) > 4 else ''})"


_lasting: list[Callable[[np.ndarray, np.ndarray], bool]] = []


def let_last(check: Callable[[np.ndarray, np.ndarray], bool]) -> None:
    """Tell how to know that texts, of these words and this heap, stay where they are for as long as the process lives:
    who keeps such texts needs their words alone."""
    _lasting[:] = [check]


def lasts(words: np.ndarray, heap: np.ndarray) -> bool:
    """Whether these texts are known to stay where they are."""
    return any([check(words, heap) for check in _lasting])


def join_texts(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Columns of text, one after the other, as one (words, heap); a heap that all share stays as it is."""
    first = parts[0][1]
    if all(heap is first for _, heap in parts):
        return np.concatenate([words for words, _ in parts]), first
    heap = np.empty(sum([text_bytes(words) for words, _ in parts]), np.uint8)
    joined = np.empty(sum([len(words) for words, _ in parts]), np.int64)
    row = at = 0
    for words, source in parts:
        seen = np.full((1, 2), -1)
        at = gather(words, heap_address(source), joined[row : row + len(words)], heap_address(heap), at, seen)
        row += len(words)
    return joined, heap
