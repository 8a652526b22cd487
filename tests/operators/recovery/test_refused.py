"""What cannot be saved is refused when the dataflow is declared, by name; and a job by another program, or of other
files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.migrate.own_sums import Sums, sums
from tests.operators.recovery.test_instants import ROW, source, windows
from tests.operators.recovery.worlds import Job
from tokenring.engine import Broadcast, Exchange, GraphError, RecoveryError, Schema, Token, UsageError
from tokenring.operators import (
    Roll,
    Table,
    Tumbling,
    col,
    collect,
    collection,
    filter,
    for_each,
    from_callback,
    from_generator,
    interval_join,
    iterate,
    join,
    limited,
    read_parquet,
    select,
    state_moves,
    to_arrow_files,
    to_json_lines,
    tumbling_average,
)
from tokenring.operators.recovery import Recovery

Refused = Callable[[Any, Path], object]


def other(scope: Any) -> Any:
    return select(source(scope, "other"), ra=col("at"), rk=col("k"), rv=col("v"))


def kept_in_a_loop(scope: Any, results: Path) -> object:
    def body(rows: Any) -> Any:
        builder = rows.operator("mine")
        builder.input(rows, Exchange("v"))
        state_moves(builder, [Table(Schema("v"), ("v",))])
        made = builder.output(rows.schema)
        builder.build(lambda context, token: lambda rows, output: None)
        return filter(rows, col("v") > 9), made

    return iterate(select(source(scope), "v"), body)


def in_a_loop(scope: Any, results: Path) -> object:
    def body(rows: Any) -> Any:
        collection(rows)
        return filter(rows, col("v") > 9), filter(rows, col("v") < 9)

    return iterate(select(source(scope), "v"), body)


def feedback(scope: Any, results: Path) -> object:
    handle, stream = scope.feedback(ROW)
    handle.connect(source(scope))
    return stream


def output_first(scope: Any, results: Path) -> object:
    builder = source(scope).operator("mine")
    builder.output(ROW)
    return state_moves(builder, [Table(ROW, ("k",))], pends=True)


def own_operator(scope: Any, results: Path) -> object:
    def construct(context: Any, token: Token) -> Callable[..., None]:
        token.drop()
        return lambda rows, output: None

    return source(scope).unary("mine", ROW, construct)


REFUSED: dict[str, tuple[Refused, tuple[Fact, ...]]] = {
    "a collection's delay": (
        lambda scope, results: collection(select(source(scope), "at", "v"), time="at").delay(3),
        ("delay", "delay(until=)"),
    ),
    "a collection made in a loop": (in_a_loop, ("updates", "outside of loops")),
    "a collection within a limit": (
        lambda scope, results: limited(select(source(scope), "v"), lambda rows: collection(rows).changes("at", "add")),
        ("limited", "collection", "recovery="),
    ),
    "state in a loop": (kept_in_a_loop, ("mine", "is in a loop")),
    "state behind outputs": (output_first, ("mine", "before its outputs", "recovery=")),
    "an operator of one's own": (own_operator, ("mine", "state_moves(builder, tables)")),
    "state that is not taken out": (
        lambda scope, results: sums(select(source(scope), key=col("at"), value=col("v")), on_out=list),
        ("sums", "take_out returned 0 of 1 tables", "run without recovery="),
    ),
    "state of no table": (
        lambda scope, results: sums(select(source(scope), key=col("at"), value=col("v")), tables=[]),
        ("sums", "offered 1 states", "no table"),
    ),
    "state by another key": (
        lambda scope, results: sums(select(source(scope), key=col("at"), value=col("v")), by=("key", "value")),
        ("sums", "('key': int64)", "('key': int64, 'value': int64)"),
    ),
    "tumbling_average": (
        lambda scope, results: tumbling_average(select(source(scope), "at", "v"), "at", "v", 4),
        ("tumbling_average", "does not say what it keeps"),
    ),
    "inputs of one name": (
        lambda scope, results: [scope.new_input(ROW, "mine") for _ in range(2)],
        ("2 inputs", "'mine'", "name="),
    ),
    "manual input": (lambda scope, results: scope.new_input(ROW, "by hand")[1], ("by hand", "fed by the program")),
    "from_callback": (
        lambda scope, results: from_callback(scope, ROW, lambda: None, time="at", name="called"),
        ("called", "cannot be read again"),
    ),
    "collect": (lambda scope, results: collect(source(scope)), ("collect", "keeps all rows", "to_parquet(folder)")),
    "in order": (
        lambda scope, results: for_each(source(scope), print, in_order=True, pact=Broadcast(), name="mine"),
        ("mine", "Broadcast", "Exchange"),
    ),
    "roll": (
        lambda scope, results: to_arrow_files(source(scope), results / "rolled", roll=Roll("at", 5)),
        ("to_arrow_files", "roll="),
    ),
    "two sinks in a folder": (
        lambda scope, results: [to_json_lines(source(scope), results / "rows", name=name) for name in ("one", "two")],
        ("two", "give each a folder"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_saved_is_refused(tmp_path: Path, name: str) -> None:
    declare, facts = REFUSED[name]

    def refused(scope: Any, results: Path) -> None:
        declare(scope, results)

    job = Job(tmp_path, refused)
    with raises(GraphError, *facts), job.world(1, Random(1)):
        pass
    assert job.folder.all() == []


@pytest.mark.parametrize(("due", "words"), [("soon", "from 0 on"), (50, "state_moves was not told pends=True")])
def test_what_put_in_returns_of_what_was_saved_is_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, due: Any, words: Fact
) -> None:
    def declare(scope: Any, results: Path) -> None:
        to_arrow_files(sums(select(source(scope), key=col("at"), value=col("v"))), results / "sums")

    job = Job(tmp_path, declare)
    with job.world(1, Random(1)) as world:
        world.step(20)
        world.take()
    monkeypatch.setattr(Sums, "put_in", lambda own, tables: due)
    with raises(UsageError, "operator 'sums'", f"put_in returned {due!r}", words), job.world(1, Random(1)):
        pass


@pytest.mark.parametrize("how", ["left", "right", "full", "anti"])
def test_joins_that_are_told_when_rows_match_no_more_are_not(tmp_path: Path, how: str) -> None:
    def declare(scope: Any, results: Path) -> None:
        rows, others = source(scope), other(scope)
        window = Tumbling("at", 4)
        join(rows, others, on={"k": "rk"}, how=how, window=window, right_time="ra", columns=["v"])
        interval_join(
            rows, others, on={"k": "rk"}, how=how, left_time="at", right_time="ra", lower=-1, upper=1, columns=["v"]
        )

    with Job(tmp_path, declare).world(2, Random(1)):
        pass


def test_a_second_dataflow_is_refused(tmp_path: Path) -> None:
    with Job(tmp_path, windows).world(1, Random(1)) as world:
        (worker,) = world.group.workers
        with raises(UsageError, "mechanism=", "recovery="), worker.dataflow("more", mechanism="notifications"):
            pass
        with raises(GraphError, "more", "job", "one dataflow"), worker.dataflow("more"):
            pass


def test_joins_that_wait_for_ends_are_refused_where_state_moves(tmp_path: Path) -> None:
    def declared(scope: Any, results: Path) -> None:
        few = select(source(scope, "few"), "k")
        to_arrow_files(join(source(scope), few, on="k", how="left"), results / "joined")

    job = Job(tmp_path, declared)
    job.bins = 4
    with raises(GraphError, "'join'", "window=", "bins="), job.world(2, Random(1)):
        pass


OPTIONS: dict[str, tuple[object, ...]] = {
    "every": (1.5, None, True, 0, -1, "1", "1h30m"),
    "within": (3.0, "0s"),
    "hang": (2.5,),
    "keep": ("2", None, 2.5, True, 0),
    "restarts": ("5", 1.5, False, -1),
    "drop": ("x", b"x", 5, None, [1], [""]),
    "on_error": ("x", None),
    "folder": (5, None, b"x", "a\0b", "", []),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_of_another_kind_is_refused(option: str) -> None:
    for value in OPTIONS[option]:
        with raises(UsageError, option, repr(value)):
            Recovery(**{"folder": "job", option: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["job", True, {"folder": "job"}, Recovery])
def test_recovery_of_another_kind_is_refused(given: Any) -> None:
    with raises(UsageError, "recovery=", "tr.Recovery("):
        tr.execute(lambda worker: None, workers=1, recovery=given)


def cut(path: Path, declare: Callable[[Any, Path], None]) -> Job:
    """A job that was cut in the middle."""
    job = Job(path, declare)
    with job.world(1, Random(1)) as world:
        world.step(9)
        world.take()
    return job


def resume(job: Job, declare: Callable[[Any, Path], None]) -> None:
    job.declare = declare
    with job.world(1, Random(1)) as world:
        world.finish()


def test_another_function_is_refused(tmp_path: Path) -> None:
    def other_source(scope: Any, results: Path) -> None:
        from_generator(scope, ROW, list, time="at", name="rows")

    job = cut(tmp_path, windows)
    with raises(RecoveryError, "rows", "has changed"):
        resume(job, other_source)


def test_a_file_that_has_changed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    schema = Schema("at v")

    def declare(scope: Any, results: Path) -> None:
        rows = read_parquet(scope, file, schema=schema, time="at", batch_rows=2)
        to_arrow_files(rows, results / "rows")

    def write(last: int) -> None:
        pq.write_table(pa.table({"at": list(range(last)), "v": list(range(last))}), file)

    write(20)
    job = cut(tmp_path, declare)
    write(21)
    with raises(RecoveryError, "read_parquet", "has changed", str(file)):
        resume(job, declare)
