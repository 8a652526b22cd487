"""KeyedMoves: state by key as tables, whatever it is that is kept of keys."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from tokenring.engine import COMPLETE, Batch, Schema, Time
from tokenring.engine.columns import free_name
from tokenring.operators.migrate import Leaving, Table
from tokenring.operators.state import HeapedColumns, joined, wrapped
from tokenring.operators.state.moving.key_slots import KeySlots

Rows = tuple[HeapedColumns, np.ndarray | None]
"""Columns of a table, behind those of keys; and to which of the slots, by position, each row belongs: None if each has
one, in their order."""


class Kept(Protocol):
    """What is kept of slots. Of the first table each slot has one row; of others any number."""

    def out(self, slots: np.ndarray) -> Sequence[Rows]:
        """What is kept of these slots, for each table, which is forgotten: int64 (n,)."""

    def put(self, limit: int, slots: Sequence[np.ndarray], tables: Sequence[Batch]) -> None:
        """Keep rows of others' tables, whose keys have new slots, below `limit`: int64 (rows,) for each table."""


class Nothing:
    """Nothing is kept of slots: it is their keys that count."""

    def out(self, slots: np.ndarray) -> Sequence[Rows]:
        """See Kept."""
        return [(((), ()), None)]

    def put(self, limit: int, slots: Sequence[np.ndarray], tables: Sequence[Batch]) -> None:
        """See Kept."""


def no_more() -> None:
    """Nothing else is to be done."""


def tables_of(keys: Schema, exchanged: Sequence[str], kinds: Sequence[Mapping[str, str]]) -> list[Table]:
    """Tables of rows that begin with keys. exchanged: the columns of `keys` by which rows are exchanged; if there are
    none, that is one that is 0 in all rows. kinds: names and kinds of the columns behind keys, for each table."""
    before = [str(kind) for kind in keys.kinds]
    by = [keys.position(name) for name in exchanged]
    if not by:
        before, by = [*before, "int64"], [len(keys)]
    tables = []
    for more in kinds:
        names = [free_name(f"#key{at}", more) for at in range(len(before))]
        schema = Schema.of(dict(zip(names, before, strict=True)) | dict(more))
        tables.append(Table(schema, tuple([names[at] for at in by])))
    return tables


def rows_out(schemas: Sequence[Schema], keys: HeapedColumns, rows: Sequence[Rows], count: int) -> list[Batch]:
    """The tables of `count` slots, of these keys."""
    made = []
    for schema, (behind, which) in zip(schemas, rows, strict=True):
        before = keys if which is None else (tuple([words[which] for words in keys[0]]), keys[1])
        columns, heaps = joined(before, behind)
        columns = tuple([words.view(dtype) for words, dtype in zip(columns, schema.dtypes, strict=True)])
        made.append(wrapped(schema, (columns, heaps), count if which is None else len(which)))
    return made


def slots_by_table(keys: KeySlots, tables: Sequence[Batch]) -> list[np.ndarray]:
    """The slots of all tables' rows, new ones of the first one's."""
    return [keys.enter(tables[0]), *[keys.find(table) for table in tables[1:]]]


class KeyedMoves:
    """How keys move, and what is kept of them, on one worker; nothing of which becomes due."""

    def __init__(
        self,
        tables: Sequence[Table],
        keys: KeySlots,
        kept: Kept | None = None,
        changed: Callable[[], None] = no_more,
    ) -> None:
        """changed: called when keys or what is kept of them may be elsewhere."""
        self._schemas = [table.schema for table in tables]
        self._keys, self._kept, self._changed = keys, Nothing() if kept is None else kept, changed

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """See Moves."""
        slots = self._keys.leaving(leaving)
        made = rows_out(self._schemas, self._keys.columns(slots), self._kept.out(slots), len(slots))
        self._keys.forget(slots)
        self._changed()
        return made

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """See Moves."""
        slots = slots_by_table(self._keys, tables)
        self._kept.put(self._keys.limit, slots, tables)
        self._changed()
        return COMPLETE
