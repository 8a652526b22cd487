"""Shared memory: a group's segment, where everything lies in it, and atomic words."""

from tokenring.faces import later

with later(__name__):
    from tokenring.shm.memory.atomics import (
        compare_exchange,
        exchange_if,
        fence,
        fetch_and,
        fetch_or,
        load_acquire,
        load_word,
        peek,
        poke,
        store_release,
        store_word,
    )
    from tokenring.shm.memory.calls import (
        allocate,
        call_at,
        can_pack,
        copy_bytes,
        deallocate,
        forget_bytes,
        map_file,
        map_memory,
        monotonic_now_ns,
        pack_eight,
        pack_rest,
        prefetch,
        release_in_file,
        reserve_in_file,
        store_unaligned,
        unmap,
        wall_now_ns,
    )
    from tokenring.shm.memory.cleanup import owner_of, reclaim
    from tokenring.shm.memory.from_outside import Lines, line_in, lines_in
    from tokenring.shm.memory.layout import (
        FINISH,
        LINE_WORDS,
        MAX_WORKERS,
        RECORD_WORDS,
        STOP,
        WORKER_BARRIERS,
        WORKER_BUILT,
        WORKER_DECISION,
        WORKER_DIGEST_EVEN,
        WORKER_FINISHED,
        WORKER_FORGOTTEN_EVEN,
        WORKER_GRAPHS,
        WORKER_INSTANT_EVEN,
        WORKER_LOOKS,
        WORKER_PROCESS,
        WORKER_RUNNING,
        WORKER_SEEN,
        WORKER_VOTE,
        Layout,
        fitting_queue_words,
    )
    from tokenring.shm.memory.locks import alone, hold, is_held
    from tokenring.shm.memory.segment import NAME_PREFIX, SHM_FOLDER, Segment, cure_of, new_name, process_start_ticks
    from tokenring.shm.memory.text_space import COPIES_FROM, SPACE_BYTES, MappedFile, TextSpace, text_space
    from tokenring.shm.memory.untouched import untouched_zeros
