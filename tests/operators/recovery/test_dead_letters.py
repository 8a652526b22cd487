"""Rows at which an operator fails twice go to files of their own, exactly once, and all others count as if those had
never been."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.recovery.test_goes_on import snapshot_in
from tokenring.nexmark.commands import main
from tokenring.operators.recovery.folder import dead_letters_of, gives_up

Rows = list[dict[str, Any]]
ROWS = 1000
BAD = range(0, ROWS, 250)


def numbers() -> Iterator[dict[str, Any]]:
    for first in range(0, ROWS, 100):
        yield {"at": range(first, first + 100), "n": [at % 250 for at in range(first, first + 100)]}


def source(scope: tr.Scope) -> tr.Stream:
    return scope.from_generator(tr.Schema("at n"), numbers, time="at")


def recovery(path: Path, **more: Any) -> tr.Recovery:
    return tr.Recovery(path / "job", **{"every": "20ms", "on_error": "dead letters", **more})


def run(path: Path, flow: Callable[[tr.Scope], Any], workers: int = 2, **more: Any) -> None:
    tr.run(flow, workers=workers, recovery=recovery(path, **more))


def letters(path: Path) -> dict[str, Rows]:
    """All dead letters, by operator, in order."""
    found = {}
    for folder in (path / "job" / "dead-letters").glob("[!.]*"):
        rows = [row for part in folder.glob("part-*") for row in pq.read_table(part).to_pylist()]
        found[gives_up(folder)] = sorted(rows, key=str)
    return found


def results(path: Path) -> Rows:
    return sorted(pq.read_table(path / "out").to_pylist(), key=str)


def quotients(path: Path) -> Callable[[tr.Scope], None]:
    def flow(scope: tr.Scope) -> None:
        source(scope).with_columns(share=1000 // tr.col("n")).to_parquet(path / "out")

    return flow


def test_expressions_leave_out_rows(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, quotients(tmp_path))
    good = [{"at": at, "n": at % 250, "share": 1000 // (at % 250)} for at in range(ROWS) if at not in BAD]
    assert results(tmp_path) == sorted(good, key=str)
    ((operator, left),) = letters(tmp_path).items()
    assert "with_columns" in operator
    assert sorted((row["at"], row["n"]) for row in left) == [(at, 0) for at in BAD]
    assert all("division by zero" in row["error"] for row in left)
    said = capfd.readouterr().err
    assert said.count("second time") == 1
    assert str(dead_letters_of(tmp_path / "job", operator)) in said


@pytest.mark.parametrize("more", [0, 1])
def test_a_snapshot_that_is_not_behind_the_row_makes_it_no_other(
    tmp_path: Path, more: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each run takes one, so many messages behind the place it began at."""

    def read(worker: int, peers: int, position: int | None) -> Iterator[tuple[dict[str, Any], int] | None]:
        first, before = position or 0, snapshot_in(tmp_path / "job")
        for at, rows in [*enumerate(numbers())][first:]:
            while at == first + more and snapshot_in(tmp_path / "job") == before:
                yield None
            yield rows, at + 1

    def flow(scope: tr.Scope) -> None:
        rows = scope.from_generator(tr.Schema("at n"), read, time="at", positions=True)
        rows.with_columns(share=1000 // (tr.col("at") - 920)).to_parquet(tmp_path / "out")

    run(tmp_path, flow, workers=1)
    ((_, left),) = letters(tmp_path).items()
    assert [row["at"] for row in left] == [920]
    assert len(results(tmp_path)) == ROWS - 1
    assert capfd.readouterr().err.count("starting again") == 1


def test_functions_leave_out_rows(tmp_path: Path) -> None:
    def strict(batch: tr.Batch) -> tr.Batch:
        if any(at % 250 == 7 for at in batch["at"].tolist()):
            raise ValueError("seven")
        return batch

    def flow(scope: tr.Scope) -> None:
        rows = source(scope).map_batches(tr.Schema("at n"), strict)
        rows.aggregate("n", total=tr.Count(), emit="final").to_parquet(tmp_path / "out")

    run(tmp_path, flow)
    assert {row["n"]: row["total"] for row in results(tmp_path)} == {n: 4 for n in range(250) if n != 7}
    ((_, left),) = letters(tmp_path).items()
    assert {row["at"] for row in left} == {7, 257, 507, 757}
    assert {row["error"] for row in left} == {"ValueError: seven"}


def test_another_operator_is_to_fail_twice_itself(tmp_path: Path) -> None:
    """What raised once, for whatever reason, is tried again, though an operator before it leaves rows out."""
    raised = tmp_path / "raised"

    def rarely(batch: tr.Batch) -> tr.Batch:
        if 301 in batch["at"].tolist() and not raised.exists():
            raised.touch()
            raise OSError("no network for a moment")
        return batch

    def flow(scope: tr.Scope) -> None:
        made = source(scope).filter(1000 // tr.col("n") > 3)
        made.exchange("at").map_batches(tr.Schema("at n"), rarely).to_parquet(tmp_path / "out")

    run(tmp_path, flow)
    assert raised.exists()
    assert {row["at"] for row in results(tmp_path)} == {at for at in range(ROWS) if at not in BAD}
    assert letters(tmp_path).keys() == {"filter"}


def late(scope: tr.Scope) -> tr.Stream:
    """Rows of which every hundredth comes a hundred too late, each message at its greatest time."""

    def batches() -> Iterator[dict[str, Any]]:
        for first in range(0, ROWS, 100):
            time.sleep(0.02)
            ats = [max(first - 450, 0), *range(first + 1, first + 100)]
            yield {"at": ats, "n": [at % 3 for at in ats], "sent": [first] * 100}

    return scope.from_generator(tr.Schema("at n sent"), batches, time="sent")


WINDOW = tr.Tumbling("at", 50)


def of_windows(scope: tr.Scope) -> tr.Stream:
    return late(scope).aggregate("n", window=WINDOW, rows=tr.Count(), name="late ones")


def of_sessions(scope: tr.Scope) -> tr.Stream:
    return late(scope).aggregate("n", window=tr.Session("at", 7), rows=tr.Count(), name="late ones")


def of_joins(scope: tr.Scope) -> tr.Stream:
    rows = late(scope)
    others = rows.select("n", tr.col("at").alias("then"))
    return rows.interval_join(others, on="n", lower=0, upper=0, left_time="at", right_time="then", name="late ones")


@pytest.mark.parametrize("made", [of_windows, of_sessions])
@pytest.mark.parametrize("workers", [1, 2])
def test_late_rows_are_left_out(tmp_path: Path, made: Callable[[tr.Scope], tr.Stream], workers: int) -> None:
    run(tmp_path, lambda scope: made(scope).to_parquet(tmp_path / "out"), workers, every="10s")
    ((operator, left),) = letters(tmp_path).items()
    assert operator.startswith("late ones")
    assert sorted(row["at"] for row in left) == [0, 0, 0, 0, 50, 150, 250, 350, 450]
    assert {row["error"] for row in left} <= {f"late, at time {first}" for first in range(0, ROWS, 100)}
    assert sum(row["rows"] for row in results(tmp_path)) + len(left) == ROWS


def test_late_rows_of_either_side_are_left_out(tmp_path: Path) -> None:
    """Each row meets itself alone, and the sides have other columns."""
    run(tmp_path, lambda scope: of_joins(scope).to_parquet(tmp_path / "out"), every="10s")
    ((_, left),) = letters(tmp_path).items()
    assert sorted(row["at"] for row in left if "at" in row) == [0, 0, 0, 0, 50, 150, 250, 350, 450]
    assert sorted(row["then"] for row in left if "then" in row) == [0, 0, 0, 0, 50, 150, 250, 350, 450]
    assert len(results(tmp_path)) == ROWS - 9


def never(*given: Any) -> Any:
    raise ValueError("never")


CANNOT: dict[str, Callable[[tr.Scope], Any]] = {
    "scan": lambda scope: source(scope).scan("n", never, tr.Schema("made")),
    "for_each": lambda scope: source(scope).for_each(never),
    "from_generator": lambda scope: scope.from_generator(tr.Schema("at n"), lambda: map(never, "a"), time="at"),
    "aggregate": lambda scope: source(scope).aggregate("", x=tr.Sum(tr.col("n") * 10**16), emit="final"),
}


@pytest.mark.parametrize("name", CANNOT)
def test_what_cannot_leave_out_a_row_ends_the_run(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """At the second time, and nothing is said of letters."""

    def flow(scope: tr.Scope) -> None:
        made = CANNOT[name](scope)
        if isinstance(made, tr.Stream):
            made.to_parquet(tmp_path / "out")

    with raises(tr.OperatorError, name) as caught:
        run(tmp_path, flow)
    assert any("cannot leave out" in note for note in caught.value.__notes__)
    assert not (tmp_path / "out").exists()
    said = capfd.readouterr().err
    assert said.count("starting again") == 1
    assert "second time" not in said


def test_without_it_the_run_ends(tmp_path: Path) -> None:
    with raises(tr.OperatorError, "division by zero"):
        run(tmp_path, quotients(tmp_path), on_error="fail")
    assert letters(tmp_path) == {}
    with raises(tr.UsageError, "on_error", "dead letters", "somehow"):
        recovery(tmp_path, on_error="somehow")


@pytest.mark.parametrize("first_on_error", ["dead letters", "fail"])
def test_deaths_and_other_calls_leave_each_letter_once(
    tmp_path: Path, first_on_error: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A worker is killed in the middle, again and again, until the call ends; another goes on, with as many letters as
    there are bad rows in the end."""
    died, lives = tmp_path / "died", tmp_path / "lives"

    def slow() -> Iterator[dict[str, Any]]:
        for number, rows in enumerate(numbers()):
            time.sleep(0.03)
            if number == 7 and not lives.exists() and (tmp_path / "job" / "dead-letters").is_dir():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield rows

    def flow(scope: tr.Scope) -> None:
        rows = scope.from_generator(tr.Schema("at n"), slow, time="at")
        rows.with_columns(share=1000 // tr.col("n")).to_parquet(tmp_path / "out")

    if first_on_error == "fail":
        with raises(tr.OperatorError, "division by zero"):
            run(tmp_path, flow, on_error="fail")
        assert not died.exists()
    with raises(tr.WorkerError, "SIGKILL"):
        run(tmp_path, flow, restarts=3, within="1h")
    assert died.exists()
    lives.touch()
    capfd.readouterr()
    run(tmp_path, flow, workers=3)
    assert "division by zero" not in capfd.readouterr().err  # it knows that from the snapshot
    ((_, left),) = letters(tmp_path).items()
    assert sorted(row["at"] for row in left) == list(BAD)
    assert len(results(tmp_path)) == ROWS - len(BAD)


def test_a_mended_program_needs_none(tmp_path: Path) -> None:
    """Another call goes on with a program that does not fail, and no more says dead letters; those that were stay."""
    is_mended = False

    def breaks(scope: tr.Scope) -> None:
        def some() -> Iterator[dict[str, Any] | None]:
            for rows in numbers():
                while min(rows["at"]) == 800 and not is_mended and scope.saving.given_up:
                    if letters(tmp_path):
                        os.kill(os.getppid(), signal.SIGKILL)
                    yield None
                yield rows

        rows = scope.from_generator(tr.Schema("at n"), some, time="at")
        divided = tr.col("n") if is_mended else 1000 // tr.col("n")
        rows.with_columns(share=divided).to_parquet(tmp_path / "out")

    launcher = os.fork()
    if not launcher:
        try:
            run(tmp_path, breaks)
        finally:
            os._exit(0)
    os.waitpid(launcher, 0)
    before = [row["at"] for row in letters(tmp_path)["with_columns"]]
    assert {*before} <= {*BAD}
    is_mended = True
    run(tmp_path, breaks, on_error="fail")
    after = [row["at"] for row in letters(tmp_path)["with_columns"]]
    assert {*before} <= {*after} <= {*BAD}  # the snapshot may have been whole before its results had appeared
    assert len(results(tmp_path)) == ROWS - len(after)


def test_they_are_listed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, quotients(tmp_path))
    ((operator, _),) = letters(tmp_path).items()
    with pytest.raises(SystemExit):
        main(["snapshots", str(tmp_path / "job"), "--json", str(tmp_path / "said.json")])
    told = {"operator": operator, "rows": 4, "folder": str(dead_letters_of(tmp_path / "job", operator))}
    assert orjson.loads((tmp_path / "said.json").read_bytes())["dead_letters"] == [told]
    assert f"4 rows of operator {operator!r} in {told['folder']}" in capfd.readouterr().out
