"""Running aggregates, and the first rows of keys, in the worker's inner loop: logics that answer a message at once."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import (
    DONE,
    FAILED,
    NEEDS_ROOM,
    address_of,
    addresses_of,
    alias_of,
    column_of,
    entry,
    fail,
    new_message,
    rows_of,
    table_at,
    words_at,
    world_at,
)
from tokenring.operators.folds import (
    BLOCK,
    FOLDS_WORDS,
    NO_ROOM,
    Accumulators,
    FoldTables,
    Plan,
    distinct_slots,
    fold_block,
    fold_stretches,
    gather,
    start_slot,
    write_partials,
    write_results,
)
from tokenring.operators.mechanisms import MESSAGE, REPLY, CompiledLogic, driven, own_words
from tokenring.operators.running.text_keys import TextKeys, by_numbers, texts_of
from tokenring.operators.state import (
    NUMBERS_WORDS,
    PLACES,
    SOURCE_WORDS,
    Keys,
    grown,
    key_column,
    link_numbers,
    number_by,
)

# Words of its own: where keys and folds are. BY: the columns of the key among those that arrive. STAMPS: by slot the
# call that has listed it. ROW, FOUND, LISTED: the row to go on with after there was no room, what was found before it,
# and the message in whose first column that is, 0 outside of calls. PARTIAL: whether the words of state are sent, which
# start anew with each message. QUICK: whether stretches can be folded. TEXT_KEYS: where TextKeys are.
_KEYS = 0
_FOLDED = NUMBERS_WORDS
_BY, _BY_COUNT, _SOURCES, _SCRATCH, _STAMPS, _CALLS, _ROW, _FOUND, _LISTED, _PARTIAL, _QUICK, _WIDTH, _TEXT_KEYS = \
    range(_FOLDED + FOLDS_WORDS, _FOLDED + FOLDS_WORDS + 13)  # fmt: skip
_OWN_WORDS = _TEXT_KEYS + 1
_WANTED, _SLOTS, _FRESH, _FRESH_ROWS, _CHOSEN, _PICKED = range(6)
_SCRATCH_ROWS = 6


@kernel
def _number(own, message, at, rows, scratch):  # type: ignore[no-untyped-def]
    """Number the keys of rows from `at` on; returns (how many were numbered, how many keys are new)."""
    return number_by(
        own, _KEYS, _BY, message, at, rows, scratch[_WANTED], scratch[_SLOTS], scratch[_FRESH], scratch[_FRESH_ROWS]
    )


@kernel
def _overflow(world, me, fold):  # type: ignore[no-untyped-def]
    fail(world, me, -1, fold, 0, 0)
    return FAILED


@entry
def _answer_changes(world, me):  # type: ignore[no-untyped-def]
    """Fold a message's rows; the values so far of the keys in it, in the order in which they appear."""
    state, own = driven(world, me), own_words(world, me, _OWN_WORDS)
    message = state[MESSAGE]
    rows, at = rows_of(message), own[_ROW]
    scratch = table_at(own[_SCRATCH], _SCRATCH_ROWS, BLOCK)
    if own[_LISTED] == 0:
        own[_LISTED], own[_FOUND] = new_message(world, me, 0, rows), 0
        own[_CALLS] += 1
    changed = column_of(own[_LISTED], 0)
    stamps = words_at(own[_STAMPS], own[_KEYS + PLACES])
    keyed = by_numbers(world, own[_TEXT_KEYS], message, own[_WIDTH], words_at(own[_BY], own[_BY_COUNT]))
    if keyed == 0:
        return NEEDS_ROOM
    while at < rows:
        some = min(BLOCK, rows - at)
        done, added = _number(own, keyed, at, some, scratch)
        for i in range(added):
            start_slot(own, _FOLDED, scratch[_FRESH, i])
            stamps[scratch[_FRESH, i]] = -1
        if done < some:
            own[_ROW] = at
            return NEEDS_ROOM
        slots = scratch[_SLOTS][:some]
        wrong = fold_block(own, _FOLDED, message, at, slots, scratch[_CHOSEN], scratch[_PICKED])
        if wrong == NO_ROOM:
            own[_ROW] = at
            return NEEDS_ROOM
        if wrong >= 0:
            return _overflow(world, me, wrong)
        own[_FOUND] += distinct_slots(slots, stamps, own[_CALLS], changed[own[_FOUND] :])
        at += some
    changed = changed[: own[_FOUND]]
    own[_ROW] = own[_LISTED] = 0
    reply = new_message(world, me, 0, len(changed))
    for column in range(own[_BY_COUNT]):
        gather(key_column(own, _KEYS, column), changed, column_of(reply, column))
        texts_of(own[_TEXT_KEYS], column, column_of(reply, column))
    write_results(own, _FOLDED, changed, reply, own[_BY_COUNT])
    state[REPLY] = reply
    return DONE


@entry
def _answer_each(world, me):  # type: ignore[no-untyped-def]
    """Fold a message's rows, one by one; of each the values so far of its key."""
    state, own = driven(world, me), own_words(world, me, _OWN_WORDS)
    message = state[MESSAGE]
    rows, at, by = rows_of(message), own[_ROW], own[_BY_COUNT]
    scratch = table_at(own[_SCRATCH], _SCRATCH_ROWS, BLOCK)
    if own[_LISTED] == 0:
        own[_LISTED] = new_message(world, me, 0, rows)
    reply, one = own[_LISTED], new_message(world, me, 0, 1)
    while at < rows:
        some = min(BLOCK, rows - at)
        done, added = _number(own, message, at, some, scratch)
        for i in range(added):
            start_slot(own, _FOLDED, scratch[_FRESH, i])
        if done < some:
            own[_ROW] = at
            return NEEDS_ROOM
        slots = scratch[_SLOTS][:some]
        for column in range(by):
            gather(key_column(own, _KEYS, column), slots, column_of(reply, column)[at:])
        for i in range(some):
            slot = slots[i : i + 1]
            wrong = fold_block(own, _FOLDED, message, at + i, slot, scratch[_CHOSEN], scratch[_PICKED])
            if wrong == NO_ROOM:
                own[_ROW] = at + i
                return NEEDS_ROOM
            if wrong >= 0:
                return _overflow(world, me, wrong)
            write_results(own, _FOLDED, slot, one, by)
            for column in range(by, len(addresses_of(one))):
                column_of(reply, column)[at + i] = column_of(one, column)[0]
        at += some
    own[_ROW] = own[_LISTED] = 0
    state[REPLY] = reply
    return DONE


@entry
def _answer_all(world, me):  # type: ignore[no-untyped-def]
    """Fold a message's rows, which are all of one group: its words of state, behind a 0, or its results so far."""
    state, own = driven(world, me), own_words(world, me, _OWN_WORDS)
    message = state[MESSAGE]
    rows = rows_of(message)
    scratch = table_at(own[_SCRATCH], _SCRATCH_ROWS, BLOCK)
    if own[_PARTIAL]:
        start_slot(own, _FOLDED, 0)
    slots = scratch[_SLOTS]  # which is 0 throughout
    wrong = -1
    if own[_QUICK]:
        bounds = scratch[_WANTED][:2]
        bounds[0], bounds[1] = 0, rows
        if rows > 0:
            wrong = fold_stretches(own, _FOLDED, message, 0, 1, bounds, slots)
    else:
        for at in range(0, rows, BLOCK):
            if wrong < 0:
                some = slots[: min(BLOCK, rows - at)]
                wrong = fold_block(own, _FOLDED, message, at, some, scratch[_CHOSEN], scratch[_PICKED])
    if wrong >= 0:
        return _overflow(world, me, wrong)
    reply = new_message(world, me, 0, 1)
    if own[_PARTIAL]:
        column_of(reply, 0)[0] = 0
        write_partials(own, _FOLDED, slots[:1], reply, 1)
    else:
        write_results(own, _FOLDED, slots[:1], reply, 0)
    state[REPLY] = reply
    return DONE


@entry
def _answer_firsts(world, me):  # type: ignore[no-untyped-def]
    """The rows whose keys are new."""
    state, own = driven(world, me), own_words(world, me, _OWN_WORDS)
    message = state[MESSAGE]
    rows, at = rows_of(message), own[_ROW]
    scratch = table_at(own[_SCRATCH], _SCRATCH_ROWS, BLOCK)
    if own[_LISTED] == 0:
        own[_LISTED], own[_FOUND] = new_message(world, me, 0, rows), 0
    found = column_of(own[_LISTED], 0)
    keyed = by_numbers(world, own[_TEXT_KEYS], message, own[_WIDTH], words_at(own[_BY], own[_BY_COUNT]))
    if keyed == 0:
        return NEEDS_ROOM
    while at < rows:
        some = min(BLOCK, rows - at)
        done, added = _number(own, keyed, at, some, scratch)
        for i in range(added):
            found[own[_FOUND] + i] = at + scratch[_FRESH_ROWS, i]
        own[_FOUND] += added
        if done < some:
            own[_ROW] = at
            return NEEDS_ROOM
        at += some
    found = found[: own[_FOUND]]
    own[_ROW] = own[_LISTED] = 0
    if len(found) == rows:
        state[REPLY] = alias_of(world_at(world), message, 0, own[_WIDTH])
        return DONE
    reply = new_message(world, me, 0, len(found))
    for column in range(own[_WIDTH]):
        gather(column_of(message, column), found, column_of(reply, column))
    state[REPLY] = reply
    return DONE


class _State:
    """One worker's keys and what is kept of them. by: the key's columns; none for one group of all rows."""

    def __init__(self, schema: Schema, by: Sequence[str], plan: Plan | None) -> None:
        self._texts = TextKeys(schema, by)
        self._keys = Keys(self._texts.schema, by) if by else None
        self._state = None if plan is None else Accumulators(plan)
        self._tables = None if plan is None or self._state is None else FoldTables(plan, self._state)
        self._stamps = np.zeros(64, np.int64)
        self._by = np.array([schema.position(name) for name in by], np.int64)
        self._sources = np.zeros((len(by), SOURCE_WORDS), np.int64)
        self._scratch = np.zeros((_SCRATCH_ROWS, BLOCK), np.int64)
        self.words = words = np.zeros(_OWN_WORDS, np.int64)
        words[_BY], words[_BY_COUNT], words[_SOURCES] = address_of(self._by), len(by), address_of(self._sources)
        words[_SCRATCH], words[_WIDTH] = address_of(self._scratch), len(schema)
        words[_TEXT_KEYS] = self._texts.address
        if self._state is not None and not by:
            words[_QUICK] = self._state.quick
            self._state.reset(np.zeros(1, np.int64), 1)
        self._link()

    def _link(self) -> None:
        if self._keys is not None:
            link_numbers(self.words, _KEYS, self._keys)
        if self._tables is not None:
            self._tables.link(self.words, _FOLDED)
        self.words[_STAMPS] = address_of(self._stamps)

    def _grow(self) -> None:
        assert self._keys is not None
        self._texts.grow()
        self._keys.grow()
        self._stamps = grown(self._stamps, self._keys.capacity)
        if self._tables is not None:
            self._tables.make_room(self._keys.capacity)
        self._link()

    def _explain(self, _: int, operands: tuple[int, int, int]) -> Exception:
        assert self._state is not None
        return self._state.overflow(operands[0])

    def logic(self, kind: str) -> CompiledLogic:
        """What a driver calls: for "changes", "each", "all" or "firsts"."""
        entries = {"changes": _answer_changes, "each": _answer_each, "all": _answer_all, "firsts": _answer_firsts}
        return CompiledLogic(
            self.words, entries[kind], owners=(self,), make_room=self._grow, explain=self._explain
        )


def compiled_changes(plan: Plan, each: bool) -> CompiledLogic:
    """Running aggregates by key, of a plan for which `can_fold` holds; each: after each row, not each message."""
    return _State(plan.schema, plan.by, plan).logic("each" if each else "changes")


def compiled_all(plan: Plan, partial: bool) -> CompiledLogic:
    """Running aggregates of all rows, of a plan for which `can_fold` holds. partial: the state of each message's."""
    state = _State(plan.schema, (), plan)
    state.words[_PARTIAL] = partial
    return state.logic("all")


def compiled_firsts(schema: Schema, by: Sequence[str]) -> CompiledLogic:
    """The first row of each key, of words."""
    return _State(schema, by, None).logic("firsts")
