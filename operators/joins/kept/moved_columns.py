"""The columns of kept rows as tables have them while state moves: the key's, then those that the key does not tell."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Batch, Schema
from tokenring.engine.compiled import heap_of_words
from tokenring.operators.joins.kept.joined_columns import LEFT, JoinedColumns
from tokenring.operators.migrate import Table
from tokenring.operators.state import HeapedColumns, KeptTexts, RowStore, joined, wrapped


def said_of(columns: JoinedColumns) -> str:
    """Of which rows what a join keeps is, in words."""
    on = [f"{left} = {right}" for left, right in zip(*columns.on, strict=True)]
    return f"on {', '.join(on)}; {columns.how}; where {columns.where}"


def keys_table(columns: JoinedColumns) -> Table:
    """The key's columns alone."""
    kinds = {f"key {number}": columns.sides[LEFT].kind(name).name for number, name in enumerate(columns.on[LEFT])}
    return Table(Schema.of(kinds), tuple(kinds))


def rows_table(columns: JoinedColumns, side: int, *words: str) -> Table:
    """Rows that are kept of one side: their keys, what the keys do not tell, and words about them."""
    key = keys_table(columns)
    kinds = {f"row {name}": str(columns.sides[side].kind(name)) for name in columns.kept_beside(side)}
    return Table(Schema.of(key.schema.spec() | kinds | dict.fromkeys(words, "int64")), key.key)


def waiting_table(columns: JoinedColumns, rows: Schema) -> Table:
    """Rows of the left side, as they came, that wait: with their own times, and numbers of the messages that they were.
    """
    kinds = {f"row {name}": kind for name, kind in rows.spec().items()}
    schema = Schema.of(kinds | {"time": "int64", "piece": "int64"})
    return Table(schema, tuple([f"row {name}" for name in columns.on[LEFT]]))


class MovedColumns:
    """Rows as they are in a store, taken out and put in. texts: where those of the store are, if it has any. on:
    the names there of what the table has as its key."""

    __slots__ = ("_named", "_names", "_store", "_table", "_texts")

    def __init__(
        self, table: Table, store: RowStore | None, texts: KeptTexts | None, on: tuple[str, ...] = ()
    ) -> None:
        self._table, self._store, self._texts = table, store, texts
        names = () if store is None else store.schema.names
        self._names = [name for name in names if f"row {name}" in table.schema.positions]
        self._named = [f"row {name}" if name in self._names else table.key[on.index(name)] for name in names]

    def of(self, keys: HeapedColumns, places: np.ndarray, words: Sequence[np.ndarray]) -> Batch:
        """The table of the rows at these places, which can be read until rows are put. keys, words: its columns before
        those of the store, and behind."""
        store, parts = self._store, [keys]
        if store is not None:
            for name in self._names:
                column, heap = store.column(store.schema.position(name), places)
                parts.append(((column,), (None if heap is None else heap_of_words(),)))
        parts.append((tuple(words), (None,) * len(words)))
        return wrapped(self._table.schema, joined(*parts), len(places))

    def taken(self, keys: HeapedColumns, places: np.ndarray, words: Sequence[np.ndarray]) -> Batch:
        """The same, of rows that are forgotten."""
        batch = self.of(keys, places, words).copy()
        self.forget(places)
        return batch

    def forget(self, places: np.ndarray) -> None:
        """What is at these places is not needed any more."""
        if self._store is not None:
            self._store.drop(places)

    def put(self, places: np.ndarray, table: Batch, limit: int) -> None:
        """Store the rows of a table at these places, which are below `limit`."""
        store = self._store
        if store is None or not len(places):
            return
        positions = [table.schema.position(name) for name in self._named]
        heaps = tuple([table.heaps[position] if table.heaps else None for position in positions])
        columns = tuple([np.ascontiguousarray(table.columns[position]) for position in positions])
        stored = store.reserve(limit)
        live = [words[:limit] for words, kind in zip(stored, store.schema.kinds, strict=True) if kind.is_text]
        for target, words, heap, kind in zip(stored, columns, heaps, store.schema.kinds, strict=True):
            if kind.is_text:
                assert heap is not None and self._texts is not None
                words = self._texts.keep(words, heap, live)
            target[places] = words.view(np.int64)
