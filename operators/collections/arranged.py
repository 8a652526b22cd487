"""Rows kept by key: joined and reduced by any number of readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine import Notify, Pipeline, Schema, SchemaError, Stream, UsageError
from tokenring.engine.arguments import require_name, whole_number
from tokenring.operators.collections.functions import ByFunction, Function
from tokenring.operators.collections.joining import build_joining
from tokenring.operators.collections.reduction import NO_TOTALS, KeyFaults, Reduction, build_reducing, build_reducing_by
from tokenring.operators.collections.refused import no_method, require_one_kind, span_back
from tokenring.operators.collections.saved import exported
from tokenring.operators.collections.sharing import Rejected, View, Views, exporting
from tokenring.operators.collections.streams import schema_of_updates, schema_of_words, with_texts
from tokenring.operators.collections.totals import said_of, table_of_rows, totals_of
from tokenring.operators.collections.trace import Trace
from tokenring.operators.collections.updates import EACH, FIRST, TOTALS
from tokenring.operators.collections.words import kinds_table, nulls_of
from tokenring.operators.durations import Span
from tokenring.operators.folds import require_other_names
from tokenring.operators.folds.called import gave_no
from tokenring.operators.folds.own import OfFunctions
from tokenring.operators.migrate import made_again
from tokenring.operators.time import require_integer_times

if TYPE_CHECKING:
    from tokenring.operators.collections.collection import Collection


class Arranged:
    """Rows of a collection kept by key, once, for any number of readers. schema: the key's columns first; made: the
    class of collections that come of it."""

    def __init__(
        self, sealed: Stream, schema: Schema, keys: tuple[str, ...], trace: Trace, made: type[Collection]
    ) -> None:
        self.sealed, self.schema, self.keys, self.trace = sealed, schema, keys, trace
        self._made = made

    if not TYPE_CHECKING:  # a checker of types knows better

        def __getattr__(self, name: str) -> Any:
            made, stream = vars(self).get("_made"), type(vars(self).get("sealed", vars(self).get("_sealed")))
            others = [(made, ".collection()"), (stream, ".collection().changes()")]
            raise no_method("an arrangement", name, Arranged, others, ".collection()")

    def collection(self) -> Collection:
        """The rows as a collection again, their updates added up."""
        sealed = self.by_key.sealed
        stream = with_texts(sealed, self.schema, self.trace.depth) if self.schema.has_text else sealed
        made = self._made(stream, self.schema, is_net=True)
        made.kept = self
        return made

    @property
    def looked_up(self) -> Arranged:
        """The same for a reader who looks up what is there when he is asked for it, and wants changes alone."""
        return self

    @property
    def by_key(self) -> Arranged:
        """The same for a reader who looks up nothing but keys that came to him."""
        return self

    def join(self, other: Arranged, name: str = "join") -> Collection:
        """Pairs of rows with equal keys: the key, then the left's values, then the right's. Null is equal to nothing.
        """
        return self._joined(other, name)

    def _joined(self, other: Arranged, name: str, nulls_meet: bool = False) -> Collection:
        """The same; or with null equal to null, in columns that may be null on both sides."""
        if not isinstance(other, Arranged):
            raise SchemaError(
                f"operator {name!r}: an arrangement is joined with another, not with {type(other).__name__}: say "
                f".arrange(...) of it, or .collection().join(other, on) of this one"
            )
        right = other.looked_up
        left = self.looked_up if right is other else self  # one side is to bring what is there
        if len(self.keys) != len(other.keys):
            raise SchemaError(f"operator {name!r}: the keys {self.keys} and {other.keys} are of different lengths")
        values, kinds = {}, []
        for key, theirs in zip(self.keys, other.keys, strict=True):
            kind, their_kind = self.schema.kind(key), other.schema.kind(theirs)
            require_one_kind(name, key, kind, theirs, their_kind)
            values[key] = f"{kind.name}?" if kind.nullable or their_kind.nullable else str(kind)
            kinds.append((kind, their_kind))
        values |= self._values
        for each in other.schema.names[len(other.keys) :]:
            if each in values:
                raise SchemaError(f"operator {name!r}: both sides have a column {each!r}; select another name for one")
            values[each] = str(other.schema.kind(each))
        data = Schema.of(values)
        schema = schema_of_updates(data, self.trace.depth)
        builder = left.sealed.operator(name, Notify.ALWAYS if self.trace.depth == 1 else Notify.NEVER)
        made_again(left.sealed.scope)
        builder.input(left.sealed, Pipeline())
        builder.input(right.sealed, Pipeline())
        pairs = builder.output(schema)
        build_joining(builder, left.trace, right.trace, nulls_of(kinds, nulls_meet))
        return self._made(pairs, data)

    def aggregate(self, /, name: str = "aggregate", **folds: Any) -> Arranged:
        """For each key that is there, one row of it and of totals."""
        require_other_names(name, self.keys, folds)
        for fold in folds.values():
            column = getattr(fold, "column", None)
            if isinstance(column, str) and column in self.keys:
                raise SchemaError(
                    f"operator {name!r}: column {column!r} is of the key; arrange rows that have it by another "
                    f"name besides, to make totals of it"
                )
        totals = totals_of(name, self.schema, folds)
        table = table_of_rows(self.schema, len(self.keys), totals)
        kinds = {each: str(total.shape.result) for each, total in totals.items()}
        called = {each: total.fold for each, total in totals.items() if isinstance(total.fold, OfFunctions)}
        return self._reduced(name, TOTALS, kinds, totals=table, called=called)

    def each(self, name: str = "distinct") -> Arranged:
        """Each row that is there, once."""
        return self._reduced(name, EACH, self._values)

    def first(self, rows: int, name: str = "first") -> Arranged:
        """The first rows of each key, in the order of its values, column after column; the last if `rows` is below 0.
        NaN, and behind it null, come last either way.
        """
        return self._reduced(name, FIRST, self._values, whole_number(f"operator {name!r}", "rows", rows, None))

    def reduce(self, function: Function, schema: Schema, name: str = "reduce") -> Arranged:
        """For each key that is there, the rows with the columns of `schema` that a Python function makes of its rows:
        `function(rows, times)` is given a batch of the key and the values, each different row once and in order by
        value, column after column, and how often each is there, int64 (rows,); it returns a mapping of columns, a
        batch, or None for no rows. Of equal rows it must make equal ones. It is called for each key and each time at
        which its rows have changed; what it raises names these, in a ValueError (as OperatorError).
        """
        if not callable(function) or not isinstance(schema, Schema):
            raise UsageError(
                f"operator {name!r} takes a function of a key's rows, and then the schema of the rows it makes, not "
                f"{function!r} and {schema!r}"
            )
        twice = [each for each in schema.names if each in self.keys]
        if twice:
            raise SchemaError(f"operator {name!r}: the key has columns {', '.join(twice)}: give others names")
        data = Schema.of(self.schema.select(self.keys).spec() | schema.spec())
        trace = Trace(len(self.keys), len(data), self.trace.depth)
        taken = self.by_key
        builder = taken.sealed.operator(name, Notify.IF_TOKEN)
        made_again(taken.sealed.scope)
        builder.input(taken.sealed, Pipeline())
        sealed = builder.output(schema_of_words(data, self.trace.depth))
        faults = KeyFaults(name, self.schema.select(self.keys), sealed)
        changes = ByFunction(name, function, self.schema, len(self.keys), schema, faults)
        build_reducing_by(builder, taken.trace, trace, data, changes)
        return Arranged(sealed, data, self.keys, trace, self._made)

    # For others

    def export(self, name: str, history: Span = 0) -> View:
        """Give the arrangement a name, by which other dataflows of the group import it while it runs, and everybody
        reads it at a time. The latest finished time can be read, and those up to `history` before it: what was earlier
        is forgotten; a number in the unit of times, or, of instants, a duration, such as "1d". GraphError for a name
        that is taken, and in loops.
        """
        require_name("a view", name)
        sealed = self.looked_up.sealed
        back = span_back(f"export {name!r}: history", history, sealed)
        scope = sealed.scope
        require_integer_times(scope, f"{name!r} is exported", "leave() the loop first, and arrange there")
        views = scope.kept_by_worker(Views)
        for declared in (views, scope.kept(Views)):
            declared.require_new(name)
        rejected = scope.kept(Rejected)
        trace, reader = self.trace.shared()
        view = View(views, name, self.schema, self.keys, trace, reader, rejected, back)
        rejected.is_read_by(view, sealed)
        view.dataflow = scope.graph.name
        scope.kept(Views).add(view)
        exported(scope, view, f"export {name}", reader)
        sealed.sink(f"export {name}", exporting(view))
        made_again(scope)
        return view

    @property
    def _values(self) -> dict[str, str]:
        return {each: str(self.schema.kind(each)) for each in self.schema.names[len(self.keys) :]}

    def _reduced(
        self, name: str, what: int, values: Mapping[str, str], most: int = 0, totals: np.ndarray = NO_TOTALS,
        called: Mapping[str, OfFunctions] = {},
    ) -> Arranged:  # fmt: skip
        """Of each key's rows others, of these kinds: see Reduction. called: the totals that functions make."""
        data = Schema.of({each: str(self.schema.kind(each)) for each in self.keys} | dict(values))
        trace = Trace(len(self.keys), len(data), self.trace.depth)
        taken = self.by_key
        builder = taken.sealed.operator(name, Notify.IF_TOKEN)
        made_again(taken.sealed.scope, name, data, what, most, said_of(totals), *called.values())
        builder.input(taken.sealed, Pipeline())
        sealed = builder.output(schema_of_words(data, self.trace.depth))
        reduction = Reduction(what, most, totals, kinds_table(self.schema.kinds[len(self.keys) :]))
        words = [
            f"a function of {called[each].functions.name} ({each}) raised, or its finalize {gave_no(data.kind(each))}"
            if each in called
            else ""
            for each in values
        ]
        faults = KeyFaults(name, self.schema.select(self.keys), sealed, words)
        build_reducing(builder, taken.trace, trace, reduction, faults)
        return Arranged(sealed, data, self.keys, trace, self._made)
