"""Collections: rows, each at a time and so often, of which every operator says how its result changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine import GraphError, Loop, Notify, Pipeline, Schema, SchemaError
from tokenring.engine.arguments import require_column, require_function, whole_number
from tokenring.operators.collections.arranged import Arranged
from tokenring.operators.collections.arranging import build_arranging, spread_by_key
from tokenring.operators.collections.functions import Function
from tokenring.operators.collections.joins import Columns, Meeting, On, names_of
from tokenring.operators.collections.refused import no_method
from tokenring.operators.collections.row_operators import Rows
from tokenring.operators.collections.saved import handed_out
from tokenring.operators.collections.streams import (
    LATER_BY,
    ORDER,
    as_often,
    in_rounds,
    next_round,
    require_none_of,
    schema_of_updates,
    schema_of_words,
)
from tokenring.operators.collections.totaling import totaled
from tokenring.operators.collections.totals import columns_folded, in_order, tables_of_parts, totals_of
from tokenring.operators.collections.trace import Trace, folder_of_batches
from tokenring.operators.collections.updates import PARTS, Parts
from tokenring.operators.collections.upserts import to_upserts
from tokenring.operators.collections.words import OF_ALL, TIMES, TIMES_ADDED, Entering, kinds_table
from tokenring.operators.expressions import Expression, col, lit
from tokenring.operators.folds import Count, CountDistinct, require_other_names
from tokenring.operators.migrate import made_again
from tokenring.operators.rows import Columns as KeyColumns
from tokenring.operators.rows import all_columns, computed, key_columns, require_whole, select
from tokenring.operators.state import updates_by
from tokenring.operators.time import require_integer_times

_TIMES_THERE = "@there"
_WHEN = "@when"
"""The time of an update, before its row."""
OWN_COLUMNS = {*TIMES, TIMES_ADDED, ORDER, LATER_BY, OF_ALL, _TIMES_THERE, _WHEN}
"""What collections call columns of their own, which are beside those of rows."""


class Collection(Rows):
    """Rows that come and go: each is there so often at each time. Every operator says how its own result changes, so
    what stands behind it is kept up to date at the cost of what changes.

    schema: of the rows; stream: their updates, whose last columns are times and multiplicities.
    """

    # By key

    kept: Arranged | None = None
    """The arrangement that they are the rows of, if there is one."""
    _first_arranged: Arranged | None = None
    """The first arrangement that was made of them, in memory."""

    if not TYPE_CHECKING:  # a checker of types knows better

        def __getattr__(self, name: str) -> Any:
            stream = type(vars(self).get("stream"))
            raise no_method("a Collection", name, Collection, [(Arranged, ".arrange(key)"), (stream, ".changes()")])

    def arrange(
        self, key: str | Sequence[str], name: str = "arrange", *, folder: str | os.PathLike[str] | None = None
    ) -> Arranged:
        """The rows kept by key, each worker those of its keys: to be joined and reduced, by several at once. What is
        kept by this key already, as first rows are, is not kept twice.

        folder: where batches of a MiB and more are to lie, in a file without a name that is mapped: the system writes
        them out when memory is short, and nothing is left of them at the end. ConfigError if no file can be made there.
        """
        keys = self._keys(key, name)
        if folder is not None:
            return self._arranged(keys, name, folder=folder_of_batches(name, folder))
        return self._arranged(keys, name) if self.kept is None or self.kept.keys != keys else self.kept

    def _keys(self, key: str | Sequence[str], name: str) -> tuple[str, ...]:
        keys = names_of(key, name)
        if not keys:
            raise SchemaError(f"operator {name!r}: key= names no column; say by which, such as 'city'")
        for column in keys:
            self.schema.position(column, f"operator {name!r}", "to arrange by")
        return keys

    def _of_one_key(self) -> Collection:
        """The rows with a column more, by which all are alike."""
        require_none_of(self.schema.names, (OF_ALL,))
        return self.with_columns(**{OF_ALL: lit(0)})

    def _by(self, keys: tuple[str, ...]) -> Schema:
        """The columns of the rows, the key's first."""
        return self.schema.select([*keys, *[column for column in self.schema.names if column not in keys]])

    def _arranged(
        self, keys: tuple[str, ...], name: str, summed: np.ndarray | None = None, folder: str | None = None,
        spread: tuple[str, ...] | None = None,
    ) -> Arranged:  # fmt: skip
        """The rows by key; or, with `summed` (see `to_parts`), parts of totals in their place. spread: the columns that
        say on which worker; those of the key, if none is given, and where there are none, each where it came."""
        data = self._by(keys)
        arriving, made, prepare = schema_of_updates(data, self.depth), data, None
        if summed is not None:
            made = Schema.of({column: data.kind(column) for column in keys} | {"@part": "int64"})
            prepare = Parts(len(keys), len(data), summed, kinds_table(data.kinds))
        trace = Trace(len(keys), len(made), self.depth, folder)
        builder = self.stream.operator(name, Notify.IF_TOKEN)
        made_again(self.stream.scope, "arranged", made, *([] if summed is None else summed.tolist()))  # by any name
        if spread == ():
            builder.input(self.stream, Pipeline())
        else:
            spread_by_key(builder, self.stream, spread or keys, arriving)
        schema = schema_of_words(made, self.depth)
        sealed = builder.output(schema)
        build_arranging(builder, trace, Entering(name, arriving), prepare)
        arranged = Arranged(sealed, made, keys, trace, Collection)
        if summed is None and folder is None and spread is None:
            self._first_arranged = self._first_arranged or arranged
        return arranged

    def join(
        self, other: Collection, on: On | None = None, name: str = "join", *, left_on: Columns | None = None,
        right_on: Columns | None = None, suffix: str = "",
    ) -> Collection:  # fmt: skip
        """Pairs of rows that are alike in columns: these, then the others of the left, then of the right.

        on: columns that both have, or a mapping of the left's to the right's, which left_on and right_on say, too: they
        are called as on the left. suffix: of the names of the right's other columns, where the left has such a column.
        Null is equal to nothing.
        """
        left, right = Meeting(name, self, other, on, left_on, right_on, suffix).arranged()
        return left.join(right, name)

    def left_join(
        self, other: Collection, on: On | None = None, name: str = "left_join", *, left_on: Columns | None = None,
        right_on: Columns | None = None, suffix: str = "",
    ) -> Collection:  # fmt: skip
        """The pairs of `join`, and the left's rows that meet none, with null for the right's columns."""
        return Meeting(name, self, other, on, left_on, right_on, suffix).outer(True, False)

    def right_join(
        self, other: Collection, on: On | None = None, name: str = "right_join", *, left_on: Columns | None = None,
        right_on: Columns | None = None, suffix: str = "",
    ) -> Collection:  # fmt: skip
        """The pairs of `join`, and the right's rows that meet none, with null for the left's columns but the key."""
        return Meeting(name, self, other, on, left_on, right_on, suffix).outer(False, True)

    def full_join(
        self, other: Collection, on: On | None = None, name: str = "full_join", *, left_on: Columns | None = None,
        right_on: Columns | None = None, suffix: str = "",
    ) -> Collection:  # fmt: skip
        """The pairs of `join`, and the rows of either that meet none, with null for the other's columns."""
        return Meeting(name, self, other, on, left_on, right_on, suffix).outer(True, True)

    def semijoin(
        self, other: Collection, on: On | None = None, name: str = "semijoin", *, left_on: Columns | None = None,
        right_on: Columns | None = None,
    ) -> Collection:  # fmt: skip
        """The rows whose columns `on` some row of the other has; said as for `join`."""
        return Meeting(name, self, other, on, left_on, right_on).met()

    def antijoin(
        self, other: Collection, on: On | None = None, name: str = "antijoin", *, left_on: Columns | None = None,
        right_on: Columns | None = None,
    ) -> Collection:  # fmt: skip
        """The rows whose columns `on` no row of the other has, those with null in them among them; said as for `join`.
        """
        return self.concat(Meeting(name, self, other, on, left_on, right_on).met().negate())

    def aggregate(self, /, key: KeyColumns = "", name: str = "aggregate", **folds: Any) -> Collection:
        """For each key that is there, one row of it and of totals: Count(), CountDistinct, Sum, Mean, Min, Max,
        Variance, StdDev, ArgMax, ArgMin, ApproxQuantile and those of an OwnAggregate, of columns or expressions, of all
        rows or of some (where=). An expression in the key has a name, by `.alias`. Without a key, of all rows, if there
        are any."""
        if not isinstance(name, str):
            raise SchemaError(
                "operator 'aggregate': name= is the operator's, as text; call a total otherwise, and then so, by "
                '.rename(other="name")'
            )
        named, expressions = key_columns(self.schema, name, key, shown=True)
        if expressions:
            rows = self._computed(f"{name}.key", all_columns(self.schema) | expressions)
            return rows.aggregate(named, name, **folds)
        if not named:
            of_all = self._of_one_key().aggregate(OF_ALL, name, **folds)
            return of_all.drop_columns(OF_ALL)
        keys = self._keys(named, name)
        require_other_names(name, keys, folds)
        if any(isinstance(fold, CountDistinct) for fold in folds.values()):
            return self._with_distinct(keys, name, folds)
        columns, folds = columns_folded(name, self.schema, keys, folds)
        rows = self._computed(name, columns)
        totals = totals_of(name, rows.schema, folds)
        if any(total.is_of_all_rows for total in totals.values()):
            made = rows._arranged(keys, f"{name}.arrange").aggregate(name, **folds)
        else:
            parts, table = tables_of_parts(rows.schema, totals)
            kinds = {each: str(total.shape.result) for each, total in totals.items()}
            found = totaled(rows.stream, rows._by(keys), keys, name, parts, table, kinds)
            if found is not None:
                return Collection(*found, is_net=True)
            made = rows._arranged(keys, f"{name}.arrange", parts)._reduced(name, PARTS, kinds, totals=table)
        return made.collection()

    def _with_distinct(self, keys: tuple[str, ...], name: str, folds: dict[str, Any]) -> Collection:
        """The same where different values are counted: of rows of which each is there once."""
        others = {each: fold for each, fold in folds.items() if not isinstance(fold, CountDistinct)}
        parts = [self.aggregate(keys, f"{name}.totals", **others)] if others else []
        for result, fold in folds.items():
            if result not in others:
                columns, made = columns_folded(name, self.schema, keys, {result: fold})
                different = self._computed(name, columns).distinct(f"{name}.{result}.distinct")
                parts.append(different.aggregate(keys, f"{name}.{result}", **{result: Count(made[result].column)}))
        if len(parts) > 1 and any(self.schema.kind(key).nullable for key in keys):
            raise SchemaError(
                f"operator {name!r}: CountDistinct beside other totals is joined with them by the key, which may be "
                f"null here: say .fill_null(...) of it, or count different values alone"
            )
        whole = reduce(lambda one, other: one.join(other, keys, f"{name}.joined"), parts)
        return whole.select(*keys, *folds)

    def count(self, key: KeyColumns, name: str = "count") -> Collection:
        """How many rows there are of each key that is there, in the column `count`."""
        return self.aggregate(key, name, count=Count())

    def distinct(self, name: str = "distinct") -> Collection:
        """Each row that is there, once. Of some columns: `select` those first. SchemaError for a column's name."""
        if name in self.schema.positions:
            raise SchemaError(
                f"distinct({name!r}) is of whole rows, and would be called as a column is: say "
                f"select({name!r}).distinct() for what is in that column, or another name"
            )
        return self.arrange(self.schema.names, f"{name}.arrange").each(name).collection()

    def threshold(self, most: int | Callable[[np.ndarray], np.ndarray], name: str = "threshold") -> Collection:
        """Each row that is there, `most` times at most; or as often as a function says of how often it is there, an
        array of counts, where what is not there is not asked for."""
        if callable(most):
            counted = self.aggregate(self.schema.names, name, **{_TIMES_THERE: Count()})
            often = as_often(counted.stream, self.schema, _TIMES_THERE, self.depth, most, f"{name}.function")
            return Collection(often, self.schema)
        most = whole_number(f"operator {name!r}", "most", most, 1)
        return self.arrange(self.schema.names, f"{name}.arrange").first(most, name).collection()

    def top(
        self, key: str | Sequence[str], order: str | Sequence[str], k: int = 1,
        largest: bool | Sequence[bool] = True, name: str = "top",
    ) -> Collection:  # fmt: skip
        """The k rows of each key with the largest values in the columns of `order`, the first one first; with the
        smallest, or as `largest` says of each, but of texts alike. Among equals, those go first whose other columns are
        so: as `largest` says of a text of `order`, or else of its first column. With "" for a key, of all rows. NaN,
        and behind it null, come last."""
        k = whole_number(f"operator {name!r}", "k", k, 1)
        columns, downwards = in_order(name, self.schema, names_of(order, name), largest)
        rows = self._of_one_key() if not names_of(key, name) else self
        keys = rows._keys(names_of(key, name) or (OF_ALL,), name)
        first = {**{each: col(each) for each in keys}, **columns}
        ordered = rows.select(**first, **{each: col(each) for each in rows.schema.names if each not in first})
        kept = ordered._arranged(keys, f"{name}.arrange").first(-k if downwards else k, name).collection()
        return kept.select(*self.schema.names) if kept.schema != self.schema else kept

    def reduce(
        self, key: str | Sequence[str], function: Function, schema: Schema, name: str = "reduce"
    ) -> Collection:
        """For each key that is there, the rows that `function(rows, times)` makes of its rows: see Arranged.reduce."""
        return self.arrange(self._keys(key, name), f"{name}.arrange").reduce(function, schema, name).collection()

    def consolidate(self, name: str = "consolidate") -> Collection:
        """The same rows, updates of one time added up."""
        return self.arrange(self.schema.names, name).collection()

    # Loops

    def enter(self, loop: Loop, at_round: Any = 0) -> Collection:
        """The rows in a loop, from its first round on, or from one that an expression says of each row: UsageError (as
        OperatorError) where that is below 0."""
        if not isinstance(at_round, Expression):
            at_round = whole_number("operator 'enter'", "at_round", at_round, 0)
        entered = _loop("enter", loop).enter(self.stream)
        entered.rejects = self.rejected
        columns = {name: col(name) for name in (*self.schema.names, *TIMES[: self.depth])}
        columns |= {TIMES[self.depth]: lit(at_round), TIMES_ADDED: col(TIMES_ADDED)}
        rows = computed(entered, "select", columns)
        if isinstance(at_round, Expression):
            require_whole("operator 'enter': at_round", rows.schema, TIMES[self.depth], "a round")
            rows = in_rounds(rows, "enter")
        return Collection(rows, self.schema)

    def leave(self, loop: Loop) -> Collection:
        """What the rows of a loop come to in its last round."""
        left = _loop("leave", loop).leave(self.stream)
        return Collection(select(left, *self.schema.names, *TIMES[: self.depth - 1], TIMES_ADDED), self.schema)

    def iterate(
        self, body: Callable[[Collection, Loop], Collection], name: str = "iterate", rounds: int = 100_000
    ) -> Collection:
        """What comes of `body(rows, loop)`, applied again and again until nothing changes; collections from outside are
        brought in by `enter(loop)`. An update costs what it changes, round by round. UsageError (as OperatorError) if
        something changes still after so many rounds.
        """
        require_function(f"operator {name!r}", "body", body)
        with self.stream.scope.loop(name) as loop:
            found = Variable(loop, self, name, rounds)
            return found.set(body(found.rows, loop)).leave(loop)

    # Out

    def changes(self, time: str = "time", times: str = "times", name: str = "changes") -> Any:
        """The updates as rows, a stream of the scope's class, with their time and multiplicity in these columns: of
        each row and time one, all that came added up, once the time is finished; on each worker in order of times, all
        of a row on the same one.
        Nothing of them is kept. Where times have several coordinates, each is a column of its name, in place of `time`.
        Under recovery each change is told once, whatever dies: what stands behind says what comes of it.

        GraphError in a loop; SchemaError for a column of one of these names.
        """
        require_column(f"operator {name!r}", time=time, times=times)
        scope = self.stream.scope
        if scope.root is not scope:
            raise GraphError(f"changes are told, but not in {scope.describe()}: leave() the loop first")
        own = dict(zip(scope.coordinates or (time,), TIMES, strict=False))
        if times in own:
            raise SchemaError(f"operator {name!r}: time= and times= are both {times!r}; call one otherwise")
        for column, said in [*[(column, "time") for column in own], (times, "times")]:
            if column in self.schema.positions:
                raise SchemaError(f"operator {name!r}: there is a column {column!r} already; say {said}= otherwise")
        names = self.schema.names
        whens = {f"{_WHEN}{at or ''}": col(word) for at, word in enumerate(own.values())}
        timed = self.select(**whens | {each: col(each) for each in names})
        told = timed._arranged(timed.schema.names, f"{name}.arrange", spread=() if self.is_net else names).collection()
        named = {each: col(each) for each in names} | dict(zip(own, map(col, whens), strict=True))
        net = computed(told.stream, "select", named | {times: col(TIMES_ADDED)})
        return updates_by(self.rejected.is_handed_out(handed_out(net, next(iter(own)), name)), name, None, "changes")

    def to_upserts(
        self, key: str | Sequence[str], time: str = "time", deleted: str = "deleted", name: str = "to_upserts"
    ) -> Any:
        """For each time at which the row of a key changes, the new one, in a stream of the scope's class; or the key
        and nulls, where there is none any more, which the column `deleted` says. Under recovery each is told once, as
        `changes` are. UsageError (as OperatorError) for a key of several rows, naming it."""
        require_column(f"operator {name!r}", time=time, deleted=deleted)
        require_integer_times(self.stream.scope, "upserts are told", "leave() the loop first")
        keys = self._keys(key, name)
        made = to_upserts(self.arrange(keys, f"{name}.arrange"), time, deleted, name)
        return updates_by(self.rejected.is_handed_out(handed_out(made, time, name)), name, keys, "upserts")


class Variable:
    """A collection of a loop that is defined by itself and by others: `loop.variable` makes it. In the first round, 0,
    `rows` are those that it begins with; in each later one they are what `set` was given, as of the round before.
    """

    def __init__(self, loop: Loop, begin: Collection | Schema, name: str, rounds: int) -> None:
        """As `variable` has it."""
        self._name, self._rounds = name, whole_number(f"operator {name!r}", "rounds", rounds, 1)
        self._begin: Collection | None = None
        self._is_set = False
        if isinstance(begin, Collection):
            self._begin = begin if begin.stream.scope is loop else begin.enter(loop)
        elif not isinstance(begin, Schema):
            raise SchemaError(f"variable {name!r} begins with {begin!r}: give a Schema, or a collection of first rows")
        schema = begin.schema if isinstance(begin, Collection) else begin
        self._back = loop.feedback(schema_of_updates(schema, loop.depth), name=f"variable {name}")
        back = Collection(self._back.stream, schema)
        self.rows = back if self._begin is None else self._begin.concat(back)
        """What it is, round by round."""

    def set(self, result: Collection) -> Collection:
        """Say what it is to be, of `rows` and other collections of the loop; once. What is added and taken away in one
        round goes no further. Returns the result, of which `leave(loop)` is what it comes to in the last round.

        SchemaError for other columns than it begins with; GraphError for what is no collection of the loop, and if it
        is set already. UsageError (as OperatorError) if something changes still after so many rounds.
        """
        given: Any = result
        if not isinstance(given, Collection):
            cure = "say .collection() of what is arranged" if isinstance(given, Arranged) else "give one"
            raise GraphError(f"{self._name!r}: {type(given).__name__} is no collection: {cure}")
        if result.schema != self.rows.schema:
            raise SchemaError(
                f"{self._name!r}: {result.schema!r} is made of {self.rows.schema!r}; it must make the same"
            )
        self.rows.require_same_scope(self._name, result)
        if self._is_set:
            raise GraphError(f"{self._name!r}: it was set before; concat what it is to be into one collection")
        self._is_set = True
        if not result.is_net:  # or what comes and goes at once would go round for ever
            result = result.consolidate(f"{self._name}.consolidate")
        changed = result if self._begin is None else result.concat(self._begin.negate())
        self._back.connect(next_round(changed.stream, result.schema, self._rounds, self._name))
        return result


def _loop(operator: str, loop: Loop) -> Loop:
    """The loop; GraphError for what is none."""
    if not isinstance(loop, Loop):
        raise GraphError(
            f"operator {operator!r}: {loop!r} is no loop: give that of scope.loop(), or that iterate gives its function"
        )
    return loop


def variable(loop: Loop, begin: Collection | Schema, name: str = "variable", rounds: int = 100_000) -> Variable:
    """A collection of a loop that is defined by itself and by others, each of which may have other columns: `rows` is
    what it is, and `set` says what it is to be. begin: its rows in the first round, a collection of the loop or of the
    scope around it; or the schema of rows of which there is none then. rounds: after so many it is an error that
    something changes still.
    """
    return Variable(loop, begin, name, rounds)
