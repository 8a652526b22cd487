"""Words of columns in collections: canonical ones, equal where values are; texts interned; and words by their value."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.collections.words.entering import Entering, enter_columns, table_of
    from tokenring.operators.collections.words.interning import Interned, interned_texts
    from tokenring.operators.collections.words.kinds import (
        KIND_WORDS,
        OF_ALL,
        TIMES,
        TIMES_ADDED,
        Heaps,
        KindRow,
        heaps_of,
        is_null,
        key_in_words,
        kinds_table,
        nulls_of,
        rows_in_words,
        with_keys,
    )
    from tokenring.operators.collections.words.ordering import by_value, comes_before
