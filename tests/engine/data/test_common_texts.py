"""Texts of files that all workers have: they cross as words, and are kept without a copy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.data.test_text_channels import exchanged
from tokenring.engine import Batch, Broadcast, Exchange, Pact, Schema
from tokenring.shm.memory import MappedFile, text_space

TEXTS = Schema("id", name="string?")
NAMES = ["", "Ann", None, "Zoë", "a name that is longer than what fits into a message of these queues " * 40]


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory) -> tuple[np.ndarray, MappedFile]:
    """The words of NAMES, and their bytes in a file that is mapped."""
    file = tmp_path_factory.mktemp("common") / "names"
    own = Batch(TEXTS, {"id": range(len(NAMES)), "name": NAMES})
    file.write_bytes(own.heaps[1].tobytes())  # type: ignore[union-attr]
    space = text_space()
    assert space is not None
    return own.columns[1], space.map_file(file, file.stat().st_size)


def batch_of(common: tuple[np.ndarray, MappedFile], rows: int) -> Batch:
    words, mapped = common
    numbers = np.arange(rows)
    return Batch.wrap(TEXTS, (numbers, words[numbers % len(words)]), rows, (None, mapped.octets))


@pytest.mark.parametrize("pact", [Exchange("id"), Exchange("name"), Exchange(("id", "name")), Broadcast()])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_they_cross_whatever_their_length(
    common: tuple[np.ndarray, MappedFile], pact: Pact, workers: int
) -> None:
    sent = [batch_of(common, rows) for rows in (1, 300, 2)]
    found = exchanged(sent, pact, workers)
    expected = sorted([(at, NAMES[at % len(NAMES)]) for one in sent for at in range(one.rows)], key=repr)
    if isinstance(pact, Broadcast):
        assert all(rows == expected for rows in found)
    else:
        assert sorted([row for rows in found for row in rows], key=repr) == expected


def test_they_go_to_the_same_workers_as_others(common: tuple[np.ndarray, MappedFile]) -> None:
    mine, own = batch_of(common, 50), Batch(TEXTS, {"id": range(50), "name": [NAMES[at % 4] for at in range(50)]})
    mine = mine.filter(mine.columns[0] % len(NAMES) < 4)
    own = own.filter(np.array([NAMES[at % len(NAMES)] == NAMES[at % 4] for at in range(50)]))
    both = exchanged([mine, own], Exchange("name"), 3)
    for worker, rows in enumerate(both):
        names = {row[1] for row in rows}
        others = {row[1] for other in both[:worker] + both[worker + 1 :] for row in other}
        assert names.isdisjoint(others)


def test_a_batch_that_is_kept_copies_none(common: tuple[np.ndarray, MappedFile]) -> None:
    batch = batch_of(common, 10)
    batch.lend([])
    batch.keep()
    assert batch.heaps[1] is common[1].octets
    assert batch["name"].tolist() == [NAMES[at % len(NAMES)] for at in range(10)]
    assert batch.copy().heaps[1].nbytes < 10_000  # type: ignore[union-attr]
