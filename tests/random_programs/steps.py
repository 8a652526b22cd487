"""The steps of random programs as operators of the library: of streams of rows another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from tests.random_programs.collections import Views, run_plan
from tests.random_programs.rows import (
    FACTOR,
    GAP,
    LETTERS,
    LOWER,
    MARKS,
    NO_FLOAT,
    NO_ID,
    OF_NUMBERS,
    PRIME,
    REFS,
    ROW,
    SMALL,
    SPAN,
    UPPER,
    WINDOWS,
    Step,
    folds_of,
    key_of,
    kinds_of,
    named_of,
    on_of,
    order_of,
    scrambled,
    span_of,
)
from tests.random_programs.streams import at_own_times, numbered, settled, sums, twice
from tests.random_programs.values import HUGE
from tokenring import operators
from tokenring.engine import Exchange, Schema, Stream
from tokenring.operators import (
    ArgMax,
    ArgMin,
    Count,
    CountDistinct,
    First,
    Last,
    Latest,
    Max,
    Mean,
    Min,
    Session,
    Sliding,
    Sum,
    Tumbling,
    Variance,
    aggregate,
    as_rows,
    col,
    collection,
    graphs,
    greatest,
    limited,
    lit,
    select,
    when,
    with_columns,
)
from tokenring.operators.migrate import has_bins

NONE, NO_TEXT = when(lit(False)).then(0), when(lit(False)).then("")


def maybe(value: Any) -> Any:
    """The same of a kind that has null."""
    return when(lit(True)).then(value)


def row(stream: Stream, **columns: Any) -> Stream:
    """Rows as all steps take them; what is not said is nothing, or 0."""
    kinds = {name: stream.schema.kind(name) for name in stream.schema.names}
    said = {"k": NONE, "s": NO_TEXT, "w": lit(0.0), "v": lit(0), "at": lit(0), "id": lit(0)} | columns
    for name in ("k", "s"):
        if isinstance(said[name], str):
            said[name] = col(said[name]) if kinds[said[name]].nullable else maybe(col(said[name]))
    return select(
        stream, **{name: col(said[name]) if isinstance(said[name], str) else said[name] for name in ROW.names}
    )


def bare(stream: Stream) -> Stream:
    """Without text."""
    return operators.drop_columns(stream, "s")


def whole(stream: Stream) -> Stream:
    """With a column of text again."""
    return stream if "s" in stream.schema.names else row(stream, **{name: name for name in stream.schema.names})


def digest(*values: Any) -> Any:
    """What becomes of whole numbers below 2^40 or so: an id."""
    found = lit(0)
    for value in values:
        found = (found * FACTOR + value % PRIME) % PRIME
    return scrambled(found)


def fill(stream: Stream, name: str, value: Any) -> Any:
    return col(name).fill_null(value) if stream.schema.kind(name).nullable else col(name)


def named(stream: Stream, key: str, *more: Any) -> Any:
    """An id that tells keys of NAMED apart."""
    values: list[Any] = []
    for name in key.split():
        if name == "s":
            values += [n.fill_null(77) for n in letters_of(col("s"))]
        else:
            values.append(fill(stream, name, 1_000))
    return digest(*values, *more)


def numbers(stream: Stream) -> Stream:
    """Without text and nulls."""
    return select(stream, "v", "at", "id", k=col("k").fill_null(99))


def unknown(stream: Stream, number: int) -> Stream:
    """Rows of a step that sends when nobody knows, at times that nobody can have had before."""
    if number == 0:
        return stream
    return at_own_times(with_columns(stream, at=span_of(number) + col("at") % SPAN))


# --- aggregates

WORDS: dict[str, Any] = dict(
    n=Count(), total=Sum("v"), most=Max("v"), least=Min("v"), mean=Mean("v"), first=First("v", order="id"),
    last=Last("v", order="id"), latest=Max("at"), greatest=Max("id"),
)  # fmt: skip
_SMALL, _SOME = (col("k") < SMALL) & (col("k") > -SMALL), col("v") > 1
_EIGHTHS = when(col("w").between(-1e6, 1e6)).then((col("w") * 8.0).cast("int64") / 8).otherwise(col("w"))
"""Sums of which are exact, and so the same in any order."""
ALL: dict[str, Any] = WORDS | dict(
    kinds=CountDistinct("v"), names=CountDistinct("s"), heavy=Max("w"), known=Count("k"), ks=Sum("k", where=_SMALL),
    odd=Count(where=col("v") % 2 == 1), texts=First("s", order="id"),
)  # fmt: skip
MORE: dict[str, Any] = WORDS | dict(
    texts=First("s", order="id"), last_text=Last("s", order="id", where=_SOME),
    least_k=Min("k"), most_k=Max("k"), first_k=First("k", order="id"), last_k=Last("k", order="id", where=_SOME),
    mean_k=Mean("k", where=_SMALL), of_first=ArgMin("v", when(col("k").is_not_null()).then(col("id"))),
    keys=CountDistinct("k"), weights=CountDistinct("w", where=_SOME), some_names=CountDistinct("s", where=_SOME),
    heavy=Max("w"), light=Min("w"), newest=ArgMax("w", "id"), heavy_of_some=Max(when(_SOME).then(col("w"))),
    total_w=Sum(_EIGHTHS, where=col("w") != HUGE), spread=Variance("k", where=col("k") == 3),
)  # fmt: skip
FILLED = ("least_k", "most_k", "first_k", "last_k", "of_first")
MARKED = ("mean_k", "heavy", "light", "newest", "heavy_of_some", "spread")
FOLDS = {"words": WORDS, "all": ALL, "more": MORE}
KEPT: dict[str, Any] = {name: fold for name, fold in (ALL | MORE).items() if type(fold) not in (First, Last)} | dict(
    texts=Min("s"), last_text=Max("s", where=_SOME)
)
SETS = ("keys", "weights", "names")
"""Of different values: of collections beside others where the key is never null."""


def window_of(name: str) -> Any:
    return Session("at", GAP) if name == "session" else (Tumbling, Sliding)[name == "sliding"]("at", *_lengths(name))


def _lengths(name: str) -> tuple[int, ...]:
    width, every = WINDOWS[name]
    return (width,) if width == every else (width, every)


def letters_of(text: Any) -> list[Any]:
    return [text.length(), *[text.lower().count_of(letter) for letter in LETTERS]]


def marks(stream: Stream, name: str) -> Any:
    """Which of MARKS a float reaches, as bits: of a NaN none."""
    value = fill(stream, name, NO_FLOAT)
    found = lit(0)
    for at, mark in enumerate(MARKS):
        found = found + (value >= mark).cast("int64") * 2**at
    return found


def totals(stream: Stream, key: str, folds: str, at: Any = "latest", start: Any = 0) -> Stream:
    """The results of WORDS or ALL as rows."""
    names = ("n", "total", "most", "least", "first", "last", "latest", "greatest")
    values = [col(name) for name in names] + [start]
    more: dict[str, Any] = {"w": "mean"}
    if folds == "all":
        values += [col("kinds"), col("names"), col("known"), col("ks").fill_null(7), col("odd")]
        more = {"w": "heavy", "s": "texts"}
    if folds == "more":
        values += [fill(stream, name, 77) for name in FILLED]
        values += [col("keys"), col("weights"), col("some_names"), *[marks(stream, name) for name in MARKED]]
        values += letters_of(col("last_text").fill_null("none"))
        more = {"w": fill(stream, "total_w", 0.0), "s": "texts"}
    more |= {name: name for name in key.split()}
    return row(stream, **({"k": "n", "v": col("total") % 5, "at": at, "id": digest(*values)} | more))


def in_windows(step: Step, number: int, stream: Stream, name: str, key: str, folds: str) -> Stream:
    lateness, folds = 3 * (step.constants[1] % 2), folds_of(step, folds)
    more: dict[str, Any] = {"window": window_of(name), "lateness": lateness}
    if step.constants[2] % 2:
        found, late = aggregate(settled(stream), key, **more, **FOLDS[folds]), None
    else:
        found, late = aggregate(stream, key, late=True, **more, **FOLDS[folds])
    end = col("window_end")
    made = totals(found, key, folds, end + lateness, col("window_start") + 100 + 7 * end)
    if name == "session":
        made = put(step, made)
    if late is None:
        return made
    return operators.union(made, settled(whole(with_columns(late, id=digest(col("id"), 5)))))


def windows(name: str, folds: str, all_rows: bool = False) -> Callable[..., Stream]:
    return lambda step, number, a: in_windows(step, number, a, name, "" if all_rows else key_of(step), folds)


def final(folds: str, all_rows: bool = False) -> Callable[..., Stream]:
    def build(step: Step, number: int, a: Stream) -> Stream:
        key, said = "" if all_rows else key_of(step), folds_of(step, folds)
        return totals(aggregate(a, key, emit="final", **FOLDS[said]), key, said)

    return build


def running(folds: str, emit: str, all_rows: bool = False) -> Callable[..., Stream]:
    """Each change, or in the end the last."""

    def build(step: Step, number: int, a: Stream) -> Stream:
        key, said = "" if all_rows else key_of(step), folds_of(step, folds)
        if emit != "last":
            return totals(as_rows(aggregate(a, key, emit=emit, **FOLDS[said])), key, said)
        changes = with_columns(as_rows(aggregate(a, key, **FOLDS[said])), one=lit(0))
        last = operators.last_by(changes, key or "one", order="n", emit="final")
        return totals(last, key, said)

    return build


def kinds(step: Step, number: int, a: Stream) -> Stream:
    key = key_of(step)
    found = aggregate(a, key, window=Tumbling("at", 4), kinds=CountDistinct("v"), greatest=Max("id"))
    keys = {name: name for name in key.split()}
    return row(found, **({"v": "kinds", "at": "window_end", "id": digest(col("greatest"), col("kinds"))} | keys))


def of_kind(kind: str, empty: int) -> Any:
    """Of a row what is of a kind, and null where v is so much."""
    is_there = when(col("v") != empty)
    match kind:
        case "float64":
            return is_there.then(col("w"))
        case "bool":
            return is_there.then(col("v") % 2 == 1)
        case "timestamp":
            return is_there.then(col("k").fill_null(5).cast("timestamp"))
    return is_there.then(col("v").cast(kind))


def word_of(stream: Stream, name: str, kind: str) -> Any:
    """A whole number that tells values of a kind apart."""
    if kind == "float64":
        return marks(stream, name)
    return col(name).cast("int64").fill_null(77)


def other_keys(step: Step, number: int, a: Stream) -> Stream:
    """Keys, and values, of kinds that rows have not, by windows."""
    kinds, name, where = kinds_of(step), [*WINDOWS, "session"][step.constants[2] % 3], col("v") > 1
    columns = {name: of_kind(kind, at) for at, (name, kind) in enumerate(zip("xyz", kinds, strict=True))}
    found = aggregate(
        with_columns(a, **columns), "x y", window=window_of(name), n=Count(), most_id=Max("id"), least=Min("z"),
        most=Max("z", where=where), first=First("z", order="id"), last=Last("y", order="id", where=where),
        kinds=CountDistinct("z", where=where), known=Count("x"),
    )  # fmt: skip
    of = dict(zip(["x", "y", "least", "most", "first", "last"], (*kinds, kinds[2], kinds[2], kinds[1]), strict=True))
    words = [word_of(found, name, kind) for name, kind in of.items()]
    numbers = [col(name) for name in ("n", "most_id", "window_end", "kinds", "known")]
    made = row(found, at="window_end", id=digest(*numbers, *words))
    return put(step, made) if name == "session" else made


def reduced(step: Step, number: int, a: Stream) -> Stream:
    found = operators.reduce(numbers(a), "k", sums, Schema("total most"), window=Tumbling("at", 4))
    return row(found, k="k", v=col("total") % 5, at="window_end", id=digest(col("total"), col("most")))


# --- rows by key

MIXED = col("id") * 7919 % PRIME


def ranked(stream: Stream) -> Stream:
    ranks = with_columns(stream, v=col("rank"), id=digest(col("id"), col("rank")))
    return row(ranks, **{name: name for name in ROW.names if name in ranks.schema.names})


def top(which: str) -> Callable[..., Stream]:
    """which: final, all (with ties, in the end), window, window all, each or batch."""

    def build(step: Step, number: int, a: Stream) -> Stream:
        key, k, (order, largest) = key_of(step), 1 + step.constants[1] % 2, order_of(step)
        ties = "all" if which.endswith("all") else "id"
        if which.startswith("window"):
            name = ("tumbling", "sliding")[step.constants[2] % 2]
            found = operators.top(a, key, order=order, k=k, largest=largest, ties=ties, window=window_of(name))
            ended = with_columns(found, at=col("window_end"), id=digest(col("id"), col("window_end")))
            return ranked(ended)
        emit = "final" if which in ("final", "all") else which
        found = operators.top(a, key, order=order, k=k, largest=largest, ties=ties, emit=emit)
        if k == 1 and "rank" not in found.schema.names:
            found = with_columns(found, rank=lit(1))
        return ranked(as_rows(found))

    return build


def last_by(emit: str) -> Callable[..., Stream]:
    def build(step: Step, number: int, a: Stream) -> Stream:
        found = operators.last_by(a, key_of(step), order=MIXED, emit=emit)
        return as_rows(found)

    return build


def distinct(step: Step, number: int, a: Stream) -> Stream:
    key = named_of(step)
    found = select(operators.distinct(a, key), *key.split())
    return unknown(row(found, **({name: name for name in key.split()} | {"id": named(found, key)})), number)


def scan(step: Step, number: int, a: Stream) -> Stream:
    key = named_of(step)
    found = operators.scan(a, key, numbered, Schema("n"))
    return unknown(row(found, **({name: name for name in key.split()} | {"id": named(found, key, col("n"))})), number)


# --- joins


def other(stream: Stream) -> Stream:
    """The right side's columns, by names of their own."""
    return select(stream, **{f"r{name}": col(name) for name in stream.schema.names})


def paired(stream: Stream, at: Any, *more: Any) -> Stream:
    """Pairs, and rows that match nothing, as rows."""
    at_both = greatest(fill(stream, "at", 0), fill(stream, "rat", 0))
    s: Any = NO_TEXT
    if "s" in stream.schema.names:
        is_alone = stream.schema.kind("id").nullable
        s = when(col("id").is_null()).then(col("rs")).otherwise(col("s")) if is_alone else "s"
    return row(
        stream, k="k", s=s, w=fill(stream, "w", 9.5), v=(3 * fill(stream, "v", 1) + fill(stream, "rv", 2)) % 5,
        at=at_both if at is None else at_both + at if isinstance(at, int) else at,
        id=digest(fill(stream, "id", NO_ID), fill(stream, "rid", NO_ID), *more),
    )  # fmt: skip


def pair_of(a: Stream, *but: str) -> list[str]:
    """The columns of pairs, without text if the left side has none."""
    text = () if "s" in a.schema.names else ("s", "rs")
    return [name for name in PAIR if name not in (*text, *but)]


PAIR = ["k", "s", "w", "v", "at", "id", "rs", "rv", "rat", "rid"]
ENDS = {"start": "start", "end": "end"}


def join(how: str) -> Callable[..., Stream]:
    def build(step: Step, number: int, a: Stream, b: Stream) -> Stream:
        on = {name: f"r{name}" for name in on_of(step)}
        if how in ("semi", "anti"):
            found = operators.join(a, other(b), on=on, how=how)
            return found if how == "anti" else unknown(found, number)
        columns = pair_of(a, *on.values())
        found = operators.join(a, other(b), on=on, how=how, columns=columns)
        return paired(_with_text(found, on), None)

    return build


def _with_text(found: Stream, on: dict[str, str]) -> Stream:
    """A key of text is called as on the left side, whichever side it comes from."""
    return with_columns(found, rs=col("s")) if "s" in on else found


MIRRORED = {"left": "right", "right": "left"}


def unique(how: str, in_time: bool = False) -> Callable[..., Stream]:
    """The second stream is the unique one, on the right side or on the left."""

    def build(step: Step, number: int, a: Stream, b: Stream) -> Stream:
        some, only = with_columns(a, ref=col("id") * 7 % REFS), other(b)
        is_left, where = step.constants[2] % 2, {}
        if step.constants[1] % 2:
            where = {"left_where" if is_left else "right_where": col("rv") > 1}
        sides, key, side = (some, only), ("ref", "rid"), "right"
        times, bounds, said = ("at", "rat"), (LOWER, UPPER), how
        if is_left:
            sides, key, side = sides[::-1], key[::-1], "left"
            times, bounds, said = times[::-1], (-UPPER, -LOWER), MIRRORED.get(how, how)
        more: dict[str, Any] = dict(
            left_on=key[0], right_on=key[1], how=said, unique=side, columns=[*pair_of(a, "rid"), key[0]], **where
        )
        if in_time:
            more |= dict(left_time=times[0], right_time=times[1], lower=bounds[0], upper=bounds[1])
            found = operators.interval_join(*sides, **more)
        else:
            found = operators.join(*sides, **more)
        # The key is there whichever side is: a row without the unique side has no values of it.
        rid = when(col("rv").is_not_null()).then(col(key[0])) if found.schema.kind("rv").nullable else col(key[0])
        made = paired(with_columns(found, rid=rid), 6 if in_time else None)
        if in_time:
            return put(step, made)
        return unknown(made, number) if where and how != "inner" else made

    return build


def windowed(how: str) -> Callable[..., Stream]:
    def build(step: Step, number: int, a: Stream, b: Stream) -> Stream:
        on = {name: f"r{name}" for name in on_of(step)}
        window = (Tumbling("at", 4, **ENDS), Sliding("at", 6, 2, **ENDS))[step.constants[1] % 2]
        once = how in ("semi", "anti")
        columns = a.schema.names if once else pair_of(a, *on.values())
        found = operators.join(a, other(b), on=on, how=how, window=window, right_time="rat", columns=list(columns))
        if once:
            made = with_columns(found, at=col("end"), id=digest(col("id"), col("end")))
            return put(step, select(made, *a.schema.names))
        return put(step, paired(_with_text(found, on), col("end"), col("end")))

    return build


def interval(how: str) -> Callable[..., Stream]:
    def build(step: Step, number: int, a: Stream, b: Stream) -> Stream:
        on = {name: f"r{name}" for name in on_of(step)}
        once, until = how in ("semi", "anti"), step.constants[1] % 2 == 1
        columns = a.schema.names if once else pair_of(a, *on.values())
        upper: Any = "until" if until else UPPER
        left = with_columns(a, until=col("at") + col("v") % 5) if until else a
        found = operators.interval_join(
            left,
            other(b),
            on=on,
            how=how,
            left_time="at",
            right_time="rat",
            upper=upper,
            lower=LOWER,
            columns=list(columns),
        )
        if once:
            return put(step, select(with_columns(found, at=col("at") + 6), *a.schema.names))
        return put(step, paired(_with_text(found, on), 6))

    return build


def versions(b: Stream, on: tuple[str, ...]) -> Stream:
    """One of each key and time."""
    found = aggregate(b, " ".join(on), window=Tumbling("at", 1), rv=Max("v"))
    return select(found, "rv", **{f"r{name}": col(name) for name in on}, rat=col("window_end"))


def with_version(which: str, how: str) -> Callable[..., Stream]:
    """which: by a column (temporal), by messages' times (enrich), or of a table that is given."""

    def build(step: Step, number: int, a: Stream, b: Stream) -> Stream:
        names = on_of(step)
        on, columns = {name: f"r{name}" for name in names}, [*a.schema.names, "rv"]
        if which == "table":
            found = operators.enrich(a, {"rk": [0, 1, 2, 3], "rv": [1, 2, 3, 4]}, on={"k": "rk"}, how=how)
        elif which == "enrich":
            found = operators.enrich(a, versions(b, names), on=on, how=how, columns=columns)
        else:
            found = operators.temporal_join(
                a, versions(b, names), on=on, time="at", version_time="rat", how=how, columns=columns
            )
            found = put(step, found)
        v = fill(found, "rv", 9)
        return whole(select(with_columns(found, v=(3 * col("v") + v) % 5, id=digest(col("id"), v)), *a.schema.names))

    return build


def look_up(step: Step, number: int, a: Stream, b: Stream) -> Stream:
    table = aggregate(numbers(b), "k", window=Tumbling("at", 1), x=Max("v"))
    asked = numbers(at_own_times(a))
    found = operators.look_up(asked, "k", select(table, "k", "x"), "x")
    return row(found, k="k", v="x", at="at", id=digest(col("id"), col("x")))


def best_offers(step: Step, number: int, a: Stream, b: Stream) -> Stream:
    intervals = select(a, "id", "at", asked=col("v"), until=col("at") + col("v") + 1)
    found = operators.best_offers(
        intervals, select(b, "at", "v", ref=col("id") * 7 % REFS), key="id", start="at", end="until",
        threshold="asked", payload="id", offer_key="ref", offer_time="at", offer_value="v",
    )  # fmt: skip
    return unknown(row(found, v="v", id="id"), number)


# --- the paper's and the graphs'


def tumbling_average(step: Step, number: int, a: Stream) -> Stream:
    pact = Exchange("one")
    found = operators.tumbling_average(with_columns(numbers(a), one=lit(0)), "at", "v", 4, pact)
    return row(found, w="average", at="window_end", id="window_end")


def tumbling_average_here(step: Step, number: int, a: Stream) -> Stream:
    return row(operators.tumbling_average(numbers(a), "at", "v", 4), w="average", at="window_end", id="window_end")


def average_of_last(step: Step, number: int, a: Stream) -> Stream:
    found = operators.average_of_last(numbers(a), "k", "v", rows=2, order="at id v")
    return unknown(row(found, k="k", v="average", id=digest(col("k"), col("average"), col("count"))), number)


def running_average(step: Step, number: int, a: Stream) -> Stream:
    found = operators.running_average(numbers(a), "k", "v")
    return unknown(row(as_rows(found), k="k", v="average", id=digest(col("k"), col("average"), col("count"))), number)


def word_count(step: Step, number: int, a: Stream) -> Stream:
    found = operators.word_count(numbers(a), "k", "at")
    return put(step, row(found, k="k", at="at", id=digest(col("k"), col("at"), col("count"))))


def components(step: Step, number: int, a: Stream) -> Stream:
    found = graphs.connected_components(select(a, src=col("k").fill_null(99), dst=col("v")))
    return unknown(row(found, k="node", v=col("component") % 5, id=digest(col("node"), col("component"))), number)


# --- rows alone, and loops


def condition(step: Step) -> Any:
    a = step.constants
    return (
        (col("v") + col("k").fill_null(3) % 3) % 3 != a[1] % 3, col("k") >= a[1] % 6,
        col("s").is_null() | (col("s").length() > 1), ~col("s").is_in(["a", "dd"]),
    )[a[0] % 4]  # fmt: skip


def mapped(step: Step, number: int, a: Stream) -> Stream:
    c = step.constants
    v, k = col("v"), col("k")
    return with_columns(
        a, k=when(v != c[0] % 5).then((k % 12 * (1 + c[1]) + v) % 12), v=(v * c[2] + col("id") % 7) % 5,
        s=when(v > 2).then(col("s").upper() + "x").otherwise(col("s")), id=digest(col("id"), c[3]),
    )  # fmt: skip


def flat(step: Step, number: int, a: Stream) -> Stream:
    if step.constants[0] % 3:
        return operators.map_batches(a, ROW, twice)
    return operators.flat_map_rows(
        a, ROW, lambda one: [{**one, "id": scrambled((one["id"] * FACTOR + more) % PRIME)} for more in range(2)]
    )


def branched(step: Step, number: int, a: Stream) -> Stream:
    some, rest = operators.branch(a, condition(step))
    return operators.union(some, with_columns(rest, v=(col("v") + 1) % 5, id=digest(col("id"), 3)))


def loop(step: Step, number: int, a: Stream) -> Stream:
    """Rows go round, one less each time, as long as they are the first of their kind."""

    def body(rows: Stream) -> tuple[Stream, Stream]:
        less = with_columns(operators.distinct(rows, "k v"), v=col("v") - 1)
        return operators.filter(less, col("v") >= 0), operators.filter(less, col("v") < 0)

    found = operators.iterate(select(a, "k", "v"), body)
    return unknown(row(found, k="k", id=named(found, "k")), number)


def rounds(step: Step, number: int, a: Stream) -> Stream:
    """Rows that become two of one less, each time on another worker, within a limit or without."""

    def around(rows: Stream) -> Stream:
        def body(rows: Stream) -> tuple[Stream, Stream]:
            more = operators.filter(rows, "v", ">", 0)
            again = with_columns(more, k=(col("k") % 5 * 3 + col("v")) % 5, v=col("v") - 1)
            return operators.exchange(operators.map_batches(again, rows.schema, twice), "k v"), rows

        return operators.iterate(rows, body)

    limit = step.constants[0]
    return around(a) if limit % 3 == 0 else limited(a, around, most=1 + 2 * limit)


# --- collections


def come_and_go(stream: Stream, keys: int) -> Any:
    """Rows (k, v), each from its own time on, and of every second one until some time after that."""
    columns = {"k": col("k").fill_null(0) % keys, "v": col("v") % 4}
    comes = select(stream, **columns, time=col("at"), times=lit(1))
    leaves = operators.filter(stream, col("id") % 2 == 1)
    goes = select(leaves, **columns, time=col("at") + col("id") // 2 % 3, times=lit(-1))
    return collection(operators.union(comes, goes), "time", "times")


def collections(step: Step, number: int, a: Stream, b: Stream) -> Stream:
    keys = step.constants[0]
    made = run_plan(step.plan, Views(keys), [come_and_go(stream, keys) for stream in (a, b)])
    changes = made.changes()
    often = digest(col("k"), col("v"), col("time"), col("times") + 1_000_000)
    return put(step, row(changes, k="k", v="v", at="time", id=often))


def kept_by_text(step: Step, number: int, a: Stream) -> Stream:
    """The two best rows of each key of text and number, null too, at each time; and those that have the key of none."""
    names = ["k", "s", "v"]
    rows = collection(select(a, *names, "at"), time="at")
    best = rows.top(["k", "s"], "v", 2).concat(rows.antijoin(rows.filter(col("v") > 1), ["k", "s"]))
    changes = best.changes(times="often")
    often = named(changes, "k s v", col("time"), col("often") + 1_000_000)
    return put(step, row(changes, k="k", s="s", v="v", at="time", id=often))


def latest_of_running(step: Step, number: int, a: Stream) -> Any:
    """The last of running aggregates; by bins that is by the times of messages, which are in order here."""
    running = aggregate(a, "k", n=Count(), total=Sum("v"))
    return operators.latest(as_rows(running) if has_bins(a.scope) else running, "k")


def kept_totals(step: Step, number: int, a: Stream) -> Stream:
    """What aggregates of a collection's rows come to at each time."""
    key = key_of(step)
    sets = SETS if key in ("w", "v") else ()
    folds = {name: fold for name, fold in KEPT.items() if name in sets or not isinstance(fold, CountDistinct)}
    rows = collection(with_columns(a, time=col("at")), time="time")
    found = rows.aggregate(key, **folds).changes(times="often")
    values = [col(name) for name in ("n", "total", "most", "least", "greatest", "known")]
    values += [fill(found, "ks", 7), col("odd")]
    values += [fill(found, name, 77) for name in FILLED if name in folds] + [marks(found, name) for name in MARKED]
    values += letters_of(col("last_text").fill_null("none")) + [col(name) for name in sets]
    often = digest(digest(*values), col("time"), col("often") + 1_000_000)
    columns = {"s": "texts", "w": fill(found, "total_w", 0.0)} | {name: name for name in key.split()}
    return put(step, row(found, at="time", id=often, **columns))


class Times(Enum):
    """When a step sends: each row at the time of what it comes of; at its own time, or its window's; in the end; or
    when nobody knows."""

    SAME, OWN, LAST, UNKNOWN = range(4)


class Operator(NamedTuple):
    """build: of the step, its number and its streams, the result. settled: whether its rows are not to be late.
    in_order: whether what it sends depends on the order of arrival. keeps_order: whether it hands messages on. sources:
    whether its other side is an input, whose ids are small. ends: whether nothing comes behind it. timed: whether it
    goes by the times of messages. put: whether its rows are put at their own times, or, as sent, are not."""

    build: Callable[..., Stream | Latest]
    times: Times
    inputs: int = 1
    settled: bool = True
    in_order: bool = False
    keeps_order: bool = False
    sources: bool = False
    ends: bool = False
    timed: bool = False
    put: bool = False


SAME, OWN, LAST, UNKNOWN = Times


def put(step: Step, stream: Stream) -> Stream:
    """Rows whose own times are those of their messages or later ones, at these, or as they are; none takes the place of
    another."""
    return as_rows(stream) if step.as_sent else at_own_times(stream)


HOWS = ("inner", "left", "right", "full", "semi", "anti")


def stateless(build: Callable[..., Stream]) -> Operator:
    return Operator(build, SAME, settled=False, keeps_order=True)


STEPS: dict[str, Operator] = {
    "filter": stateless(lambda step, number, a: operators.filter(a, condition(step))),
    "map": stateless(mapped),
    "flat": stateless(flat),
    "delay": stateless(lambda step, number, a: operators.delay(a, 1 + step.constants[0] % 3))._replace(
        times=OWN, timed=True, keeps_order=False  # messages of one time may be one
    ),
    "branch": Operator(branched, SAME, settled=False),
    "exchange": Operator(lambda step, number, a: operators.exchange(a, key_of(step)), SAME, settled=False),
    "broadcast": Operator(lambda step, number, a: operators.broadcast(a), SAME, settled=False),
    "no_op": Operator(lambda step, number, a: operators.no_op(a, key_of(step).split()[0]), SAME, settled=False),
    "union": Operator(
        lambda step, number, a, b: operators.union(a, with_columns(b, id=digest(col("id"), 7))), SAME, 2, settled=False
    ),
    "own times": Operator(lambda step, number, a: at_own_times(a), OWN),
    **{
        f"{name} {folds}": Operator(windows(name, folds), OWN, settled=False, put=name == "session")
        for name in ("tumbling", "sliding", "session") for folds in ("words", "all")
    },
    **{f"{name} of all": Operator(windows(name, "words", True), OWN, settled=False) for name in WINDOWS},
    "kinds": Operator(kinds, OWN),
    "other keys": Operator(other_keys, OWN),
    "reduce": Operator(reduced, OWN),
    "final words": Operator(final("words"), LAST),
    "final all": Operator(final("all"), LAST),
    "final of all": Operator(final("all", True), LAST),
    "running words": Operator(running("words", "last"), LAST),
    "running all": Operator(running("all", "last"), LAST),
    "running of all": Operator(running("words", "last", True), LAST),
    **{
        f"{emit} {folds}": Operator(running(folds, emit), SAME, in_order=True)
        for emit in ("batch", "each") for folds in ("words", "all")
    },
    "distinct": Operator(distinct, UNKNOWN),
    "last_by": Operator(last_by("final"), LAST),
    **{f"last_by {emit}": Operator(last_by(emit), SAME, in_order=True) for emit in ("batch", "each")},
    **{f"top {which}": Operator(top(which), LAST) for which in ("final", "all")},
    **{f"top {which}": Operator(top(which), OWN) for which in ("window", "window all")},
    **{f"top {which}": Operator(top(which), SAME, in_order=True) for which in ("batch", "each")},
    "scan": Operator(scan, UNKNOWN),
    "running_average": Operator(running_average, UNKNOWN, in_order=True),
    "tumbling_average": Operator(tumbling_average, OWN),
    "tumbling_average here": Operator(tumbling_average_here, OWN, in_order=True),
    "average_of_last": Operator(average_of_last, UNKNOWN),
    "word_count": Operator(word_count, OWN, put=True),
    "best_offers": Operator(best_offers, UNKNOWN, 2, sources=True),
    "look_up": Operator(look_up, OWN, 2),
    **{f"join {how}": Operator(join(how), UNKNOWN if how == "semi" else SAME, 2) for how in HOWS},
    **{f"unique {how}": Operator(unique(how), UNKNOWN, 2, sources=True) for how in HOWS[:4]},
    **{f"windowed {how}": Operator(windowed(how), OWN, 2, put=True) for how in HOWS},
    **{f"interval {how}": Operator(interval(how), OWN, 2, put=True) for how in HOWS},
    **{f"interval unique {how}": Operator(unique(how, True), OWN, 2, sources=True, put=True) for how in HOWS[:4]},
    **{
        f"{which} {how}": Operator(with_version(which, how), OWN, 2, timed=which != "temporal", put=which == "temporal")
        for which in ("temporal", "enrich", "table") for how in HOWS[:2]
    },
    "loop": Operator(loop, UNKNOWN, timed=True),
    "rounds": Operator(rounds, SAME, settled=False),
    "components": Operator(components, UNKNOWN, timed=True),
    "collections": Operator(collections, OWN, 2, put=True),
    "kept by text": Operator(kept_by_text, OWN, put=True),
    "kept totals": Operator(kept_totals, OWN, put=True),
    "latest": Operator(lambda step, number, a: operators.latest(a, "k"), OWN, in_order=True, ends=True),
    "latest of running": Operator(latest_of_running, OWN, in_order=True, ends=True),
}  # fmt: skip


STEPS |= {
    f"{does}{OF_NUMBERS}": STEPS[does]
    for does in (
        *("exchange", "union", "rounds", "own times", "components", "tumbling words", "sliding words", "session words"),
        *("tumbling of all", "sliding of all", "kinds", "reduce", "final words", "running words"),
        *("running of all", "batch words", "each words", "distinct", "last_by", "last_by batch", "top final"),
        *("top window", "top batch", "running_average", "tumbling_average", "average_of_last", "word_count"),
        *("best_offers", "look_up", "latest of running", "collections"),
        *(f"{join} {how}" for join in ("join", "windowed", "interval") for how in HOWS),
        *(f"{join} {how}" for join in ("unique", "interval unique") for how in HOWS[:4]),
        *("temporal left", "enrich left"),
    )
}
TEXTS_INTERNED = ("collections", "kept by text", "kept totals")
"""Steps that are refused where there is no text space."""
UNSAVED = ("latest", "latest of running", "tumbling_average", "tumbling_average here")
"""Steps that cannot be saved, or whose rows stay in workers."""
SAVED = tuple([does for does in STEPS if does.removesuffix(OF_NUMBERS) not in (*UNSAVED, "broadcast")])
"""Steps that are not, and come to the same on any number of workers."""
TIMED = ("best_offers", "average_of_last")


def needs_time(does: str) -> bool:
    """Whether a step goes by its rows' own times: none behind what is sent in the end."""
    return STEPS[does].times == Times.OWN or does.removesuffix(OF_NUMBERS) in TIMED


def numbers_of(steps: Sequence[Step], inputs: int) -> list[int | None]:
    """The number of each step; 0 of those that come behind what is sent in the end, and None of those that have rows of
    both kinds, of which nobody could know when they are sent."""
    is_last: list[bool | None] = [False] * inputs  # of each value; None: some of its rows
    numbers: list[int | None] = []
    for number, step in enumerate(steps, inputs):
        given = {is_last[one] for one in step.of}
        times = STEPS[step.does].times
        one = given.pop() if len(given) == 1 else None
        is_possible = times == Times.LAST or (
            one is False if needs_time(step.does) else times == Times.SAME or one is not None
        )
        numbers.append((0 if one else number) if is_possible else None)
        is_last.append(True if times == Times.LAST else one)
    return numbers


def untimed(steps: Sequence[Step], given: Sequence[bool]) -> list[bool | None]:
    """Of the inputs and each step, whether nobody knows at which times its messages are, which are its rows' own or
    earlier ones; None of a step that would go by these."""
    found: list[bool | None] = [*given]
    for step in steps:
        is_given, operator = any([found[one] is not False for one in step.of]), STEPS[step.does]
        now = step.as_sent or (is_given and operator.times in (Times.SAME, Times.UNKNOWN))
        found.append(None if is_given and operator.timed else now)
    return found


def is_possible(steps: Sequence[Step], given: Sequence[bool]) -> bool:
    """Whether it is known when each step sends, and what it goes by. given: see untimed."""
    return None not in (*numbers_of(steps, len(given)), *untimed(steps, given))


def declared(step: Step, number: int, given: list[Stream]) -> Stream | Latest:
    """What a step makes of streams, within its limit if it has one."""
    operator = STEPS[step.does]
    if step.does.endswith(OF_NUMBERS):
        given = [bare(stream) for stream in given]

    def region(*streams: Stream) -> Any:
        calm = [settled(stream) if operator.settled else stream for stream in streams]
        made = operator.build(step, number, *calm)
        return made if isinstance(made, Latest) else whole(made)

    if step.limit is None:
        return region(*given)
    per, most = step.limit
    return limited(given, region, per=per, most=most)
