"""What was staged as unique is known to joins without being said, and to no join where it may not hold any more."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.errors import raises
from tests.operators.helpers import bench
from tests.operators.joins.reference import kept
from tests.operators.sources.helpers import run
from tokenring.engine import Schema, SchemaError, Scope, Stream
from tokenring.operators import (
    Throttle,
    Tumbling,
    col,
    drop_columns,
    exchange,
    filter,
    interval_join,
    join,
    map_batches,
    read_staged,
    rename,
    select,
    union,
    with_columns,
)
from tokenring.operators.staging import stage_files

LEFT, RIGHT, NEITHER = 0, 1, -1
AUCTIONS = 60


def tables() -> dict[str, pa.Table]:
    dice = random.Random(11)
    auctions = {"at": [dice.randrange(200) for _ in range(AUCTIONS)], "id": dice.sample(range(90), AUCTIONS)}
    bids = {"at": [dice.randrange(200) for _ in range(300)], "auction": [dice.randrange(90) for _ in range(300)]}
    auctions["category"] = [dice.randrange(3) for _ in range(AUCTIONS)]
    bids["price"] = [*range(300)]
    return {"auctions": pa.table(auctions), "bids": pa.table(bids)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`auctions` with unique ids, `bids` with unique prices."""
    folder = tmp_path_factory.mktemp("unique")
    for (name, table), unique in zip(tables().items(), ("id", "price"), strict=True):
        pq.write_table(table, folder / f"{name}.parquet")
        stage_files(folder / f"{name}.parquet", folder, time="at", unique=[unique])
    return folder


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sides that joins took for unique."""
    sides: list[int] = []
    for name in ("join", "interval_join"):
        module = import_module(f"tokenring.operators.joins.{name}")
        declared = module.declare

        def noted(*given: Any, declared: Any = declared, **more: Any) -> Any:
            sides.append(more["unique"] if "unique" in more else given[4])
            return declared(*given, **more)

        monkeypatch.setattr(module, "declare", noted)
    return sides


def by_id(left: Stream, right: Stream, **more: Any) -> Stream:
    return join(left, right, on={"auction": "id"}, columns="price category", **more)


PROGRAMS: dict[str, tuple[int, Callable[[Stream, Stream], Stream]]] = {
    "as it is": (RIGHT, lambda bids, auctions: by_id(bids, auctions)),
    "the left side": (
        LEFT, lambda bids, auctions: join(auctions, bids, on={"id": "auction"}, columns="price category")
    ),
    "filtered": (RIGHT, lambda bids, auctions: by_id(bids, filter(auctions, col("category") != 1))),
    "quickly filtered": (RIGHT, lambda bids, auctions: by_id(bids, filter(auctions, "category", "!=", 1))),
    "chosen": (RIGHT, lambda bids, auctions: by_id(bids, select(auctions, "id", "category"))),
    "renamed": (
        RIGHT,
        lambda bids, auctions: by_id(
            bids, rename(rename(auctions, id="category", category="id"), id="category", category="id")
        ),
    ),
    "beside what is computed": (RIGHT, lambda bids, auctions: by_id(bids, with_columns(auctions, x=col("id") + 1))),
    "with another column in the key": (
        RIGHT,
        lambda bids, auctions: join(
            with_columns(bids, c=lit_zero()), with_columns(auctions, c=lit_zero()), on={"auction": "id", "c": "c"},
            columns="price category",
        ),
    ),
    "an outer join": (RIGHT, lambda bids, auctions: by_id(bids, auctions, how="left")),
    "by times": (
        RIGHT,
        lambda bids, auctions: interval_join(
            bids, auctions, on={"auction": "id"}, left_time="at", right_time="at", lower=-50, upper=50,
            columns="price category",
        ),
    ),
    "told otherwise": (RIGHT, lambda bids, auctions: by_id(bids, auctions, unique="right")),
    # no more
    "a column that is not": (
        NEITHER, lambda bids, auctions: join(bids, auctions, on={"auction": "category"}, columns="price id")
    ),
    "under a name that another had": (
        NEITHER,
        lambda bids, auctions: by_id(bids, rename(auctions, id="category", category="id")),
    ),
    "replaced": (NEITHER, lambda bids, auctions: by_id(bids, with_columns(auctions, id=col("id") // 2))),
    "a function": (NEITHER, lambda bids, auctions: by_id(bids, map_batches(auctions, auctions.schema, lambda b: b))),
    "two streams as one": (NEITHER, lambda bids, auctions: by_id(bids, union(auctions, auctions))),
    "another operator": (NEITHER, lambda bids, auctions: by_id(bids, exchange(auctions, "id"))),
    "one row a key": (NEITHER, lambda bids, auctions: join(bids, auctions, on={"auction": "id"}, how="semi")),
}  # fmt: skip


def lit_zero() -> Any:
    return col("at") * 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_join_takes_for_unique(folder: Path, taken: list[int], name: str) -> None:
    """And its rows are those of a join that takes nothing for unique."""
    side, program = PROGRAMS[name]

    def declare(scope: Scope, hide: bool = False) -> Stream:
        streams = [read_staged(scope, folder, table, batch_rows=16) for table in ("bids", "auctions")]
        if hide:
            streams = [map_batches(stream, stream.schema, lambda batch: batch) for stream in streams]
        return program(*streams)

    made = run(declare, 2).values
    assert set(taken) == {side}
    taken.clear()
    plain = run(lambda scope: declare(scope, hide=True), 2).values
    assert set(taken) == {side if name == "told otherwise" else NEITHER}
    assert sorted(made, key=repr) == sorted(plain, key=repr)
    assert made


def test_the_join_is_that_of_duckdb(folder: Path) -> None:
    bids, auctions = tables()["bids"], tables()["auctions"]
    with duckdb.connect() as connection:
        connection.register("bids", bids)
        connection.register("auctions", auctions)
        expected = connection.sql("select price, category from bids join auctions on auction = id").fetchall()
    made = run(
        lambda scope: by_id(*[read_staged(scope, folder, name, batch_rows=16) for name in ("bids", "auctions")]), 2
    )
    assert sorted(made.values) == sorted(expected)


@pytest.mark.parametrize("unique", [("id",), ()])
def test_rows_go_once_they_have_met_the_only_one_of_their_key(tmp_path: Path, unique: tuple[str, ...]) -> None:
    pq.write_table(pa.table({"at": [0] * 10 + [100] * 10, "id": range(20)}), tmp_path / "auctions.parquet")
    stage_files(tmp_path / "auctions.parquet", tmp_path, time="at", unique=unique)
    throttle = Throttle(batches=1)

    def declare(bids: Stream) -> Stream:
        throttle.watch(bids.probe())
        auctions = read_staged(bids.scope, tmp_path, "auctions", batch_rows=10, throttle=throttle)
        return join(bids, auctions, on={"auction": "id"}, columns="auction")

    with bench([Schema("auction")], declare) as made:
        made.settle()
        made.send({"auction": [*range(20)]})
        made.settle()
        assert len(made.rows) == 10, "the later auctions are still to be read"
        waiting = kept(made, "join")[LEFT]
        assert waiting == (10 if unique else 20)
        made.inputs[0][0].advance_to(200)
        made.settle()
        assert len(made.rows) == 20
        assert kept(made, "join")[LEFT] == (0 if unique else 20)


def test_what_a_window_or_a_collection_makes_of_it(folder: Path, taken: list[int]) -> None:
    """They have no use for it, and are declared as ever."""

    def windowed(scope: Scope) -> Stream:
        bids, auctions = (read_staged(scope, folder, name) for name in ("bids", "auctions"))
        return by_id(bids, auctions, window=Tumbling("at", 100))

    assert run(windowed).values
    assert taken == []

    def changing(scope: Scope) -> Stream:
        bids, auctions = (read_staged(scope, folder, name) for name in ("bids", "auctions"))
        made = by_id(bids, auctions, changes=True)
        return drop_columns(made.changes(), "times")

    assert run(changing).values
    assert taken == [NEITHER]


def test_a_column_that_is_not_unique_is_not_staged_as_such(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": [1, 2], "id": [1, 1]}), tmp_path / "auctions.parquet")
    with raises(SchemaError, "'id'", "row 0", "row 1"):
        stage_files(tmp_path / "auctions.parquet", tmp_path / "out", time="at", unique=["id"])
