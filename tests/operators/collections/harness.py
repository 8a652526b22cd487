"""Random updates, what they come to at each time, and programs that are given them out of order."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tokenring as tr
from tokenring import Collection, collection

Rows = Counter[tuple[Any, ...]]
UPDATE = tr.Schema("k v time times")
TIMES = 8


def made_up(seed: int, rows: int, keys: int = 4, values: int = 3, most: int = 1) -> list[tuple[int, int, int, int]]:
    """Updates of which no row is ever there less than not at all."""
    random = np.random.default_rng(seed)
    there: Rows = Counter()
    updates = []
    for time in np.sort(random.integers(0, TIMES, rows)).tolist():
        row = int(random.integers(keys)), int(random.integers(values))
        if there[row] > 0 and random.integers(2):
            there[row] -= 1
            updates.append((*row, time, -1))
        else:
            there[row] += 1
            updates.append((*row, time, 1))
    return updates


def at(updates: list[tuple[Any, ...]], time: int) -> Rows:
    found: Rows = Counter()
    for *row, when, times in updates:
        if when <= time:
            found[tuple(row)] += times
    return Counter({row: times for row, times in found.items() if times})


def run(
    updates: list[list[tuple[Any, ...]]],
    build: Callable[..., Collection],
    workers: int,
    seed: int,
    early: int = 2,
) -> list[tuple[int, ...]]:
    """The changes that a program makes of these inputs' updates, which come shuffled, up to `early` times before they
    are due."""
    (found,) = run_several(updates, lambda *rows: {"made": build(*rows)}, workers, seed, early).values()
    return found


def run_several(
    updates: list[list[tuple[Any, ...]]],
    build: Callable[..., dict[str, Collection]],
    workers: int,
    seed: int,
    early: int = 2,
    schema: tr.Schema = UPDATE,
) -> dict[str, list[tuple[Any, ...]]]:
    """The same of several collections that a program makes, of inputs of this schema, which ends in time and times."""
    (found,) = together([made_of(updates, build, seed, early, schema)], workers)
    return found


Found = dict[str, list[tuple[Any, ...]]]


def together(programs: Sequence[Callable[[tr.Worker], Found]], workers: int) -> list[Found]:
    """What programs make that the same workers run one after the other."""
    parts = tr.execute(lambda worker: [program(worker) for program in programs], workers=workers)
    return [
        {name: [row for part in of_one for row in part[name]] for name in of_one[0]}
        for of_one in zip(*parts, strict=True)
    ]


def made_of(
    updates: list[list[tuple[Any, ...]]],
    build: Callable[..., dict[str, Collection]],
    seed: int,
    early: int = 2,
    schema: tr.Schema = UPDATE,
) -> Callable[[tr.Worker], Found]:
    """The program of `run_several`."""

    def program(worker: tr.Worker) -> Found:
        random = np.random.default_rng(seed + worker.index)
        with worker.dataflow() as scope:
            inputs = [scope.new_input(schema, f"input{number}") for number in range(len(updates))]
            built = build(*[collection(stream, "time", "times") for _, stream in inputs])
            made = {name: each.changes().collect() for name, each in built.items()}
        due = [[update for at, update in enumerate(each) if at % worker.peers == worker.index] for each in updates]
        for time in range(TIMES):
            for (handle, _), each in zip(inputs, due, strict=True):
                is_now = [
                    update[-2] == time or (time < update[-2] <= time + early and bool(random.integers(2)))
                    for update in each
                ]
                now = [update for update, chosen in zip(each, is_now, strict=True) if chosen]
                each[:] = [update for update, chosen in zip(each, is_now, strict=True) if not chosen]
                if now:
                    shuffled = [now[number] for number in random.permutation(len(now))]
                    sent = zip(schema.names, zip(*shuffled, strict=True), strict=True)
                    handle.send({name: column(schema, name, values) for name, values in sent})
                handle.advance_to(time + 1)
            if random.integers(2):
                worker.step()
        worker.run()
        return {
            name: list(zip(*[values(each) for each in rows.columns().values()], strict=True))
            for name, rows in made.items()
        }

    return program


def column(schema: tr.Schema, name: str, values: Sequence[Any]) -> Any:
    """Values of a column as they are sent; lists of whole numbers that no int64 holds are no column."""
    if schema.kind(name).name != "uint64":
        return list(values)
    missing = [value is None for value in values]
    return np.ma.MaskedArray(np.array([value or 0 for value in values], np.uint64), missing)


def values(found: Any) -> list[Any]:
    """A column that came out, None where it is null: of floats, a NaN of its own."""
    listed: list[Any] = found.tolist()
    if not isinstance(found, np.ndarray) or found.dtype != np.float64:
        return listed
    null = tr.Schema(x="float64?").kind("x").null
    return [None if word == null else value for word, value in zip(found.view(np.int64), listed, strict=True)]


def check(
    build: Callable[..., Collection], expected: Callable[..., Rows], inputs: int, workers: int, seeds: int = 4
) -> None:
    """What a program makes of random updates is, at every time, what comes of all rows that are there."""
    all_updates = [[made_up(10 * seed + number, 40, 5, 5) for number in range(inputs)] for seed in range(seeds)]
    programs = [made_of(each, lambda *rows: {"made": build(*rows)}, seed) for seed, each in enumerate(all_updates)]
    for seed, (found, updates) in enumerate(zip(together(programs, workers), all_updates, strict=True)):
        for time in range(TIMES):
            assert at(found["made"], time) == expected(*[at(each, time) for each in updates]), (seed, time)
