"""The kernels of F, Megaphone's routing operator: rows get the worker of their bin, and wait while that is not known.

It has two inputs: the rows, and one on which nothing comes but a frontier, before which the configuration is known and
all state is where it is to be. Of a message later than that, rows wait whose bins may change their worker between that
frontier and their time; others go on if the configuration is known at it. (Megaphone, section 3.3, has all wait.)
"""

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Record,
    RoutingKey,
    alias_of,
    answer,
    chosen_rows,
    drop,
    entry,
    frontier_at,
    keep_back,
    keys_of,
    latest_of,
    lease,
    messages_waiting,
    peek,
    point_to,
    postpone,
    record_at,
    records_at,
    route,
    routing_words,
    rows_of,
    state_as,
    take,
    take_apart,
    time_of,
    words_at,
    world_at,
)
from tokenring.operators.migrate.versions import Busy, VersionState, is_sampled

ROWS, READY = range(2)  # the inputs

NEVER = -1


class SteerState(Record):
    """`first`: the slot of the token it begins with. `key`: what its operator's rows go by. `reached`: the frontier of
    the rows; `known`: that of what is ready; `greatest`: the greatest time that came. Python is asked when `reached` or
    `greatest` comes to `ask_reached`, `reached` alone to `ask_moved`, `known` beyond `ask_known`; NEVER: it is not.
    `follows`: whether the rows were routed before, by another; then it is `greatest` alone that comes to `ask_reached`.
    `stood`: how many messages waited behind the last look at what may go on, which was at `stood_known` and
    `stood_configured`."""

    first: int
    versions: int
    bins: int
    width: int
    positions: int
    key: RoutingKey
    reached: int
    known: int
    greatest: int
    ask_reached: int
    ask_moved: int
    ask_known: int
    follows: int
    stood: int
    stood_known: int
    stood_configured: int


@kernel
def _version_at(versions: VersionState, time: int) -> int:
    """The number of the version in force at a time."""
    count = versions.count
    times = words_at(versions.times, count)
    version = count - 1
    while times[version] > time:
        version -= 1
    return version


@kernel
def _steered(world: int, state: SteerState, message: int, version: int) -> int:
    """The message with a column more: what its rows go by."""
    graph, rows, bins = world_at(world), rows_of(message), state.bins
    versions = record_at(state.versions, VersionState)
    made = alias_of(graph, message, state.positions, state.width + 1)
    keys = routing_words(graph, message, state.key)
    if versions.as_hashed != 0:
        point_to(made, state.width, keys.ctypes.data)  # an exchange by the key goes where the bin is
    else:
        column = lease(graph, 8 * rows)
        point_to(made, state.width, column)
        target = words_at(column, rows)
        table = words_at(versions.tables + 8 * bins * version, bins)
        for row in range(rows):
            target[row] = table[route(keys[row], bins)]
    versions.seen += 1
    if is_sampled(versions.seen):
        loads = words_at(versions.loads, bins)
        for row in range(rows):
            loads[route(keys[row], bins)] += 1
    return made


@kernel
def _pass_stayers(world: int, me: int, state: SteerState, known: int, version: int) -> bool:
    """Send on the rows of a message of one time, the next one, whose bins stay where they are until then, and let the
    others wait behind all; of a burst, which is several messages, all of them or none."""
    graph, message = world_at(world), peek(world, me, ROWS)
    versions, bins = record_at(state.versions, VersionState), state.bins
    rows, time = rows_of(message), time_of(message)
    busy, keys = records_at(versions.busy, bins, Busy), routing_words(graph, message, state.key)
    stay, wait = words_at(lease(graph, 8 * rows), rows), words_at(lease(graph, 8 * rows), rows)
    count = 0
    for row in range(rows):
        here = busy[route(keys[row], bins)]
        if time < here.since or here.until < known:
            stay[count] = row
            count += 1
        else:
            wait[row - count] = row
    if count == 0 or (count < rows and keys_of(message) != 0):
        postpone(world, me, ROWS)
    elif count == rows:
        made = _steered(world, state, message, version)
        take(world, me, ROWS)
        answer(world, me, ROWS, 0, made)
    else:
        going = _steered(world, state, chosen_rows(graph, message, stay[:count]), version)
        keep_back(world, me, ROWS, chosen_rows(graph, message, wait[: rows - count]))
        answer(world, me, ROWS, 0, going)
    return count < rows


@kernel
def _pass_on(world: int, me: int, state: SteerState, known: int) -> bool:
    """Send on what is before `known`, and let the rest wait in its order; whether bursts were taken apart."""
    versions = record_at(state.versions, VersionState)
    waiting = messages_waiting(world, me, ROWS)
    configured = versions.configured
    stood = state.stood if state.stood_known == known and state.stood_configured == configured else 0
    blocked, apart, at, stand = False, False, 0, 0
    while at < waiting:
        message = peek(world, me, ROWS)
        if message == 0:  # much has been logged: the rest in the next round, behind none that wait
            while blocked and at < waiting:
                postpone(world, me, ROWS)
                at += 1
            stand = 0
            break
        at += 1
        latest = latest_of(message)
        if configured < COMPLETE:  # else all stands, or is over, and nobody asks how far rows are
            state.greatest = max(state.greatest, latest)
        version = _version_at(versions, time_of(message))
        if apart:
            postpone(world, me, ROWS)  # behind the parts
        elif latest < known and version == _version_at(versions, latest):
            made = _steered(world, state, message, version)
            take(world, me, ROWS)
            answer(world, me, ROWS, 0, made)
        elif keys_of(message) != 0 and latest != time_of(message):
            take_apart(world, me, ROWS)
            blocked = apart = True
        elif at <= stood or latest >= configured:
            postpone(world, me, ROWS)
            blocked, stand = True, stand + 1
        elif _pass_stayers(world, me, state, known, version):
            blocked, stand = True, stand + 1
    state.stood, state.stood_known, state.stood_configured = 0 if apart else stand, known, configured
    return apart


@entry
def steer(world: int, me: int) -> int:
    """Route what may be routed, and ask for Python where a threshold was come to."""
    state = state_as(world, me, SteerState)
    if state.first >= 0:
        drop(world, me, state.first)
        state.first = -1
    known = frontier_at(world, me, READY)
    while _pass_on(world, me, state, known):
        pass
    state.known, state.reached = known, frontier_at(world, me, ROWS)
    come_to = state.greatest if state.follows != 0 else max(state.reached, state.greatest)
    if state.ask_reached != NEVER and come_to >= state.ask_reached:
        return NEEDS_ROOM
    if state.ask_moved != NEVER and state.reached >= state.ask_moved:
        return NEEDS_ROOM
    if state.ask_known != NEVER and known > state.ask_known:
        return NEEDS_ROOM
    return DONE
