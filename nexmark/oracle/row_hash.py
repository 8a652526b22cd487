"""Hashes of whole rows of Arrow tables, so that results of any size are compared as multisets: 128 bits a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from tokenring.engine import COLUMN, WORDS, int64, kernel, void
from tokenring.engine.compiled import Words, signed, unsigned
from tokenring.engine.raw import bytes_at

_SEEDS = (0x243F6A8885A308D3, 0x13198A2E03707344)
_NULL = signed(0x0A4093822299F31D)


@kernel
def _mixed(hash_so_far: int, value: int) -> int:
    """Both in one, by the finaliser of splitmix64."""
    h = (unsigned(hash_so_far) ^ unsigned(value)) + unsigned(0x9E3779B97F4A7C15)
    h = (h ^ (h >> unsigned(30))) * unsigned(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> unsigned(27))) * unsigned(0x94D049BB133111EB)
    return signed(h ^ (h >> unsigned(31)))


@kernel(void(WORDS, COLUMN))
def _fold_words(hashes: Words, values: Words) -> None:
    for i in range(len(hashes)):
        hashes[i] = _mixed(hashes[i], values[i])


@kernel(void(WORDS, COLUMN, int64))
def _fold_texts(hashes: Words, offsets: Words, data: int) -> None:
    """offsets: int64 (rows + 1,) into the bytes at address `data`."""
    for i in range(len(hashes)):
        length = offsets[i + 1] - offsets[i]
        text = bytes_at(data + offsets[i], length)
        h = _mixed(hashes[i], length)
        part = unsigned(0)
        for at in range(length):
            part = (part << unsigned(8)) | unsigned(text[at])
            if at & 7 == 7 or at == length - 1:
                h = _mixed(h, signed(part))
                part = unsigned(0)
        hashes[i] = h


def row_hashes(batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray]:
    """Two hashes of each row: int64 arrays of shape (rows,). Equal rows of equal types have equal ones.

    Columns: int64, uint64, double, bool, timestamps in ns, large_string, large_binary.
    """
    hashes = tuple([np.full(batch.num_rows, seed, np.int64) for seed in _SEEDS])
    for column in batch.columns:
        nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        for folded in hashes:
            _fold(folded, column)
            if nulls is not None:
                folded[nulls] ^= _NULL
    return hashes[0], hashes[1]


def _fold(hashes: np.ndarray, column: Any) -> None:
    if types.is_large_string(column.type) or types.is_large_binary(column.type):
        filled = column.fill_null("" if types.is_large_string(column.type) else b"")
        _, offsets, data = filled.buffers()
        bounds = np.frombuffer(offsets, np.int64)[filled.offset :][: len(column) + 1]
        _fold_texts(hashes, bounds, 0 if data is None else data.address)
    else:
        if types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        values = column.fill_null(False if types.is_boolean(column.type) else 0).to_numpy(zero_copy_only=False)
        _fold_words(hashes, values.astype(np.int64) if values.dtype.itemsize < 8 else values.view(np.int64))
