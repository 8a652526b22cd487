"""Libraries to which an exception is a segmentation fault while they initialise themselves, as the handler of Ctrl-C
raises one: loaded before any module of ours that names them, with signals held.
"""

from tokenring.shm.kernels.deferred_signals import DeferredSignals

with DeferredSignals():
    import orjson  # noqa: F401
