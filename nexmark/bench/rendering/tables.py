"""Rows of the experiments as Markdown, as in the paper's tables: mechanisms beside each other, DNF included."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tokenring.nexmark.bench.rendering.markdown import figure, machine_text, rate_text, table
from tokenring.nexmark.bench.sweeps import SAID, Row, by_source
from tokenring.nexmark.measure import UNDECIDED

Tables = Callable[[list[Row]], list[str]]


def render(data: dict[str, Any]) -> str:
    """The whole JSON object of `tokenring bench` as Markdown."""
    parts = [machine_text(data["machine"])]
    if not data["complete"]:
        parts.append("**Incomplete: interrupted before all points were measured.**")
    for name in dict.fromkeys(row["experiment"] for row in data["rows"]):
        rows = [row for row in data["rows"] if row["experiment"] == name]
        if data["benchmark"] == "bench-all":
            parts.append(f"## {name}")
        parts += [*RENDERERS[name](rows), *_failures(rows)]
    return "\n\n".join(parts)


def _failures(rows: list[Row]) -> list[str]:
    failed = [row for row in rows if row["error"]]
    if not failed:
        return []
    lines = [f"- {', '.join(_point(row))}: {' '.join(row['error'].split())}" for row in failed]
    return ["**Points that failed:**", "\n".join(lines)]


def _point(row: Row) -> list[str]:
    names = ("query", "quantum_log2", "rate", "dataflows", "operators", "workers", "mechanism", "source")
    return [f"{name} {row[name]}" for name in names if name in row]


def by_mechanism(
    rows: list[Row], keys: Sequence[str], shown: Sequence[str], unit: float, texts: Callable[[Row], Iterable[str]]
) -> str:
    """A table with a line for each combination of `keys` (as `texts` says it): for each mechanism, `shown`; then the
    median of the hiccup meters before these points."""
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in rows))
    lines: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault(tuple(row[key] for key in keys), {})[row["mechanism"]] = row
    body = []
    for of_line in lines.values():
        cells = list(texts(next(iter(of_line.values()))))
        for name in mechanisms:
            cells += _cells(of_line.get(name), shown, unit)
        hiccups = [row["hiccup_p999_ms"] for row in of_line.values() if "hiccup_p999_ms" in row]
        body.append([*cells, figure(statistics.median(hiccups) if hiccups else None, unit)])
    header = list(keys)
    for name in mechanisms:
        first, *others = (column.removesuffix("_ms").replace("p999", "p99.9").replace("_", " ") for column in shown)
        header += [f"{name} {first}", *others]
    return table([*header, "hiccup p99.9"], body)


def _cells(row: Row | None, shown: Sequence[str], unit: float) -> list[str]:
    """The figures of one point, or one word that says why there are none."""
    word = "–" if row is None else "failed" if row["error"] else "DNF" if row.get("dnf") else ""
    if word or row is None:
        return [word, *[""] * (len(shown) - 1)]
    doubt = "?" if row.get("verdict") == UNDECIDED else ""
    return [figure(row[name], unit) + doubt for name in shown]


def _workers(row: Row) -> str:
    """How many workers; marked where they are more than there were cores to run them."""
    return f"{row['workers']}*" if row.get("oversubscribed") else str(row["workers"])


def _marks(rows: list[Row]) -> list[str]:
    """What the marks in a table mean, as far as there are any."""
    said = []
    if any(row.get("oversubscribed") for row in rows):
        said.append("\\*: more workers than cores, which take turns; read such a line beside its like only.")
    if any(row.get("verdict") == UNDECIDED for row in rows):
        said.append("?: too short to tell whether the rate holds, even at four times the seconds.")
    return said


_DNF = "DNF: falls behind, and further with each second."


def _wordcount(rows: list[Row]) -> list[str]:
    def texts(row: Row) -> list[str]:
        return [rate_text(row["rate"]), _workers(row), f"2^{row['quantum_log2']} ns"]

    keys = ("rate", "workers", "quantum_log2")
    parts = [
        f"Word count, open loop: latency in µs from the instant a word is due until the probe passes the time it "
        f"carries. {_DNF}",
    ]
    for source, own in by_source(rows):
        ordered = sorted(own, key=lambda row: (row["rate"], row["workers"], row["quantum_log2"]))
        parts += [
            SAID[source],
            by_mechanism(ordered, keys, ("p50_ms", "p99_ms", "p999_ms"), 1e-3, texts),
            "The same p50 from the instant the last word of the same time is due, before which no frontier can pass "
            "that time: what the mechanism itself adds, in µs.",
            by_mechanism(ordered, keys, ("p50_after_quantum_ms",), 1e-3, texts),
        ]
        parts += _cpu([row for row in ordered if not row["error"] and "cpu_us_a_word" in row], texts)
    return parts + _marks(rows)


def _cpu(rows: list[Row], texts: Callable[[Row], list[str]]) -> list[str]:
    """CPU time a word, at the greatest rate, where workers have no time to spin."""
    greatest = max((row["rate"] for row in rows), default=0.0)
    busy = [row | {"dnf": False, "verdict": None} for row in rows if row["rate"] == greatest]
    if not busy:
        return []
    return [
        "CPU time of all workers for each word sent, in µs, at the greatest rate, at which few of them have time to "
        "spin (of runs that fell behind, too):",
        by_mechanism(busy, ("rate", "workers", "quantum_log2"), ("cpu_us_a_word",), 1.0, texts),
    ]


def _scaling(rows: list[Row]) -> list[str]:
    def texts(row: Row) -> list[str]:
        return [f"2^{row['quantum_log2']} ns", rate_text(row["rate_per_worker"]), _workers(row)]

    parts = [f"Weak scaling: the word count with a load that grows with the workers; latency in µs. {_DNF}"]
    for source, own in by_source(rows):
        ordered = sorted(own, key=lambda row: (row["quantum_log2"], row["rate_per_worker"], row["workers"]))
        keys = ("quantum_log2", "rate_per_worker", "workers")
        parts += [SAID[source], by_mechanism(ordered, keys, ("p50_ms", "p99_ms", "p999_ms"), 1e-3, texts)]
    return parts + _marks(rows)


def _chain(rows: list[Row]) -> list[str]:
    ordered = sorted(rows, key=lambda row: (row["workers"], row["operators"]))
    return [
        "A tick of time through a chain of idle operators, in µs.",
        by_mechanism(
            ordered,
            ("operators", "workers"),
            ("p50_ms", "p99_ms"),
            1e-3,
            lambda row: (str(row["operators"]), _workers(row)),
        ),
        *_marks(rows),
    ]


def _idle(rows: list[Row]) -> list[str]:
    figures = ("step_ms", "build_s", "settle_s", "group_mb")
    heads = ["dataflows", "operators each", "kind", "workers", "ms a step", "s to build", "s of first runs"]
    body = [
        [
            f"{row['dataflows']:,}",
            f"{row['operators']:,}",
            row["operator_kind"],
            str(row["workers"]),
            *("failed" if row["error"] else figure(row[name]) for name in figures),
        ]
        for row in rows
    ]
    return [
        "One update into one of many idle dataflows, all inputs advanced, all probes confirmed.",
        table([*heads, "MB, all processes"], body),
    ]


def _nexmark(rows: list[Row]) -> list[str]:
    parts = [f"Open loop: latency in ms from the instant an event is due until the probe passes it. {_DNF}"]
    shown = ("p50_ms", "p99_ms", "p999_ms", "max_ms")
    for source, of_source in by_source(rows):
        parts.append(SAID[source])
        for query in dict.fromkeys(row["query"] for row in of_source):
            own = [row for row in of_source if row["query"] == query]
            ordered = sorted(own, key=lambda row: (row["rate"], row["workers"]))
            parts += [
                f"NEXMark {query.upper()}:",
                by_mechanism(
                    ordered, ("rate", "workers"), shown, 1.0, lambda row: (rate_text(row["rate"]), _workers(row))
                ),
            ]
    return parts + _marks(rows)


RENDERERS: dict[str, Tables] = {
    "wordcount": _wordcount,
    "scaling": _scaling,
    "chain": _chain,
    "idle": _idle,
    "nexmark": _nexmark,
}
