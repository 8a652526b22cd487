"""Random dataflows as data: scopes, operators, edges, pacts, summaries, loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tokenring.engine import Broadcast, Exchange, Notify, Pact, Pipeline

Port = tuple[str, int, int]
"""("in" or "out", operator, port)."""

When = tuple[int, ...]
"""A time as the tests have it: a tuple in the root scope too."""

MOST_DEPTH = 4
_RELAYS = ("enter", "leave", "feedback")


@dataclass
class OperatorPlan:
    """One operator, or an edge that changes times. `kind` is "input" (a manual input), "source", "operator", "enter",
    "leave" or "feedback"; `summaries[i, o]` are delays, one a coordinate, or None for no path."""

    kind: str
    scope: int
    depth: int
    inputs: list[tuple[Port, Pact]] = field(default_factory=list)
    outputs: int = 1
    summaries: dict[tuple[int, int], When | None] = field(default_factory=dict)
    notify: Notify = Notify.ALWAYS
    increment: int = 1
    inner: int = 0
    """The loop that is entered or left."""
    is_compiled: bool = False
    """Whether the inner loop runs it: with summaries that change nothing."""

    @property
    def is_relay(self) -> bool:
        """Whether it holds nothing and runs nothing."""
        return self.kind in _RELAYS


@dataclass
class Plan:
    """A dataflow: scopes (each with its parent; the root is scope 0, its own), operators in the order of declaration,
    and the outputs that are probed."""

    parents: list[int]
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

    def origins(self) -> list[Port]:
        """The outputs that get an initial token."""
        return [port for port in self.ports() if port[0] == "out" and not self.operators[port[1]].is_relay]

    def arrivals(self, output: Port, time: When) -> list[tuple[Port, Pact, When]]:
        """Where a message sent at an output arrives, and when: edges that change times hold nothing up."""
        found = []
        for target, pact in self.consumers(output):
            operator = self.operators[target[1]]
            if operator.is_relay:
                found += self.arrivals(("out", target[1], 0), relayed(operator, time))
            else:
                found.append((target, pact, time))
        return found


def relayed(operator: OperatorPlan, time: When) -> When:
    """What an edge that changes times makes of one."""
    if operator.kind == "enter":
        return (*time, 0)
    if operator.kind == "leave":
        return time[:-1]
    return (*time[:-1], time[-1] + operator.increment)


class _Maker:
    """A plan in the making."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.plan = Plan([0], [], [])
        self.depths = [1]
        self.streams: list[list[Port]] = [[]]

    def add(self, operator: OperatorPlan) -> None:
        """One more operator, whose outputs others may read."""
        number = len(self.plan.operators)
        self.plan.operators.append(operator)
        self.streams[operator.scope] += [("out", number, port) for port in range(operator.outputs)]

    def begin(self, scope: int = 0) -> None:
        """An input, or a source."""
        kind = self.rng.choice(["input", "source"]) if scope == 0 else "source"
        self.add(OperatorPlan(kind, scope, self.depths[scope], notify=Notify.NEVER))

    def some_scope(self) -> int:
        """A scope with streams, rather a deep one."""
        scopes = [scope for scope, streams in enumerate(self.streams) if streams]
        return max(self.rng.choice(scopes), self.rng.choice(scopes))

    def operator(self, scope: int) -> None:
        """One or two inputs, up to two outputs."""
        depth = self.depths[scope]
        unread = [stream for stream in self.streams[scope] if self._kind(stream) == "feedback"]
        unread = [stream for stream in unread if not self.plan.consumers(stream)]
        origins = [self.rng.choice(self.streams[scope]) for _ in range(self.rng.choice([1, 1, 2]))]
        if unread and self.rng.random() < 0.8:
            origins = [*origins[:1], self.rng.choice(unread)]  # what comes round, and mostly something fresh
        inputs = [(origin, _random_pact(self.rng)) for origin in origins]
        operator = OperatorPlan(
            "operator", scope, depth, inputs, self.rng.choice([0, 1, 1, 1, 2]), notify=self.rng.choice(list(Notify))
        )
        for input_port in range(len(inputs)):
            for output_port in range(operator.outputs):
                delays = [0] * depth
                delays[self.rng.randrange(depth)] = self.rng.choice([0, 0, 0, 1, 3])
                operator.summaries[input_port, output_port] = self.rng.choice([*[tuple(delays)] * 5, None])
        if operator.outputs and self.rng.random() < 0.5:
            operator.is_compiled = True
            operator.summaries = dict.fromkeys(operator.summaries, (0,) * depth)
        self.add(operator)

    def loop(self) -> None:
        """Enter a loop: mostly a new one, mostly with a way around."""
        outer = self.some_scope()
        old = [scope for scope, parent in enumerate(self.plan.parents) if scope and parent == outer]
        if old and self.rng.random() < 0.5:
            self.cross("enter", outer, self.rng.choice(old))
        elif self.depths[outer] < MOST_DEPTH:
            self.plan.parents.append(outer)
            self.depths.append(self.depths[outer] + 1)
            self.streams.append([])
            inner = len(self.depths) - 1
            self.cross("enter", outer, inner)
            if self.rng.random() < 0.9:
                self.feedback(inner)
                self.operator(inner)

    def cross(self, kind: str, origin: int, inner: int) -> None:
        """An edge across a loop's border."""
        target = inner if kind == "enter" else self.plan.parents[inner]
        stream = self.rng.choice(self.streams[origin])
        self.add(
            OperatorPlan(kind, target, self.depths[target], [(stream, Pipeline())], notify=Notify.NEVER, inner=inner)
        )

    def leave(self) -> None:
        """Leave a loop, if there is one to leave."""
        inner = self.some_scope()
        if inner:
            self.cross("leave", inner, inner)

    def feedback(self, scope: int) -> None:
        """A way around; what goes there is chosen at the end."""
        self.add(
            OperatorPlan(
                "feedback", scope, self.depths[scope], notify=Notify.NEVER, increment=self.rng.choice([1, 1, 2])
            )
        )

    def connect(self) -> bool:
        """Lead streams to the ways around, mostly what comes of them: none that would come round without meeting an
        operator. False if there is none."""
        for number, operator in enumerate(self.plan.operators):
            if operator.kind == "feedback":
                fit = [stream for stream in self.streams[operator.scope] if not self._is_fed_back(stream)]
                own = [stream for stream in fit if stream in self._behind(("out", number, 0))]
                if not fit:
                    return False
                chosen = self.rng.choice(own if own and self.rng.random() < 0.9 else fit)
                operator.inputs.append((chosen, Pipeline()))
        return True

    def _kind(self, stream: Port) -> str:
        return self.plan.operators[stream[1]].kind

    def _is_fed_back(self, stream: Port) -> bool:
        operator = self.plan.operators[stream[1]]
        return operator.is_relay and (operator.kind == "feedback" or self._is_fed_back(operator.inputs[0][0]))

    def _behind(self, stream: Port) -> set[Port]:
        """The outputs that it can reach so far."""
        found, worklist = {stream}, [stream]
        while worklist:
            for (_, number, port), _ in self.plan.consumers(worklist.pop()):
                operator = self.plan.operators[number]
                for output in range(operator.outputs):
                    reached: Port = ("out", number, output)
                    if reached not in found and operator.summaries.get((port, output), ()) is not None:
                        found.add(reached)
                        worklist.append(reached)
        return found


def random_plan(rng: Random, nested: bool = False) -> Plan:
    """A small dataflow: one or two beginnings, one to five operators with one or two inputs and up to two outputs; if
    nested, with up to three loops around each other, some beside. Cycles may fail to advance time (`advances`)."""
    while True:
        maker = _Maker(rng)
        for _ in range(rng.randint(1, 2)):
            maker.begin()
        for _ in range(rng.randint(3, 9) if nested else rng.randint(1, 5)):
            choice = rng.random() if nested else 0.0
            if choice < 0.5:
                maker.operator(maker.some_scope())
            elif choice < 0.8:
                maker.loop()
            elif choice < 0.93:
                maker.leave()
            elif choice < 0.97:
                maker.feedback(maker.some_scope())
            else:
                maker.begin(maker.some_scope())
        if maker.connect():
            outputs = [port for port in maker.plan.ports() if port[0] == "out"]
            maker.plan.probes = [output for output in outputs if rng.random() < 0.4]
            return maker.plan


def _random_pact(rng: Random) -> Pact:
    return rng.choice([Pipeline(), Exchange("key"), Exchange("key"), Broadcast()])
