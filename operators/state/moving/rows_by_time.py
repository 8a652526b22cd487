"""RowsByTime: rows that wait for times of theirs, as state that moves, and is saved; and what sends them then."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from sortedcontainers import SortedDict

from tokenring.engine import (
    COMPLETE,
    MAX_TIME,
    AnyStream,
    Batch,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    PathSummary,
    Probe,
    Schema,
    Time,
    TimeRegressionError,
    Token,
    WhenStopped,
)
from tokenring.operators.migrate import Leaving, Staying, Table, is_by_times, offer, state_moves

_TIME = "time"


def times_table(rows: Schema, key: Sequence[str] = ()) -> Table:
    """The table of rows that wait. key: the columns that they are exchanged by; where there are none, whoever has rows
    of a time may have the others."""
    schema = Schema.of({f"row {name}": kind for name, kind in rows.spec().items()} | {_TIME: "int64"})
    return Table(schema, tuple([f"row {name}" for name in key]) or (_TIME,), is_anywhere=not key)


class RowsByTime:
    """Rows of each time that wait on one worker, in the order in which they came."""

    def __init__(self, rows: Schema, table: Table) -> None:
        """table: that of `times_table`."""
        self._rows, self._table = rows, table
        self._waiting: SortedDict = SortedDict()  # time -> batches
        self.times = self._waiting.keys()
        """The times that rows wait for, in order."""

    @property
    def least(self) -> Time:
        """The least of the times; COMPLETE if nothing waits."""
        return self._waiting.peekitem(0)[0] if self._waiting else COMPLETE

    def add(self, time: Time, rows: Batch) -> None:
        """Let rows, of their own memory, wait."""
        self._waiting.setdefault(time, []).append(rows)

    def put_off(self, time: Time, rows: Batch) -> None:
        """Let rows that were taken wait for a later time, before those that do."""
        self._waiting.setdefault(time, []).insert(0, rows)

    def pop(self) -> tuple[Time, Batch]:
        """The rows of the least time wait no more."""
        time, batches = self._waiting.popitem(0)
        return time, Batch.concatenate(batches)

    def finished(self, rows: InputPort) -> Iterator[tuple[Time, Batch]]:
        """Let what has come at an input wait; and no more, in order, the rows of each time that is finished there."""
        for reference, batch in rows:
            self.add(reference.time, batch.copy())
        while self.least < rows.frontier:
            yield self.pop()

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """See Moves."""
        schema = self._table.schema
        taken = [Batch(schema, {name: [] for name in schema.names})]
        for time in [*self._waiting]:
            rows = Batch.concatenate(self._waiting.pop(time))
            heaps = (*rows.heaps, None) if schema.has_text else ()
            timed = Batch.wrap(schema, (*rows.columns, np.full(rows.rows, time)), rows.rows, heaps, rows)
            leaves = leaving.rows(timed, self._table.key)
            taken.append(timed.filter(leaves))
            if not leaves.all():
                self.add(time, rows.filter(~leaves))
        return [Batch.concatenate(taken)]

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """See Moves."""
        times = tables[0].words(_TIME)
        order = np.argsort(times, kind="stable")
        rows, times = tables[0].take(order), times[order]
        heaps = rows.heaps[:-1] if self._rows.has_text else ()
        rows = Batch.wrap(self._rows, rows.columns[:-1], rows.rows, heaps, rows)
        begins = [0, *(np.flatnonzero(np.diff(times)) + 1).tolist(), len(times)]
        for begin, end in pairwise(begins):
            if begin < end:
                self.add(int(times[begin]), rows.slice(begin, end).copy())
        return int(times[0]) if len(times) else COMPLETE


def sent_by_time(
    stream: AnyStream, name: str, later: Time = 0, together: list[Probe] | None = None, key: tuple[str, ...] = ()
) -> AnyStream:
    """The rows, in order of time and, of one time, as they came, `later`: once no earlier ones can come, or, where
    there are probes, once no more of the same time can, by all of them. key: for a sink that goes by order, all of a
    key from the same worker, and at a stop all; none: where they are."""

    def send(waiting: RowsByTime, held: dict[Time, Token], frontier: Time, output: OutputPort) -> None:
        upto = frontier if together is None else min([probe.frontier for probe in together]) - 1
        while waiting.least <= upto and waiting.least in held:
            time, batch = waiting.pop()
            output.give(held[time], batch)
            held.pop(time).drop()

    probes, ends = [] if together is None else together, WhenStopped.ENDS if key else None
    output, arrived = _waited_for(stream, name, later, key, partial(_construct, send, probes, ends))
    if together is not None:
        together.append(arrived)
    if stream.updates is not None:
        output.updates = stream.updates.reordered(name)
    return output


def sent_in_order(stream: AnyStream, operator: str, order: str, key: tuple[str, ...]) -> AnyStream:
    """The rows for an operator, all of a key from the same worker, in order of a column of their own times and, of one,
    as they came: once no earlier ones can come. They are sent at these times where somebody goes by messages' times,
    else together.
    TimeRegressionError, as OperatorError, for a row before its message's time, if not all come at the last one there
    is, as results do that are sent at the end."""
    least_of: dict[bool, Time] = {}  # of rows that came at the last time, and of others

    def check(time: Time, batch: Batch) -> None:
        is_last = time == MAX_TIME
        least = int(batch.words(order).min(initial=MAX_TIME))
        least_of[is_last] = min(least, least_of.get(is_last, MAX_TIME))
        is_mixed = len(least_of) == 2 and least_of[True] < MAX_TIME
        if is_mixed or (0 < time > least and not is_last):  # nothing is before time 0: such rows may come then
            early = least_of[True] if is_mixed else least
            is_instant = batch.schema.kind(order).is_instant
            row, came = [np.datetime64(each, "ns") if is_instant else each for each in (early, time)]
            raise TimeRegressionError(
                f"operator {operator!r}: column {order!r}: a row of {row} came "
                f"{'at the end, and others before' if is_mixed else f'when those before {came} had been taken'}: let "
                f"its source send it at that time or an earlier one (time={order!r}, disorder=, or late=True for a "
                f"stream of such rows); results of windows come at their ends, so go by their window_end; results that "
                f"are sent at the end are put in order if all are"
            )

    def send(waiting: RowsByTime, held: dict[Time, Token], frontier: Time, output: OutputPort) -> None:
        came = []
        first = waiting.least
        while waiting.least < frontier and waiting.least in held:
            time, batch = waiting.pop()
            came.append(batch)
            if time != first:
                held.pop(time).drop()
        if not came:
            return
        token, rows = held.pop(first), Batch.concatenate(came)
        by_time = np.argsort(rows.words(order), kind="stable")
        due = int(np.searchsorted(rows.words(order)[by_time], frontier))
        in_order = rows.take(by_time[:due])
        if is_by_times(sent):
            output.give_each(token, in_order, np.clip(in_order.words(order), token.time, MAX_TIME))
        else:
            output.give(token, in_order)
        if due < rows.rows:
            waiting.put_off(frontier, rows.take(by_time[due:]))
            if frontier not in held:
                token.downgrade(frontier)
                held[frontier] = token
                return
        token.drop()

    sent, _ = _waited_for(stream, f"{operator}.in_order", 0, key, partial(_construct, send, (), None, check=check))
    return sent


def _waited_for(
    stream: AnyStream, name: str, later: Time, key: tuple[str, ...], construct: Callable[..., Any]
) -> tuple[AnyStream, Probe]:
    """An operator whose rows wait, `later` at its output, and what has not come to it; construct: takes the schema of
    the rows and their table, and what constructors take."""
    builder = stream.operator(name, Notify.IF_TOKEN)
    port = builder.input(stream, Staying(key if len(key) > 1 else key[0]) if key else None)
    table = times_table(stream.schema, key)
    state_moves(builder, [table], pends=True)
    output = builder.output(stream.schema, {0: PathSummary(later)})
    builder.build(partial(construct, stream.schema, table))
    return output, builder.probe(port)


def _construct(
    send: Callable[[RowsByTime, dict[Time, Token], Time, OutputPort], None],
    probes: Sequence[Probe],
    when_stopped: WhenStopped | None,
    schema: Schema,
    table: Table,
    context: OperatorContext,
    token: Token,
    check: Callable[[Time, Batch], None] = lambda time, batch: None,
) -> Callable[..., None]:
    token.drop()
    if when_stopped is not None:
        context.when_stopped(when_stopped)
    for probe in probes:
        context.run_on_advance(probe)
    waiting = RowsByTime(schema, table)
    offer(waiting)
    held: dict[Time, Token] = {}  # by the times that rows leave at

    def logic(rows: InputPort, *ports: Any) -> None:
        *due, output = ports  # where state is put in, an input brings the right to send it
        for port in due:
            for reference, _ in port:
                for time in waiting.times - held.keys():
                    held[time] = reference.retain()
                    held[time].downgrade(time)
        for reference, batch in rows:
            check(reference.time, batch)
            token = reference.retain()
            waiting.add(token.time, batch.copy())
            if token.time in held:
                token.drop()
            else:
                held[token.time] = token
        send(waiting, held, rows.frontier, output)

    return logic
