"""Columns: kinds, schemas and batches, text, and what comes from and goes to Arrow, pandas and Polars."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.columns.batch import Batch, Heaps
    from tokenring.engine.columns.instants import instant_of, instants_of
    from tokenring.engine.columns.kinds import Kind
    from tokenring.engine.columns.offered import columns_of, table_of
    from tokenring.engine.columns.schema import Schema, did_you_mean
    from tokenring.engine.columns.strings import Strings, lasts, let_last
    from tokenring.engine.columns.text_kernels import (
        NO_HEAP,
        gather,
        hash_keys,
        heap_address,
        shift,
        shift_below,
        text_bytes,
        text_equal,
        text_hash,
    )

__all__ = [
    "Batch",
    "Heaps",
    "Kind",
    "Schema",
    "Strings",
    "columns_of",
    "did_you_mean",
    "NO_HEAP",
    "gather",
    "hash_keys",
    "heap_address",
    "instant_of",
    "instants_of",
    "lasts",
    "let_last",
    "shift",
    "shift_below",
    "table_of",
    "text_bytes",
    "text_equal",
    "text_hash",
]
