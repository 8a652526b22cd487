"""A join: messages are matched and kept, and frontiers say which rows may go; a token where nulls are due."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COMPLETE, Schema, Time, UsageError, kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    Compiled,
    address_of,
    entry,
    frontier_at,
    is_backed_up,
    monotonic_now_ns,
    peek,
    state_as,
    take,
    wake_at,
)
from tokenring.operators.joins.compiled.expiring import expire_rows
from tokenring.operators.joins.compiled.holding import hold_from, hold_on_from, hold_what_came
from tokenring.operators.joins.compiled.keyed import LinkedKeys, part_at_hand
from tokenring.operators.joins.compiled.results import LinkedResults
from tokenring.operators.joins.compiled.rights import end_telling, hold_to_the_end
from tokenring.operators.joins.compiled.taking import take_rows
from tokenring.operators.joins.compiled.words import AT_MOST, ROOM_ROWS, TOO_LATE, UNTIL_ROOM_NS, Join, least_alone
from tokenring.operators.joins.kept import (
    AT_ONCE,
    LEFT,
    RIGHT,
    SIDES,
    Extents,
    JoinedColumns,
    MovingSides,
    Side,
    UniqueSide,
    refused,
)
from tokenring.operators.mechanisms import drop_first
from tokenring.operators.migrate import offer
from tokenring.operators.state import grown, shared_scratch

_DUE = 2
"""The input for what became due as state moved."""


@kernel
def _take_messages(world: int, me: int, state: Join, side: int) -> int:
    """Take what waits on one side; AGAIN where that makes more pairs than are sent at a time."""
    while True:
        message = peek(world, me, side)
        if message == 0:
            return DONE
        part = part_at_hand(world, message, state.at[side])
        while part != 0:
            status, taken = take_rows(world, me, state, side, part)
            state.at[side] += taken
            if status != DONE:
                return status
            part = part_at_hand(world, message, state.at[side])
        state.at[side] = 0
        take(world, me, side)
        if not state.rights_stay:
            hold_from(world, me, side, state, least_alone(state))
        if state.sent >= AT_MOST:
            return AGAIN


@entry
def joined(world: int, me: int) -> int:
    """Match what came, then let go what frontiers say matches no more: a token where rows may turn out to be alone."""
    state = state_as(world, me, Join)
    hold_to_the_end(world, me, state)
    drop_first(world, me, state)
    state.sent = 0
    if state.rights_stay:
        while peek(world, me, _DUE) != 0:  # it made this run
            take(world, me, _DUE)
    elif state.has_due:
        hold_what_came(world, me, state, least_alone(state))
    if not state.listens:
        for side in range(2):  # rows of the other one need not be kept any more
            state.ended[side] = frontier_at(world, me, side) == COMPLETE
    goes_on = state.at_hand >= 0
    if goes_on and is_backed_up(world):
        wake_at(world, me, monotonic_now_ns() + UNTIL_ROOM_NS)
        return DONE
    first = state.at_hand if goes_on else state.right_first
    for side in (first, 1 - first):
        status = _take_messages(world, me, state, side)
        if status != DONE:
            return status
    if state.rights_stay:
        expire_rows(world, me, state)
        if frontier_at(world, me, LEFT) == frontier_at(world, me, RIGHT) == frontier_at(world, me, _DUE) == COMPLETE:
            end_telling(world, me, state)
        return DONE
    if not state.listens or least_alone(state) < state.pending:  # until the right to what came with a bin is here
        return DONE
    if not expire_rows(world, me, state):
        return AGAIN
    hold_on_from(world, me, state, least_alone(state))
    return DONE


class _State:
    """One worker's tables, and the words that say where they are."""

    def __init__(
        self,
        columns: JoinedColumns,
        arriving: tuple[Schema, Schema],
        extents: Extents | None,
        unique: int,
        has_due: bool,
        worker: int,
        is_apart: bool,
    ) -> None:
        self._columns, how = columns, columns.how
        self._extents, self._arriving = extents, arriving[LEFT]
        bounded = extents is not None
        kept = columns.kept_beside(LEFT), columns.kept_beside(RIGHT)
        self.sides = self._side(LEFT, kept[LEFT], extents, unique), self._side(RIGHT, kept[RIGHT], extents, unique)
        self._keys = LinkedKeys(columns, arriving)
        self._results = LinkedResults(columns, arriving, self.sides, kept)
        self._room = shared_scratch(__name__, ROOM_ROWS, AT_ONCE)
        self._seen = [np.zeros(0, np.int64) for _ in SIDES]  # by slot, where the other side's rows are sent alone
        self.own = own = Join()
        own.held, own.pending, own.space = -1, COMPLETE, address_of(self._room)
        own.at_hand, own.go_on, own.has_due = -1, -1, has_due
        own.listens, own.bounded = bounded or any(how.alone), bounded
        own.once, own.pairs = how.once, how.matches
        own.unique = RIGHT if how.once and not bounded else unique
        own.right_first = unique == RIGHT or how.once
        for side in (LEFT, RIGHT):
            own.alone[side], own.least[side] = how.alone[side], COMPLETE
            where = columns.where[side]
            own.where[side] = -1 if where is None else arriving[side].position(where)
        spans = [0, 0]
        if extents is not None:
            own.is_apart = is_apart or extents.exact
            for side, reach in ((LEFT, extents.left), (RIGHT, extents.right)):
                until = -1 if reach.until is None else arriving[side].position(reach.until)
                (own.left_reach, own.right_reach)[side].words[:] = (
                    *(arriving[side].position(reach.time), until, reach.start, reach.end, reach.due),
                    *(reach.together, reach.first),
                )
                spans[side] = reach.end - reach.start
        own.rights_stay, own.worker = worker >= 0, worker
        self._link()
        offer(
            MovingSides(
                columns, self._keys.moving, self.sides, bounded, self._results.texts, spans, self._came, self._seen
            )
        )

    def _side(
        self, side: int, kept: tuple[str, ...], extents: Extents | None, unique: int
    ) -> Side | UniqueSide:
        store = self._columns.store(side, kept)
        if extents is None or side != unique:
            return Side(store, extents is not None)
        reach = extents.left if side == LEFT else extents.right
        return UniqueSide(store, reach.until is not None or self._columns.where[side] is not None)

    def _came(self, waiting: Sequence[Time]) -> None:
        for side, least in enumerate(waiting):
            self.own.least[side] = min(int(self.own.least[side]), least)
            if self.own.rights_stay:
                self.own.ended[side] = 0  # what came may be of keys that a side which has ended never had
        self._link()

    def _link(self) -> None:
        capacity = self._keys.keys.capacity
        for side, mine in enumerate(self.sides):
            mine.have_slots(capacity)
            if self._columns.how.alone[1 - side]:
                self._seen[side] = grown(self._seen[side], capacity)
                self.own.seen[side] = address_of(self._seen[side])
        self._keys.link(self.own.keys)
        self._results.link(self.own.results)

    def grow(self) -> None:
        """Make room for the rows of a message, or for another key."""
        if wanted := self.own.wanted:
            side = self.sides[self.own.wanted_side]
            if isinstance(side, Side):  # another has room for all keys
                side.reserve(wanted)
        else:
            self._keys.grow()
        self._link()

    def explain(self, error: int, operands: tuple[int, int, int]) -> Exception:
        """What went wrong."""
        if error == TOO_LATE:
            assert self._extents is not None, "other rows are never late"
            reaches = self._extents.left, self._extents.right
            times, of_windows = [reach.window or reach.time for reach in reaches], reaches[0].window is not None
            schema = Schema.of({times[0]: str(self._arriving.kind(reaches[0].time))})
            return refused(self._columns.operator, schema, times, operands[0], operands[1], of_windows)
        side, slot, _ = operands
        found = self._keys.moving.batch(np.array([slot]))
        values = [found[name].tolist()[0] for name in found.schema.names]
        key = ", ".join([f"{name}={value!r}" for name, value in zip(self._columns.on[side], values, strict=True)])
        return UsageError(f"the {SIDES[side]} side has a second row with {key}; it was declared unique")


def nothing_kept() -> dict[str, int]:
    """What inspection shows of a join before anything comes."""
    return dict.fromkeys(SIDES, 0)


def compiled_join(
    columns: JoinedColumns,
    arriving: tuple[Schema, Schema],
    extents: Extents | None,
    unique: int,
    has_due: bool = False,
    rights_of: int = -1,
    is_apart: bool = False,
) -> Compiled:
    """Rows of both sides by key, on one worker. Without extents all are kept for ever, and every two of one key match.

    unique: the side that has at most one row for each key, so that rows of the other side go once they have matched.
    Where left rows are sent once and for ever is the extent, one row a key of the right side says all there is to say.
    A row of the unique side that can match nothing bars its key: rows of the other side need not wait for it. Rows that
    are sent alone are so when it is certain that they match nothing: with extents at their end, otherwise when the key
    is barred, or the other side is finished, which is told by whether it ever had a row of their key.

    has_due: whether there is an input for what becomes due as state moves. rights_of: the worker that this is, where
    rights stay (see moving_rights); else -1. is_apart: whether rows alone that are due at different times are sent
    apart.
    """
    state = _State(columns, arriving, extents, unique, has_due, rights_of, is_apart)
    return Compiled(
        joined, state.own.words, (state,), state.grow, state.explain,
        lambda: {"left": len(state.sides[LEFT]), "right": len(state.sides[RIGHT])},
    )  # fmt: skip
