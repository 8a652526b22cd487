"""Bytes and words in POSIX shared memory: kernels, segment, atomics, progress ring, data queues, parking; knows nothing
of times.
"""
