"""Every operator is a method of a stream or of a scope, and its types say so at each step."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from mypy import api

import tokenring as tr
from tests.errors import Fact, raises
from tests.imports import ROOT
from tests.operators.exported import exported
from tokenring import operators
from tokenring.engine import Config, GraphError, Schema, UsageError
from tokenring.engine.errors import GraphMismatchError, NoSuchMethodError, OperatorError
from tokenring.operators import Collected, Count, Max, Sum, Tumbling, col, graphs
from tokenring.operators.fluent import Loop, Scope, Stream, Worker, execute, gather, run
from tokenring.operators.mechanisms import mechanism_of

OF_EDGES = {"ends"}
"""Parts of other operators on graphs."""


@pytest.mark.parametrize("name", sorted(exported() - OF_EDGES))
def test_every_operator_is_a_method_with_the_same_parameters(name: str) -> None:
    function = getattr(operators, name, None) or getattr(graphs, name)
    method = getattr(Stream, name, None) or getattr(Scope, name)
    assert inspect.signature(method) == inspect.signature(function)
    assert inspect.getdoc(method)


@pytest.mark.parametrize("name", sorted(exported() - OF_EDGES - {"limited"}))
def test_what_an_operator_gives_is_said_where_it_is_hovered_over(name: str) -> None:
    """Tools that read the function, and not its overloads, go on with what it says that it returns."""
    method = getattr(Stream, name, None) or getattr(Scope, name)
    assert inspect.signature(method).return_annotation not in (Any, "Any", inspect.Signature.empty)


SAMPLE = """
from tokenring.engine import Probe, Schema
from tokenring.operators import ARRIVAL, END_OF_STREAM, Collected, Max, Tumbling, col
from tokenring.operators.fluent import Scope, Stream, execute, run, Worker

def seen(rows: Stream) -> Stream:
    return rows.distinct("key")

def declare(scope: Scope) -> None:
    rows = scope.read_csv("rows.csv", Schema("key at price"), time="at")
    reveal_type(rows)
    kept = rows.filter(col("price") > 100)
    reveal_type(kept)
    reveal_type(kept.aggregate("key", window=Tumbling("at", 10), top=Max("price")))
    reveal_type(kept.aggregate("key", window=Tumbling("at", 10), late=True, top=Max("price")))
    reveal_type(kept.aggregate("key", top=Max("price"), on_error="stream"))
    reveal_type(kept.aggregate("key", window=Tumbling("at", 10), late=True, top=Max("price"), on_error="stream"))
    reveal_type(kept.join(rows, on="key", columns="key at left.price").select("key"))
    reveal_type(kept.count("key"))
    reveal_type(kept.top("key", order="price", k=2))
    reveal_type(scope.new_input(Schema("value"))[1])
    reveal_type(kept.limited(seen))
    reveal_type(kept.count("key", window=Tumbling("at", 10), late=True))
    reveal_type(kept.aggregate("key", top=Max("price"), changes=True))
    reveal_type(kept.join(rows, on="key", changes=True))
    reveal_type(kept.count("key", changes=True))
    reveal_type(kept.top("key", order="price", k=2, changes=True))
    reveal_type(kept.last_by("key", order="at", changes=True))
    with scope.loop() as loop:
        back = loop.feedback(rows.schema)
        reveal_type(loop.enter(rows).union(back.stream))
    rows.filtr(1)

def program(worker: Worker) -> None:
    with worker.dataflow("typed", mechanism="tokens") as scope:
        reveal_type(scope)

execute(program)
def written(scope: Scope) -> Probe:
    return scope.read_csv("rows.csv", Schema("key")).to_parquet("folder")

def some(scope: Scope) -> Collected | None:
    return scope.read_csv("rows.csv", Schema("key")).collect()

def live(scope: Scope, arrives: bool) -> Stream:
    times, column = (ARRIVAL, "arrived") if arrives else ("at", "at")
    return scope.from_callback(Schema("at"), lambda: END_OF_STREAM, time=times, stamp=column)

run(some)
run(written).num_rows
"""


def test_types_follow_at_each_step(tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(SAMPLE)
    said, _, _ = api.run(["--config-file", str(ROOT / "pyproject.toml"), str(path)])
    told = [line.partition("sample.py:")[2] for line in said.splitlines() if "sample.py:" in line]
    stream = "tokenring.operators.fluent.stream.Stream"
    revealed = [line.split('"')[1] for line in told if "Revealed type" in line]
    assert revealed == [
        *[stream] * 3,
        *[f"tuple[{stream}, {stream}]"] * 2,
        f"tuple[{stream}, {stream}, {stream}]",
        *[stream] * 5,
        f"tuple[{stream}, {stream}]",
        *["tokenring.operators.collections.collection.Collection"] * 5,
        stream,
        "tokenring.operators.fluent.scope.Scope",
    ]
    assert [line.split(": ", 1)[1] for line in told if "error" in line] == [
        'error: "Stream" has no attribute "filtr"; maybe "filter"?  [attr-defined]',
        'error: "None" has no attribute "num_rows"  [attr-defined]',
    ]


SCHEMA = Schema("key at price")
ROWS = pa.table({"key": [1, 2, 1, 2], "at": [1, 2, 3, 14], "price": [10, 200, 300, 400]})


def _forgetting(scope: Scope) -> None:
    scope.read_arrow(ROWS).collect("mine")


def _pipeline(scope: Scope) -> Any:
    assert type(scope) is Scope
    top = (
        scope.read_arrow(ROWS, time="at")
        .filter(col("price") > 100)
        .aggregate("key", window=Tumbling("at", 10), top=Max("price"), n=Count())
    )
    assert type(top) is Stream
    return top.collect()


@pytest.mark.parametrize(("start", "workers"), [("fork", 2), ("spawn", 1), ("forkserver", 2)])
def test_a_pipeline_is_run_and_gathered(start: str, workers: int) -> None:
    found = run(_pipeline, workers=workers, start=start).sort_by([("window_start", "ascending"), ("key", "ascending")])
    assert found.to_pylist() == [
        {"window_start": 0, "window_end": 10, "key": 1, "top": 300, "n": 1},
        {"window_start": 0, "window_end": 10, "key": 2, "top": 200, "n": 1},
        {"window_start": 10, "window_end": 20, "key": 2, "top": 400, "n": 1},
    ]


def test_what_is_written_is_not_gathered(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert run(lambda scope: scope.read_arrow(ROWS).select("key", "price").to_parquet(folder), workers=1) is None
    assert sum(1 for _ in folder.glob("*.parquet"))
    assert run(lambda scope: scope.read_arrow(ROWS).collection().arrange("key").export("rows"), workers=1) is None
    latest = run(lambda scope: scope.read_arrow(ROWS).aggregate("key", total=Sum("price")).latest("key"), workers=1)
    assert sorted(latest.to_pydict()["total"]) == [310, 600]


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        (lambda scope: scope.read_arrow(ROWS), ("'read_arrow' output 0", "nobody reads", ".collect()")),
        (lambda scope: 7, ("returned int", ".collect()")),
        (_forgetting, ("returned None", "'mine'", "return rows.collect()")),
        (lambda worker: worker.dataflow(), ("run", "<lambda>", "tokenring.execute(program)")),
        ("hello", ("run", "scope", "'hello'")),
        (lambda: None, ("<lambda>", "takes nothing", "its worker, or a scope")),
        (lambda scope, other: None, ("<lambda>", "takes (scope, other)", "its worker, or a scope")),
    ],
)
def test_what_is_no_pipeline_with_a_sink_is_refused(pipeline: Any, said: Fact) -> None:
    with raises(UsageError, said):
        run(pipeline, config=Config(workers=1, pin=False))


def _of_pieces(worker: tr.Worker) -> Iterator[int]:
    yield worker.index


def start(program: Any, workers: int) -> None:
    with tr.start(program, workers):
        pass


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (lambda scope: scope.read_arrow(ROWS).collect(), ("<lambda>", "tokenring.run(pipeline)")),
        (7, ("worker", "7 is no function")),
        (_of_pieces, ("_of_pieces", "yield", "a plain function")),
    ],
)
@pytest.mark.parametrize("launch", [execute, gather, start])
def test_what_is_no_program_is_refused_before_anything_starts(launch: Any, program: Any, said: Fact) -> None:
    with raises(UsageError, launch.__name__, said):
        launch(program, workers=1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("where", ("Stream has no 'where'", "'filter'")),
        ("filtr", ("Stream has no 'filtr'", "did you mean 'filter'")),
        ("key_by", ("'key_by'", "'exchange'")),
        ("head", ("'head'", "here it is top(order=..., k=...)")),
        ("limit", ("'limit'", "here it is top(order=..., k=...)")),
        ("order_by", ("'order_by'", "'top'")),
        ("explode", ("'explode'", "'flat_map_rows'")),
        ("frobnicate", ("'frobnicate'", "stream.pipe(function, ...)")),
        ("left_join", ("'left_join'", "here it is join(..., how='left')")),
        ("threshold", ("'threshold'", "say .collection().threshold(...)")),
        ("export", ("'export'", "say .collection().arrange(key).export(...)")),
        ("_absent", ("'_absent'", "stream.pipe(function, ...)")),
    ],
)
def test_a_method_that_is_not_there_names_the_one_that_is_meant(name: str, said: Fact) -> None:
    _, stream = Scope("names").new_input(SCHEMA)
    with raises(NoSuchMethodError, said):
        getattr(stream, name)


@pytest.mark.parametrize(
    ("name", "of_rows", "of_arranged"),
    [
        ("collect", "say .changes().collect(...)", "say .collection().changes().collect(...)"),
        ("to_database", "here it is .to_upserts(key).", "here it is .collection().to_upserts(key)."),
        ("export", "say .arrange(key).export(...)", None),
        ("left_join", None, "say .collection().left_join(...)"),
        ("union", "here it is .concat(...)", "here it is .collection().concat(...)"),
        ("map_rows", "here it is .map_batches(", "here it is .collection().map_batches("),
        ("agregate", "did you mean 'aggregate'", "did you mean 'aggregate'"),
        ("_absent", "has no '_absent'", "has no '_absent'"),
    ],
)
def test_collections_and_arrangements_name_it_too(name: str, of_rows: str | None, of_arranged: str | None) -> None:
    rows = Scope("names").new_input(SCHEMA)[1].collection()
    for what, said in ((rows, of_rows), (rows.arrange(SCHEMA.names[0]), of_arranged)):
        if said is not None:
            with raises(NoSuchMethodError, f"has no '{name}'", said):
                getattr(what, name)


def test_what_is_no_method_of_a_stream_is_not_said_to_be_called() -> None:
    rows = Scope("names").new_input(SCHEMA)[1].collection()
    with raises(NoSuchMethodError, "say .changes().scope") as told:
        _ = rows.scope
    assert "scope(" not in str(told.value)


def test_a_worker_says_where_sources_are() -> None:
    worker = Worker.__new__(Worker)
    with raises(NoSuchMethodError, "a Worker has no 'read_csv'", "worker.dataflow()", "tokenring.run", "called scope"):
        _ = worker.read_csv  # type: ignore[attr-defined]
    assert not hasattr(worker, "_repr_html_")
    assert not hasattr(worker, "frobnicate")


@pytest.mark.parametrize("name", ["read_pandas", "read_polars", "from_pandas", "read_table", "from_arrow"])
def test_a_source_of_frames_is_read_arrow(name: str) -> None:
    said = (f"'{name}'", "'read_arrow'", "Arrow", "pandas", "Polars")
    with raises(NoSuchMethodError, *said):
        getattr(Scope("names"), name)
    with raises(AttributeError, *said):
        getattr(tr, name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("read_arrow", ("root scope", "loop.enter(stream)")),
        ("new_collection", ("root scope", "loop.enter(stream)")),
        ("entr", "did you mean 'enter'"),
        ("frobnicate", "Loop"),
    ],
)
def test_a_loop_says_where_sources_are(name: str, said: Fact) -> None:
    with Scope("loops").loop() as loop, raises(NoSuchMethodError, f"a Loop has no '{name}'", said):
        getattr(loop, name)
    assert not hasattr(loop, "_repr_html_")


BY_TIME: dict[str, Any] = {"on": "key", "columns": "left.at", "late": True}


@pytest.mark.parametrize(
    ("declare", "streams"),
    [
        (lambda s: s.count("key", window=Tumbling("at", 10), late=True), "results, late"),
        (lambda s: s.join(s, window=Tumbling("at", 10), **BY_TIME), "results, late_left, late_right"),
        (
            lambda s: s.interval_join(s, left_time="at", right_time="at", upper=1, **BY_TIME),
            "results, late_left, late_right",
        ),
        (
            lambda s: s.temporal_join(s, time="at", version_time="at", **BY_TIME),
            "results, late_rows, late_versions",
        ),
        (lambda s: s.scope.from_generator(SCHEMA, lambda: iter(()), time="at", late=True), "rows, late"),
    ],
)
def test_streams_of_late_rows_are_to_be_unpacked(declare: Any, streams: str) -> None:
    scope = Scope("late")
    _, stream = scope.new_input(SCHEMA)
    made = declare(stream)
    assert isinstance(made, tuple)
    first, *_ = made
    assert type(first) is Stream
    said = ("late=True", f"{len(made)} streams", f"`{streams} = ...`")
    with raises(NoSuchMethodError, *said, ".collect"):
        made.collect()
    for use in (operators.collect, lambda pair: pair.count("key")):
        with raises(NoSuchMethodError, *said):
            use(made)
    with raises(GraphError, "operator 'join'", f"`{streams} = ...`"):
        stream.join(made, on="key")
    assert not hasattr(made, "_repr_html_")


def test_streams_of_late_rows_at_a_pipeline_s_end_are_to_be_unpacked() -> None:
    with raises(UsageError, "late=True", "2 streams", "results, late"):
        run(lambda scope: scope.read_arrow(ROWS).count("key", window=Tumbling("at", 10), late=True), workers=1)


def test_streams_are_of_the_scope_wherever_they_are_made() -> None:
    scope = Scope("classes")
    _, stream = scope.new_input(SCHEMA)
    with scope.loop() as loop:
        back = loop.feedback(SCHEMA)
        streams = [stream, back.stream, loop.enter(stream), loop.leave(loop.enter(stream))]
        assert type(loop) is Loop
    streams += [*stream.branch(col("price") > 1), stream.as_rows(), stream.join(stream, on="key", columns="key")]
    streams += scope.source("mine", SCHEMA, lambda context, token: lambda output: None)
    streams += stream.aggregate("key", window=Tumbling("at", 10), late=True, n=Count())
    assert {type(each) for each in streams} == {Stream}


def test_streams_of_a_gathered_program_have_methods() -> None:
    def program(worker: Worker) -> Collected:
        with worker.dataflow() as scope:
            numbers, stream = scope.new_input(Schema("value"))
            rows = stream.filter(col("value") > 1).collect()
        numbers.send({"value": [1, 2]})
        return rows

    assert gather(program, workers=1).to_pylist() == [{"value": 2}]


def test_the_mechanism_is_said_with_the_dataflow() -> None:
    def program(worker: Worker) -> str:
        with worker.dataflow("marks", mechanism="watermarks-X") as scope:
            scope.new_input(SCHEMA)
            return mechanism_of(scope).name

    assert execute(program, workers=1) == ["watermarks-X"]
    with raises((UsageError, OperatorError), "mechanism 'watermarks'", "tokens", "watermarks-X"):
        run(lambda scope: None, workers=1, mechanism="watermarks")


DIFFERENT: dict[str, tuple[dict[str, tuple[Any, Any]], tuple[Any, Any], Fact]] = {
    "bins": ({"bins": (4, 8)}, (Sum("value"), Sum("value")), ("4 bins", "8 bins")),
    "mechanism": ({"mechanism": ("tokens", "notifications")}, (Sum("value"), Sum("value")), "with notifications"),
    "another aggregate": ({}, (Sum("value"), Max("value")), ("operator 'totals'", "Sum(", "Max(")),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_workers_agree_on_what_operators_and_dataflows_are(what: str) -> None:
    options, totals, said = DIFFERENT[what]

    def program(worker: Worker) -> None:
        of_worker = {name: values[worker.index] for name, values in options.items()}
        with worker.dataflow("totals", **of_worker) as scope:
            _, stream = scope.new_input(Schema("key value"))
            stream.aggregate("key", total=totals[worker.index], window=Tumbling("key", 10), name="totals").collect()

    with raises(GraphMismatchError, "worker 0", "worker 1", said):
        execute(program, workers=2)
