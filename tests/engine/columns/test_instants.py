"""ISO 8601 as it is read everywhere: from constants, lists, Arrow and JSON."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises
from tokenring.engine import Batch, Schema, SchemaError
from tokenring.engine.columns import instant_of
from tokenring.operators.expressions.constants import constant

AT = Schema(at="timestamp")
NOON = 1_780_315_200_000_000_000  # 2026-06-01T12:00Z
SAME = (
    *("2026-06-01T12:00", "2026-06-01 12:00:00", "2026-06-01T12:00:00.000000000", "2026-06-01T12:00Z"),
    *("2026-06-01 12:00:00 z", "2026-06-01T14:00+02", "2026-06-01T14:00:00+0200", "2026-06-01 14:00 +02:00"),
    *("2026-06-01T00:00:00-12:00", "2026-06-01T12"),
)
NONE = ("now", "today", "2026-06", "12:00", "", "2026-06-01T24:00", "2026-02-29", "2263-01-01", "1600-01-01T00:00Z")



def _ways(text: str) -> list[int]:
    batch = Batch(AT, {"at": [text]})
    return [instant_of(text), int(batch.words("at")[0]), constant(text, "timestamp")[1]]


@pytest.mark.parametrize("text", SAME)
def test_one_instant_in_many_spellings(text: str) -> None:
    assert _ways(text) == [NOON] * 3


@given(st.lists(st.none() | st.sampled_from(SAME), max_size=4))
def test_a_column_of_any_spellings(texts: list[str | None]) -> None:
    found = Batch(Schema(at="timestamp?"), {"at": texts})["at"]
    assert [None if np.isnat(value) else int(value.astype(np.int64)) for value in np.ma.getdata(found)] == [
        None if text is None else NOON for text in texts
    ]


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_instant(text: str) -> None:
    for read in (instant_of, lambda text: Batch(AT, {"at": [text]}), lambda text: constant(text, "timestamp")):
        with raises(SchemaError, repr(text), "1677", "2262"):
            read(text)


@given(st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)))
def test_what_python_writes(moment: datetime) -> None:
    whole = int(np.datetime64(moment, "us").astype("datetime64[ns]").astype(np.int64))
    assert instant_of(moment.isoformat()) == whole
    assert instant_of(moment.replace(tzinfo=UTC).isoformat()) == whole


@pytest.mark.parametrize("value", [datetime(2263, 1, 1), datetime(1600, 1, 1, tzinfo=UTC), np.datetime64("NaT", "s")])
def test_constants_do_not_wrap_around(value: object) -> None:
    with raises(SchemaError, str(value)[:4], "1677", "2262"):
        constant(value, None)
