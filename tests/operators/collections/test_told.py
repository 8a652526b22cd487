"""What workers tell each other of faults: by files of their own group, which are read on from where they were."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tokenring.operators.collections.sharing.faults import Change, Fault
from tokenring.operators.collections.sharing.told import Told


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@contextmanager
def two_workers(leader: int) -> Iterator[list[Told]]:
    """What the workers of a group tell each other of a dataflow."""
    told = [Told(), Told()]
    for index, one in enumerate(told):
        one.begin("job", SimpleNamespace(leader=leader, worker_index=index, peers=2))  # type: ignore[arg-type]
    try:
        yield told
    finally:
        for one in told:
            one.end()


def of_row(row: int, times: int = 1) -> Change:
    return Change("stage", 1, Fault("divide", str(row), "division by zero"), [0], times)


def heard(told: Told) -> dict[str, int]:
    """The rows that the other worker has told of."""
    (ledger,) = told.of_others()
    return {fault.row: times for fault, times in ledger.at(0, lambda _: True).items()}


def test_groups_of_one_launcher_do_not_hear_of_each_other() -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        with two_workers(os.getpid()) as ours, two_workers(other.pid) as theirs:
            ours[0].write([of_row(1)])
            assert (heard(ours[1]), heard(theirs[1])) == ({"1": 1}, {})
            theirs[0].write([of_row(2)])
            assert (heard(ours[1]), heard(theirs[1])) == ({"1": 1}, {"2": 1})
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize("between", range(4))
def test_a_file_that_was_begun_anew_is_read_from_its_beginning(tmp_path: Path, between: int) -> None:
    """However often that was since it was read last: the numbers of files come again."""
    with two_workers(os.getpid()) as (writer, reader):
        writer.write([of_row(row) for row in range(9)])
        assert len(heard(reader)) == 9
        for row in range(between):
            writer.write_anew([of_row(100 + row)])
        if between:
            assert heard(reader) == {str(99 + between): 1}
        writer.write([of_row(7)])
        assert heard(reader)["7"] == 1 + (not between)
    assert not list(tmp_path.glob("tokenring-faults-*"))
