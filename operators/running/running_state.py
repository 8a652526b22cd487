"""The state of running aggregates, and of the first rows of keys, in the worker's inner loop; and how it moves."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Schema
from tokenring.engine.compiled import Entry, Record, address_of
from tokenring.operators.folds import ALL, BLOCK, Folds, FoldState, Plan
from tokenring.operators.folds.moving import KeptFolds, fold_kinds
from tokenring.operators.mechanisms import CompiledLogic
from tokenring.operators.migrate import Table, offer
from tokenring.operators.state import (
    FIRST_SLOTS,
    KeyColumns,
    KeyMap,
    Keys,
    KeyWords,
    grown,
    link_columns,
    link_numbers,
    shared_scratch,
)
from tokenring.operators.state.moving import Kept, KeyedMoves, MovingKeyWords, OneKey, tables_of

SCRATCH_ROWS = 6


class Running(Record):
    """`keys`, `folds`: where keys and folds are. `by`: the columns of the key. `stamps`: by slot the call that has
    listed it; `calls`: how many there were. `row`, `found`, `listed`: the row to go on with after there was no room,
    what was found before it, and the message in whose first column that is, 0 outside of calls. `partial`: whether the
    words of state are sent, which start anew with each message. `quick`: whether stretches can be folded. `width`: how
    many columns arrive. `key_words`: where KeyWords are."""

    keys: KeyMap
    folds: Folds
    by: KeyColumns
    scratch: int
    stamps: int
    calls: int
    row: int
    found: int
    listed: int
    partial: int
    quick: int
    width: int
    key_words: int


def moved_tables(plan: Plan) -> list[Table]:
    """The tables that running aggregates by key are as they move."""
    return tables_of(plan.schema.select(plan.by), plan.by, fold_kinds(plan))


def moved_group(plan: Plan) -> list[Table]:
    """The same of all rows."""
    return tables_of(Schema.of({ALL: "int64"}), (ALL,), fold_kinds(plan))


def moved_keys(schema: Schema, by: Sequence[str]) -> list[Table]:
    """The same of keys of which nothing else is kept."""
    return tables_of(schema.select(by), by, [{}])


class RunningState:
    """One worker's keys and what is kept of them."""

    def __init__(self, schema: Schema, by: Sequence[str], plan: Plan | None, moves: Sequence[Table] = ()) -> None:
        """by: the key's columns; none for one group of all rows. moves: the tables that it is as it moves."""
        self._key_words = KeyWords(schema, by)
        self._keys = Keys(Schema.of(self._key_words.spec), by) if by else None
        self._state = None if plan is None else FoldState(plan)
        self._stamps = np.zeros(FIRST_SLOTS, np.int64)
        self._scratch = shared_scratch(__name__, SCRATCH_ROWS, BLOCK)
        self.own = own = Running()
        self._by = link_columns(own.by, [schema.position(name) for name in by])
        own.scratch, own.width = address_of(self._scratch), len(schema)
        own.key_words = self._key_words.address
        if self._state is not None and not by:
            own.quick = self._state.quick
            self._start()
        self._link()
        if moves:
            self._offer(schema, by, moves)

    def _start(self) -> None:
        """The group of all rows has none."""
        assert self._state is not None
        self._state.start(np.zeros(1, np.int64))

    def _offer(self, schema: Schema, by: Sequence[str], moves: Sequence[Table]) -> None:
        kept: Kept | None = None
        if self._state is not None:
            kept = KeptFolds(self._state, self.own.folds, self._link)
        if self._keys is None:
            offer(KeyedMoves(moves, OneKey(self._start), kept, self._link))
        else:
            keys = MovingKeyWords(schema.select(by), self._keys, self._key_words, by)
            offer(KeyedMoves(moves, keys, kept, self._link))

    def _link(self) -> None:
        if self._keys is not None:
            self._stamps = grown(self._stamps, self._keys.capacity)
            link_numbers(self.own.keys, self._keys)
        if self._state is not None:
            self._state.link(self.own.folds)
        self.own.stamps = address_of(self._stamps)

    def _grow(self) -> None:
        if self._keys is not None:
            self._key_words.grow(self._keys)
            self._keys.grow()
        if self._state is not None:
            self._state.make_room(1 if self._keys is None else self._keys.capacity)
        self._link()

    def _explain(self, _: int, operands: tuple[int, int, int]) -> Exception:
        assert self._state is not None
        return self._state.wrong(operands[0], operands[1])

    def logic(self, answers: Entry) -> CompiledLogic:
        """What a driver calls; answers: one of the entries of this state."""
        return CompiledLogic(self.own.words, answers, owners=(self,), make_room=self._grow, explain=self._explain)
