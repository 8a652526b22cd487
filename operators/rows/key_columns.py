"""The columns of a key, as operators are given them and as exchanges take them."""

from collections.abc import Sequence

from tokenring.engine import SchemaError


def columns_of(by: str | Sequence[str]) -> tuple[str, ...]:
    """Column names as a tuple: a string of names, or a sequence of them. SchemaError for what is neither."""
    if not isinstance(by, str | Sequence):
        raise SchemaError(f"columns are named as 'auction bidder' or ('auction', 'bidder'), not by {by!r}")
    return tuple(by.split()) if isinstance(by, str) else tuple(by)


def exchanged_by(by: tuple[str, ...]) -> str | tuple[str, ...]:
    """The key of an exchange by these columns."""
    return by[0] if len(by) == 1 else by
