"""Dates and decimals from and to files, tables and frames, as keys and in aggregates: beside DuckDB and pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokenring as tr
from tests.duck import answer
from tests.errors import raises
from tokenring.engine import OperatorError, Schema, SchemaError, UsageError

COLUMNS = pa.schema(
    [
        pa.field("day", pa.date32(), nullable=False),
        pa.field("due", pa.date32()),
        pa.field("price", pa.decimal128(12, 2)),
        pa.field("rate", pa.decimal128(18, 18), nullable=False),
        pa.field("n", pa.int64(), nullable=False),
    ]
)
SCHEMA = Schema(day="date", due="date?", price="decimal(12, 2)?", rate="decimal(18, 18)", n="int64")
EDGES = [date(1, 1, 1), date(1600, 2, 29), date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]


def sales(rows: int = 200, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)

    def money(word: int) -> Decimal:
        return Decimal(word).scaleb(-2)

    most = 10**12 - 1
    words = [*(0, 1, -1, most, -most), *random.integers(-(10**6), 10**6, rows).tolist()][:rows]
    columns = [
        [EDGES[at] for at in random.integers(0, len(EDGES), rows)],
        [EDGES[at] if at < len(EDGES) else None for at in random.integers(0, len(EDGES) + 2, rows)],
        [None if at % 7 == 5 else money(word) for at, word in enumerate(words)],
        [Decimal(int(word)).scaleb(-18) for word in random.integers(1 - 10**18, 10**18, rows)],
        list(range(rows)),
    ]
    return pa.table(columns, schema=COLUMNS)


TABLE = sales()


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """In an order, null last."""
    rows = zip(*[column.to_pylist() for column in table.columns], strict=True)
    return sorted(rows, key=lambda row: [(value is None, value if value is not None else 0) for value in row])


def _parquet(folder: Path) -> Callable[[Any], Any]:
    pq.write_table(TABLE, folder / "sales.parquet", row_group_size=50)
    return lambda scope: scope.read_parquet(folder / "sales.parquet")


def _arrow(folder: Path) -> Callable[[Any], Any]:
    with pa.ipc.new_file(folder / "sales.arrow", COLUMNS) as file:
        file.write_table(TABLE)
    return lambda scope: scope.read_arrow(folder / "sales.arrow")


def _csv(folder: Path) -> Callable[[Any], Any]:
    lines = [
        ",".join(
            ["" if value is None else format(value, "f") if isinstance(value, Decimal) else str(value) for value in row]
        )
        for row in rows_of(TABLE)
    ]
    (folder / "sales.csv").write_text("\n".join([",".join(COLUMNS.names), *lines]))
    return lambda scope: scope.read_csv(folder / "sales.csv", SCHEMA)


def _json(folder: Path, between: str = "") -> Callable[[Any], Any]:
    """Decimals as numbers."""
    lines = []
    for day, due, price, rate, n in rows_of(TABLE):
        told = "null" if due is None else f'"{due}"'
        lines.append(f'{{"day": "{day}", "due": {told}, "price": {"null" if price is None else price}, '
                     f'"rate": {rate:f}, "n": {n}}}{between}')  # fmt: skip
    (folder / "sales.jsonl").write_text("\n".join(lines))
    return lambda scope: scope.read_json_lines(folder / "sales.jsonl", SCHEMA)


def _json_line_after_line(folder: Path) -> Callable[[Any], Any]:
    """What only the reader of single lines takes: a blank behind the object."""
    return _json(folder, " ")


SOURCES = {
    "Parquet": _parquet, "Arrow": _arrow, "CSV": _csv, "JSON": _json, "JSON line after line": _json_line_after_line,
    "table": lambda folder: lambda scope: scope.read_arrow(TABLE),
    "pandas": lambda folder: lambda scope: scope.read_arrow(TABLE.to_pandas(), schema=SCHEMA),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_rows_are_those_of_the_source(tmp_path: Path, source: str) -> None:
    read = SOURCES[source](tmp_path)
    found = tr.run(lambda scope: read(scope).collect(), workers=2)
    assert [field.type for field in found.schema] == [field.type for field in COLUMNS]
    assert rows_of(found) == rows_of(TABLE)


def test_what_is_written_is_what_arrived(tmp_path: Path) -> None:
    def write(scope: Any) -> None:
        stream = scope.read_arrow(TABLE)
        stream.to_parquet(tmp_path / "parquet")
        stream.to_arrow_files(tmp_path / "arrow")
        stream.to_json_lines(tmp_path / "json")

    tr.run(write, workers=2)
    assert rows_of(pq.read_table(tmp_path / "parquet")) == rows_of(TABLE)
    ((count, price),) = answer(f"SELECT count(*), sum(price) FROM '{tmp_path}/parquet/*.parquet' WHERE due > day")
    there = [row for row in rows_of(TABLE) if row[1] is not None and row[1] > row[0]]
    assert (count, price) == (len(there), sum(row[2] for row in there if row[2] is not None))
    lines = [orjson.loads(line) for file in (tmp_path / "json").iterdir() for line in file.read_bytes().splitlines()]
    assert sorted(line["n"] for line in lines) == list(range(200))
    by_number = {row[4]: row for row in rows_of(TABLE)}
    for line in lines:
        day, due, price, rate, n = by_number[line["n"]]
        texts = str(day), due and str(due), None if price is None else f"{price:f}", f"{rate:f}", n
        assert tuple(line.values()) == texts
    again = tr.run(lambda scope: scope.read_json_lines(tmp_path / "json", SCHEMA).collect())
    assert rows_of(again) == rows_of(TABLE)


def test_frames_have_dates_and_decimals() -> None:
    import polars as pl

    def program(worker: tr.Worker) -> tuple[Any, ...]:
        with worker.dataflow() as scope:
            rows = scope.read_arrow(TABLE).collect()
        worker.run()
        frame = rows.to_pandas()
        return frame["day"].tolist(), frame["price"].tolist(), rows.to_arrow()

    ((days, prices, arrow),) = tr.execute(program, workers=1)
    assert (days, prices) == (TABLE["day"].to_pylist(), TABLE["price"].to_pylist())
    frame = pl.from_arrow(arrow)
    assert [str(frame.schema[name]) for name in ("day", "price")] == ["Date", "Decimal(precision=12, scale=2)"]
    assert tr.run(lambda scope: scope.read_arrow(frame).collect()).to_pylist() == TABLE.to_pylist()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("by", ["day", "due", "price", "day price", "due price"])
def test_aggregates_are_those_of_duckdb(by: str, workers: int) -> None:
    keys = by.split()
    column = "price" if "price" not in keys else "rate"
    aggregates = {
        "n": tr.Count(), "there": tr.Count(column), "total": tr.Sum(column), "mean": tr.Mean(column),
        "low": tr.Min(column), "high": tr.Max(column), "early": tr.Min("due"), "later": tr.Max("due"),
        "kinds": tr.CountDistinct(column), "days": tr.CountDistinct("due"), "first": tr.First("due", order="n"),
        "last": tr.Last(column, order="n"),
    }  # fmt: skip
    if column == "rate":
        del aggregates["total"], aggregates["mean"]  # whose sums have no room: see below
    found = tr.run(
        lambda scope: scope.read_arrow(TABLE).aggregate(keys, emit="final", **aggregates).collect(), workers=workers
    )
    sums = f"sum({column})::decimal(18, 2), avg({column})," if column == "price" else ""
    expected = answer(
        f"""SELECT {", ".join(keys)}, count(*), count({column}), {sums} min({column}), max({column}), min(due),
        max(due),
        count(DISTINCT {column}), count(DISTINCT due), arg_min(due, n), arg_max({column}, n)
        FROM rows GROUP BY ALL""",
        rows=TABLE,
    )
    names = [*keys, *aggregates]
    assert {name: str(found.schema.field(name).type) for name in ("low", *(["total"] if sums else []))} == {
        "low": str(COLUMNS.field(column).type), **({"total": "decimal128(18, 2)"} if sums else {})
    }  # fmt: skip
    mine = {row[: len(keys)]: dict(zip(names, row, strict=True)) for row in rows_of(found.select(names))}
    assert len(mine) == len(expected)
    for row in expected:
        told = dict(zip(names, row, strict=True))
        of_key = mine[row[: len(keys)]]
        if told.get("mean") is not None:
            assert of_key.pop("mean") == pytest.approx(told.pop("mean"), rel=1e-14)
        assert of_key == told


def test_sums_are_exact_and_say_when_they_have_no_room() -> None:
    most = Decimal("9999999999999999.99")
    table = pa.table(
        {"k": [1, 1, 1, 2, 2], "v": pa.array([most, -most, Decimal("0.01"), most, most], pa.decimal128(18, 2))}
    )
    table = table.append_column("at", pa.array(range(5)))

    def total(rows: pa.Table) -> Any:
        return tr.run(lambda scope: scope.read_arrow(rows).aggregate("k", emit="final", v=tr.Sum("v")).collect())

    assert total(table.slice(0, 3)).to_pylist() == [{"k": 1, "v": Decimal("0.01")}]
    with raises(SchemaError, "'v'", "19999999999999999.98", "decimal(18, 2)"):  # no digit is lost on the way there
        total(table)
    ends: list[Callable[[Any], Any]] = [
        lambda rows: rows.collect(name="kept"),
        lambda rows: rows.with_columns(t=tr.lit("text")).collect(name="kept"),
        lambda rows: rows.latest("k", name="kept"),
    ]
    for end in ends:
        with raises(SchemaError, "operator 'kept'", "column 'v'", "decimal(18, 2)", ".cast("):
            tr.run(lambda scope, end=end: end(scope.read_arrow(table).aggregate("k", emit="final", v=tr.Sum("v"))))
    many = pa.table({"k": [1] * 10, "v": pa.array([most] * 10, pa.decimal128(18, 2))})
    with raises(OperatorError, "'v'", "64 bits", "float64"):
        total(many)

    def apart(scope: Any) -> Any:
        sums, failed = (
            scope.read_arrow(pa.concat_tables([many, table.slice(0, 3).select(["k", "v"])]))
            .with_columns(k=tr.col("k") + tr.when(tr.col("v") < 10**15).then(1).otherwise(0))
            .aggregate("k", emit="final", v=tr.Sum("v"), mean=tr.Mean("v"), on_error="stream")
        )
        return failed.collect() if scope.name == "failed" else sums.collect()

    failed = tr.run(_named("failed", apart)).to_pylist()
    assert [row["k"] for row in failed] == [1]
    assert "decimal(18, 2)" in failed[0]["error"]
    (kept,) = tr.run(_named("sums", apart)).to_pylist()
    assert (kept["k"], kept["v"]) == (2, Decimal("0.01") - most)
    assert kept["mean"] == pytest.approx(float(kept["v"]) / 2)


def _named(name: str, build: Callable[[Any], Any]) -> Callable[[Any], Any]:
    class Named:
        def __init__(self, scope: Any) -> None:
            self._scope, self.name = scope, name

        def __getattr__(self, attribute: str) -> Any:
            return getattr(self._scope, attribute)

    return lambda scope: build(Named(scope))


@pytest.mark.parametrize("key", ["day", "due", "price"])
@pytest.mark.parametrize("workers", [1, 2])
def test_keys_of_other_operators(key: str, workers: int) -> None:
    other = sales(40, seed=2)

    def joined(scope: Any) -> Any:
        left, right = scope.read_arrow(TABLE), scope.read_arrow(other, name="other")
        return left.select(key, "n").join(right.select(key, m=tr.col("n")), on=key).collect()

    found = tr.run(joined, workers=workers)
    expected = answer(f"SELECT a.{key}, a.n, b.n FROM a JOIN b ON a.{key} = b.{key}", a=TABLE, b=other)
    assert sorted(rows_of(found.select([key, "n", "m"]))) == sorted(expected)
    found = tr.run(lambda scope: scope.read_arrow(TABLE).distinct(key).collect(), workers=workers)
    assert set(found[key].to_pylist()) == set(TABLE[key].to_pylist())
    assert found.num_rows == len(set(TABLE[key].to_pylist()))
    found = tr.run(
        lambda scope: scope.read_arrow(TABLE).top("day", order=key, k=2, ties="n", emit="final").collect(),
        workers=workers,
    )
    expected = answer(
        f"""SELECT day, n FROM rows WHERE {key} IS NOT NULL
        QUALIFY row_number() OVER (PARTITION BY day ORDER BY {key} DESC, n) <= 2""",
        rows=TABLE,
    )
    assert sorted(rows_of(found.select(["day", "n"]))) == sorted(expected)


def test_keys_of_other_scales_are_refused() -> None:
    for column, said in (("n", "int64"), ("rate", "decimal(18, 18)")):
        with raises(SchemaError, "decimal(12, 2)?", said, "cast"):
            tr.run(
                lambda scope, column=column: (
                    scope.read_arrow(TABLE)
                    .join(scope.read_arrow(TABLE, name="other"), left_on="price", right_on=column)
                    .collect()
                )
            )


def test_a_key_is_routed_and_moved_by_its_value() -> None:
    def program(scope: Any) -> Any:
        return scope.read_arrow(TABLE).scan("price", summed, Schema(days="int64?"), initial=None).collect()

    def summed(state: Any, row: dict[str, Any]) -> Any:
        assert row["price"] is None or isinstance(row["price"], Decimal)
        assert isinstance(row["day"], date)
        state = (state or timedelta()) + (row["day"] - date(1970, 1, 1))
        return state, {"days": state.days}

    found = tr.run(program, workers=2)
    last: dict[Any, int] = {}
    for row in TABLE.to_pylist():
        last[row["price"]] = last.get(row["price"], 0) + (row["day"] - date(1970, 1, 1)).days
    assert {row["price"]: row["days"] for row in found.to_pylist()}.keys() == last.keys()
    assert set(last.items()) <= {(row["price"], row["days"]) for row in found.to_pylist()}


@pytest.mark.parametrize("workers", [1, 2])
def test_expressions_in_the_inner_loop_are_those_of_duckdb(workers: int) -> None:
    def program(scope: Any) -> Any:
        return (
            scope.read_arrow(TABLE)
            .filter((tr.col("due") > date(1900, 1, 1)) & (tr.col("price") < Decimal("1e9")))
            .select(
                "n", double=tr.col("price") * Decimal("1.19") - 1, cents=tr.col("rate").cast("decimal(4, 2)"),
                days=tr.col("due") - tr.col("day"), year=tr.col("due").year(), text=tr.col("price").cast("string"),
                near=tr.col("price").round(1),
            )
            .collect()
        )  # fmt: skip

    found = tr.run(program, workers=workers)
    expected = answer(
        """SELECT n, price * 1.19 - 1, rate::decimal(4, 2), due - day, year(due), price::text, round(price, 1)
        FROM rows WHERE due > DATE '1900-01-01' AND price < 1000000000""",
        rows=TABLE,
    )
    assert sorted(rows_of(found)) == sorted(expected)


def test_rows_that_fail_go_where_on_error_says() -> None:
    table = pa.table(
        {"d": pa.array([date.max, date(2024, 2, 28)]), "p": pa.array([Decimal(1), Decimal(99)], pa.decimal128(18, 0))}
    )

    def program(scope: Any) -> Any:
        made, failed = scope.read_arrow(table).with_columns(
            d=tr.col("d") + 1, p=tr.col("p") * 10**16, on_error="stream"
        )
        return failed.collect() if scope.name == "failed" else made.collect()

    (failed,) = tr.run(_named("failed", lambda scope: program(scope))).to_pylist()
    assert failed["d"] == date.max
    assert "beyond its kind" in failed["error"]


def test_rows_of_files_that_do_not_fit_are_named(tmp_path: Path) -> None:
    schema = Schema(d="date", p="decimal(6, 2)")
    for line, said in (
        ("2023-02-29,1", ("line 3", "column 'd'", "'2023-02-29'", "date")),
        ("2024-02-29,1.005", ("line 3", "column 'p'")),
        ("2024-02-29,10000", ("line 3", "column 'p'", "decimal(6, 2)")),
        ("2024-02-29,x", ("line 3", "column 'p'", "'x'")),
    ):  # fmt: skip
        (tmp_path / "rows.csv").write_text(f"d,p\n2024-02-29,1\n{line}\n")
        with raises(OperatorError, *said):
            tr.run(lambda scope: scope.read_csv(tmp_path / "rows.csv", schema).collect())
    for line, said in (
        ('"2023-02-29", "p": 1', ("line 2", "column 'd'", "'2023-02-29'")),
        ('"2024-02-29", "p": 1.005', ("line 2", "column 'p'")),
        ('1, "p": 1', ("line 2", "column 'd'", "YYYY-MM-DD")), ('"2024-02-29", "p": 1e9', ("line 2", "column 'p'")),
        ('"2024-02-29", "p": true', ("line 2", "column 'p'", "a number")),
        ('"2024-02-29", "p": "x"', ("line 2", "column 'p'", "'x'")),
    ):  # fmt: skip
        (tmp_path / "rows.jsonl").write_text(f'{{"d": "2024-02-29", "p": "1.50"}}\n{{"d": {line}}}\n')
        with raises(OperatorError, *said):
            tr.run(lambda scope: scope.read_json_lines(tmp_path / "rows.jsonl", schema).collect())
    wide = pa.table({"p": pa.array([Decimal("1.00"), Decimal("1.01")], pa.decimal128(38, 2))})
    pq.write_table(wide, tmp_path / "wide.parquet")
    with raises(SchemaError, "'read_parquet'", "column 'p'", "decimal128(38, 2)", "decimal(18, 2)", "float64"):
        tr.run(lambda scope: scope.read_parquet(tmp_path / "wide.parquet").collect())
    read = tr.run(
        lambda scope: scope.read_parquet(tmp_path / "wide.parquet", schema=Schema(p="decimal(6, 2)")).collect()
    )
    assert read["p"].to_pylist() == wide["p"].to_pylist()
    with raises(OperatorError, "row 1", "column 'p'", "data loss"):
        tr.run(lambda scope: scope.read_parquet(tmp_path / "wide.parquet", schema=Schema(p="decimal(6, 1)")).collect())


def test_tables_that_tell_their_kinds_themselves() -> None:
    prices = {"day": [date(2024, 2, 29), date(1, 1, 1)], "price": [Decimal("1.50"), Decimal("1000")]}

    def program(scope: Any) -> Any:
        return scope.read_arrow(TABLE).select("day").enrich(prices, on="day").collect()

    found = tr.run(program)
    assert str(found.schema.field(found.schema.names[-1]).type) == "decimal128(6, 2)"
    days = pd.DataFrame({"day": [date(2024, 2, 29)], "n": [1]})
    assert tr.run(lambda scope: scope.read_arrow(days).collect()).schema.field("day").type == pa.date32()


@pytest.mark.parametrize("workers", [1, 2])
def test_the_row_of_a_greatest_date_or_decimal(workers: int) -> None:
    """As DuckDB's arg_max and arg_min have it."""
    rows = [(number % 7, date(2000, 1, 1) + timedelta(days=number * 37 % 501), Decimal(number * 91 % 997) / 100)
            for number in range(400)]  # fmt: skip
    columns = zip(*rows, strict=True)
    arrays = pa.array(next(columns)), pa.array(next(columns), pa.date32()), pa.array(next(columns), pa.decimal128(9, 2))
    table = pa.table(dict(zip(("key", "day", "price"), arrays, strict=True)))
    totals = {"dearest": tr.ArgMax("day", by="price"), "last": tr.ArgMax("price", by="day"),
              "first": tr.ArgMin("price", by="day")}  # fmt: skip
    found = tr.run(lambda scope: scope.read_arrow(table).aggregate("key", emit="final", **totals).collect(), workers)
    with duckdb.connect() as database:
        database.register("rows", table)
        asked = "arg_max(day, price) dearest, arg_max(price, day) as last, arg_min(price, day) as first"
        expected = database.sql(f"select key, {asked} from rows group by key").to_arrow_table()
    assert sorted(found.to_pylist(), key=str) == sorted(expected.to_pylist(), key=str)


def test_a_variance_of_decimals_says_to_cast() -> None:
    table = pa.table({"price": pa.array([Decimal("1.10")], pa.decimal128(9, 2))})
    with raises(UsageError, "Variance", "'price'", "decimal(9, 2)", "cast"):
        tr.run(lambda scope: scope.read_arrow(table).aggregate(spread=tr.Variance("price"), emit="final").collect())
