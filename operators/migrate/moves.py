"""What an operator says of its keyed state where bins move: which tables it is, taken out and put in as columns."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from tokenring.engine import (
    COMPLETE,
    Batch,
    Exchange,
    GraphError,
    OperatorBuilder,
    OperatorContext,
    Pact,
    Schema,
    Time,
    UsageError,
)
from tokenring.engine.compiled import AtFirstMessage, Compiled
from tokenring.operators.migrate.bins import Bins, Leaving

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
DUE = Schema("due")
"""Of the messages that bring the right to send what became pending when state was put in."""


@dataclass(frozen=True)
class Staying(Exchange):
    """An exchange whose rows go where they would in a dataflow without bins, and the state that is kept by its key
    stays there: for an operator that cannot say how its state moves. All of an operator's exchanges stay, or none."""


@dataclass(frozen=True)
class Led(Exchange):
    """An exchange by a column that says whose each row is by the bins there are: who has none gets nothing."""


def staying(pact: Pact | None) -> Pact | None:
    """The same pact, but one that stays if it is an exchange."""
    return Staying(pact.key, pact.columns, pact.key_crosses) if isinstance(pact, Exchange) else pact


class Table(NamedTuple):
    """One of the tables that state is while it moves."""

    schema: Schema
    key: tuple[str, ...]
    """Its columns of the operator's key, of the kinds and in the order that the exchange has."""
    is_anywhere: bool = False
    """Whether rows are on whatever worker they came to: what is saved of them may go on on the key's."""
    version: str = ""
    """What the columns do not tell of what rows mean, in any words: rows of another version are not put in."""


def of_version(tables: Sequence[Table], *version: object) -> list[Table]:
    """The same tables, of what rows mean in these words besides those that they have."""
    said = without_addresses("; ".join([one for one in map(str, version) if one]))
    return [table._replace(version="; ".join(filter(None, (table.version, said)))) for table in tables]


def without_addresses(text: str) -> str:
    """What is said of functions and the like, without where they lie in this process."""
    return _ADDRESS.sub("", text)


class Moves(Protocol):
    """One worker's state of an operator, as bins leave it and come to it. Both are called between two runs of the
    operator, when all rows of earlier times have been taken, and what was due before is sent."""

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """Forget what is kept of the keys that leave, and return it: a batch for each table, be it without rows."""

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """Keep what others took out, a batch for each table; nothing is kept of its keys so far. The batches' memory
        is the caller's: copy. Returns the least time at which output becomes pending by it, COMPLETE if at none: an
        operator that said that it pends is then given the right to send at it, by a message of DUE."""


class Offered(list[Moves]):
    """What the constructors of one operator offered, on this worker."""

    def only(self, name: str) -> Moves:
        """The one state that was offered. GraphError, naming the operator, for none, and for several."""
        if len(self) != 1:
            raise GraphError(
                f"operator {name!r}: its constructor offered {len(self)} states; one that is declared with tables is "
                f"to offer(moves) once"
            )
        return self[0]

    def require_none(self, name: str) -> None:
        """GraphError, naming the operator, if a state was offered that has no tables to move as."""
        if self:
            raise GraphError(
                f"operator {name!r}: its constructor offered {len(self)} states, and state_moves was told of no table, "
                f"so that none would move; say state_moves(builder, [Table(schema, key)]), or offer nothing"
            )


def take_out(name: str, moves: Moves, leaving: Leaving, tables: Sequence[Table]) -> Sequence[Batch]:
    """What its `take_out` returns of an operator's state; UsageError, naming it, for what is not a batch a table."""
    taken = moves.take_out(leaving)
    if problem := _misfit(taken, tables):
        raise UsageError(f"operator {name!r}: {problem}; return a Batch for each table, be it without rows")
    return taken


def put_in(name: str, moves: Moves, tables: Sequence[Batch], pends: bool) -> Time:
    """What its `put_in` returns of an operator's tables; UsageError, naming the operator, for what is no time, and for
    one at which it could not send. pends: whether it could."""
    due: Any = moves.put_in(tables)
    if not isinstance(due, int | np.integer) or due < 0:
        raise UsageError(
            f"operator {name!r}: put_in returned {due!r}; return the least time at which output becomes pending by it, "
            f"from 0 on, or COMPLETE"
        )
    if due < COMPLETE and not pends:
        raise UsageError(
            f"operator {name!r}: put_in returned {due}, but state_moves was not told pends=True, without which nobody "
            f"may send what is pending then; say so, and take the messages that bring the right to, or return COMPLETE "
            f"if nothing is pending"
        )
    return int(due)


_OR_STAY = ", or let the state stay, by Staying(...) for Exchange(...)"


def require_movable(name: str, offered: Offered, tables: Sequence[Table], cure: str = _OR_STAY) -> None:
    """Take out the state of no key. GraphError for an operator that could not do so of some: it did not offer one
    state, or that raises, or returns what its tables cannot carry. cure: what may be done besides mending it."""
    moves = offered.only(name)
    try:
        taken = moves.take_out(Leaving(Bins(1), np.zeros(1, bool)))
    except Exception as error:
        raise GraphError(_cannot_move(name, f"take_out raised {type(error).__name__}: {error}", cure)) from error
    problem = _misfit(taken, tables)
    if not problem and (stayed := sum([batch.rows for batch in taken])):
        problem = f"take_out returned {stayed:,} rows of keys that did not leave"
    if problem:
        raise GraphError(_cannot_move(name, problem, cure))


def _misfit(taken: Any, tables: Sequence[Table]) -> str:
    """What is wrong with what take_out returned, whatever its rows are; "" if nothing."""
    if not isinstance(taken, Sequence) or not all([isinstance(each, Batch) for each in taken]):
        return f"take_out returned {taken!r}, and not a Batch for each table"
    if len(taken) != len(tables):
        return f"take_out returned {len(taken)} of {len(tables)} tables"
    for table, batch in zip(tables, taken, strict=True):
        if batch.schema.spec() != table.schema.spec():
            return f"take_out returned {batch.schema} for the table of {table.schema}"
    return ""


def require_keys(name: str, tables: Sequence[Table], exchanged: Sequence[tuple[Schema, tuple[str, ...]]]) -> None:
    """GraphError, naming the operator, for a table without a key, and for one whose key is not that of an exchange, by
    which rows are elsewhere than their state. exchanged: of each input that has one, the rows and their key."""
    for table in tables:
        missing = [column for column in table.key if column not in table.schema.names]
        if missing or not table.key:
            what = f"{missing[0]!r} of its key {table.key!r} is no column" if missing else "there is no key"
            raise GraphError(
                f"operator {name!r}: {what} of the table of {table.schema}; name columns of it, as in Table(schema, "
                f"({table.schema.names[0]!r},)), which are the key that rows are exchanged by"
            )
        if exchanged and not table.is_anywhere and not any([_is_key(table, rows, key) for rows, key in exchanged]):
            by = " or ".join([f"({_told(rows, key)})" for rows, key in exchanged])
            raise GraphError(
                f"operator {name!r}: the key of its table is ({_told(table.schema, table.key)}), and rows are "
                f"exchanged by {by}, so that they would not meet; let the table's key be as many columns, of the same "
                f"kinds, in the same order"
            )


def _is_key(table: Table, rows: Schema, key: tuple[str, ...]) -> bool:
    """Whether a table's key may be that of an exchange: names may differ."""
    kinds = [[schema.kind(column).name for column in by] for schema, by in ((table.schema, table.key), (rows, key))]
    return kinds[0] == kinds[1] and (sorted(table.key) != sorted(key) or tuple(table.key) == key)


def _told(schema: Schema, key: Sequence[str]) -> str:
    return ", ".join([f"{column!r}: {schema.kind(column)}" for column in key])


def _cannot_move(name: str, why: str, cure: str) -> str:
    return f"operator {name!r}: its state cannot move, {why}; mend take_out{cure}"


_offering: list[Offered] = []


@contextmanager
def offers_to(offered: Offered) -> Iterator[None]:
    """Let what constructors offer within the block be noted there."""
    _offering.append(offered)
    try:
        yield
    finally:
        _offering.pop()


class Offering:
    """A constructor whose offer is noted, and what is done when it has made its operator: `then(context)`."""

    def __init__(
        self, constructor: Callable[..., Any], offered: Offered, then: Callable[[OperatorContext], object]
    ) -> None:
        self._constructor, self._offered, self._then = constructor, offered, then
        self.__code__ = getattr(constructor, "__code__", None)

    def __call__(self, context: OperatorContext, *tokens: Any) -> Any:
        self._offered.clear()
        with offers_to(self._offered):
            made = self._constructor(context, *tokens)
        self._then(context)
        return made


def hears_of_ends(builder: OperatorBuilder[Any]) -> None:
    """Say of an operator, before its inputs, that it goes by frontiers for one thing alone: whether its rows have all
    come (COMPLETE). Until then it holds back what is behind it. Where state moves it is told so of each input by
    itself, while rows of others still come, and state of bins may yet arrive, of which its `put_in` is called."""
    if hasattr(builder, "hears_of_ends"):
        builder.hears_of_ends()


def offer(moves: Moves) -> None:
    """Say, in an operator's constructor, how its state moves. Where no state moves it means nothing."""
    if _offering:
        _offering[-1].append(moves)


def at_first_message(
    make: Callable[[], Compiled], view: Callable[[], Any] | None = None
) -> Compiled | AtFirstMessage:
    """What a constructor returns of an operator that can wait for its first message; see AtFirstMessage. Where state
    moves, or is saved, it is made at once, as it is to offer its own, and some may be put in before."""
    return make() if _offering else AtFirstMessage(make, view)


def state_moves(builder: OperatorBuilder[Any], tables: Sequence[Table] = (), pends: bool = False) -> bool:
    """Say of an operator that is being declared, behind its inputs and before `build`, of which tables its state is as
    it moves: none, if it keeps nothing by key. Its constructor is to `offer` it.

    pends: whether what is put in may have output pending. Where state moves, the operator then has one more input,
    behind all others, whose messages (DUE) bring the right to send what became pending: a row with the least time.
    Returns whether it has. Where no state moves all this means nothing, but that the tables' versions are what workers
    have to agree on.
    """
    given = tuple(tables) if isinstance(tables, Iterable) and not isinstance(tables, Table) else None
    if given is None or not all([isinstance(one, Table) and isinstance(one.schema, Schema) for one in given]):
        raise UsageError(
            f"operator {builder._spec.name!r}: state_moves takes a list of tables, such as [Table(schema, key)] with "
            f"the names of the key's columns, and not {tables!r}"
        )
    builder._spec.about = "; ".join(dict.fromkeys([one.version for one in given if one.version]))
    declared = getattr(builder, "state_moves", None)
    return declared is not None and bool(declared(given, pends))
