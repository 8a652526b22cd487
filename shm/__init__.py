"""Bytes and words in POSIX shared memory: segment, atomics, progress ring, data queues, parking; knows nothing of
times.
"""

from shm.held_signals import hold_while_compiling

hold_while_compiling()
