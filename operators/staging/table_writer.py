"""A table under way to a staged folder: columns as raw words, in order of time, and what is proved of them.

Rows are written as they come. If they turn out not to be in order of time, the files are written once more in it,
column by column: for that all times and their order are in memory, 16 bytes a row (24 while they are sorted), and the
rest is mapped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tokenring.engine import MAX_TIME, Batch, Kind, Schema, SchemaError
from tokenring.engine.columns import shown
from tokenring.operators.sources import has_nulls
from tokenring.operators.staging.manifest import BLOCK_ROWS, write_manifest
from tokenring.operators.staging.raw_files import COLUMNS, I64, TextWriter, WordWriter, write_sealed
from tokenring.operators.time import RowOrigin, outside_times, position_of

Advance = Callable[[str, float, float], None]
"""Told what is done, how much of it is, and how much there is."""
_REORDERED_ROWS: Final = 1 << 18
_ENDINGS: Final = {"bool": "bool", "timestamp": "ns", "date": "days"}
"""Of files, by the family of their column's kind; those of others say what words are, i64."""


class TableWriter:
    """One table under way in an empty folder.

    schema: kinds without nulls. time: the column by whose values rows are put in order. unique: columns of which no two
    rows may have the same value. SchemaError for a column that is not there, or cannot be that.
    """

    def __init__(self, folder: Path, table: str, schema: Schema, time: str, unique: Sequence[str] = ()) -> None:
        what = f"table {table!r}"
        self._time = position_of(what, schema, time)
        for column in unique:
            schema.position(column, what, "to be unique")
            if schema.kind(column).is_float:
                raise SchemaError(f"{what}: a column of float64 is no key, so {column!r} cannot be said to be unique")
        (folder / COLUMNS).mkdir()
        self._folder, self._table, self._unique = folder, table, tuple(dict.fromkeys(unique))
        self._columns = [
            _Column(folder, number, name, schema.kind(name)) for number, name in enumerate(schema.names)
        ]
        self._rows = 0
        self._places: list[tuple[int, RowOrigin]] = []
        self._latest, self._is_ordered = -1, True

    def append(self, rows: pa.RecordBatch, place: RowOrigin) -> None:
        """Rows with the schema's columns, others are left out; place: names one by its number among them. SchemaError,
        naming the row, for a value that does not fit, or no time.
        """
        if not rows.num_rows:
            return
        for column in self._columns:
            if column.name not in rows.schema.names:
                raise SchemaError(f"{place(0)}: no column {column.name!r}; there are {', '.join(rows.schema.names)}")
            try:
                words = column.append(rows.column(column.name))
            except (SchemaError, pa.ArrowInvalid) as error:
                said = " ".join(str(error).split())
                raise SchemaError(f"{place(0)} and the {rows.num_rows - 1} after it: {said}") from None
            if column is self._columns[self._time]:
                self._note_times(words, place)
        self._places.append((self._rows, place))
        self._rows += rows.num_rows

    def _note_times(self, words: np.ndarray, place: RowOrigin) -> None:
        column = self._columns[self._time]
        wrong = column.null_mask(words) | (words < 0) | (words > MAX_TIME)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            where, time = f"{place(row)}, column {column.name!r}", int(words[row])
            if column.null_mask(words)[row]:
                raise SchemaError(f"{where}: the time is null; leave such rows out, or fill them")
            raise SchemaError(outside_times(f"{where}: the time is", column.kind.is_instant, time))
        ordered = bool(words[0] >= self._latest and (words[1:] >= words[:-1]).all())
        self._is_ordered = self._is_ordered and ordered
        self._latest = int(words[-1])

    def close(self) -> None:
        """Close the files, whatever has become of the table."""
        for column in self._columns:
            column.writer.close()

    def finish(self, source: dict[str, Any], progress: Advance) -> dict[str, Any]:
        """Close the files, prove what is to be unique, put rows in order, and write the manifest, which is returned.
        source: where the rows are from. SchemaError, naming both rows, for a value that is there twice.
        """
        for column in self._columns:
            column.finish()
        for name in self._unique:
            self._require_unique(next(column for column in self._columns if column.name == name))
        if not self._is_ordered:
            order = np.argsort(self._columns[self._time].words(), kind="stable")
            for number, column in enumerate(self._columns):
                progress("sorting", number, len(self._columns))
                column.reorder(order)
            progress("sorting", len(self._columns), len(self._columns))
        time = self._columns[self._time]
        starts = write_sealed(self._folder, f"{COLUMNS}/starts", time.words()[::BLOCK_ROWS])
        content = {
            "table": self._table,
            "rows": self._rows,
            "time": {"column": time.name, "order": "ascending", "min": time.least, "max": time.most},
            "starts": starts,
            "unique": list(self._unique),
            "columns": {column.name: column.entry for column in self._columns},
            "source": source | {"was_in_order": self._is_ordered},
        }
        return write_manifest(self._folder, content)

    def _require_unique(self, column: _Column) -> None:
        words = column.words()
        where = f"column {column.name!r}, which is to be unique"
        nulls = np.flatnonzero(column.null_mask(words))
        if len(nulls):
            raise SchemaError(f"{where}: {self._place(int(nulls[0]))} has null; leave such rows out, or fill them")
        values = column.numbers_of_texts() if column.kind.is_text and column.entry["distinct"] is None else words
        order = np.argsort(values, kind="stable")
        same = np.flatnonzero(values[order[1:]] == values[order[:-1]])
        if len(same):
            # The earliest row that repeats a value, and the row before it with the same value.
            at = same[np.argmin(order[same + 1])]
            first, second = int(order[at]), int(order[at + 1])
            value = column.value(first)
            raise SchemaError(
                f"{where}: {self._place(first)} and {self._place(second)} both have {value!r}; leave one of them out, "
                f"or do not say that it is unique"
            )

    def _place(self, row: int) -> str:
        """Where a row came from, by its number among all."""
        start, place = self._places[bisect_right(self._places, row, key=lambda each: each[0]) - 1]
        return place(row - start)


class _Column:
    """One column under way: its files, and what is found out about it."""

    def __init__(self, folder: Path, number: int, name: str, kind: Kind) -> None:
        self.name, self.kind = name, kind
        self.least: Any = None
        self.most: Any = None
        self.entry: dict[str, Any] = {}
        """What the manifest says of it, once it is closed."""
        self._folder = folder
        self._file = f"{number:02d}-{re.sub(r'[^A-Za-z0-9_-]', '_', name)[:80]}"
        self._rows = self._nulls = 0
        self._nullable = Schema.of({name: f"{kind.name}?"}).kinds[0]
        self.writer: TextWriter | WordWriter
        if kind.is_text:
            self.writer = TextWriter(folder, self._file, name, kind.name == "string", sums=True)
        else:
            ending = _ENDINGS.get(kind.family, f"{kind.dtype.kind}64")
            self.writer = WordWriter(folder, f"{self._file}.{ending}", kind.dtype, sums=True)

    def append(self, values: pa.Array) -> np.ndarray:
        """Returns the words of numbers; none of text."""
        self._rows += len(values)
        if isinstance(self.writer, TextWriter):
            values = _plain_texts(values, self.kind.name == "string")
            self._nulls += values.null_count
            self.writer.append(values)
            return np.empty(0, np.int64)
        kind = self._nullable if has_nulls(values) else self.kind
        words = Batch.from_arrow(Schema.of({self.name: kind}), pa.record_batch([values], [self.name])).columns[0]
        self.writer.append(words)
        there = words[~kind.nulls(words)]
        self._nulls += len(words) - len(there)
        if self.kind.is_float:
            there = there[np.isfinite(there)]
        if len(there):
            least, most = there.min().item(), there.max().item()
            self.least = least if self.least is None else min(least, self.least)
            self.most = most if self.most is None else max(most, self.most)
        return words

    def null_mask(self, words: np.ndarray) -> np.ndarray:
        """Which rows are null, if any are."""
        return self._nullable.nulls(words) if self._nulls else np.zeros(len(words), np.bool_)

    def finish(self) -> None:
        """Close the files; SchemaError where a number is there that stands for null, and nulls are there, too."""
        if isinstance(self.writer, TextWriter):
            found = {"distinct": self.writer.distinct, **self.writer.close()}
        else:
            found = {"min": self.least, "max": self.most, **self.writer.close()}
            null = self._nullable.null_word()[0].item()
            if self._nulls and self.kind.null_is_a_number and null in (self.least, self.most):
                raise SchemaError(f"column {self.name!r} has nulls, and {null}, which stands for them; fill the nulls")
        self.entry = {"kind": str(self._nullable if self._nulls else self.kind), "nulls": self._nulls, **found}

    def words(self) -> np.ndarray:
        """All words, mapped."""
        if not self._rows:
            return np.empty(0, self.kind.dtype)
        return np.memmap(self._folder / self.entry["file"], self.kind.dtype.newbyteorder("<"), "r")

    def reorder(self, order: I64) -> None:
        """Have the file hold the rows of these numbers, in this order; texts stay where they are in their heap."""
        words, old = self.words(), self._folder / self.entry["file"]
        writer = WordWriter(self._folder, f"{old.stem}.sorted{old.suffix}", self.kind.dtype, sums=True)
        for start in range(0, len(order), _REORDERED_ROWS):
            writer.append(words[order[start : start + _REORDERED_ROWS]])
        del words
        old.unlink()
        (self._folder / self.entry["sums"]["file"]).unlink()
        self.entry |= writer.close()

    def numbers_of_texts(self) -> I64:
        """A number for each row, the same for equal texts."""
        numbers: I64 = self._texts_as_arrow().dictionary_encode().indices.to_numpy()
        return numbers

    def value(self, row: int) -> Any:
        """A row's value, as messages show it."""
        words = self.words()[row : row + 1]
        if self.kind.is_text:
            return self._texts_as_arrow(words)[0].as_py()
        if self.kind.is_exact:
            return shown(self.kind, words[0].item())
        return str(words.view("datetime64[ns]")[0]) if self.kind.is_instant else words[0].item()

    def _texts_as_arrow(self, words: np.ndarray | None = None) -> pa.Array:
        """The texts of these words, or all."""
        words = self.words() if words is None else words
        heap = np.fromfile(self._folder / self.entry["heap"]["file"], np.uint8)
        return Batch.wrap(Schema.of({"text": self._nullable}), (words,), len(words), (heap,)).arrow("text")


def _plain_texts(values: pa.Array, is_text: bool) -> pa.Array:
    """Texts as an array whose dictionary, if it has one, has each text once and no null. ArrowInvalid for what is not
    UTF-8."""
    whole = pa.large_string() if is_text else pa.large_binary()
    if pa.types.is_run_end_encoded(values.type):
        values = pa.compute.run_end_decode(values)
    if pa.types.is_dictionary(values.type):
        words = values.dictionary.cast(whole)
        words.validate(full=True)
        if words.null_count or len(words.unique()) != len(words):
            return words.take(values.indices)
        return pa.DictionaryArray.from_arrays(values.indices, words)
    values = values.cast(whole)
    values.validate(full=True)
    return values
