"""Keyed state in arrays: numbers of keys, rows by place, heaps; and which streams are updates.

keys        any key to a slot, with removal; cells, keys_kernels: its kernels
row_store   rows by place
kept_texts  texts that compiled operators keep
key_words   keys of any kind as words, in compiled operators
free_list   places to be used again
heap        what is due first
tables      arrays that double
reserved    addresses for arrays that grow where they are
arithmetic  whether a sum stays in range, words are the same, and how many are less
updates     streams of updates, marked and refused
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.state.arithmetic import LEAST, MOST, all_equal, count_upto, overflows
    from tokenring.operators.state.cells import (
        AHEAD,
        FULL,
        FULL_OF,
        SETTLED_AT_ONCE,
        CellCounts,
        FreeList,
        begin_settling,
        first_homes,
        give_place,
        home_of,
        mark_of,
        mixed,
        put,
        settle,
        settle_all,
        slot_of,
        take_place,
    )
    from tokenring.operators.state.floats import NAN, canonical_float, canonical_floats, is_nan
    from tokenring.operators.state.heap import pop, push
    from tokenring.operators.state.heaped_columns import HeapedColumns, joined, wrapped
    from tokenring.operators.state.kept_texts import (
        KeptTexts,
        TextStore,
        bytes_in,
        bytes_to_keep,
        has_room_for_texts,
        keep_text,
    )
    from tokenring.operators.state.key_records import (
        KeyColumns,
        KeyMap,
        WordKeys,
        cells_of,
        counts_of,
        find_by,
        forget_slots,
        have_column,
        key_column,
        key_counts,
        link_columns,
        link_keys,
        link_numbers,
        live_of,
        number_by,
        number_rows,
        tags_of,
    )
    from tokenring.operators.state.key_words import (
        KeyWords,
        TextNumbers,
        numbers_in_use,
        values_of,
        what_stands_for,
        with_key_words,
        word_column,
    )
    from tokenring.operators.state.keys import Keys
    from tokenring.operators.state.keys_kernels import KeyCounts
    from tokenring.operators.state.row_store import RowStore
    from tokenring.operators.state.tables import FIRST_SLOTS, gather, grown, shared_scratch
    from tokenring.operators.state.tags import SOURCE_WORDS
    from tokenring.operators.state.text_table import UNKNOWN, NumberedTexts, TextTable, number_texts
    from tokenring.operators.state.updates import as_rows, changes_among, require_newest, require_rows, updates_by
