"""Streams of updates: the columns that they have besides data, and how they come to have them."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tokenring.engine import (
    MAX_TIME,
    Batch,
    InputPort,
    MultiplicityOverflowError,
    Notify,
    OperatorContext,
    OutputPort,
    Schema,
    SchemaError,
    Stream,
    TimeRegressionError,
    Token,
    UsageError,
)
from tokenring.engine.compiled import Compiled, array_at, batch_at
from tokenring.engine.times import coordinates
from tokenring.operators.collections import compiled as kernels
from tokenring.operators.collections.refused import as_null, became_nullable
from tokenring.operators.collections.words import TIMES, TIMES_ADDED
from tokenring.operators.expressions import Expression
from tokenring.operators.migrate import made_again, state_moves
from tokenring.operators.rows import passing_on, require_whole, select
from tokenring.operators.time import require_own_time, tell_times

ORDER = "@order"
"""Where rows of one time have an order: by worker, then as they came."""
LATER_BY = "@by"
"""How much later an update is to be."""
_MOST = 2**63 - 1
_FEW = 3  # rows that an error shows


def require_none_of(columns: Iterable[str], own: Container[str], operator: str = "") -> None:
    """SchemaError for a column of rows that is called as one that is kept beside them."""
    for clash in [column for column in columns if column in own]:
        where = f"operator {operator!r}: " if operator else ""
        raise SchemaError(
            f"{where}collections have a column {clash!r} of their own; call yours otherwise before, as in "
            f'.rename({{{clash!r}: "other"}})'
        )


def schema_of_updates(data: Schema, depth: int) -> Schema:
    """Data, then the coordinates of times, then the multiplicity. SchemaError for data that has such a column."""
    require_none_of(data.names, (*TIMES, TIMES_ADDED))
    kinds = {name: str(kind) for name, kind in zip(data.names, data.kinds, strict=True)}
    return Schema.of(kinds | dict.fromkeys((*TIMES[:depth], TIMES_ADDED), "int64"))


def numbered(data: Schema) -> Schema:
    """Data, and where in the order of its time a row is."""
    return Schema.of(data.spec() | {ORDER: "int64"})


def schema_of_words(data: Schema, depth: int) -> Schema:
    """The same as an arrangement sends it: texts are numbers there, the words that stand for them, which nobody is to
    replace by others for as good texts."""
    kinds = {name: "int64" if kind.is_text else str(kind) for name, kind in zip(data.names, data.kinds, strict=True)}
    return schema_of_updates(Schema.of(kinds), depth)


def with_texts(words: Stream, data: Schema, depth: int) -> Stream:
    """What an arrangement sends, with the texts that words stand for."""
    schema = schema_of_updates(data, depth)
    builder = words.operator("texts", Notify.NEVER)
    made_again(words.scope)
    builder.input(words)
    made = builder.output(schema)
    builder.build_compiled(lambda context: passing_on(), texts=True, loops=True)
    return made


def stamped(
    stream: Stream, data: Schema, time: str | None, times: str | None, name: str,
    first: Callable[[OperatorContext], int] | None = None,
) -> Stream:  # fmt: skip
    """Rows of a stream as updates: at their message's time, or that of the column `time`, each once, or as often as
    `times` says; with the column ORDER behind data where `first` says with which number a worker begins."""
    depth = stream.scope.depth
    schema = schema_of_updates(data if first is None else numbered(data), depth)
    positions = [stream.schema.position(column) for column in data.names]
    at = None if time is None else stream.schema.position(time)
    often = None if times is None else stream.schema.position(times)
    if time is not None:
        require_own_time(f"operator {name!r}: time={time!r}", stream.schema, time)
    if times is not None:
        require_whole(f"operator {name!r}: times={times!r}", stream.schema, times, "how often a row is added")

    def early(found: int, begins: int) -> TimeRegressionError:
        if found > MAX_TIME:
            return TimeRegressionError(f"operator {name!r}: an update at {found}: the last time is {MAX_TIME}")
        return TimeRegressionError(
            f"operator {name!r}: an update at {found} came at time {begins}: no update is earlier than its message; "
            f"send it before the input advances"
        )

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        number = 0 if first is None else first(context)

        def logic(rows: InputPort, output: OutputPort) -> None:
            nonlocal number
            for reference, batch in rows:
                if not batch.rows:
                    continue
                own = [np.full(batch.rows, coordinate) for coordinate in coordinates(reference.time)]
                if at is not None:
                    is_wrong = (batch.columns[at] < reference.time) | (batch.columns[at] > MAX_TIME)
                    if is_wrong.any():
                        raise early(batch.columns[at][is_wrong][0], reference.time)
                    own = [batch.columns[at]]
                diff = np.ones(batch.rows, np.int64) if often is None else batch.columns[often]
                order = [] if first is None else [np.arange(number, number + batch.rows)]
                number += batch.rows
                columns = (*[batch.columns[position] for position in positions], *order, *own, diff)
                heaps: tuple[Any, ...] = ()
                if schema.has_text:
                    heaps = tuple([batch.heaps[position] for position in positions])
                    heaps += (None,) * (len(columns) - len(heaps))
                output.give(reference, Batch.wrap(schema, columns, batch.rows, heaps, batch))

        return logic

    builder = stream.operator(name, Notify.NEVER)
    builder.input(stream)
    state_moves(builder)
    updates = builder.output(schema)
    if time is not None:
        tell_times(updates, stream.schema.kind(time))
    if builder.can_be_compiled_with_texts:

        def compiled(context: OperatorContext) -> Compiled:
            return kernels.stamping(positions, at, often, early, None if first is None else first(context))

        builder.build_compiled(compiled, texts=True)
    else:
        builder.build(construct)
    return updates


def next_round(stream: Stream, data: Schema, most: int, name: str) -> Stream:
    """Updates of a loop, each a round later. UsageError for those beyond round `most`."""
    at = stream.schema.position(TIMES[stream.scope.depth - 1])
    positions = [stream.schema.position(column) for column in data.names]

    def beyond(addresses: Sequence[int], rows: int) -> UsageError:
        rounds = array_at(addresses[at], rows)
        last = np.flatnonzero(rounds >= most)
        batch = batch_at(data, [addresses[position] for position in positions], rows, last)
        columns_then = [batch[column].tolist()[:_FEW] for column in data.names]
        found = [dict(zip(data.names, row, strict=True)) for row in zip(*columns_then, strict=True)]
        return UsageError(
            f"operator {name!r}: after {most:,} rounds {len(last):,} rows of a batch change still, such as "
            f"{', '.join(map(str, found))}; if the loop comes to an end, give it more: rounds={10 * most:_}"
        )

    builder = stream.operator(name, Notify.NEVER)
    made_again(stream.scope)
    builder.input(stream)
    later = builder.output(stream.schema)
    width = len(stream.schema)
    builder.build_compiled(lambda context: kernels.going_round(at, width, most, beyond), texts=True, loops=True)
    return later


def rows_made(columns: Mapping[str, Any] | Batch, made: Schema, name: str) -> Batch:
    """The rows that a function made; SchemaError for other columns than it said."""
    if not isinstance(columns, Batch):
        return Batch(made, columns)
    if columns.schema != made:
        raise SchemaError(f"operator {name!r}: the function made rows of {columns.schema!r}, but said {made!r}")
    return columns


def mapped(
    stream: Stream,
    data: Schema,
    made: Schema,
    depth: int,
    function: Callable[[Batch], tuple[np.ndarray, Mapping[str, Any] | Batch]],
    name: str,
) -> Stream:
    """Updates of other rows, which a function makes of batches of these, each of one of them."""
    schema, count = schema_of_updates(made, depth), len(data)

    def apply(batch: Batch) -> Batch:
        heaps = batch.heaps[:count] if data.has_text else ()
        rows = Batch.wrap(data, batch.columns[:count], batch.rows, heaps, batch)
        given: Any = function(rows)
        if not isinstance(given, tuple | list) or len(given) != 2:
            what = f"{len(given)} things" if isinstance(given, tuple | list) else f"a {type(given).__name__}"
            raise SchemaError(
                f"operator {name!r}: the function returned {what}; return of, columns: for each row that is made the "
                f"number of the one that it is made of, and the columns of {made!r}"
            )
        of, columns = given
        found = rows_made(columns, made, name)
        of = np.asarray(of)
        if of.shape != (found.rows,) or (of.dtype.kind not in "iu" and of.size):
            raise SchemaError(
                f"operator {name!r}: {found.rows} rows are made of {of.dtype} {of.shape}; say of each row that is made "
                f"the number of the one that it is made of"
            )
        if of.size and not 0 <= of.min() <= of.max() < batch.rows:
            raise SchemaError(f"operator {name!r}: rows are made of row {of.max()} of a batch of {batch.rows}")
        of = of.astype(np.int64)
        hidden = [column[of] for column in batch.columns[count:]]
        made_heaps = (*found.heaps, *[None] * len(hidden)) if made.has_text else ()
        return Batch.wrap(schema, (*found.columns, *hidden), found.rows, made_heaps, found)

    return stream.apply(name, schema, apply)


def as_often(
    stream: Stream, data: Schema, count: str, depth: int, function: Callable[[np.ndarray], np.ndarray], name: str
) -> Stream:
    """Updates of rows with a column that counts something, each as often as a function says of this count."""
    schema = schema_of_updates(data, depth)
    at, kept = stream.schema.position(count), [stream.schema.position(each) for each in schema.names]

    def apply(batch: Batch) -> Batch:
        times = np.asarray(function(batch.columns[at].copy()))
        if times.shape != (batch.rows,) or times.dtype.kind not in "iu":
            raise SchemaError(
                f"operator {name!r}: the function returned {times.dtype} of shape {times.shape}; it must return a "
                f"whole number for each of {batch.rows} counts"
            )
        columns = [batch.columns[position] for position in kept]
        if times.size and (int(times.max()) > _MOST or int(times.min()) < -_MOST):
            raise MultiplicityOverflowError(
                f"operator {name!r}: the function says that a row is there more often than 2**63 - 1 times"
            )
        columns[-1] = columns[-1] * times.astype(np.int64)
        heaps = tuple([batch.heaps[position] for position in kept]) if data.has_text else ()
        return Batch.wrap(schema, tuple(columns), batch.rows, heaps, batch).filter(times != 0)

    return stream.apply(name, schema, apply)


def later_by(stream: Stream, by: Expression, name: str) -> Stream:
    """Updates of the root scope, each later by what an expression says of its row."""
    schema, at = stream.schema, stream.schema.position(TIMES[0])
    asked = select(stream, *schema.names, **{LATER_BY: by})
    require_whole(f"operator {name!r}: by", asked.schema, LATER_BY, "a number of units of time")

    def apply(batch: Batch) -> Batch:
        spans = batch.columns[-1]
        if batch.rows and spans.min() < 0:
            raise UsageError(
                f"operator {name!r}: a row cannot be there {-int(spans.min())} before its time; by must be 0 or more"
            )
        _require_times(batch, at, spans > MAX_TIME - batch.columns[at], spans, name)
        columns = (*batch.columns[:at], batch.columns[at] + spans, *batch.columns[at + 1 : -1])
        return Batch.wrap(schema, columns, batch.rows, batch.heaps[:-1], batch)

    return asked.apply(name, schema, apply)


def up_to_the_last_time(stream: Stream, name: str) -> Stream:
    """Updates of the root scope as they are; TimeRegressionError (as OperatorError) for one that is later than times
    are."""
    schema, at = stream.schema, stream.schema.position(TIMES[0])

    def apply(batch: Batch) -> Batch:
        _require_times(batch, at, batch.columns[at] > MAX_TIME, np.zeros(batch.rows, np.int64), name)
        return batch

    return stream.apply(name, schema, apply)


def _require_times(batch: Batch, at: int, is_wrong: np.ndarray, later: np.ndarray, name: str) -> None:
    """TimeRegressionError for the first row that is wrong, of an update at its column number `at`, and so much later.
    """
    if is_wrong.any():
        row = is_wrong.argmax()
        found = {each: batch[each][row : row + 1].tolist()[0] for each in batch.schema.names[:at]}
        raise TimeRegressionError(
            f"operator {name!r}: an update would be at {int(batch.columns[at][row]) + int(later[row])}, and the last "
            f"time is {MAX_TIME}: leave such rows out by .filter(...) before, or let them be there earlier; one is "
            f"{found}"
        )


def in_rounds(stream: Stream, name: str) -> Stream:
    """Updates of a loop whose rounds are what an expression says of each row; UsageError where that is no round."""
    schema, at = stream.schema, stream.schema.position(TIMES[stream.scope.depth - 1])

    def apply(batch: Batch) -> Batch:
        rounds = batch.columns[at]
        is_wrong = (rounds < 0) | (rounds > MAX_TIME)
        if is_wrong.any():
            raise UsageError(
                f"operator {name!r}: at_round is {rounds[is_wrong][0]} for row {is_wrong.argmax()} of a batch; rounds "
                f"are from 0 to {MAX_TIME}"
            )
        return batch

    return stream.apply(name, schema, apply)


def with_nulls(stream: Stream, data: Schema, depth: int, name: str) -> Stream:
    """Updates with the columns of `data`: the stream's words as they are, null where it has no such column. SchemaError
    for a column of another kind, or that there is not and cannot be null; UsageError, of a row, for a number that would
    be null, and a null that would be a number."""
    schema = schema_of_updates(data, depth)
    for column, wanted in zip(data.names, data.kinds, strict=True):
        if column not in stream.schema.positions and not wanted.nullable:
            raise SchemaError(
                f"operator {name!r}: there is no column {column!r}, and {wanted} has no null: say {wanted}?, or "
                f"with_columns({column}=...) before"
            )
        if column in stream.schema.positions and stream.schema.kind(column).name != wanted.name:
            raise SchemaError(
                f"operator {name!r}: column {column!r} is {stream.schema.kind(column)}, not {wanted}: say "
                f'with_columns({column}=col({column!r}).cast("{wanted.name}")) before'
            )
    found = [stream.schema.positions.get(column) for column in schema.names]
    became = became_nullable(stream.schema, schema)
    no_longer = [
        each for each, kind in zip(stream.schema.names, stream.schema.kinds, strict=True)
        if each in data.positions and kind.nullable > data.kind(each).nullable
    ]  # fmt: skip

    def apply(batch: Batch) -> Batch:
        for column in no_longer:
            if batch.nulls(column).any():
                raise UsageError(
                    f"operator {name!r}: column {column!r} is null in a row, and {data.kind(column)} has no null: say "
                    f"with_columns({column}=col({column!r}).fill_null(...)) before, or filter such rows"
                )
        for column in became:
            kind = schema.kind(column)
            is_null = kind.nulls(batch.words(column))
            if is_null.any():
                one = batch.filter(is_null)
                row = {each: one[each].tolist()[0] for each in stream.schema.names if each in data.positions}
                raise UsageError(f"operator {name!r}: {as_null(column, kind)}; such a row is {row}")
        columns = [
            np.repeat(kind.null_word(), batch.rows) if at is None else batch.columns[at]
            for at, kind in zip(found, schema.kinds, strict=True)
        ]
        heaps: list[np.ndarray | None] = []
        if schema.has_text:
            for at, kind in zip(found, schema.kinds, strict=True):
                is_there = kind.is_text and at is not None
                heaps.append(batch.heaps[at or 0] if is_there else np.zeros(0, np.uint8) if kind.is_text else None)
        return Batch.wrap(schema, tuple(columns), batch.rows, tuple(heaps), of=batch)

    return stream.apply(name, schema, apply)
