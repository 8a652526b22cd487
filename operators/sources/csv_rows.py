"""Lines of CSV as batches, by Arrow's reader: exact about the line and column where they do not fit."""

import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, NoReturn, Self

import numpy as np

from tokenring.engine import Batch, Kind, Schema, SchemaError, Strings, did_you_mean
from tokenring.engine.columns import arrow_type, day_in, day_of, instants_of
from tokenring.engine.raw import address_of
from tokenring.operators.sources.lines import (
    MARK,
    Block,
    Lines,
    is_instant,
    lines_before,
    lines_of,
    no_text,
    not_utf_8,
    number_as_time,
    of_value,
    place_of,
)
from tokenring.operators.sources.octets import faulty_quote, may_be_hexadecimal
from tokenring.operators.time import RowOrigin

_ROW: Final = re.compile(r"Row #(\d+): ")
_BEYOND: Final = re.compile(r"Error converting '(.*)' to decimal", re.DOTALL)
_LATE_DAY: Final = "29|30|31"
_LATE_SECOND: Final = "6[01]"
_HAS_SECONDS: Final = re.compile("%[EO]?[STXcr]")
_OFFSET: Final = re.compile(r"(?:([+-]\d\d):?(\d\d)?|Z)$")
_NUMBER: Final = re.compile(r"\d+")
_CODE: Final = re.compile("%.")
_OF_C: Final = {
    "%D": "%m/%d/%y", "%F": "%Y-%m-%d", "%R": "%H:%M", "%T": "%H:%M:%S", "%e": "%d", "%h": "%b", "%k": "%H", "%l": "%I",
}  # fmt: skip
"""What C's strptime reads, and not all others read or write, by what they do."""
_NS_A_DAY: Final = 86_400_000_000_000
_LF, _CR = ord("\n"), ord("\r")
_END_IN_LF: Final = "end lines in LF (tr '\\r' '\\n')"
_WRITTEN: Final = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", re.ASCII)
_FRACTION: Final = re.compile("[.eE]")
_COUNTS: Final = re.compile(r"Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
_MORE_DIGITS: Final = "give a kind with more digits there, up to 18 in all, or make it string"
_VALUE: Final = re.compile(r"(?:invalid value|The string) '(.*)'", re.DOTALL)


def rows_in(lines: Lines, header: bool) -> Lines:
    """Lines without the mark of UTF-8 and the header with which a file begins."""
    if lines.at:
        return lines
    at = len(MARK) if lines.data.startswith(MARK) else 0
    if header:
        end = lines.data.find(b"\n", at)
        at = len(lines.data) if end < 0 else end + 1
    return Lines(at, lines.data[at:])


class CsvRows:
    """Makes batches of a schema out of lines. Schemas with bytes have no CSV: SchemaError.

    is_staging: errors name only those options that staging has as well.
    """

    def __init__(
        self,
        name: str,
        schema: Schema,
        delimiter: str,
        nulls: Sequence[str],
        time_formats: Sequence[str],
        quoted_newlines: bool,
        is_staging: bool = False,
    ) -> None:
        self._kinds = tuple(zip(schema.names, schema.kinds, strict=True))
        for column, kind in self._kinds:
            if kind.name == "bytes":
                raise SchemaError(
                    f"source {name!r}: column {column!r} is {kind}, which CSV cannot hold; make it string"
                )
        self._name = name
        self._schema = schema
        self._delimiter = delimiter
        self._nulls = tuple(nulls)
        self._time_formats = tuple(time_formats)
        self._plain_formats = [_CODE.sub(lambda code: _OF_C.get(code[0], code[0]), form) for form in time_formats]
        self._quoted_newlines = quoted_newlines
        self._is_staging = is_staging
        self._converting: Any = None

    def only(self, schema: Schema) -> Self:
        """The same for some of the columns."""
        return type(self)(
            *(self._name, schema, self._delimiter, self._nulls, self._time_formats, self._quoted_newlines),
            is_staging=self._is_staging,
        )

    def columns(self, file: str, header: bool) -> list[str]:
        """The names of a file's columns in its order; SchemaError if one of the schema's is not there, or no text."""
        if fault := no_text(file):
            raise SchemaError(f"source {self._name!r}: {file}: {fault}")
        if not header:
            return list(self._schema.names)
        with open(file, "rb") as opened:
            line = opened.readline().removeprefix(MARK)
        found, fault = [], ""
        try:
            found = next(csv.reader([line.decode()], delimiter=self._delimiter), [])
        except UnicodeDecodeError:
            fault = not_utf_8(file)
        except csv.Error as error:
            fault = f"a CR ends no line; {_END_IN_LF}" if b"\r" in line.rstrip(b"\r\n") else str(error)
        if not line.strip():
            fault = "it is empty; write them there, or leave the file out"
        elif any("\n" in name for name in found):
            fault = "a quoted one does not end on it; end it there"
        if fault:
            raise SchemaError(f"source {self._name!r}: {file} line 1 names no columns: {fault}")
        for column in self._schema.names:
            if found.count(column) != 1:
                raise SchemaError(f"source {self._name!r}: {file} has {self._not_one(column, found)}")
        return found

    def _not_one(self, column: str, found: Sequence[str]) -> str:
        """What to say of a column that is not there once."""
        there = f"column {column!r}: line 1 has {', '.join(found)}"
        if column in found:
            return f"more than one {there}; call them by names of their own there"
        cure = "write a line of names before it" if self._is_staging else "give header=False"
        there += f"{did_you_mean(column, found)}; if it is a row already, {cure}"
        if len(found) == 1:
            delimiter = "separate them by" if self._is_staging else "another delimiter= than"
            there += f"; if it is several names, {delimiter} {self._delimiter!r}"
        return f"no {there}"

    def read(self, columns: list[str], blocks: Sequence[Block], header: bool) -> tuple[Batch, RowOrigin] | None:
        """The rows in blocks of a file, and where each is; None if there are none."""
        found = [rows_in(lines_of(block), header) for block in blocks]
        found = [lines for lines in found if lines.data.lstrip(b"\r\n")]
        return self.batch(columns, blocks[0].file, found) if found else None

    def batch(self, columns: list[str], file: str, parts: Sequence[Lines]) -> tuple[Batch, RowOrigin]:
        """The rows of lines of a file, in so many parts, and where each is."""
        import pyarrow as pa
        from pyarrow.csv import ParseOptions, ReadOptions, read_csv

        def place(row: int) -> str:
            return self._place(file, parts, row)

        for part in parts:
            self._look_at_quotes(file, part)
            self._look_at_returns(file, part)
        data = b"".join([part.data for part in parts])
        if not data.endswith(b"\n"):  # where Arrow takes an empty last value for quoted if the one before it is
            data += b"\n"
        longest = max([len(part.data) for part in parts]) + 1  # no line is longer
        reading = ReadOptions(use_threads=False, column_names=columns, block_size=longest)
        parsing = ParseOptions(delimiter=self._delimiter, newlines_in_values=self._quoted_newlines)
        if self._converting is None:
            self._converting = self._how_to_convert({column: self._type_of(kind) for column, kind in self._kinds})
        try:
            table = read_csv(pa.BufferReader(data), reading, parsing, self._converting)
        except pa.ArrowInvalid as error:
            self._refuse(str(error), columns, file, place)
        self._look_for_hexadecimal(data, reading, parsing, place)
        self._look_for_infinite(table, data, reading, parsing, place)
        for name, kind in self._kinds:
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
        written = table
        if self._time_formats:
            table = self._with_times(self._with_dates(table, place), place)
        try:
            batch = Batch.from_arrow(self._schema, table)
        except SchemaError as error:
            for row in range(table.num_rows):
                try:
                    Batch.from_arrow(self._schema, table.slice(row, 1))
                except SchemaError as fault:
                    for name, kind in self._kinds:
                        text = table.column(name)[row].as_py() if kind.is_instant else None
                        if isinstance(text, str) and not is_instant(text):
                            raise self._no_value(text, name, place(row)) from None
                    raise SchemaError(f"{place(row)}, {of_value(fault)}") from None
            raise SchemaError(f"{place(0)} and those after it: {error}") from None
        if self._time_formats:
            self._look_for_missing_times(batch, written, place)
        return batch, place

    def _how_to_convert(self, types: dict[str, Any]) -> Any:
        from pyarrow.csv import ConvertOptions

        return ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=[*self._nulls],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )

    def _type_of(self, kind: Kind) -> Any:
        """What Arrow's reader makes of a column's text. Converted behind it are times, with or without an offset, and
        dates of other formats than ISO 8601."""
        import pyarrow as pa

        is_later = kind.is_instant or (kind.is_date and self._time_formats)
        return pa.string() if kind.is_text or is_later else arrow_type(kind)

    def _with_dates(self, table: Any, place: RowOrigin) -> Any:
        """Texts of dates as dates: by Python, whose reader refuses the 31st of February, each text once."""
        import pyarrow as pa
        import pyarrow.compute as compute

        for name, kind in self._kinds:
            if not kind.is_date:
                continue
            texts = table.column(name)
            coded = compute.dictionary_encode(texts).combine_chunks()
            days = [self._day(text) for text in coded.dictionary.to_pylist()]
            if None in days:
                text = coded.dictionary[days.index(None)].as_py()
                raise self._no_value(text, name, place(texts.to_pylist().index(text)))
            words = pa.py_buffer(np.array(days, np.int32))  # not `pa.array`, which loads pandas
            made = compute.take(pa.Array.from_buffers(pa.date32(), len(days), [None, words]), coded.indices)
            table = table.set_column(table.schema.get_field_index(name), name, made)
        return table

    def _with_times(self, table: Any, place: RowOrigin) -> Any:
        """Texts of times as times, of which there may be some that no calendar has."""
        import pyarrow as pa

        for name, kind in self._kinds:
            if not kind.is_instant:
                continue
            texts = table.column(name)
            try:
                made = self._times(texts)
            except pa.ArrowInvalid:
                row = next(row for row in range(len(texts)) if not self._are_times(texts.slice(row, 1)))
                raise self._no_value(texts[row].as_py(), name, place(row)) from None
            table = table.set_column(table.schema.get_field_index(name), name, made)
        return table

    def _times(self, texts: Any) -> Any:
        """Texts as times of ns in UTC, each by the first of the formats that it has, or else by ISO 8601. ArrowInvalid
        if one is none of them, or beyond what 64 bits of ns reach."""
        import pyarrow as pa
        import pyarrow.compute as compute

        seconds = pa.timestamp("s", "UTC")
        read = [compute.strptime(texts, format=form, unit="s", error_is_null=True) for form in self._time_formats]
        found = compute.coalesce(*[compute.cast(times, seconds) for times in read])
        others = compute.if_else(compute.is_valid(found), pa.scalar(None, texts.type), texts)
        return compute.coalesce(compute.cast(found, pa.timestamp("ns", "UTC")), instants_of(others))

    def _are_times(self, texts: Any) -> bool:
        import pyarrow as pa

        try:
            self._times(texts)
        except pa.ArrowInvalid:
            return False
        return True

    def _day(self, text: str) -> int | None:
        """The day of a date that is written as a format has it, or as ISO 8601 has it; None if it is none."""
        for form in self._plain_formats:
            with suppress(ValueError):
                at = datetime.strptime(text, form)  # the day 366 of any year, too
                is_day = at == datetime(at.year, at.month, at.day) and _numbers(f"{at:{form}}") == _numbers(text)
                return day_of(at.date()) if is_day else None
        return day_in(text)

    def _look_for_hexadecimal(self, data: bytes, reading: Any, parsing: Any, place: RowOrigin) -> None:
        """Refuse 0x10, which Arrow's reader takes for 16, where a whole number is to be."""
        import pyarrow.compute as compute

        names = [name for name, kind in self._kinds if kind.name in ("int64", "uint64")]
        octets = np.frombuffer(data, np.uint8)
        if not names or not may_be_hexadecimal(address_of(octets), len(data), ord(self._delimiter)):
            return
        texts = self._texts(names, data, reading, parsing)
        for name in names:
            found = compute.match_substring_regex(texts.column(name), r"^\s*0[xX]").to_pylist()
            if True in found:
                row = found.index(True)
                raise self._no_value(texts.column(name)[row].as_py(), name, place(row))

    def _look_for_infinite(self, table: Any, data: bytes, reading: Any, parsing: Any, place: RowOrigin) -> None:
        """Refuse 1e400, which Arrow's reader takes for an infinity."""
        import pyarrow.compute as compute

        for name, kind in self._kinds:
            rows = compute.indices_nonzero(compute.is_inf(table.column(name))) if kind.is_float else ()
            if not len(rows):
                continue
            texts = self._texts([name], data, reading, parsing).column(name).take(rows)
            found = compute.match_substring(texts, "inf", ignore_case=True).to_pylist()
            if False in found:
                at = found.index(False)
                raise self._no_value(texts[at].as_py(), name, place(rows[at].as_py()))

    def _look_for_missing_times(self, batch: Batch, written: Any, place: RowOrigin) -> None:
        """Refuse the 31st of February in a time, which Arrow takes for the 3rd of March, and the second 60.

        written: a table of the texts.
        """
        for (name, kind), ns in zip(self._kinds, batch.columns, strict=True):
            if not kind.is_instant:
                continue
            column = written.column(name)
            rows = self._doubtful(ns, column)
            texts = [column[row].as_py() for row in rows]
            for row, text, *forms in zip(rows, texts, *self._written(ns[rows], texts), strict=True):
                numbers = (_numbers(text), _numbers(_OFFSET.sub("", text)))
                if text in forms or any(_numbers(form) in numbers for form in forms):
                    continue
                if not is_instant(text):
                    raise self._no_value(text, name, place(row))

    def _doubtful(self, ns: np.ndarray, texts: Any) -> list[int]:
        """The rows whose texts may be of a day or of a second that there is not."""
        import pyarrow.compute as compute

        days, forms = ns // _NS_A_DAY, "".join(self._time_formats)
        near = (-1, 0, 1) if "%z" in forms else (0,)  # a day there may be another one in UTC
        suspects = {_LATE_DAY: [_after_short_months(days + shift) for shift in near]}
        if _HAS_SECONDS.search(forms):
            suspects[_LATE_SECOND] = [np.flatnonzero(ns // 10**9 % 60 < 2)]
        if "%j" in forms:
            suspects["366"] = [np.arange(len(ns))]
        found: set[int] = set()
        for pattern, rows in suspects.items():
            at = np.concatenate(rows).tolist()
            if at:
                is_late = compute.match_substring_regex(texts, pattern).to_pylist()
                found.update(row for row in at if is_late[row])
        return sorted(found)

    def _written(self, ns: np.ndarray, texts: Sequence[str]) -> list[list[str]]:
        """Times in each of the formats; with the offset of its text, without writing it, where a format has one."""
        import pyarrow as pa
        import pyarrow.compute as compute

        def written(form: str) -> list[str]:
            offsets = np.array([_offset_s(text) if form.endswith("%z") else 0 for text in texts], np.int64)
            seconds = ns // 10**9 + offsets  # of other units fractions would be written
            at = pa.Array.from_buffers(pa.timestamp("s"), len(ns), [None, pa.py_buffer(seconds)])
            found: list[str] = compute.strftime(at, format=form.removesuffix("%z")).to_pylist()
            return found

        return [*map(written, self._plain_formats)]

    def _texts(self, names: Sequence[str], data: bytes, reading: Any, parsing: Any) -> Any:
        """Columns as they are written."""
        import pyarrow as pa
        from pyarrow.csv import read_csv

        as_they_are = self._how_to_convert(dict.fromkeys(names, pa.string()))
        return read_csv(pa.BufferReader(data), reading, parsing, as_they_are)

    def _look_at_quotes(self, file: str, lines: Lines) -> None:
        """Refuse quoted values that go across lines, unless they may: blocks of lines would be cut within them."""
        data = lines.data
        octets = np.frombuffer(data, np.uint8)
        found = faulty_quote(address_of(octets), len(data), ord(self._delimiter), int(self._quoted_newlines))
        if found >= 0:
            option = "quoted_newlines=True (--quoted-newlines)" if self._is_staging else "quoted_newlines=True"
            what = f"does not end on it; give {option} if it goes on"
            if self._quoted_newlines:
                what = "has no end: the file is cut off"
            raise self._at_fault(file, lines, found, f"a quoted value {what}")

    def _look_at_returns(self, file: str, lines: Lines) -> None:
        """Refuse a CR that is in no quotes and before no LF: Arrow's reader ends rows there, and lines are no rows."""
        data = lines.data
        if b"\r" not in data:
            return
        octets = np.frombuffer(data, np.uint8)
        behind = octets[1:][octets[:-1] == _CR]
        if ((behind == _LF) | (behind == _CR)).all():
            return
        delimiter = re.escape(self._delimiter.encode())
        quoted_or_alone = rb'(?<![^\r\n%b])"[^"]*(?:""[^"]*)*"|\r(?![\r\n]|\Z)' % delimiter
        alone = [found.start() for found in re.finditer(quoted_or_alone, data) if found[0] == b"\r"]
        if alone:
            fault = f"a CR ends no line; quote the value that it is in, or {_END_IN_LF}"
            raise self._at_fault(file, lines, alone[0], fault)

    def _at_fault(self, file: str, lines: Lines, octet: int, fault: str) -> SchemaError:
        """What is wrong in the line that one of the bytes of lines is in."""
        line = lines_before(file, lines.at) + lines.data.count(b"\n", 0, octet) + 1
        return SchemaError(f"source {self._name!r}: {file} line {line}: {fault}")

    def _place(self, file: str, parts: Sequence[Lines], row: int) -> str:
        """Blank lines are no rows, so the row's line is found by counting the others."""
        if self._quoted_newlines:
            return f"{file} row {row}"
        lines = b"".join([part.data for part in parts]).split(b"\n")
        return place_of(file, parts, [number for number, line in enumerate(lines) if line.strip(b"\r")][row])

    def _refuse(self, said: str, columns: list[str], file: str, place: RowOrigin) -> NoReturn:
        """Say in our words what Arrow's reader says."""
        row, column = _ROW.search(said), re.search(r"column #(\d+)", said)
        where = place(int(row[1]) - 1) if row else place(0) + " or after it"
        if counts := _COUNTS.search(said):
            raise SchemaError(f"source {self._name!r}: {where}: {self._of_others(*counts.groups())}")
        if column is None:
            raise SchemaError(f"source {self._name!r}: {where}: {said[row.end() :] if row else said}")
        name = columns[int(column[1])]
        value, kind = _VALUE.search(said), self._schema.kind(name)
        beyond = _BEYOND.search(said)
        if value is not None:
            raise self._no_value(value[1], name, where)
        fault = said[row.end() :] if row else said
        if beyond is not None:
            fault = f"{beyond[1]!r:.40} is no {kind}; {_MORE_DIGITS}"
        elif "invalid UTF8" in said:
            fault = not_utf_8(file)
        elif "Rescaling" in said:
            fault = f"a number has more digits behind the point than {kind}; {_MORE_DIGITS}"
        raise SchemaError(f"source {self._name!r}: {where}, column {name!r}: {fault}")

    def _of_others(self, there: str, got: str, text: str) -> str:
        """What to say of a row of more or fewer values than there are columns."""
        cure = "write the others, or leave the line out"
        if int(got) > int(there):
            cure = f"quote a value that has {self._delimiter!r} in it, or name as many columns"
        elif got == "1" and not self._is_staging:
            cure += ", or give the delimiter= that is between them"
        return f"{got} values, and {there} columns: {text!r:.40}; {cure}"

    def _no_value(self, text: str, name: str, where: str) -> SchemaError:
        """That a text is no value of its column, and what to do."""
        kind = self._schema.kind(name)
        cures = [f"make it {other}" for other in _others(text, kind)]
        cures += [number_as_time(name)] * (kind.is_instant and text.isdecimal())
        if not self._is_staging:
            cures += ["say in time_formats= how it is written"] * (kind.is_instant or kind.is_date)
            cures += [f"give the nulls= that it is one of, and make it {kind}?"] * (not kind.nullable)
        cures += ["make it string"]
        what = f"{kind} within 1677 to 2262, to the ns" if kind.is_instant else kind
        said = f"{text!r:.40} is no {what}; {', or '.join(cures)}"
        return SchemaError(f"source {self._name!r}: {where}, column {name!r}: {said}")


def _after_short_months(days: np.ndarray) -> np.ndarray:
    """The rows whose day may be made of one that the month before lacks: of the first days after a shorter one."""
    if not len(days):
        return days
    first, last = days.min(), days.max()
    if last - first >= len(days):
        return np.flatnonzero(_is_after_short_month(days))
    return np.flatnonzero(_is_after_short_month(np.arange(first, last + 1))[days - first])


def _is_after_short_month(days: np.ndarray) -> np.ndarray:
    at = days.view("datetime64[D]")
    months = at.astype("datetime64[M]")
    day, month = (at - months).astype(np.int64) + 1, months.astype(np.int64) % 12 + 1
    return (day <= 3) & (month == 3) | (day == 1) & np.isin(month, (5, 7, 10, 12))


def _others(text: str, kind: Kind) -> list[str]:
    """The kinds that a text is of which is none of this one."""
    is_whole = kind.family in ("int64", "uint64")
    if (is_whole or kind.is_date) and is_instant(text):
        return ["timestamp"]
    if not is_whole or not _WRITTEN.fullmatch(text):
        return []
    if _FRACTION.search(text):
        return ["float64"]
    return ["int64"] * (-(2**63) <= int(text) < 0) + ["uint64"] * (2**63 <= int(text) < 2**64)


def _numbers(text: str) -> list[int]:
    return [int(digits) for digits in _NUMBER.findall(text)]


def _offset_s(text: str) -> int:
    """The seconds by which the offset that ends a text is before UTC."""
    found = _OFFSET.search(text)
    if found is None or found[1] is None:
        return 0
    return int(found[1]) * 3600 + int(f"{found[1][0]}{found[2] or 0}") * 60


def _with_empty_texts(values: Any) -> Any:
    """An empty text for each null; an array's own `fill_null` would load pandas."""
    import pyarrow.compute as compute

    return compute.coalesce(values, Strings.of([""]).to_arrow()[0])
