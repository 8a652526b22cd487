"""read_csv: every kind, blocks cut at any byte, and errors that name file, line and column."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from datetime import date
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, simulated
from tests.errors import Fact, raises
from tests.long_form import examples
from tokenring.engine import OperatorError, Schema, SchemaError, UsageError, Worker, execute
from tokenring.engine.raw import address_of
from tokenring.operators import Collected, collect, gather, read_csv
from tokenring.operators.sources.octets import faulty_quote, may_be_hexadecimal

FIRST = 1767225600 * 10**9
ALL = Schema("at", name="string?", x="float64?", up="uint64?", ok="bool?", t="timestamp?", said="string")
LINES = [
    "at,x,name,up,ok,t,more,said",
    '1,0.5,Åsa,18446744073709551614,true,2026-01-01T01:00+01:00,9,"a, ""b"""',
    "2,,,,,,,",
    "",
    '3,nan,"",0,0,2026-01-01 00:00:00.123456789,,x\r',
    "4,1e3,n,1,False,2026-01-01,z,5\" pipe",
]


def _rows(folder: Path, text: str | bytes, schema: Schema, workers: int = 1, **options: Any) -> list[dict[str, Any]]:
    """What a run of its own reads: Arrow's reader starts threads, which are not for the tests' process."""
    file = folder / "rows.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def program(worker: Worker) -> Collected:
        with worker.dataflow("rows") as scope:
            return collect(read_csv(scope, file, schema, **options))

    return gather(program, workers).to_pylist()


@pytest.mark.parametrize(("workers", "block_bytes"), [(1, 1 << 18), (1, 1), (2, 7), (2, 60)])
def test_rows_are_those_of_the_file_however_it_is_cut(tmp_path: Path, workers: int, block_bytes: int) -> None:
    rows = _rows(tmp_path, "\ufeff" + "\n".join(LINES), ALL, workers, block_bytes=block_bytes)
    rows.sort(key=lambda row: int(row["at"]))
    for row in rows:
        row["t"] = row["t"] and row["t"].value
    assert [[str(value) for value in row.values()] for row in rows] == [
        ["1", "Åsa", "0.5", str(2**64 - 2), "True", str(FIRST), 'a, "b"'],
        ["2", "None", "None", "None", "None", "None", ""],
        ["3", "", "nan", "0", "False", str(FIRST + 123456789), "x"],
        ["4", "n", "1000.0", "1", "False", str(FIRST), '5" pipe'],
    ]


def test_times_words_for_null_and_newlines_as_the_file_has_them(tmp_path: Path) -> None:
    text = 'NA;7\n"two\nlines";NA\n"NA";8'
    schema = Schema(s="string?", n="int64?")
    rows = _rows(tmp_path, text, schema, delimiter=";", header=False, nulls=("NA",), quoted_newlines=True)
    assert rows == [{"s": None, "n": 7}, {"s": "two\nlines", "n": None}, {"s": "NA", "n": 8}]
    text = "t\n01/02/1970 00:00\n1970-01-01T00:00:01\n"
    month = 31 * 86400 * 10**9
    found = _rows(tmp_path, text, Schema(t="timestamp"), time_formats=["%d/%m/%Y %H:%M"], time="t", disorder=month)
    assert [row["t"].value for row in found] == [month, 10**9]
    assert _rows(tmp_path, "t\n", Schema(t="timestamp")) == []
    assert _rows(tmp_path, "s,n\n0x1,7\n0x,0x\n", Schema(s="string?", n="int64?"), nulls=("", "0x"))[1]["n"] is None


def test_dates_are_of_the_formats_of_times_too(tmp_path: Path) -> None:
    text = "d,n\n29.02.2024,1\n2024-02-28,2\n\n,3\n29.02.2024 00:00,4\n31.12.9999,5\n29.02.2024,6\n"
    formats = ("%d.%m.%Y", "%d.%m.%Y %H:%M")
    found = _rows(tmp_path, text, Schema(d="date?", n="int64"), time_formats=formats)
    leap = date(2024, 2, 29)
    assert [row["d"] for row in found] == [leap, date(2024, 2, 28), None, leap, date.max, leap]
    assert _rows(tmp_path, "d\n", Schema(d="date"), time_formats=formats) == []
    for wrong in ("31.02.2023", "29.02.2024 10:00", "20240229", ""):
        said = ("line 3", "column 'd'", "null" if not wrong else repr(wrong), "date?")
        with raises(OperatorError, said):
            _rows(tmp_path, f"d,n\n01.01.2024,1\n{wrong},2\n", Schema(d="date", n="int64"), time_formats=formats)


@pytest.mark.parametrize("kind", ["date", "timestamp"])
@pytest.mark.parametrize(
    ("form", "there", "wrong"),
    [
        ("%j %Y", "366 2024", "366 2026"),
        ("%D %k:%M", "12/31/24 0:00", "2/31/24 0:00"),
        ("%e.%m.%Y", "31.12.2024", "31. 4.2023"),
    ],
)
def test_dates_and_times_of_a_format_are_of_days_that_there_are(
    tmp_path: Path, kind: str, form: str, there: str, wrong: str
) -> None:
    schema, formats = Schema(d=kind, n="int64"), ("%Y%m%d", form)
    rows = _rows(tmp_path, f"d,n\n{there},1\n", schema, time_formats=formats)
    assert f"{rows[0]['d']:%Y-%m-%d}" == "2024-12-31"
    with raises(OperatorError, "line 3", "column 'd'", repr(wrong), kind):
        _rows(tmp_path, f"d,n\n{there},1\n{wrong},1\n", schema, time_formats=formats)


_OF_MARCH = (
    *("03.03.2023", "1.5.2031 9:30", "2024-03-01T23:31:29", "29.02.2024", "01.12.2023 00:29", "1. 3.2030", ""),
    *("31.01.2023", "1900-03-01 00:00:31", "1.10.1969 00:31"),
)


@pytest.mark.parametrize("wrong", ["31.02.2023", "29.02.1900", "30.2.2031 9:30", "31. 4.1969", "31.11.2023 01:01"])
def test_times_of_a_format_are_of_days_that_there_are(tmp_path: Path, wrong: str) -> None:
    formats, schema = ("%d.%m.%Y", "%d.%m.%Y %H:%M"), Schema(t="timestamp?", n="int64")
    lines = "".join([f"{time},1\n" for time in _OF_MARCH])
    rows = _rows(tmp_path, f"t,n\n{lines}", schema, time_formats=formats)
    assert [row["t"] and f"{row['t']:%Y-%m-%d %H:%M:%S}" for row in rows] == [
        *("2023-03-03 00:00:00", "2031-05-01 09:30:00", "2024-03-01 23:31:29", "2024-02-29 00:00:00"),
        *("2023-12-01 00:29:00", "2030-03-01 00:00:00", None, "2023-01-31 00:00:00", "1900-03-01 00:00:31"),
        "1969-10-01 00:31:00",
    ]
    with raises(OperatorError, "rows.csv", f"line {len(_OF_MARCH) + 2}", "column 't'", repr(wrong), "timestamp"):
        _rows(tmp_path, f"t,n\n{lines}{wrong},1\n{wrong},2\n", schema, time_formats=formats)
    with raises(OperatorError, "rows.csv", "line 3", "column 't'", repr(wrong), "timestamp"):
        _rows(tmp_path, f"t\n1.4.2023\n{wrong}\n", Schema(t="timestamp"), time_formats=formats)


_WITH_OFFSETS = ("%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M %z", "%Y-%j")


def test_offsets_are_applied_whatever_the_formats(tmp_path: Path) -> None:
    """Also near days that a month may lack, and on the days before and after them in UTC."""
    expected = {
        "2026-01-01T10:00+02:00": "2026-01-01 08:00", "2026-01-01 10:00:00Z": "2026-01-01 10:00",
        "2026-01-01 10:00": "2026-01-01 10:00", "01.01.2026 10:00:00": "2026-01-01 10:00",
        "01.01.2026 10:00 +0230": "2026-01-01 07:30", "01.03.2026 00:30+02": "2026-02-28 22:30",
        "1.3.2026 23:30 -02:30": "2026-03-02 02:00", "28.02.2026 23:29 -0031": "2026-03-01 00:00",
        "30.01.2026 10:30 Z": "2026-01-30 10:30", "2024-366": "2024-12-31 00:00",
    }  # fmt: skip
    text = "t,n\n" + "".join([f"{time},1\n" for time in expected])
    rows = _rows(tmp_path, text, Schema(t="timestamp", n="int64"), time_formats=_WITH_OFFSETS)
    assert [f"{row['t']:%Y-%m-%d %H:%M}" for row in rows] == [*expected.values()]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("%z %Y", ("%z", "end")), ("%Z %F", ("%Z", "(%z)", "string")), ("%G-%V-%u", ("%V", "date", "string")),
        ("%s", ("%s", "int64", '.cast("timestamp")')), ("%F %s", ("%s", "int64")), ("%s %z", ("%s", "int64")),
        ("%Y %U", ("%U", "%w", "string")), ("%Y-%W %H", ("%W", "%w", "string")),
        ("", ("no part of a time", "%d.%m.%Y")), ("%%U", ("no part of a time", "%d.%m.%Y")),
    ],
)  # fmt: skip
def test_formats_of_which_a_part_is_not_looked_at_are_refused(tmp_path: Path, form: str, said: Fact) -> None:
    with raises(UsageError, "source 'read_csv'", "time_formats", repr(form), said):
        _rows(tmp_path, "t\n", Schema(t="timestamp"), time_formats=[form])


@pytest.mark.parametrize(
    ("kind", "form"),
    [("date", "%G-W%V-%u"), *product(("date", "timestamp"), ("%Y %U %w", "%W %a %Y", "%U of %Y-%m-%d", "%F %%s"))],
)
def test_days_of_weeks_are_read(tmp_path: Path, kind: str, form: str) -> None:
    day = date(2026, 12, 31)
    rows = _rows(tmp_path, f"d\n{day:{form}}\n", Schema(d=kind), time_formats=[form])
    assert f"{rows[0]['d']:%F}" == f"{day}"


@pytest.mark.parametrize(
    "wrong",
    [
        "01.02.2026 23:59:60", "01.02.2026 23:59:61", "2025-366", "30.02.2026 00:30 +0200", "31.04.2026 23:30 -0200",
        "01.02.2026 10:00 +02:0", "01.02.1500 10:00:00",
    ],
)  # fmt: skip
def test_times_of_a_format_that_are_none_are_refused(tmp_path: Path, wrong: str) -> None:
    text = f"t,n\n01.02.2026 10:00:00,1\n{wrong},1\n"
    with raises(OperatorError, "rows.csv", "line 3", "column 't'", repr(wrong), "timestamp"):
        _rows(tmp_path, text, Schema(t="timestamp", n="int64"), time_formats=_WITH_OFFSETS)


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\r", "\r\r\n"])
def test_an_empty_last_value_is_null_however_the_file_ends(tmp_path: Path, end: str) -> None:
    for lines in ('"x",', '"a\r""",2\n"x",'):
        rows = _rows(tmp_path, f"s,v\n{lines}{end}", Schema(s="string", v="string?"))
        assert rows[-1] == {"s": "x", "v": None}


def test_words_for_null_are_no_texts(tmp_path: Path) -> None:
    """Only where the empty text alone stands for null is it a text like any other where null is none."""
    text = "s,n\nNA,1\n,2\n"
    for nulls in (("NA",), ("", "NA"), ("NA", "")):
        with raises(OperatorError, "line 2", "column 's'", "null", "string?"):
            _rows(tmp_path, text, Schema(s="string", n="int64"), nulls=nulls)
    for nulls, expected in ((("NA",), [None, ""]), (("",), ["NA", None]), (("", "NA"), [None, None])):
        rows = _rows(tmp_path, text, Schema(s="string?", n="int64"), nulls=nulls)
        assert [row["s"] for row in rows] == expected
    assert [row["s"] for row in _rows(tmp_path, text, Schema(s="string", n="int64"))] == ["NA", ""]


@pytest.mark.parametrize(
    ("text", "kinds", "said"),
    [
        ("a,b\n\n1,x\n\nq,y\n", {"a": "int64"}, ("line 5", "column 'a'", "'q'", "int64", "nulls=")),
        ("a,b\n1,x\n,y\n", {"a": "int64"}, ("line 3", "column 'a'", "null", "int64?")),
        ("a\n2026-01-01 00:00:08\n", {"a": "int64"}, ("line 2", "column 'a'", "make it timestamp, or", "nulls=")),
        ("a\n1.5\n", {"a": "int64?"}, ("line 2", "column 'a'", "'1.5'", "int64?")),
        ("a\n9223372036854775808\n", {"a": "int64"}, ("line 2", "'a'", "'9223372036854775808'", "int64", "nulls=")),
        ("a\n1\n-9223372036854775808\n", {"a": "int64?"}, ("line 3", "it holds -9223372036854775808", "without ?")),
        ("a\n1\n2,3\n", {"a": "int64"}, ("line 3", "2 values", "1 columns", "'2,3'", "quote")),
        ("a,b\n1;2\n", {"a": "int64"}, ("line 2", "1 values", "2 columns", "'1;2'", "delimiter=")),
        ("a\n-1\n", {"a": "uint64"}, ("line 2", "column 'a'", "'-1'", "make it int64", "nulls=")),
        ("a\n18446744073709551615\n", {"a": "int64"}, ("line 2", "column 'a'", "make it uint64", "nulls=")),
        ("a\n2.0\n", {"a": "int64"}, ("line 2", "column 'a'", "'2.0'", "make it float64", "nulls=")),
        ("d\n2026-01-01T00:00:08\n", {"d": "date?"}, ("line 2", "column 'd'", "make it timestamp", "time_formats=")),
        ("t\n1700000000\n", {"t": "timestamp?"}, ("line 2", "'t'", "make it int64", 'col("t") * 1_000_000', "of ms")),
        ("a,t\n1,2026-01-01\n2,soon\n", {"t": "timestamp"}, ("line 3", "column 't'", "'soon'", "timestamp", "nulls=")),
        ("t\n3026-01-01\n", {"t": "timestamp?"}, ("line 2", "'t'", "'3026-01-01'", "1677 to 2262", "make it string")),
        ("t\n2026-01-01 00:00:00.1234567891\n", {"t": "timestamp?"}, ("line 2", "column 't'", "to the ns", "string")),
        ("d\n29.02.2024\n", {"d": "date?"}, ("line 2", "column 'd'", "'29.02.2024'", "date?", "time_formats=")),
        ("m\n1.5\n1.005\n", {"m": "decimal(5, 2)"}, ("line 3", "'m'", "decimal(5, 2)", "more digits there", "18")),
        ("m\n10000\n", {"m": "decimal(5, 2)"}, ("line 2", "column 'm'", "it holds 10000.00", "more digits")),
        ("m\n0x10\n", {"m": "decimal(5, 2)?"}, ("line 2", "column 'm'", "'0x10'", "decimal(5, 2)?", "string")),
        ("x\n-INF\n1.5\n-1e400\n", {"x": "float64"}, ("line 4", "column 'x'", "'-1e400'", "float64", "nulls=")),
        ("s,a\n0x1,1\n\n0x2, 0x10\n", {"s": "string", "a": "int64?"}, ("line 4", "column 'a'", "' 0x10'", "int64?")),
        ('a\n"0X1F"\n', {"a": "uint64"}, ("line 2", "column 'a'", "'0X1F'", "uint64", "nulls=")),
        ("a\n +1\n", {"a": "int64"}, ("line 2", "column 'a'", "+1", "int64", "nulls=")),
        ("a\nyes\n", {"a": "bool"}, ("line 2", "column 'a'", "'yes'", "bool", "nulls=")),
        ("a,s\n1,x\n2,\"y\n", {"a": "int64"}, ("line 3", "quoted", "quoted_newlines=True")),
        ('a,s\n1,"x\ny"\n', {"a": "int64"}, ("line 2", "quoted", "quoted_newlines=True")),
        ("a,s\n1,two\rlines\n", {"a": "int64"}, ("line 2", "CR", "quote the value", "end lines in LF")),
        ('s\n"\r"\n\n"a""\r"\r\nb\rc\n', {"s": "string"}, ("line 5", "CR", "quote the value", "end lines in LF")),
        ("a\n1\r\n2\r3\r4", {"a": "int64"}, ("line 3", "CR", "quote the value", "end lines in LF")),
        ("a\n\r\r\n1\r\r\nx\r\r\n", {"a": "int64"}, ("line 4", "column 'a'", "'x'", "int64", "nulls=")),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, text: str, kinds: dict[str, str], said: Fact) -> None:
    with raises((SchemaError, OperatorError), "rows.csv", said):
        _rows(tmp_path, text, Schema.of(kinds), block_bytes=3)
    with raises((SchemaError, OperatorError), "rows.csv", said) as caught:
        _rows(tmp_path, text, Schema.of(kinds))
    assert ("nulls=" in str(caught.value)) == ("nulls=" in said), "a cure only where it cures"


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with raises(SchemaError, "rows.csv", "column 'b'", "line 1", "a, c", "header=False"):
        _rows(tmp_path, "a,c\n1,2\n", Schema("a b"))
    with raises(SchemaError, "rows.csv", "column 'a'", "line 1", "a;b", "delimiter= than ','"):
        _rows(tmp_path, "a;b\n1;2\n", Schema("a"))
    with raises(OperatorError, "line 2", "column 'a'", "'2026'", "timestamp", "time_formats=", "nulls="):
        _rows(tmp_path, "a\n2026\n", Schema(a="timestamp"), time_formats=("%d.%m.%Y",))
    with raises(OperatorError, "rows.csv", "line 3", "no end", "cut off"):
        _rows(tmp_path, 'a,s\n1,x\n2,"y', Schema("a"), quoted_newlines=True)
    with raises(OperatorError, "rows.csv", "line 2", "column 's'", "UTF-8", "latin-1", "iconv"):
        _rows(tmp_path, b"s\n\xff\n", Schema(s="string"))
    with raises(SchemaError, "rows.csv", "line 1", "CR", "LF"):
        _rows(tmp_path, b"s\r1\r", Schema("s"))
    with raises(OperatorError, "rows.csv", "line 1", "CR", "LF"):
        _rows(tmp_path, b'"s"\r1\r', Schema(s="string"), header=False)
    with raises(OperatorError, "rows.csv", "line 3", "CR", "LF"):
        _rows(tmp_path, b's\n"a\nb"\r1\n', Schema(s="string"), quoted_newlines=True)
    with raises(SchemaError, "source 'read_csv'", "column 's'", "bytes", "string"):
        _rows(tmp_path, "s\n", Schema(s="bytes"))
    for delimiter in ("||", "\0", "é", '"', None):
        with raises(UsageError, "source 'read_csv'", "delimiter", "one ASCII character", "NUL", repr(delimiter)):
            _rows(tmp_path, "s\n", Schema(s="string"), delimiter=delimiter)
    with raises(UsageError, "source 'read_csv'", str(tmp_path / "none.csv")), simulated(1) as group:
        build(group, lambda worker, scope: read_csv(scope, tmp_path / "none.csv", Schema("a")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ("line 1", "no columns", "it is empty", "leave the file out")),
        ("\na\n1\n", ("line 1", "no columns", "it is empty", "write them there")),
        ('"a\nb"\n1\n', ("line 1", "no columns", "quoted", "end it there")),
        ("a,a\n1,2\n", ("more than one column 'a'", "line 1", "a, a", "names of their own")),
        ("b,A\n1,2\n", ("no column 'a'", "line 1", "did you mean 'A'?")),
        ("b, a\n1,2\n", ("no column 'a'", "line 1", "did you mean ' a'?")),
    ],
)
def test_a_first_line_that_does_not_name_the_columns(tmp_path: Path, text: str, said: Fact) -> None:
    with raises(SchemaError, "source 'read_csv'", "rows.csv", said) as caught:
        _rows(tmp_path, text, Schema("a"), quoted_newlines=True)
    assert ("header=" in str(caught.value)) == ("did you mean" in str(caught.value)), "a cure only where it cures"


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(b"s\n1\n"), ("gzip", "unpack")),
        (bz2.compress(b"s\n1\n"), ("bzip2", "unpack")),
        (lzma.compress(b"s\n1\n"), ("xz", "unpack")),
        ("s\n1\n".encode("utf-16"), ("UTF-16", "iconv")),
        ("s\n1\n".encode("utf-16-le"), ("UTF-16LE", "iconv")),
        ("s\n1\n".encode("utf-16-be"), ("UTF-16BE", "iconv")),
        ("s\n1\n".encode("utf-32"), ("UTF-32", "iconv")),
        ("s\n1\n".encode("utf-32-le"), ("UTF-32LE", "iconv")),
        ("s\n1\n".encode("utf-32-be"), ("UTF-32BE", "iconv")),
        (b"PK\x03\x04\x14\x00", ("zip", "unpack")),
        (b"\x04\x22\x4d\x18\x64", ("lz4", "unpack")),
        (b"\xff\x06\x00\x00sNaPpY", ("snappy", "unpack")),
        (b"PAR1\x15\x04", "read_parquet"),
        (b"ARROW1\x00\x00", "read_arrow"),
    ],
)
def test_files_that_are_no_text_are_named_before_the_run(
    tmp_path: Path, data: bytes, said: Fact, header: bool
) -> None:
    with raises(SchemaError, "source 'read_csv'", "rows.csv", said):
        _rows(tmp_path, data, Schema("s"), header=header)
    assert len(_rows(tmp_path, "BZh\n", Schema(s="string"), header=False)) == 1


def test_blanks_and_signs_before_numbers(tmp_path: Path) -> None:
    rows = _rows(tmp_path, "i,f,d\n 1 , +1 , +1 \n", Schema(i="int64", f="float64", d="decimal(5, 2)"))
    assert rows == [{"i": 1, "f": 1.0, "d": Decimal(1)}]


def test_one_text_for_a_sequence_of_texts_is_named() -> None:
    """As a sequence it would be its letters, and the empty one no null at all."""

    def program(worker: Worker) -> None:
        with worker.dataflow("wrong") as scope:
            read_csv(scope, "none.csv", Schema(x="float64?"), nulls="n/a")

    with raises(UsageError, "source 'read_csv'", "nulls", "('n/a',)"):
        execute(program, workers=1)


@pytest.mark.parametrize("kind", ["timestamp", "timestamp?"])
def test_rows_that_are_not_in_order_are_told_by_the_clock(kind: str, tmp_path: Path) -> None:
    text, schema = "at\n2026-03-01T10:00:00\n2026-03-01T09:58:30\n", Schema(at=kind)
    assert len(_rows(tmp_path, text, schema, time="at", disorder="90s")) == 2
    before, promised = "2026-03-01T09:58:30.000000000", "2026-03-01T10:00:00.000000000"
    late = ("rows.csv line 3", "column 'at'", before, promised, "disorder='90s'", "late=True")
    with raises(OperatorError, *late):
        _rows(tmp_path, text, schema, time="at", block_bytes=20)


@settings(max_examples=examples(300))
@given(
    st.lists(st.sampled_from(['"', '"', '""', ",", "\n", "\r", "\r\n", "a", "bcdefghijk", "é"]), max_size=24),
    st.booleans(),
)
def test_quoted_values_at_fault_are_those_that_a_pattern_finds(parts: list[str], may_cross: bool) -> None:
    data = "".join(parts).encode() + b"\n"
    quoted = re.compile(rb'(?:\A|[\n\r,])"((?:[^"]|"")*)("|\Z)')
    faults = [one.start(1) for one in quoted.finditer(data) if not one[2] or (not may_cross and b"\n" in one[1])]
    octets = np.frombuffer(data, np.uint8)
    assert faulty_quote(address_of(octets), len(data), ord(","), int(may_cross)) == (faults[0] if faults else -1)


@settings(max_examples=examples(1200))
@given(st.lists(st.sampled_from(["0x", "0X", "x", "0", '"', " ", "\t", ",", "\n", "\r", ";abcdefg"]), max_size=6))
def test_values_that_may_be_hexadecimal_are_those_that_a_pattern_finds(parts: list[str]) -> None:
    data = "".join(parts).encode() + b"\n"
    octets = np.frombuffer(data, np.uint8)
    found = may_be_hexadecimal(address_of(octets), len(data), ord(","))
    assert bool(found) == (re.search(rb'(?:\A|[\n\r,])[" \t]*0[xX]', data) is not None)


@pytest.mark.parametrize("workers", [1, 2])
def test_lines_of_blocks_that_are_read_at_once_are_named(workers: int, tmp_path: Path) -> None:
    """Four blocks of 256 KiB: those of a worker lie apart where there are two."""
    lines = [f"{at},{'x' * 90}" for at in range(30_000)]
    lines[12_345] = "1O,"
    text, at_fault = "n,text\n" + "\n".join(lines), ("line 12347", "column 'n'", "'1O'")
    with raises(OperatorError, *at_fault):
        _rows(tmp_path, text, Schema("n", text="string"), workers)
