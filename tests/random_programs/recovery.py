"""Programs whose workers die and go on from snapshots: the same steps, behind sources that can be read again, before
sinks whose results appear with snapshots, or as soon as their times are finished.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.operators.recovery.worlds import Job, World
from tests.random_programs import trial
from tests.random_programs.rows import ROW, Row, Value, columns_of, with_one_nan
from tests.random_programs.steps import STEPS, declared, numbers_of
from tests.random_programs.streams import at_own_times, stamped
from tests.random_programs.trial import INPUTS, Found, Trial
from tokenring.engine import Schema
from tokenring.operators import drop_columns, from_generator, read_parquet, to_arrow_files, to_parquet
from tokenring.operators.migrate import saving_of

SOURCES = ("in order", "disorder", "late", "Parquet")
LATE = "late"
_TIMED = Schema.of({"epoch": "int64"} | ROW.spec())
_SINKS = (to_arrow_files, to_arrow_files, to_parquet)
_DISORDER, _LATER = 3, 3
_MOST_LIVES, _MOST_DEEDS, _MOST_WORKERS = 4, 4, 3
_BINS = 8
_HOLDS = re.compile("(join|unique|table) (left|right|full|anti)")
_ENDS = ("rest", "manifest", "results")

Piece = list[tuple[int, Row]]
"""Rows with the times that the source goes by."""


@dataclass(frozen=True)
class Recovered(Trial):
    """A trial that is run by one world of workers after another; see Job. source: one of SOURCES."""

    source: str = "in order"

    def pieces(self, number: int, share: int) -> list[Piece]:
        """What one share of an input sends. Each input has as many shares as there are workers at first."""
        mine = [(epoch, rows) for (to, epoch, worker, _), rows in self.messages if (to, worker) == (number, share)]
        if self.source == "in order":
            return [[(epoch, row) for row in rows] for epoch, rows in mine]
        random = Random(f"{self.order} {number} {share}")
        later = _DISORDER + (_LATER if self.source == LATE else 0)
        rows = [(epoch, row) for epoch, some in mine for row in some]
        rows.sort(key=lambda one: one[0] + random.uniform(0, later))
        return list(_cut(rows, random))

    def late(self, number: int, share: int) -> Piece:
        """Of a share's rows those that come too late."""
        return self.sent_and_late(number, share)[1]

    def sent_and_late(self, number: int, share: int) -> tuple[Piece, Piece]:
        """Of a share's rows those that come in time, and those that do not."""
        in_time, late = Piece(), Piece()
        promised = 0
        for piece in self.pieces(number, share):
            for epoch, row in piece:
                (late if self.source == LATE and epoch < promised else in_time).append((epoch, row))
            promised = max(promised, *[epoch - _DISORDER for epoch, _ in piece], 0)
        return in_time, late

    def inputs(self) -> list[Value]:
        """See Trial."""
        if self.source == "in order":
            return super().inputs()
        return [
            [(epoch, [row]) for share in range(self.workers) for epoch, row in self.sent_and_late(number, share)[0]]
            for number in range(INPUTS)
        ]

    def expected(self) -> Found:
        """See Trial; and the late rows of each input."""
        late = [
            Counter((epoch, *row) for share in range(self.workers) for epoch, row in self.late(number, share))
            for number in range(INPUTS)
        ]
        return super().expected() + (late if self.source == LATE else [])

    def found(self) -> Found:
        """What has appeared when the job is over."""
        random = Random(self.order)
        with self.as_said(), TemporaryDirectory(prefix="tokenring-recovery-") as path:
            if self.source == "Parquet":
                self._write_files(Path(path))
            job = Job(Path(path), lambda scope, results: self.declare_on(scope, results, Path(path)))
            lives = random.randint(1, _MOST_LIVES)
            for life in range(lives):
                workers = random.randint(1, _MOST_WORKERS) if life else self.workers
                settings = {"queue_bytes": self.queue_bytes(random)}
                job.bins = 0 if self.has_rights or self.is_slow else random.choice([0, _BINS])
                with job.world(workers, random, **settings) as world:
                    live(world, random, is_last=life == lives - 1)
            found = [job.rows(name) for name in self.names()]
            return [Counter([with_one_nan(row) for row in rows.elements()]) for rows in found]

    @property
    def has_rights(self) -> bool:
        """Whether a join holds frontiers back until an input ends: in bins that is not saved."""
        return any([_HOLDS.match(step.does) is not None for step in self.steps])

    @property
    def is_slow(self) -> bool:
        """Whether rows are let in a few at a time: a move that waits for them lasts."""
        return any([step.limit is not None for step in self.steps])

    def names(self) -> list[str]:
        """See Trial: folders of results."""
        return super().names() + ([f"{LATE}{number}" for number in range(INPUTS)] if self.source == LATE else [])

    def declare_on(self, scope: Any, results: Path, files: Path) -> None:
        """The dataflow on one worker."""
        values: list[Any] = [self._source(scope, number, results, files) for number in range(INPUTS)]
        for number, step in zip(numbers_of(self.steps, INPUTS), self.steps, strict=True):
            values.append(declared(step, number or 0, [values[one] for one in step.of]))
        for number, is_untimed in self.times_looked_at():
            commit: Any = Random(f"{self.order} {number}").choice(["snapshot", "finished"])
            rows = stamped(values[number], always=0 if is_untimed else None)
            if scope.graph.behind(rows.source, rows.stage)[0] & saving_of(scope).at_any_times:
                commit = "snapshot"  # another is refused
            _SINKS[number % len(_SINKS)](rows, results / f"value{number}", commit=commit)

    def _source(self, scope: Any, number: int, results: Path, files: Path) -> Any:
        if self.source == "Parquet":
            rows = read_parquet(scope, files / f"input{number}.parquet", schema=_TIMED, time="epoch", batch_rows=3)
            return drop_columns(rows if self.untimed[number] else at_own_times(rows, "epoch"), "epoch")

        def function(share: int, shares: int) -> Iterator[dict[str, list[Any]]]:
            assert shares == self.workers
            yield from [_columns(piece) for piece in self.pieces(number, share)]

        name = f"input{number}"
        if self.source == LATE:
            rows, late = from_generator(scope, _TIMED, function, time="epoch", disorder=_DISORDER, late=True, name=name)
            to_arrow_files(late, results / f"{LATE}{number}")
        else:
            disorder = 0 if self.source == "in order" else _DISORDER
            rows = from_generator(scope, _TIMED, function, time="epoch", disorder=disorder, name=name)
        as_sent = self.source == "in order" or self.untimed[number]
        return drop_columns(rows if as_sent else at_own_times(rows, "epoch"), "epoch")

    def _write_files(self, folder: Path) -> None:
        for number in range(INPUTS):
            rows = [one for share in range(self.workers) for piece in self.pieces(number, share) for one in piece]
            table = pa.table(_columns(rows), _TIMED.to_arrow())
            pq.write_table(table, folder / f"input{number}.parquet", row_group_size=7)

    def told(self) -> str:
        """See Trial."""
        return f"{super().told()}\nsources: {self.source}"


def drawn(kind: str, seed: object, does: str = "", most: int = 0) -> Trial:
    """See `drawn` of trial; those of kind "recovery" die and go on."""
    found = trial.drawn(kind, seed, does, most)
    if kind != "recovery":
        return found
    is_ordered = any([STEPS[step.does].in_order for step in found.steps])
    source = SOURCES[0] if is_ordered else Random(found.order).choice(SOURCES[1:] if any(found.untimed) else SOURCES)
    return Recovered(**{one.name: getattr(found, one.name) for one in fields(found)}, source=source)


def _cut(rows: Piece, random: Random) -> Iterator[Piece]:
    while rows:
        size = random.randint(1, 5)
        yield rows[:size]
        rows = rows[size:]


def _columns(rows: Piece) -> dict[str, list[Any]]:
    return {"epoch": [epoch for epoch, _ in rows]} | columns_of([row for _, row in rows])


def live(world: World, random: Random, is_last: bool) -> None:
    """Some steps and snapshots, and the end: of the job if it is the last life, else of the workers, which may be
    killed while a snapshot is taken, or is not yet known for one."""
    for _ in range(random.randint(0, _MOST_DEEDS)):
        world.step(random.choice([0, 1, 10, 30, 100, 300]))
        if random.random() < 0.5:
            world.move_some(random)
        if random.random() < 0.05:
            for _ in range(random.randint(1, 2)):
                world.take(copied=True)
    if is_last:
        world.finish()
    elif random.random() < 0.8:
        world.take(until=random.choice(["", "", "", *_ENDS]), checked=random.random() < 0.05)
