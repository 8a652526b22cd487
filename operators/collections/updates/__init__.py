"""Updates of collections as sorted columnar batches: in order, merged, found by key, paired and reduced."""

from tokenring.operators.collections.updates.finding import copy_found, distinct_keys, find_all
from tokenring.operators.collections.updates.merging import find_rows
from tokenring.operators.collections.updates.pairing import PAIR_WORDS, pair_some
from tokenring.operators.collections.updates.reducing import (
    COUNT,
    DONE,
    EACH,
    FIRST,
    GREATEST,
    HALF_BITS,
    KEY,
    LATER,
    LEAST,
    LOWER_HALF,
    MADE,
    NEGATIVE,
    NO_ROOM,
    PARTS,
    SUM,
    TOTALS,
    reduce_keys,
)
from tokenring.operators.collections.updates.sealed import Sealed
from tokenring.operators.collections.updates.spine import Spine

__all__ = [
    "COUNT",
    "DONE",
    "EACH",
    "FIRST",
    "GREATEST",
    "HALF_BITS",
    "KEY",
    "LATER",
    "LEAST",
    "LOWER_HALF",
    "MADE",
    "NEGATIVE",
    "NO_ROOM",
    "PAIR_WORDS",
    "PARTS",
    "SUM",
    "Sealed",
    "Spine",
    "TOTALS",
    "copy_found",
    "distinct_keys",
    "find_all",
    "find_rows",
    "pair_some",
    "reduce_keys",
]
