"""Bytes and words in POSIX shared memory: segment, atomics, progress ring, data queues, parking; knows nothing of
times.
"""
