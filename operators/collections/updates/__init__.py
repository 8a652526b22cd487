"""Updates of collections as sorted columnar batches: in order, merged, found by key, paired and reduced."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.collections.updates.blocks import new_block
    from tokenring.operators.collections.updates.called import TOTAL_WORDS, TotalRule, place_states
    from tokenring.operators.collections.updates.exact_sums import TOO_OFTEN, add_word, added, total_of
    from tokenring.operators.collections.updates.finding import distinct_keys, rows_of_keys
    from tokenring.operators.collections.updates.folding import (
        DONE,
        FUNCTION_RAISED,
        NEGATIVE,
        NO_ROOM,
        OVERFLOW,
        TOO_MANY,
        totals_of_sums,
    )
    from tokenring.operators.collections.updates.frontiers import (
        Antichain,
        are_times,
        as_table,
        both,
        both_of,
        elements_of,
        finished_rows,
        least_times,
        set_times,
        split,
        times_of,
    )
    from tokenring.operators.collections.updates.pairing import PAIR_WORDS, Paired, pair_some
    from tokenring.operators.collections.updates.partial_totals import (
        NO_SUM,
        SUMMED_WORDS,
        Parts,
        SummedColumn,
        most_parts,
        to_parts,
        width_of,
    )
    from tokenring.operators.collections.updates.parts import (
        ALL,
        NOT_READING,
        Lag,
        SpineState,
        add_block,
        columns_of,
        is_merged,
        is_over,
        merge_at,
        reader_of,
        seal_block,
    )
    from tokenring.operators.collections.updates.reducing import EACH, FIRST, PARTS, TOTALS, change_keys
    from tokenring.operators.collections.updates.replacing import NO_ROW, Replaced, replace_rows, rows_after
    from tokenring.operators.collections.updates.sorting import (
        LARGE,
        Sealed,
        consolidate,
        consolidate_behind,
        consolidate_dealt,
        deal,
        sort_rows,
        too_often,
    )
    from tokenring.operators.collections.updates.spine import Spine, SpineSince
