"""The kernels of F, Megaphone's routing operator: rows get the worker of their bin, and wait while that is not known.

It has two inputs: the rows, and one on which nothing comes but a frontier, before which the configuration is known and
all state is where it is to be. Of a message later than that, rows wait whose bins may change their worker between that
frontier and their time; others go on if the configuration is known at it. (Megaphone, section 3.3, has all wait.)
"""

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.columns import hash_keys
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    addresses_of,
    alias_of,
    answer,
    bare_message,
    claim,
    drop,
    entry,
    frontier_at,
    keep_back,
    keys_of,
    latest_of,
    messages_waiting,
    peek,
    point_to,
    postpone,
    route,
    rows_of,
    state_of,
    table_at,
    take,
    take_apart,
    time_of,
    words_at,
    world_at,
)
from tokenring.operators.migrate.versions import (
    AS_HASHED,
    BUSY,
    CONFIGURED,
    COUNT,
    FROM,
    LOADS,
    SEEN,
    TABLES,
    TIMES,
    TO,
    VERSION_WORDS,
    is_sampled,
)

ROWS, READY = range(2)  # the inputs

# Words of the state. FIRST: the slot of the token it begins with. KEY: the key's column, -1 if it is hashed; TOLD: then
# the address of (position, whether it is text, whether it is float64) of each of KEYS columns. REACHED: the frontier of
# the rows; KNOWN: that of what is ready; GREATEST: the greatest time that came. Python is asked when REACHED or
# GREATEST comes to ASK_REACHED, REACHED alone to ASK_MOVED, KNOWN beyond ASK_KNOWN; NEVER: it is not.
FIRST, VERSIONS, BINS, WIDTH, POSITIONS, KEY, TOLD, KEYS, TEXTS, REACHED, KNOWN, GREATEST = range(12)
# FOLLOWS: whether the rows were routed before, by another; then it is GREATEST alone that comes to ASK_REACHED. STOOD:
# how many messages waited behind the last look at what may go on, which was at STOOD_KNOWN and STOOD_CONFIGURED.
ASK_REACHED, ASK_MOVED, ASK_KNOWN, FOLLOWS, STOOD, STOOD_KNOWN, STOOD_CONFIGURED, WORDS = range(12, 20)
NEVER = -1
_POSITION, _IS_TEXT, _IS_FLOAT, TOLD_WORDS = range(4)


@kernel
def _keys_at(world, state, message):  # type: ignore[no-untyped-def]
    """The address of what each row's bin is made of: the column, or a hash."""
    rows = rows_of(message)
    if state[KEY] >= 0:
        return addresses_of(message)[state[KEY]]
    words, count = world_at(world), state[KEYS]
    told = table_at(state[TOLD], count, TOLD_WORDS)
    room = claim(words, 8 * 3 * count)
    columns, heaps = words_at(room, count), words_at(room + 8 * count, count)
    floats = words_at(room + 16 * count, count)
    for at in range(count):
        columns[at] = addresses_of(message)[told[at, _POSITION]]
        heaps[at] = state[TEXTS] if told[at, _IS_TEXT] else 0
        floats[at] = told[at, _IS_FLOAT]
    hashes = claim(words, 8 * rows)
    hash_keys(columns, heaps, floats, words_at(hashes, rows))
    return hashes


@kernel
def _version_at(versions, time):  # type: ignore[no-untyped-def]
    """The number of the version in force at a time."""
    count = versions[COUNT]
    times = words_at(versions[TIMES], count)
    version = count - 1
    while times[version] > time:
        version -= 1
    return version


@kernel
def _steered(world, state, message, version):  # type: ignore[no-untyped-def]
    """The message with a column more: what its rows go by."""
    words, rows, bins = world_at(world), rows_of(message), state[BINS]
    versions = words_at(state[VERSIONS], VERSION_WORDS)
    made = alias_of(words, message, state[POSITIONS], state[WIDTH] + 1)
    at = _keys_at(world, state, message)
    keys = words_at(at, rows)
    if versions[AS_HASHED]:
        point_to(made, state[WIDTH], at)  # an exchange by the key goes where the bin is
    else:
        column = claim(words, 8 * rows)
        point_to(made, state[WIDTH], column)
        target = words_at(column, rows)
        table = words_at(versions[TABLES] + 8 * bins * version, bins)
        for row in range(rows):
            target[row] = table[route(keys[row], bins)]
    versions[SEEN] += 1
    if is_sampled(versions[SEEN]):
        loads = words_at(versions[LOADS], bins)
        for row in range(rows):
            loads[route(keys[row], bins)] += 1
    return made


@kernel
def _part_of_rows(words, message, stays, count, wanted):  # type: ignore[no-untyped-def]
    """A message of those rows of which `stays` is `wanted`, `count` of them, at no time yet."""
    rows, origin = len(stays), addresses_of(message)
    part = bare_message(words, len(origin), count)
    for column in range(len(origin)):
        room = claim(words, 8 * count)
        point_to(part, column, room)
        source, target, at = words_at(origin[column], rows), words_at(room, count), 0
        for row in range(rows):
            if stays[row] == wanted:
                target[at] = source[row]
                at += 1
    return part


@kernel
def _pass_stayers(world, me, state, known, version):  # type: ignore[no-untyped-def]
    """Send on the rows of a message of one time, the next one, whose bins stay where they are until then, and let the
    others wait behind all."""
    words, message = world_at(world), peek(world, me, ROWS)
    versions, bins = words_at(state[VERSIONS], VERSION_WORDS), state[BINS]
    rows, time = rows_of(message), time_of(message)
    busy, keys = table_at(versions[BUSY], bins, 2), words_at(_keys_at(world, state, message), rows)
    stays = words_at(claim(words, 8 * rows), rows)
    count = 0
    for row in range(rows):
        here = busy[route(keys[row], bins)]
        stays[row] = time < here[FROM] or here[TO] < known
        count += stays[row]
    if count == 0:
        postpone(world, me, ROWS)
    elif count == rows:
        made = _steered(world, state, message, version)
        take(world, me, ROWS)
        answer(world, me, ROWS, 0, made)
    else:
        going = _steered(world, state, _part_of_rows(words, message, stays, count, 1), version)
        keep_back(world, me, ROWS, _part_of_rows(words, message, stays, rows - count, 0))
        answer(world, me, ROWS, 0, going)
    return count < rows


@kernel
def _pass_on(world, me, state, known):  # type: ignore[no-untyped-def]
    """Send on what is before `known`, and let the rest wait in its order; whether bursts were taken apart."""
    versions = words_at(state[VERSIONS], VERSION_WORDS)
    waiting = messages_waiting(world, me, ROWS)
    configured = versions[CONFIGURED]
    stood = state[STOOD] if state[STOOD_KNOWN] == known and state[STOOD_CONFIGURED] == configured else 0
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
            state[GREATEST] = max(state[GREATEST], latest)
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
        elif at <= stood or latest >= configured or keys_of(message) != 0:
            postpone(world, me, ROWS)
            blocked, stand = True, stand + 1
        elif _pass_stayers(world, me, state, known, version):
            blocked, stand = True, stand + 1
    state[STOOD], state[STOOD_KNOWN], state[STOOD_CONFIGURED] = 0 if apart else stand, known, configured
    return apart


@entry
def steer(world, me):  # type: ignore[no-untyped-def]
    """Route what may be routed, and ask for Python where a threshold was come to."""
    state = state_of(world, me, WORDS)
    if state[FIRST] >= 0:
        drop(world, me, state[FIRST])
        state[FIRST] = -1
    known = frontier_at(world, me, READY)
    while _pass_on(world, me, state, known):
        pass
    state[KNOWN], state[REACHED] = known, frontier_at(world, me, ROWS)
    come_to = state[GREATEST] if state[FOLLOWS] else max(state[REACHED], state[GREATEST])
    if state[ASK_REACHED] != NEVER and come_to >= state[ASK_REACHED]:
        return NEEDS_ROOM
    if state[ASK_MOVED] != NEVER and state[REACHED] >= state[ASK_MOVED]:
        return NEEDS_ROOM
    if state[ASK_KNOWN] != NEVER and known > state[ASK_KNOWN]:
        return NEEDS_ROOM
    return DONE
