"""with_columns, select, rename, drop_columns: rows with other columns, in one kernel call with `filter`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from tokenring.engine import AnyStream, Schema, SchemaError
from tokenring.operators.expressions import (
    Alias,
    Computation,
    Expression,
    Step,
    Term,
    col,
    column_named_by,
    column_term,
    lit,
    typed,
    with_aliased,
)
from tokenring.operators.rows.on_error import OnError, applied


@overload
def with_columns(
    stream: AnyStream, /, *aliased: Alias, on_error: Literal["stream"], **columns: Any
) -> tuple[AnyStream, AnyStream]: ...
@overload
def with_columns(stream: AnyStream, /, *aliased: Alias, **columns: Any) -> AnyStream: ...
def with_columns(
    stream: AnyStream, /, *aliased: Alias, on_error: OnError = "fail", **columns: Any
) -> AnyStream | tuple[AnyStream, AnyStream]:
    """The rows with these columns besides, computed by expressions over the stream's columns, all of them as they were:
    `with_columns(stream, euro=col("price") * 89 // 100, large=col("price") > 10_000)`. A column that exists is replaced
    and stays in its place; new ones come last, in the order given.

    Kinds follow from the expressions (see `Expression`). A stateless operator; neighbours of it, `select` and `filter`
    are one call of a kernel. What is not computed passes by reference. Raises SchemaError for columns that are not
    there, or kinds that do not fit. Names that Python does not take: `(col("price") * 89).alias("price in cents")`.

    Where the expressions fail at a row (a division by zero, a text that is no number), the run ends; with
    on_error="stream" there are two streams, `made, failed = ...`: `failed` has the rows as they came, and why in the
    column `error`. It is a Python operator then, no stage.
    """
    name = "with_columns"
    return computed(stream, name, {**all_columns(stream.schema), **with_aliased(name, aliased, columns)}, on_error)


@overload
def select(
    stream: AnyStream, /, *kept: str | Expression | Alias, on_error: Literal["stream"], **columns: Any
) -> tuple[AnyStream, AnyStream]: ...
@overload
def select(stream: AnyStream, /, *kept: str | Expression | Alias, **columns: Any) -> AnyStream: ...
def select(
    stream: AnyStream, /, *kept: str | Expression | Alias, on_error: OnError = "fail", **columns: Any
) -> AnyStream | tuple[AnyStream, AnyStream]:
    """These columns alone, in this order: `select(stream, "auction", price=col("euro"))` keeps the one and has the
    other under another name. Expressions, and `on_error`, as in `with_columns`; a mere choice copies nothing.
    """
    name = "select"
    return computed(stream, name, {**columns_kept(stream.schema, kept, name), **columns}, on_error)


def columns_kept(schema: Schema, kept: tuple[str | Expression | Alias, ...], who: str) -> dict[str, Any]:
    """What `select` was given without keywords, by name. SchemaError for a column that is not there, or has none."""
    chosen: dict[str, Any] = {}
    for each in kept:
        if isinstance(each, Expression):
            each = column_named_by(each) or each
        chosen |= with_aliased(who, (each,), {}) if isinstance(each, Alias) else _kept(schema, (each,), who)
    return chosen


def rename(
    stream: AnyStream, names: Mapping[str, str] | None = None, /, **columns: str
) -> AnyStream:
    """The same rows; columns are called otherwise: `rename(stream, price="euro")` or
    `rename(stream, {"price": "euro"})` makes price euro. Copies nothing. SchemaError for a column that is not there, or
    two of one name.
    """
    name, schema = "rename", stream.schema
    changes = new_names(names, columns)
    _kept(schema, tuple(changes), name)
    after = [changes.get(each, each) for each in schema.names]
    if len(set(after)) != len(after):
        raise SchemaError(f"operator {name!r}: two columns would be called the same: {', '.join(after)}")
    return computed(stream, name, {new: col(old) for old, new in zip(schema.names, after, strict=True)})


def new_names(names: Mapping[str, str] | None, columns: Mapping[str, str]) -> dict[str, str]:
    """What `rename` was given, new names by old ones. SchemaError for no mapping, and no text."""
    if names is not None and not isinstance(names, Mapping):
        raise SchemaError(f"operator 'rename': give a mapping of old names to new ones, or old='new', not {names!r}")
    changes = {**(names or {}), **columns}
    for old, new in changes.items():
        if not isinstance(new, str):
            raise SchemaError(
                f"operator 'rename': the new name of {old!r} is text, as in rename({old}='other'), not {new!r}; for a "
                f"column that is computed say select(...) or with_columns(...)"
            )
    return changes


def require_other_columns(operator: str, results: Sequence[str]) -> None:
    """SchemaError for two columns of a result that would be called the same."""
    for name in results:
        if results.count(name) > 1:
            raise SchemaError(
                f"operator {operator!r}: two columns of its result would be called {name!r}: call the one that comes "
                f"otherwise before it, .rename({{{name!r}: 'other'}})"
            )


def drop_columns(stream: AnyStream, *dropped: str, name: str = "drop_columns") -> AnyStream:
    """The rows without these columns. Copies nothing. SchemaError for a column that is not there, or if none is left.
    """
    _kept(stream.schema, dropped, name)
    return computed(stream, name, {each: col(each) for each in stream.schema.names if each not in dropped})


def all_columns(schema: Schema) -> dict[str, Any]:
    """Each column as itself."""
    return {name: col(name) for name in schema.names}


def _kept(schema: Schema, names: tuple[Any, ...], who: str) -> dict[str, Any]:
    for name in names:
        if not isinstance(name, str):
            if isinstance(name, list | tuple):
                raise SchemaError(f"operator {who!r}: give the columns one by one, not as {type(name).__name__}")
            raise SchemaError(f'operator {who!r}: give an expression a name, such as euro=col("price") * 89')
        schema.position(name, f"operator {who!r}")
    return {name: col(name) for name in names}


def computed(
    stream: AnyStream, who: str, columns: Mapping[str, Any], on_error: OnError = "fail", step: str = ""
) -> Any:
    """The rows with these columns, by name, each an expression; `who` is what the operator is called, and step which of
    its steps this is."""
    schema = stream.schema
    terms: dict[str, Term] = {}
    kept: dict[str, str] = {}
    for name, value in columns.items():
        if isinstance(value, str):
            raise SchemaError(
                f'operator {who!r}: {name}={value!r} may mean two things; say col("{value}") for the column, or '
                f'lit("{value}") for the text'
            )
        expression = lit(value)
        column = column_named_by(expression)
        if column is not None and column in schema.positions:
            terms[name] = column_term(column, schema.kind(column))
            kept[column] = name
        else:
            terms[name] = typed(expression, schema, who)
    if not terms:
        raise SchemaError(f"operator {who!r}: no column would be left")
    after = Schema.of({name: term.spelled for name, term in terms.items()})
    computes = Step(None, terms, schema if after == schema else after)
    name = f"{who}.{step}" if step else who
    made = applied(stream, name, computes.schema, Computation(schema, computes, _said(columns)), on_error)
    if stream.updates is not None and on_error == "fail":
        made.updates = stream.updates.named(kept)
    return made


def _said(columns: Mapping[str, Any]) -> str:
    return ", ".join([f"{name}={lit(value)!r}" for name, value in columns.items()])
