"""What a join tells of rows that wait for the end, where they move and rights to their times do not: see moving_rights.
"""

from tokenring.engine import MAX_TIME, kernel
from tokenring.engine.compiled import Words, column_of, downgrade, drop, new_message, send, send_at, time_of
from tokenring.operators.joins.compiled.results import alone_of
from tokenring.operators.joins.compiled.words import Join

_LATE, _WAITS = 1, 2
"""The outputs of rows that are sent at the end, with their times behind them, and of how many wait."""
_MATCHED = -1


@kernel
def _told(world: int, me: int, times: Words, rows: int, worker: int) -> int:
    """So many rows more wait at each of these times; below 0: fewer. worker: which sends them, _MATCHED for none."""
    made = new_message(world, me, _WAITS, len(times))
    column_of(made, 0)[:] = times
    column_of(made, 1)[:] = rows
    column_of(made, 2)[:] = worker
    return made


@kernel
def tell_waiting(world: int, me: int, state: Join, message: int, rows: int) -> None:
    """So many rows of the message at hand begin to wait."""
    if state.rights_stay != 0 and rows > 0:
        made = new_message(world, me, _WAITS, 1)
        column_of(made, 0)[0], column_of(made, 1)[0], column_of(made, 2)[0] = time_of(message), rows, _MATCHED
        send_at(world, me, _WAITS, made, time_of(message))


@kernel
def tell_gone(world: int, me: int, state: Join, message: int, times: Words) -> None:
    """Rows of these times wait no more, by the message at hand."""
    if state.rights_stay != 0 and len(times) > 0:
        send_at(world, me, _WAITS, _told(world, me, times, -1, _MATCHED), time_of(message))


@kernel
def tell_matched(world: int, me: int, state: Join, times: Words) -> None:
    """At the end: rows of these times have matched."""
    if len(times) > 0:
        send(world, me, state.of_waits, _told(world, me, times, -1, _MATCHED), MAX_TIME)


@kernel
def send_late(world: int, me: int, state: Join, side: int, places: Words, times: Words) -> None:
    """At the end: kept rows match nothing; whoever has the rights sends them at these times."""
    if len(places) > 0:
        made = alone_of(world, me, state.results, side, 0, places, _LATE)
        column_of(made, state.results.width)[:] = times
        send(world, me, state.of_late, made, MAX_TIME)
        send(world, me, state.of_waits, _told(world, me, times, -1, state.worker), MAX_TIME)


@kernel
def hold_to_the_end(world: int, me: int, state: Join) -> None:
    """In the first run: what is sent at the end says its own times."""
    if state.rights_stay != 0 and state.first >= 0:
        downgrade(world, me, state.of_late, MAX_TIME)
        downgrade(world, me, state.of_waits, MAX_TIME)


@kernel
def end_telling(world: int, me: int, state: Join) -> None:
    """All inputs have ended."""
    if state.of_late >= 0:
        drop(world, me, state.of_late)
        drop(world, me, state.of_waits)
        state.of_late = state.of_waits = -1
