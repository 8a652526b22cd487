"""The operator that reduces: of each key's rows it makes others, and says how they change."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from tokenring.engine import (
    InputPort,
    NegativeMultiplicityError,
    OperatorBuilder,
    OperatorContext,
    OutputPort,
    Schema,
    Stream,
    Token,
)
from tokenring.engine.compiled import Compiled
from tokenring.operators.collections import compiled
from tokenring.operators.collections.arranging import send_sealed
from tokenring.operators.collections.rights import Rights
from tokenring.operators.collections.streams import schema_of_words
from tokenring.operators.collections.trace import Reader, Trace
from tokenring.operators.collections.updates import (
    DONE,
    NEGATIVE,
    TIME,
    TOTAL_WORDS,
    Sealed,
    as_table,
    both,
    change_keys,
    distinct_keys,
    elements_of,
    least_times,
    split,
)
from tokenring.operators.collections.words import key_in_words

NO_TOTALS = np.zeros((0, TOTAL_WORDS), np.int64)


class Reduction(NamedTuple):
    """What is made of a key's rows: TOTALS or PARTS with `totals`, int64 (totals, TOTAL_WORDS), EACH, or FIRST with
    `most` rows; kinds: of the values, as `kinds_table` has them."""

    what: int
    most: int
    totals: np.ndarray
    kinds: np.ndarray


class Asked(NamedTuple):
    """Different keys, int64 (keys, n), all updates of their rows (values, coordinates, multiplicity), those of key i at
    bounds[i]..bounds[i + 1]; the same of what was made of them; the times, int64 (times, coordinates), at which each is
    to be looked at, rising, those of key i at time_bounds[i]..; and what is not finished, as a table of elements."""

    keys: np.ndarray
    rows: np.ndarray
    bounds: np.ndarray
    before: np.ndarray
    before_bounds: np.ndarray
    times: np.ndarray
    time_bounds: np.ndarray
    frontier: np.ndarray


Changes = Callable[[Asked], tuple[np.ndarray, np.ndarray]]
"""Returns how what is made changes (key, values, coordinates, multiplicity), and the times that are not finished (key,
coordinates, 1)."""


def wrong_key(name: str, schema: Schema, status: int, words: np.ndarray, time: Sequence[int]) -> Exception:
    """The error for a key, of this schema and these words, whose rows are not as they may be at a time."""
    at = f"operator {name!r}: at {time[0] if len(time) == 1 else tuple(time)} {key_in_words(schema, words)} has"
    if status == NEGATIVE:
        return NegativeMultiplicityError(
            f"{at} a row fewer times than not at all: more of it was taken away than was there; rows are taken away as "
            f"they were added, at the same time or later"
        )
    return ValueError(f"{at} a sum beyond what its kind holds")


def build_reducing(
    builder: OperatorBuilder[Stream], name: str, source: Trace, target: Trace, data: Schema, reduction: Reduction
) -> None:
    """Give an operator its code: it reads `source` and seals what it makes in `target`, of the same keys. data: the
    schema of that."""
    reader, own = source.read(), target.read_all()
    if builder.can_be_compiled:
        wrong = partial(wrong_key, name, data.select(data.names[: source.keys]))

        def construct(context: OperatorContext) -> Compiled:
            readers = reader.number, own.number
            return compiled.reducing(source.spine, target.spine, readers, source.keys, reduction, wrong)

        builder.build_compiled(construct)
    else:
        changes = partial(_by_kernel, name, data.select(data.names[: source.keys]), source, target, reduction)
        builder.build(_reducing(source, target, reader, own, data, changes))


def build_reducing_by(
    builder: OperatorBuilder[Stream], source: Trace, target: Trace, data: Schema, changes: Changes
) -> None:
    """The same by Python code that says what changes."""
    by_code = partial(_by_code, source, target, changes)
    builder.build(_reducing(source, target, source.read(), target.read_all(), data, by_code))


def _reducing(
    source: Trace, target: Trace, reader: Reader, own: Reader, data: Schema,
    changes: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
) -> Callable[[OperatorContext, Token], Callable[..., None]]:
    """The operator's constructor. changes: what changes at these keys and times (keys, coordinates, 1), as `Changes`
    returns it, by what is not finished."""
    keys, depth = source.keys, source.depth
    schema = schema_of_words(data, depth)
    timed = [*range(keys), *range(source.data, source.data + depth)]  # a key, and a time at which it is looked at

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        rights = Rights()
        pending = np.empty((keys + depth + 1, 0), np.int64)

        def logic(sealed: InputPort, output: OutputPort) -> None:
            nonlocal pending
            taken = []
            for reference, batch in reader.take(sealed):
                rights.keep(reference)
                taken.append(batch[timed])
            if not taken and not pending.shape[1]:
                return
            upper = both(source.upper, elements_of(sealed.frontier)) if source.upper else []
            frontier = as_table(upper, depth)
            due, waiting = split(pending, keys, frontier)
            asked_at = np.ones((keys + depth + 1, sum([part.shape[1] for part in taken]) + due.shape[1]), np.int64)
            np.concatenate([*taken, due[:-1]], axis=1, out=asked_at[:-1])
            if asked_at.shape[1]:
                made, later = changes(asked_at, frontier)
                if later.shape[1]:
                    waiting = Sealed.of(np.concatenate([waiting, later], axis=1)).words
                pending = np.ascontiguousarray(waiting)
                target.upper = upper
                send_sealed(target, schema, made, rights, output)
            reader.since = own.since = upper
            rights.keep_only(least_times(pending, keys, depth))

        return logic

    return construct


def _by_kernel(
    name: str, key: Schema, source: Trace, target: Trace, reduction: Reduction, asked_at: np.ndarray,
    frontier: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """What changes by one of the reductions that kernels know. key: the schema of the key."""
    depth = source.depth
    state = np.zeros(TIME + depth + 1 + source.keys, np.int64)
    changes, put_off = change_keys(
        source.spine.words, source.spine.least, target.spine.words, source.keys, asked_at, *reduction, frontier, state
    )
    if state[TIME + depth] != DONE:
        status, time = int(state[TIME + depth]), state[TIME : TIME + depth].tolist()
        raise wrong_key(name, key, status, state[TIME + depth + 1 :], time)
    return changes, put_off


def _by_code(
    source: Trace, target: Trace, changes: Changes, asked_at: np.ndarray, frontier: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What changes by Python code."""
    keys = source.keys
    table, rows = Sealed.of(asked_at)
    asked, time_bounds = np.empty((keys, rows), np.int64), np.empty(rows + 1, np.int64)
    count = int(distinct_keys(table, rows, keys, asked, time_bounds))
    asked, time_bounds = np.ascontiguousarray(asked[:, :count]), time_bounds[: count + 1]
    times = np.ascontiguousarray(table[keys:-1, :rows].T)
    rows_now, bounds = source.spine.rows_of_keys(keys, asked)
    before, before_bounds = target.spine.rows_of_keys(keys, asked)
    return changes(Asked(asked, rows_now, bounds, before, before_bounds, times, time_bounds, frontier))
