"""What arrives with bins is put in once for each time at which they move: all tables, of all workers, together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.errors import Fact, raises
from tests.operators.migrate.runs import BINS, run
from tokenring.engine import (
    COMPLETE,
    Batch,
    Exchange,
    InputPort,
    Notify,
    OperatorError,
    OutputPort,
    Schema,
    Stream,
    Token,
)
from tokenring.operators.migrate import Change, Leaving, Table, offer, state_moves

ROWS, SUMS, NOTES = Schema("key value"), Schema("key total"), Schema("key note")


class SumsAndNotes:
    """The sum of each key so far, and in another table each value of it."""

    def __init__(self, worker: int, came: list[tuple[int, list[int]]], due: Any) -> None:
        self.notes: dict[int, list[int]] = {}
        self._worker, self._came, self._due = worker, came, due

    def take_out(self, leaving: Leaving) -> list[Batch]:
        """Two tables."""
        keys = np.array(sorted(self.notes), np.int64)
        gone = {key: self.notes.pop(key) for key in keys[leaving.words(keys)].tolist()}
        notes = [(key, note) for key, some in gone.items() for note in some]
        return [
            Batch(SUMS, {"key": [*gone], "total": [sum(some) for some in gone.values()]}),
            Batch(NOTES, {"key": [key for key, _ in notes], "note": [note for _, note in notes]}),
        ]

    def put_in(self, tables: Sequence[Batch]) -> Any:
        """What others had: each sum with all of its notes."""
        sums, notes = tables
        self._came.append((self._worker, sorted(sums["key"].tolist())))
        arrived: dict[int, list[int]] = {key: [] for key in sums["key"].tolist()}
        for key, note in zip(notes["key"].tolist(), notes["note"].tolist(), strict=True):
            arrived[key].append(note)
        assert {key: sum(some) for key, some in arrived.items()} == dict(
            zip(*map(np.ndarray.tolist, sums), strict=True)
        )
        assert not set(arrived) & set(self.notes)
        self.notes |= arrived
        return self._due


def noted(stream: Stream, came: list[tuple[int, list[int]]], due: Any = COMPLETE) -> Stream:
    """For each message the sums so far of the keys in it."""
    builder = stream.operator("noted", Notify.NEVER)
    builder.input(stream, Exchange("key"))
    made = builder.output(SUMS)
    state_moves(builder, [Table(SUMS, ("key",)), Table(NOTES, ("key",))])

    def construct(context: Any, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        own = SumsAndNotes(context.worker_index, came, due)
        offer(own)

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                for key, value in zip(batch["key"].tolist(), batch["value"].tolist(), strict=True):
                    own.notes.setdefault(key, []).append(value)
                keys = sorted(set(batch["key"].tolist()))
                output.give(reference, Batch(SUMS, {"key": keys, "total": [sum(own.notes[key]) for key in keys]}))

        return logic

    builder.build(construct)
    return made


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_what_comes_at_one_time_is_put_in_at_once(workers: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    times, keys = 12, 30
    to_first: list[Change] = [(4, number, 0) for number in range(BINS)]
    apart: list[Change] = [(8, number, number % workers) for number in range(BINS)]
    messages = [[(key, 100 * time + key) for key in range(keys)] for time in range(times)]
    came: list[tuple[int, list[int]]] = []
    steps = random.integers(0, workers, 5).tolist()
    found = run(ROWS, lambda rows: noted(rows, came), messages, workers, [*to_first, *apart], steps, False)
    expected = [
        (time, key, sum(100 * at + key for at in range(time + 1))) for time in range(times) for key in range(keys)
    ]
    assert found == sorted(map(repr, expected))
    by_worker = [worker for worker, _ in came]
    assert len(by_worker) == len(set(by_worker)), "what goes to a worker goes there at one time"


@pytest.mark.parametrize(
    ("due", "words"), [*[(due, "from 0 on") for due in (None, "x", -1)], (50, "state_moves was not told pends=True")]
)
def test_a_time_that_is_none_or_without_a_right_to_it_is_refused_when_state_is_put_in(due: Any, words: Fact) -> None:
    messages = [[(key, time) for key in range(8)] for time in range(4)]
    to_first: list[Change] = [(2, number, 0) for number in range(BINS)]
    with raises(OperatorError, "UsageError: operator 'noted'", f"put_in returned {due!r}", words, "COMPLETE"):
        run(ROWS, lambda rows: noted(rows, [], due), messages, 2, to_first, [], False)
