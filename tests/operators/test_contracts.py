"""What every operator with state promises, over the same awkward streams: beside plain Python over all rows.

Streams are empty, of one time, in no order, of nulls and NaN, of equal times on both inputs, and of bursts that wait
for room; operators are compiled or in Python, by tokens or notifications, on one to three workers, with bins that move
or without. Of the ways to run each pair takes some in turn, so that each stands beside all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.errors import raises
from tests.long_form import LONG
from tests.operators.helpers import bench
from tests.operators.moving import BINS, moving
from tokenring.engine import InputPort, Notify, OperatorContext, OperatorError, OutputPort, Schema, Stream, Token
from tokenring.operators import (
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Min,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    as_rows,
    col,
    collect,
    count,
    distinct,
    interval_join,
    join,
    last_by,
    latest,
    select,
    temporal_join,
    top,
    with_columns,
)

ROW = Schema("n at ref", key="int64?", value="int64?", share="float64", name="string?")
OTHER = Schema.of({f"o_{name}": str(kind) for name, kind in zip(ROW.names, ROW.kinds, strict=True)})
Row = dict[str, Any]
Rows = list[Row]
NAMES = {None: None, 0: "", 1: "a name longer than eight bytes", 2: "ä"}
"""Of keys; what is behind stands for the others."""
Message = tuple[int, int, Rows]
"""Its time, the input that it is for, and its rows."""


# Streams


def row(n: int, at: int, dice: Random, keys: Sequence[Any] = (0, 1, 2), shares: Sequence[float] = (0.5, 1.5)) -> Row:
    """One of a few keys, in numbers and in text; `ref` is the number of some row."""
    key = dice.choice(keys)
    return {
        "n": n, "at": at, "ref": dice.randrange(40), "key": key, "value": dice.choice([None, -3, 0, 7]),
        "share": dice.choice(shares), "name": NAMES.get(key, f"{key}"),
    }  # fmt: skip


def at_times(times: Sequence[int], dice: Random, ahead: int = 0, **more: Any) -> list[Message]:
    """Messages of three rows for each input at each time, which are ahead of it by so much at most."""
    numbers = iter(range(10**6))
    return [
        (time, to, [row(next(numbers), time + dice.randint(0, ahead), dice, **more) for _ in range(3)])
        for time in times
        for to in (0, 1)
    ]


def empty(dice: Random) -> list[Message]:
    sent = at_times([3, 11, 12], dice)
    return [one for message in sent for one in ((message[0], message[1], []), message)] + [(20, 0, []), (20, 1, [])]


def not_numbers(dice: Random) -> list[Message]:
    """NaN is the first value of one key, the last of another, and all that a third one has; zeros of both signs."""
    sent = at_times([0, 4, 8, 15], dice, shares=(0.0, -0.0, -2.0))
    for _, _, rows in sent[:2]:
        rows[0] |= {"key": 0, "name": "", "share": math.nan}
        rows[1] |= {"key": 3, "name": "3", "share": math.nan}
    for _, _, rows in sent[-2:]:
        rows[-1] |= {"key": 1, "name": NAMES[1], "share": math.nan}
    return sent


STREAMS: dict[str, Callable[[Random], list[Message]]] = {
    "nothing": lambda dice: [],
    "empty messages": empty,
    "time 0": lambda dice: at_times([0, 0, 0], dice),
    "disorder": lambda dice: at_times([0, 1, 5, 6, 20, 21], dice, ahead=25),
    "nulls": lambda dice: at_times([0, 2, 9, 14], dice, ahead=3, keys=(None, 0, None, 1)),
    "no numbers": not_numbers,
    "equal times": lambda dice: at_times([0, 5, 10, 10, 15, 20], dice, keys=(0, 1)),
    "bursts": lambda dice: [
        (0, to, [row(100 * to + n, n // 4, dice, keys=range(7)) for n in range(100)]) for to in (0, 1)
    ],
}


# Operators, and what they come to

Windows = Callable[[Rows], Iterator[tuple[int, int, Rows]]]
Fold = Callable[[Rows], tuple[Any, ...]]
AGGREGATES: dict[str, Any] = {
    "rows": Count(), "present": Count("value"), "total": Sum("value"), "low": Min("value"), "high": Max("value"),
    "least": Min("share"), "most": Max("share"), "first": First("ref", order="n"), "last": Last("ref", order="n"),
}  # fmt: skip


def folded(rows: Rows) -> tuple[Any, ...]:
    """What AGGREGATES are."""
    values = [one["value"] for one in rows if one["value"] is not None]
    shares = [one["share"] for one in rows if not math.isnan(one["share"])]
    ordered = [one["ref"] for one in sorted(rows, key=lambda one: one["n"])]
    return (
        len(rows), len(values), sum(values) if values else None, min(values, default=None), max(values, default=None),
        min(shares, default=math.nan), max(shares, default=math.nan), ordered[0], ordered[-1],
    )  # fmt: skip


def groups(rows: Rows, by: str) -> dict[tuple[Any, ...], Rows]:
    found: dict[tuple[Any, ...], Rows] = {}
    for one in rows:
        found.setdefault((one[by],) if by else (), []).append(one)
    return found


def grid(width: int, every: int) -> Windows:
    """(start, end, rows) of the windows on a grid."""

    def windows(rows: Rows) -> Iterator[tuple[int, int, Rows]]:
        starts = {start for one in rows for start in range(-width, one["at"] + 1) if start % every == 0}
        for start in starts:
            inside = [one for one in rows if start <= one["at"] < start + width]
            if inside:
                yield start, start + width, inside

    return windows


def sessions(rows: Rows) -> Iterator[tuple[int, int, Rows]]:
    """The same of sessions with gaps of 4."""
    inside: Rows = []
    for one in sorted(rows, key=lambda one: one["at"]):
        if inside and one["at"] - inside[-1]["at"] >= 4:
            yield inside[0]["at"], inside[-1]["at"] + 4, inside
            inside = []
        inside.append(one)
    if inside:
        yield inside[0]["at"], inside[-1]["at"] + 4, inside


SETS: dict[str, Any] = {"kinds": CountDistinct("value"), "refs": CountDistinct("ref", where=col("value") > 0)}


def counted(rows: Rows) -> tuple[Any, ...]:
    """What SETS are."""
    return (
        len({one["value"] for one in rows} - {None}),
        len({one["ref"] for one in rows if one["value"] is not None and one["value"] > 0}),
    )


def windowed(windows: Windows, fold: Fold = folded) -> Callable[..., list[tuple[Any, ...]]]:
    return lambda rows, by: [
        (start, end, *key, *fold(inside))
        for key, some in groups(rows, by).items()
        for start, end, inside in windows(some)
    ]


def best(rows: Rows, by: str) -> list[tuple[Any, ...]]:
    """The two greatest shares of each key, of equal ones the least number."""
    found = []
    for key, some in groups([one for one in rows if not math.isnan(one["share"])], by).items():
        ranked = sorted(some, key=lambda one: (-one["share"], one["n"]))
        found += [(*key, one["n"], rank) for rank, one in enumerate(ranked[:2], 1)]
    return found


def newest(columns: int) -> Callable[[list[tuple[Any, ...]]], list[tuple[Any, ...]]]:
    """Of updates the last one of each key, which is their first columns (of results by rank, the last, too)."""
    return lambda found: list({one[:columns]: one for one in found}.values())


def of_ranks(columns: int) -> Callable[[list[tuple[Any, ...]]], list[tuple[Any, ...]]]:
    return lambda found: list({(*one[:columns], one[-1]): one for one in found}.values())


def all_sent(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return found


class Operator(NamedTuple):
    """make(stream, by) or, of two inputs, make(stream, other); expected(rows, by) or expected(rows, others); left: what
    counts of that which is sent, in order; is_latest: keys are numbers, and messages come one after the other, since a
    later one counts for more where bins move."""

    make: Callable[..., Any]
    expected: Callable[..., list[tuple[Any, ...]]]
    left: Callable[[list[tuple[Any, ...]]], list[tuple[Any, ...]]] = all_sent
    is_latest: bool = False


def by_window(window: Any, windows: Windows) -> Operator:
    return Operator(lambda s, by: aggregate(s, by, window=window, **AGGREGATES), windowed(windows))


def sets_by_window(window: Any, windows: Windows) -> Operator:
    return Operator(lambda s, by: aggregate(s, by, window=window, **SETS), windowed(windows, counted))


def of_one_input(keyed: bool) -> dict[str, Operator]:
    """Those of one input; their keys are in one column, or all rows are together."""
    size = int(keyed)
    found = {
        "tumbling": by_window(Tumbling("at", 10), grid(10, 10)),
        "sliding": by_window(Sliding("at", 10, 5), grid(10, 5)),
        "session": by_window(Session("at", 4), sessions),
        "tumbling sets": sets_by_window(Tumbling("at", 10), grid(10, 10)),
        "sliding sets": sets_by_window(Sliding("at", 10, 5), grid(10, 5)),
        "session sets": sets_by_window(Session("at", 4), sessions),
        "running": Operator(
            lambda s, by: aggregate(s, by, **AGGREGATES),
            lambda rows, by: [(*key, *folded(some)) for key, some in groups(rows, by).items()],
            newest(size),
        ),
        "final": Operator(
            lambda s, by: aggregate(s, by, emit="final", **AGGREGATES),
            lambda rows, by: [(*key, *folded(some)) for key, some in groups(rows, by).items()],
        ),
        "top": Operator(
            lambda s, by: select(as_rows(top(s, by, order="share", k=2, ties="n")), *by.split(), "n", "rank"),
            best,
            of_ranks(size),
        ),
        "top of a window": Operator(
            lambda s, by: select(
                top(s, by, order="share", k=2, ties="n", window=Tumbling("at", 1 << 40)), *by.split(), "n", "rank"
            ),
            best,
        ),
    }
    if keyed:
        found |= {
            "running sets": Operator(
                lambda s, by: aggregate(s, by, **SETS),
                lambda rows, by: [(*key, *counted(some)) for key, some in groups(rows, by).items()],
                newest(size),
            ),
            "last_by": Operator(
                lambda s, by: select(as_rows(last_by(s, by, order="n")), by, "n"),
                lambda rows, by: [(*key, max(one["n"] for one in some)) for key, some in groups(rows, by).items()],
                newest(1),
            ),
            "distinct": Operator(lambda s, by: select(distinct(s, by), by), lambda rows, by: [*groups(rows, by)]),
            "latest": Operator(
                lambda s, by: latest(as_rows(count(select(s, key=col("key").fill_null(-1)), "key")), "key"),
                lambda rows, by: [
                    (-1 if key is None else key, len(some)) for (key,), some in groups(rows, by).items()
                ],
                is_latest=True,
            ),
            "collect": Operator(lambda s, by: collect(select(s, "n", by)), lambda rows, by: [
                (one["n"], one[by]) for one in rows
            ]),
        }  # fmt: skip
    else:
        found["distinct"] = Operator(
            lambda s, by: distinct(select(s, "key", "value")),
            lambda rows, by: list({(one["key"], one["value"]) for one in rows}),
        )
    return found


def paired(matches: Callable[[Row, Row], bool], how: str) -> Callable[[Rows, Rows], list[tuple[Any, ...]]]:
    """(n, other n) of rows that match, or what `how` says."""

    def pairs(rows: Rows, others: Rows) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = [(a["n"], b["n"]) for a, b in product(rows, others) if matches(a, b)]
        lone = [(one["n"], None) for one in rows if not any(matches(one, other) for other in others)]
        lone_others = [(None, one["n"]) for one in others if not any(matches(other, one) for other in rows)]
        if how in ("semi", "anti"):
            matched = {pair[0] for pair in found}
            return [(one["n"],) for one in rows if (one["n"] in matched) == (how == "semi")]
        return found + lone * (how in ("left", "full")) + lone_others * (how in ("right", "full"))

    return pairs


def same_key(a: Row, b: Row) -> bool:
    return a["key"] is not None and a["key"] == b["key"]


def in_windows(how: str) -> Callable[[Rows, Rows], list[tuple[Any, ...]]]:
    """What a join is within each window of 10, of which one begins every 5."""
    join_of = paired(same_key, how)

    def answer(rows: Rows, others: Rows) -> list[tuple[Any, ...]]:
        starts = {at // 5 * 5 - back for one in rows + others for at in [one["at"]] for back in (0, 5)}
        return [
            (start, start + 10, *pair)
            for start in starts
            for pair in join_of(*[[one for one in some if start <= one["at"] < start + 10] for some in (rows, others)])
        ]

    return answer


def of_some(answer: Callable[[Rows, Rows], list[tuple[Any, ...]]]) -> Callable[[Rows, Rows], list[tuple[Any, ...]]]:
    """Of the rows of both sides whose `ref` is below 20."""
    return lambda rows, others: answer(*[[one for one in side if one["ref"] < 20] for side in (rows, others)])


FINE = 1000
"""Of the times of a temporal join a row has one, so that no two versions are of one time; some are of both inputs."""


def versioned(rows: Rows, others: Rows) -> list[tuple[Any, ...]]:
    """(n, the number of the version that is valid at its time)."""
    found = []
    for one in rows:
        asked = one["at"] * FINE + one["ref"]
        valid = [other for other in others if same_key(one, other) and other["at"] * FINE + other["n"] <= asked]
        found.append((one["n"], max(valid, key=lambda other: other["at"] * FINE + other["n"])["n"] if valid else None))
    return found


HOWS = ("inner", "left", "right", "full", "semi", "anti")


def chosen(how: str) -> Any:
    return {"n": "left.n"} if how in ("semi", "anti") else {"n": "left.n", "o_n": "right.o_n"}


def of_two_inputs() -> dict[str, Operator]:
    """Joins."""
    keys = {"key": "o_key"}
    found = {}
    for how in HOWS:
        found[f"join {how}"] = Operator(
            lambda a, b, how=how: join(a, b, on=keys, how=how, columns=chosen(how)), paired(same_key, how)
        )
        found[f"join {how} by window"] = Operator(
            lambda a, b, how=how: select(
                join(a, b, on=keys, how=how, columns=chosen(how), window=Tumbling("at", 10), right_time="o_at"),
                *chosen(how),
            ),
            paired(lambda a, b: same_key(a, b) and a["at"] // 10 == b["at"] // 10, how),
        )
        found[f"interval_join {how}"] = Operator(
            lambda a, b, how=how: interval_join(
                a, b, on=keys, how=how, columns=chosen(how), left_time="at", right_time="o_at", lower=-3, upper=5
            ),
            paired(lambda a, b: same_key(a, b) and a["at"] - 3 <= b["at"] <= a["at"] + 5, how),
        )
        if how not in ("semi", "anti"):
            found[f"join {how} of a unique side"] = Operator(
                lambda a, b, how=how: join(
                    a, b, left_on="ref", right_on="o_n", how=how, columns=chosen(how), unique="right"
                ),
                paired(lambda a, b: a["ref"] == b["n"], how),
            )
        some = {"left_where": col("ref") < 20, "right_where": col("o_ref") < 20}
        found[f"join {how} of some rows"] = Operator(
            lambda a, b, how=how, some=some: join(a, b, on=keys, how=how, columns=chosen(how), **some),
            of_some(paired(same_key, how)),
        )
    for how in ("inner", "left", "full"):
        found[f"interval_join {how} of a unique side"] = Operator(
            lambda a, b, how=how, some=some: interval_join(
                a,
                b,
                left_on="ref",
                right_on="o_n",
                how=how,
                columns=chosen(how),
                left_time="at",
                right_time="o_at",
                lower=-3,
                upper=5,
                unique="right",
                **some,
            ),
            of_some(paired(lambda a, b: a["ref"] == b["n"] and a["at"] - 3 <= b["at"] <= a["at"] + 5, how)),
        )
        found[f"join {how} of some rows of a unique side"] = Operator(
            lambda a, b, how=how, some=some: join(
                a, b, left_on="ref", right_on="o_n", how=how, columns=chosen(how), unique="right", **some
            ),
            of_some(paired(lambda a, b: a["ref"] == b["n"], how)),
        )
    for how in ("inner", "full", "anti"):
        found[f"join {how} by sliding window"] = Operator(
            lambda a, b, how=how: join(
                a, b, on=keys, how=how, columns=chosen(how), window=Sliding("at", 10, 5), right_time="o_at"
            ),
            in_windows(how),
        )
    for how in ("inner", "left"):
        found[f"temporal_join {how}"] = Operator(
            lambda a, b, how=how: temporal_join(
                with_columns(a, at=col("at") * FINE + col("ref")),
                with_columns(b, o_at=col("o_at") * FINE + col("o_n")),
                on=keys,
                how=how,
                columns=chosen(how),
                time="at",
                version_time="o_at",
            ),
            lambda rows, others, how=how: [
                pair for pair in versioned(rows, others) if how == "left" or pair[1] is not None
            ],
        )
    return found


def each_at_its_time(stream: Stream) -> Stream:
    """Each row is a message at its own time; all of them are sent in one call."""

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                times = batch.columns[1]
                order = np.argsort(times, kind="stable")
                held = reference.retain()
                output.give_each(held, batch.take(order), times[order])
                held.drop()

        return logic

    return stream.unary("bursts", stream.schema, construct, notify=Notify.NEVER)


# Ways to run


class Way(NamedTuple):
    mechanism: str
    workers: int
    bins: bool

    def __str__(self) -> str:
        return " ".join([self.mechanism, str(self.workers), *["bins"] * self.bins])


WAYS = [
    Way("tokens", 1, False), Way("tokens", 2, False), Way("tokens", 3, False), Way("tokens", 2, True),
    Way("tokens", 3, True), Way("notifications", 1, False), Way("notifications", 2, False),
    Way("notifications", 3, False),
]  # fmt: skip
LATE_WAYS = [way for way in WAYS if way.mechanism == "tokens"]
"""With notifications a row is a message at its own time, and never late."""
TURNS = 2 if LONG else 1
"""How many ways each operator runs over each stream."""


def plain(one: tuple[Any, ...]) -> tuple[Any, ...]:
    """NaN compares, and 0.0 is -0.0."""
    return tuple("NaN" if value != value else value + 0.0 if isinstance(value, float) else value for value in one)


def same(found: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]]) -> bool:
    return sorted(map(repr, map(plain, found))) == sorted(map(repr, map(plain, expected)))


class Found(NamedTuple):
    sent: list[tuple[Any, ...]]
    """In the order in which they came."""
    kept: list[list[tuple[Any, ...]]]
    """What sinks keep; of late rows a list for each input."""


def with_key(stream: Stream, in_text: bool) -> Stream:
    """The rows with one key, a number or a text."""
    before = stream.schema.names[0].removesuffix("n")
    kept = [f"{before}{name}" for name in ("n", "at", "ref", "value", "share")]
    return select(stream, *kept, **{f"{before}key": col(f"{before}{'name' if in_text else 'key'}")})


def run(
    make: Callable[..., Any], inputs: int, messages: Sequence[Message], way: Way, dice: Random, in_bursts: bool = False,
    in_text: bool = False, one_by_one: bool = False,
) -> Found:  # fmt: skip
    """What comes of messages behind `make(*streams)`: a stream, a sink, or a stream and those of late rows."""
    kept: list[list[Any]] = []

    def declare(*streams: Stream) -> Stream:
        keyed = [with_key(stream, in_text) for stream in streams]
        given = [each_at_its_time(stream) for stream in keyed] if in_bursts else keyed
        made = make(*given)
        if isinstance(made, Stream):
            kept.append([])
            return made
        if isinstance(made, tuple):
            kept.append([collect(late) for late in made[1:]])
            return made[0]
        kept.append([made])
        return streams[0]

    moves = [(time, number, dice.randrange(way.workers)) for time in (3, 9, 12) for number in range(BINS)]
    declared = moving(declare, way.workers, moves) if way.bins else declare
    schemas = [ROW, OTHER][:inputs]
    queue_bytes = 1 << 14 if way.bins else 1 << 12  # what moves may be one large row
    with bench(
        schemas, declared, way.workers, way.mechanism, ["at", "o_at"][: len(schemas)], queue_bytes=queue_bytes
    ) as made:
        for number, (time, to, rows) in enumerate(messages):
            if to >= len(schemas):
                continue
            for handles in made.inputs:
                for handle in handles:
                    handle.advance_to(time)
            columns = [[one[name] for one in rows] for name in ROW.names]
            made.send(dict(zip(schemas[to].names, columns, strict=True)), worker=number % way.workers, to=to)
            if one_by_one or dice.randrange(2):
                made.settle()
        made.close()
        rows_kept = [
            [one for sink in sinks for one in zip(*[some.tolist() for some in sink.columns().values()], strict=True)]
            for sinks in zip(*kept, strict=True)
        ]
        return Found([one[2:] for one in made.rows], rows_kept)


def of_inputs(messages: Sequence[Message]) -> tuple[Rows, Rows]:
    first, second = [[one for _, to, rows in messages if to == side for one in rows] for side in (0, 1)]
    return first, second


def ways_for(operator: int, stream: int) -> list[Way]:
    """Some for each pair, so that each way stands beside each operator and each stream."""
    return [WAYS[(3 * operator + stream + 4 * turn) % len(WAYS)] for turn in range(TURNS)]


def check(operators: dict[str, Operator], name: str, by: str | None) -> None:
    """Run an operator over every stream. by: the key, or "" for all rows together; None of two inputs."""
    operator, number = operators[name], list(operators).index(name)
    make = operator.make if by is None else lambda stream: operator.make(stream, by)
    for which, (called, stream) in enumerate(STREAMS.items()):
        for turn, way in enumerate(ways_for(number, which)):
            dice = Random(turn)
            messages = stream(dice)
            in_text = (turn + which // 2 + number) % 2 == 1 and not operator.is_latest
            rows, others = of_inputs(messages)
            if in_text:
                rows, others = [[one | {"key": one["name"]} for one in some] for some in (rows, others)]
            found = run(make, 1 + (by is None), messages, way, dice, called == "bursts", in_text, operator.is_latest)
            left = operator.left(found.kept[0] if found.kept else found.sent)
            assert same(left, operator.expected(rows, others if by is None else by)), (called, str(way))


@pytest.mark.parametrize("name", of_one_input(True))
def test_of_each_key(name: str) -> None:
    check(of_one_input(True), name, "key")


@pytest.mark.parametrize("name", of_one_input(False))
def test_of_all_rows_together(name: str) -> None:
    check(of_one_input(False), name, "")


@pytest.mark.parametrize("name", of_two_inputs())
def test_joins(name: str) -> None:
    check(of_two_inputs(), name, None)


# Rows that come too late, and sums that are too large


class Windowed(NamedTuple):
    """A window, what its results are, and how late a row may be by its own time: it is before a message at `until`."""

    window: Any
    windows: Windows
    until: Callable[[int], int]


WINDOWS = {
    "tumbling": Windowed(Tumbling("at", 10), grid(10, 10), lambda at: at // 10 * 10 + 10),
    "sliding": Windowed(Sliding("at", 10, 5), grid(10, 5), lambda at: at // 5 * 5 + 5),
    "session": Windowed(Session("at", 4), sessions, lambda at: at + 1),
}


def too_late(dice: Random) -> list[Message]:
    """Rows of times long before their messages' and long after."""
    sent = at_times([0, 7, 10, 15, 25, 30, 31], dice)
    return [(time, to, [one | {"at": max(0, time + dice.randint(-15, 12))} for one in rows]) for time, to, rows in sent]


def without_late(messages: Sequence[Message], until: Callable[[int], int]) -> tuple[list[Message], list[list[int]]]:
    """(messages of the rows that are in time, the numbers of others by input)."""
    late = [
        [one["n"] for time, to, rows in messages if to == side for one in rows if until(one["at"]) <= time]
        for side in (0, 1)
    ]
    return [(time, to, [one for one in rows if until(one["at"]) > time]) for time, to, rows in messages], late


def late_of(found: Found) -> list[list[int]]:
    return [sorted(one[0] for one in rows) for rows in found.kept]


@pytest.mark.parametrize("way", LATE_WAYS, ids=str)
@pytest.mark.parametrize("by", ["key", ""])
@pytest.mark.parametrize("name", WINDOWS)
def test_late_rows_of_windows(name: str, by: str, way: Way) -> None:
    """They are told by their messages alone, and count in no window; all others do."""
    window, windows, until = WINDOWS[name]
    for lateness in (0, 3):
        dice = Random(lateness)
        messages = too_late(dice)
        found = run(
            lambda s, lateness=lateness: aggregate(s, by, window=window, late=True, lateness=lateness, **AGGREGATES),
            1, messages, way, dice,
        )  # fmt: skip
        in_time, late = without_late(messages, lambda at, lateness=lateness: until(at) + lateness)
        assert late_of(found) == late[:1] and late[0]
        assert same(found.sent, windowed(windows)(of_inputs(in_time)[0], by))


@pytest.mark.parametrize("way", LATE_WAYS, ids=str)
@pytest.mark.parametrize("how", ["inner", "full", "anti"])
def test_late_rows_of_joins(how: str, way: Way) -> None:
    keys = {"key": "o_key"}
    joins: list[tuple[Callable[..., Any], Callable[[Row, Row], bool], Callable[[int], int]]] = [
        (
            lambda a, b: join(
                a, b, on=keys, how=how, columns=chosen(how), window=Tumbling("at", 10, start=None, end=None),
                right_time="o_at", late=True,
            ),
            lambda a, b: a["at"] // 10 == b["at"] // 10, lambda at: at // 10 * 10 + 10,
        ),
        (
            lambda a, b: interval_join(
                a, b, on=keys, how=how, columns=chosen(how), left_time="at", right_time="o_at", lower=-3, upper=5,
                late=True,
            ),
            lambda a, b: a["at"] - 3 <= b["at"] <= a["at"] + 5, lambda at: at + 1,
        ),
    ]  # fmt: skip
    for number, (make, near, until) in enumerate(joins):
        dice = Random(number)
        messages = too_late(dice)
        found = run(make, 2, messages, way, dice)
        in_time, late = without_late(messages, until)
        assert late_of(found) == late and all(late)
        expected = paired(lambda a, b, near=near: same_key(a, b) and near(a, b), how)(*of_inputs(in_time))
        assert same(found.sent, expected)


@pytest.mark.parametrize("way", LATE_WAYS, ids=str)
@pytest.mark.parametrize("how", ["inner", "left"])
def test_late_rows_of_temporal_joins(how: str, way: Way) -> None:
    """Of a key no two versions are of one time: which came last is open between workers."""
    dice = Random(7)
    messages, seen = [], set()
    for time, to, rows in too_late(dice):
        kept = [one for one in rows if to == 0 or (one["key"], one["at"]) not in seen]
        seen |= {(one["key"], one["at"]) for one in kept if to == 1}
        messages.append((time, to, list({(one["key"], one["at"]): one for one in kept}.values()) if to else kept))
    found = run(
        lambda a, b: temporal_join(
            a, b, on={"key": "o_key"}, how=how, columns=chosen(how), time="at", version_time="o_at", late=True
        ),
        2, messages, way, dice,
    )  # fmt: skip
    in_time, late = without_late(messages, lambda at: at + 1)
    assert late_of(found) == late and all(late)
    expected: list[tuple[Any, ...]] = []
    rows, versions = of_inputs(in_time)
    for one in rows:
        valid = [other for other in versions if same_key(one, other) and other["at"] <= one["at"]]
        expected += [(one["n"], max(valid, key=lambda other: other["at"])["n"])] if valid else []
        expected += [(one["n"], None)] if not valid and how == "left" else []
    assert same(found.sent, expected)


@pytest.mark.parametrize("way", WAYS[::3], ids=str)
@pytest.mark.parametrize("by", ["key", ""])
def test_a_sum_beyond_64_bits_is_an_error(by: str, way: Way) -> None:
    """Of rows of one worker, and of several whose own sums are in range."""
    dice = Random(1)
    messages = at_times([0, 0, 0], dice, keys=(1,))
    for value, window in product((2**62, -(2**62) - 1), (*(each.window for each in WINDOWS.values()), None)):

        def total(stream: Stream, window: Any = window) -> Stream:
            return aggregate(stream, by, window=window, total=Sum("value"))

        def of(value: int) -> list[Message]:
            return [(time, to, [rows[0] | {"value": value, "at": 1}]) for time, to, rows in messages]

        with raises(OperatorError, "operator 'aggregate'", "OverflowError", "sum of 'value'", "64 bits", "float64"):
            run(total, 1, of(value), way, dice)
        found = run(total, 1, of(value // 2), way, dice)
        assert found.sent[-1][-1] == 3 * (value // 2)
