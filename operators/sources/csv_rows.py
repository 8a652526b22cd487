"""Lines of CSV as batches, by Arrow's reader: exact about the line and column where they do not fit."""

import csv
import io
import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn, Self

import numpy as np

from tokenring.engine import Batch, Kind, Schema, SchemaError, Strings
from tokenring.engine.columns import arrow_type
from tokenring.engine.raw import address_of
from tokenring.operators.sources.csv_quotes import faulty_quote
from tokenring.operators.sources.lines import lines_before
from tokenring.operators.time import RowOrigin

_BOM: Final = b"\xef\xbb\xbf"
_ROW: Final = re.compile(r"Row #(\d+): ")
_BEYOND: Final = re.compile(r"Error converting '(.*)' to decimal", re.DOTALL)
_VALUE: Final = re.compile(r"invalid value '(.*)'", re.DOTALL)


def first_row_at(data: bytes, header: bool) -> int:
    """Where a file's rows begin, behind its mark of UTF-8 and its header."""
    at = len(_BOM) if data.startswith(_BOM) else 0
    if not header:
        return at
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end + 1


class CsvRows:
    """Makes batches of a schema out of lines. Schemas with bytes have no CSV: SchemaError."""

    def __init__(
        self,
        name: str,
        schema: Schema,
        delimiter: str,
        nulls: Sequence[str],
        time_formats: Sequence[str],
        quoted_newlines: bool,
    ) -> None:
        for column, kind in zip(schema.names, schema.kinds, strict=True):
            if kind.name == "bytes":
                raise SchemaError(
                    f"source {name!r}: column {column!r} is {kind}, which CSV cannot hold; make it string"
                )
        self._name = name
        self._schema = schema
        self._delimiter = delimiter
        self._nulls = tuple(nulls)
        self._time_formats = tuple(time_formats)
        self._quoted_newlines = quoted_newlines
        self._converting: Any = None

    def only(self, schema: Schema) -> Self:
        """The same for some of the columns."""
        return type(self)(
            *(self._name, schema, self._delimiter, self._nulls, self._time_formats, self._quoted_newlines)
        )

    def columns(self, file: str, header: bool) -> list[str]:
        """The names of a file's columns in its order; SchemaError if one of the schema's is not there."""
        if not header:
            return list(self._schema.names)
        with open(file, "rb") as opened:
            line = opened.readline().removeprefix(_BOM)
        try:
            found = next(csv.reader([line.decode()], delimiter=self._delimiter), [])
        except (csv.Error, UnicodeDecodeError) as error:
            raise SchemaError(f"source {self._name!r}: {file} line 1 names no columns: {error}") from None
        if not found:
            raise SchemaError(f"source {self._name!r}: {file} line 1 names no columns; an empty file has no header")
        for column in self._schema.names:
            if found.count(column) != 1:
                what = "no column" if column not in found else "more than one column"
                there = f"line 1 has {', '.join(found)}; if it is a row already, give header=False"
                if len(found) == 1:
                    there += f"; if it is several names, another delimiter= than {self._delimiter!r}"
                raise SchemaError(f"source {self._name!r}: {file} has {what} {column!r}: {there}")
        return found

    def batch(self, columns: list[str], file: str, at: int, data: bytes) -> tuple[Batch, RowOrigin]:
        """The rows of a file's lines from byte `at` on, and where each is."""
        import pyarrow as pa
        from pyarrow.csv import ParseOptions, ReadOptions, read_csv

        def place(row: int) -> str:
            return self._place(file, at, data, row)

        self._look_at_quotes(file, at, data)
        reading = ReadOptions(use_threads=False, column_names=columns, block_size=max(len(data), 1))
        parsing = ParseOptions(delimiter=self._delimiter, newlines_in_values=self._quoted_newlines)
        if self._converting is None:
            self._converting = self._how_to_convert()
        try:
            table = read_csv(io.BytesIO(data), reading, parsing, self._converting)
        except pa.ArrowInvalid as error:
            self._refuse(str(error), columns, place)
        for name, kind in zip(self._schema.names, self._schema.kinds, strict=True):
            values = table.column(name)
            if not values.null_count or kind.nullable:
                continue
            if kind.name == "string" and self._nulls == ("",):  # which is a text like any other
                at_column = table.schema.get_field_index(name)
                table = table.set_column(at_column, name, _with_empty_texts(values))
            else:
                row = int(np.flatnonzero(values.is_null().to_numpy())[0])
                raise SchemaError(
                    f"{place(row)}, column {name!r}: null where the kind is {kind}; make it {kind}? or fill it"
                )
        try:
            return Batch.from_arrow(self._schema, table), place
        except SchemaError as error:
            for row in range(table.num_rows):
                try:
                    Batch.from_arrow(self._schema, table.slice(row, 1))
                except SchemaError as fault:
                    raise SchemaError(f"{place(row)}, {fault}") from None
            raise SchemaError(f"{place(0)} and those after it: {error}") from None

    def _how_to_convert(self) -> Any:
        import pyarrow as pa
        from pyarrow.csv import ISO8601, ConvertOptions

        types = {
            column: pa.timestamp("ns") if kind.is_instant and self._time_formats else _type_of(kind)
            for column, kind in zip(self._schema.names, self._schema.kinds, strict=True)
        }
        return ConvertOptions(
            column_types=types,
            include_columns=list(self._schema.names),
            null_values=[*self._nulls],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            timestamp_parsers=[*self._time_formats, ISO8601],
        )

    def _look_at_quotes(self, file: str, at: int, data: bytes) -> None:
        """Refuse quoted values that go across lines, unless they may: blocks of lines would be cut within them."""
        octets = np.frombuffer(data, np.uint8)
        found = faulty_quote(address_of(octets), len(data), ord(self._delimiter), int(self._quoted_newlines))
        if found >= 0:
            line = lines_before(file, at) + data.count(b"\n", 0, found) + 1
            what = "does not end on it; give quoted_newlines=True if it goes on"
            if self._quoted_newlines:
                what = "has no end: the file is cut off"
            raise SchemaError(f"source {self._name!r}: {file} line {line}: a quoted value {what}")

    def _place(self, file: str, at: int, data: bytes, row: int) -> str:
        """Blank lines are no rows, so the row's line is found by counting the others."""
        if self._quoted_newlines:
            return f"{file} row {row}"
        lines = [number for number, line in enumerate(data.split(b"\n")) if line not in (b"", b"\r")]
        return f"{file} line {lines_before(file, at) + lines[row] + 1}"

    def _refuse(self, said: str, columns: list[str], place: RowOrigin) -> NoReturn:
        """Say in our words what Arrow's reader says."""
        row, column = _ROW.search(said), re.search(r"column #(\d+)", said)
        where = f"source {self._name!r}: " + (place(int(row[1]) - 1) if row else place(0) + " or after it")
        if column is None:
            raise SchemaError(f"{where}: {said[row.end() :] if row else said}")
        name = columns[int(column[1])]
        value, kind = _VALUE.search(said), self._schema.kind(name)
        beyond = _BEYOND.search(said)
        if beyond is not None:
            raise SchemaError(f"{where}, column {name!r}: {beyond[1]!r:.40} is no {kind}; give a kind with more digits")
        if value is None:
            raise SchemaError(f"{where}, column {name!r}: {said[row.end() :] if row else said}")
        cures = ["say in time_formats= how it is written"] * kind.is_instant
        cures += [f"give the nulls= that it is one of, and make it {kind}?"] * (not kind.nullable)
        cure = ", or ".join(cures)
        raise SchemaError(f"{where}, column {name!r}: {value[1]!r:.40} is no {kind}{cure and '; '}{cure}")


def _with_empty_texts(values: Any) -> Any:
    """An empty text for each null; an array's own `fill_null` would load pandas."""
    import pyarrow.compute as compute

    return compute.coalesce(values, Strings.of([""]).to_arrow()[0])


def _type_of(kind: Kind) -> Any:
    """What Arrow's reader makes of a column's text; times are converted behind it, with or without an offset."""
    import pyarrow as pa

    return pa.string() if kind.is_text or kind.is_instant else arrow_type(kind)
