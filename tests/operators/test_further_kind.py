"""A kind that is added as architecture.md says, by a row in each of four files: times of day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.errors import raises
from tests.operators.helpers import bench
from tokenring.engine import Batch, OperatorError, Schema, SchemaError, Stream
from tokenring.engine.columns import Kind, arrow, exact, kinds
from tokenring.operators import Count, Max, aggregate, col, filter, least, select, to_json_lines, top
from tokenring.operators.expressions.typed import _ARITHMETIC

DAY_NS = 86_400 * 10**9
TEXTS = ["09:30:00", "23:59:59"]
WORDS = [34_200 * 10**9, 86_399 * 10**9]


def _read(kind: Kind, text: str) -> int | None:
    try:
        at = time.fromisoformat(text)
    except ValueError:
        return None
    return ((at.hour * 60 + at.minute) * 60 + at.second) * 10**9


def _word(kind: Kind, value: Any) -> int:
    word = _read(kind, str(value)) if isinstance(value, str | time) else value
    if word is None:
        raise SchemaError(f"{value!r} is no time of day")
    return word


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Schema:
    rule = kinds._Rule(
        np.dtype(np.int64), -(2**63), range=(0, DAY_NS - 1), cure="a day has 24 hours", seen="timedelta64[ns]",
        is_exact=True,
    )  # fmt: skip
    way = exact._Way(lambda kind, word: timedelta(microseconds=word // 1000), _word, _read)
    monkeypatch.setitem(kinds._RULES, "clock", rule)
    monkeypatch.setitem(exact._WAYS, "clock", way)
    monkeypatch.setitem(arrow._TYPES, "clock", lambda pa, kind: pa.time64("ns"))
    monkeypatch.setitem(_ARITHMETIC, ("clock", "clock"), {"-": "int64", "least": "clock"})
    monkeypatch.setitem(_ARITHMETIC, ("clock", "int64"), {"+": "clock"})
    return Schema(at="clock", due="clock?")


@pytest.mark.parametrize(
    "values",
    [TEXTS, WORDS, [time.fromisoformat(text) for text in TEXTS], np.array(WORDS, "timedelta64[ns]"),
     np.array(WORDS, "timedelta64[ns]").astype("timedelta64[s]"), pa.array(WORDS, pa.time64("ns")), pa.array(WORDS)],
    ids=["texts", "words", "objects", "ns", "s", "Arrow's", "Arrow's numbers"],
)  # fmt: skip
def test_values_become_words(clock: Schema, values: Any) -> None:
    batch = Batch(clock.select(["at"]), {"at": values})
    assert batch.words("at").tolist() == WORDS
    assert batch["at"].dtype == "timedelta64[ns]"
    assert batch.to_arrow().column("at").equals(pa.array(WORDS, pa.time64("ns")))


@pytest.mark.parametrize(
    ("values", "says"),
    [([DAY_NS], "a day has 24 hours"), (["25:00:00"], "no time of day"), ([None], "make it clock?"),
     (np.array(["NaT"], "timedelta64[ns]"), "make it clock?"), (np.array([True]), "has dtype bool")],
)  # fmt: skip
def test_what_is_no_value_is_refused(clock: Schema, values: Any, says: str) -> None:
    with raises(SchemaError, "column 'at'", says):
        Batch(clock.select(["at"]), {"at": values})


@pytest.mark.parametrize(
    ("declare", "expected"),
    [
        (lambda rows: select(rows, text=col("at").cast("string")), [f"{text}.000000000" for text in TEXTS]),
        (lambda rows: select(rows, back=col("text").cast("clock")), WORDS),
        (lambda rows: select(rows, since=col("at") - col("due").fill_null(col("at"))), [WORDS[0], 0]),
        (lambda rows: select(rows, first=least(col("at"), col("at"))), WORDS),
        (lambda rows: select(filter(rows, col("at") > col("due")), "at"), WORDS[:1]),
        (lambda rows: select(aggregate(rows, last=Max("at")), "last"), WORDS[1:]),
        (lambda rows: select(aggregate(rows, "at", n=Count()), "at"), WORDS),
        (lambda rows: select(top(rows, order="at", k=1), "at"), WORDS[1:]),
    ],
    ids=["to text", "from text", "-", "least", "filter", "aggregate", "key", "top"],
)
def test_operators_take_it(clock: Schema, declare: Callable[[Stream], Stream], expected: list[Any]) -> None:
    with bench([Schema.of(clock.spec() | {"text": "string"})], declare) as made:
        made.send({"at": TEXTS, "due": ["00:00:00", None], "text": TEXTS})
        made.close()
        assert {row[-1] for row in made.sent()} >= {*expected}


def test_arithmetic_stays_in_its_range(clock: Schema) -> None:
    later = bench([clock], lambda rows: select(rows, later=col("at") + 10**9))
    with later as made, raises(OperatorError, "operator 'select'", "row 1", "beyond its kind"):
        made.send({"at": TEXTS, "due": TEXTS})
        made.close()


def test_a_sink_shows_it_as_text(clock: Schema, tmp_path: Path) -> None:
    def declare(rows: Stream) -> Stream:
        to_json_lines(rows, tmp_path / "found")
        return rows

    with bench([clock], declare) as made:
        made.send({"at": TEXTS[:1], "due": [None]})
        made.close()
    (file,) = (tmp_path / "found").glob("*.jsonl")
    assert file.read_text() == '{"at": "9:30:00", "due": null}\n'
