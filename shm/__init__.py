"""Bytes and words in POSIX shared memory: segment, atomics, progress ring, data queues, parking; knows nothing of
times.
"""

from shm.kernels import COME_WITH_NUMBA

COME_WITH_NUMBA.append("shm.compiler_lock")
