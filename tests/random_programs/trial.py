"""One trial: a program, its rows, moves of bins and limits, drawn of a seed, and what workers in one process make of
them, stepping in a random order.
"""

from __future__ import annotations

import shlex
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from reprlib import Repr
from typing import Any

from tests.engine.helpers import simulated
from tests.random_programs.collections import LARGE, SMALL, Size, random_plan
from tests.random_programs.plain import answer_of
from tests.random_programs.rows import OF_NUMBERS, ROW, Row, Step, Value, columns_of, with_one_nan
from tests.random_programs.steps import SAVED, STEPS, TEXTS_INTERNED, declared, is_possible, numbers_of, untimed
from tests.random_programs.values import drawn_values
from tokenring.engine import Worker, execute
from tokenring.operators import Latest, RowwiseWarning, for_each
from tokenring.operators.migrate import HeldBackWarning, use_bins

EPOCHS = 8
INPUTS = 2
KINDS = ("streams", "collections", "migration", "recovery")
_MOST_ROWS, _MOST_MESSAGES, _KEYS = 7, 3, 12
_MOST_MADE, _MOST_MADE_AS_SAID = 500, 4_000
_WATCHDOG_SECONDS = 240.0

_repr = Repr()
_repr.maxstring, _repr.maxtuple, _repr.maxdict = 60, 9, 50

Found = list[Counter[tuple[Any, ...]]]
"""Of each value that is looked at how often each (time, *row) is there."""


@dataclass(frozen=True)
class Sent:
    """A row, and who sends it to which input, in which epoch, in which of its messages."""

    worker: int
    input: int
    epoch: int
    message: int
    row: Row


@dataclass(frozen=True)
class Trial:
    """All that a trial is; `order` is the seed of who steps when.

    name: the arguments with which `python -m tests.random_programs` plays it again. bins: 0 for none; moves: (time,
    bin, worker).  ends: in which epoch each input ends. looked_at: the values that
    are compared, by number, inputs first. doubted: how many of all trials are run under exhaustive checks, which take
    long. untimed: of each input, whether its rows come at their own times or before, nobody knows when."""

    name: str
    steps: tuple[Step, ...]
    sent: tuple[Sent, ...]
    workers: int
    bins: int
    moves: tuple[tuple[int, int, int], ...]
    ends: tuple[int, int]
    order: str
    looked_at: tuple[int, ...] = field(default=())
    doubted: float = 0.03
    untimed: tuple[bool, ...] = (False,) * INPUTS

    def values(self) -> list[Value]:
        """What each value is to be."""
        values = self.inputs()
        for at in range(len(self.steps)):
            values.append(self.value(at, values))
        return values

    def inputs(self) -> list[Value]:
        """What each input is to be."""
        return [[(epoch, rows) for (to, epoch, *_), rows in self.messages if to == n] for n in range(INPUTS)]

    def value(self, at: int, values: list[Value]) -> Value:
        """What the step at this place makes of the values before it."""
        step, number = self.steps[at], numbers_of(self.steps[: at + 1], INPUTS)[-1]
        given = [values[one] for one in step.of]
        return answer_of(step, number or 0, given, STEPS[step.does].settled, self.workers)

    @cached_property
    def messages(self) -> list[tuple[tuple[int, int, int, int], list[Row]]]:
        """(input, epoch, worker, which) of each message and its rows, in this order."""
        messages: dict[tuple[int, int, int, int], list[Row]] = {}
        for one in self.sent:
            messages.setdefault((one.input, one.epoch, one.worker, one.message), []).append(one.row)
        return sorted(messages.items(), key=lambda one: one[0])

    def names(self) -> list[str]:
        """What is compared."""
        return [f"value{number}" for number in self.looked_at]

    def expected(self) -> Found:
        """What is to be seen."""
        values = self.values()
        return [
            Counter((0 if is_untimed else time, *row) for time, rows in values[number] for row in rows)
            for number, is_untimed in self.times_looked_at()
        ]

    def times_looked_at(self) -> list[tuple[int, bool]]:
        """The values that are compared, and whether nobody knows at which times their messages are."""
        of_all = untimed(self.steps, self.untimed)
        return [(number, of_all[number] is not False) for number in self.looked_at]

    def found(self) -> Found:
        """What is seen where workers step in a random order, some of them long after the others."""
        random = Random(self.order)
        due = [[(epoch, number) for epoch in range(EPOCHS) for number in range(INPUTS + 1)]] * self.workers
        due = [list(one) for one in due]
        checks = "exhaustive" if random.random() < self.doubted else ""
        settings = {"queue_bytes": self.queue_bytes(random), "checks": checks}
        with self.as_said(), simulated(self.workers, **settings) as group:
            parts = []
            for worker in group.workers:
                with group.building(worker):
                    parts.append(self.declare(worker))
            # A tight limit waits for the clock, so that a bound of steps would speak of how fast they are.
            shares, steps, until = [1.0] * self.workers, 0, time.monotonic() + _WATCHDOG_SECONDS
            while steps % 8 or not all(worker.complete for worker in group.workers):
                if steps % 50 == 0:
                    shares = [random.choice([0.02, 1.0]) for _ in range(self.workers)]
                    assert time.monotonic() < until, "it does not come to an end"
                steps += 1
                (index,) = random.choices(range(self.workers), shares)
                if due[index] and random.random() < 0.3:
                    self.send(parts[index][0], index, *due[index].pop(0))
                else:
                    group.workers[index].step()
            return together([seen for _, seen in parts])

    def queue_bytes(self, random: Random) -> int:
        """Of each queue; the state of many aggregates wants larger ones, and so do long texts."""
        is_wide = any([" all" in step.does for step in self.steps])
        is_long = any([len(one.row.s or "") > 1_000 for one in self.sent])
        return random.choice([1 << (15 if is_long else 14 if is_wide else 13), 1 << 16])

    def in_processes(self) -> Found:
        """What is seen of workers that are processes."""

        def program(worker: Worker) -> Any:
            handles, seen = self.declare(worker)
            for epoch in range(EPOCHS):
                for number in range(INPUTS + 1):
                    self.send(handles, worker.index, epoch, number)
                worker.step()
            worker.run()
            return [list(rows) for rows in _rows_of(seen)]

        with self.as_said():
            return together(execute(program, self.workers))

    def declare(self, worker: Worker) -> tuple[list[Any], list[Any]]:
        """The inputs' handles, and what is seen of the values that are looked at, on one worker."""
        with worker.dataflow("random") as scope:
            if self.bins:
                use_bins(scope, worker.index, worker.peers, self.bins, self.moves)
            inputs = [scope.new_input(ROW, f"input{number}") for number in range(INPUTS)]
            values: list[Any] = [stream for _, stream in inputs]
            for number, step in zip(numbers_of(self.steps, INPUTS), self.steps, strict=True):
                values.append(declared(step, number or 0, [values[one] for one in step.of]))
            seen: list[Any] = []
            for number, is_untimed in self.times_looked_at():
                value = values[number]
                seen.append(value if isinstance(value, Latest) else [])
                if not isinstance(value, Latest):
                    for_each(value, _noting(seen[-1], is_untimed), name=f"value{number}")
        return [handle for handle, _ in inputs], seen

    def send(self, handles: list[Any], worker: int, epoch: int, number: int) -> None:
        """What a worker does next: the messages of an epoch to one input, or the epoch's end."""
        if number == INPUTS:
            for handle, ends in zip(handles, self.ends, strict=True):
                if epoch == ends - 1:
                    handle.close()
                elif epoch < ends:
                    handle.advance_to(epoch + 1)
            return
        for (*which, _), rows in self.messages:
            if which == [number, epoch, worker]:
                handles[number].send(columns_of(rows))

    def told(self) -> str:
        """The trial in words."""
        bins = f", {self.bins} bins, moves {sorted(self.moves)}" if self.bins else ""
        lines = [f"{self.name}: {self.workers} workers{bins}, inputs end at {self.ends}"]
        lines += [step.told(number) for number, step in enumerate(self.steps, INPUTS)]
        return "\n".join(lines)

    def rows_told(self) -> str:
        """Its rows, a line each."""
        lines = [
            f"worker {one.worker}, epoch {one.epoch}, input {one.input}.{one.message}: {_repr.repr(tuple(one.row))}"
            for one in self.sent
        ]
        return "\n".join(lines)

    @contextmanager
    def as_said(self) -> Iterator[None]:
        """Within the block nobody is warned of what the trial does."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RowwiseWarning)
            yield


def _noting(seen: list[tuple[Any, ...]], is_untimed: bool) -> Any:
    def note(time: int, batch: Any) -> None:
        columns = [batch[name].tolist() for name in batch.schema.names]
        seen.extend((0 if is_untimed else time, *row) for row in zip(*columns, strict=True))

    return note


def _rows_of(seen: list[Any]) -> list[list[tuple[Any, ...]]]:
    found = []
    for one in seen:
        if isinstance(one, Latest):
            columns = [column.tolist() for column in one.columns().values()]
            one = [(0, *row) for row in zip(*columns, strict=True)]
        found.append(one)
    return found


def together(parts: list[list[Any]]) -> Found:
    """What all workers have seen."""
    return [
        Counter([with_one_nan(row) for part in some for row in part])
        for some in zip(*map(_rows_of, parts), strict=True)
    ]


def wrong_of(trial: Trial, in_processes: bool = False) -> str:
    """What is wrong about a trial, in words; nothing if all is as it should be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeldBackWarning)  # what waits behind an outer join is drawn on purpose
            found = trial.in_processes() if in_processes else trial.found()
    except Exception as error:
        return f"{type(error).__name__}: {error}\n{trial.told()}"
    for name, seen, expected in zip(trial.names(), found, trial.expected(), strict=True):
        if seen != expected:
            often, seldom = _repr.repr(dict(seen - expected)), _repr.repr(dict(expected - seen))
            return f"{name} too often {often}, too seldom {seldom}\n{trial.told()}"
    return ""


# --- how trials are drawn


def drawn(kind: str, seed: object, does: str = "", most: int = 0) -> Trial:
    """The trial of a seed. kind: see KINDS. does: a step that is to be in it.
    most: how many steps there are at most, if not as many as the kind has."""
    name = shlex.join([kind, f"{seed}", does, f"{most}"])
    random = Random(name)
    size = SMALL
    if kind == "collections":
        size = LARGE if random.random() < 0.1 else SMALL
        does = "kept totals" if size is SMALL and random.random() < 0.2 else "collections"
    elif not does and kind in ("migration", "recovery"):
        does = random.choice(sorted(_steps_of(kind)))
    operator = STEPS.get(does)
    workers = random.randint(*{"collections": (1, 4), "recovery": (1, 3)}.get(kind, (2, 4)))
    is_late = random.random() < 0.3 and kind != "collections"
    in_order = (operator is not None and operator.in_order) or random.random() < 0.2
    feeders = [random.randrange(workers)] if in_order else list(range(workers))
    bins, moves = 0, list[tuple[int, int, int]]()
    if workers > 1 and kind != "recovery" and (kind == "migration" or random.random() < 0.5):
        bins = random.choice([1, 2, 8, 16, 64])
        moves = [
            (random.randrange(EPOCHS + 3), random.randrange(bins), random.randrange(workers))
            for _ in range(random.choice([0, 1, 5, 30]))
        ]
    trial = Trial(
        name=name, steps=(), sent=(), workers=workers, bins=bins, moves=tuple(moves),
        ends=(EPOCHS, random.choice([EPOCHS, EPOCHS, 3])), order=f"{random.random()}",
        untimed=(kind == "recovery" and not (in_order or is_late) and random.random() < 0.5,) * INPUTS,
    )  # fmt: skip
    trial = replace(trial, sent=tuple(_rows(random, trial, feeders, size, is_late)))
    most = most or {"streams": 7, "collections": 1, "migration": 2, "recovery": 3}[kind]
    if kind == "collections" and size is SMALL and random.random() < 0.3:
        most = 3
    return _with_steps(random, trial, most, does, size, in_order)


def _rows(random: Random, trial: Trial, feeders: list[int], size: Size, is_late: bool) -> Iterator[Sent]:
    ids, keys, values = 0, size.keys if size is LARGE else _KEYS, drawn_values(random)
    most = size.rows // (2 * EPOCHS * len(feeders)) if size is LARGE else _MOST_ROWS
    for number in range(INPUTS):
        for worker in feeders:
            for epoch in range(trial.ends[number]):
                for message in range(random.randrange(_MOST_MESSAGES)):
                    for _ in range(random.randrange(most)):
                        ids += 1
                        at = epoch + random.randrange(4)
                        if is_late and random.random() < 0.3:
                            at = max(0, epoch - random.randrange(9))
                        k, s, w = values.key(random, keys, ids), values.text(random, ids), values.float(random, ids)
                        row = Row(k, s, w, random.randrange(5), at, ids)
                        yield Sent(worker, number, epoch, message, row)


def _with_steps(random: Random, trial: Trial, most: int, does: str, size: Size, in_order: bool) -> Trial:
    """Steps one by one, as long as what they make stays small; `does` among them."""
    where = random.randrange(most)
    ordered = {0, 1} if in_order else set()
    ended: set[int] = set()
    names = sorted(_steps_of(trial.name.split(maxsplit=1)[0]))
    values = trial.inputs()
    for at in range(most):
        number = INPUTS + len(trial.steps)
        is_said = bool(does) and at == where
        most_made = _MOST_MADE_AS_SAID if is_said else _MOST_MADE
        for _ in range(1_000 if is_said else 20):  # the one that is said is to be there
            step = _step(random, trial, does if is_said else random.choice(names), number, ordered, ended, size)
            if step is None:
                continue
            longer = replace(trial, steps=(*trial.steps, step))
            value = longer.value(len(trial.steps), values)
            if size is LARGE or sum([len(rows) for _, rows in value]) <= most_made:
                break
        else:
            continue
        trial = longer
        values.append(value)
        operator = STEPS[step.does]
        if operator.keeps_order and step.limit is None and step.of[0] in ordered:
            ordered.add(number)
        if operator.ends:
            ended.add(number)
    used = {one for step in trial.steps for one in step.of}
    made = range(INPUTS, INPUTS + len(trial.steps))
    return replace(trial, looked_at=tuple(one for one in made if one not in used or random.random() < 0.3))


def _steps_of(kind: str) -> Sequence[str]:
    return SAVED if kind == "recovery" else [*STEPS]


def _is_interned(does: str) -> bool:
    return does.removesuffix(OF_NUMBERS) in TEXTS_INTERNED


def _step(
    random: Random, trial: Trial, does: str, number: int, ordered: set[int], ended: set[int], size: Size
) -> Step | None:
    """A step of this name, if there may be one."""
    operator = STEPS[does]
    given = [one for one in range(number) if one not in ended and (one in ordered or not operator.in_order)]
    if not given:
        return None
    of = [random.choice([random.choice(given), given[-1]]) for _ in range(operator.inputs)]
    if operator.sources and random.random() < 0.8:
        of = [random.randrange(INPUTS) for _ in of]
    if operator.sources:
        of = [random.randrange(INPUTS) if does.startswith("best_offers") else of[0], random.randrange(INPUTS)]
    constants = tuple(random.randrange(12) for _ in range(4))
    limit = None
    # Where state moves regions wait for the clock, some hundredths of a second each time.
    is_limited = random.random() < (0.01 if trial.bins else 0.3)
    is_refused = trial.name.startswith("recovery") and _is_interned(does)
    if is_limited and not operator.in_order and not is_refused:
        limit = random.choice(["rows", "bytes", "times"]), random.choice([1, 7, 60, 2000])
    plan = None
    if does.startswith("collections"):
        constants = (size.keys,)
        plan = random_plan(random, size if trial.name.startswith("collections") else replace(size, most_steps=4))
    step = Step(does, tuple(of), constants, limit, plan, operator.put and random.random() < 0.3)
    return step if is_possible((*trial.steps, step), trial.untimed) else None
