"""What operators of collections are given and cannot take, and what they say of it."""

from operator import index
from typing import Any

from tokenring.engine import MAX_TIME, Kind, Schema, UsageError
from tokenring.operators.durations import Span, span_of


def whole_number(operator: str, argument: str, value: Any, least: int | None) -> int:
    """A whole number that an argument says, from `least` to MAX_TIME, or any but 0 that is no greater, either way;
    UsageError, naming both, for another."""
    try:
        found = None if isinstance(value, bool) else index(value)
    except TypeError:
        found = None
    if found is None or abs(found) > MAX_TIME or (found == 0 if least is None else found < least):
        said = "above or below 0" if least is None else f"{least} or more"
        if found is not None and abs(found) > MAX_TIME:
            said = f"from {-MAX_TIME if least is None else least} to {MAX_TIME}"
        raise UsageError(f"operator {operator!r}: {argument} must be a whole number, {said}, not {value!r}")
    return found


def span_back(what: str, value: Span) -> int:
    """How far back in time, in ns if it is a duration. SchemaError for what is none, UsageError below 0."""
    found = span_of(value, "", what)
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


def as_null(column: str, kind: Kind) -> str:
    """What is said of a column in which there is the number that would be null."""
    return (
        f"column {column!r} holds {kind.null_word()[0]}, the number that stands for null in {kind}: leave such rows "
        f"out before, or cast the column to another kind"
    )
