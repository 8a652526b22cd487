"""Shared memory: a group's segment, where everything lies in it, and atomic words."""

from tokenring.shm.memory.atomics import (
    compare_exchange,
    fence,
    load_acquire,
    load_word,
    peek,
    poke,
    store_release,
    store_word,
)
from tokenring.shm.memory.cleanup import reclaim
from tokenring.shm.memory.layout import (
    LINE_WORDS,
    MAX_WORKERS,
    RECORD_WORDS,
    WORKER_BARRIERS,
    WORKER_BUILT,
    WORKER_CONGESTED,
    WORKER_DIGEST_EVEN,
    WORKER_FINISHED,
    WORKER_FORGOTTEN_EVEN,
    WORKER_GRAPHS,
    WORKER_INSTANT_EVEN,
    WORKER_PARKED,
    Layout,
)
from tokenring.shm.memory.segment import NAME_PREFIX, SHM_FOLDER, Segment, new_name, process_start_ticks

__all__ = [
    "LINE_WORDS",
    "Layout",
    "MAX_WORKERS",
    "NAME_PREFIX",
    "RECORD_WORDS",
    "SHM_FOLDER",
    "Segment",
    "WORKER_BARRIERS",
    "WORKER_BUILT",
    "WORKER_CONGESTED",
    "WORKER_DIGEST_EVEN",
    "WORKER_FINISHED",
    "WORKER_FORGOTTEN_EVEN",
    "WORKER_GRAPHS",
    "WORKER_INSTANT_EVEN",
    "WORKER_PARKED",
    "compare_exchange",
    "fence",
    "load_acquire",
    "load_word",
    "new_name",
    "peek",
    "poke",
    "process_start_ticks",
    "reclaim",
    "store_release",
    "store_word",
]
