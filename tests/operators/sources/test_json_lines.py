"""read_json_lines: blocks cut anywhere lose no line, and what is wrong is named by file, line and column."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.errors import Fact, raises
from tests.long_form import examples
from tests.operators.sources.helpers import run
from tokenring.engine import OperatorError, Schema, SchemaError
from tokenring.operators import read_json_lines
from tokenring.operators.sources.json_rows import JsonRows

SCHEMA = Schema("id", name="string?", at="timestamp?", on="bool?", score="float64?")
ALL_KINDS = Schema(**SCHEMA.spec(), n="uint64?", day="date?", fee="decimal(5, 2)?")


@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(st.one_of(st.none(), st.text(max_size=12)), max_size=30),
    block_bytes=st.integers(1, 200),
    workers=st.integers(1, 3),
    ends=st.sampled_from([b"\n", b"", b"\n\n"]),
)
def test_blocks_of_any_size_give_each_line_once(
    names: list[str | None], block_bytes: int, workers: int, ends: bytes, tmp_path: Path
) -> None:
    lines = [orjson.dumps({"id": number, "name": name, "more": [1]}) for number, name in enumerate(names)]
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join(lines) + ends)
    schema = Schema("id", name="string?")
    sent = run(lambda scope: read_json_lines(scope, tmp_path, schema, time="id", block_bytes=block_bytes), workers)
    assert sorted(sent.values) == list(enumerate(names))


def test_kinds_and_nulls(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [
        {"id": 2**63 - 1, "name": "a\nb", "at": "2026-01-01T00:00:00.000000001Z", "on": True, "score": 1},
        {"id": -1, "name": "", "at": "1970-01-01 02:00+02:00", "on": False, "score": 0.5},
        {"id": 0},
    ]
    file.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    sent = run(lambda scope: read_json_lines(scope, file, SCHEMA))
    assert [[str(value) for value in row] for row in sent.values] == [
        ["9223372036854775807", "a\nb", "1767225600000000001", "True", "1.0"],
        ["-1", "", "0", "False", "0.5"],
        ["0", "None", "None", "None", "nan"],
    ]


def test_fractions_beside_decimals(tmp_path: Path) -> None:
    """Decimals are read as they are written, floats as floats, where a line is looked at by itself, as for -0.0."""
    file = tmp_path / "rows.jsonl"
    lines = [b'{"id": 1, "x": 1.5, "d": 0.10}', b'{"id": 2, "x": -0.0, "d": "0.20"}', b'{"id": 3, "x": 1e308, "d": 3}']
    file.write_bytes(b"\n".join(lines))
    sent = run(lambda scope: read_json_lines(scope, file, Schema("id", x="float64", d="decimal(9, 2)")))
    assert [(number, x, str(d)) for number, x, d in sent.values] == [
        (1, 1.5, "0.10"), (2, -0.0, "0.20"), (3, 1e308, "3.00"),
    ]  # fmt: skip
    file.write_bytes(b'{"id": 1.5, "x": -0.0, "d": 1}')
    with raises(OperatorError, "line 1", "column 'id'", "an integer", "a fraction (1.5)"):
        run(lambda scope: read_json_lines(scope, file, Schema("id", x="float64", d="decimal(9, 2)")))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b'{"id": 1', ("line 3", "character 9", "bad JSON", "ends on one line", "jq -c .")),
        (b'[{"id": 1},', ("line 3", "character 12", "bad JSON", "jq -c '.[]'")),
        (b"[1]", ("line 3", "JSON object", "list ([1])", "jq -c '.[]'")),
        (b'{"id": 1}, {"id": 2}', ("line 3", "character 10", "bad JSON", "one JSON object")),
        (b'{"id": 1, "score": -Infinity}', ("line 3", "character 21", "JSON has no", "write null", "a ?")),
        (b'{"id": 1, "score": 1e400}', ("line 3", "character 20", "infinity", "in quotes", "make it string")),
        (b"{}", ("line 3", "column 'id'", "integer", "missing", "int64?")),
        (b'{"ID": 1}', ("line 3", "column 'id'", "missing", "int64?", "did you mean 'ID'?")),
        (b'{"id": true}', ("line 3", "column 'id'", "integer", "boolean (True)", "make it bool in")),
        (b'{"id": "1"}', ("line 3", "column 'id'", "integer", "a string (1)", "make it string in")),
        (b'{"id": 99999999999999999999}', ("line 3", "column 'id'", "64 bits (1e+20)", "in quotes", "string")),
        (b'{"id": 9223372036854775808}', ("line 3", "9223372036854775808 is no int64", "make it uint64")),
        (b'{"id": 1, "n": -1}', ("line 3", "column 'n'", "-1 is no uint64?", "make it int64")),
        (b'{"id": 1, "n": 18446744073709551615}', ("line 3, column 'n': it holds 18446744073709551615", "without ?")),
        (b'{"id": 1, "day": "12/31/2026"}', ("line 3", "column 'day'", "'12/31/2026'", "YYYY-MM-DD", "make it string")),
        (b'{"id": 1, "day": "2026-01-01T00:00:00Z"}', ("line 3", "column 'day'", "YYYY-MM-DD", "make it timestamp")),
        (b'{"id": 1, "fee": "1,5"}', ("line 3, column 'fee': '1,5' is no decimal(5, 2)", "make it string")),
        (b'{"id": 1, "fee": 1.234}', ("line 3, column 'fee': 1.234 is no decimal(5, 2)", "round it")),
        (b'{"id": 1, "at": "now"}', ("line 3", "column 'at'", "'now'", "ISO 8601")),
        (b'{"id": 1, "at": "9999-01-01"}', ("line 3", "column 'at'", "'9999-01-01'", "1677", "2262")),
        (b'{"id": 1, "at": 1709164800000}', ("line 3", "column 'at'", "1709164800000", "int64", '.cast("timestamp")')),
        (b'{"id": 1, "name": 5}', ("line 3", "column 'name'", "string", "integer (5)", "make it int64? in")),
    ],
)
def test_a_bad_line_is_named(line: bytes, complaint: Fact, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b'{"id": 0}\n\n' + line + b"\n")
    with raises(OperatorError, "rows.jsonl", complaint):
        run(lambda scope: read_json_lines(scope, tmp_path, ALL_KINDS, block_bytes=5))


@pytest.mark.parametrize(
    ("octets", "said"),
    [
        (gzip.compress(b'{"id": 1}\n'), ("line 1", "gzip", "unpack")),
        ('{"id": 1}\n'.encode("utf-16"), ("line 1", "UTF-16", "iconv")),
        ('{"id": 1}\n'.encode("utf-16-be"), ("line 1", "UTF-16BE", "iconv")),
        (b'{"id": 1}\n{"id": 2, "name": "caf\xe9"}\n', ("line 2", "UTF-8", "latin-1", "iconv")),
    ],
    ids=["gzip", "UTF-16", "UTF-16BE", "latin-1"],
)
def test_what_is_no_utf_8_is_told_with_the_cure(octets: bytes, said: Fact, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(octets)
    with raises(OperatorError, "rows.jsonl", said):
        run(lambda scope: read_json_lines(scope, tmp_path, SCHEMA))


@pytest.mark.parametrize("block_bytes", [1, 11, 1 << 18])
def test_a_mark_of_utf_8_is_no_part_of_the_first_line(block_bytes: int, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b'\xef\xbb\xbf{"id": 1}\n{"id": 2}\n')
    (tmp_path / "rows2.jsonl").write_bytes(b"\xef\xbb\xbf")
    for workers in (1, 2):
        sent = run(lambda scope: read_json_lines(scope, tmp_path, Schema("id"), block_bytes=block_bytes), workers)
        assert sorted(sent.values) == [(1,), (2,)]
    (tmp_path / "rows2.jsonl").write_bytes(b'\xef\xbb\xbf{"id": 1}\n\xef\xbb\xbf{"id": 2}\n')
    with raises(OperatorError, "rows2.jsonl line 2", "bad JSON"):
        run(lambda scope: read_json_lines(scope, tmp_path, Schema("id"), block_bytes=block_bytes))


def test_bytes_have_no_json(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").touch()
    with raises(SchemaError, "'read_json_lines'", "column 'raw'", "bytes", "JSON", "string"):
        run(lambda scope: read_json_lines(scope, tmp_path, Schema(raw="bytes")))


ALL = Schema.of(
    {"id": "int64", "size": "uint64?", "name": "string?", "at": "timestamp?", "on": "bool?", "score": "float64?"}
    | {"price": "decimal(6, 2)?"}
)
NUMBERS = (
    *("0", "-0", "1", "-1", "00", "1.0", "1e2", "-0.0", "-0e0", "1.5", "0.1", "9007199254740993"),
    *("9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615"),
    *("18446744073709551616", "123456789012345678901234567890.5", "1e999", "1e-999"),
    *("0.001", "1.005", "1.500", "1e-2", "1E-3", "9999.99", "10000", f"1.{'0' * 60}1"),
    *("NaN", "-NaN", "Infinity", "-Inf", "+1", "1.", ".5", "-", "0x1", "1_0"),
)
TEXTS = (
    *('"a"', '""', '"\t"', '"a', '"NaN"', '"1"', r'"\u00e4\n"', r'"\ud83d\ude00"', r'"\ud800"', r'"\udc00x"', r'"\x"'),
    r'"\u0000"',
)
TIMES = ('"2026-01-01T00:00:00.5Z"', '"2026-01-01"', '"2026-01-01 02:00 +02"', '"2026-01-01T02:00:00+0200"', '"now"')
OTHERS = (
    *("null", "true", "false", "True", "[]", "[1", '{"a":1}', "[" * 1100 + "]" * 1100, "nul", "[NaN]", '", Info"', ""),
)
VALUES = st.sampled_from([*NUMBERS, *TEXTS, *TIMES, *OTHERS])
RIGHT = {
    "id": st.integers(-5, 5).map(str),
    "size": st.integers(0, 5).map(str),
    "name": st.text(max_size=5).map(lambda text: orjson.dumps(text).decode()),
    "at": st.sampled_from(TIMES[:4]),
    "on": st.sampled_from(["true", "false", "null"]),
    "score": st.floats(allow_nan=False, allow_infinity=False).map(repr),
    "price": st.sampled_from(["1", "1.50", '"-2.5"', "1e2", '"+1."', "null"]),
    "more": st.sampled_from(["1", '"x"', "[1, 2]", '{"id": 1}', "null"]),
}
FIELDS = st.sampled_from(list(RIGHT)).flatmap(
    lambda name: st.tuples(st.just(f'"{name}"'), st.one_of(*[RIGHT[name]] * 12, VALUES))
)


@st.composite
def objects(draw: st.DrawFn) -> str:
    fields = draw(st.lists(FIELDS, max_size=5, unique_by=lambda field: field[0]))
    fields.insert(0, ('"id"', draw(st.one_of(*[RIGHT["id"]] * 12, VALUES))))
    if draw(st.integers(0, 20)) == 0:
        fields.append(draw(FIELDS))  # a name twice
    between = draw(st.sampled_from([",", ", ", ",", ",", ",\n"]))
    return "{" + between.join([f"{name}:{value}" for name, value in fields]) + "}"


ODD_LINES = (
    *("", " ", "\r", "null", "[]", "{}", "\0", "1}", ' {"id":1}', '{"id":1} ', '{"id":1}\r', '\ufeff{"id":1}'),
    *('{"id":1}{"id":2}', '{"id":1} 5', '{"id":1},{"id":2}', '{"id":1}\0', '{"id":1', '{"id":', '{"id":1}//'),
    *('{"more":[{}', '{}],"id":1}'),
)


@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(st.one_of(*[objects()] * 12, st.sampled_from(ODD_LINES)), max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["\n", ""]),
    st.none() | st.integers(0, 60),
)
def test_both_readers_read_alike(lines: list[str], between: str, end: str, damage: int | None) -> None:
    data = (between.join(lines) + end).encode()
    if damage is not None:
        data = data[:damage] + b"\xff" + data[damage:]

    assert _read(data, quick=True) == _read(data, quick=False)


def _read(data: bytes, quick: bool) -> object:
    """What is read, or the error."""
    rows = JsonRows("read", ALL)
    try:
        batch, numbers = (rows.batch if quick else rows.exact)(data, lambda line: f"line {line + 1}")
    except SchemaError as error:
        return str(error)
    words = [column.view(np.int64).tolist() for at, column in enumerate(batch.columns) if ALL.names[at] != "name"]
    return [*map(int, numbers)], words, batch["name"].tolist()


ODD_VALUES = [f'{{"id":1,"{name}":{value}}}' for name in ("score", "price", "more") for value in (*NUMBERS, *OTHERS)]


@pytest.mark.parametrize("odd", [*ODD_LINES, *ODD_VALUES])
def test_both_readers_read_each_odd_line_alike(odd: str) -> None:
    data = f'{{"id":1}}\n{odd}\n{{"id":2}}\n'.encode()
    assert _read(data, quick=True) == _read(data, quick=False)


@pytest.mark.parametrize("depth", [900, 1000, 1001, 1100, 3000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
@pytest.mark.parametrize("where", ["first", "last"])
def test_lines_are_as_deep_as_one_reader_goes(where: str, opening: str, closing: str, depth: int) -> None:
    """Lists and objects within each other, in a column that nobody asks for: orjson reads 1024 levels, the line's own
    among them; what is deeper is refused, and not by the block that it stands in."""
    levels = depth // (opening.count("[") + opening.count("{"))
    deep = '{"more":' + opening * levels + "1" + closing * levels + ',"id":2}'
    lines = [deep, *['{"id":1}'] * 3] if where == "first" else [*['{"id":1}'] * 3, deep]
    rows = JsonRows("read", Schema("id"))
    if 1 + levels * (opening.count("[") + opening.count("{")) > 1024:
        number = lines.index(deep) + 1
        with raises(SchemaError, f"line {number}", "character", "bad JSON", {"recursion", "depth"}):
            rows.batch("\n".join(lines).encode(), lambda line: f"line {line + 1}")
    else:
        batch, _ = rows.batch("\n".join(lines).encode(), lambda line: f"line {line + 1}")
        assert sorted(batch["id"].tolist()) == [1, 1, 1, 2]


def test_a_block_of_right_lines_is_read_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(JsonRows, "exact")
    same = {"at": "2026-01-01T00:00:00Z", "on": True, "score": 0.5, "more": {}}
    some = [{"id": at, "size": at, "name": "ä" if at else None, "price": [12.25, None][at % 2]} for at in range(3)]
    lines = [orjson.dumps(each | same) for each in some]
    batch, numbers = JsonRows("read", ALL).batch(b"\n\n".join(lines), str)
    assert batch["name"].tolist() == [None, "ä", "ä"] and list(numbers) == [0, 2, 4]


def test_a_name_may_be_anything() -> None:
    """msgspec decodes no names that JSON has to escape."""
    names = ['a "b"', "c\\d", "\n", "", "for", "field_1"]
    row = dict(zip(names, range(len(names)), strict=True))
    batch, _ = JsonRows("read", Schema.of(dict.fromkeys(names, "int64"))).batch(orjson.dumps(row), str)
    assert {name: batch[name].tolist() for name in names} == {name: [value] for name, value in row.items()}


@pytest.mark.parametrize("nested", ["[1]", '{"a": 1}'])
def test_what_is_nested_is_refused_with_a_way_out(nested: str) -> None:
    with raises(SchemaError, "line 1, column 'x'", "leave it out of the schema", "from_generator"):
        JsonRows("read", Schema(x="string")).batch(b'{"x": %s}' % nested.encode(), lambda line: f"line {line + 1}")


def test_numbers_beyond_float64_are_left_out_under_any_name() -> None:
    line = orjson.dumps({'a "b"': 1})[:-1] + b', "more": 1e400}'
    with raises(SchemaError, "line 1", "infinity"):  # msgspec does not decode this name, and orjson makes all fields
        JsonRows("read", Schema.of({'a "b"': "int64"})).batch(line, lambda line: f"line {line + 1}")


@pytest.mark.parametrize(("kind", "number"), [("float64", b"1e300"), ("decimal(5, 2)", b"1e0")])
def test_a_line_too_deep_for_exact_numbers_is_named(kind: str, number: bytes) -> None:
    line = b'{"x": %s, "deep": %s}' % (number, b"[" * 1010 + b"]" * 1010)
    with raises(SchemaError, "line 1", "too deep", "flatter"):
        JsonRows("read", Schema(x=kind)).batch(line, lambda line: f"line {line + 1}")


@pytest.mark.parametrize(
    ("number", "found"),
    [
        ("10000000000000000", 1e16), ("18446744073709551616", 2.0**64), ("-3", -3.0),
        ("9007199254740993", ("line 1", "column 'x'", "digits", "make it int64")),
        ("18446744073709551617", ("line 1", "column 'x'", "18446744073709551617", "digits", "in quotes")),
    ],
)
def test_a_float64_may_be_a_whole_number_that_it_holds(number: str, found: Any) -> None:
    rows = JsonRows("read", Schema(x="float64"))
    if isinstance(found, tuple):
        with raises(SchemaError, *found):
            rows.batch(b'{"x": %s}' % number.encode(), lambda line: f"line {line + 1}")
    else:
        assert rows.batch(b'{"x": %s}' % number.encode(), str)[0]["x"].tolist() == [found]


def test_a_mark_within_a_file_is_told_as_such() -> None:
    with raises(SchemaError, "line 2", "BOM"):
        JsonRows("read", Schema("id")).batch('{"id":1}\n\ufeff{"id":2}'.encode(), lambda line: f"line {line + 1}")


@pytest.mark.parametrize("workers", [1, 2])
def test_lines_of_blocks_that_are_read_at_once_are_named(workers: int, tmp_path: Path) -> None:
    """Four blocks of 256 KiB: those of a worker lie apart where there are two."""
    lines = [b'{"id": %d, "text": "%s"}' % (at, b"x" * 90) for at in range(30_000)]
    lines[12_345] = b'{"id": 1O}'
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join(lines))
    with raises(OperatorError, "rows.jsonl line 12346", "bad JSON"):
        run(lambda scope: read_json_lines(scope, tmp_path, Schema("id", text="string")), workers)
