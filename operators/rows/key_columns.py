"""The columns of a key, or of an order, as operators are given them: names, or expressions, computed before exchanges.
"""

from collections.abc import Sequence

from tokenring.engine import AnyStream, Schema, SchemaError
from tokenring.engine.columns import names_of
from tokenring.operators.expressions import Alias, Expression, column_named_by
from tokenring.operators.rows.projection import all_columns, computed

Column = str | Expression | Alias
Columns = Column | Sequence[Column]
"""What names columns: a string of names, an expression, or a sequence of both; `.alias(name)` names an expression."""
_UNNAMED = "·unnamed "  # what the names of columns begin with that no result has, and no rows that come


def columns_of(by: Columns, who: str = "") -> tuple[Column, ...]:
    """Columns one by one: of a string of names, an expression, or a sequence. SchemaError, naming who asks, for what is
    neither."""
    if isinstance(by, Expression | Alias):
        return (by,)
    return names_of(by, who)


def columns_read(by: Columns) -> frozenset[str]:
    """The names of all columns that `by` names or computes with."""
    each = [one.value if isinstance(one, Alias) else one for one in columns_of(by)]
    return frozenset().union(*[one.columns if isinstance(one, Expression) else (one,) for one in each])


def said_of_aliases(*columns: Columns) -> list[str]:
    """What the expressions that have an alias among these columns compute, in words: their names do not tell it."""
    each = [one for some in columns for one in columns_of(some) if isinstance(one, Alias)]
    return [f"{one.name} = {one.value!r}" for one in each]


def with_key(
    stream: AnyStream, operator: str, by: Columns, shown: bool = False
) -> tuple[AnyStream, tuple[str, ...]]:
    """The rows with a column for each expression among `by`, and the names of all columns of `by`, as `key_columns`."""
    names, made = key_columns(stream.schema, operator, by, shown)
    if made:
        stream = computed(stream, operator, {**all_columns(stream.schema), **made}, step="key")
    return stream, names


def key_columns(
    schema: Schema, operator: str, by: Columns, shown: bool = False
) -> tuple[tuple[str, ...], dict[str, Expression]]:
    """(The names of all columns of `by`; those of its expressions, and what they are computed of). An expression
    without a name has one that `without_unnamed` takes away again; it is a SchemaError where the key is `shown`, in a
    result of keys."""
    names: list[str] = []
    made: dict[str, Expression] = {}
    for each in columns_of(by, f"operator {operator!r}"):
        value = each.value if isinstance(each, Alias) else each
        if isinstance(value, str):
            names.append(value)
            continue
        if not isinstance(value, Expression):
            raise SchemaError(f"operator {operator!r}: a column is a name or an expression, not {value!r}")
        if isinstance(each, Alias):
            name = each.name
            if name in schema.positions or name in made:
                raise SchemaError(f"operator {operator!r}: there is a column {name!r} already; give another alias")
        elif (column := column_named_by(value)) is not None:
            names.append(column)
            continue
        elif shown:
            raise SchemaError(
                f"operator {operator!r}: {value!r} is a column of the result and has no name; say .alias('name') "
                f"behind it, in parentheses"
            )
        else:
            name = unnamed(repr(value))
        made[name] = value
        names.append(name)
    return tuple(names), made


def unnamed(what: str) -> str:
    """The name of a column that `without_unnamed` takes away."""
    return f"{_UNNAMED}{what}"


def require_kept(operator: str, schema: Schema) -> None:
    """SchemaError for a column of the rows that `without_unnamed` would take away."""
    for name in schema.names:
        if name.startswith(_UNNAMED):
            raise SchemaError(
                f"operator {operator!r}: columns of its own begin with {_UNNAMED!r}; call {name!r} otherwise "
                f"before it: .rename({{{name!r}: 'other'}})"
            )


def without_unnamed(stream: AnyStream, operator: str) -> AnyStream:
    """The rows without the columns of expressions that have no name."""
    kept = {name: value for name, value in all_columns(stream.schema).items() if not name.startswith(_UNNAMED)}
    return stream if len(kept) == len(stream.schema.names) else computed(stream, f"{operator}.result", kept)


def exchanged_by(by: tuple[str, ...]) -> str | tuple[str, ...]:
    """The key of an exchange by these columns."""
    return by[0] if len(by) == 1 else by
