"""Sources, inputs and sinks of a job that goes on with another program: what is new begins at its beginning, where that
cannot be wrong, and what would be lost is refused, unless it may be. Against plain Python."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from tests.errors import raises
from tests.operators.recovery.test_instants import ROW, rows_of, source
from tests.operators.recovery.test_programs import (
    SHARES,
    cut,
    go_on,
    one,
    read,
    totaled,
    totals_of,
    windowed,
    windows_of,
)
from tests.operators.recovery.worlds import Declare, Job
from tokenring.engine import OperatorError, RecoveryError, UsageError, Worker, whole_files
from tokenring.operators import from_generator, read_json_lines, to_arrow_files, union


def share_a(share: int, shares: int) -> Any:
    return ({"at": [at], "k": [k], "v": [v]} for at, k, v in rows_of(share))


def share_b(share: int, shares: int) -> Any:
    return ({"at": [at], "k": [k], "v": [1000 + v]} for at, k, v in rows_of(share))


def share_c(share: int, shares: int) -> Any:
    return share_b(share, shares)


def test_a_new_source_begins_at_its_beginning(tmp_path: Path) -> None:
    def declare(scope: Any, results: Path) -> None:
        windowed(source(scope, "new", every=2), results, "new", name="new windows")
        one(scope, results)

    job = cut(tmp_path, one)
    before, after = read(job)
    go_on(job, declare, workers=3)
    assert job.rows("windows") == windows_of(before + after)
    assert job.rows("new") == windows_of([row for share in range(SHARES) for row in rows_of(share, every=2)])


def test_a_source_that_is_gone_is_refused_unless_it_may_be(tmp_path: Path) -> None:
    def both(scope: Any, results: Path) -> None:
        windowed(union(source(scope), source(scope, "few", every=3)), results, "windows")

    job = cut(tmp_path, both, 8)
    before, after = read(job)
    few, _ = read(job, "few", every=3)

    def renamed(scope: Any, results: Path) -> None:
        windowed(union(source(scope), source(scope, "fewer", every=3)), results, "windows")

    for declare in (one, renamed):
        with raises(RecoveryError, "source 'few'", "--drop few,"):
            go_on(job, declare)
    go_on(job, one, "few")
    assert job.rows("windows") == windows_of(before + after + few)


def test_sources_of_one_name_are_told_apart_by_what_they_read(tmp_path: Path) -> None:
    def declare(order: tuple[int, ...]) -> Declare:
        def flow(scope: Any, results: Path) -> None:
            for number in order:
                rows = from_generator(scope, ROW, (share_a, share_b)[number], time="at")
                totaled(rows, results, f"{number}", name=f"totals {number}")

        return flow

    rows = [row for share in range(SHARES) for row in rows_of(share)]
    for steps in (9, 16):
        job = cut(tmp_path / f"{steps}", declare((0, 1)), steps)
        go_on(job, declare((1, 0)))
        assert job.rows("0") == totals_of(rows)
        assert job.rows("1") == totals_of([(at, k, 1000 + v) for at, k, v in rows])


def test_a_source_that_has_changed_begins_anew_if_it_may(tmp_path: Path) -> None:
    def other(scope: Any, results: Path) -> None:
        def another(share: int, shares: int) -> Any:
            return ({"at": [at], "k": [k], "v": [v]} for at, k, v in rows_of(share, every=2))

        totaled(from_generator(scope, ROW, another, time="at", name="rows"), results, "rows")

    job = cut(tmp_path, lambda scope, results: totaled(source(scope), results, "rows"))
    with raises(RecoveryError, "source 'rows'", "has changed", "another", "--drop rows,"):
        go_on(job, other)
    with raises(OperatorError, "'rows'", "although nothing before"):  # behind it is what has come of later ones
        go_on(job, other, "rows")


def test_the_one_of_several_that_has_changed_is_named(tmp_path: Path) -> None:
    def declare(*functions: str) -> Declare:
        def flow(scope: Any, results: Path) -> None:
            for number, function in enumerate(functions):
                share = {"a": share_a, "b": share_b, "c": share_c}[function]
                rows = from_generator(scope, ROW, share, time="at")
                totaled(rows, results, f"{number}", name=f"totals {number}")

        return flow

    job = cut(tmp_path, declare("a", "b"))
    facts = "source 'from_generator#2'", "which has changed (function: 'share_c', and it was 'share_b')", "--drop"
    for order in (("a", "c"), ("c", "a")):
        with raises(RecoveryError, *facts):
            go_on(job, declare(*order))
    with raises(RecoveryError, "sources called 'from_generator'", "cannot be told"):
        go_on(job, declare("a", "c", "c"))


def test_rows_of_a_new_source_are_late_for_what_was_finished(tmp_path: Path) -> None:
    """They would be told of windows that had been told; and there is a stream for them."""

    def declare(at_least: int, late: bool = False) -> Declare:
        def new(share: int, shares: int) -> Any:
            return ({"at": [at], "k": [k], "v": [v]} for at, k, v in rows_of(share) if at >= at_least)

        def flow(scope: Any, results: Path) -> None:
            found: Any = from_generator(scope, ROW, new, time="at", name="new", late=late)  # type: ignore[call-overload]
            if late:
                found, missed = found
                to_arrow_files(missed, results / "late")
            windowed(union(source(scope), found), results, "windows")

        return flow

    for late in (False, True):
        job = cut(tmp_path / f"{late}", one)
        before, after = read(job)
        snapshot = job.folder.newest()
        assert snapshot is not None
        time = snapshot.manifest["time"]
        assert 0 < time < 20
        if late:
            go_on(job, declare(0, late=True))
            assert {row[0] for row in job.rows("late")} == {*range(time)}
        else:
            with raises(OperatorError, "'new'", f"although nothing before {time}"):
                go_on(job, declare(time - 1))
            go_on(job, declare(time))
        new = [row for share in range(SHARES) for row in rows_of(share) if row[0] >= time]
        assert job.rows("windows") == windows_of(before + after + new)


class Fed(Job):
    """A job of inputs that its program feeds."""

    names: tuple[str, ...] = ("old",)
    handles: dict[str, Any]

    def _build(self, group: Any) -> Callable[[Worker], None]:
        def program(worker: Any) -> None:
            worker.save("nothing", lambda: None)
            with group.building(worker), worker.dataflow("job") as scope:
                made = {name: scope.new_input(ROW, name) for name in self.names}
                windowed(union(*[rows for _, rows in made.values()]), self.results, "windows")
                self.declare(scope, self.results)
            self.handles = {name: handle for name, (handle, _) in made.items()}

        return program


def test_a_new_input_begins_where_what_it_feeds_is(tmp_path: Path) -> None:
    job = Fed(tmp_path, lambda scope, results: None)
    with job.world(1, Random(1)) as world:
        for row in rows_of(0, until=10):
            job.handles["old"].advance_to(row[0])
            job.handles["old"].send(dict(zip(ROW.names, [[value] for value in row], strict=True)))
        world.take(checked=True)
    job.names = ("new", "old", "other")
    with job.world(1, Random(1)) as world:
        assert {name: handle.time for name, handle in job.handles.items()} == {"new": 9, "old": 9, "other": 9}
        job.handles["new"].send({"at": [9], "k": ["a"], "v": [1]})
        for handle in job.handles.values():
            handle.close()
        world.finish()
    assert job.rows("windows") == windows_of([*rows_of(0, until=10), (9, "a", 1)])


def test_a_source_is_not_taken_for_an_input_that_is_known_by_its_name(tmp_path: Path) -> None:
    """The input stays at 0: were the source taken for it, what is older than its rows would be in time."""

    def declare(scope: Any, results: Path, *more: Any) -> None:
        windowed(union(source(scope, "input old"), *more), results, "others", name="others")

    def with_new(scope: Any, results: Path) -> None:
        declare(scope, results, from_generator(scope, ROW, share_a, time="at", name="new"))

    job = Fed(tmp_path, declare)
    with job.world(1, Random(1)) as world:
        world.step(12)
        world.take(checked=True)
    with raises(OperatorError, "'new'", "although nothing before"):
        go_on(job, with_new)


# Sinks


def sinks(*names: str) -> Declare:
    def declare(scope: Any, results: Path) -> None:
        rows = source(scope)
        for name in names:
            to_arrow_files(rows, results / name)

    return declare


def test_a_sink_that_is_gone_is_refused_unless_it_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = cut(tmp_path, sinks("a", "b"))
    before, after = read(job)
    lost = job.results / "b"
    with raises(RecoveryError, f"sink '{lost}'", f"--drop {lost},", "new in this program: sink"):
        go_on(job, sinks("a", "c"))
    monkeypatch.chdir(job.results)
    go_on(job, sinks("c", "a"), "b")
    assert job.rows("a") == Counter(before + after)
    assert job.rows("b") == Counter(before)
    assert job.rows("c") == Counter(after)


def test_what_a_sink_that_is_gone_has_left_hidden_is_removed(tmp_path: Path) -> None:
    job = cut(tmp_path, sinks("a", "deep/b"))
    for path in [path for path in whole_files._held if "deep" in path]:  # as if the process were gone
        whole_files.given(path)
    hidden = job.results / "deep" / f".b.tokenring-{2**22}-1-0"
    hidden.touch()
    go_on(job, sinks("a"), str(job.results / "deep" / "b"))
    assert not hidden.exists()
    assert job.rows("deep/b")


def test_a_new_sinks_folder_is_to_be_empty(tmp_path: Path) -> None:
    job = cut(tmp_path, sinks("a"))
    (job.results / "b").mkdir()
    (job.results / "b" / "part-000001-00000.arrow").touch()
    with raises(UsageError, "'to_arrow_files'", "exists already", str(job.results / "b")):
        go_on(job, sinks("a", "b"))


def test_results_of_sinks_of_another_program_are_taken_back(tmp_path: Path) -> None:
    """Where the run goes on from a snapshot that knows nothing of them."""
    job = cut(tmp_path, sinks("a", "b"), 8)
    before, after = read(job)
    first = job.rows("a")
    job.declare = sinks("a", "c")
    with job.world(1, Random(1), drop=[str(job.results / "b")], keep=9) as world:
        for _ in range(2):
            world.step(3)
            world.take(copied=True)
    assert job.rows("c")
    (job.folder.path / "snapshot-000003" / "manifest.json").write_bytes(b"")
    newest = job.folder.newest()
    assert newest is not None
    assert newest.number == 2
    job.folder.go_back(1)
    assert (job.rows("a"), job.rows("b"), job.rows("c")) == (first, first, Counter())
    go_on(job, sinks("a", "b"))
    assert job.rows("a") == job.rows("b") == Counter(before + after)


def _lines(rows: Any) -> bytes:
    return b"".join([orjson.dumps({"at": at, "k": k, "v": v}) + b"\n" for at, k, v in rows])


def test_another_path_may_lead_to_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose name may be no UTF-8."""

    def by(path: Path) -> Declare:
        return lambda scope, results: totaled(read_json_lines(scope, path, ROW, time="at"), results, "rows")

    file, link, rows = tmp_path / os.fsdecode(b"\xff.jsonl"), tmp_path / "link.jsonl", list(rows_of(0))
    file.write_bytes(_lines(rows))
    link.symlink_to(file)
    monkeypatch.chdir(tmp_path)
    for number, path in enumerate((file, link, Path("..", tmp_path.name, file.name))):
        job = cut(tmp_path / f"{number}", by(Path(file.name)), 4)
        go_on(job, by(path))
        assert job.rows("rows") == totals_of(rows)


def test_the_file_that_has_changed_is_named_and_how(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()

    def declare(scope: Any, results: Path) -> None:
        windowed(read_json_lines(scope, folder, ROW, time="at", name="logs"), results, "windows")

    for number in range(2):
        (folder / f"{number}.jsonl").write_bytes(_lines(rows_of(number)))
    job, first, second = cut(tmp_path, declare, 4), folder / "0.jsonl", folder / "1.jsonl"
    stat = second.stat()
    for change, fact in (
        (lambda: first.rename(tmp_path / "away"), f"{first} is gone"),
        (lambda: (tmp_path / "away").rename(first) and (folder / "2.jsonl").touch(), "2.jsonl is new"),
        (lambda: (folder / "2.jsonl").unlink() or os.utime(second, ns=(0, 10**18)), "of 2001-09-09T01:46:40.000000000"),
        (lambda: second.write_bytes(b""), f"{second} has 0 bytes, and had {stat.st_size:,}"),
    ):
        change()
        with raises(RecoveryError, "source 'logs'", fact, "--drop logs"):
            go_on(job, declare)
