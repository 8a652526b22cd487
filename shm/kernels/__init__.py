"""Kernels: functions that numba compiles, declared, kept on disk, made ready; and what a word of text is."""

from tokenring.shm.kernels import native_libraries  # noqa: F401 - before all that follows
from tokenring.shm.kernels.deferred_signals import ENDING_SIGNALS, DeferredSignals
from tokenring.shm.kernels.entry import LOGIC, RAISED, Entry, entry
from tokenring.shm.kernels.kernel import (
    COLUMNS_COMPILED,
    COME_WITH_NUMBA,
    Kernel,
    Later,
    forbid_compilation,
    kernel,
    kernel_for_columns,
    kernels_to_make_ready,
    signed,
    unsigned,
)
from tokenring.shm.kernels.levels import CAN_PACK, LEVELS, is_for_any_processor, levels_for
from tokenring.shm.kernels.library import LIBRARY_FOLDER, library
from tokenring.shm.kernels.signatures import COLUMN, TABLE, WORDS, boolean, float64, int64, readonly, tuple_of, void
from tokenring.shm.kernels.views import (
    LENGTH_BITS,
    LENGTH_MASK,
    Record,
    Words,
    address_of,
    also,
    bytes_at,
    copy_text,
    halves_at,
    record_at,
    record_of,
    records_at,
    records_of,
    room,
    table_at,
    words_at,
)

COME_WITH_NUMBA += [
    "tokenring.shm.kernels.compiler_lock",
    "tokenring.shm.kernels.cache_folders",
]

__all__ = [
    "CAN_PACK",
    "COLUMN",
    "COLUMNS_COMPILED",
    "COME_WITH_NUMBA",
    "ENDING_SIGNALS",
    "DeferredSignals",
    "Entry",
    "Kernel",
    "LENGTH_BITS",
    "LENGTH_MASK",
    "LEVELS",
    "LIBRARY_FOLDER",
    "LOGIC",
    "Later",
    "RAISED",
    "Record",
    "TABLE",
    "WORDS",
    "Words",
    "address_of",
    "also",
    "boolean",
    "bytes_at",
    "copy_text",
    "entry",
    "float64",
    "forbid_compilation",
    "halves_at",
    "int64",
    "kernel",
    "is_for_any_processor",
    "kernel_for_columns",
    "kernels_to_make_ready",
    "levels_for",
    "library",
    "readonly",
    "record_at",
    "record_of",
    "records_at",
    "records_of",
    "room",
    "signed",
    "table_at",
    "tuple_of",
    "unsigned",
    "void",
    "words_at",
]
