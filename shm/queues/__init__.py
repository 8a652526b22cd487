"""What workers exchange through shared memory: the ring of progress records, queues of columns, and sleep."""

from tokenring.faces import later

with later(__name__):
    from tokenring.shm.queues.data_queue import (
        CAPACITY,
        DATA_ADDRESS,
        HEADER_WORDS,
        INBOX_CHANNEL,
        INBOX_END,
        INBOX_OFFSET,
        INBOX_QUEUE,
        INBOX_ROWS,
        INBOX_STAMP,
        INBOX_STRIDE,
        INBOX_WORDS,
        MORE_STAMP,
        MORE_STAMP_WORDS,
        PAD,
        QUEUE_STATE,
        READ_POSITION,
        RELEASED,
        STAMP,
        Loopback,
        anything_waiting,
        attach_queues,
        begin,
        commit_all,
        has_room,
        key_of_worker,
        message_words,
        partition_for,
        queue_words,
        receive,
        release_all,
        route,
        send_for,
        written_words,
    )
    from tokenring.shm.queues.flags import any_set, clear_flag, next_set, set_flag
    from tokenring.shm.queues.packing import FEW_WORKERS, deal, pack
    from tokenring.shm.queues.parking import (
        ParkingLot,
        any_parked,
        begin_parking,
        end_parking,
        fence_now,
        next_parked,
        parked_address,
        wake_all,
    )
    from tokenring.shm.queues.progress_ring import (
        DELTA,
        LOCATION,
        RING_MASK,
        RING_READ_POSITION,
        RING_WORKERS,
        TIME,
        advance,
        attach_ring,
        available,
        check,
        leave,
        publish,
        record_address,
        record_word,
        release,
    )
    from tokenring.shm.queues.text_message import SCRATCH_ROWS, message_size, partition_texts, rows_that_fit, send_texts
