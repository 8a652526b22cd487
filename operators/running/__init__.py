"""Running aggregates: the values so far of the keys in each message."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.running.running import compiled_firsts, running
    from tokenring.operators.running.running_state import moved_keys
