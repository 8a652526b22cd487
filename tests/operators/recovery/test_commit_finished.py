"""commit="finished": results appear as soon as their times are finished, and each is there once, wherever a run is cut;
against plain Python."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.recovery.test_instants import KEYS, expected_windows, rows_of, source
from tests.operators.recovery.worlds import Job, Rows
from tests.operators.sinks.test_to_delta import rows_in
from tokenring.engine import GraphError, RecoveryError
from tokenring.operators import (
    Count,
    Session,
    Sum,
    Tumbling,
    aggregate,
    col,
    collection,
    filter,
    interval_join,
    scan,
    select,
    temporal_join,
    to_arrow_files,
    to_parquet,
    union,
    with_columns,
)
from tokenring.operators.recovery.folder import write_manifest


def windows(scope: Any, results: Path) -> None:
    """As soon as they end, in files of either kind, and all with snapshots besides."""
    rows = union(source(scope), source(scope, "few", until=9, every=3))
    found = aggregate(rows, "k", window=Tumbling("at", 4), n=Count(), total=Sum("v"))
    found = select(found, "k", "window_end", "n", "total")
    to_arrow_files(found, results / "windows", commit="finished")
    to_parquet(found, results / "others", commit="finished", name="others")
    to_arrow_files(found, results / "with snapshots", name="with snapshots")


def plain(scope: Any, results: Path) -> None:
    """Rows as they are read: those of times that are not finished wait in the sink, and are saved there."""
    rows = filter(source(scope, at_once=3), "at", ">=", 0)
    to_arrow_files(rows, results / "rows", commit="finished")


def expected_rows(shares: int) -> Rows:
    return Counter((at, KEYS[(at + share) % 3], 10 * at + share) for share in range(shares) for at in range(22))


def cut_often(job: Job, seed: int, sinks: list[str], expected: Rows) -> None:
    """Cut it anywhere, with and without a snapshot, and go on with any number of workers, until it is finished."""
    random = Random(seed)
    workers = 2
    for _ in range(random.randrange(1, 5)):
        with job.world(workers, random) as world:
            world.step(random.randrange(60))
            if random.random() < 0.6:
                world.take(until=random.choice(["", "", "manifest", "results"]))
        for sink in sinks:
            assert job.rows(sink) <= expected
        workers = random.choice([1, 2, 3])
    with job.world(workers, random) as world:
        world.finish()
    for sink in sinks:
        assert job.rows(sink) == expected


def test_rows_of_other_columns_are_told_by_those_alone_that_the_program_has(tmp_path: Path) -> None:
    """Not by what goes with them to one worker."""
    job = Job(tmp_path, plain)
    with job.world(2, Random(1)) as world:
        world.step(20)
        world.take()

    def wider(scope: Any, results: Path) -> None:
        to_arrow_files(with_columns(source(scope, at_once=3), w=col("v")), results / "rows", commit="finished")

    job.declare = wider
    with raises(RecoveryError, "'to_arrow_files', which keeps (w: int64) as well"), job.world(2, Random(1)):
        pass


@pytest.mark.parametrize("seed", range(12))
def test_windows_are_there_once_wherever_a_run_is_cut(tmp_path: Path, seed: int) -> None:
    cut_often(Job(tmp_path, windows), seed, ["windows", "others", "with snapshots"], expected_windows(2))


@pytest.mark.parametrize("seed", range(12))
def test_rows_are_there_once_wherever_a_run_is_cut(tmp_path: Path, seed: int) -> None:
    cut_often(Job(tmp_path, plain), seed, ["rows"], expected_rows(2))


def sessions(scope: Any, results: Path) -> None:
    """Many end at different times between two looks at the frontier."""
    found = aggregate(_every_third(source(scope, at_once=5)), "k", window=Session("at", 2), n=Count())
    to_arrow_files(select(found, "k", "window_start", "window_end", "n"), results / "sessions", commit="finished")


def _every_third(rows: Any) -> Any:
    return filter(rows, col("at") % 4 != 2)


def expected_sessions(shares: int) -> Rows:
    made: Rows = Counter()
    for key in KEYS:
        times = sorted(at for at, k, _ in expected_rows(shares).elements() if k == key and at % 4 != 2)
        first = 0
        for place in range(1, len(times) + 1):
            if place == len(times) or times[place] - times[place - 1] >= 2:
                made[key, times[first], times[place - 1] + 2, place - first] += 1
                first = place
    return made


@pytest.mark.parametrize("seed", range(24))
def test_sessions_are_there_once_wherever_a_run_is_cut(tmp_path: Path, seed: int) -> None:
    """Their messages' times say which they are, so each end has one of its own."""
    cut_often(Job(tmp_path, sessions), seed, ["sessions"], expected_sessions(2))


def changes(scope: Any, results: Path) -> None:
    """Of many times that come to be finished between two looks at the frontier."""
    kept = collection(source(scope, at_once=5), time="at").aggregate("k", total=Sum("v"))
    to_arrow_files(kept.changes(time="when"), results / "changes", commit="finished")


def expected_changes(shares: int) -> Rows:
    made: Rows = Counter()
    for key in KEYS:
        total: int | None = None
        for at in range(22):
            values = [v for when, k, v in expected_rows(shares).elements() if (when, k) == (at, key)]
            if values and sum(values):
                made.update([(key, total, at, -1)] if total is not None else [])
                total = (total or 0) + sum(values)
                made[key, total, at, 1] += 1
            elif values and total is None:
                total = 0
                made[key, 0, at, 1] += 1
    return made


@pytest.mark.parametrize("seed", range(24))
def test_changes_are_there_once_wherever_a_run_is_cut(tmp_path: Path, seed: int) -> None:
    cut_often(Job(tmp_path, changes), seed, ["changes"], expected_changes(2))


def in_order(scope: Any, results: Path) -> None:
    def same(state: Any, row: Any) -> Any:
        return None, {"at": row["at"], "v": row["v"]}

    rows = scan(source(scope, at_once=5, disorder=3), "k", same, tr.Schema("at v"), order="at")
    to_arrow_files(select(rows, "at", "k", "v"), results / "rows", commit="finished")


@pytest.mark.parametrize("seed", range(12))
def test_rows_in_order_are_there_once_wherever_a_run_is_cut(tmp_path: Path, seed: int) -> None:
    """They come together where frontiers pass many times, and are sent at their own."""
    cut_often(Job(tmp_path, in_order), seed, ["rows"], expected_rows(2))


def joined(how: str) -> Callable[[Any, Path], None]:
    """Rows that wait for what they see, or until nothing is there for them."""

    def declare(scope: Any, results: Path) -> None:
        rows, other = source(scope, at_once=5), source(scope, "few", until=9, every=3)
        if how == "versions":
            columns = {"k": "left.k", "v": "left.v", "seen": "right.v"}
            found = temporal_join(rows, other, on="k", time="at", version_time="at", how="left", columns=columns)
        else:
            columns = {"k": "left.k", "v": "left.v"} | ({"seen": "right.v"} if how == "left" else {})
            times = {"left_time": "at", "right_time": "at", "upper": 2}
            found = interval_join(rows, other, on="k", how=how, columns=columns, **times)
        to_arrow_files(found, results / "rows", commit="finished", name="rows")

    return declare


def expected_joined(how: str, shares: int) -> Rows:
    there = [row for share in range(shares) for row in rows_of(share, 9, 3)]
    made: Rows = Counter()
    for at, k, v in expected_rows(shares).elements():
        near = [(when, w) for when, key, w in there if k == key and k is not None]
        if how == "versions":
            made[k, v, max([one for one in near if one[0] <= at], default=(0, None))[1]] += 1
            continue
        met = [w for when, w in near if at <= when <= at + 2]
        made.update([(k, v, w) for w in met or [None]] if how == "left" else [] if met else [(k, v)])
    return made


@pytest.mark.parametrize("how", ["versions", "left", "anti"])
@pytest.mark.parametrize("seed", range(8))
def test_rows_that_wait_in_joins_are_there_once_wherever_a_run_is_cut(tmp_path: Path, seed: int, how: str) -> None:
    """Those of different times are sent apart, however far the frontier goes at once."""
    cut_often(Job(tmp_path, joined(how)), seed, ["rows"], expected_joined(how, 2))


def test_what_is_sent_at_any_times_is_refused(tmp_path: Path) -> None:
    refused = raises(GraphError, "'rows'", "commit='finished'", "'interval_join'", "Leave commit= out")
    with refused, Job(tmp_path, joined("semi")).world(1, Random(1)):
        pass


def test_results_appear_before_any_snapshot_in_order_of_time(tmp_path: Path) -> None:
    job = Job(tmp_path, windows)
    with job.world(2, Random(1)) as world:
        while not job.rows("windows"):
            world.step()
        assert job.rows("with snapshots") == Counter()
        while not world.is_over:
            world.step()
        assert job.rows("windows") == expected_windows(2)
    begin = 0
    for path in sorted((tmp_path / "results" / "windows").iterdir()):
        end = int(path.name.split("-")[1])
        assert all(begin <= window_end < end for _, window_end, *_ in _rows_of(path)), path
        begin = end


def _rows_of(path: Path) -> list[tuple[Any, ...]]:
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as file:
        return [tuple(row.values()) for row in pa.ipc.open_file(file).read_all().to_pylist()]


def counted(into: Callable[[tr.Stream], object], died: Path, killed_at: int) -> Callable[[tr.Scope], None]:
    """A worker dies after a while; then another does, before there is a snapshot since."""

    def rows() -> Iterator[dict[str, Any]]:
        for first in range(0, 400, 20):
            if first == killed_at and not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield {"at": range(first, first + 20), "n": [at % 7 for at in range(first, first + 20)]}

    def flow(scope: tr.Scope) -> None:
        read = scope.from_generator(tr.Schema("at n"), rows, time="at")
        into(read.aggregate("n", window=tr.Tumbling("at", 40), rows=tr.Count()))

    return flow


WINDOWS = Counter(
    (start, start + 40, n, sum(at % 7 == n for at in range(start, start + 40)))
    for start in range(0, 400, 40)
    for n in range(7)
)


@pytest.mark.parametrize("every", ["20ms", "10s"])
def test_rows_come_into_a_database_once(tmp_path: Path, every: str) -> None:
    into = lambda stream: stream.to_database(tmp_path / "out.db", "windows", commit="finished")  # noqa: E731
    tr.run(counted(into, tmp_path / "died", 300), workers=2, recovery=tr.Recovery(tmp_path / "job", every=every))
    assert (tmp_path / "died").exists()
    connection = sqlite3.connect(tmp_path / "out.db")
    assert Counter(connection.execute("SELECT window_start, window_end, n, rows FROM windows")) == WINDOWS
    connection.close()


@pytest.mark.parametrize("every", ["20ms", "10s"])
def test_rows_come_into_a_delta_table_once(tmp_path: Path, every: str) -> None:
    into = lambda stream: stream.to_delta(tmp_path / "out", commit="finished")  # noqa: E731
    tr.run(counted(into, tmp_path / "died", 300), workers=2, recovery=tr.Recovery(tmp_path / "job", every=every))
    assert (tmp_path / "died").exists()
    assert rows_in(tmp_path / "out", "window_start", "window_end", "n", "rows") == WINDOWS


def to_folder(name: str, **how: Any) -> Callable[[Any, Path], None]:
    def declare(scope: Any, results: Path) -> None:
        to_arrow_files(filter(source(scope, at_once=3), "at", ">=", 0), results / name, **how)

    return declare


def begun(path: Path, **how: Any) -> Job:
    job = Job(path, to_folder("rows", **how))
    with job.world(2, Random(1)) as world:
        world.step(40)
        world.take()
    return job


@pytest.mark.parametrize("commit", ["snapshot", "finished"])
def test_a_sink_that_is_there_no_more_is_refused_unless_it_may_be(tmp_path: Path, commit: str) -> None:
    """One into another folder would have half of the rows."""
    job = begun(tmp_path, commit="finished")
    job.declare = to_folder("others", commit=commit)
    was = str(job.results / "rows")
    with raises(tr.RecoveryError, f"sink {was!r} with commit='finished'", "--drop"), job.world(1, Random(1)):
        pass
    job.declare = to_folder("others")
    with job.world(1, Random(1), drop=[was, "to_arrow_files"]) as world:
        world.finish()
    assert job.rows("others") < expected_rows(2)


@pytest.mark.parametrize(("was", "now"), [("snapshot", "finished"), ("finished", "snapshot")])
def test_a_sink_that_waits_for_snapshots_is_told_from_one_that_does_not(tmp_path: Path, was: str, now: str) -> None:
    job = begun(tmp_path, commit=was)
    job.declare = to_folder("rows", commit=now)
    with raises(tr.RecoveryError, "to_arrow_files", "another commit=", "bring that back"), job.world(1, Random(1)):
        pass


@pytest.mark.parametrize("commit", ["snapshot", "finished"])
def test_a_folder_of_results_that_is_gone_is_refused(tmp_path: Path, commit: str) -> None:
    """Its files may be taken elsewhere; a folder without them says that they were."""
    job = begun(tmp_path, commit=commit)
    (job.results / "rows").rename(job.results / "elsewhere")
    for _ in range(2):
        refused = raises(tr.RecoveryError, str(job.results / "rows"), str(job.folder.path), "mount it", "empty folder")
        with refused, job.world(2, Random(1)):
            pass
    taken = job.rows("elsewhere")
    (job.results / "rows").mkdir()
    with job.world(2, Random(1)) as world:
        world.finish()
    if commit == "snapshot":  # else times of which files say nothing come once more
        assert job.rows("rows") + taken == expected_rows(2)


@pytest.mark.parametrize("commit", ["snapshot", "finished"])
def test_files_of_another_format_are_refused_unless_they_may_be(tmp_path: Path, commit: Any) -> None:
    job = begun(tmp_path, commit=commit)
    was = job.rows("rows")

    def others(scope: Any, results: Path) -> None:
        rows = filter(source(scope, at_once=3), "at", ">=", 0)
        to_parquet(rows, results / "rows", commit=commit, name="to_arrow_files")

    job.declare = others
    folder = str(job.results / "rows")
    with raises(tr.RecoveryError, folder, "arrow", "*.parquet", f"--drop {folder}"), job.world(1, Random(1)):
        pass
    with job.world(1, Random(1), drop=[folder]) as world:
        world.finish()
    assert was <= job.rows("rows") == expected_rows(2)


@pytest.mark.parametrize("commit", ["snapshot", "finished"])
def test_files_of_other_columns_are_refused_unless_they_may_be(tmp_path: Path, commit: Any) -> None:
    def into(more: str, less: str) -> Any:
        def declare(scope: Any, results: Path) -> None:
            rows = filter(source(scope, at_once=3), "at", ">=", 0)
            to_arrow_files(rows, results / more, commit=commit, name="more")
            to_arrow_files(select(rows, "v", "k"), results / less, commit=commit, name="less")

        return declare

    job = Job(tmp_path, into("one", "other"))
    with job.world(2, Random(1)) as world:
        world.step(14)
        world.take()
    was = job.rows("one").total()
    job.declare = into("other", "one")
    one, other = (str(job.results / name) for name in ("one", "other"))
    facts = f"sink '{one}'", "wrote (at: int64) as well", f"sink '{other}'", "writes (at: int64) as well"
    with raises(tr.RecoveryError, *facts, "--drop " + one, "--drop " + other), job.world(1, Random(1)):
        pass
    with job.world(1, Random(1), drop=[one, other]) as world:
        world.finish()
    assert was < job.rows("one").total() <= expected_rows(2).total()


def test_a_snapshot_that_tells_no_columns_of_sinks_is_gone_on_with(tmp_path: Path) -> None:
    """An older version's."""
    job = begun(tmp_path, commit="finished")
    snapshot = job.folder.newest()
    assert snapshot is not None
    manifest = snapshot.manifest | {"finished_sinks": [*snapshot.manifest["finished_sinks"]]}
    write_manifest(snapshot.folder, manifest)
    with job.world(1, Random(1)) as world:
        world.finish()
    assert job.rows("rows") == expected_rows(2)


@pytest.mark.parametrize("commit", ["snapshot", "finished"])
def test_a_folder_on_another_file_system_is_refused(tmp_path: Path, commit: str) -> None:
    """Files are hidden beside it, and nothing is linked from there."""
    job = Job(tmp_path, to_folder("rows", commit=commit))
    job.results.mkdir()
    (job.results / "rows").symlink_to("/dev/shm")
    facts = "'to_arrow_files'", f"{job.results / 'rows'} is on another file system", str(job.results / "rows/results")
    with raises(tr.UsageError, *facts), job.world(1, Random(1)):
        pass


def test_another_jobs_file_is_no_fault_of_a_row(tmp_path: Path) -> None:
    """Nor is it taken for one of this job, of which later starts would leave out rows."""
    job = Job(tmp_path, to_folder("rows", commit="finished"))
    with job.world(1, Random(1)) as world:
        for time in range(30):
            (job.results / "rows" / f"part-{time:019d}-00000.arrow").touch()
        facts = "'to_arrow_files'", str(job.results / "rows"), "another job", "a folder of its own"
        with raises(tr.OperatorError, *facts):
            world.finish()
    with raises(tr.RecoveryError, *facts), job.world(1, Random(1)):
        pass


def test_what_a_job_knows_of_a_folder_may_be_lost(tmp_path: Path) -> None:
    """Its files say how far they go."""
    job = begun(tmp_path, commit="finished")
    shutil.rmtree(job.folder.path / "finished")
    with job.world(1, Random(1)) as world:
        world.finish()
    assert job.rows("rows") == expected_rows(2)


@pytest.mark.parametrize("commit", ["snapshot", "finished"])
def test_results_in_the_folder_of_a_new_sink_are_left_there(tmp_path: Path, commit: str) -> None:
    """Nothing says to remove them: a run that goes on makes none of earlier rows."""
    job = begun(tmp_path, commit="finished")
    (job.results / "others").mkdir()
    (job.results / "others" / "part").touch()

    def both(scope: Any, results: Path) -> None:
        rows = filter(source(scope, at_once=3), "at", ">=", 0)
        to_arrow_files(rows, results / "rows", commit="finished")
        to_arrow_files(rows, results / "others", commit=commit, name="others")  # type: ignore[arg-type]

    job.declare = both
    refused = raises(tr.UsageError, "others", "snapshot 1", "leave them, and choose another folder")
    with refused, job.world(1, Random(1)):
        pass


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    def flow(scope: tr.Scope, **how: Any) -> None:
        read = scope.from_generator(tr.Schema("at"), lambda: iter([{"at": [1, 2]}]), time="at")
        read.to_parquet(tmp_path / "out", **how)

    with raises(tr.GraphError, "to_parquet", "recovery="):
        tr.run(lambda scope: flow(scope, commit="finished"), workers=1)
    recovery = tr.Recovery(tmp_path / "job")
    with raises(tr.UsageError, "to_parquet", "at once", "finished", "snapshot"):
        tr.run(lambda scope: flow(scope, commit="at once"), workers=1, recovery=recovery)
    with raises(tr.GraphError, "to_parquet", "roll="):
        tr.run(lambda scope: flow(scope, commit="finished", roll=tr.Roll(1)), workers=1, recovery=recovery)
    for both in (["finished", "finished"], ["finished", "snapshot"], ["snapshot", "finished"]):
        with raises(tr.GraphError, "to_parquet", str(tmp_path / "out")):
            tr.run(
                lambda scope, both=both: [flow(scope, commit=one) for one in both] and None,
                workers=1,
                recovery=recovery,
            )
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out" / "somebody's").touch()
    with raises(tr.UsageError, "to_parquet", str(tmp_path / "out")):
        other = tr.Recovery(tmp_path / "another job")
        tr.run(lambda scope: flow(scope, commit="finished"), workers=1, recovery=other)
