"""What collections and arrangements say of a method that they do not have: what does it here, or where it is."""

from collections.abc import Iterable

from tokenring.engine import did_you_mean
from tokenring.engine.errors import NoSuchMethodError

_HERE = {
    "agg": ".aggregate(key, ...)",
    "collection": "a collection already",
    "drop": ".drop_columns(...)",
    "filter_batches": ".filter(...)",
    "filter_rows": ".filter(...)",
    "flat_map_rows": ".flat_map(schema, function)",
    "group_by": ".aggregate(key, ...)",
    "last_by": ".top(key, order)",
    "latest": ".top(key, order)",
    "map_rows": ".map_batches(schema, function)",
    "scan": ".reduce(key, function, schema)",
    "to_database": ".to_upserts(key).to_database(..., key=key, deleted='deleted')",
    "union": ".concat(...)",
    "where": ".filter(...)",
}
"""What streams, and other libraries, call it."""


def no_method(what: str, name: str, own: type, others: Iterable[tuple[type, str]], here: str = "") -> NoSuchMethodError:
    """The error for a method that `what`, of the class `own`, has not. others: classes that may have it, and how one
    comes to one of them; here: how one comes to a collection."""
    if name.startswith("_"):
        return NoSuchMethodError(f"{what} has no {name!r}")
    if name in _HERE:
        return NoSuchMethodError(f"{what} has no {name!r}; here it is {here}{_HERE[name]}")
    for other, way in others:
        if hasattr(other, name):
            call = "(...)" if callable(getattr(other, name)) else ""
            return NoSuchMethodError(f"{what} has no {name!r}; say {way}.{name}{call}")
    near = did_you_mean(name, [each for each in dir(own) if not each.startswith("_")])
    return NoSuchMethodError(f"{what} has no {name!r}{near}")
