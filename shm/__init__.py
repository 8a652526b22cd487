"""Bytes and words in POSIX shared memory: kernels, segment, atomics, progress ring, data queues, parking; knows nothing
of times.
"""

if __name__ != "tokenring.shm":  # a second copy of all its modules, where the checkout stands on the path
    raise ImportError(f"{__name__} is a part of tokenring: import tokenring.shm", name=__name__)

