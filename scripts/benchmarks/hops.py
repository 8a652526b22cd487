"""`benchmark hops`: what a message costs at each operator that it passes, in the inner loop, in Python and by turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import Any

import click
import numpy as np

from scripts.benchmarks.measure import ROUNDS, Found, benchmark
from tokenring.engine import Batch, Config, Exchange, InputHandle, InputPort, OperatorContext, OutputPort, Schema, Token
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.nexmark.bench.parts import figure, option, spread, table, take_turns
from tokenring.operators import as_rows, no_op, running_average

Case = tuple[str, int, int, str]  # operator, how many in a row, messages under way, form

_ROW, _AVERAGES = Schema("key value"), Schema("key average count")
COMPILED, PYTHON, BY_TURNS = FORMS = "compiled", "python", "by turns"
"""The library's operators; a user's; a user's, each with one of the library's behind it, to which messages cross as
they would to tables in native memory."""
_CHAINS = (("no_op", 256), ("running_average", 20))


@benchmark(option("--messages N", click.IntRange(10), "Of each run.", 2000), ROUNDS)
def command(messages: int, rounds: int) -> Found:
    """A chain of operators, one row in a message: the time a message takes through the chain, less that through one
    operator, by operator. One worker, all in this process; the library's operators, a user's in Python, and chains of
    both take turns.
    """
    cases: list[Case] = [
        (what, count, at_once, form) for what, count in _CHAINS for at_once in (1, 16) for form in FORMS
    ]
    outcomes = take_turns("hops", cases, rounds, lambda case: per_hop_ns(case, messages), warm_up=False)
    rows = [
        {"operator": what, "operators": count, "at_once": at_once, "form": form, "ns": spread(of_case)}
        for (what, count, at_once, form), of_case in outcomes.items()
    ]
    return {"messages": messages, "rounds": rounds}, {"rows": rows}


def per_hop_ns(case: Case, messages: int) -> float:
    """The nanoseconds that a message takes for each operator beyond the first."""
    what, count, at_once, form = case
    messages = messages if form == COMPILED else max(10, messages // 20)
    whole, one = (_through(what, length, at_once, form, messages) for length in (count, 1))
    return (whole - one) / (count - 1) / at_once


def _through(what: str, count: int, at_once: int, form: str, messages: int) -> float:
    """The median time in ns in which so many messages at once pass a chain."""
    group = SimulatedGroup(Config(workers=1, pin=False))
    handle = chain(group, what, count, form)
    worker = group.workers[0]
    row = {"key": np.zeros(1, np.int64), "value": np.ones(1, np.int64)}
    times = []
    for time in range(1, messages + 1):
        for _ in range(at_once):
            handle.send(row)
        handle.advance_to(time)
        start_ns = perf_counter_ns()
        while worker.step():
            pass
        times.append(perf_counter_ns() - start_ns)
    handle.close()
    group.run()
    group.close()
    return statistics.median(times)


def chain(group: SimulatedGroup, what: str, count: int, form: str) -> InputHandle:
    """So many operators behind a manual input, which is returned: the library's, the same as a user writes them, or
    those with one of the library's behind each.
    """
    worker = group.workers[0]
    with group.building(worker), worker.dataflow("hops") as scope:
        handle, stream = scope.new_input(_ROW)
        for at in range(count):
            value = "count" if at else "value"
            if what == "no_op":
                stream = no_op(stream, "key") if form == COMPILED else stream.unary(f"same {at}", stream.schema, _same)
            elif form == COMPILED:
                stream = as_rows(running_average(stream, "key", value, name=f"average {at}"))
            else:
                stream = stream.unary(f"average {at}", _AVERAGES, partial(_average, value), pact=Exchange("key"))
            if form == BY_TURNS:
                stream = no_op(stream, "key")
    while worker.step():
        pass
    return handle


def _same(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
    token.drop()

    def logic(rows: InputPort, output: OutputPort) -> None:
        for reference, batch in rows:
            output.give(reference, batch)

    return logic


def _average(value: str, context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
    token.drop()
    totals: dict[int, tuple[int, int]] = {}

    def logic(rows: InputPort, output: OutputPort) -> None:
        for reference, batch in rows:
            averages, counts = [], []
            for key, number in zip(batch["key"].tolist(), batch[value].tolist(), strict=True):
                total, count = totals.get(key, (0, 0))
                totals[key] = total, count = total + number, count + 1
                averages.append(total // count)
                counts.append(count)
            output.give(reference, Batch(_AVERAGES, {"key": batch["key"], "average": averages, "count": counts}))

    return logic


def tables(data: dict[str, Any]) -> list[str]:
    """A row for each chain and number of messages, and how the forms compare."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in data["rows"]:
        found.setdefault((row["operator"], row["operators"], row["at_once"]), {})[row["form"]] = row["ns"]["median"]
    rows = [
        {"chain": f"{count} × {what}", "at_once": at_once, **ns} for (what, count, at_once), ns in found.items()
    ]
    asked = data["parameters"]
    return [
        f"ns for a message of one row and each operator beyond the first; one worker, {asked['messages']:,} messages a "
        f"run, a twentieth of them in Python; medians of {asked['rounds']} rounds.",
        table(
            rows, ("chain", "chain"), ("messages at once", "at_once"), ("compiled, ns", COMPILED),
            ("a user's in Python, ns", PYTHON), ("over compiled", lambda row: figure(row[PYTHON] / row[COMPILED])),
            ("each with a compiled one behind it, ns", BY_TURNS),
            ("over Python's", lambda row: figure(row[BY_TURNS] / row[PYTHON])),
        ),
    ]  # fmt: skip
