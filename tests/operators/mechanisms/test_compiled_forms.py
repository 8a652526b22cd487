"""Every mechanism drives the compiled parts of every operator, whatever its key is, and so do loops, and moves of bins:
by counts of runs, and answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from tests.operators.helpers import Bench, bench
from tests.operators.moving import BINS, Declare, moving
from tokenring.engine import Schema, Stream
from tokenring.engine.bridge import compiled_part
from tokenring.operators import (
    Count,
    CountDistinct,
    Max,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    best_offers,
    col,
    collect,
    distinct,
    enrich,
    exchange,
    filter,
    interval_join,
    iterate,
    join,
    last_by,
    look_up,
    no_op,
    running_average,
    select,
    temporal_join,
    top,
    union,
    when,
    with_columns,
    word_count,
)
from tokenring.operators.mechanisms import mechanism_of

BY_TOKENS = "tokens", "bins", "loop"
"""At the root; where bins move; in a loop."""
WITH_ALL_KEYS = *BY_TOKENS, "watermarks-P"
BY_MESSAGES = "tokens", "bins", "sequential"
"""Where a message has the time at which it was sent."""
AT_ROOT = "tokens", "bins", "notifications", "watermarks-X", "sequential"
KEYS = {
    "int64": [3, -4, 2**62],
    "int64?": [3, None, -4],
    "string": ["pear", "", "a longer one: äöü"],
    "string?": ["pear", None, ""],
    "float64": [0.5, -1e300, 7.25],
    "bool": [True, False],
}
STRETCH = 75
"""Of time, in which rows come in no order."""
PYTHONS = {"input", "recorder", "placement", "move", "arrive", "alone", "late"}
"""How the names of Python's operators end: those of a bench and of bins that move, the rights of rows that join nothing
there, and what looks for late rows."""
Rows = list[tuple[Any, int, int]]
"""key, at, value."""


def _rows(key: str) -> Rows:
    random = Random(key)
    return [(random.choice(KEYS[key]), random.randrange(300), value) for value in random.sample(range(1000), 200)]


def _grouped(rows: Iterable[tuple[Any, ...]]) -> dict[Any, list[tuple[int, int]]]:
    found: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for *key, at, value in rows:
        found[tuple(key)].append((at, value))
    return found


def _in_windows(rows: Rows, width: int, every: int) -> list[tuple[Any, ...]]:
    """(start, end, key, count, sum, greatest)."""
    inside = [
        (start, key, at, value)
        for key, at, value in rows
        for start in range(at // every * every, at - width, -every)
        if start <= at < start + width
    ]
    return [
        (start, start + width, key, len(found), sum(value for _, value in found), max(value for _, value in found))
        for (start, key), found in _grouped(inside).items()
    ]


def _in_sessions(rows: Rows, gap: int) -> list[tuple[Any, ...]]:
    sessions = []
    for (key,), found in _grouped(rows).items():
        times = sorted(found)
        first = 0
        for i in range(1, len(times) + 1):
            if i == len(times) or times[i][0] - times[i - 1][0] >= gap:
                some = times[first:i]
                sessions.append((some[0][0], some[-1][0] + gap, key, len(some), sum(value for _, value in some)))
                first = i
    return sessions


def _last(rows: list[tuple[Any, ...]], width: int = 1) -> list[tuple[Any, ...]]:
    """The last row of each key, which is `width` columns."""
    return list({row[:width]: row for row in rows}.values())


def _same(rows: list[Any]) -> list[Any]:
    return rows


def _best_two(rows: Rows) -> list[tuple[Any, ...]]:
    """(key, at, value, rank)."""
    return [
        (key, at, value, rank)
        for (key,), all_ in _grouped(rows).items()
        for rank, (at, value) in enumerate(sorted(all_, key=lambda row: -row[1])[:2], 1)
    ]


def _is_local(rows: Stream) -> bool:
    return mechanism_of(rows.scope).name == "watermarks-P"


def _halves(rows: Stream) -> tuple[Stream, Stream]:
    return filter(rows, "value", "<", 500), filter(rows, "value", ">=", 500)


def _sides(rows: Stream) -> tuple[Stream, Stream]:
    """(key, at, value, digits) and (key, digits, then, other, stretch)."""
    left, right = _halves(with_columns(rows, digits=col("value") % 100))
    return left, select(right, "key", "digits", then=col("at"), other=col("value"), stretch=col("at") // STRETCH)


def _early_right(rows: Stream) -> tuple[Stream, Stream]:
    """Those, without right rows from the third stretch on."""
    left, right = _sides(rows)
    return left, filter(right, "stretch", "<", 2)


def _pairs(rows: Rows, matches: Callable[[Any, Any], bool]) -> tuple[list[Any], list[Any], list[Any]]:
    """(key, at, value, then, other): of two rows that match; of left rows that match nothing; of such right rows. A
    null key never does."""
    left, right = [row for row in rows if row[2] < 500], [row for row in rows if row[2] >= 500]
    found = [(one, other) for one in left for other in right if one[0] is not None and matches(one, other)]
    matched = {row for pair in found for row in pair}
    return (
        [(*one, *other[1:]) for one, other in found],
        [(*one, None, None) for one in left if one not in matched],
        [(other[0], None, None, *other[1:]) for other in right if other not in matched],
    )


def _of_equal_digits(left: Any, right: Any) -> bool:
    return bool(left[0] == right[0] and left[2] % 100 == right[2] % 100)


def _latest(rows: Rows, since: Callable[[int], int]) -> list[tuple[Any, ...]]:
    """Left rows, each with the latest time of its key's right rows that is not after its own, or None."""
    times: dict[Any, list[int]] = defaultdict(list)
    for key, at, value in rows:
        if value >= 500 and key is not None:
            times[key].append(since(at))
    return [
        (key, at, value, max([then for then in times.get(key, ()) if then <= since(at)], default=None))
        for key, at, value in rows
        if value < 500
    ]


def _is_late(row: Any) -> bool:
    return bool(row[1] >= STRETCH and row[2] % 10 == 0)


def _with_late(rows: Stream) -> Stream:
    """Rows that are late come too late for any session."""
    is_late = (col("at") >= STRETCH) & (col("value") % 10 == 0)
    return with_columns(rows, at=col("at") - when(is_late).then(STRETCH + 20).otherwise(0))


def _table(rows: Stream) -> Stream:
    """(key, found): a row for each key in every other stretch of time."""
    some = filter(rows, col("at") // STRETCH % 2 == 0)
    return distinct(select(some, "key", found=col("key") + col("at") // STRETCH))


def _is_in_table(row: Any) -> bool:
    """What comes round does so later."""
    return bool(row[1] // STRETCH % 2 == 0 and row[2] >= 0)


@dataclass(frozen=True)
class Case:
    """An operator: what it is to answer, whatever the order, and what of its answers is to be compared with that."""

    declare: Declare
    expected: Callable[[Rows], list[Any]]
    told: Callable[[list[Any]], list[Any]] = _same
    ways: Sequence[str] = AT_ROOT
    keys: Sequence[str] = (*KEYS,)
    forwards_marks: bool = True


TOTALS = {"n": Count(), "total": Sum("value")}
JOINED = "key at value then other"
CASES: dict[str, Case] = {
    "tumbling": Case(
        lambda rows: aggregate(rows, "key", window=Tumbling("at", 40), **TOTALS, most=Max("value")),
        lambda rows: _in_windows(rows, 40, 40),
    ),
    "sliding": Case(
        lambda rows: aggregate(rows, "key", window=Sliding("at", 40, 10), **TOTALS, most=Max("value")),
        lambda rows: _in_windows(rows, 40, 10),
    ),
    "late tumbling": Case(
        lambda rows: aggregate(rows, "key", window=Tumbling("at", 40), lateness=7, **TOTALS, most=Max("value")),
        lambda rows: _in_windows(rows, 40, 40),
    ),
    "distinct sets": Case(
        lambda rows: aggregate(rows, "key", window=Tumbling("at", 100), kinds=CountDistinct("value")),
        lambda rows: [row[:4] for row in _in_windows(rows, 100, 100)],  # no value comes twice
    ),
    "session": Case(
        lambda rows: aggregate(rows, "key", window=Session("at", 9), **TOTALS),
        lambda rows: _in_sessions(rows, 9),
    ),
    "final": Case(
        lambda rows: aggregate(rows, "key", emit="final", **TOTALS),
        lambda rows: [(key, len(all_), sum(value for _, value in all_)) for (key,), all_ in _grouped(rows).items()],
    ),
    "running": Case(
        lambda rows: aggregate(rows, "key", **TOTALS),
        lambda rows: [(key, len(all_), sum(value for _, value in all_)) for (key,), all_ in _grouped(rows).items()],
        _last,
        ways=(*AT_ROOT, "loop"),
    ),
    "running sets": Case(
        lambda rows: aggregate(rows, "key", kinds=CountDistinct("value")),
        lambda rows: [(key, len(all_)) for (key,), all_ in _grouped(rows).items()],
        _last,
        ways=(*AT_ROOT, "loop"),
    ),
    "each": Case(
        lambda rows: aggregate(rows, "key", emit="each", **TOTALS),
        lambda rows: [(key, len(all_), sum(value for _, value in all_)) for (key,), all_ in _grouped(rows).items()],
        _last,
    ),
    "top, final": Case(lambda rows: top(rows, "key", order="value", k=2, emit="final"), _best_two),
    "best": Case(
        lambda rows: top(rows, "key", order="value", k=1),
        lambda rows: [(key, *max(all_, key=lambda row: row[1]), 1) for (key,), all_ in _grouped(rows).items()],
        _last,
        ways=(*AT_ROOT, "loop"),
    ),
    "top": Case(
        lambda rows: top(rows, "key", order="value", k=2),
        _best_two,
        lambda rows: list({(row[0], row[-1]): row for row in rows}.values()),
        ways=(*AT_ROOT, "loop"),
    ),
    "top of all": Case(
        lambda rows: top(rows, order="value", k=3),
        lambda rows: [(*row, rank) for rank, row in enumerate(sorted(rows, key=lambda row: -row[2])[:3], 1)],
        lambda rows: list({row[-1]: row for row in rows}.values()),
        ways=(*AT_ROOT, "loop"),
    ),
    "last_by": Case(
        lambda rows: last_by(rows, "key", order="value"),
        lambda rows: [(key, *max(all_, key=lambda row: row[1])) for (key,), all_ in _grouped(rows).items()],
        _last,
        ways=(*AT_ROOT, "loop"),
    ),
    "no_op": Case(
        lambda rows: no_op(rows, "key", local=_is_local(rows)), _same, ways=(*AT_ROOT, "loop", "watermarks-P")
    ),
    "word_count": Case(
        lambda rows: word_count(rows, "key", "at", local=_is_local(rows)),
        lambda rows: [
            (key, at, count) for (key,), all_ in _grouped(rows).items() for count, (at, _) in enumerate(sorted(all_), 1)
        ],
        ways=(*AT_ROOT, "watermarks-P"),
        keys=("int64",),
    ),
    "running_average": Case(
        lambda rows: running_average(rows, "key", "value"),
        lambda rows: [
            (key, sum(value for _, value in all_) // len(all_), len(all_)) for (key,), all_ in _grouped(rows).items()
        ],
        _last,
        ways=(*AT_ROOT, "loop"),
        keys=("int64",),
    ),
    "late sessions": Case(
        lambda rows: aggregate(_with_late(rows), "key", window=Session("at", 9), **TOTALS, late=True)[0],
        lambda rows: _in_sessions([row for row in rows if not _is_late(row)], 9),
    ),
    "distinct": Case(
        lambda rows: distinct(rows, "key"),
        lambda rows: list(_grouped(rows)),
        lambda rows: [row[:1] for row in rows],  # which row of a key is first, is open
        ways=(*AT_ROOT, "loop"),
    ),
    "union": Case(
        lambda rows: union(*_halves(rows)),
        _same,
        ways=("tokens", "loop", "notifications", "watermarks-X", "watermarks-P", "sequential"),
        forwards_marks=False,
    ),
    "exchange": Case(lambda rows: exchange(rows, "key"), _same, ways=(*AT_ROOT, "loop"), forwards_marks=False),
    "join": Case(
        lambda rows: join(*_sides(rows), on="key", columns=JOINED),
        lambda rows: _pairs(rows, lambda left, right: left[:1] == right[:1])[0],
        forwards_marks=False,
    ),
    "left join": Case(
        lambda rows: join(*_sides(rows), on="key digits", how="left", columns=JOINED),
        lambda rows: [row for some in _pairs(rows, _of_equal_digits)[:2] for row in some],
        forwards_marks=False,
    ),
    "full join": Case(
        lambda rows: join(*_sides(rows), on="key digits", how="full", columns=JOINED),
        lambda rows: [row for some in _pairs(rows, _of_equal_digits) for row in some],
        forwards_marks=False,
    ),
    "interval_join": Case(
        lambda rows: interval_join(
            *_sides(rows), on="key", left_time="at", right_time="then", lower=-10, upper=20, how="left", columns=JOINED
        ),
        lambda rows: [
            row
            for some in _pairs(rows, lambda left, right: left[0] == right[0] and -10 <= right[1] - left[1] <= 20)[:2]
            for row in some
        ],
        forwards_marks=False,
    ),
    "temporal_join": Case(
        lambda rows: temporal_join(
            *_sides(rows), on="key", time="at", version_time="then", how="left", columns="key at value then"
        ),
        lambda rows: _latest(rows, lambda at: at),
        forwards_marks=False,
    ),
    "enrich": Case(
        lambda rows: enrich(*_early_right(rows), on="key", how="left", columns="key at value stretch"),
        lambda rows: _latest([row for row in rows if row[2] < 500 or row[1] < 2 * STRETCH], lambda at: at // STRETCH),
        ways=BY_MESSAGES,
    ),
    "look_up": Case(
        lambda rows: look_up(rows, "key", _table(rows), "found"),
        lambda rows: [(*row, row[0] + row[1] // STRETCH if _is_in_table(row) else 0) for row in rows],
        ways=(*BY_MESSAGES, "loop"),
        keys=("int64",),
    ),
}


def _ordered(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    return sorted(map(repr, rows))


def _runs(made: Bench) -> dict[str, int]:
    """By operators' names, of all workers; asserts that they are compiled."""
    ran: dict[str, int] = defaultdict(int)
    for worker in made.group.workers:
        for operator in worker.inspection.operators:
            if not operator.is_relay and operator.name.split(".")[-1] not in PYTHONS:
                assert operator.compiled >= 0, f"{operator.name} runs in Python"
                ran[operator.name] += int(worker.world.operators["runs"][operator.compiled])
    return ran


def _in_way(declare: Declare, way: str) -> tuple[Declare, str]:
    """How an operator is declared, and under which mechanism. With bins, worker 0 has all keys in the second stretch of
    time, and worker 1 from the third on."""
    if way == "bins":
        declare = moving(declare, 2, [(STRETCH * (1 + to), number, to) for to in (0, 1) for number in range(BINS)])
    elif way == "loop":
        declare = _in_loop(declare)
    return declare, "tokens" if way in BY_TOKENS else way


def _play(
    declare: Declare, rows: Rows, key: str, way: str, workers: int, forwards_marks: bool = True
) -> list[tuple[Any, ...]]:
    """What is sent, (time, *row), of rows in four stretches of time, in no order within each; asserts that all is
    compiled, and ran; with bins, behind the last move, on the worker that has them."""
    schema = Schema(key=key, at="int64", value="int64")
    declared, mechanism = _in_way(declare, way)
    before: dict[str, int] = {}
    with bench(
        [schema, Schema("open")],  # the second one keeps the dataflow, whose runs we count when the first has ended
        lambda rows, _: declared(rows),
        workers,
        mechanism,
        ["at", "open"],
        is_probed=forwards_marks or "watermarks" not in way,
    ) as made:
        for stretch in range(4):
            made.advance(STRETCH * stretch)
            if stretch == 2 and way == "bins":
                before, sent = _runs(made), len(made.rows)
            some = [row for row in rows if row[1] // STRETCH == stretch]
            for worker in range(workers):
                share = some[worker::workers]
                made.send({name: [row[at] for row in share] for at, name in enumerate(schema.names)}, worker=worker)
        for handle, _ in made.inputs:
            handle.close()
        made.settle()
        ran = _runs(made)
        made.close()
    assert ran
    assert all(runs > before.get(name, 0) for name, runs in ran.items()), (before, ran)
    if way == "bins":
        assert {worker for worker, *_ in made.rows[sent:]} <= {1}
    return [row[1:] for row in made.rows]


def _in_loop(declare: Declare) -> Declare:
    """Half of the rows come round once, with another value."""

    def again(rows: Stream) -> Stream:
        return with_columns(filter(rows, "value", ">=", 500), value=col("value") - 1000)

    return lambda rows: iterate(rows, lambda inside: (again(inside), declare(inside)))


def _epochs(rows: Rows) -> Iterator[Rows]:
    """What comes to an operator of `_in_loop` at each time."""
    for stretch in range(4):
        some = [row for row in rows if row[1] // STRETCH == stretch]
        yield some + [(key, at, value - 1000) for key, at, value in some if value >= 500]


def _chosen() -> Iterator[tuple[str, str, str, int]]:
    """Each operator with each kind of key by tokens, and where few operators are; by others with one. So there are all
    pairs of two parameters."""
    for at, (name, case) in enumerate(CASES.items()):
        for order, way in enumerate(case.ways):
            some = case.keys if way in WITH_ALL_KEYS else [case.keys[(at + order) % len(case.keys)]]
            for number, key in enumerate(some):
                yield name, way, key, {"bins": 2, "watermarks-P": 1}.get(way, 1 + (at + order + number) % 2)


@pytest.mark.parametrize(("name", "way", "key", "workers"), list(_chosen()))
def test_every_operator_is_compiled_in_every_way(
    name: str, way: str, key: str, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_part, "MADE_AT_ONCE", 0)  # what can wait for its first message does; elsewhere none
    case, rows = CASES[name], _rows(key)
    found = _play(case.declare, rows, key, way, workers, case.forwards_marks)
    if way != "loop":
        assert _ordered(case.told([row[1:] for row in found])) == _ordered(case.expected(rows))
        return
    for stretch, some in enumerate(_epochs(rows)):
        told = case.told([row[1:] for row in found if row[0] == STRETCH * stretch])
        assert _ordered(told) == _ordered(case.expected(some))


@pytest.mark.parametrize("key", [key for key in KEYS if "string" not in key])
@pytest.mark.parametrize("way", [*BY_MESSAGES, "notifications", "watermarks-X", "watermarks-P"])
def test_rows_without_text_are_collected_by_compiled_parts(way: str, key: str) -> None:
    sinks = []

    def declare(rows: Stream) -> Stream:
        sinks.append(collect(rows))
        return no_op(rows, "key", local=_is_local(rows))

    rows = _rows(key)
    _play(declare, rows, key, way, 1 + (way == "bins"))
    found = [zip(*[column.tolist() for column in sink.columns().values()], strict=True) for sink in sinks]
    assert _ordered(row for some in found for row in some) == _ordered(rows)


@pytest.mark.parametrize("way", AT_ROOT)
def test_offers_meet_intervals_by_compiled_parts_under_every_mechanism(way: str) -> None:
    def declare(intervals: Stream, offers: Stream) -> Stream:
        return best_offers(
            intervals, offers, key="key", start="start", end="end", threshold="least", payload="payload",
            offer_key="item", offer_time="when", offer_value="price",
        )  # fmt: skip

    schemas = [Schema("key start end least payload"), Schema("item when price")]
    declared, mechanism = _in_way(declare, way)
    with bench(schemas, declared, 2, mechanism, ["start", "when"]) as made:
        ends = [400, 200, 50]
        made.send({"key": [1, 2, 3], "start": [0, 50, 50], "end": ends, "least": [0, 50, 0], "payload": [7, 8, 9]})
        made.send({"item": [1, 1, 2, 2, 3], "when": [10, 390, 60, 190, 50], "price": [10, 20, 49, 60, 1]}, to=1)
        made.advance(300)
        assert _ordered(row[2:] for row in made.rows) == ["(8, 60)"]
        assert all(_runs(made).values())
        made.close()
        assert _ordered(row[2:] for row in made.rows) == ["(7, 20)", "(8, 60)"]
        assert way != "bins" or {worker for worker, *_ in made.rows} == {1}
