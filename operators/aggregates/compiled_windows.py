"""Windowed aggregates in the worker's inner loop: what `LocalPanes`, and `Windows` of one pane each, send of panes."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import COMPLETE, Schema, kernel
from tokenring.engine.compiled import DONE, address_of, column_of, entry, new_message
from tokenring.operators.aggregates.compiled_panes import (
    BY,
    BY_COUNT,
    CLOSED,
    COLUMNS,
    FIRST,
    FOLDED,
    FOLLOWING,
    HEAP,
    KEY_WORDS,
    KEYS,
    LAST,
    LATENESS,
    MEMBERS,
    OFFSET,
    OWN_WORDS,
    PANE_END,
    PANES,
    RUN_END,
    SCRATCH,
    SCRATCH_ROWS,
    SCRATCH_WORDS,
    SOURCES,
    STEP,
    TIME,
    TOO_LATE,
    WIDTH,
    WITH_ALL,
    WITH_END,
    WITH_START,
    close_first,
    heap_of,
    least_end,
    list_members,
    pane_words,
    take_rows,
    take_runs,
)
from tokenring.operators.aggregates.moving_panes import MovingPanes, Sliding
from tokenring.operators.aggregates.moving_windows import MovingWindows
from tokenring.operators.aggregates.pane_state import BEFORE_ALL, PANE, too_late
from tokenring.operators.folds import (
    ALL,
    Accumulators,
    FoldTables,
    Plan,
    drop_sets,
    gather,
    write_partials,
    write_results,
)
from tokenring.operators.folds.moving import CompiledFolds
from tokenring.operators.mechanisms import MADE, UPTO, CompiledLogic, driven, give, own_words
from tokenring.operators.migrate import Table, offer
from tokenring.operators.state import (
    KEY_COLUMNS,
    LEAST,
    SOURCE_WORDS,
    Keys,
    KeyWords,
    forget_slots,
    grown,
    key_column,
    link_numbers,
    live_of,
    shared_scratch,
    values_of,
)
from tokenring.operators.state.moving import MovingKeyWords
from tokenring.operators.time import Panes


@kernel
def write_keys(own, at, columns, slots, message, position):  # type: ignore[no-untyped-def]
    """Write the last `columns` of the keys at `at` to a message's columns from `position` on; returns the next one."""
    before = own[at + KEY_COLUMNS] - own[BY_COUNT]  # the pane's end, where there is one
    for column in range(own[at + KEY_COLUMNS] - columns, own[at + KEY_COLUMNS]):
        values = column_of(message, position)
        gather(key_column(own, at, column), slots, values)
        if column >= before:
            values_of(own[KEY_WORDS], column - before, values)
        position += 1
    return position


@kernel
def write_bounds(own, message, end):  # type: ignore[no-untyped-def]
    """Write a window's bounds, as far as they are sent, to a message's first columns; returns the next one."""
    position = 0
    if own[WITH_START]:
        column_of(message, position)[:] = end - own[WIDTH]
        position += 1
    if own[WITH_END]:
        column_of(message, position)[:] = end
        position += 1
    return position


@entry
def _emit_panes(world, me):  # type: ignore[no-untyped-def]
    """Send the state of ended panes, all in one message at the first one's time."""
    state, own = driven(world, me), own_words(world, me, OWN_WORDS)
    upto = state[UPTO] - own[LATENESS]
    if state[UPTO] < COMPLETE:  # rows come still where it is only to be empty
        own[CLOSED] = max(own[CLOSED], state[UPTO])
    time = least_end(own)
    heap, members = heap_of(own), pane_words(own, MEMBERS)
    rows = 0
    for i in range(live_of(own, PANES)):
        if heap[i, 0] <= upto:
            rows += members[heap[i, 1]]
    if rows > 0:
        message = new_message(world, me, 0, rows)
        slots = column_of(new_message(world, me, 0, rows), 0)
        listed = 0
        while live_of(own, PANES) > 0 and heap[0, 0] <= upto:
            listed = list_members(own, heap[0, 1], slots, listed)
            close_first(own)
        position = write_keys(own, KEYS, own[BY_COUNT] + 1, slots, message, 0)
        position = write_partials(own, FOLDED, slots, message, position)
        if own[WITH_ALL]:
            column_of(message, position)[:] = 0
        forget_slots(own, KEYS, slots)
        give(world, me, time, message)
    state[MADE] = least_end(own)
    return DONE


@entry
def _emit_windows(world, me):  # type: ignore[no-untyped-def]
    """Close windows, a message each."""
    state, own = driven(world, me), own_words(world, me, OWN_WORDS)
    own[CLOSED] = max(own[CLOSED], state[UPTO])
    heap, members = heap_of(own), pane_words(own, MEMBERS)
    while live_of(own, PANES) > 0 and least_end(own) <= state[UPTO]:
        end, pane, time = heap[0, 0], heap[0, 1], least_end(own)
        message = new_message(world, me, 0, members[pane])
        slots = column_of(new_message(world, me, 0, members[pane]), 0)
        list_members(own, pane, slots, 0)
        close_first(own)
        position = write_keys(own, KEYS, own[BY_COUNT], slots, message, write_bounds(own, message, end))
        write_results(own, FOLDED, slots, message, position)
        drop_sets(own, FOLDED, slots)
        forget_slots(own, KEYS, slots)
        give(world, me, time, message)
    state[MADE] = least_end(own)
    return DONE


class CompiledPanes:
    """One worker's open panes and their state."""

    def __init__(self, plan: Plan, panes: Panes, partial: bool, more_words: int = 0) -> None:
        """partial: whether rows are states that a first stage sent, stamped with their pane's end. more_words: behind
        those of panes."""
        self._plan, self._panes = plan, panes
        self.key_words = KeyWords(plan.schema, plan.by)
        schema = Schema.of({PANE: "int64"} | self.key_words.spec)
        self.keys, self.open = Keys(schema, schema.names), Keys(schema, (PANE,))
        self.state = Accumulators(plan)
        self._tables = FoldTables(plan, self.state)
        self._by = np.array([plan.schema.position(name) for name in plan.by], np.int64)
        self._sources = np.zeros((len(schema), SOURCE_WORDS), np.int64)
        self._scratch = shared_scratch(__name__, SCRATCH_ROWS, SCRATCH_WORDS)
        self._first, self._last, self._members = (np.zeros(64, np.int64) for _ in range(3))
        self._following, self._heap = np.zeros(64, np.int64), np.zeros((64, 2), np.int64)
        self.words = words = np.zeros(OWN_WORDS + more_words, np.int64)
        words[BY], words[BY_COUNT], words[SOURCES] = address_of(self._by), len(self._by), address_of(self._sources)
        words[KEY_WORDS], words[COLUMNS] = self.key_words.address, len(plan.schema)
        words[SCRATCH], words[LATENESS] = address_of(self._scratch), panes.lateness
        words[CLOSED], words[RUN_END], words[PANE_END] = BEFORE_ALL, -1, LEAST
        words[TIME], words[STEP], words[OFFSET], words[WIDTH] = -1, panes.step, panes.offset, panes.width
        if partial:
            words[TIME], words[STEP] = plan.schema.position(PANE), 0
        elif panes.time:
            words[TIME] = plan.schema.position(panes.time)
        if panes.time:
            words[WITH_START], words[WITH_END] = panes.named
        self._link()

    def _link(self) -> None:
        words = self.words
        link_numbers(words, KEYS, self.keys)
        link_numbers(words, PANES, self.open)
        self._tables.link(words, FOLDED)
        words[FIRST], words[LAST] = address_of(self._first), address_of(self._last)
        words[MEMBERS], words[FOLLOWING] = address_of(self._members), address_of(self._following)
        words[HEAP] = address_of(self._heap)

    def grow(self) -> None:
        """Make room for another pane, and another key."""
        self.key_words.grow(self.keys, 1)
        self.keys.grow()
        self.open.grow()
        self._tables.make_room(self.keys.capacity)
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
        """Say how this moves: see `Windows`, and MovingPanes."""
        kept = CompiledFolds(self.state, self._tables, self.words, FOLDED, lengthen)
        panes = MovingPanes(self.words, self.keys, self.open, lengthen, sliding)
        keys = Schema.of({PANE: "int64"} | self._plan.keys)
        offer(MovingWindows(moves, MovingKeyWords(keys, self.keys, self.key_words, exchanged, 1), kept, panes))

    def explain(self, error: int, operands: tuple[int, int, int]) -> Exception:
        """What went wrong."""
        if error == TOO_LATE:
            return too_late(self._plan, self._panes, operands[0], operands[1])
        return self.state.wrong(operands[0])


def compiled_local(plan: Plan, panes: Panes, schema: Schema) -> CompiledLogic:
    """`LocalPanes` of panes without a time zone, of a plan for which `can_fold` holds."""
    held = CompiledPanes(plan, panes, False)
    held.words[WITH_ALL] = ALL in schema.positions
    take = take_runs if not plan.by and held.state.quick and panes.time else take_rows
    return CompiledLogic(
        held.words, _emit_panes, (take,), owners=(held,), make_room=held.grow, explain=held.explain
    )


def compiled_windows(
    plan: Plan, panes: Panes, partial: bool, exchanged: Sequence[str], moves: Sequence[Table]
) -> CompiledLogic:
    """`Windows` that are panes, of a plan for which `can_fold` holds. partial: of states that a first stage sends, not
    of rows. exchanged, moves: as `Windows` has them."""
    held = CompiledPanes(plan, panes, partial)
    held.offer(exchanged, moves, held.lengthen)
    return CompiledLogic(
        held.words, _emit_windows, (take_rows,), late=int(partial), owners=(held,), make_room=held.grow,
        explain=held.explain,
    )  # fmt: skip
