"""Streams of updates: marked where they are made, refused where each row would be taken for a new one.

An operator is one of four: it makes updates (`updates_by`); answers rows one by one, and hands the mark on; keeps the
newest row of each key, and takes updates of that key (`require_newest`); or takes rows as they come (`require_rows`).
What is sent by hand, by sources and by `unary` is rows; so is what comes round a loop. What tells how a collection
changes is marked as well: upserts are updates, in order of time; changes are rows, of which some take others away.
"""

from collections.abc import Collection
from typing import Literal

from tokenring.engine import AnyStream, GraphError, Stream, Updates
from tokenring.engine.declare import require_streams


def updates_by(
    stream: AnyStream, operator: str, by: Collection[str] | None, of_collection: Literal["", "changes", "upserts"] = ""
) -> AnyStream:
    """The stream, marked: a later row takes the place of the earlier one with the same `by`. of_collection: what of a
    collection it tells; of its changes, by None, none takes another's place."""
    stream.updates = Updates(operator, None if by is None else tuple(by), of_collection=of_collection)
    return stream


def as_rows(stream: AnyStream) -> AnyStream:
    """The same rows, no longer taken for updates: where every change is to count as a row of its own, such as how often
    a value has changed. Costs nothing.
    """
    return type(stream)(stream.scope, stream.source, stream.schema, stream.stage)


def require_rows(operator: str, *streams: Stream) -> None:
    """GraphError for what is no stream, and for streams of updates: what they replace would stay in the answer. Changes
    of a collection replace nothing: a column of theirs says which rows are taken away."""
    require_streams(f"operator {operator!r}", *streams)
    for stream in streams:
        updates = stream.updates
        if updates is None or updates.of_collection == "changes":
            continue
        cure = (
            f"Compute from rows before it; or let {updates.operator!r} say each result once, by window=... or "
            f"emit='final', or make it a collection of results that change, by changes=True, if it can"
        )
        if updates.of_collection:
            cure = f"Compute with the collection itself, before {updates.operator!r}, and tell of what comes of that"
        raise GraphError(
            f"operator {operator!r} takes each row for a new one, but those of {stream!r} are updates: "
            f"{_described(updates)}. What is replaced would stay in the answer. {cure}; or say as_rows(stream), if "
            f"every change is to be a row"
        )


def changes_among(*streams: Stream) -> Updates | None:
    """The mark of what is made of one row each of streams that `require_rows` let pass: changes of a collection, if any
    of them is."""
    return next((stream.updates for stream in streams if stream.updates is not None), None)


def require_newest(operator: str, stream: Stream, by: Collection[str], by_time: bool = False) -> None:
    """GraphError for updates by another key than `by`, of which some were left out, or which do not come in the order
    that tells which is the newest; and for changes of a collection, the newest of which may take a row away. by_time:
    the newest is that of the latest message time, which updates do not follow, if they are not told of a collection:
    what rows that come late make of a result is sent after what it replaces, at an earlier time."""
    updates = stream.updates
    if updates is None:
        return
    if updates.of_collection == "changes":
        raise GraphError(
            f"operator {operator!r} keeps the newest row by {', '.join(by)}, but those of {stream!r} are changes of a "
            f"collection, told by {updates.operator!r}: the newest may be one that takes a row away. Say "
            f".to_upserts({' '.join(by)!r}) of the collection in place of .changes(): each row is the key's new one "
            f"then, or says by a column, deleted, that there is none; or say as_rows(stream), if every change is to be "
            f"a row"
        )
    found = f"those of {stream!r} are updates: {_described(updates)}"
    if updates.by is None or set(updates.by) != set(by):
        raise GraphError(
            f"operator {operator!r} keeps the newest row by {', '.join(by)}, but {found}. What is replaced would stay "
            f"in the answer. Keep the newest by that key, with all its columns and before rows are left out "
            f"(last_by and to_database take several, latest one); or say "
            f"as_rows(stream), if every change is to be a row"
        )
    if updates.reordered_by is None and (updates.of_collection or not by_time):
        return
    keyed = ", ".join(by)
    cure = f"; or let {updates.operator!r} make a collection, by changes=True, and .to_upserts({' '.join(by)!r}) rows"
    if by_time and not updates.of_collection:
        why = f"keeps the row of the latest time by {keyed}, but {found}, also where its time is earlier"
        cure += " of that, with their times in a column, by which temporal_join(..., version_time='time') goes"
    else:
        why = f"keeps the last row by {keyed}, but {found}, and {updates.reordered_by!r} may send them in another order"
        cure = "" if updates.of_collection else f"{cure} of that"
    raise GraphError(
        f"operator {operator!r} {why}. What is replaced could stay in the answer. Keep the newest before{cure}; or say "
        f"as_rows(stream), if times tell which row is the newest"
    )


def _described(updates: Updates) -> str:
    if updates.by is None:
        return (
            f"rows of {updates.operator!r} take the places of earlier ones, and what would tell of which was left out "
            f"behind it"
        )
    if not updates.by:
        return f"each row of {updates.operator!r} takes the place of the one before"
    return f"each row of {updates.operator!r} takes the place of the one before with the same {', '.join(updates.by)}"
