"""One trial: a random plan, random updates, a group of workers in this process that step in a random order."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np

import tokenring as tr
from tests.engine.helpers import simulated
from tests.operators.collections.random_programs.plan import LARGE, SMALL, VALUES, random_plan, run_plan
from tests.operators.collections.random_programs.scratch import Rows, Scratch
from tests.operators.collections.random_programs.views import Views
from tokenring import collection
from tokenring.engine import Worker, execute
from tokenring.operators import collect

UPDATE = tr.Schema("k v time times")
TIMES = 6
_INPUTS = 2
_EARLY = 3
_MOST_STEPS = 200_000
Update = tuple[int, int, int, int]


class Trial:
    """A plan and the updates of its inputs; everything follows from the seed."""

    def __init__(self, seed: float | str, is_large: bool = False) -> None:
        self.random = Random(seed)
        self.size = LARGE if is_large else SMALL
        self.plan = random_plan(self.random, self.size)
        self.workers = self.random.randint(1, 4)
        self.updates = [self._made_up() for _ in range(_INPUTS)]

    def _made_up(self) -> list[Update]:
        """Updates of which no row is ever there less than not at all."""
        random, there, updates = self.random, list[tuple[int, int]](), []
        most = self.size.rows
        for time in sorted(random.choices(range(TIMES), k=random.choice([most // 10, most // 2, most]))):
            if there and random.randrange(2):
                at = random.randrange(len(there))
                there[at], there[-1] = there[-1], there[at]
                updates.append((*there.pop(), time, -1))
            else:
                there.append((random.randrange(self.size.keys), random.randrange(VALUES)))
                updates.append((*there[-1], time, 1))
        return updates

    def expected(self, time: int) -> Rows:
        """What is there at a time."""
        given = []
        for updates in self.updates:
            rows: Rows = Counter()
            for k, v, when, times in updates:
                rows[k, v] += times if when <= time else 0
            given.append(+rows)
        found: Rows = run_plan(self.plan, Scratch(self.size.keys), given)
        return +found

    def sent(self) -> list[list[list[list[Update]]]]:
        """For each worker, for each time at which it sends, each input's updates: at their time or earlier."""
        sent: list[list[list[list[Update]]]] = [
            [[[] for _ in range(_INPUTS)] for _ in range(TIMES)] for _ in range(self.workers)
        ]
        for number, updates in enumerate(self.updates):
            for update in self.random.sample(updates, len(updates)):
                at = max(0, update[2] - self.random.randrange(_EARLY))
                sent[self.random.randrange(self.workers)][at][number].append(update)
        return sent

    def simulated(self) -> list[tuple[int, ...]]:
        """The changes that come of it, workers stepping in a random order, some of them long after the others."""
        random = self.random
        due = [[(at, number) for at in range(TIMES) for number in range(_INPUTS + 1)] for _ in range(self.workers)]
        sent = self.sent()
        checks = "exhaustive" if random.random() < 0.03 else ""  # they take long
        settings = {"queue_bytes": random.choice([4096, 1 << 16]), "checks": checks}
        with simulated(self.workers, **settings) as group:
            parts = []
            for worker in group.workers:
                with group.building(worker):
                    parts.append(self.declare(worker))
            shares, steps = [1.0] * self.workers, 0
            while not all(worker.complete for worker in group.workers):
                if steps % 50 == 0:
                    shares = [random.choice([0.02, 1.0]) for _ in range(self.workers)]
                steps += 1
                assert steps < _MOST_STEPS, "it does not come to an end"
                (index,) = random.choices(range(self.workers), shares)
                handles = parts[index][0]
                if due[index] and random.random() < 0.3:
                    at, number = due[index].pop(0)
                    if number < _INPUTS:
                        send(handles[number], sent[index][at][number])
                    else:
                        for handle in handles:
                            handle.close() if at == TIMES - 1 else handle.advance_to(at + 1)
                else:
                    group.workers[index].step()
            return [row for _, made in parts for row in rows_of(made)]

    def in_processes(self) -> list[tuple[int, ...]]:
        """The changes that come of it, of workers that are processes."""
        sent = self.sent()

        def program(worker: Worker) -> list[tuple[int, ...]]:
            handles, made = self.declare(worker)
            for at in range(TIMES):
                for number, handle in enumerate(handles):
                    send(handle, sent[worker.index][at][number])
                    handle.advance_to(at + 1)
                worker.step()
            worker.run()
            return rows_of(made)

        return [row for part in execute(program, self.workers) for row in part]

    def declare(self, worker: Worker) -> tuple[list[Any], Any]:
        """The inputs' handles and what is collected of the changes, on one worker."""
        with worker.dataflow("random") as scope:
            inputs = [scope.new_input(UPDATE, f"input{number}") for number in range(_INPUTS)]
            given = [collection(stream, "time", "times") for _, stream in inputs]
            made = run_plan(self.plan, Views(self.size.keys), given)
            return [handle for handle, _ in inputs], collect(made.changes())


def send(handle: Any, updates: list[Update]) -> None:
    """Send updates as one message."""
    if updates:
        handle.send(dict(zip(UPDATE.names, np.array(updates).T, strict=True)))


def rows_of(made: Any) -> list[tuple[int, ...]]:
    """What was collected, row by row."""
    return list(zip(*[column.tolist() for column in made.columns().values()], strict=True))


def at(changes: list[tuple[int, ...]], time: int) -> Rows:
    """What changes come to."""
    found: Rows = Counter()
    for k, v, when, times in changes:
        found[k, v] += times if when <= time else 0
    return Counter({row: times for row, times in found.items() if times})


def wrong_of(trial: Trial, changes: list[tuple[int, ...]]) -> str:
    """What is wrong about a trial's changes, in words; nothing if all is as it should be."""
    for time in range(TIMES):
        found, expected = at(changes, time), trial.expected(time)
        if found != expected:
            found.subtract(expected)
            differ = {row: times for row, times in found.items() if times}
            return f"at {time}: too often {differ}; {trial.workers} workers\n{trial.plan.told()}"
    return ""

