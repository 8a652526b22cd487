"""Counts rows in the worker's inner loop."""

from tokenring.engine.compiled import DONE, entry, peek, rows_of, state_of, take


@entry
def count_rows(world: int, me: int) -> int:
    """Count the rows that came."""
    own = state_of(world, me, 1)
    while True:
        message = peek(world, me, 0)
        if message == 0:
            return DONE
        own[0] += rows_of(message)
        take(world, me, 0)
