"""What operators are given and cannot take is refused where it is declared, whichever operator it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tokenring import Stream, col
from tokenring.operators.state import grown

ROWS = tr.Schema("n m", f="float64", s="string")


def given() -> Stream:
    """A stream of a dataflow that is never built."""
    _, stream = tr.Scope("d").new_input(ROWS)
    return stream


def refused(call: Callable[[Stream], Any], *said: Fact) -> None:
    with raises(tr.UsageError, *said):
        call(given())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda rows: rows.filter("n", ">", True), ("operator 'filter'", "column 'n' holds whole numbers", "not")),
        (lambda rows: rows.filter("f", "<", True), ("operator 'filter'", "column 'f' holds floats")),
        (lambda rows: rows.top("m", order="n", k=True), ("operator 'top'", "k is")),
        (lambda rows: tr.Variance("n", ddof=True), ("Variance", "ddof=True")),
        (lambda rows: tr.ApproxQuantile("n", q=True), ("ApproxQuantile", "q=True")),
        (lambda rows: rows.partition(True, col("n")), ("operator 'partition'", "at least one part", "True")),
        (lambda rows: rows.select(x=col("s").split_part("/", True)), ("split_part", "True is none")),
        (lambda rows: rows.select(x=col("s").extract("(a)", True)), ("'(a)' has 1 group", "no group True")),
        (lambda rows: rows.limited(lambda part: part, most=True), ("limited region 'limited'", "most", "not True")),
        (lambda rows: rows.tumbling_average("m", "n", True), ("operator 'tumbling_average'", "width", "not True")),
        (lambda rows: rows.average_of_last("n", "m", rows=True, order="m"), ("operator 'average_of_last'", "rows is")),
    ],
)  # fmt: skip
def test_a_bool_is_no_number(call: Callable[[Stream], Any], said: Fact) -> None:
    refused(call, said)


AT = pa.table({"at": [7, 12]})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda rows, to, of: rows().select(n=col("at").cast("decimal(9, 2)").round(of(1))).collect(), "round"),
        (lambda rows, to, of: rows(time=of(5)).collect(), "source 'read_arrow': time"),
        (lambda rows, to, of: rows().to_arrow_files(to, roll=tr.Roll(of(10), time="at")), "roll needs"),
        (lambda rows, to, of: rows().to_arrow_files(to, roll=tr.Roll(rows=of(1))), "roll needs"),
        (lambda rows, to, of: rows().top("at", order="at", k=of(1)).collect(), "operator 'top': k is"),
    ],
)
def test_whole_numbers_may_be_numpys(call: Callable[..., Any], said: str, tmp_path: Path) -> None:
    """But not its differences of times, which are of its whole numbers' kind."""

    def found(kind: Any) -> tuple[Any, int]:
        folder = tmp_path / kind.__name__
        table = tr.run(lambda scope: call(partial(scope.read_arrow, AT), folder, kind), workers=1)
        return table, len(list(folder.glob("*.arrow")))

    assert found(int) == found(np.int64) == found(np.uint8)
    with raises(tr.UsageError, said):
        call(partial(tr.Scope("d").read_arrow, AT), tmp_path / "wrong", lambda number: np.timedelta64(number, "s"))


COUNT = tr.Count().alias("c")
WINDOW = tr.Tumbling("m", 10)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda rows: rows.aggregate("n", COUNT, window=WINDOW, late="no"), ("operator 'aggregate'", "late", "'no'")),
        (lambda rows: rows.aggregate("n", COUNT, changes="no"), ("operator 'aggregate'", "changes", "'no'")),
        (lambda rows: rows.join(given(), on="n", changes="no"), ("operator 'join'", "changes", "'no'")),
        (lambda rows: rows.last_by("n", order="m", changes=0), ("operator 'last_by'", "changes", "not 0")),
        (lambda rows: rows.top("n", order="m", k=1, largest="no"), ("operator 'top'", "largest", "'no'")),
        (lambda rows: rows.collection().top("n", "m", largest="no"), ("operator 'top'", "largest", "'no'")),
        (lambda rows: rows.collection().top("n", "m", largest=["no"]), ("operator 'top'", "largest", "'no'")),
        (lambda rows: rows.for_each(print, in_order="no"), ("operator 'for_each'", "in_order", "'no'")),
        (lambda rows: rows.word_count("n", "m", local="no"), ("operator 'word_count'", "local", "'no'")),
        (lambda rows: rows.scope.from_generator(ROWS, list, live="no"), ("source 'from_generator'", "live", "'no'")),
        (lambda rows: rows.scope.read_csv("x", ROWS, header=0), ("source 'read_csv'", "header", "not 0")),
        (lambda rows: rows.scope.read_csv("x", ROWS, quoted_newlines="no"), ("source 'read_csv'", "quoted_newlines")),
        (lambda rows: rows.scope.read_csv("x", ROWS, late="no"), ("source 'read_csv'", "late", "'no'")),
        (lambda rows: rows.rename(False), ("operator 'rename'", "mapping", "not False")),
        (lambda rows: tr.Config(pin="no"), ("pin", "'no'")),
        (lambda rows: tr.Config(checks={}), ("checks", "{}")),
        (lambda rows: tr.Config(start=[]), ("start", "[]")),
        (lambda rows: tr.Config().with_options(workers=0.0), ("workers", "0.0")),
        (lambda rows: tr.Config().with_options(workers=""), ("workers", "''")),
    ],
)  # fmt: skip
def test_a_flag_is_true_or_false(call: Callable[[Stream], Any], said: Fact) -> None:
    refused(call, said)


@pytest.mark.filterwarnings("ignore::tokenring.operators.RowwiseWarning")
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda rows: rows.filter_batches(None), ("operator 'filter_batches'", "keep")),
        (lambda rows: rows.filter_rows(None), ("operator 'filter_rows'", "keep")),
        (lambda rows: rows.map_rows(ROWS, None), ("operator 'map_rows'", "function")),
        (lambda rows: rows.flat_map_rows(ROWS, None), ("operator 'flat_map_rows'", "function")),
        (lambda rows: rows.reduce("n", None, tr.Schema("x")), ("operator 'reduce'", "function")),
        (lambda rows: rows.inspect("x"), ("operator 'inspect'", "not 'x'")),
        (lambda rows: rows.with_arrival(clock=None), ("operator 'with_arrival'", "clock")),
        (lambda rows: rows.collection().map_batches(ROWS, None), ("operator 'map_batches'", "function")),
        (lambda rows: rows.collection().flat_map(ROWS, None), ("operator 'flat_map'", "function")),
        (lambda rows: rows.apply("x", ROWS, None), ("operator 'x'", "function")),
        (lambda rows: rows.unary("x", ROWS, None), ("operator 'x'", "constructor")),
        (lambda rows: rows.binary(rows, "x", ROWS, None), ("operator 'x'", "constructor")),
        (lambda rows: rows.sink("x", None), ("operator 'x'", "constructor")),
        (lambda rows: rows.operator("x").build_compiled(None), ("operator 'x'", "constructor")),
        (lambda rows: rows.probe().on_advance(None), ("a probe (declared at", "listener")),
        (lambda rows: rows.collection().arrange("n").export("v").subscribe(heard=5), ("view 'v'", "heard", "not 5")),
        (lambda rows: rows.probe().listen("x"), ("a probe (declared at", "is_so", "'x'")),
    ],
)  # fmt: skip
def test_a_function_can_be_called(call: Callable[[Stream], Any], said: Fact) -> None:
    refused(call, said)


NO_NAMES = (5, None, b"x", "\ud800")


def body(rows: Stream) -> tuple[Stream, Stream]:
    """Of a loop."""
    return rows.filter("n", ">", 1), rows


def looped(rows: Stream, name: Any) -> None:
    with rows.scope.loop(name):
        pass


def in_region(rows: Stream, name: Any) -> None:
    with rows.scope.region(name):
        pass


@pytest.mark.filterwarnings("ignore::tokenring.operators.RowwiseWarning")
@pytest.mark.parametrize("name", NO_NAMES, ids=repr)
@pytest.mark.parametrize(
    "call",
    [
        lambda rows, name: rows.map_rows(ROWS, dict, name=name),
        lambda rows, name: rows.filter("n", ">", 1, name=name),
        lambda rows, name: rows.filter_batches(len, name=name),
        lambda rows, name: rows.branch(col("n") > 1, name=name),
        lambda rows, name: rows.partition(2, col("n"), name=name),
        lambda rows, name: rows.drop_columns("n", name=name),
        lambda rows, name: rows.with_arrival(name=name),
        lambda rows, name: rows.iterate(body, name=name),
        lambda rows, name: rows.limited(lambda part: part, name=name),
        lambda rows, name: rows.apply(name, ROWS, len),
        lambda rows, name: rows.collection().map_batches(ROWS, len, name=name),
        lambda rows, name: rows.union(rows, name=name),
        lambda rows, name: rows.scope.feedback(ROWS, name=name),
        looped,
        in_region,
    ],
)
def test_a_name_is_text(call: Callable[[Stream, Any], Any], name: Any) -> None:
    refused(lambda rows: call(rows, name), "the name of", f"not {name!r}")


@pytest.mark.parametrize("name", [5, b"x", "\ud800"], ids=repr)
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda rows, name: rows.aggregate("n", COUNT, window=tr.Tumbling("m", 10, start=name)),
            ("operator 'aggregate'", "start"),
        ),
        (lambda rows, name: rows.with_arrival(name), ("operator 'with_arrival'", "column")),
        (lambda rows, name: rows.collection().to_upserts("n", time=name), ("operator 'to_upserts'", "time")),
        (lambda rows, name: rows.collection().changes(time=name), ("operator 'changes'", "time")),
        (lambda rows, name: tr.Schema.of({name: "int64"}), "the name of a column"),
    ],
)
def test_what_a_column_is_called_is_text(call: Callable[[Stream, Any], Any], said: Fact, name: Any) -> None:
    refused(lambda rows: call(rows, name), said, f"not {name!r}")


def test_numpys_whole_numbers_are_as_good_as_pythons() -> None:
    assert tr.Config(workers=np.int64(2), spin_us=np.uint8(7)) == tr.Config(workers=2, spin_us=7)  # type: ignore[arg-type]
    assert tr.Recovery("job", every=np.int64(10**9)).nanoseconds("every") == 10**9  # type: ignore[arg-type]


BATCH = tr.Batch(tr.Schema("n"), {"n": [1]})


@pytest.mark.filterwarnings("ignore::tokenring.operators.RowwiseWarning")
@pytest.mark.parametrize("schema", ["n", None, ["n"], {"n": "int64"}, pa.schema([("n", pa.int64())])], ids=repr)
@pytest.mark.parametrize(
    ("call", "who"),
    [
        (lambda rows, schema: rows.map_rows(schema, dict, name="op"), "operator 'op'"),
        (lambda rows, schema: rows.flat_map_rows(schema, dict, name="op"), "operator 'op'"),
        (lambda rows, schema: rows.apply("op", schema, len), "operator 'op'"),
        (lambda rows, schema: rows.reduce("n", len, schema, name="op"), "operator 'op'"),
        (lambda rows, schema: rows.operator("op").output(schema), "operator 'op' output 0"),
        (lambda rows, schema: rows.collection().as_schema(schema, name="op"), "operator 'op'"),
        (lambda rows, schema: rows.collection().map_batches(schema, len, name="op"), "operator 'op'"),
        (lambda rows, schema: rows.collection().flat_map(schema, len, name="op"), "operator 'op'"),
        (lambda rows, schema: rows.scope.new_input(schema, "in"), "input 'in'"),
        (lambda rows, schema: rows.scope.new_collection(schema, "in"), "input 'in'"),
        (lambda rows, schema: rows.scope.from_generator(schema, list), "source 'from_generator'"),
        (lambda rows, schema: rows.scope.read_csv("x.csv", schema), "source 'read_csv'"),
        (lambda rows, schema: tr.Batch(schema, {"n": [1]}), "Batch"),
        (lambda rows, schema: tr.Batch.from_arrow(schema, pa.table({"n": [1]})), "from_arrow"),
        (lambda rows, schema: BATCH.select(schema), "select"),
        (lambda rows, schema: tr.Keys(schema, "n"), "Keys"),
    ],
)
def test_a_schema_is_a_schema(call: Callable[[Stream, Any], Any], who: str, schema: Any) -> None:
    refused(lambda rows: call(rows, schema), f"{who}: give a Schema", f"not {schema!r}")


@pytest.mark.parametrize("folder", [5, None, True, b"x", ["x"], "", "a\0b"], ids=repr)
@pytest.mark.parametrize(
    ("call", "who"),
    [
        (lambda rows, folder: rows.to_parquet(folder), "operator 'to_parquet'"),
        (lambda rows, folder: rows.to_parquet(folder, roll=tr.Roll("1h")), "operator 'to_parquet'"),
        (lambda rows, folder: rows.to_arrow_files(folder), "operator 'to_arrow_files'"),
        (lambda rows, folder: rows.to_csv(folder), "operator 'to_csv'"),
        (lambda rows, folder: rows.to_json_lines(folder), "operator 'to_json_lines'"),
        (lambda rows, folder: rows.capture(folder), "operator 'capture'"),
        (lambda rows, folder: rows.scope.replay(folder), "source 'replay'"),
        (lambda rows, folder: rows.scope.read_staged(folder), "a staged folder"),
        (lambda rows, folder: tr.Recovery(folder), "Recovery: folder"),
    ],
)
def test_a_folder_is_a_path(call: Callable[[Stream, Any], Any], who: str, folder: Any) -> None:
    refused(lambda rows: call(rows, folder), f"{who}: a folder is named by text or a Path", f"not {folder!r}")


def test_the_folder_of_batches_is_a_path() -> None:
    refused(lambda rows: rows.collection().arrange("n", folder=5), "operator 'arrange': a folder", "not 5")  # type: ignore[arg-type]


FRAME = pd.DataFrame({"n": [1, 2]})
"""Whose truth value is ambiguous, as pandas says."""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda rows: rows.aggregate("n", COUNT, lateness=FRAME), ("operator 'aggregate'", "late for windows only")),
        (lambda rows: rows.top("n", order="m", k=1, lateness=3), ("operator 'top'", "late for windows only")),
        (lambda rows: rows.reduce("n", print, tr.Schema("c"), lateness=3), ("operator 'reduce'", "for windows only")),
        (lambda rows: rows.aggregate("n", x=FRAME), ("operator 'aggregate': x=", "is no aggregate")),
        (lambda rows: rows.aggregate("n", COUNT, emit=FRAME), ("operator 'aggregate'", "emit")),
        (lambda rows: rows.join(given(), on="n", how=FRAME), ("operator 'join'", "how is")),
        (lambda rows: rows.collection().delay(until=5), ("operator 'delay'", "until=", "not 5")),
        (lambda rows: rows.collection(key=[]), ("operator 'updates'", "key= names no column")),
        (lambda rows: rows.collection().iterate(5), ("operator 'iterate'", "body", "not 5")),
        (lambda rows: rows.pipe(5), ("pipe", "operator", "not 5")),
        (lambda rows: rows.top("n", order="m", k=1, rank=["r"]), ("operator 'top'", "rank", "not ['r']")),
        (lambda rows: rows.to_database("x.db", None), ("operator 'to_database'", "a table", "not None")),
        (lambda rows: col("n").format_time(None), ("format_time", "None", "text")),
        (lambda rows: tr.when(col("n") > 1).otherwise(1), ("'otherwise'", "say .then(value) first")),
        (lambda rows: tr.execute(len, config={}), ("config is a Config", "not {}")),
        (lambda rows: tr.execute(len, workers=1, on_start=5), ("execute", "on_start", "not 5")),
        (lambda rows: tr.execute(len, workers=1, on_note=5), ("execute", "on_note", "not 5")),
    ],
)  # fmt: skip
def test_what_is_no_such_thing_is_refused_by_name(call: Callable[[Stream], Any], said: Fact) -> None:
    refused(call, said)


@pytest.mark.parametrize("number", [0, -1, 1.5, True, math.nan, math.inf, "5", Decimal("1.5"), 2**64], ids=repr)
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda rows, number: tr.Throttle(number), ("a throttle", "batches")),
        (lambda rows, number: tr.Throttle(size_bytes=number), ("a throttle", "size_bytes")),
        (lambda rows, number: rows.scope.engine_events(every_ns=number), ("source 'engine_events'", "every_ns")),
        (lambda rows, number: rows.to_parquet("/x", row_group_rows=number), ("'to_parquet'", "row_group_rows")),
        (lambda rows, number: rows.to_arrow_files("/x", rows_at_once=number), ("'to_arrow_files'", "rows_at_once")),
        (lambda rows, number: rows.to_csv("/x", rows_at_once=number), ("'to_csv'", "rows_at_once")),
        (lambda rows, number: rows.to_json_lines("/x", rows_at_once=number), ("'to_json_lines'", "rows_at_once")),
        (lambda rows, number: tr.graphs.random_edges(number, 1), ("random_edges", "nodes")),
        (lambda rows, number: tr.graphs.random_edges(1, 1, parts=number), ("random_edges", "parts")),
        (lambda rows, number: tr.graphs.random_edges(1, 1, part=number or 7, parts=2), ("random_edges", "part")),
    ],
)
def test_a_whole_number_above_0(call: Callable[[Stream, Any], Any], said: Fact, number: Any) -> None:
    refused(lambda rows: call(rows, number), said, "a whole number")


@pytest.mark.parametrize(("length", "fill"), [(9.7, 0), (9, 1.7), (9, True)])
def test_an_array_grows_by_whole_numbers(length: Any, fill: Any) -> None:
    with raises(tr.UsageError, "grown", "a whole number"):
        grown(np.zeros(2, np.int64), length, fill)


def of_csv(rows: Stream, **options: Any) -> Stream:
    return rows.scope.read_csv("x.csv", ROWS, **options)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda rows: col("s").split_part(5, 1), ("split_part", "not 5")),
        (lambda rows: col("s").count_of(None), ("count_of", "not None")),
        (lambda rows: col("s").count_of(0), ("count_of", "not 0")),
        (lambda rows: col("s").count_of([]), ("count_of", "not []")),
        (lambda rows: of_csv(rows, nulls=[1]), ("source 'read_csv'", "nulls", "not [1]")),
        (lambda rows: of_csv(rows, nulls=b"NA"), ("source 'read_csv'", "nulls", "not b'NA'")),
        (lambda rows: of_csv(rows, time_formats=None), ("source 'read_csv'", "time_formats", "not None")),
        (lambda rows: of_csv(rows, block_bytes=2**62), ("source 'read_csv'", "block_bytes", f"{2**31 - 1}")),
        (lambda rows: rows.limited(lambda part: part, most=2**63), ("limited region 'limited'", "most", f"{2**63}")),
        (lambda rows: rows.to_database("x", "t", paramstyle=["x"]), ("operator 'to_database'", "paramstyle", "qmark")),
        (lambda rows: rows.collection().arrange("n").export(5), ("the name of a view", "not 5")),
    ],
)  # fmt: skip
def test_what_was_refused_in_the_run_is_refused_before(call: Callable[[Stream], Any], said: Fact) -> None:
    refused(call, said)


def test_a_worker_refuses_what_it_cannot_do() -> None:
    def program(worker: Any) -> None:
        for call, said in (
            (lambda: worker.save(5, len), ("the name of what is saved", "not 5")),
            (lambda: worker.save("x", 5), ("save 'x'", "a function", "not 5")),
            (lambda: worker.keep_program(5), ("worker 0, keep_program", "not 5")),
        ):
            with raises(tr.UsageError, *said):
                call()

    tr.execute(program, workers=1)
