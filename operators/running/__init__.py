"""Running aggregates: the values so far of the keys in each message, in Python and in the worker's inner loop."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.running.compiled_running import compiled_firsts
    from tokenring.operators.running.running import running
    from tokenring.operators.running.running_state import moved_keys

__all__ = ["compiled_firsts", "moved_keys", "running"]
