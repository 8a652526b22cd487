"""A job goes on with another program: what is in both goes on, what is new begins with nothing, and what would be lost
is refused, unless it may be. Against plain Python, which is told what had been read when the program changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import orjson
import pytest

from tests.engine.helpers import key_for
from tests.errors import Fact, raises
from tests.operators.recovery.test_instants import KEYS, ROW, Row, rows_of, source
from tests.operators.recovery.worlds import Declare, Job, Rows
from tokenring.engine import Batch, RecoveryError, Schema, Stream
from tokenring.operators import (
    ApproxQuantile,
    Count,
    Max,
    Session,
    Sliding,
    StdDev,
    Sum,
    Table,
    Tumbling,
    Variance,
    aggregate,
    average_of_last,
    col,
    collection,
    delay,
    distinct,
    filter,
    interval_join,
    join,
    last_by,
    latest,
    map_batches,
    reduce,
    scan,
    select,
    to_arrow_files,
    top,
    when,
    with_columns,
)
from tokenring.operators.migrate import of_version
from tokenring.operators.recovery.folder import write_manifest

ROOT = Path(__file__).parents[3]
SHARES = 2  # of each source, by the workers that a job begins with
AT_ONCE = 2  # rows of an item


def cut(path: Path, declare: Declare, steps: int = 14, workers: int = SHARES) -> Job:
    """A job that was cut in the middle."""
    job = Job(path, declare)
    with job.world(workers, Random(steps)) as world:
        world.step(steps)
        world.take()
    return job


def go_on(job: Job, declare: Declare, *drop: str, workers: int = 1) -> None:
    """Let another program finish it; in the middle it is cut once more, and then told the same."""
    job.declare = declare
    with job.world(workers, Random(1), drop=drop) as world:
        world.step(4)
        world.take()
    with job.world(workers, Random(1), drop=drop) as world:
        world.finish()


def read(job: Job, name: str = "rows", every: int = 1) -> tuple[list[Row], list[Row]]:
    """What of a source had been read at the newest snapshot, and what had not."""
    snapshot = job.folder.newest()
    assert snapshot is not None
    before, after = [], []
    for worker in snapshot.manifest["workers"]:
        for told in worker["shares"]:
            if told["source"] == name:
                rows = rows_of(told["state"]["share"], every=every)
                taken = AT_ONCE * (told["state"]["position"] or 0)
                before += rows[:taken]
                after += rows[taken:]
    assert before
    assert after
    return before, after


def windows_of(rows: Iterable[Row], width: int = 4) -> Rows:
    found: dict[Any, list[int]] = {}
    for at, k, v in rows:
        found.setdefault((k, at // width * width + width), []).append(v)
    return Counter([(*key, len(values), sum(values)) for key, values in found.items()])


def totals_of(rows: Iterable[Row]) -> Rows:
    return Counter([(k, n, total) for (k, _, n, total), times in windows_of(rows, 1000).items() for _ in range(times)])


def windowed(rows: Any, results: Path, sink: str, width: int = 4, **named: str) -> None:
    found = aggregate(rows, "k", window=Tumbling("at", width), n=Count(), total=Sum("v"), **named)
    to_arrow_files(select(found, "k", "window_end", "n", "total"), results / sink)


def totaled(rows: Any, results: Path, sink: str, **named: str) -> None:
    to_arrow_files(aggregate(rows, "k", n=Count(), total=Sum("v"), emit="final", **named), results / sink)


def one(scope: Any, results: Path) -> None:
    windowed(source(scope), results, "windows")


def two(scope: Any, results: Path) -> None:
    rows = source(scope)
    totaled(rows, results, "more", name="more")
    windowed(rows, results, "windows")


def test_a_new_operator_begins_empty_and_others_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for steps in (6, 14, 20):
        job = cut(tmp_path / f"{steps}", one, steps)
        before, after = read(job)
        go_on(job, two)
        assert job.rows("windows") == windows_of(before + after)
        assert job.rows("more") == totals_of(after)
        said = capsys.readouterr().err
        assert said.count("\n") == 1, said  # not the second time
        assert f"snapshot 1 of {job.folder.path}" in said
        assert "operator 'more' is new" in said


def test_what_would_be_lost_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = cut(tmp_path, two)
    before, after = read(job)
    more = str(tmp_path / "results" / "more")
    facts = "operator 'more'", f"sink '{more}'", f"--drop more --drop {more}", f"drop=['more', '{more}']"
    for drop in ((), ("aggregate",)):  # what can go on does, whether it may go or not
        with raises(RecoveryError, *facts):
            go_on(job, one, *drop)
    with raises(RecoveryError, "--drop more,"):
        go_on(job, one, more)
    go_on(job, one, "more", more, "aggregate", "nothing that there is")
    assert job.rows("windows") == windows_of(before + after)
    assert not job.rows("more")
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "operator 'more' is let go" in said
    assert "aggregate" not in said


def rows_and(scope: Any, other: Callable[[Any], Any], results: Path) -> None:
    """What one operator called `it` makes of a source."""
    made = other(with_columns(source(scope), w=col("v") % 7))
    if isinstance(made, Stream):
        to_arrow_files(made, results / "rows")


def joined(rows: Any, **said: Any) -> Any:
    others = select(rows, ra=col("at"), rk=col("k"), rw=col("w"))
    return interval_join(
        rows, others, left_time="at", right_time="ra", columns=["at", "ra"], name="it",
        **{"on": {"k": "rk"}, "lower": -1, "upper": 1} | said,
    )  # fmt: skip


def joined_in(rows: Any, window: Tumbling) -> Any:
    others = select(rows, "at", "k", rw=col("w"))
    return join(rows, others, on="k", columns=["v", "rw"], window=window, name="it")


def counted(rows: Batch, starts: np.ndarray) -> dict[str, np.ndarray]:
    """For `reduce`: how many rows each key has."""
    return {"n": np.diff(starts, append=rows.rows)}


def last_value(state: Any, row: Any) -> tuple[Any, None]:
    """For `scan`: keeps the last value, and sends nothing."""
    return row["v"], None


Made = Callable[[Any], Any]
OTHERS: dict[str, tuple[Made, Made, tuple[Fact, ...]]] = {
    "another key": (
        lambda rows: aggregate(rows, "w", n=Count(), name="it"),
        lambda rows: aggregate(rows, "v", n=Count(), name="it"),
        ("keeps (by v)", "kept (by w)"),
    ),
    "another function": (
        lambda rows: aggregate(rows, "k", total=Sum("v"), name="it"),
        lambda rows: aggregate(rows, "k", total=Max("v"), name="it"), ("Max(", "Sum("),
    ),
    "another column": (
        lambda rows: aggregate(rows, "", total=Sum("v"), name="it"),
        lambda rows: aggregate(rows, "", total=Sum("w"), name="it"), ("column=w", "column=v"),
    ),
    "another kind": (
        lambda rows: aggregate(with_columns(rows, x=col("w")), x=Sum("x"), window=Tumbling("at", 4), name="it"),
        lambda rows: aggregate(
            with_columns(rows, x=col("w").cast("float64")), x=Sum("x"), window=Tumbling("at", 4), name="it"
        ),
        ("x: float64", "x: int64"),
    ),
    "another kind of a running total": (
        lambda rows: aggregate(with_columns(rows, x=col("w")), "k", most=Max("x"), name="it"),
        lambda rows: aggregate(with_columns(rows, x=col("w").cast("decimal(9, 2)")), "k", most=Max("x"), name="it"),
        ("x: decimal(9, 2)", "x: int64"),
    ),
    "another order of functions": (
        lambda rows: aggregate(rows, "k", n=Sum("w"), total=Sum("v"), name="it"),
        lambda rows: aggregate(rows, "k", total=Sum("v"), n=Sum("w"), name="it"), ("by k; Sum(column=v",),
    ),
    "another condition": (
        lambda rows: aggregate(rows, "k", n=Count(where=col("w") > 1), name="it"),
        lambda rows: aggregate(rows, "k", n=Count(where=col("w") > 2), name="it"), ("(w > 2)", "(w > 1)"),
    ),
    "another expression as a key": (
        lambda rows: aggregate(rows, (col("w") // 2).alias("b"), n=Count(), name="it"),
        lambda rows: aggregate(rows, (col("w") // 3).alias("b"), n=Count(), name="it"), ("b = (w // 3)", "b = (w // 2)")
    ),
    "another expression as a key in windows": (
        lambda rows: aggregate(rows, (col("w") // 2).alias("b"), n=Count(), window=Tumbling("at", 4), name="it"),
        lambda rows: aggregate(rows, (col("w") // 3).alias("b"), n=Count(), window=Tumbling("at", 4), name="it"),
        ("b = (w // 3)", "b = (w // 2)"),
    ),
    "distinct by another expression": (
        lambda rows: distinct(rows, (col("v") // 3).alias("b"), name="it"),
        lambda rows: distinct(rows, (col("v") // 2).alias("b"), name="it"), ("b = (v // 2)", "b = (v // 3)"),
    ),
    "the best by another expression": (
        lambda rows: top(rows, "k", order=(col("v") * 1).alias("o"), k=2, name="it"),
        lambda rows: top(rows, "k", order=(col("v") * -1).alias("o"), k=2, name="it"), ("o = (v * -1)", "o = (v * 1)"),
    ),
    "the last by another expression": (
        lambda rows: last_by(rows, "k", order=(col("v") * 1).alias("o"), name="it"),
        lambda rows: last_by(rows, "k", order=(col("v") * -1).alias("o"), name="it"), ("o = (v * -1)", "o = (v * 1)"),
    ),
    "reduce by another expression": (
        lambda rows: reduce(rows, (col("w") // 2).alias("b"), counted, Schema("n"), name="it"),
        lambda rows: reduce(rows, (col("w") // 3).alias("b"), counted, Schema("n"), name="it"),
        ("b = (w // 3)", "b = (w // 2)"),
    ),
    "a scan by another expression": (
        lambda rows: scan(rows, (col("w") // 2).alias("b"), last_value, Schema("x"), name="it"),
        lambda rows: scan(rows, (col("w") // 3).alias("b"), last_value, Schema("x"), name="it"),
        ("b = (w // 3)", "b = (w // 2)"),
    ),
    "another width": (
        lambda rows: aggregate(rows, "k", n=Count(), window=Tumbling("at", 4), name="it"),
        lambda rows: aggregate(rows, "k", n=Count(), window=Tumbling("at", 8), name="it"), ("width=8", "width=4"),
    ),
    "sliding": (
        lambda rows: aggregate(rows, "k", n=Count(), window=Sliding("at", 8, 4), name="it"),
        lambda rows: aggregate(rows, "k", n=Count(), window=Sliding("at", 12, 4), name="it"), ("width=12", "width=8"),
    ),
    "more lateness": (
        lambda rows: aggregate(rows, "k", n=Count(), window=Sliding("at", 8, 4), name="it"),
        lambda rows: aggregate(rows, "k", n=Count(), window=Sliding("at", 8, 4), lateness=3, name="it"),
        ("keeps (lateness=3) as well",),
    ),
    "less lateness": (
        lambda rows: aggregate(rows, "k", n=Count(), window=Session("at", 3), lateness=40, name="it"),
        lambda rows: aggregate(rows, "k", n=Count(), window=Session("at", 3), lateness=2, name="it"),
        ("keeps (lateness=2)", "kept (lateness=40)"),
    ),
    "more lateness of the best": (
        lambda rows: top(rows, "k", order="v", k=1, window=Tumbling("at", 8), name="it"),
        lambda rows: top(rows, "k", order="v", k=1, window=Tumbling("at", 8), lateness=3, name="it"),
        ("keeps (lateness=3) as well",),
    ),
    "more of the best": (
        lambda rows: top(rows, "k", order="v", k=2, name="it"), lambda rows: top(rows, "k", order="v", k=3, name="it"),
        ("3 of the largest v", "2 of the largest v"),
    ),
    "the least": (
        lambda rows: top(rows, "k", order="v", k=1, name="it"),
        lambda rows: top(rows, "k", order="v", k=1, largest=False, name="it"), ("1 of the least v",),
    ),
    "the last by another": (
        lambda rows: last_by(rows, "k", order="at", name="it"), lambda rows: last_by(rows, "k", order="v", name="it"),
        ("the last v", "the last at"),
    ),
    "a join on another column": (
        joined, lambda rows: joined(with_columns(rows, x=col("k")), on={"x": "rk"}), ("on x = rk", "on k = rk")
    ),
    "a join of other bounds": (
        joined, lambda rows: joined(rows, lower=-2), ("keeps (lower=-2), and kept (lower=-1)",)
    ),
    "a join of other rows": (joined, lambda rows: joined(rows, how="left"), ("keeps (how=left)", "kept (how=inner)")),
    "a join in other windows": (
        lambda rows: joined_in(rows, Tumbling("at", 4)), lambda rows: joined_in(rows, Tumbling("at", 8)),
        ("keeps (width=8; every=8)", "kept (width=4; every=4)"),
    ),
    "the average of more": (
        lambda rows: average_of_last(rows, key="w", value="v", rows=3, order="at", name="it"),
        lambda rows: average_of_last(rows, key="w", value="v", rows=5, order="at", name="it"),
        ("keeps (the last 5 of v by at)", "kept (the last 3 of v by at)"),
    ),
    "the best by a nameless expression": (
        lambda rows: top(rows, "k", order=col("v") * 1, k=2, name="it"),
        lambda rows: top(rows, "k", order=col("v") * -1, k=2, name="it"), ("2 of the largest (v * -1)",),
    ),
    "another operator": (
        lambda rows: delay(rows, 3, name="it"), lambda rows: last_by(rows, "k", order="at", name="it"),
        ("kept (at", "keeps (#key0"),
    ),
    "the latest by another key": (
        lambda rows: latest(rows, "w", name="it"), lambda rows: latest(rows, "v", name="it"),
        ("keeps (v)", "kept (w)"),
    ),
    "a scan by another key": (
        lambda rows: scan(rows, "w", last_value, Schema("x"), name="it"),
        lambda rows: scan(rows, "v", last_value, Schema("x"), name="it"), ("by v", "by w"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_state_of_another_meaning_is_refused_unless_it_may_go(tmp_path: Path, name: str) -> None:
    was, now, facts = OTHERS[name]
    job = cut(tmp_path, lambda scope, results: rows_and(scope, was, results))
    with raises(RecoveryError, "operator 'it'", {"--drop it,", "--drop it --drop"}, *facts):
        go_on(job, lambda scope, results: rows_and(scope, now, results))
    go_on(job, lambda scope, results: rows_and(scope, was, results), "it")  # as the same: it is of use, and goes on
    job = cut(tmp_path / "again", lambda scope, results: rows_and(scope, was, results))
    go_on(job, lambda scope, results: rows_and(scope, now, results), "it", str(job.results / "rows"))


def test_what_may_go_begins_empty(tmp_path: Path) -> None:
    job = cut(tmp_path, lambda scope, results: windowed(source(scope), results, "windows", 8))
    told = job.rows("windows")
    _, after = read(job)
    go_on(job, one, "aggregate")
    assert job.rows("windows") == told + windows_of(after)


def equal_names(*order: int) -> Declare:
    """Several operators of one name, of other rows each."""

    def declare(scope: Any, results: Path) -> None:
        rows = source(scope)
        for number in order:
            some = filter(rows, col("v") % 3 == number)
            totaled(some, results, f"{number}")

    return declare


def of(rows: Iterable[Row], number: int) -> Rows:
    return totals_of([row for row in rows if row[2] % 3 == number])


def test_operators_of_one_name_are_told_apart_by_their_place(tmp_path: Path) -> None:
    job = cut(tmp_path, equal_names(0, 1, 2))
    before, after = read(job)
    go_on(job, equal_names(2, 0, 1))
    assert [job.rows(f"{number}") for number in range(3)] == [of(before + after, number) for number in range(3)]


def test_an_operator_may_be_called_as_the_second_of_a_name(tmp_path: Path) -> None:
    """Between two of which one would get that name."""

    def declare(scope: Any, results: Path) -> None:
        rows = source(scope, "input rows")  # and a source as an input
        for number, name in enumerate(("a", "a", "a#2")):
            totaled(filter(rows, col("v") % 3 == number), results, f"{number}", name=name)

    job = cut(tmp_path, declare)
    before, after = read(job, "input rows")
    go_on(job, declare)
    assert [job.rows(f"{number}") for number in range(3)] == [of(before + after, number) for number in range(3)]


def test_the_one_that_is_gone_is_named(tmp_path: Path) -> None:
    job = cut(tmp_path, equal_names(0, 1))
    before, after = read(job)
    sink = str(job.results / "0")
    with raises(RecoveryError, "operator 'aggregate'", "--drop aggregate "):
        go_on(job, equal_names(1))
    go_on(job, equal_names(2, 1), "aggregate", sink)
    assert job.rows("1") == of(before + after, 1)
    assert job.rows("2") == of(after, 2)


def test_which_is_which_is_refused_where_it_cannot_be_told(tmp_path: Path) -> None:
    """Their rows come of other conditions now, so their names have to say it."""

    def other(**names: dict[str, str]) -> Declare:
        def declare(scope: Any, results: Path) -> None:
            rows = source(scope)
            for number in (1, 0):
                some = filter(rows, (col("v") % 3 == number) & (col("v") > 90))
                totaled(some, results, f"{number}", **names.get(f"of{number}", {}))

        return declare

    job = cut(tmp_path, equal_names(0, 1))
    before, after = read(job)
    facts = "operators called 'aggregate'", "'aggregate' or 'aggregate#2'", "cannot be told", "name="
    with raises(RecoveryError, *facts):
        go_on(job, other())
    with raises(RecoveryError, *facts):
        go_on(job, other(of1={"name": "one"}))
    go_on(job, other(of1={"name": "aggregate#2"}))
    for number in range(2):
        were = [row for row in before if row[2] % 3 == number]
        assert job.rows(f"{number}") == totals_of([*were, *[r for r in after if r[2] % 3 == number and r[2] > 90]])


def test_one_more_of_a_name_is_refused_where_none_is_what_was(tmp_path: Path) -> None:
    def declare(scope: Any, results: Path) -> None:
        rows = source(scope)
        for number in range(2):
            totaled(filter(rows, col("v") > number), results, f"{number}")

    job = cut(tmp_path, equal_names(0))
    with raises(RecoveryError, "operators called 'aggregate'", "as 'aggregate' cannot be told", "new ones another"):
        go_on(job, declare)


def test_an_operator_of_other_sources_is_another(tmp_path: Path) -> None:
    def of_the(name: str) -> Declare:
        def declare(scope: Any, results: Path) -> None:
            sources = {name: source(scope, name) for name in ("one", "other")}
            totaled(sources[name], results, "totals")

        return declare

    job = cut(tmp_path, of_the("one"), 16)
    _, after = read(job, "other")
    facts = "operator 'aggregate'", "has rows of 'other', and had some of 'one'", "--drop aggregate,"
    with raises(RecoveryError, *facts):
        go_on(job, of_the("other"))
    go_on(job, of_the("other"), "aggregate")
    assert job.rows("totals") == totals_of(after)


def test_a_named_operator_goes_on_where_rows_come_another_way(tmp_path: Path) -> None:
    def declare(scope: Any, results: Path) -> None:
        rows = source(scope)
        totaled(filter(rows, col("v") > 50), results, "new", name="new")
        windowed(filter(rows, col("v") % 20 != 0), results, "windows")

    job = cut(tmp_path, one)
    before, after = read(job)
    go_on(job, declare)
    assert job.rows("windows") == windows_of(before + [row for row in after if row[2] % 20])
    assert job.rows("new") == totals_of([row for row in after if row[2] > 50])


TOLD = """
import sys
from pathlib import Path
import orjson
from tests.operators.recovery.test_programs import cut, of_all_kinds
folder = Path(sys.argv[1])
print(orjson.dumps(cut(folder, of_all_kinds).folder.newest().operators).decode())
"""


def of_all_kinds(scope: Any, results: Path) -> None:
    """Operators of one name each, of what has a text of its own: constants, functions, sets."""
    rows = source(scope)
    for some in (filter(rows, col("k").is_in({*KEYS} - {None})), map_batches(rows, ROW, lambda rows: rows)):
        conditions = col("k") != "a", lambda rows: rows["v"] > 20
        counts = {f"n{number}": Count(where=where) for number, where in enumerate(conditions)}
        aggregate(some, "k", **counts, window=Tumbling("at", 4))
        kept = collection(select(some, "at", "k", "v", x=when(col("v") > 9).then("a").otherwise(col("k"))), time="at")
        kept.reduce("k", lambda rows, times: {"n": [rows.rows]}, Schema("n")).changes()
        kept.aggregate("x", total=Sum("v")).changes()
        for total in (ApproxQuantile("v", 0.5), Variance("v"), StdDev("v")):
            kept.aggregate("k", x=total).changes()
        kept.iterate(lambda rows, loop: rows.filter(col("v") > 3).distinct()).changes()


def test_what_tells_operators_apart_is_the_same_in_all_processes(tmp_path: Path) -> None:
    told = []
    for seed in range(2):
        done = subprocess.run(
            [sys.executable, "-c", TOLD, tmp_path / f"{seed}"], capture_output=True, text=True, check=False,
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": f"{seed}"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        told.append(orjson.loads(done.stdout))
    assert told[0] == told[1]
    assert len({one["place"] for one in told[0].values()}) == len(told[0]) >= 10


def test_a_version_is_told_without_addresses() -> None:
    tables = [of_version([Table(ROW, ("k",))], "it", object(), key_for) for _ in range(2)]
    assert tables[0] == tables[1]
    assert tables[0][0].version == "it; <object object>; <function key_for>"


# Snapshots of older versions of the library


def as_of_format_1(job: Job) -> None:
    """The newest snapshot, as a version would have written it that knew nothing of other programs."""
    snapshot = job.folder.newest()
    assert snapshot is not None
    manifest = {**snapshot.manifest, "format": 1, "operators": list(snapshot.manifest["operators"])}
    del manifest["more"]
    manifest["sinks"] = [{"folder": sink["folder"], "suffix": sink["suffix"]} for sink in manifest["sinks"]]
    for worker in manifest["workers"]:
        del worker["since"]
    write_manifest(snapshot.folder, manifest)


def test_a_snapshot_of_an_older_version_is_gone_on_with(tmp_path: Path) -> None:
    job = cut(tmp_path, equal_names(0, 1))
    before, after = read(job)
    as_of_format_1(job)
    go_on(job, equal_names(0, 1))
    assert [job.rows(f"{number}") for number in range(2)] == [of(before + after, number) for number in range(2)]


def test_what_an_older_version_does_not_tell_is_refused(tmp_path: Path) -> None:
    """Of several of one name, which they are; and what is gone, and columns that differ."""
    job = cut(tmp_path, equal_names(0, 1))
    as_of_format_1(job)
    with raises(RecoveryError, "called 'aggregate'", "cannot be told"):
        go_on(job, equal_names(0, 1, 2))
    with raises(RecoveryError, "called 'aggregate'", "--drop"):
        go_on(job, equal_names(1))
    with raises(RecoveryError, f"sink '{job.results / '0'}'", "--drop"):  # that it is the second is said by what goes
        go_on(job, equal_names(1), "aggregate")

    def others(scope: Any, results: Path) -> None:
        for number in range(2):
            found = aggregate(source(scope) if number == 0 else source(scope, "more"), "v", n=Count(), emit="final")
            to_arrow_files(found, results / f"{number}")

    with raises(RecoveryError, "keeps (#key1: int64)", "kept (#key1: string?; #1: int64)"):
        go_on(job, others)


def test_a_snapshot_of_a_newer_version_is_refused_by_name(tmp_path: Path) -> None:
    job = cut(tmp_path, one)
    snapshot = job.folder.newest()
    assert snapshot is not None
    write_manifest(snapshot.folder, {**snapshot.manifest, "format": 5})
    with raises(RecoveryError, str(snapshot.folder), "format 5", "reads formats 1, 2, 3 and 4"):
        go_on(job, one)


# All sorts of changes at once


class Branch(NamedTuple):
    """What a random program makes of a source."""

    name: str
    source: str
    modulus: int
    is_windowed: bool

    def takes(self, row: Row) -> bool:
        return row[2] % self.modulus != 1

    def declare(self, streams: dict[str, Any], results: Path) -> None:
        rows = filter(streams[self.source], col("v") % self.modulus != 1)
        (windowed if self.is_windowed else totaled)(rows, results, self.name, name=f"of {self.name}")


EVERY = {"one": 1, "other": 2}


def random_program(random: Random, before: dict[str, Branch], names_used: set[str]) -> dict[str, Branch]:
    """Another program: some of its branches are gone, some take other rows, and some are new; in any order."""
    branches = {name: branch for name, branch in before.items() if random.random() < 0.7}
    for name, branch in branches.items():
        if random.random() < 0.3:
            branches[name] = branch._replace(modulus=random.randint(2, 5))
    for _ in range(random.randint(0 if branches else 1, 3)):
        name = f"branch {len(names_used)}"
        names_used.add(name)
        branches[name] = Branch(name, random.choice(list(EVERY)), random.randint(2, 5), random.random() < 0.5)
    names = list(branches)
    random.shuffle(names)
    return {name: branches[name] for name in names}


def program_of(branches: dict[str, Branch]) -> Declare:
    def declare(scope: Any, results: Path) -> None:
        streams = {name: source(scope, name, every=every) for name, every in EVERY.items()}
        for branch in branches.values():
            branch.declare(streams, results)

    return declare


@pytest.mark.parametrize("seed", range(12))
def test_programs_may_change_in_any_way(tmp_path: Path, seed: int) -> None:
    random = Random(f"programs {seed}")
    branches: dict[str, Branch] = {}
    job = Job(tmp_path, program_of(branches))
    came: dict[str, list[Row]] = {}  # to each branch since it began
    names_used: set[str] = set()
    taken = dict.fromkeys([(name, share) for name in EVERY for share in range(SHARES)], 0)

    for life in range(lives := random.randint(3, 5)):
        after = random_program(random, branches, names_used)
        gone = [name for name in branches if name not in after]
        names_gone = [one for name in gone for one in (f"of {name}", str(job.results / name))]
        branches = after
        came = {name: came.get(name, []) for name in branches}
        job.declare = program_of(branches)
        if names_gone:
            with raises(RecoveryError, *names_gone), job.world(1, random):
                pass
        with job.world(SHARES if life == 0 else random.randint(1, 3), random, drop=names_gone) as world:
            if life == lives - 1:
                world.finish()
            else:
                world.step(random.randrange(14))
                world.take()
        if life == lives - 1:
            positions = dict.fromkeys(taken, 1_000)
        else:
            snapshot = job.folder.newest()
            assert snapshot is not None
            told = [told for worker in snapshot.manifest["workers"] for told in worker["shares"]]
            positions = {(one["source"], one["state"]["share"]): one["state"]["position"] or 0 for one in told}
        for (name, share), position in positions.items():
            rows = rows_of(share, every=EVERY[name])[AT_ONCE * taken[name, share] : AT_ONCE * position]
            taken[name, share] = position
            for branch in branches.values():
                if branch.source == name:
                    came[branch.name] += [row for row in rows if branch.takes(row)]
    for branch in branches.values():
        expected = (windows_of if branch.is_windowed else totals_of)(came[branch.name])
        assert job.rows(branch.name) == expected, branch
