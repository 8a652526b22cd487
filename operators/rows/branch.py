"""branch, partition: one stream as several, by conditions or by number: filters, none of them an operator."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tokenring.engine import AnyStream, Batch, Schema, SchemaError, UsageError
from tokenring.engine.arguments import is_whole
from tokenring.engine.columns import free_name
from tokenring.operators.expressions import Computation, Expression, Step, Term, col, column_term, lit, typed, when
from tokenring.operators.rows.batches import mask_of

Condition = Expression | Callable[[Batch], Any]
_NUMBER = "·branch"  # a column between the numbering and the filters


def branch(stream: AnyStream, *conditions: Condition, name: str = "branch") -> tuple[AnyStream, ...]:
    """A stream for each condition, of the rows for which it is the first that is true, and one for the rest:
    `large, small = branch(bids, col("price") > 1000)`, `a, b, rest = branch(stream, of_a, of_b)`.

    A condition is an expression, or a function of the batch that gives bool of shape (rows,); null is not true. Rows
    keep their times and their order. Stateless: which stream a row is for is computed once, before all of them.
    SchemaError for a condition that is not bool.
    """
    if not conditions:
        raise UsageError(f"operator {name!r}: give at least one condition")
    for condition in conditions:
        _require_function(name, condition)
    schema = stream.schema
    numbered = _longer(schema)
    if all([isinstance(condition, Expression) for condition in conditions]):
        number: Any = len(conditions)
        for at, condition in reversed(list(enumerate(conditions))):
            number = when(condition).then(at).otherwise(number)
        marked = _numbered(stream, number, numbered, name)
    else:

        def mark(batch: Batch) -> Batch:
            numbers = np.full(batch.rows, len(conditions), np.int64)
            for at, condition in reversed(list(enumerate(conditions))):
                found = condition.mask(batch) if isinstance(condition, Expression) else condition(batch)
                numbers[mask_of(found, batch)] = at
            return _with_numbers(batch, numbers, numbered)

        marked = stream.apply(name, numbered, mark)
    return _parts(stream, conditions, marked, len(conditions) + 1, name)


def _require_function(name: str, given: Any) -> None:
    if not isinstance(given, Expression) and not callable(given):
        raise UsageError(
            f"operator {name!r}: give an expression, such as col('price'), or a function of the batch, not {given!r}"
        )


def partition(
    stream: AnyStream, parts: int, function: Expression | Callable[[Batch], Any], name: str = "partition"
) -> tuple[AnyStream, ...]:
    """`parts` streams: each row is in the one of its number, from 0, which `function` gives: an expression of kind
    int64, or a function of the batch that gives integers of shape (rows,). `even, odd = partition(s, 2, col("id") % 2)`

    Rows keep their times and their order; stateless. UsageError (as OperatorError, in the run) for a number that none
    of the streams has.
    """
    if not is_whole(parts) or parts < 1:
        raise UsageError(f"operator {name!r}: a stream has at least one part, not {parts!r}")
    _require_function(name, function)
    schema = stream.schema
    numbered = _longer(schema)

    def check(numbers: np.ndarray) -> None:
        wrong = numbers[(numbers < 0) | (numbers >= parts)]
        if len(wrong):
            raise UsageError(f"a row is for part {wrong[0]}; there are parts 0 to {parts - 1}")

    if isinstance(function, Expression):

        def checked(batch: Batch) -> Batch:
            check(batch.columns[-1])
            return batch

        marked = _numbered(stream, function, numbered, name).apply(name, numbered, checked)
    else:

        def mark(batch: Batch) -> Batch:
            numbers = np.asarray(function(batch))
            if numbers.shape != (batch.rows,) or numbers.dtype.kind not in "iu":
                raise SchemaError(
                    f"the function returned {numbers.dtype} of shape {numbers.shape}; it must return integers of shape "
                    f"({batch.rows},)"
                )
            check(numbers)
            return _with_numbers(batch, np.ascontiguousarray(numbers, np.int64), numbered)

        marked = stream.apply(name, numbered, mark)
    return _parts(stream, (function,), marked, parts, name)


def _longer(schema: Schema) -> Schema:
    return Schema.of({**schema.spec(), free_name(_NUMBER, schema.positions): "int64"})


def _numbered(stream: AnyStream, number: Expression, numbered: Schema, name: str) -> AnyStream:
    """The rows with the number of their part, computed."""
    schema = stream.schema
    term = typed(lit(number), schema, name)
    if term.spelled != "int64":
        raise SchemaError(f"operator {name!r}: {number!r} is {term.spelled}, not int64; say .cast or .fill_null")
    columns = {**_all(schema), numbered.names[-1]: term}
    return stream.apply(name, numbered, Computation(schema, Step(None, columns, numbered), repr(number)))


def _with_numbers(batch: Batch, numbers: np.ndarray, numbered: Schema) -> Batch:
    heaps = (*batch.heaps, None) if batch.heaps else ()
    return Batch.wrap(numbered, (*batch.columns, numbers), batch.rows, heaps, batch)


def _parts(
    stream: AnyStream, conditions: Sequence[Condition], marked: AnyStream, count: int, name: str
) -> tuple[AnyStream, ...]:
    """The stream's rows of each number, without it."""
    schema = stream.schema
    before, columns = marked.schema, _all(schema)
    updates = stream.updates
    if updates is not None:
        for condition in conditions:
            if isinstance(condition, Expression):
                updates = updates.filtered(*condition.columns)
            else:
                updates = updates.unknown()
    parts = []
    for at in range(count):
        chosen = col(before.names[-1]) == at
        step = Step(typed(chosen, before, name), columns, schema)
        parts.append(marked.apply(f"{name} {at}", schema, Computation(before, step, repr(chosen))))
        parts[-1].updates = updates
    return tuple(parts)


def _all(schema: Schema) -> dict[str, Term]:
    return {name: column_term(name, kind) for name, kind in zip(schema.names, schema.kinds, strict=True)}
