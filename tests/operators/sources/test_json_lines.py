"""read_json_lines: blocks cut anywhere lose no line, and what is wrong is named by file, line and column."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.operators.sources.helpers import run
from tokenring.engine import OperatorError, Schema, SchemaError
from tokenring.operators import read_json_lines

SCHEMA = Schema("id", name="string?", at="timestamp?", on="bool?", score="float64?")


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        {"id": 0, "at": 7},
    ]
    file.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    sent = run(lambda scope: read_json_lines(scope, file, SCHEMA))
    assert [[str(value) for value in row] for row in sent.values] == [
        ["9223372036854775807", "a\nb", "1767225600000000001", "True", "1.0"],
        ["-1", "", "0", "False", "0.5"],
        ["0", "None", "7", "None", "nan"],
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b'{"id": 1', "rows.jsonl line 3, character 9: bad JSON"),
        (b"[1]", r"rows.jsonl line 3: not a JSON object but a list \(\[1\]\)"),
        (b"{}", "line 3, column 'id': must be an integer, but is missing; make it int64"),
        (b'{"id": true}', r"line 3, column 'id': must be an integer, but is a boolean \(True\)"),
        (b'{"id": 9223372036854775808}', "line 3, column 'id': 9223372036854775808 is out of range"),
        (b'{"id": 1, "at": "now"}', "line 3, column 'at': 'now' is no ISO 8601 time"),
        (b'{"id": 1, "at": "9999-01-01"}', "line 3, column 'at': '9999-01-01' is no ISO 8601 time within 1677"),
        (b'{"id": 1, "name": 5}', r"line 3, column 'name': must be a string, but is an integer \(5\)"),
    ],
)
def test_a_bad_line_is_named(line: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b'{"id": 0}\n\n' + line + b"\n")
    with pytest.raises(OperatorError, match=complaint):
        run(lambda scope: read_json_lines(scope, tmp_path, SCHEMA, block_bytes=5))


def test_bytes_have_no_json(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").touch()
    with pytest.raises(SchemaError, match="column 'raw' is bytes, which JSON cannot hold"):
        run(lambda scope: read_json_lines(scope, tmp_path, Schema(raw="bytes")))
