"""One program over random rows, in a group whose workers step in a random order, with bins that move or without."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from tests.engine.helpers import simulated
from tests.operators.migrate.random_moves.plain import PLAIN, Row, answer_of
from tests.operators.migrate.random_moves.programs import PROGRAMS
from tests.operators.migrate.random_moves.streams import ROW
from tokenring.engine import Stream, Worker
from tokenring.operators import Latest, collect
from tokenring.operators.migrate import use_bins

EPOCHS = 8
_MOST_ROWS, _MOST_MESSAGES, _KEYS = 7, 3, 12
_MOST_STEPS = 100_000
_NAMES = ["a", "", "ä name that is longer than eight bytes", "b", "c", "dd", "e e"]

Sent = list[list[list[list[tuple[Any, ...]]]]]
"""By worker, epoch and message: rows."""


class Trial:
    """A program, its rows, and how bins move."""

    def __init__(self, name: str, seed: object) -> None:
        self.name = name
        self.random = random = Random(f"{name} {seed}")
        self.program = PROGRAMS[name]
        self.workers = random.choice([2, 2, 3, 4])
        self.bins = random.choice([1, 2, 8, 16, 64])
        self.changes = [
            (random.randrange(EPOCHS + 3), random.randrange(self.bins), random.randrange(self.workers))
            for _ in range(random.choice([0, 1, 5, 30]))
        ]
        self.ends = EPOCHS, random.choice([EPOCHS, EPOCHS, 3])
        """In which epoch each stream ends."""
        self._ids = 0
        self.sent = [self._sent_by(worker) for worker in range(2)]  # of each stream

    def _sent_by(self, stream: int) -> Sent:
        random = self.random
        feeders = {random.randrange(self.workers)} if self.program.ordered else set(range(self.workers))

        def is_fed(worker: int, epoch: int) -> bool:
            return worker in feeders and epoch < self.ends[stream]

        return [
            [
                [
                    [self._row(epoch) for _ in range(random.randrange(_MOST_ROWS))]
                    for _ in range(random.randrange(_MOST_MESSAGES) if is_fed(worker, epoch) else 0)
                ]
                for epoch in range(EPOCHS)
            ]
            for worker in range(self.workers)
        ]

    def _row(self, epoch: int) -> tuple[Any, ...]:
        random = self.random
        self._ids += 1
        weight, at = random.choice([0.0, -0.0, 1.5, -2.25, 1e300]), epoch + random.randrange(4)
        node, left, ref = random.randrange(_KEYS), random.randrange(5), random.randrange(2 * self._ids)
        return node, random.choice(_NAMES), weight, left, at, self._ids, ref

    def given(self) -> list[list[Row]]:
        """All rows of each stream."""
        return [
            [Row(*row) for worker in stream for epoch in worker for message in epoch for row in message]
            for stream in self.sent
        ]

    def rows(self, moves: bool, order: object) -> Counter[tuple[Any, ...]]:
        """What comes of it: how often each row. order: seeds who steps when; with `moves` bins move."""
        random = Random(f"{self.name} {order}")
        due = [[(epoch, number) for epoch in range(EPOCHS) for number in range(3)] for _ in range(self.workers)]
        with simulated(self.workers, queue_bytes=random.choice([8192, 1 << 16])) as group:
            parts = []
            for worker in group.workers:
                with group.building(worker):
                    parts.append(self._declare(worker, moves))
            shares, steps = [1.0] * self.workers, 0
            while not all(worker.complete for worker in group.workers):
                if steps % 50 == 0:
                    shares = [random.choice([0.02, 1.0]) for _ in range(self.workers)]
                steps += 1
                assert steps < _MOST_STEPS, "it does not come to an end"
                (index,) = random.choices(range(self.workers), shares)
                if due[index] and random.random() < 0.3:
                    self._send(parts[index][0], index, *due[index].pop(0))
                else:
                    group.workers[index].step()
            found: Counter[tuple[Any, ...]] = Counter()
            for _, made in parts:
                found.update(zip(*[column.tolist() for column in made.columns().values()], strict=True))
        return found

    def _send(self, handles: list[Any], worker: int, epoch: int, number: int) -> None:
        if number < 2:
            for rows in self.sent[number][worker][epoch]:
                if rows:
                    handles[number].send(dict(zip(ROW.names, zip(*rows, strict=True), strict=True)))
            return
        for handle, ends in zip(handles, self.ends, strict=True):
            if epoch == ends - 1:
                handle.close()
            elif epoch < ends:
                handle.advance_to(epoch + 1)

    def _declare(self, worker: Worker, moves: bool) -> tuple[list[Any], Any]:
        with worker.dataflow("random") as scope:
            if moves:
                use_bins(scope, worker.index, worker.peers, self.bins, self.changes)
            inputs = [scope.new_input(ROW, f"input{number}") for number in range(2)]
            streams: list[Stream] = [stream for _, stream in inputs]
            made = self.program.build(*streams)
            return [handle for handle, _ in inputs], made if isinstance(made, Latest) else collect(made)


def wrong_of(trial: Trial, order: object) -> str:
    """What is wrong about a trial with moves, beside the same without, and that beside plain Python where it has an
    answer; nothing if all is as it should be."""
    expected = trial.rows(False, "as it may")
    if trial.name in PLAIN:
        plain = answer_of(trial.name, *trial.given())
        if expected != plain:
            return f"without moves too often {expected - plain}, too seldom {plain - expected}"
    found = trial.rows(True, order)
    if found == expected:
        return ""
    return (
        f"too often {found - expected}, too seldom {expected - found}; {trial.workers} workers, {trial.bins} bins, "
        f"moves {sorted(trial.changes)}"
    )
