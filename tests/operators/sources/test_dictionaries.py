"""Texts of a dictionary are looked at once, as long as it stays the same; another one's are looked at anew."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokenring as tr
from tokenring.engine import OperatorContext, OutputPort, Schema, Token
from tokenring.engine.columns import Dictionaries, batch_from_arrow
from tokenring.engine.texts import in_text_space
from tokenring.operators.expressions import texts

ROWS = 200_000


def batch_of(numbers: list[int | None], values: list[str]) -> pa.RecordBatch:
    column = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), pa.array(values, pa.string()))
    return pa.record_batch([column], ["name"])


def test_a_dictionary_that_comes_again_is_the_same_heap() -> None:
    schema, known = Schema.of({"name": "string?"}), Dictionaries(in_text_space)
    first = batch_from_arrow(schema, batch_of([0, 1, None, 0], ["a", "ä"]), known)
    again = batch_from_arrow(schema, batch_of([1, 0], ["a", "ä"]), known)
    assert first["name"].tolist() == ["a", "ä", None, "a"] and again["name"].tolist() == ["ä", "a"]
    assert again.heaps[0] is first.heaps[0] and first.heaps[0] is not None and not first.heaps[0].flags.writeable
    for values in (["a", "o"], ["a"], ["a", "ä", "b"], ["ä", "a"]):
        other = batch_from_arrow(schema, batch_of([0], values), known)
        assert other["name"].tolist() == values[:1] and other.heaps[0] is not first.heaps[0]
    assert first["name"].tolist() == ["a", "ä", None, "a"], "what was read before is what it was"


def test_columns_have_dictionaries_of_their_own() -> None:
    schema, known = Schema.of({"a": "string", "b": "string"}), Dictionaries(in_text_space)
    for numbers in ([0, 1], [1, 0]):
        a, b = (batch_of(list(numbers), values).column(0) for values in (["x", "y"], ["z", "x"]))
        found = batch_from_arrow(schema, pa.record_batch([a, b], ["a", "b"]), known)
        assert found["a"].tolist() == [["x", "y"][at] for at in numbers]
        assert found["b"].tolist() == [["z", "x"][at] for at in numbers]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_function_of_text_is_called_for_the_dictionary_alone(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of row groups with dictionaries of their own, over many batches each."""
    count = np.frombuffer(mmap.mmap(-1, 8), np.int64)
    extract = texts._FUNCTIONS["extract"]

    def counted(batch: tr.Batch, *more: Any) -> Any:
        count[0] += batch.rows
        return extract(batch, *more)

    monkeypatch.setitem(texts._FUNCTIONS, "extract", counted)
    names = [f"id={number * 7 % 90 + 50 * (number // 100_000)};" if number % 11 else None for number in range(ROWS)]
    table = pa.table({"name": names, "n": list(range(ROWS))})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100_000)

    def dataflow(scope: tr.Scope) -> Any:
        if form == "parquet":
            rows = scope.read_parquet(tmp_path / "t.parquet", time=0)
        else:
            rows = scope.read_arrow(table.set_column(0, "name", table["name"].dictionary_encode()), time=0)
        return rows.with_columns(id=tr.col("name").extract("id=([0-9]+)")).select("n", "id").collect()

    found = dict(zip(*tr.run(dataflow, workers=1).to_pydict().values(), strict=True))
    wrong = [n for n, name in enumerate(names) if found[n] != (None if name is None else name[3:-1])]
    assert not wrong[:3] and len(found) == ROWS
    assert 0 < count[0] < 300


@pytest.mark.parametrize("workers", [1, 2])
def test_texts_of_dictionaries_that_have_gone_are_what_they_were(workers: int, tmp_path: Path) -> None:
    """Of many row groups, each with a dictionary that takes the place of the one before: in what a join keeps, in its
    results, in keys, and in messages that wait."""
    keys = range(20_000)
    names = [None if key % 13 == 0 else f"name {key // 500} {key % 7}" for key in keys]
    people = pa.table({"key": list(keys), "name": names})
    things = pa.table({"of": [key * 7 % 20_000 for key in keys], "what": [f"{key // 500}-{key % 3}" for key in keys]})
    for table, file in ((people, "people"), (things, "things")):
        pq.write_table(table, tmp_path / f"{file}.parquet", row_group_size=500)

    def dataflow(scope: tr.Scope) -> Any:
        people = scope.read_parquet(tmp_path / "people.parquet", batch_rows=300)
        things = scope.read_parquet(tmp_path / "things.parquet", batch_rows=700)
        return things.join(people, on={"of": "key"}).collect()

    found = tr.run(dataflow, workers=workers).select(["of", "what", "name"]).to_pydict()
    wanted = {(key * 7 % 20_000, f"{key // 500}-{key % 3}", names[key * 7 % 20_000]) for key in keys}
    rows = [*zip(*found.values(), strict=True)]
    assert len(rows) == len(keys) and set(rows) == wanted

    def counted(scope: tr.Scope) -> Any:
        rows = scope.read_parquet(tmp_path / "people.parquet", batch_rows=300)
        return rows.aggregate("name", count=tr.Count(), emit="final").collect()

    counts = dict(zip(*tr.run(counted, workers=workers).select(["name", "count"]).to_pydict().values(), strict=True))
    assert counts == {name: names.count(name) for name in set(names)}


def test_what_a_message_points_to_stays_until_it_is_taken() -> None:
    """Many messages of one call, to whose texts nobody refers but they."""
    schema = Schema.of({"name": "string"})
    names = [f"name {number:03}" for number in range(300)]

    def construct(context: OperatorContext, token: Token) -> Any:
        def logic(output: OutputPort) -> None:
            if token.live:
                for name in names:
                    heap = in_text_space(np.frombuffer(name.encode(), np.uint8).copy())
                    output.give(token, tr.Batch.wrap(schema, (np.array([len(name)]),), 1, (heap,)))
                token.drop()

        return logic

    def dataflow(scope: tr.Scope) -> Any:
        return scope.source("names", (schema,), construct)[0].aggregate("name", count=tr.Count()).collect()

    assert sorted(tr.run(dataflow, workers=1)["name"].to_pylist()) == names
