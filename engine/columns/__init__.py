"""Columns: kinds, schemas and batches, text, and what comes from and goes to Arrow, pandas and Polars."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.columns.arrow import ArrowRows, arrow_type, heap_addresses
    from tokenring.engine.columns.batch import Batch, Heaps, batch_from_arrow, require_same_schema
    from tokenring.engine.columns.convert import instant_of
    from tokenring.engine.columns.exact import as_text, day_in, day_of, holding, shown, word_in, word_of
    from tokenring.engine.columns.from_arrow import Dictionaries, require_sound, require_values
    from tokenring.engine.columns.instants import instants_of
    from tokenring.engine.columns.kinds import (
        BOOL_NULL,
        FLOAT,
        MOST_DIGITS,
        ORDERS,
        SIGNED,
        TEXT,
        UNSIGNED,
        Kind,
        decimal_of,
        exact_families,
        kind_of,
        names_of_kinds,
    )
    from tokenring.engine.columns.offered import columns_of, is_masked, is_missing, table_of
    from tokenring.engine.columns.schema import Schema, did_you_mean, free_name, is_one_of, names_of, require_schema
    from tokenring.engine.columns.strings import Strings, lasts, let_last
    from tokenring.engine.columns.text_kernels import (
        NO_HEAP,
        gather,
        hash_keys,
        heap_address,
        is_hashed,
        shift,
        shift_below,
        text_bytes,
        text_equal,
        text_hash,
    )
