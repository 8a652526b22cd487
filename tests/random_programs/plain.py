"""The steps of random programs in plain Python over all rows at once: what they are to come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.random_programs.collections import VALUES, Scratch, run_plan
from tests.random_programs.rows import (
    FACTOR,
    GAP,
    LAST,
    LETTERS,
    LOWER,
    MARKS,
    NO_FLOAT,
    NO_ID,
    OF_NUMBERS,
    PRIME,
    REFS,
    SMALL,
    SPAN,
    UPPER,
    WINDOWS,
    Row,
    Step,
    Value,
    folds_of,
    key_of,
    kinds_of,
    named_of,
    on_of,
    order_of,
    scrambled,
    span_of,
)
from tests.random_programs.values import HUGE, NAN

Rows = list[Row]


def each(rows: Iterable[Row], time: Callable[[Row], int] = lambda row: row.at) -> Value:
    """Rows, each by itself, at its own time or another one."""
    return [(time(row), [row]) for row in rows]


def rows_of(value: Value) -> Rows:
    return [row for _, rows in value for row in rows]


def settled(value: Value) -> Value:
    return [(time, [row._replace(at=max(row.at, time)) for row in rows]) for time, rows in value]


def unknown(rows: Iterable[Row], number: int) -> Value:
    """See steps.unknown."""
    if number == 0:
        return at_the_end(rows)
    return each([row._replace(at=span_of(number) + row.at % SPAN) for row in rows])


def at_the_end(rows: Iterable[Row]) -> Value:
    return each(rows, lambda row: LAST)


def digest(*values: int) -> int:
    found = 0
    for value in values:
        found = (found * FACTOR + value % PRIME) % PRIME
    return scrambled(found)


def nothing(**columns: Any) -> Row:
    return Row(**({"k": None, "s": None, "w": 0.0, "v": 0, "at": 0, "id": 0} | columns))


def of_key(row: Row, key: Iterable[str]) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in key)


def by_key(rows: Iterable[Row], key: str) -> dict[tuple[Any, ...], Rows]:
    """The rows of each key, in their order."""
    found: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        found.setdefault(of_key(row, key.split()), []).append(row)
    return found


def named(row: Row, key: str, *more: int) -> int:
    """See steps.named."""
    values: list[int] = []
    for name in key.split():
        if name == "s":
            s = None if row.s is None else row.s.lower()
            values += [77] * 5 if s is None else letters_of(s)
        else:
            value = getattr(row, name)
            values.append(1_000 if value is None else value)
    return digest(*values, *more)


def of_names(key: str, values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(key.split(), values, strict=True))


# --- aggregates


def greatest(floats: Iterable[float], choose: Any = max) -> float:
    """NaN if there is nothing else."""
    return choose([one for one in floats if one is not NAN], default=NAN)


def marks(value: float | None) -> int:
    """See steps.marks."""
    value = NO_FLOAT if value is None else value
    return sum([(value >= mark) << at for at, mark in enumerate(MARKS)])


def total(rows: Rows) -> float:
    """The sum of weights, in eighths; NaN is always the same one."""
    found = sum([int(w * 8) / 8 if -1e6 <= w <= 1e6 else w for row in rows if (w := row.w) != HUGE], 0.0)
    return found if found == found else NAN


def letters_of(text: str) -> list[int]:
    return [len(text), *[text.lower().count(letter) for letter in LETTERS]]


def filled(value: int | None) -> int:
    return 77 if value is None else value


def totals(rows: Rows, key: str, folds: str, at: int | None = None, start: int = 0) -> Row:
    """See steps.totals."""
    values, in_order = [row.v for row in rows], sorted(rows, key=lambda row: row.id)
    latest = max(row.at for row in rows)
    found = [
        len(rows), sum(values), max(values), min(values), in_order[0].v, in_order[-1].v, latest, in_order[-1].id, start,
    ]  # fmt: skip
    w, s = sum(values) / len(values), None
    if folds == "all":
        known = [row.k for row in rows if row.k is not None]
        names = {row.s for row in rows if row.s is not None}
        small = [k for k in known if -SMALL < k < SMALL]
        found += [
            len(set(values)), len(names), len(known), sum(small) if small else 7, sum(v % 2 for v in values),
        ]
        w, s = greatest([row.w for row in rows]), next((row.s for row in in_order if row.s is not None), None)
    if folds == "more":
        known = [row for row in in_order if row.k is not None]
        keys: list[Any] = [row.k for row in known]
        small = [k for k in keys if -SMALL < k < SMALL]
        some, threes = [row for row in rows if row.v > 1], keys.count(3)
        last = next((row.s for row in reversed(in_order) if row.v > 1 and row.s is not None), "none")
        found += [
            min(keys, default=77), max(keys, default=77), filled(keys[0] if keys else None),
            next((row.k for row in reversed(known) if row.v > 1), 77), known[0].v if known else 77,
            len(set(keys)), len({row.w for row in some}), len({row.s for row in some} - {None}),
            marks(sum(small) / len(small) if small else None), marks(greatest([row.w for row in rows])),
            marks(greatest([row.w for row in rows], min)), marks(in_order[-1].w),
            marks(greatest([row.w for row in some]) if some else None), marks(0.0 if threes > 1 else None),
            *letters_of(last),
        ]  # fmt: skip
        w = total(rows)
        s = next((row.s for row in in_order if row.s is not None), None)
    made = nothing(k=len(rows), s=s, w=w, v=sum(values) % 5, at=latest if at is None else at, id=digest(*found))
    return made._replace(**of_names(key, of_key(rows[0], key.split())))


def windows_of(name: str, rows: Rows) -> Iterator[tuple[int, int, Rows]]:
    """(start, end, rows) of each window that has rows."""
    if name == "session":
        ordered = sorted(rows, key=lambda row: row.at)
        begins = [at for at, row in enumerate(ordered) if at == 0 or row.at - ordered[at - 1].at >= GAP]
        for begin, end in zip(begins, [*begins[1:], len(ordered)], strict=True):
            yield ordered[begin].at, ordered[end - 1].at + GAP, ordered[begin:end]
        return
    width, every = WINDOWS[name]
    starts = {start for row in rows for start in range(row.at - width + 1, row.at + 1) if start % every == 0}
    for start in starts:
        yield start, start + width, [row for row in rows if start <= row.at < start + width]


def is_late(name: str, time: int, row: Row, lateness: int) -> bool:
    if name == "session":
        return row.at + lateness < time
    pane = WINDOWS[name][1]
    return row.at // pane * pane + pane + lateness <= time


def windows(name: str, folds: str, all_rows: bool = False) -> Callable[..., Value]:
    def answer(step: Step, number: int, a: Value) -> Value:
        key, lateness = "" if all_rows else key_of(step), 3 * (step.constants[1] % 2)
        late: Value = []
        if step.constants[2] % 2:
            a = settled(a)
        else:
            late = [(time, [row]) for time, rows in a for row in rows if is_late(name, time, row, lateness)]
            a = [(time, [row]) for time, rows in a for row in rows if not is_late(name, time, row, lateness)]
        found = [
            totals(inside, key, folds_of(step, folds), end + lateness, start + 100 + 7 * end)
            for rows in by_key(rows_of(a), key).values()
            for start, end, inside in windows_of(name, rows)
        ]
        return each(found) + settled([(time, [row._replace(id=digest(row.id, 5))]) for time, (row,) in late])

    return answer


def final(folds: str, all_rows: bool = False) -> Callable[..., Value]:
    def answer(step: Step, number: int, a: Value) -> Value:
        key, said = "" if all_rows else key_of(step), folds_of(step, folds)
        return at_the_end([totals(rows, key, said) for rows in by_key(rows_of(a), key).values()])

    return answer


def in_order(answer: Callable[[Rows, int], Rows], batches: bool) -> Callable[[Value, str], Value]:
    """Of a key's rows so far, of which so many came last, what is sent; for each row, or for those of a message."""

    def answered(a: Value, key: str) -> Value:
        found: Value = []
        so_far: dict[tuple[Any, ...], Rows] = {}
        for time, rows in a:
            for some in [rows] if batches else [[row] for row in rows]:
                for which, new in by_key(some, key).items():
                    so_far.setdefault(which, []).extend(new)
                    found += [(time, [row]) for row in answer(so_far[which], len(new))]
        return found

    return answered


def running(folds: str, emit: str) -> Callable[..., Value]:
    def answer(step: Step, number: int, a: Value) -> Value:
        key = key_of(step)
        return in_order(lambda rows, new: [totals(rows, key, folds_of(step, folds))], emit == "batch")(a, key)

    return answer


def kinds(step: Step, number: int, a: Value) -> Value:
    key = key_of(step)
    found = []
    for which, rows in by_key(rows_of(a), key).items():
        for _, end, inside in windows_of("tumbling", rows):
            n = len({row.v for row in inside})
            made = nothing(v=n, at=end, id=digest(max(row.id for row in inside), n))
            found.append(made._replace(**of_names(key, which)))
    return each(found)


def of_kind(row: Row, kind: str, empty: int) -> Any:
    """See steps.of_kind."""
    if row.v == empty:
        return None
    match kind:
        case "float64":
            return row.w
        case "bool":
            return row.v % 2
        case "timestamp":
            return 5 if row.k is None else row.k
    return row.v


def word_of(value: Any, kind: str) -> int:
    """See steps.word_of."""
    return marks(value) if kind == "float64" else filled(value)


def other_keys(step: Step, number: int, a: Value) -> Value:
    kinds, name = kinds_of(step), [*WINDOWS, "session"][step.constants[2] % 3]
    groups: dict[tuple[Any, Any], Rows] = {}
    for row in rows_of(a):
        groups.setdefault((of_kind(row, kinds[0], 0), of_kind(row, kinds[1], 1)), []).append(row)
    found = []
    for (x, y), rows in groups.items():
        for _, end, inside in windows_of(name, rows):
            ordered = sorted(inside, key=lambda row: row.id)
            values = [(row, value) for row in ordered if (value := of_kind(row, kinds[2], 2)) is not None]
            some = [value for row, value in values if row.v > 1]
            of_z = [greatest([value for _, value in values], min) if values else None]
            of_z += [greatest(some) if some else None, values[0][1] if values else None]
            last = y if any([row.v > 1 for row in inside]) else None
            words = [word_of(x, kinds[0]), word_of(y, kinds[1]), *[word_of(z, kinds[2]) for z in of_z]]
            known = 0 if x is None else len(inside)
            numbers = len(inside), ordered[-1].id, end, len({*some}), known
            found.append(nothing(at=end, id=digest(*numbers, *words, word_of(last, kinds[1]))))
    return each(found)


def numbers(value: Value) -> Rows:
    return [row._replace(k=99 if row.k is None else row.k) for row in rows_of(value)]


def reduced(step: Step, number: int, a: Value) -> Value:
    found = []
    for (k,), rows in by_key(numbers(a), "k").items():
        for _, end, inside in windows_of("tumbling", rows):
            total = sum(row.v for row in inside)
            found.append(nothing(k=k, v=total % 5, at=end, id=digest(total, max(row.id for row in inside))))
    return each(found)


# --- rows by key


def mixed(row: Row) -> int:
    return row.id * 7919 % PRIME


def ranking(rows: Rows, k: int, ties: bool, order: tuple[str, bool]) -> list[tuple[int, Row]]:
    """Null and NaN have no rank."""
    name, largest = order
    ranked = [(-value if largest else value, row) for row in rows if (value := getattr(row, name)) not in (None, NAN)]
    ranked.sort(key=lambda one: (one[0], one[1].id))
    if not ties:
        return [(rank, row) for rank, (_, row) in enumerate(ranked[:k], 1)]
    ranks = [(1 + sum(other < value for other, _ in ranked), row) for value, row in ranked]
    return [(rank, row) for rank, row in ranks if rank <= k]


def with_ranks(ranks: Iterable[tuple[int, Row]]) -> Rows:
    return [row._replace(v=rank, id=digest(row.id, rank)) for rank, row in ranks]


def top(which: str) -> Callable[..., Value]:
    def answer(step: Step, number: int, a: Value) -> Value:
        key, k, ties, order = key_of(step), 1 + step.constants[1] % 2, which.endswith("all"), order_of(step)
        if which.startswith("window"):
            name = ("tumbling", "sliding")[step.constants[2] % 2]
            return each([
                made
                for rows in by_key(rows_of(a), key).values()
                for _, end, inside in windows_of(name, rows)
                for made in with_ranks([
                    (rank, row._replace(at=end, id=digest(row.id, end)))
                    for rank, row in ranking(inside, k, ties, order)
                ])
            ])  # fmt: skip
        if which in ("batch", "each"):

            def changed(rows: Rows, new: int) -> Rows:
                before, now = ranking(rows[:-new], k, False, order), ranking(rows, k, False, order)
                first = next((at for at, one in enumerate(now) if before[at : at + 1] != [one]), len(now))
                return with_ranks(now[first:])

            return in_order(changed, which == "batch")(a, key)
        groups = by_key(rows_of(a), key).values()
        return at_the_end([made for rows in groups for made in with_ranks(ranking(rows, k, ties, order))])

    return answer


def last_by(emit: str) -> Callable[..., Value]:
    def answer(step: Step, number: int, a: Value) -> Value:
        key = key_of(step)
        if emit == "final":
            return at_the_end([max(rows, key=mixed) for rows in by_key(rows_of(a), key).values()])

        def changed(rows: Rows, new: int) -> Rows:
            last = max(rows, key=mixed)
            return [last] if last not in rows[:-new] else []

        return in_order(changed, emit == "batch")(a, key)

    return answer


def distinct(step: Step, number: int, a: Value) -> Value:
    key = named_of(step)
    found = [nothing(**of_names(key, which)) for which in by_key(rows_of(a), key)]
    return unknown([row._replace(id=named(row, key)) for row in found], number)


def scan(step: Step, number: int, a: Value) -> Value:
    key = named_of(step)
    return unknown([
        nothing(**({"id": named(rows[0], key, n)} | of_names(key, which)))
        for which, rows in by_key(rows_of(a), key).items()
        for n in range(1, len(rows) + 1)
    ], number)  # fmt: skip


# --- joins

Pair = tuple[Row | None, Row | None]


Key = Callable[[Row], Any]


def met(
    lefts: Rows, rights: Rows, how: str, keys: tuple[Key, Key],
    matches: Callable[[Row, Row], bool] = lambda left, right: True,
) -> list[Pair]:  # fmt: skip
    """Pairs, and rows that meet none where `how` has them; of semi and anti joins rows of the left side alone. keys:
    what is equal of both sides' rows that meet; None is equal to nothing."""
    same: dict[Any, Rows] = {}
    for right in rights:
        same.setdefault(keys[1](right), []).append(right)
    same.pop(None, None)
    pairs: list[Pair] = [
        (left, right) for left in lefts for right in same.get(keys[0](left), ()) if matches(left, right)
    ]
    with_left = {id(left) for left, _ in pairs}
    with_right = {id(right) for _, right in pairs}
    if how in ("semi", "anti"):
        return [(left, None) for left in lefts if (id(left) in with_left) == (how == "semi")]
    if how in ("left", "full"):
        pairs += [(left, None) for left in lefts if id(left) not in with_left]
    if how in ("right", "full"):
        pairs += [(None, right) for right in rights if id(right) not in with_right]
    return pairs


def paired(pair: Pair, on: tuple[str, ...], at: int, *more: int) -> Row:
    """See steps.paired."""
    left, right = pair
    first = left or nothing(w=9.5, v=1, id=NO_ID, s=right.s if right else None)
    second = right or nothing(v=2, id=NO_ID)
    made = first._replace(v=(3 * first.v + second.v) % 5, at=at, id=digest(first.id, second.id, *more))
    return made if left else made._replace(**{name: getattr(second, name) for name in on if name != "v"})


def at_of(pair: Pair) -> int:
    return max(row.at if row else 0 for row in pair)


def own(rows: Value) -> tuple[Rows, dict[int, int]]:
    """The rows as objects of their own, and the time of each by its identity."""
    copies = [(time, Row(*row)) for time, some in rows for row in some]
    return [row for _, row in copies], {id(row): time for time, row in copies}


def columns(on: tuple[str, ...]) -> tuple[Key, Key]:
    """Keys of both sides; a row that lacks a column meets none."""

    def key(row: Row) -> Any:
        found = of_key(row, on)
        return None if None in found else found

    return key, key


def join(how: str) -> Callable[..., Value]:
    def answer(step: Step, number: int, a: Value, b: Value) -> Value:
        on = on_of(step)
        (lefts, times), (rights, others) = own(a), own(b)
        found = met(lefts, rights, how, columns(on))
        if how == "semi":
            return unknown([left for left, _ in found if left], number)
        if how == "anti":
            return [(times[id(left)], [left]) for left, _ in found if left]
        times |= others
        return [(max(times[id(row)] for row in pair if row), [paired(pair, on, at_of(pair))]) for pair in found]

    return answer


def within(left: Row, right: Row, upper: int) -> bool:
    return left.at + LOWER <= right.at <= left.at + upper


def unique(how: str, in_time: bool = False) -> Callable[..., Value]:
    def answer(step: Step, number: int, a: Value, b: Value) -> Value:
        (lefts, times), (rights, others) = own(a), own(b)
        where = step.constants[1] % 2 == 1
        rights = [right for right in rights if right.v > 1 or not where]

        found = met(
            lefts, rights, how, (lambda left: left.id * 7 % REFS, lambda right: right.id),
            lambda left, right: not in_time or within(left, right, UPPER),
        )  # fmt: skip
        if in_time:
            return each([paired(pair, (), at_of(pair) + 6) for pair in found])
        made = [(pair, paired(pair, (), at_of(pair))) for pair in found]
        if where and how != "inner":
            return unknown([row for _, row in made], number)
        times |= others
        return [(max(times[id(row)] for row in pair if row), [row]) for pair, row in made]

    return answer


def windowed(how: str) -> Callable[..., Value]:
    def answer(step: Step, number: int, a: Value, b: Value) -> Value:
        on, name = on_of(step), ("tumbling", "sliding")[step.constants[1] % 2]
        (lefts, _), (rights, _) = own(a), own(b)
        found = []
        for _, end, both in windows_of(name, lefts + rights):
            inside = {id(row) for row in both}
            left, right = ([row for row in side if id(row) in inside] for side in (lefts, rights))
            for pair in met(left, right, how, columns(on)):
                if how in ("semi", "anti"):
                    assert pair[0]
                    found.append(pair[0]._replace(at=end, id=digest(pair[0].id, end)))
                else:
                    found.append(paired(pair, on, end, end))
        return each(found)

    return answer


def interval(how: str) -> Callable[..., Value]:
    def answer(step: Step, number: int, a: Value, b: Value) -> Value:
        on, until = on_of(step), step.constants[1] % 2 == 1
        (lefts, _), (rights, _) = own(a), own(b)
        found = met(
            lefts, rights, how, columns(on),
            lambda left, right: within(left, right, left.v % 5 if until else UPPER),
        )  # fmt: skip
        if how in ("semi", "anti"):
            return each([left._replace(at=left.at + 6) for left, _ in found if left])
        return each([paired(pair, on, at_of(pair) + 6) for pair in found])

    return answer


def versions(b: Value, on: tuple[str, ...]) -> list[tuple[tuple[Any, ...], int, int]]:
    """key, time, value."""
    return [
        (which, end, max(row.v for row in rows if row.at == end - 1))
        for which, rows in by_key(rows_of(b), " ".join(on)).items()
        for end in {row.at + 1 for row in rows}
        if None not in which
    ]


def with_version(which: str, how: str) -> Callable[..., Value]:
    def answer(step: Step, number: int, a: Value, b: Value) -> Value:
        on = on_of(step)
        table = [((k,), 0, 1 + k) for k in range(4)] if which == "table" else versions(b, on)
        on = ("k",) if which == "table" else on
        found: Value = []
        for time, rows in a:
            for row in rows:
                until = row.at if which == "temporal" else time
                valid = [one for one in table if one[0] == of_key(row, on) and one[1] <= until]
                if valid or how == "left":
                    v = max(valid, key=lambda one: one[1])[2] if valid else 9
                    made = row._replace(v=(3 * row.v + v) % 5, id=digest(row.id, v))
                    found.append((row.at if which == "temporal" else time, [made]))
        return found

    return answer


def look_up(step: Step, number: int, a: Value, b: Value) -> Value:
    table: dict[tuple[Any, Any], int] = {}
    for row in numbers(b):
        table[row.k, row.at + 1] = max(row.v, table.get((row.k, row.at + 1), 0))
    values = [(row, table.get((row.k, row.at), 0)) for row in numbers(a)]
    return each([nothing(k=row.k, v=x, at=row.at, id=digest(row.id, x)) for row, x in values])


def best_offers(step: Step, number: int, a: Value, b: Value) -> Value:
    found = []
    for row in rows_of(a):
        values = [
            other.v for other in rows_of(b)
            if other.id * 7 % REFS == row.id and row.at <= other.at < row.at + row.v + 1 and other.v >= row.v
        ]  # fmt: skip
        if values:
            found.append(nothing(v=max(values), id=row.id))
    return unknown(found, number)


# --- the paper's and the graphs'


def tumbling_average(step: Step, number: int, a: Value) -> Value:
    return each([
        nothing(w=sum(row.v for row in rows) / len(rows), at=end, id=end)
        for _, end, rows in windows_of("tumbling", rows_of(a))
    ])  # fmt: skip


def averages(step: Step, number: int, a: Value, most: int, order: bool) -> Value:
    found = []
    for (k,), rows in by_key(numbers(a), "k").items():
        ordered = sorted(rows, key=lambda row: (row.at, row.id, row.v)) if order else rows
        for at in range(len(rows)):
            values = [row.v for row in ordered[max(0, at + 1 - most) : at + 1]]
            mean = sum(values) // len(values)
            found.append(nothing(k=k, v=mean, id=digest(k, mean, len(values))))
    return unknown(found, number)


def word_count(step: Step, number: int, a: Value) -> Value:
    return each([
        nothing(k=k, at=at, id=digest(k, at, n))
        for (k,), rows in by_key(numbers(a), "k").items()
        for n, at in enumerate(sorted(row.at for row in rows), 1)
    ])  # fmt: skip


def components(step: Step, number: int, a: Value) -> Value:
    found = []
    for time in {time for time, _ in a}:
        edges = [(row.k, row.v) for row in numbers([message for message in a if message[0] == time])]
        least = {node: node for edge in edges for node in edge}
        for _ in least:
            for one, other in edges:
                least[one] = least[other] = min(least[one], least[other])
        found += [nothing(k=node, v=which % 5, id=digest(node, which)) for node, which in least.items()]
    return unknown(found, number)


# --- rows alone, and loops


def is_kept(step: Step, row: Row) -> bool:
    a = step.constants
    match a[0] % 4:
        case 0:
            return (row.v + (3 if row.k is None else row.k)) % 3 != a[1] % 3
        case 1:
            return row.k is not None and row.k >= a[1] % 6
        case 2:
            return row.s is None or len(row.s) > 1
    return row.s is not None and row.s not in ("a", "dd")


def by_row(answer: Callable[[Step, Row], Rows]) -> Callable[..., Value]:
    return lambda step, number, a: [(time, [new for row in rows for new in answer(step, row)]) for time, rows in a]


def mapped(step: Step, row: Row) -> Rows:
    c = step.constants
    k = None if row.v == c[0] % 5 or row.k is None else (row.k * (1 + c[1]) + row.v) % 12
    s = row.s.upper() + "x" if row.v > 2 and row.s is not None else row.s
    return [row._replace(k=k, v=(row.v * c[2] + row.id % 7) % 5, s=s, id=digest(row.id, c[3]))]


def branched(step: Step, row: Row) -> Rows:
    return [row if is_kept(step, row) else row._replace(v=(row.v + 1) % 5, id=digest(row.id, 3))]


def loop(step: Step, number: int, a: Value) -> Value:
    found = []
    for time in {time for time, _ in a}:
        rows = rows_of([message for message in a if message[0] == time])
        ends = {(row.k, min(row.v, 0)) for row in rows}
        found += [nothing(k=k, id=named(nothing(k=k), "k")) for k, _ in ends]
    return unknown(found, number)


def rounds(step: Step, number: int, a: Value) -> Value:
    found: Value = []
    for time, rows in a:
        due = list(rows)
        while due:
            row = due.pop()
            found.append((time, [row]))
            if row.v > 0:
                k = None if row.k is None else (row.k * 3 + row.v) % 5
                due += [row._replace(k=k, v=row.v - 1, id=digest(row.id, more)) for more in range(2)]
    return found


# --- collections

Updates = list[tuple[int, tuple[Any, ...], int]]
"""Time, row, how often it is added."""


def there(updates: Updates, time: int) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for when, row, times in updates:
        found[row] += times if when <= time else 0
    return +found


def changes(given: list[Updates], answer: Callable[..., Counter[tuple[Any, ...]]]) -> Updates:
    """What changes of an answer that is computed anew at each time at which anything changes."""
    before: Counter[tuple[Any, ...]] = Counter()
    found: Updates = []
    for time in sorted({time for updates in given for time, _, _ in updates}):
        now = +answer(*[there(updates, time) for updates in given])
        found += [(time, one, now[one] - before[one]) for one in now.keys() | before.keys() if now[one] != before[one]]
        before = now
    return found


def collections(step: Step, number: int, a: Value, b: Value) -> Value:
    keys = step.constants[0]
    given: list[Updates] = []
    for value in (a, b):
        rows = [(row, ((0 if row.k is None else row.k) % keys, row.v % VALUES)) for row in rows_of(value)]
        comes = [(row.at, one, 1) for row, one in rows]
        given.append(comes + [(row.at + row.id // 2 % 3, one, -1) for row, one in rows if row.id % 2])
    found = changes(given, lambda *rows: run_plan(step.plan, Scratch(keys), list(rows)))
    return each([
        nothing(k=k, v=v, at=time, id=digest(k, v, time, times + 1_000_000)) for time, (k, v), times in found
    ])  # fmt: skip


def kept_by_text(step: Step, number: int, a: Value) -> Value:
    def answer(rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
        found: Counter[tuple[Any, ...]] = Counter()
        for which in {one[:2] for one in rows}:
            values = sorted([one[2] for one, n in rows.items() for _ in range(n) if one[:2] == which])
            found.update([(*which, v) for v in values[-2:]])
            if None in which or values[-1] <= 1:
                found.update([(*which, v) for v in values])
        return found

    found = changes([[(row.at, (row.k, row.s, row.v), 1) for row in rows_of(a)]], answer)
    rows = [(nothing(k=k, s=s, v=v, at=time), times) for time, (k, s, v), times in found]
    return each([row._replace(id=named(row, "k s v", row.at, times + 1_000_000)) for row, times in rows])


def kept_totals(step: Step, number: int, a: Value) -> Value:
    key, rows = key_of(step), rows_of(a)
    found: Rows = []
    before: Counter[Row] = Counter()
    for time in sorted({row.at for row in rows}):
        groups = by_key([row for row in rows if row.at <= time], key)
        now = Counter([kept_total(some, key)._replace(**of_names(key, which)) for which, some in groups.items()])
        for row in now.keys() | before.keys():
            if times := now[row] - before[row]:
                found.append(row._replace(at=time, id=digest(row.id, time, times + 1_000_000)))
        before = now
    return each(found)


def kept_total(rows: Rows, key: str) -> Row:
    """See steps.KEPT."""
    values, in_order = [row.v for row in rows], sorted(rows, key=lambda row: row.id)
    known, some = [row for row in in_order if row.k is not None], [row for row in rows if row.v > 1]
    keys: list[Any] = [row.k for row in known]
    small = [k for k in keys if -SMALL < k < SMALL]
    texts = sorted([row.s.encode() for row in rows if row.s is not None])
    last = max([row.s for row in some if row.s is not None], key=str.encode, default="none")
    found = [
        len(rows), sum(values), max(values), min(values), in_order[-1].id, len(known), sum(small) if small else 7,
        sum(v % 2 for v in values), min(keys, default=77), max(keys, default=77), known[0].v if known else 77,
        marks(sum(small) / len(small) if small else None), marks(greatest([row.w for row in rows])),
        marks(greatest([row.w for row in rows], min)), marks(in_order[-1].w),
        marks(greatest([row.w for row in some]) if some else None), marks(0.0 if keys.count(3) > 1 else None),
        *letters_of(last),
    ]  # fmt: skip
    if key in ("w", "v"):
        found += [len(set(keys)), len({row.w for row in some}), len(texts and set(texts))]
    s = texts[0].decode() if texts else None
    return nothing(s=s, w=total(rows), id=digest(*found))


FOLDS = ("words", "all")
HOWS = ("inner", "left", "right", "full", "semi", "anti")


def same(step: Step, number: int, a: Value) -> Value:
    return a


def latest(step: Step, number: int, a: Value) -> Value:
    newest = {row.k: (time, row) for time, rows in a for row in rows}
    return [(0, [row]) for _, row in newest.values()]


def of_numbers(answer: Callable[..., Value]) -> Callable[..., Value]:
    """The same of streams without text."""

    def answered(step: Step, number: int, *given: Value) -> Value:
        return answer(
            step, number, *[[(time, [row._replace(s=None) for row in rows]) for time, rows in a] for a in given]
        )

    return answered


def latest_of_running(step: Step, number: int, a: Value) -> Value:
    found: Any = [(k, len(rows), sum(row.v for row in rows)) for (k,), rows in by_key(rows_of(a), "k").items()]
    return [(0, found)]


PLAIN: dict[str, Callable[..., Value]] = {
    "filter": by_row(lambda step, row: [row] if is_kept(step, row) else []),
    "map": by_row(mapped),
    "flat": by_row(lambda step, row: [row._replace(id=digest(row.id, more)) for more in range(2)]),
    "delay": lambda step, number, a: [(time + 1 + step.constants[0] % 3, rows) for time, rows in a],
    "branch": by_row(branched),
    "exchange": same,
    "no_op": same,
    "union": lambda step, number, a, b: a + by_row(lambda step, row: [row._replace(id=digest(row.id, 7))])(step, 0, b),
    "own times": lambda step, number, a: each(rows_of(a)),
    **{f"{name} {folds}": windows(name, folds) for name in ("tumbling", "sliding", "session") for folds in FOLDS},
    **{f"{name} of all": windows(name, "words", True) for name in ("tumbling", "sliding")},
    "kinds": kinds,
    "other keys": other_keys,
    "reduce": reduced,
    "final words": final("words"),
    "final all": final("all"),
    "final of all": final("all", True),
    "running words": final("words"),
    "running all": final("all"),
    "running of all": final("words", True),
    **{f"{emit} {folds}": running(folds, emit) for emit in ("batch", "each") for folds in FOLDS},
    "distinct": distinct,
    **{f"last_by{name}": last_by(name.strip() or "final") for name in ("", " batch", " each")},
    **{f"top {which}": top(which) for which in ("final", "all", "window", "window all", "batch", "each")},
    "scan": scan,
    "running_average": lambda step, number, a: averages(step, number, a, len(rows_of(a)), False),
    "tumbling_average": tumbling_average,
    "tumbling_average here": tumbling_average,
    "average_of_last": lambda step, number, a: averages(step, number, a, 2, True),
    "word_count": word_count,
    "best_offers": best_offers,
    "look_up": look_up,
    **{f"join {how}": join(how) for how in HOWS},
    **{f"unique {how}": unique(how) for how in HOWS[:4]},
    **{f"windowed {how}": windowed(how) for how in HOWS},
    **{f"interval {how}": interval(how) for how in HOWS},
    **{f"interval unique {how}": unique(how, True) for how in HOWS[:4]},
    **{f"{which} {how}": with_version(which, how) for which in ("temporal", "enrich", "table") for how in HOWS[:2]},
    "loop": loop,
    "rounds": rounds,
    "components": components,
    "collections": collections,
    "kept by text": kept_by_text,
    "kept totals": kept_totals,
    "latest": latest,
    "latest of running": latest_of_running,
}


def answer_of(step: Step, number: int, given: list[Value], is_settled: bool, workers: int) -> Value:
    """What a step makes of values. number: see rows.span_of. is_settled: whether late rows are brought in line before
    it."""
    if step.does == "broadcast":
        return workers * given[0]
    given = [settled(value) if is_settled else value for value in given]
    answer = PLAIN[step.does.removesuffix(OF_NUMBERS)]
    return (of_numbers(answer) if step.does.endswith(OF_NUMBERS) else answer)(step, number, *given)
