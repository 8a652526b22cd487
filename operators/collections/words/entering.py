"""Batches as they enter an arrangement: a table of canonical words, which are equal where the values are."""

import numpy as np

from tokenring.engine import TABLE, WORDS, Batch, Schema, SchemaError, boolean, int64, kernel
from tokenring.engine.columns import FLOAT, TEXT
from tokenring.engine.compiled import Words, address_of, record_at, records_of, words_at
from tokenring.operators.collections.words.interning import interned_texts
from tokenring.operators.collections.words.kinds import KindRow, kinds_table
from tokenring.operators.state import NAN, UNKNOWN, TextTable, canonical_floats, number_texts


@kernel(boolean(int64, WORDS, WORDS, TABLE, int64, TABLE, int64))
def enter_columns(texts: int, columns: Words, heaps: Words, kinds: Words, rows: int, target: Words, at: int) -> bool:
    """Write the canonical words of columns to a table, from row `at` on; False if interned texts have no room, which
    `Interned.make_room` cures: the call is to be repeated then.

    texts: the address of the worker's TextTable, 0 if no column is text; columns, heaps: the addresses of each
    column's words and of what those of text count from; kinds: as `kinds_table` has them; rows: how many; target: int64
    (columns, at least at + rows).
    """
    rows_of_kinds = records_of(kinds, KindRow)
    for column in range(len(columns)):
        words, order = words_at(columns[column], rows), rows_of_kinds[column].order
        entered = target[column, at : at + rows]
        if order == TEXT:
            null = rows_of_kinds[column].null
            if not number_texts(record_at(texts, TextTable), words, heaps[column], null, True, entered):
                return False
        elif order == FLOAT:
            canonical_floats(words, rows_of_kinds[column].null if rows_of_kinds[column].nullable != 0 else NAN, entered)
        else:
            entered[:] = words
    return True


class Entering:
    """Makes tables of batches of a schema."""

    def __init__(self, name: str, schema: Schema) -> None:
        """SchemaError, with the operator's name, where texts cannot be interned."""
        self.kinds = kinds_table(schema.kinds)
        self._texts = interned_texts() if schema.has_text else None
        if schema.has_text and self._texts is None:
            column = next(column for column in schema.names if schema.kind(column).is_text)
            raise SchemaError(
                f"operator {name!r}: column {column!r} is text, which a collection keeps in addresses of its own, and "
                f"the system refuses them (`ulimit -v`): lift that limit, or arrange by numbers that stand for the "
                f"texts"
            )
        self.texts_address = self._texts.table.address if self._texts else 0
        """As `enter_columns` takes it."""
        self._columns, self._heaps = np.zeros(len(schema), np.int64), np.zeros(len(schema), np.int64)

    def make_room(self) -> None:
        """Cure that there was no room."""
        assert self._texts is not None, "only texts want room"
        self._texts.make_room()

    def has_all(self, batch: Batch) -> bool:
        """Whether all texts of a batch are in some arrangement's words: who only asks for rows enters none."""
        if self._texts is None:
            return True
        for column, heap in zip(batch.columns, batch.heaps, strict=True):
            if heap is not None:
                found = self._texts.number(column, address_of(heap), add=False)
                if found is None or (found == UNKNOWN).any():
                    return False
        return True

    def table_of(self, batch: Batch) -> np.ndarray:
        """A batch's rows, int64 (columns, rows)."""
        for at, column in enumerate(batch.columns):
            self._columns[at] = address_of(column)
        for at, heap in enumerate(batch.heaps):
            self._heaps[at] = 0 if heap is None else address_of(heap)
        table = np.empty((len(self._columns), batch.rows), np.int64)
        while not enter_columns(self.texts_address, self._columns, self._heaps, self.kinds, batch.rows, table, 0):
            self.make_room()
        return table


def table_of(batch: Batch) -> np.ndarray:
    """The columns of a batch of canonical words, as an arrangement sends it, as an int64 table (columns, rows)."""
    table = np.empty((len(batch.columns), batch.rows), np.int64)
    for column, words in zip(table, batch.columns, strict=True):
        column[:] = words if words.dtype == np.int64 else words.view(np.int64)
    return table
