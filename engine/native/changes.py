"""Changes of counts, logged by compiled operators: in the worker's one log, behind those that Python wrote."""

from tokenring.engine.native.layout import (
    LOG,
    LOG_CAPACITY,
    LOG_COUNT,
    LOG_SCRATCH,
    LOG_SCRATCH_WORDS,
    OBSERVED,
    RING_IS_FULL,
    SPILLED,
    SPILLED_COUNT,
)
from tokenring.engine.native.memory import append
from tokenring.engine.progress import CHANGE_WORDS, net_what_is_left
from tokenring.shm.kernels import kernel, words_at


@kernel
def log_change(words, location, delta, time):  # type: ignore[no-untyped-def]
    """Log one change. Where the log is full, what is in it is netted; what finds no room even so is spilled, and goes
    into a larger log before anything is published (`CompiledPart.after`).

    What takes the last change back, as taking a message does that was just sent, leaves neither in the log: they are
    published together or not at all. Not while a ring without room lets a part of the log out.
    """
    count = words[LOG_COUNT]
    if count > 0 and words[SPILLED_COUNT] == 0 and words[RING_IS_FULL] == 0 and words[OBSERVED] == 0:
        last = words_at(words[LOG] + 8 * CHANGE_WORDS * (count - 1), CHANGE_WORDS)
        if last[0] == location and last[1] + delta == 0 and last[2] == time:
            words[LOG_COUNT] = count - 1
            return
    if words[SPILLED_COUNT] == 0 and count >= words[LOG_CAPACITY]:
        log = words_at(words[LOG], words[LOG_CAPACITY] * CHANGE_WORDS)
        scratch = words_at(words[LOG_SCRATCH], words[LOG_SCRATCH_WORDS])
        words[LOG_COUNT] = net_what_is_left(log, words[LOG_COUNT], scratch)
        if 2 * words[LOG_COUNT] > words[LOG_CAPACITY]:  # to net again and again would take long
            append(words, SPILLED, location, delta, time)
            return
    if words[SPILLED_COUNT] > 0:
        append(words, SPILLED, location, delta, time)
        return
    count = words[LOG_COUNT]
    change = words_at(words[LOG] + 8 * CHANGE_WORDS * count, CHANGE_WORDS)
    change[0], change[1], change[2], change[3], change[4], change[5] = location, delta, time, 0, 0, 0
    words[LOG_COUNT] = count + 1
