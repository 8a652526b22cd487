"""A join with versions in the worker's inner loop: rows wait until no version that they would see can come any more."""

import numpy as np

from tokenring.engine import COMPLETE, Schema, kernel
from tokenring.engine.compiled import (
    DONE,
    FAILED,
    NEEDS_ROOM,
    Compiled,
    column_of,
    entry,
    fail,
    frontier_at,
    peek,
    rows_of,
    send,
    send_at,
    state_of,
    take,
    time_of,
)
from tokenring.operators.joins.compiled.holding import HELD, PENDING, hold_from, hold_on_from, hold_what_came
from tokenring.operators.joins.compiled.kept_rows import free_of, has_room, heads_of, keep_rows, links_of, meta_of
from tokenring.operators.joins.compiled.keyed import (
    KEYED_WORDS,
    LinkedKeys,
    chosen_rows,
    find_keys,
    number_keys,
    part_at_hand,
    rows_but,
    rows_without_key,
)
from tokenring.operators.joins.compiled.results import JOINED_WORDS, LinkedResults, pairs_of, scratch, side_at
from tokenring.operators.joins.compiled.waiting import (
    WAITING_WORDS,
    LinkedWaiting,
    least_waiting,
    message_of,
    released,
    times_of,
    wait_for,
)
from tokenring.operators.joins.kept import (
    LEFT,
    RIGHT,
    JoinedColumns,
    MovingVersions,
    Side,
    add_versions,
    find_versions,
    refused,
)
from tokenring.operators.mechanisms import drop_first
from tokenring.operators.migrate import offer
from tokenring.operators.state import grown

# Words of the state, behind those of its tokens. TIME: by side the column of rows' own times, -1: their messages'. AT:
# by side the row to go on with of the message at hand. WANTED: how many rows there was no room for, and on which side;
# 0: for a key. HAS_DUE: whether there is an input for what became due as state moved.
_OUTER, _TIME, _, _AT, _, _WANTED, _WANTED_SIDE, _HAS_DUE = range(PENDING + 1, PENDING + 9)
_KEYS = _HAS_DUE + 1
_JOINED = _KEYS + KEYED_WORDS
_WAITING = _JOINED + JOINED_WORDS
_STATE_WORDS = _WAITING + WAITING_WORDS
_TOO_LATE = -1


@kernel
def _own_times(world, me, state, side, message):  # type: ignore[no-untyped-def]
    """The rows' own times; whether none is late, else that is noted."""
    time = time_of(message)
    if state[_TIME + side] < 0:
        times = scratch(world, rows_of(message))
        times[:] = time
        return times, True
    times = column_of(message, state[_TIME + side])
    least = COMPLETE
    for each in times:
        least = min(least, each)
    if least < time:
        fail(world, me, _TOO_LATE, time, least, 0)
    return times, least >= time


@kernel
def _has_room(world, state, side, at, message, rows):  # type: ignore[no-untyped-def]
    """Whether there are places for so many rows more; else that is noted."""
    if not has_room(world, state, at, message, rows):
        state[_WANTED], state[_WANTED_SIDE] = rows, side
        return False
    return True


@kernel
def _add(world, me, state, message, horizon):  # type: ignore[no-untyped-def]
    """Take versions. Nobody asks for times before `horizon` any more."""
    at = side_at(_JOINED, RIGHT)
    if not _has_room(world, state, RIGHT, at, message, rows_of(message)):
        return NEEDS_ROOM
    times, in_time = _own_times(world, me, state, RIGHT, message)
    if not in_time:
        return FAILED
    without = rows_without_key(world, state, _KEYS, RIGHT, message)
    if len(without) > 0:
        rows = rows_but(world, rows_of(message), without)
        message, times = chosen_rows(world, message, rows), times[rows]
    slots, places = scratch(world, len(times)), scratch(world, len(times))
    if not number_keys(world, state, _KEYS, RIGHT, message, slots):
        state[_WANTED] = 0
        return NEEDS_ROOM
    add_versions(
        heads_of(state, at), links_of(state, at), free_of(state, at), meta_of(state, at), slots, times, horizon,
        places, places[:0],
    )  # fmt: skip
    keep_rows(state, at, message, rows_but(world, len(slots), slots[:0]), places)
    return DONE


@kernel
def _answer(world, me, state, message, times):  # type: ignore[no-untyped-def]
    """Rows of the left side with what they see of the right."""
    slots, places = scratch(world, len(times)), scratch(world, len(times))
    find_keys(world, state, _KEYS, LEFT, message, slots)
    at = side_at(_JOINED, RIGHT)
    find_versions(heads_of(state, at), links_of(state, at), slots, times, places)
    rows = scratch(world, len(times))
    count = 0
    for i in range(len(times)):
        if state[_OUTER] or places[i] >= 0:
            rows[count], places[count] = i, places[i]
            count += 1
    return pairs_of(world, me, state, _JOINED, LEFT, message, rows[:count], places[:count])


@kernel
def _ask(world, me, state, message, certain):  # type: ignore[no-untyped-def]
    """Answer rows before the time that is `certain`, at their message's time; let the others wait."""
    times, in_time = _own_times(world, me, state, LEFT, message)
    if not in_time:
        return FAILED
    ready, others = scratch(world, len(times)), scratch(world, len(times))
    count = 0
    for row in range(len(times)):
        if times[row] < certain:
            ready[count] = row
            count += 1
        else:
            others[row - count] = row
    if not _has_room(world, state, LEFT, _WAITING, message, len(times) - count):
        return NEEDS_ROOM
    if count == len(times):
        send_at(world, me, 0, _answer(world, me, state, message, times), time_of(message))
        return DONE
    if count > 0:
        rows = ready[:count]
        made = _answer(world, me, state, chosen_rows(world, message, rows), times[rows])
        send_at(world, me, 0, made, time_of(message))
    wait_for(state, _WAITING, world, message, others[: len(times) - count], times)
    return DONE


@kernel
def _release(world, me, state, certain):  # type: ignore[no-untyped-def]
    """Answer rows that waited for this, those of one message at the least of their times."""
    while least_waiting(state, _WAITING) < certain:
        least = least_waiting(state, _WAITING)
        places = released(state, _WAITING, world, certain)
        message, times = message_of(state, _WAITING, world, places), times_of(state, _WAITING, world, places)
        send(world, me, state[HELD], _answer(world, me, state, message, times), least)
    hold_on_from(world, me, state, least_waiting(state, _WAITING))


@entry
def versioned(world, me):  # type: ignore[no-untyped-def]
    """Take versions, answer rows that can be, let the others wait: a token is held at the least of their times."""
    state = state_of(world, me, _STATE_WORDS)
    drop_first(world, me, state)
    if state[_HAS_DUE]:
        hold_what_came(world, me, state, least_waiting(state, _WAITING))
    horizon = min(frontier_at(world, me, LEFT), least_waiting(state, _WAITING))
    for side in (RIGHT, LEFT):
        certain = frontier_at(world, me, RIGHT)
        while True:
            message = peek(world, me, side)
            if message == 0:
                break
            part = part_at_hand(world, message, state[_AT + side])
            while part != 0:
                if side == RIGHT:
                    status = _add(world, me, state, part, horizon)
                else:
                    status = _ask(world, me, state, part, certain)
                if status != DONE:
                    return status
                state[_AT + side] += rows_of(part)
                part = part_at_hand(world, message, state[_AT + side])
            state[_AT + side] = 0
            take(world, me, side)
            hold_from(world, me, side, state, least_waiting(state, _WAITING))
    if least_waiting(state, _WAITING) >= state[PENDING]:  # until the right to what came with a bin is here
        _release(world, me, state, frontier_at(world, me, RIGHT))
    return DONE


class _State:
    """One worker's versions and rows that wait, and the words that say where they are."""

    def __init__(
        self,
        columns: JoinedColumns,
        arriving: tuple[Schema, Schema],
        times: tuple[str | None, str | None],
        outer: bool,
        has_due: bool,
    ) -> None:
        self.versions = Side(columns.store(RIGHT), False)
        self.waiting = LinkedWaiting(arriving[LEFT])
        self._keys = LinkedKeys(columns, arriving)
        self._results = LinkedResults(
            columns, arriving, (None, self.versions), (columns.kept(LEFT), columns.kept(RIGHT))
        )
        self.words = words = np.zeros(_STATE_WORDS, np.int64)
        words[HELD], words[PENDING], words[_OUTER], words[_HAS_DUE] = -1, COMPLETE, outer, has_due
        for side, column in enumerate(times):
            words[_TIME + side] = -1 if column is None else arriving[side].position(column)
        self._link()
        keys, texts = self._keys.moving, self._results.texts[RIGHT]
        offer(MovingVersions(columns, arriving[LEFT], keys, self.versions, self.waiting, texts, self._link))

    def _link(self) -> None:
        self.versions.heads = grown(self.versions.heads, self._keys.keys.capacity)
        self._keys.link(self.words, _KEYS)
        self._results.link(self.words, _JOINED)
        self.waiting.link(self.words, _WAITING)

    def grow(self) -> None:
        """Make room for the rows of a message, or for another key."""
        if wanted := int(self.words[_WANTED]):
            (self.waiting.side if self.words[_WANTED_SIDE] == LEFT else self.versions).reserve(wanted)
        else:
            self._keys.grow()
        self._link()


def compiled_versioned(
    columns: JoinedColumns,
    arriving: tuple[Schema, Schema],
    times: tuple[str | None, str | None],
    outer: bool,
    has_due: bool = False,
) -> Compiled:
    """What `declare_versioned` makes of the same arguments, of words, on one worker. has_due: whether there is an input
    for what becomes due as state moves."""
    state = _State(columns, arriving, times, outer, has_due)
    named = [column for column in times if column is not None]
    return Compiled(
        versioned, state.words, (state,), state.grow,
        lambda _, operands: refused(columns.operator, arriving[LEFT], named, operands[0], operands[1]),
        lambda: {"left": len(state.waiting.side), "right": len(state.versions)},
    )  # fmt: skip
