"""Random dataflows as data: operators, edges, pacts, summaries; and the least delay between ports, computed naively."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from engine import Broadcast, Exchange, Notify, Pact, Pipeline

Port = tuple[str, int, int]
"""("in" or "out", operator, port)."""


@dataclass
class OperatorPlan:
    """One operator. `kind` is "input" (a manual input), "source" or "operator"; `summaries[i, o]` is a delay, or None
    for no path."""

    kind: str
    inputs: list[tuple[Port, Pact]] = field(default_factory=list)
    outputs: int = 1
    summaries: dict[tuple[int, int], int | None] = field(default_factory=dict)
    notify: Notify = Notify.ALWAYS


@dataclass
class Plan:
    """A dataflow: operators in topological order, and the outputs that are probed."""

    operators: list[OperatorPlan]
    probes: list[Port]

    def consumers(self, output: Port) -> list[tuple[Port, Pact]]:
        """The inputs fed by an output."""
        return [
            (("in", number, port), pact)
            for number, operator in enumerate(self.operators)
            for port, (origin, pact) in enumerate(operator.inputs)
            if origin == output
        ]

    def ports(self) -> list[Port]:
        """All ports."""
        return [
            (side, number, port)
            for number, operator in enumerate(self.operators)
            for side, count in (("in", len(operator.inputs)), ("out", operator.outputs))
            for port in range(count)
        ]

    def delays(self) -> dict[tuple[Port, Port], int]:
        """The least delay from each port to each port it can reach, by trying every path."""
        least: dict[tuple[Port, Port], int] = {}

        def visit(origin: Port, at: Port, delay: int) -> None:
            if delay < least.get((origin, at), delay + 1):
                least[origin, at] = delay
            side, number, port = at
            if side == "out":
                for target, _ in self.consumers(at):
                    visit(origin, target, delay)
            else:
                for output in range(self.operators[number].outputs):
                    step = self.operators[number].summaries[port, output]
                    if step is not None:
                        visit(origin, ("out", number, output), delay + step)

        for port in self.ports():
            visit(port, port, 0)
        return least


def random_plan(rng: Random) -> Plan:
    """A small acyclic dataflow: one or two beginnings, one to five operators with one or two inputs and up to two
    outputs."""
    operators = [OperatorPlan(rng.choice(["input", "source"]), notify=Notify.NEVER) for _ in range(rng.randint(1, 2))]
    for _ in range(rng.randint(1, 5)):
        streams: list[Port] = [
            ("out", number, port) for number, done in enumerate(operators) for port in range(done.outputs)
        ]
        inputs = [(rng.choice(streams), _random_pact(rng)) for _ in range(rng.choice([1, 1, 2]))]
        operator = OperatorPlan("operator", inputs, rng.choice([0, 1, 1, 1, 2]), notify=rng.choice(list(Notify)))
        for input_port in range(len(inputs)):
            for output_port in range(operator.outputs):
                operator.summaries[input_port, output_port] = rng.choice([0, 0, 0, 1, 3, None])
        operators.append(operator)
    outputs: list[Port] = [
        ("out", number, port) for number, done in enumerate(operators) for port in range(done.outputs)
    ]
    return Plan(operators, [output for output in outputs if rng.random() < 0.4])


def _random_pact(rng: Random) -> Pact:
    return rng.choice([Pipeline(), Exchange("key"), Exchange("key"), Broadcast()])
