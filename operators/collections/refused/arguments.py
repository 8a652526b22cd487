"""What operators of collections are given and cannot take, and what they say of it."""

from tokenring.engine import Kind, Schema, SchemaError, Stream, UsageError
from tokenring.operators.durations import Span, span_of
from tokenring.operators.expressions import cure_of_keys
from tokenring.operators.time import kind_of_times


def span_back(what: str, value: Span, stream: Stream) -> int:
    """How far back in the stream's times, in ns if it is a duration. SchemaError for what is none, or a duration where
    times are whole numbers of a column, whose unit nobody knows, UsageError below 0."""
    found = span_of(value, kind_of_times(stream), what)
    if found < 0:
        raise UsageError(f"{what} must be 0 or more, not {value!r}")
    return found


def became_nullable(before: Schema, after: Schema) -> list[str]:
    """The columns, of both, of numbers that could not be null, and may be, so that one of them would be taken for it.
    """
    return [
        each
        for each, kind in zip(before.names, before.kinds, strict=True)
        if each in after.positions and after.kind(each).nullable > kind.nullable and kind.null_is_a_number
    ]


def require_one_kind(name: str, key: str, kind: Kind, other: str, other_kind: Kind) -> None:
    """SchemaError for two columns of other kinds, null or not, by which operator `name` is to join."""
    if kind.name != other_kind.name:
        raise SchemaError(
            f"operator {name!r}: {key!r} is {kind} and {other!r} is {other_kind}; keys are of one kind: "
            f"{cure_of_keys(kind, other_kind)}"
        )


def as_null(column: str, kind: Kind) -> str:
    """What is said of a column in which there is the number that would be null."""
    return (
        f"column {column!r} holds {kind.null_word()[0]}, the number that stands for null in {kind}: leave such rows "
        f"out before, or cast the column to another kind"
    )
