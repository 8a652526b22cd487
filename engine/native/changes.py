"""Changes of counts, logged by compiled operators: in the worker's one log, behind those that Python wrote."""

from tokenring.engine.native.layout import LOG, LOG_CAPACITY, LOG_COUNT, LOG_SCRATCH, LOG_SCRATCH_WORDS
from tokenring.engine.progress import CHANGE_WORDS, net_what_is_left
from tokenring.shm.kernels import kernel, words_at


@kernel
def log_change(words, location, delta, time):  # type: ignore[no-untyped-def]
    """Log one change; where the log is full, what is in it is netted first. False if that makes no room."""
    count = words[LOG_COUNT]
    if count >= words[LOG_CAPACITY]:
        log = words_at(words[LOG], words[LOG_CAPACITY] * CHANGE_WORDS)
        count = net_what_is_left(log, count, words_at(words[LOG_SCRATCH], words[LOG_SCRATCH_WORDS]))
        if count >= words[LOG_CAPACITY]:
            words[LOG_COUNT] = count
            return False
    change = words_at(words[LOG] + 8 * CHANGE_WORDS * count, CHANGE_WORDS)
    change[0], change[1], change[2], change[3], change[4], change[5] = location, delta, time, 0, 0, 0
    words[LOG_COUNT] = count + 1
    return True
