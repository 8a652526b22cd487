"""Columns: kinds, schemas and batches, text, and what comes from and goes to Arrow, pandas and Polars."""

from tokenring.engine.columns.batch import Batch, Heaps
from tokenring.engine.columns.instants import instant_of, instants_of
from tokenring.engine.columns.kinds import Kind
from tokenring.engine.columns.offered import columns_of, table_of
from tokenring.engine.columns.schema import Schema, did_you_mean
from tokenring.engine.columns.strings import Strings
from tokenring.engine.columns.text_kernels import hash_keys, heap_address, text_equal, text_hash

__all__ = [
    "Batch",
    "Heaps",
    "Kind",
    "Schema",
    "Strings",
    "columns_of",
    "did_you_mean",
    "hash_keys",
    "heap_address",
    "instant_of",
    "instants_of",
    "table_of",
    "text_equal",
    "text_hash",
]
