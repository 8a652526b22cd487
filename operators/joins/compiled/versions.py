"""A join with versions in the worker's inner loop: rows wait until no version that they would see can come any more."""

import numpy as np

from tokenring.engine import COMPLETE, Schema, kernel
from tokenring.engine.compiled import (
    DONE,
    FAILED,
    NEEDS_ROOM,
    Compiled,
    Words,
    chosen_rows,
    column_of,
    entry,
    fail,
    frontier_at,
    peek,
    room,
    rows_of,
    send_at,
    signed,
    state_as,
    take,
    time_of,
    world_at,
)
from tokenring.operators.joins.compiled.holding import Joining, hold_from, hold_on_from, hold_what_came
from tokenring.operators.joins.compiled.kept_rows import (
    KeptRows,
    free_of,
    has_room,
    heads_of,
    keep_rows,
    links_of,
    meta_of,
)
from tokenring.operators.joins.compiled.keyed import (
    LinkedKeys,
    find_keys,
    number_keys,
    part_at_hand,
    rows_but,
    rows_without_key,
)
from tokenring.operators.joins.compiled.results import LinkedResults, pairs_of, scratch, side_of
from tokenring.operators.joins.compiled.sending import end_of_time
from tokenring.operators.joins.compiled.waiting import (
    LinkedWaiting,
    Waiting,
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
    Version,
    add_versions,
    find_versions,
    refused,
)
from tokenring.operators.mechanisms import drop_first
from tokenring.operators.migrate import offer
from tokenring.operators.state import grown

_TOO_LATE = -1


class Versions(Joining):
    """`outer`: whether rows that see nothing are sent. `time`: by side the column of rows' own times, -1: their
    messages'. `is_apart`: whether each is sent at its own."""

    outer: int
    is_apart: int
    time: Words = room(2)
    waiting: Waiting


@kernel
def _own_times(world: int, me: int, state: Versions, side: int, message: int) -> tuple[Words, bool]:
    """The rows' own times; whether none is late, nor one that is no time, else that is noted."""
    time = time_of(message)
    if state.time[side] < 0:
        times = scratch(world, rows_of(message))
        times[:] = time
        return times, True
    times = column_of(message, state.time[side])
    least, greatest = COMPLETE, signed(0)
    for each in times:
        least, greatest = min(least, each), max(greatest, each)
    if least < time:
        fail(world, me, _TOO_LATE, time, least, 0)
    elif greatest == COMPLETE and side == LEFT:  # it would wait for ever
        fail(world, me, _TOO_LATE, time, greatest, 0)
        return times, False
    return times, least >= time


@kernel
def _has_room(world: int, state: Versions, side: int, kept: KeptRows, message: int, rows: int) -> bool:
    """Whether there are places for so many rows more; else that is noted."""
    if not has_room(world, kept, message, rows):
        state.wanted, state.wanted_side = rows, side
        return False
    return True


@kernel
def _add(world: int, me: int, state: Versions, message: int, horizon: int) -> int:
    """Take versions. Nobody asks for times before `horizon` any more."""
    at = side_of(state.results, RIGHT)
    if not _has_room(world, state, RIGHT, at, message, rows_of(message)):
        return NEEDS_ROOM
    times, in_time = _own_times(world, me, state, RIGHT, message)
    if not in_time:
        return FAILED
    without = rows_without_key(world, state.keys, RIGHT, message)
    if len(without) > 0:
        rows = rows_but(world, rows_of(message), without)
        message, times = chosen_rows(world_at(world), message, rows), times[rows]
    slots, places = scratch(world, len(times)), scratch(world, len(times))
    if not number_keys(world, state.keys, RIGHT, message, slots):
        state.wanted = 0
        return NEEDS_ROOM
    add_versions(heads_of(at), links_of(at), free_of(at), meta_of(at), slots, times, horizon, horizon, places)
    keep_rows(at, message, rows_but(world, len(slots), slots[:0]), places)
    return DONE


@kernel
def _answer(world: int, me: int, state: Versions, message: int, times: Words) -> int:
    """Rows of the left side with what they see of the right."""
    slots, places = scratch(world, len(times)), scratch(world, len(times))
    find_keys(world, state.keys, LEFT, message, slots)
    at = side_of(state.results, RIGHT)
    find_versions(heads_of(at), links_of(at), slots, times, places)
    rows = scratch(world, len(times))
    count = 0
    for i in range(len(times)):
        if state.outer or places[i] >= 0:
            rows[count], places[count] = i, places[i]
            count += 1
    return pairs_of(world, me, state.results, LEFT, message, rows[:count], places[:count])


@kernel
def _send(world: int, me: int, state: Versions, message: int, times: Words, at: int) -> None:
    """Rows with what they see: all at one time, or each at its own."""
    if not state.is_apart:
        send_at(world, me, 0, _answer(world, me, state, message, times), at)
        return
    order, start = np.argsort(times, kind="mergesort"), 0
    while start < len(order):
        stop = end_of_time(times, order, start)
        rows = order[start:stop]
        part = chosen_rows(world_at(world), message, rows)
        send_at(world, me, 0, _answer(world, me, state, part, times[rows]), times[rows[0]])
        start = stop


@kernel
def _ask(world: int, me: int, state: Versions, message: int, certain: int) -> int:
    """Answer rows before the time that is `certain`; let the others wait."""
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
    if not _has_room(world, state, LEFT, state.waiting.rows, message, len(times) - count):
        return NEEDS_ROOM
    if count == len(times):
        _send(world, me, state, message, times, time_of(message))
        return DONE
    if count > 0:
        rows = ready[:count]
        _send(world, me, state, chosen_rows(world_at(world), message, rows), times[rows], time_of(message))
    wait_for(state.waiting, world, message, others[: len(times) - count], times)
    return DONE


@kernel
def _release(world: int, me: int, state: Versions, certain: int) -> None:
    """Answer rows that waited for this, by the token, which is held at the least of their times."""
    while least_waiting(state.waiting) < certain:
        least = least_waiting(state.waiting)
        places = released(state.waiting, world, certain)
        message, times = message_of(state.waiting, world, places), times_of(state.waiting, world, places)
        _send(world, me, state, message, times, least)
    hold_on_from(world, me, state, least_waiting(state.waiting))


@entry
def versioned(world: int, me: int) -> int:
    """Take versions, answer rows that can be, let the others wait: a token is held at the least of their times."""
    state = state_as(world, me, Versions)
    drop_first(world, me, state)
    if state.has_due:
        hold_what_came(world, me, state, least_waiting(state.waiting))
    horizon = min(frontier_at(world, me, LEFT), least_waiting(state.waiting))
    for side in (RIGHT, LEFT):
        certain = frontier_at(world, me, RIGHT)
        while True:
            message = peek(world, me, side)
            if message == 0:
                break
            part = part_at_hand(world, message, state.at[side])
            while part != 0:
                if side == RIGHT:
                    status = _add(world, me, state, part, horizon)
                else:
                    status = _ask(world, me, state, part, certain)
                if status != DONE:
                    return status
                state.at[side] += rows_of(part)
                part = part_at_hand(world, message, state.at[side])
            state.at[side] = 0
            take(world, me, side)
            hold_from(world, me, side, state, least_waiting(state.waiting))
    if least_waiting(state.waiting) >= state.pending:  # until the right to what came with a bin is here
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
        is_apart: bool,
    ) -> None:
        self.versions = Side(columns.store(RIGHT), False, Version.size)
        self.waiting = LinkedWaiting(arriving[LEFT])
        self._keys = LinkedKeys(columns, arriving)
        self._results = LinkedResults(
            columns, arriving, (None, self.versions), (columns.kept(LEFT), columns.kept(RIGHT))
        )
        self.own = own = Versions()
        own.held, own.pending, own.outer, own.has_due = -1, COMPLETE, outer, has_due
        own.is_apart = is_apart
        for side, column in enumerate(times):
            own.time[side] = -1 if column is None else arriving[side].position(column)
        self._link()
        keys, texts = self._keys.moving, self._results.texts[RIGHT]
        offer(MovingVersions(columns, arriving[LEFT], keys, self.versions, self.waiting, texts, self._link))

    def _link(self) -> None:
        self.versions.heads = grown(self.versions.heads, self._keys.keys.capacity)
        self._keys.link(self.own.keys)
        self._results.link(self.own.results)
        self.waiting.link(self.own.waiting)

    def grow(self) -> None:
        """Make room for the rows of a message, or for another key."""
        if wanted := self.own.wanted:
            (self.waiting.side if self.own.wanted_side == LEFT else self.versions).reserve(wanted)
        else:
            self._keys.grow()
        self._link()


def compiled_versioned(
    columns: JoinedColumns,
    arriving: tuple[Schema, Schema],
    times: tuple[str | None, str | None],
    outer: bool,
    has_due: bool = False,
    is_apart: bool = False,
) -> Compiled:
    """What `declare_versioned` makes of the same arguments, of words, on one worker. has_due: whether there is an input
    for what becomes due as state moves. is_apart: whether each row is sent at its own time."""
    state = _State(columns, arriving, times, outer, has_due, is_apart)
    named = [column for column in times if column is not None]
    return Compiled(
        versioned, state.own.words, (state,), state.grow,
        lambda _, operands: refused(columns.operator, arriving[LEFT], named, operands[0], operands[1]),
        lambda: {"left": len(state.waiting.side), "right": len(state.versions)},
    )  # fmt: skip
