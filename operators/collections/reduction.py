"""The operator that reduces: of each key's rows it makes others, and says how they change."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tokenring.engine import InputPort, OperatorContext, OutputPort, Token
from tokenring.operators.collections.arranging import send_sealed
from tokenring.operators.collections.frontiers import as_table, both, elements_of, least_of, least_times, split
from tokenring.operators.collections.rights import Rights
from tokenring.operators.collections.trace import Trace
from tokenring.operators.collections.updates import (
    DONE,
    KEY,
    LATER,
    MADE,
    NEGATIVE,
    NO_ROOM,
    Sealed,
    Spine,
    copy_found,
    distinct_keys,
    find_all,
    reduce_keys,
)


class Reduction(NamedTuple):
    """What is made of a key's rows: TOTALS with `parts`, int64 (parts, 2) of (operation, column of the values), PARTS
    with those of (operation, part), EACH, or FIRST with `most` rows."""

    what: int
    most: int
    parts: np.ndarray


def rows_of_keys(
    spine: Spine, keys: int, asked: np.ndarray, before: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The updates of different keys, which rise, in int64 (keys, n): without them, key by key, int64 (values,
    coordinates, multiplicity; rows); and where those of each key begin, and all end, int64 (n + 1,)."""
    table, batches = spine.table(before)
    number, count, columns = asked.shape[1], len(batches), spine.columns
    places = np.empty((2 * count, number), np.int64)
    starts, stops = places[:count], places[count:]
    found = find_all(table, count, columns, keys, asked, number, starts, stops)
    target, bounds = np.empty((columns - keys, found), np.int64), np.empty(number + 1, np.int64)
    copy_found(table, count, columns, keys, number, starts, stops, target, bounds)
    return target, bounds


def reducing(
    name: str, source: Trace, target: Trace, reduction: Reduction
) -> Callable[[OperatorContext, Token], Callable[..., None]]:
    """The operator's constructor: it reads `source` and seals what it makes in `target`, of the same keys."""
    keys, depth = source.keys, source.depth
    reader, own = source.read(), target.read()
    timed = [*range(keys), *range(source.data, source.data + depth)]  # a key, and a time at which it is looked at

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        rights = Rights()
        pending = np.empty((keys + depth + 1, 0), np.int64)

        def logic(sealed: InputPort, output: OutputPort) -> None:
            nonlocal pending
            for reference, _ in sealed:
                rights.keep(reference)
            taken = reader.take()
            if not taken and not pending.shape[1]:
                return
            upper = both(source.upper, elements_of(sealed.frontier)) if source.upper else []
            frontier = as_table(upper, depth)
            due, waiting = split(pending, keys, frontier)
            asked_at = np.ones((keys + depth + 1, sum([batch.rows for batch in taken]) + due.shape[1]), np.int64)
            at = 0
            for batch in taken:
                asked_at[:-1, at : at + batch.rows] = batch.table[timed, : batch.rows]
                at += batch.rows
            asked_at[:-1, at:] = due[:-1]
            if asked_at.shape[1]:
                made, later = _changes(asked_at, frontier)
                if later.shape[1]:
                    waiting = Sealed.of(np.concatenate([waiting, later], axis=1)).words
                pending = np.ascontiguousarray(waiting)
                target.upper = upper
                send_sealed(target, made, rights, output)
            reader.since = own.since = upper
            own.take()
            rights.keep_only(least_of(least_times(pending, keys, depth)))

        def _changes(asked_at: np.ndarray, frontier: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """What changes at these times of keys, as rows of `target`; and the times that are put off."""
            table, rows = Sealed.of(asked_at)
            asked, time_bounds = np.empty((keys, rows), np.int64), np.empty(rows + 1, np.int64)
            count = int(distinct_keys(table, rows, keys, asked, time_bounds))
            asked, time_bounds = np.ascontiguousarray(asked[:, :count]), time_bounds[: count + 1]
            times = np.ascontiguousarray(table[keys:-1, :rows].T)
            rows_now, bounds = rows_of_keys(source.spine, keys, asked)
            before, before_bounds = rows_of_keys(target.spine, keys, asked)
            outputs = target.data - keys
            made = np.empty((1 + outputs + depth + 1, 4 * rows + 64), np.int64)
            later = np.empty((1 + depth, 4 * rows + 64), np.int64)
            state = np.zeros(3, np.int64)
            while True:
                status = reduce_keys(
                    rows_now, bounds, before, before_bounds, times, time_bounds, *reduction, frontier, made, later,
                    state,
                )  # fmt: skip
                if status == DONE:
                    break
                if status != NO_ROOM:
                    key = tuple(asked[:, state[KEY]].tolist())
                    what = "a row fewer times than not at all" if status == NEGATIVE else "a sum beyond int64"
                    raise ValueError(f"operator {name!r}: key {key} has {what}")
                made = np.concatenate([made, np.empty_like(made)], axis=1)
                later = np.concatenate([later, np.empty_like(later)], axis=1)
            made, later = made[:, : state[MADE]], later[:, : state[LATER]]
            changes = np.concatenate([asked[:, made[0]], made[1:]])
            put_off = np.concatenate([asked[:, later[0]], later[1:], np.ones((1, later.shape[1]), np.int64)])
            return np.ascontiguousarray(changes), np.ascontiguousarray(put_off)

        return logic

    return construct
