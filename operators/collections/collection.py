"""Collections: rows, each at a time and so often, of which every operator says how its result changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tokenring.engine import Exchange, GraphError, Loop, Notify, OutputPort, Pipeline, Schema, SchemaError, Stream
from tokenring.operators.collections.arranging import SEALED, arranging, as_parts
from tokenring.operators.collections.joining import batch_of, joining
from tokenring.operators.collections.reduction import Reduction, reducing
from tokenring.operators.collections.streams import (
    TIMES,
    TIMES_ADDED,
    next_round,
    require_words,
    schema_of_updates,
    stamped,
)
from tokenring.operators.collections.trace import Trace
from tokenring.operators.collections.updates import COUNT, EACH, FIRST, GREATEST, LEAST, PARTS, SUM, TOTALS
from tokenring.operators.expressions import col, lit
from tokenring.operators.folds import Count, Max, Min, Sum
from tokenring.operators.rows import filter as filter_rows
from tokenring.operators.rows import select, union

_OPERATIONS = {Count: COUNT, Sum: SUM, Min: LEAST, Max: GREATEST}
_NO_PARTS = np.zeros((0, 2), np.int64)


class Collection:
    """Rows of a schema, as a stream of updates: (columns, time, multiplicity)."""

    def __init__(self, stream: Stream, schema: Schema) -> None:
        self.stream, self.schema = stream, schema
        self.depth: int = stream.scope.depth

    # Of each row by itself

    def filter(self, condition: Any) -> Collection:
        """The rows for which an expression is true."""
        return Collection(filter_rows(self.stream, condition), self.schema)

    def select(self, *kept: Any, **columns: Any) -> Collection:
        """These columns alone, as `select` of a stream."""
        return self._of(select(self.stream, *kept, *self._hidden, **columns))

    def with_columns(self, **columns: Any) -> Collection:
        """These columns besides, or in place of others, by expressions."""
        kept = {name: columns.pop(name, col(name)) for name in self.schema.names} | columns
        return self.select(**kept)

    def negate(self) -> Collection:
        """The same rows, each taken away as often as it is there."""
        return Collection(self._with(TIMES_ADDED, -col(TIMES_ADDED)), self.schema)

    def concat(self, *others: Collection) -> Collection:
        """The rows of all."""
        for other in others:
            if other.schema != self.schema:
                raise SchemaError(f"concat: {other.schema!r} is not {self.schema!r}; select the same columns of both")
        return Collection(union(self.stream, *[other.stream for other in others]), self.schema)

    @property
    def _hidden(self) -> tuple[str, ...]:
        return (*TIMES[: self.depth], TIMES_ADDED)

    def _of(self, stream: Stream) -> Collection:
        """A stream that has the hidden columns somewhere, as a collection."""
        kinds = zip(stream.schema.names, stream.schema.kinds, strict=True)
        data = Schema.of({name: str(kind) for name, kind in kinds if name not in self._hidden})
        wanted = schema_of_updates(data, self.depth)
        if stream.schema != wanted:
            stream = select(stream, *wanted.names)
        return Collection(stream, data)

    def _with(self, name: str, value: Any) -> Stream:
        """The stream with another value in a column."""
        names = self.stream.schema.names
        return select(self.stream, **{each: value if each == name else col(each) for each in names})

    # By key

    def arrange(self, key: str | Sequence[str], name: str = "arrange") -> Arranged:
        """The rows kept by key, each worker those of its keys: to be joined and reduced, by several at once."""
        return self._arranged(self._keys(key, name), name)

    def _keys(self, key: str | Sequence[str], name: str) -> tuple[str, ...]:
        keys = tuple(key.split()) if isinstance(key, str) else tuple(key)
        for column in keys:
            if column not in self.schema.positions:
                raise SchemaError(f"operator {name!r}: {self.schema.missing(column, 'to arrange by')}")
        return keys

    def _arranged(self, keys: tuple[str, ...], name: str, summed: Sequence[str] | None = None) -> Arranged:
        """The rows by key; or, with `summed`, parts of totals in their place."""
        require_words(name, self.schema)
        values = [column for column in self.schema.names if column not in keys]
        kinds = self.schema
        data = Schema.of({column: str(kinds.kind(column)) for column in (*keys, *values)})
        arriving = schema_of_updates(data, self.depth).names
        trace, prepare = Trace(len(keys), len(data), self.depth), None
        if summed is not None:
            columns = [data.position(column) for column in summed]
            trace = Trace(len(keys), len(keys) + 1, self.depth)
            prepare = partial(as_parts, keys=len(keys), depth=self.depth, summed=columns)
            data = Schema.of({column: str(kinds.kind(column)) for column in keys} | {"@part": "int64"})
        builder = self.stream.operator(name, Notify.IF_TOKEN)
        builder.input(self.stream, Exchange(keys if len(keys) > 1 else keys[0], arriving))
        sealed = builder.output(SEALED)
        builder.build(arranging(trace, range(len(arriving)), prepare))
        return Arranged(sealed, data, keys, trace)

    def join(self, other: Collection, on: str | Sequence[str], name: str = "join") -> Collection:
        """Pairs of rows that are alike in the columns `on`: these, then the others of the left, then of the right."""
        return self.arrange(on, f"{name}.left").join(other.arrange(on, f"{name}.right"), name)

    def semijoin(self, other: Collection, on: str | Sequence[str], name: str = "semijoin") -> Collection:
        """The rows whose columns `on` some row of the other has."""
        keys = on.split() if isinstance(on, str) else list(on)
        there = other.select(*keys).distinct(f"{name}.keys")
        return self.join(there, keys, name).select(*self.schema.names)

    def antijoin(self, other: Collection, on: str | Sequence[str], name: str = "antijoin") -> Collection:
        """The rows whose columns `on` no row of the other has."""
        return self.concat(self.semijoin(other, on, name).negate())

    def aggregate(self, key: str | Sequence[str], name: str = "aggregate", **folds: Any) -> Collection:
        """For each key that is there, one row of it and of totals: Count(), Sum, Min and Max of a column."""
        keys = self._keys(key, name)
        if not folds or any(type(fold) not in (Count, Sum) for fold in folds.values()):
            return self._arranged(keys, f"{name}.arrange").aggregate(name, **folds).collection()
        summed: list[Any] = list(dict.fromkeys([fold.column for fold in folds.values() if isinstance(fold, Sum)]))
        parts = [
            (SUM, 1 + 2 * summed.index(fold.column)) if isinstance(fold, Sum) else (COUNT, 0) for fold in folds.values()
        ]
        kept = self.select(*keys, *[column for column in summed if column not in keys])
        arranged = kept._arranged(keys, f"{name}.arrange", summed)
        reduction = Reduction(PARTS, 0, np.array(parts, np.int64))
        return arranged._reduced(name, reduction, dict.fromkeys(folds, "int64")).collection()

    def count(self, key: str | Sequence[str], name: str = "count") -> Collection:
        """How many rows there are of each key that is there, in the column `count`."""
        return self.aggregate(key, name, count=Count())

    def distinct(self, name: str = "distinct") -> Collection:
        """Each row that is there, once."""
        return self.arrange(self.schema.names, f"{name}.arrange").each(name).collection()

    def consolidate(self, name: str = "consolidate") -> Collection:
        """The same rows, updates of one time added up."""
        return self.arrange(self.schema.names, name).collection()

    # Loops

    def enter(self, loop: Loop) -> Collection:
        """The rows in a loop, from its first round on."""
        entered = loop.enter(self.stream)
        columns = {name: col(name) for name in (*self.schema.names, *TIMES[: self.depth])}
        columns |= {TIMES[self.depth]: lit(0), TIMES_ADDED: col(TIMES_ADDED)}
        return Collection(select(entered, **columns), self.schema)

    def leave(self, loop: Loop) -> Collection:
        """What the rows of a loop come to in its last round."""
        left = loop.leave(self.stream)
        return Collection(select(left, *self.schema.names, *TIMES[: self.depth - 1], TIMES_ADDED), self.schema)

    def iterate(
        self, body: Callable[[Collection, Loop], Collection], name: str = "iterate", rounds: int = 100_000
    ) -> Collection:
        """What comes of `body(rows, loop)`, applied again and again until nothing changes; collections from outside are
        brought in by `enter(loop)`. An update costs what it changes, round by round. ValueError (as OperatorError) if
        something changes still after so many rounds.
        """
        with self.stream.scope.loop(name) as loop:
            entered = self.enter(loop)
            back = loop.feedback(entered.stream.schema)
            result = body(entered.concat(Collection(back.stream, self.schema)), loop)
            if result.schema != self.schema:
                raise SchemaError(f"{name}: the body makes {result.schema!r} of {self.schema!r}; it must make the same")
            changed = result.concat(entered.negate())
            back.connect(next_round(changed.stream, self.schema, rounds, name))
            return result.leave(loop)

    # Out

    def changes(self, time: str = "time", times: str = "times") -> Stream:
        """The updates as rows, with their time and multiplicity in these columns."""
        if self.depth > 1:
            raise GraphError("changes are told outside of loops: leave() the loop first")
        named = {TIMES[0]: time, TIMES_ADDED: times}
        return select(self.stream, **{named.get(each, each): col(each) for each in self.stream.schema.names})


class Arranged:
    """Rows kept by key. schema: the key's columns first."""

    def __init__(self, sealed: Stream, schema: Schema, keys: tuple[str, ...], trace: Trace) -> None:
        self.sealed, self.schema, self.keys, self.trace = sealed, schema, keys, trace

    def collection(self, name: str = "rows") -> Collection:
        """The rows as a collection again, their updates added up."""
        schema = schema_of_updates(self.schema, self.trace.depth)
        reader, chosen = self.trace.read(), np.arange(len(schema))

        def construct(context: Any, token: Any) -> Callable[..., None]:
            token.drop()

            def logic(sealed: Any, output: OutputPort) -> None:
                for number, (reference, _) in enumerate(sealed):
                    batch = reader.waiting[number]
                    output.give(reference, batch_of(schema, batch.table[:, : batch.rows], chosen))
                reader.take()
                if self.trace.upper:
                    reader.since = self.trace.upper

            return logic

        stream = self.sealed.unary(name, schema, construct, notify=Notify.NEVER)
        return Collection(stream, self.schema)

    def join(self, other: Arranged, name: str = "join") -> Collection:
        """Pairs of rows with equal keys: the key, then the left's values, then the right's."""
        kinds = [self.schema.kind(each) for each in self.keys]
        if kinds != [other.schema.kind(each) for each in other.keys]:
            raise SchemaError(f"operator {name!r}: the keys {self.keys} and {other.keys} are of different kinds")
        values = {each: str(self.schema.kind(each)) for each in self.schema.names}
        for each in other.schema.names[len(other.keys) :]:
            if each in values:
                raise SchemaError(f"operator {name!r}: both sides have a column {each!r}; select another name for one")
            values[each] = str(other.schema.kind(each))
        data = Schema.of(values)
        schema = schema_of_updates(data, self.trace.depth)
        builder = self.sealed.operator(name, Notify.ALWAYS)
        builder.input(self.sealed, Pipeline())
        builder.input(other.sealed, Pipeline())
        pairs = builder.output(schema)
        builder.build(joining(self.trace, other.trace, schema, np.arange(len(schema))))
        return Collection(pairs, data)

    def aggregate(self, name: str = "aggregate", **folds: Any) -> Arranged:
        """For each key that is there, one row of it and of totals."""
        parts = np.zeros((len(folds), 2), np.int64)
        for part, (column, fold) in zip(parts, folds.items(), strict=True):
            if type(fold) not in _OPERATIONS:
                raise SchemaError(f"operator {name!r}: {column} is to be Count(), or Sum, Min or Max of a column")
            part[0] = _OPERATIONS[type(fold)]
            if not isinstance(fold, Count):
                part[1] = self.schema.position(fold.column) - len(self.keys)
        return self._reduced(name, Reduction(TOTALS, 0, parts), dict.fromkeys(folds, "int64"))

    def each(self, name: str = "distinct") -> Arranged:
        """Each row that is there, once."""
        return self._reduced(name, Reduction(EACH, 0, _NO_PARTS), self._values)

    def first(self, rows: int, name: str = "first") -> Arranged:
        """The first rows of each key, in the order of its values, column after column; the last if `rows` is below 0.
        """
        return self._reduced(name, Reduction(FIRST, rows, _NO_PARTS), self._values)

    @property
    def _values(self) -> dict[str, str]:
        return {each: str(self.schema.kind(each)) for each in self.schema.names[len(self.keys) :]}

    def _reduced(self, name: str, reduction: Reduction, values: Mapping[str, str]) -> Arranged:
        kinds = {each: str(self.schema.kind(each)) for each in self.keys}
        data = Schema.of(kinds | dict(values))
        trace = Trace(len(self.keys), len(data), self.trace.depth)
        builder = self.sealed.operator(name, Notify.IF_TOKEN)
        builder.input(self.sealed, Pipeline())
        sealed = builder.output(SEALED)
        builder.build(reducing(name, self.trace, trace, reduction))
        return Arranged(sealed, data, self.keys, trace)


def collection(
    stream: Stream, time: str | None = None, times: str | None = None, name: str = "updates"
) -> Collection:
    """A stream's rows as a collection: each is added once, at its message's time; or, with `time`, at what that column
    says, and with `times` as often as that one does, below 0 taken away."""
    hidden = {time, times} - {None}
    kinds = zip(stream.schema.names, stream.schema.kinds, strict=True)
    data = Schema.of({each: str(kind) for each, kind in kinds if each not in hidden})
    return Collection(stamped(stream, data, time, times, name), data)
