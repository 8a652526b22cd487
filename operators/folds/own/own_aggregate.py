"""OwnAggregate: an aggregate as five functions of a state, compiled, which everything that aggregates calls."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tokenring.engine import Kind, Schema, SchemaError
from tokenring.operators.expressions import Expression
from tokenring.operators.folds.called import TAKES, Function, Functions, functions_of
from tokenring.operators.folds.functions import FINISHED, Aggregate, Ask, Condition, Fold, Result, Shape
from tokenring.operators.folds.kernels import CALLED, PART


@dataclass(frozen=True, eq=False)
class OfFunctions(Aggregate):
    """An aggregate of one column or two that functions make."""

    where: Condition | None = field(default=None, kw_only=True)

    @property
    def second(self) -> str | Expression | None:
        """The second column, if there is one."""
        return None

    @property
    def functions(self) -> Functions:
        """Whose state it folds rows into, and which of them makes the result."""
        raise NotImplementedError

    @property
    def parameters(self) -> tuple[float, ...]:
        """What `finalize` takes beside the state."""
        return ()

    @property
    def _called(self) -> str:
        """See Aggregate."""
        return self.functions.name

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        functions, shape = self.functions, self.shape(schema, name)
        functions.make_ready()
        second = shape.columns[1] if len(shape.columns) > 1 else None
        first_word = Fold(CALLED, shape.columns[0], self.where, functions=functions, second=second)
        head = ask(first_word)
        for part in range(1, functions.width):
            ask(replace(first_word, operation=PART, part=part))
        return Result(shape.result, FINISHED, head, finish=functions, parameters=self.parameters)

    def shape(self, schema: Schema, name: str) -> Shape:
        """See Aggregate."""
        functions, first, second = self.functions, self._name, self.second
        assert not isinstance(second, Expression)
        given = [column for column in (first, second) if column is not None]
        if len(given) != len(functions.takes):
            raise SchemaError(
                f"{name}: {functions.name} takes {len(functions.takes)} column{'s' * (len(functions.takes) > 1)}, and "
                f"has {', '.join(given) or 'none'}"
            )
        kinds = [self._taken(schema, name, *each) for each in zip(given, functions.takes, strict=True)]
        gives = kinds[0].name if functions.gives == "same" else functions.gives
        return Shape(given, kinds, self._kind(gives, any([kind.nullable for kind in kinds])), CALLED)

    def _taken(self, schema: Schema, name: str, column: str, taken: str) -> Kind:
        schema.position(column, name)
        kind = schema.kind(column)
        if kind.family not in TAKES[taken]:
            cure = f" there: cast it, or leave it to {self._instead}"
            raise self._wrong_kind(name, column, kind, ", ".join(TAKES[taken]), cure)
        return kind

    @property
    def _instead(self) -> str:
        """What may be taken instead."""
        return "reduce, which takes a Python function"


@dataclass(frozen=True, eq=False)
class ByColumn(OfFunctions):
    """One that has, or may have, a second column."""

    by: str | Expression | None = None

    @property
    def second(self) -> str | Expression | None:
        """See OfFunctions."""
        return self.by


class OwnAggregate:
    """An aggregate of one's own, as five functions of a state: `mean = OwnAggregate("mean", ...)`, and then
    `aggregate(rows, "key", m=mean("price"))`, with `where=`, in all windows and modes, and in collections.

    The functions are compiled by numba (the extra `tokenring[kernels]`): plain functions without Python objects, or
    kernels. `state` is a record, `state.count += 1`, of the fields of the dtype `state`, each int64, uint64 or float64
    or an array of those.

    init(state)            makes it that of no row
    update(state, value)   adds a row; `update(state, value, by)` where `takes` says of two columns
    combine(state, other)  adds all rows of another state, which stays as it is
    finalize(state)        returns the result, or None for null; it must not change the state
    retract(state, other)  undoes `combine`, exactly; None where that cannot be

    `takes` says what of a column comes: "float64" (of an int64, a uint64, a float64, a bool), "int64" (of an int64, a
    bool, a timestamp), "word" (the 64 bits of anything but text), "order" or "reverse" (an int64 that rises, or falls,
    with the value; NaN the least).
    Rows in which one is null, or `where=` is not true, do not come. `gives` is the kind of the result, with ? where it
    may be null though no row's value is, or "same", that of the first column. A float is for "float64" alone; of a bool
    whatever is not 0 is true.

    Rows come in no order of their own, and workers combine what each has seen: `combine` must not care which is which.
    A function must not raise: where one does, or where `finalize` returns None though the result has no null, or a
    number that does not fit, the run ends with a ValueError that names the aggregate (as OperatorError). Division by 0
    raises nothing: it is infinite or NaN, of integers 0. Declare it in a module, before `execute`.
    Raises SchemaError for a state, for functions, or for what it takes or gives, that cannot be; where the functions
    are compiled KernelError, naming one that cannot be, or SchemaError for a result that is no value of `gives`.
    """

    __slots__ = ("_functions", "name")

    def __init__(
        self,
        name: str,
        *,
        state: Any,
        takes: str | Sequence[str],
        gives: str,
        init: Function,
        update: Function,
        combine: Function,
        finalize: Function,
        retract: Function | None = None,
    ) -> None:
        self.name = name
        if not (isinstance(name, str) and name):
            raise SchemaError(f"OwnAggregate({name!r}, ...): give a name, which errors say")
        try:
            fields = np.dtype(state)
        except (TypeError, ValueError) as error:
            raise SchemaError(f"aggregate {name!r}: state={state!r} is no dtype: {error}") from None
        taken = tuple(takes) if isinstance(takes, list | tuple) else (takes,)
        made = functions_of(name, fields, taken, gives, init, update, combine, finalize, retract)
        if made.has_parameters:
            raise SchemaError(f"aggregate {name!r}: finalize takes 2 arguments, and is called with a state alone")
        self._functions = made

    def __call__(
        self,
        column: str | Expression | None = None,
        by: str | Expression | None = None,
        *,
        where: Condition | None = None,
    ) -> Aggregate:
        """The aggregate of a column, or of two, of the rows where `where` is true."""
        return _Own(column, by, where=where, of=self._functions)

    def __repr__(self) -> str:
        return f"OwnAggregate({self.name!r})"


@dataclass(frozen=True, eq=False)
class _Own(ByColumn):
    of: Functions | None = field(default=None, kw_only=True)

    @property
    def functions(self) -> Functions:
        """See OfFunctions."""
        assert self.of is not None
        return self.of
