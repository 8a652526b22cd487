"""The operator that reduces: of each key's rows it makes others, and says how they change."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from tokenring.engine import (
    InputPort,
    MultiplicityOverflowError,
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
from tokenring.operators.collections.sharing import Rejected
from tokenring.operators.collections.streams import schema_of_words
from tokenring.operators.collections.trace import Reader, Trace
from tokenring.operators.collections.updates import (
    DONE,
    FUNCTION_RAISED,
    NEGATIVE,
    TOO_MANY,
    TOTAL_WORDS,
    Sealed,
    as_table,
    both,
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


class KeyFaults:
    """Tells of keys that an operator can make nothing of: errors of the views that lack them. key: its schema; made:
    what the operator sends; called: of each total that functions make, by its number, what is said where one fails."""

    def __init__(self, name: str, key: Schema, made: Stream, called: Sequence[str] = ()) -> None:
        self._name, self._key, self._called = name, key, called
        self._rejected, self._place = made.scope.kept(Rejected), ("operator", made.source.operator)

    def tell(self, words: np.ndarray, time: Sequence[int], error: Exception | None) -> None:
        """Nothing is made of a key's rows at a time, because of this error; or something, where there is none. Raises
        the error if nobody would hear of it."""
        if error is not None and not self._rejected.takes_at(self._place):
            raise error
        said = "" if error is None else f"{type(error).__name__}: {error}"
        self._rejected.set_key(self._place, self._name, key_in_words(self._key, words), tuple(time), said)

    def tell_all(self, faults: np.ndarray) -> bool:
        """The same of int64 (faults; key, time, DONE or what is wrong); whether keys are looked at that had an error,
        which are then to be told of whatever they are."""
        keys = len(self._key)
        for fault in faults:
            time, status = fault[keys:-1].tolist(), int(fault[-1])
            self.tell(fault[:keys], time, None if status == DONE else self.wrong(status, fault[:keys], time))
        return self.are_there

    @property
    def are_there(self) -> bool:
        """Whether there are keys that it had to tell of, and has not seen right since."""
        return self._rejected.has_keys(self._place)

    def wrong(self, status: int, words: np.ndarray, time: Sequence[int]) -> Exception:
        """The error for a key of these words, whose rows are not as they may be at a time."""
        when, key = time[0] if len(time) == 1 else tuple(time), key_in_words(self._key, words)
        at = f"operator {self._name!r}: at {when} {key}"
        if status == NEGATIVE:
            return NegativeMultiplicityError(
                f"{at} has a row fewer times than not at all: more of it was taken away than was there; rows are taken "
                f"away as they were added, at the same time or later"
            )
        if status == TOO_MANY:
            return MultiplicityOverflowError(
                f"{at} has rows more often than 2**63 - 1 times; add them fewer times, and where there are so many, "
                f"let a column say how many each stands for"
            )
        if status >= FUNCTION_RAISED:
            return ValueError(f"{at} has rows at which {self._called[status - FUNCTION_RAISED]}")
        return ValueError(
            f"{at} has a sum beyond what its kind holds, or of rows that are there more often than 2**30 times, up to "
            f"which sums are exact; divide the column first, or cast it to float64, and of rows that are there so "
            f"often, let a column say how many each stands for"
        )


def build_reducing(
    builder: OperatorBuilder[Stream], source: Trace, target: Trace, reduction: Reduction, faults: KeyFaults
) -> None:
    """Give an operator its code: it reads `source` and seals what it makes in `target`, of the same keys."""
    reader, own = source.read(), target.read_all()

    def construct(context: OperatorContext) -> Compiled:
        readers = reader.number, own.number
        return compiled.reducing(source.spine, target.spine, readers, source.keys, reduction, faults.tell_all)

    builder.build_compiled(construct, loops=True)


def build_reducing_by(
    builder: OperatorBuilder[Stream], source: Trace, target: Trace, data: Schema, changes: Changes
) -> None:
    """The same by Python code that says what changes."""
    by_code = partial(_by_code, source, target, changes)
    builder.build(_reducing(source, target, source.read(), target.read_all(), data, by_code))


def _reducing(
    source: Trace,
    target: Trace,
    reader: Reader,
    own: Reader,
    data: Schema,
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

        def look_at(sealed: InputPort, output: OutputPort) -> None:
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
            rights.keep_only([tuple(time) for time in least_times(pending, keys, depth).tolist()])

        def logic(sealed: InputPort, output: OutputPort) -> None:
            look_at(sealed, output)
            target.merge_on(context)

        return logic

    return construct


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
