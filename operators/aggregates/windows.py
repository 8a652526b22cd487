"""Windowed aggregates: each worker folds its own rows into panes, and whoever owns a key has its windows."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import COMPLETE, Schema, kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    Words,
    address_of,
    column_of,
    entry,
    lease,
    new_message,
    words_at,
    world_at,
)
from tokenring.operators.aggregates.moving_panes import MovingPanes, Sliding
from tokenring.operators.aggregates.moving_windows import MovingWindows
from tokenring.operators.aggregates.pane_ends import BEFORE_ALL, PANE, too_late
from tokenring.operators.aggregates.panes import (
    MOST_SENT,
    SCRATCH_ROWS,
    SCRATCH_WORDS,
    TOO_FAR,
    TOO_LATE,
    PaneTable,
    ask_ends,
    by_pane,
    close_first,
    heap_of,
    least_end,
    made_null,
    take_members,
    take_rows,
    take_runs,
)
from tokenring.operators.folds import ALL, FoldState, Plan, forget_state, write_partials, write_results
from tokenring.operators.folds.moving import KeptFolds
from tokenring.operators.mechanisms import CompiledLogic, driven, give, own_record
from tokenring.operators.migrate import Table, offer
from tokenring.operators.state import (
    FIRST_SLOTS,
    LEAST,
    KeyMap,
    Keys,
    KeyWords,
    forget_slots,
    gather,
    grown,
    key_column,
    link_columns,
    link_numbers,
    live_of,
    shared_scratch,
    values_of,
)
from tokenring.operators.state.moving import MovingKeyWords
from tokenring.operators.time import ClockWindows, Panes, start_by_clock, too_early


@kernel
def write_keys(
    panes: PaneTable, keys: KeyMap, columns: int, slots: Words, message: int, position: int
) -> int:
    """Write the last `columns` of keys to a message's columns from `position` on; returns the next one."""
    before = keys.key_columns - panes.by.count  # the pane's end, where there is one
    for column in range(keys.key_columns - columns, keys.key_columns):
        values = column_of(message, position)
        gather(key_column(keys, column), slots, values)
        if column >= before:
            values_of(panes.key_words, column - before, values)
        position += 1
    return position


@kernel
def write_bounds(panes: PaneTable, message: int, end: int) -> int:
    """Write a window's bounds, as far as they are sent, to a message's first columns; returns the next one."""
    position = 0
    if panes.with_start:
        column_of(message, position)[:] = start_by_clock(panes.clock, end) if panes.clock != 0 else end - panes.width
        position += 1
    if panes.with_end:
        column_of(message, position)[:] = end
        position += 1
    return position


@entry
def _emit_panes(world: int, me: int) -> int:
    """Send the state of ended panes, of some in one message at the first one's time."""
    state, panes = driven(world, me), own_record(world, me, PaneTable)
    upto = state.upto - panes.lateness
    if state.upto < COMPLETE:  # rows come still where it is only to be empty
        panes.closed = max(panes.closed, state.upto)
    time = least_end(panes)
    heap, members = heap_of(panes), by_pane(panes, panes.members)
    rows, most = 0, min(live_of(panes.keys), MOST_SENT)
    slots = words_at(lease(world_at(world), 8 * most), most)
    while rows < most and heap[0, 0] <= upto:
        pane = heap[0, 1]
        rows = take_members(panes, pane, slots, rows)
        if members[pane] == 0:
            close_first(panes)
    slots = slots[:rows]
    if rows > 0:
        message = new_message(world, me, 0, rows)
        position = write_keys(panes, panes.keys, panes.by.count + 1, slots, message, 0)
        position = write_partials(panes.folds, slots, message, position)
        if panes.with_all:
            column_of(message, position)[:] = 0
        forget_state(panes.folds, slots)
        forget_slots(panes.keys, slots)
        give(world, me, time, message)
    state.made = least_end(panes)
    return AGAIN if rows > 0 and live_of(panes.open) > 0 and heap[0, 0] <= upto else DONE


@entry
def _emit_windows(world: int, me: int) -> int:
    """Close windows, each in messages of its own."""
    state, panes = driven(world, me), own_record(world, me, PaneTable)
    panes.closed = max(panes.closed, state.upto)
    heap, members, rows = heap_of(panes), by_pane(panes, panes.members), 0
    while live_of(panes.open) > 0 and least_end(panes) <= state.upto:
        if rows >= MOST_SENT:
            return AGAIN
        end, pane, time = heap[0, 0], heap[0, 1], least_end(panes)
        count = min(members[pane], MOST_SENT)
        rows += count
        message = new_message(world, me, 0, count)
        slots = words_at(lease(world_at(world), 8 * count), count)
        take_members(panes, pane, slots, 0)
        if members[pane] == 0:
            close_first(panes)
        position = write_keys(panes, panes.keys, panes.by.count, slots, message, write_bounds(panes, message, end))
        wrong = write_results(panes.folds, slots, message, position)
        if wrong >= 0:
            return made_null(world, me, wrong)
        forget_state(panes.folds, slots)
        forget_slots(panes.keys, slots)
        give(world, me, time, message)
    state.made = least_end(panes)
    return DONE


class CompiledPanes:
    """One worker's open panes and their state."""

    def __init__(
        self, plan: Plan, panes: Panes, partial: bool, table: PaneTable | None = None, merges: bool = False
    ) -> None:
        """partial: whether rows are states that a first stage sent, stamped with their pane's end. table: where
        all that is written down. merges: whether panes are put together to windows."""
        self._plan, self._panes = plan, panes
        self.key_words = KeyWords(plan.schema, plan.by)
        schema = Schema.of({plan.own(PANE): "int64"} | self.key_words.spec)
        self.keys, self.open = Keys(schema, schema.names), Keys(schema, schema.names[:1])
        self.state = FoldState(plan, merges)
        self._scratch = shared_scratch(__name__, SCRATCH_ROWS, SCRATCH_WORDS)
        self._first, self._last, self._members = (np.zeros(FIRST_SLOTS, np.int64) for _ in range(3))
        self._following, self._heap = np.zeros(FIRST_SLOTS, np.int64), np.zeros((FIRST_SLOTS, 2), np.int64)
        self.table = table = table or PaneTable()
        self._by = link_columns(table.by, [plan.schema.position(name) for name in plan.by], 1)  # and the pane's end
        table.key_words, table.columns = self.key_words.address, len(plan.schema)
        table.scratch, table.lateness = address_of(self._scratch), panes.lateness
        table.closed, table.run_end, table.pane_end = BEFORE_ALL, -1, LEAST
        table.time, table.step, table.offset, table.width = -1, panes.step, panes.offset, panes.width
        if partial:
            table.time, table.step = plan.schema.position(plan.own(PANE)), 0
        elif panes.time is not None:
            table.time = plan.schema.position(panes.time)
        if panes.time is not None:
            table.with_start, table.with_end = panes.named
        self._clock = None if panes.clock is None else ClockWindows(panes.clock)
        table.clock = 0 if self._clock is None else self._clock.address
        self._link()

    def _link(self) -> None:
        table = self.table
        link_numbers(table.keys, self.keys)
        link_numbers(table.open, self.open)
        self.state.link(table.folds)
        table.first, table.last = address_of(self._first), address_of(self._last)
        table.members, table.following = address_of(self._members), address_of(self._following)
        table.heap = address_of(self._heap)

    def grow(self) -> None:
        """Make room for another pane, and another key."""
        self.key_words.grow(self.keys, 1)
        self.keys.grow()
        self.open.grow()
        if self._clock is not None:
            self._clock.grow()
        self.state.make_room(self.keys.capacity)
        self.lengthen()

    def lengthen(self) -> None:
        """Let all be as long as panes and keys need it."""
        self.state.reserve(self.keys.capacity)
        self._following = grown(self._following, self.keys.capacity)
        open_panes = self.open.capacity
        self._first, self._last = grown(self._first, open_panes), grown(self._last, open_panes)
        self._members, self._heap = grown(self._members, open_panes), grown(self._heap, open_panes, axis=0)
        self._link()

    def offer(
        self, exchanged: Sequence[str], moves: Sequence[Table], lengthen: Callable[[], None],
        sliding: Sliding | None = None,
    ) -> None:  # fmt: skip
        """Say how this moves: `moves` are the tables of `window_tables`, and rows go by `exchanged`, none if all are
        together; see MovingPanes."""
        kept = KeptFolds(self.state, self.table.folds, lengthen)
        panes = MovingPanes(self.table, self.keys, self.open, lengthen, sliding)
        keys = Schema.of({self._plan.own(PANE): "int64"} | self._plan.keys)
        offer(MovingWindows(moves, MovingKeyWords(keys, self.keys, self.key_words, exchanged, 1), kept, panes))

    def explain(self, error: int, operands: tuple[int, int, int]) -> Exception:
        """What went wrong."""
        if error == TOO_LATE:
            return too_late(self._plan, self._panes, operands[0], operands[1], has_late=True)
        if error == TOO_FAR:
            return too_early(self._plan.operator, self._plan.schema, self._panes.columns, operands[0])
        return self.state.wrong(operands[0], operands[1])


def compiled_local(plan: Plan, panes: Panes, schema: Schema) -> CompiledLogic:
    """The first stage: a worker's own rows by pane; rows of `schema`, the state of panes that have ended. Output is
    pending at the ends of panes, plus the lateness that is allowed."""
    held = CompiledPanes(plan, panes, False)
    held.table.with_all = not plan.by and ALL in schema.positions
    runs = not plan.by and held.state.quick and panes.time is not None and panes.clock is None
    take = take_runs if runs else take_rows
    return CompiledLogic(
        held.table.words, _emit_panes, (take,), (ask_ends,), owners=(held,), make_room=held.grow, explain=held.explain
    )


def compiled_windows(
    plan: Plan, panes: Panes, partial: bool, exchanged: Sequence[str], moves: Sequence[Table]
) -> CompiledLogic:
    """The last stage, of windows that are panes: output is pending at the ends of windows, plus the lateness that is
    allowed. partial: of states that a first stage sends, not of rows. exchanged, moves: as `offer` has them."""
    held = CompiledPanes(plan, panes, partial)
    held.offer(exchanged, moves, held.lengthen)
    return CompiledLogic(
        held.table.words, _emit_windows, (take_rows,), (ask_ends,), late=int(partial), owners=(held,),
        make_room=held.grow, explain=held.explain,
    )  # fmt: skip
