"""scan: a Python function of each row and its key's state, which gives the next state and rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import orjson

from tokenring.engine import AnyStream, Batch, Schema, SchemaError, Strings, TokenRingError, UsageError
from tokenring.operators.folds import Plan, to_owners
from tokenring.operators.mechanisms import Answer, mechanism_of
from tokenring.operators.migrate import of_version, offer
from tokenring.operators.rows import Columns, Row, batch_of, rows_of, said_of_aliases, with_key
from tokenring.operators.state import HeapedColumns, Keys, changes_among, joined, require_rows
from tokenring.operators.state.moving import KeyedMoves, MovingKeys, Rows, tables_of
from tokenring.operators.time import ordered_by

Made = Mapping[str, Any] | Iterable[Mapping[str, Any]] | None
"""A row, several, or none."""
Function = Callable[[Any, Row], tuple[Any, Made]]
_STATE = "#state"


def scan(
    stream: AnyStream,
    by: Columns,
    function: Function,
    schema: Schema,
    *,
    initial: Any = None,
    order: str | None = None,
    name: str = "scan",
) -> AnyStream:
    """Rows (the columns `by`, those of `schema`): what `function` makes of each row and the state of its key, at the
    row's time. Of all rows, on one worker, if `by` is "".

    function(state, row) -> (state, made). row: all its columns by name, in Python's own values: None where null,
    dates as date, decimals as Decimal, timestamps as int ns since 1970: `row["at"] - last <= 20 * MINUTE`, and
    `datetime(1970, 1, 1) + timedelta(microseconds=row["at"] // 1000)` is the time. state: what the last call for the
    key returned, any object, or `initial`; None forgets the key, and its next row starts with `initial` again. made: a
    mapping of the columns of `schema` to values (what is left out is null), several of them in a list, or None for no
    row.

    initial: a value, or a function without arguments that makes one for each key, such as `list`.

    Rows are exchanged by key, and a key's rows come one at a time, in the order in which they arrive at its worker:
    those of one sender in the order in which they were sent; those of several, and of times that are not finished,
    mixed, as those of a file that several workers read are. With `order`, the column of the rows' own times that its
    source goes by (time=), they come in order of it, each once no earlier one can, and those of one time as they
    arrive; results that are sent at the end all then. A row that comes later than that raises TimeRegressionError (as
    OperatorError). What is made of rows that wait together is sent at the first one's time, or at each one's own where
    somebody goes by messages' times. Memory: the rows that wait.
    Some two microseconds a row and what the function takes: `aggregate`, `top` and `last_by` are a hundred times
    quicker and more, where they can do it. Memory: each key that is not forgotten, and its state. In a loop the state
    is each epoch's own, and rows wait until their round is finished. Where keyed state moves (`bins=`), states are
    numbers, texts and containers of Python's own: the run ends with a UsageError for others.

    Raises SchemaError, naming the operator, for columns that are not there or do not fit, and in the run, as
    OperatorError, for what the function returns; what the function raises is an OperatorError that names the key.
    """
    require_rows(name, stream)
    updates = changes_among(stream)
    stream, names = with_key(stream, name, by, shown=True)
    plan = Plan.of(name, stream.schema, names, {}, *said_of_aliases(by))
    if not isinstance(schema, Schema):
        raise UsageError(
            f"operator {name!r} takes the function, and then the schema of what that makes, such as Schema('total'), "
            f"not {schema!r}"
        )
    for clash in set(names) & set(schema.names):
        raise SchemaError(f"operator {name!r}: {clash!r} is a column of the key; call the result otherwise")
    if not callable(function):
        raise UsageError(f"operator {name!r}: give a function of a state and a row, not {function!r}")
    if not callable(initial) and initial.__class__.__hash__ is None:
        kind = type(initial).__name__
        raise UsageError(
            f"operator {name!r}: initial={initial!r} would be one {kind} for all keys; give a function that makes one "
            f"for each, such as initial={kind} or initial=lambda: {initial!r}"
        )
    rows, after = stream.schema, Schema.of(plan.keys | schema.spec())
    (stream, pact), plan, key = to_owners(stream, plan, None, whole=True)
    if order is not None:
        stream = ordered_by(stream, name, order, key)
    ours = rows.select(names) if names else None
    moves = of_version(tables_of(plan.schema.select(key), key, [{_STATE: "bytes?"}]), plan.said)

    def make() -> Answer:
        made = _Scan(Keys(plan.schema, key), rows, ours, schema, after, function, initial)
        offer(KeyedMoves(moves, MovingKeys(made.keys, key), _KeptStates(name, made.states)))
        return made.answer

    answered = mechanism_of(stream.scope).respond(name, (stream, pact), after, make, moves=moves)
    answered.updates = updates
    return answered


class _KeptStates:
    """States by slot as bytes. See Kept."""

    def __init__(self, operator: str, states: list[Any]) -> None:
        self._operator, self._states = operator, states

    def out(self, slots: np.ndarray) -> Sequence[Rows]:
        """See Kept. UsageError for a state of which no column can be made."""
        states = self._states
        try:
            packed = [None if states[slot] is None else orjson.dumps(_packed(states[slot])) for slot in slots.tolist()]
        except TypeError as error:
            raise UsageError(
                f"operator {self._operator!r}: a state that is, or has, {error} cannot move to another worker: let "
                f"states be None, bool, int, float, str or bytes, or lists, tuples, sets and dicts of these; or "
                f"declare the dataflow without bins="
            ) from None
        for slot in slots.tolist():
            states[slot] = None
        column = Strings.of(packed, is_text=False)
        return [(((column.words,), (column.heap,)), None)]

    def put(self, limit: int, slots: Sequence[np.ndarray], tables: Sequence[Batch]) -> None:
        """See Kept."""
        states = self._states
        states += [None] * (limit - len(states))
        for slot, packed in zip(slots[0].tolist(), tables[0][_STATE].tolist(), strict=True):
            states[slot] = None if packed is None else _unpacked(orjson.loads(packed))


def _packed(value: Any) -> Any:
    """A value as JSON has it, of which `_unpacked` makes the same one; TypeError, with its type, if it is none of
    those that are known."""
    kind = type(value)
    if kind in (type(None), bool, str):
        return value
    if kind in (int, float, bytes):
        return {kind.__name__: str(value) if kind is int else value.hex()}
    if kind in (date, Decimal):
        return {kind.__name__: str(value)}
    if kind is list:
        return [_packed(each) for each in value]
    if kind in (tuple, set, frozenset):
        return {kind.__name__: [_packed(each) for each in value]}
    if kind is dict:
        return {"dict": [[_packed(name), _packed(each)] for name, each in value.items()]}
    raise TypeError(f"{kind.__module__}.{kind.__qualname__}")


_UNPACKED: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float.fromhex,
    "bytes": bytes.fromhex,
    "date": date.fromisoformat,
    "Decimal": Decimal,
    "tuple": lambda found: tuple([_unpacked(each) for each in found]),
    "set": lambda found: {_unpacked(each) for each in found},
    "frozenset": lambda found: frozenset([_unpacked(each) for each in found]),
    "dict": lambda found: {_unpacked(name): _unpacked(each) for name, each in found},
}


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(each) for each in value]
    if isinstance(value, dict):
        ((kind, found),) = value.items()
        return _UNPACKED[kind](found)
    return value


class _Scan:
    """One worker's states, by slot of their keys. key: the columns of `rows` that make it, if there are any."""

    def __init__(
        self,
        keys: Keys,
        rows: Schema,
        key: Schema | None,
        schema: Schema,
        after: Schema,
        function: Function,
        initial: Any,
    ) -> None:
        self._keys, self._rows, self._key, self._schema, self._after = keys, rows, key, schema, after
        self._function = function
        self._initial: Callable[[], Any] = initial if callable(initial) else lambda: initial
        self._states: list[Any] = []

    @property
    def keys(self) -> Keys:
        """The keys that are not forgotten."""
        return self._keys

    @property
    def states(self) -> list[Any]:
        """By slot."""
        return self._states

    def answer(self, batch: Batch) -> Batch:
        """What the function makes of a batch's rows."""
        slots, states, function = self._keys.slots(batch), self._states, self._function
        states += [None] * (self._keys.limit - len(states))
        made: list[Mapping[str, Any]] = []
        which: list[int] = []  # the row that each was made of
        forgotten = set()
        row: Row = {}
        try:
            for at, (slot, row) in enumerate(zip(slots.tolist(), rows_of(batch.select(self._rows)), strict=True)):
                state = states[slot]
                answer = function(self._initial() if state is None else state, row)
                if answer.__class__ is not tuple or len(answer) != 2:
                    raise SchemaError(f"the function returned {answer!r}; it must return (state, row, rows or None)")
                states[slot], more = answer
                if answer[0] is None:
                    forgotten.add(slot)
                if more is None:
                    continue
                several = (more,) if isinstance(more, Mapping) else _rows(more)
                made += several
                which += [at] * len(several)
        except TokenRingError:
            raise
        except Exception as error:
            key = ", ".join([f"{name}={row.get(name)!r}" for name in self._key.names]) if self._key else "all rows"
            told = RuntimeError(f"the function of a row of {key}: {type(error).__name__}: {error}")
            raise told.with_traceback(error.__traceback__) from error
        if forgotten:
            self._keys.remove(np.array([slot for slot in forgotten if states[slot] is None], np.int64))
        return self._with_keys(batch, batch_of(self._schema, made), which)

    def _with_keys(self, batch: Batch, made: Batch, which: list[int]) -> Batch:
        """The rows made, behind the keys of those that they were made of."""
        if self._key is None:
            return made
        keys = batch.select(self._key).take(np.array(which, np.int64))
        columns, heaps = joined(_heaped(keys), _heaped(made))
        return Batch.wrap(self._after, columns, made.rows, heaps if self._after.has_text else (), batch)


def _heaped(batch: Batch) -> HeapedColumns:
    return batch.columns, batch.heaps or (None,) * len(batch.columns)


def _rows(more: Any) -> list[Mapping[str, Any]]:
    """Several rows; SchemaError for anything else."""
    rows = list(more) if isinstance(more, Iterable) and not isinstance(more, str | bytes) else [more]
    for row in rows:
        if not isinstance(row, Mapping):
            raise SchemaError(
                f"the function returned {row!r} for a row; a row is a mapping of columns to values, None is none"
            )
    return rows
