"""A join with versions as an operator: rows wait until no version that they would see can come any more."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from tokenring.engine import (
    COMPLETE,
    AnyStream,
    Batch,
    Exchange,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Schema,
    Stream,
    Time,
    Token,
    TokenRef,
    Updates,
)
from tokenring.operators.joins.compiled import compiled_versioned
from tokenring.operators.joins.kept import (
    LEFT,
    RIGHT,
    JoinedColumns,
    MovingVersions,
    Results,
    Versions,
    in_time,
    pieces_of,
    versions_tables,
    with_found,
)
from tokenring.operators.migrate import Leaving, Table, of_version, offer, state_moves
from tokenring.operators.state import require_newest
from tokenring.operators.state.moving import MovingKeys
from tokenring.operators.time import require_total_order


def declare_versioned(
    columns: JoinedColumns,
    sides: tuple[AnyStream, Stream],
    needs: tuple[tuple[str, ...], tuple[str, ...]],
    times: tuple[str | None, str | None],
    outer: bool,
) -> AnyStream:
    """Rows of the left side with the right side's version of their time. needs: the columns of each side that cross.
    times: the column of each side's rows' own times; None: their messages' times. outer: whether rows without a version
    are sent too."""
    scope = sides[LEFT].scope
    require_total_order(columns.operator, scope)
    require_newest(columns.operator, sides[RIGHT], columns.on[RIGHT])
    builder = sides[0].operator(columns.operator, Notify.IF_TOKEN)
    for side in (LEFT, RIGHT):
        builder.input(sides[side], Exchange(columns.key(side), needs[side]))
    arriving = sides[LEFT].schema.select(needs[LEFT]), sides[RIGHT].schema.select(needs[RIGHT])
    has_due = state_moves(
        builder, of_version(versions_tables(columns, arriving[LEFT]), times), pends=True
    )
    made = builder.output(columns.schema)

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()
        versions = Versions(columns)
        answers = _Answers(columns, versions, Results(columns, arriving), outer, arriving[LEFT])
        keys = MovingKeys(versions.keys, versions.keys.schema.names, in_kernels=True)
        offer(MovingVersions(columns, arriving[LEFT], keys, versions.side, answers))
        context.inspectable(lambda: {"left": answers.waiting_rows, "right": len(versions)})

        def logic(rows: InputPort, changes: InputPort, *more: Any) -> None:
            *due, output = more  # where state moves there is an input for what became due by it
            for port in due:
                for reference, _ in port:
                    answers.hold(reference)
            horizon = min(rows.frontier, answers.least)
            for reference, batch in changes:
                versions.add(batch, _times(columns.operator, times[RIGHT], batch, reference.time), horizon)
            certain = changes.frontier
            for reference, batch in rows:
                of_rows = _times(columns.operator, times[LEFT], batch, reference.time)
                answers.take(batch, of_rows, reference, certain, output)
            answers.release(certain, output)

        return logic

    if builder.can_be_compiled_with_texts:
        builder.build_compiled(lambda context: compiled_versioned(columns, arriving, times, outer, has_due), texts=True)
    else:
        builder.build(construct)
    made.updates = answered(columns, sides[LEFT], outer)
    return made


def _times(operator: str, column: str | None, batch: Batch, time: Time) -> np.ndarray:
    """The rows' own times, int64 (rows,), none before the message's."""
    return np.full(batch.rows, time, np.int64) if column is None else in_time(operator, batch, column, time)


def answered(columns: JoinedColumns, rows: Stream, outer: bool) -> Updates | None:
    """What rows of the left side are, with the right side's columns: updates, if they were."""
    if rows.updates is None:
        return None
    names = {source: name for (side, source), name in zip(columns.sources, columns.schema.names, strict=True)
             if side == LEFT}  # fmt: skip
    return (rows.updates if outer else rows.updates.filtered(*columns.on[LEFT])).named(names)


class _Answers:
    """Rows that wait for versions, with one token, at the least of their times."""

    __slots__ = ("_arriving", "_columns", "_held", "_number", "_outer", "_results", "_versions", "_waiting")

    def __init__(
        self, columns: JoinedColumns, versions: Versions, results: Results, outer: bool, arriving: Schema
    ) -> None:
        self._arriving = arriving
        self._columns = columns
        self._versions = versions
        self._results = results
        self._outer = outer
        self._held: Token | None = None
        self._waiting: list[tuple[Time, int, Batch, np.ndarray]] = []
        """A heap of pieces of messages: (least time, number, rows, their times)."""
        self._number = 0

    @property
    def least(self) -> Time:
        """The least time of a row that waits; COMPLETE if there is none."""
        return self._waiting[0][0] if self._waiting else COMPLETE

    @property
    def waiting_rows(self) -> int:
        """Rows that wait."""
        return sum([batch.rows for _, _, batch, _ in self._waiting])

    def take(self, batch: Batch, times: np.ndarray, reference: TokenRef, certain: Time, output: OutputPort) -> None:
        """Answer rows before the time that is `certain`, at their message's time; keep the others."""
        ready = times < certain
        if ready.any():
            output.give(reference, self._answer(batch.filter(ready), times[ready]))
            if ready.all():
                return
        batch, times = batch.filter(~ready).copy(), times[~ready].copy()
        self._wait(batch, times)
        self.hold(reference)

    def hold(self, reference: TokenRef) -> None:
        """Have the token where the least row waits, by the message at hand if it is not held that early."""
        least = self.least
        if least < (COMPLETE if self._held is None else self._held.time):
            earlier = reference.retain()
            earlier.downgrade(least)
            if self._held is not None:
                self._held.drop()
            self._held = earlier

    def take_out(self, leaving: Leaving, table: Table) -> Batch:
        """See Waiting."""
        taken, kept = [], []
        for least, number, batch, times in sorted(self._waiting, key=lambda piece: piece[1]):
            leaves = leaving.rows(batch, self._columns.on[LEFT])
            some = batch.filter(leaves)
            words = times[leaves], np.full(some.rows, number)
            heaps = (*some.heaps, None, None) if some.heaps else ()
            taken.append(Batch.wrap(table.schema, (*some.columns, *words), some.rows, heaps))
            if not leaves.all():
                rest = times[~leaves]
                kept.append((int(rest.min()) if leaves.any() else least, number, batch.filter(~leaves), rest))
        self._waiting = kept
        heapify(self._waiting)
        return Batch.concatenate(taken) if taken else Batch(table.schema, {name: [] for name in table.schema.names})

    def put_in(self, table: Batch) -> Time:
        """See Waiting."""
        times, begins, width = table.words("time"), pieces_of(table), len(self._arriving)
        rows = Batch.wrap(self._arriving, table.columns[:width], table.rows, table.heaps[:width])
        for start, stop in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
            self._wait(rows.slice(start, stop).copy(), times[start:stop].copy())
        return int(times.min()) if table.rows else COMPLETE

    def _wait(self, batch: Batch, times: np.ndarray) -> Time:
        least = int(times.min())
        self._number += 1
        heappush(self._waiting, (least, self._number, batch, times))
        return least

    def release(self, certain: Time, output: OutputPort) -> None:
        """Answer rows that waited for this, those of one message at the least of their times."""
        held = self._held
        if held is None or self.least < held.time:  # until the right to what came with a bin is here
            return
        while self.least < certain:
            least, _, batch, times = heappop(self._waiting)
            ready = times < certain
            output.give(held, self._answer(batch.filter(ready), times[ready]), least)
            if not ready.all():
                self._wait(batch.filter(~ready), times[~ready])
        if self._waiting:
            if self.least > held.time:
                held.downgrade(self.least)
        else:
            held.drop()
            self._held = None

    def _answer(self, batch: Batch, times: np.ndarray) -> Batch:
        places = self._versions.find(batch, self._columns.on[LEFT], times)
        return with_found(self._results, batch, self._versions.side.store, places, self._outer)
