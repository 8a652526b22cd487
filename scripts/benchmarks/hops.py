"""`benchmark hops`: what a message costs at each operator that it passes, in the inner loop and in Python."""

from __future__ import annotations

import statistics
from time import perf_counter_ns
from typing import Any
from unittest.mock import patch

import click
import numpy as np

from scripts.benchmarks.measure import ROUNDS, Found, benchmark
from tokenring.engine import Config, InputHandle, Schema
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.nexmark.bench.parts import figure, option, spread, table, take_turns
from tokenring.operators import as_rows, no_op, running_average
from tokenring.operators.mechanisms import tokens

Case = tuple[str, int, int, bool]  # operator, how many in a row, messages under way, whether compiled

_ROW = Schema("key value")
_CHAINS = (("no_op", 256), ("running_average", 20))


@benchmark(option("--messages N", click.IntRange(10), "Of each run.", 2000), ROUNDS)
def command(messages: int, rounds: int) -> Found:
    """A chain of operators, one row in a message: the time a message takes through the chain, less that through one
    operator, by operator. One worker, all in this process; chains compiled and in Python take turns."""
    cases: list[Case] = [
        (what, count, at_once, is_compiled)
        for what, count in _CHAINS
        for at_once in (1, 16)
        for is_compiled in (True, False)
    ]
    outcomes = take_turns("hops", cases, rounds, lambda case: per_hop_ns(case, messages), warm_up=False)
    rows = [
        {"operator": what, "operators": count, "at_once": at_once, "compiled": is_compiled, "ns": spread(of_case)}
        for (what, count, at_once, is_compiled), of_case in outcomes.items()
    ]
    return {"messages": messages, "rounds": rounds}, {"rows": rows}


def per_hop_ns(case: Case, messages: int) -> float:
    """The nanoseconds that a message takes for each operator beyond the first."""
    what, count, at_once, is_compiled = case
    messages = messages if is_compiled else max(10, messages // 20)
    whole, one = (_through(what, length, at_once, is_compiled, messages) for length in (count, 1))
    return (whole - one) / (count - 1) / at_once


def _through(what: str, count: int, at_once: int, is_compiled: bool, messages: int) -> float:
    """The median time in ns in which so many messages at once pass a chain."""
    group = SimulatedGroup(Config(workers=1, pin=False))
    handle = chain(group, what, count, is_compiled)
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


def chain(group: SimulatedGroup, what: str, count: int, is_compiled: bool) -> InputHandle:
    """So many operators behind a manual input, which is returned."""
    worker = group.workers[0]
    with (
        patch.object(tokens, "can_be_compiled", lambda scope, *schemas, **how: is_compiled),
        group.building(worker),
        worker.dataflow("hops") as scope,
    ):
        handle, stream = scope.new_input(_ROW)
        for at in range(count):
            if what == "no_op":
                stream = no_op(stream, "key")
            else:
                stream = as_rows(running_average(stream, "key", "count" if at else "value", name=f"average {at}"))
    while worker.step():
        pass
    return handle


def tables(data: dict[str, Any]) -> list[str]:
    """A row for each chain and number of messages, and how the two forms compare."""
    found = {(row["operator"], row["operators"], row["at_once"], row["compiled"]): row["ns"] for row in data["rows"]}
    rows = [
        {"chain": f"{count} × {what}", "at_once": at_once, "own": own["median"], "python": python["median"]}
        for (what, count, at_once, is_compiled), own in found.items()
        if is_compiled and (python := found[what, count, at_once, False])
    ]
    asked = data["parameters"]
    return [
        f"ns for a message of one row and each operator beyond the first; one worker, {asked['messages']:,} messages a "
        f"run, a twentieth of them in Python; medians of {asked['rounds']} rounds.",
        table(
            rows, ("chain", "chain"), ("messages at once", "at_once"), ("compiled, ns", "own"),
            ("in Python, ns", "python"), ("ratio", lambda row: figure(row["python"] / row["own"])),
        ),
    ]  # fmt: skip
