"""A dataflow graph: operators and the edges between them, before anything runs."""

import hashlib
from dataclasses import dataclass, field

from tokenring.engine.errors import GraphError
from tokenring.engine.graph.cycles import require_advancing_cycles
from tokenring.engine.graph.location import Source, Target
from tokenring.engine.graph.reachability import Link
from tokenring.engine.graph.spec import OperatorSpec
from tokenring.engine.graph.stage import Stage
from tokenring.engine.times import identity

_NAMES_SHOWN = 50


@dataclass
class Graph:
    """Operators in the order they were added (which is topological but for feedback, since any other input names an
    existing output)."""

    name: str
    operators: list[OperatorSpec] = field(default_factory=list)
    taps: list[Source | Target] = field(default_factory=list)
    """Ports whose frontier is watched from outside (probes); a tap is a location that carries no data."""
    stages: list[Stage] = field(default_factory=list)
    """Stateless operators, in the order they were added. They are no locations: see `tokenring.engine.graph.stage`."""
    region: str = ""
    """The names of the regions around what is declared now, each with a slash behind it."""
    about: str = ""
    """How it runs, in words, on which workers must agree."""
    _compiled: tuple[list[Link], list[int]] | None = None
    """Links and depths, once the graph is complete."""

    def edges(self) -> list[tuple[Source, Target]]:
        """Every edge that carries data."""
        return [
            (spec.origin, Target(number, port))
            for number, operator in enumerate(self.operators)
            for port, spec in enumerate(operator.inputs)
        ]

    def locations(self) -> dict[Source | Target, int]:
        """Numbers for all ports: each operator's inputs, then its outputs, in order; taps come after them."""
        numbers: dict[Source | Target, int] = {}
        for number, operator in enumerate(self.operators):
            for port in range(len(operator.inputs)):
                numbers[Target(number, port)] = len(numbers)
            for port in range(len(operator.outputs)):
                numbers[Source(number, port)] = len(numbers)
        return numbers

    def inputs_behind(self, operator: int) -> list[Target]:
        """All inputs that something an operator sends can come to, or what others make of it, but for the borders of
        loops, where no message waits."""
        readers: dict[int, list[Target]] = {}
        for origin, target in self.edges():
            readers.setdefault(origin.operator, []).append(target)
        found: list[Target] = []
        seen, to_do = {operator}, [operator]
        while to_do:
            for target in readers.get(to_do.pop(), ()):
                if self.operators[target.operator].relay is None:
                    found.append(target)
                if target.operator not in seen:
                    seen.add(target.operator)
                    to_do.append(target.operator)
        return found

    def behind(self, source: Source, stage: Stage | None) -> tuple[set[int], set[int]]:
        """The operators and the stages, by number, that what an output sends through a stage depends on."""
        operators: set[int] = set()
        stages: set[int] = set()
        to_do = [(source, stage)]
        while to_do:
            source, stage = to_do.pop()
            while stage is not None and stage.number not in stages:
                stages.add(stage.number)
                stage = stage.parent
            if source.operator not in operators:
                operators.add(source.operator)
                to_do += [(spec.origin, spec.stage) for spec in self.operators[source.operator].inputs]
        return operators, stages

    def describe(self, location: Source | Target) -> str:
        """A port in words."""
        side = "output" if isinstance(location, Source) else "input"
        return f"{self.operators[location.operator].name!r} {side} {location.port}"

    def links(self) -> list[Link]:
        """Edges and paths through operators, between location numbers; taps are numbered after all ports, hubs last."""
        return (self._compiled or self._compile())[0]

    def depths(self) -> list[int]:
        """The number of coordinates of every location's times, taps and hubs included, by location number."""
        return (self._compiled or self._compile())[1]

    def _compile(self) -> tuple[list[Link], list[int]]:
        """Links and depths. Behind ports and taps come hubs: see `OperatorSpec.links`."""
        inputs: list[int] = []  # each operator's first
        depths: list[int] = []
        for operator in self.operators:
            inputs.append(len(depths))
            depths += [operator.input_depth] * len(operator.inputs) + [operator.depth] * len(operator.outputs)
        outputs = [first + len(operator.inputs) for first, operator in zip(inputs, self.operators, strict=True)]
        taps = [
            outputs[tapped.operator] + tapped.port
            if isinstance(tapped, Source)
            else inputs[tapped.operator] + tapped.port
            for tapped in self.taps
        ]
        links: list[Link] = []
        for first, operator in zip(inputs, self.operators, strict=True):
            same = identity(operator.input_depth)
            for port, spec in enumerate(operator.inputs, first):
                links.append((outputs[spec.origin.operator] + spec.origin.port, port, same))
        for number, tapped in enumerate(taps, len(depths)):
            links.append((tapped, number, identity(depths[tapped])))
        depths += [depths[tapped] for tapped in taps]
        for first, output, operator in zip(inputs, outputs, self.operators, strict=True):
            within, has_hub = operator.links(first, output, len(depths))
            links += within
            if has_hub:
                depths.append(operator.depth)
        return links, depths

    def validate(self) -> None:
        """Raise GraphError for a graph that cannot run. It must not change afterwards."""
        if not self.operators:
            raise GraphError(f"dataflow {self.name!r} has no operators; add an input or a source to its scope")
        for operator in self.operators:
            if operator.relay is not None and not operator.inputs:
                raise GraphError(
                    f"the {operator.name} of dataflow {self.name!r} has no input; call connect(stream), or set(rows) "
                    f"of a variable, with what goes around"
                )
            if operator.constructor is None and operator.manual is None and operator.relay is None:
                raise GraphError(f"operator {operator.name!r} was never built; call build(constructor) on its builder")
        self._compiled = self._compile()
        require_advancing_cycles(self._compiled[0], self._name)

    def _name(self, number: int) -> str:
        """A location in words; of hubs no more than that."""
        numbers = {at: location for location, at in self.locations().items()}
        if number in numbers:
            return self.describe(numbers[number])
        tap = number - len(numbers)
        return f"probe of {self.describe(self.taps[tap])}" if tap < len(self.taps) else "all its outputs"

    def digest(self) -> int:
        """63 bits that all workers must agree on: how it runs, names, ports, schemas, pacts, summaries, policies,
        edges, signals, probes, stages, and what is said of operators and read by them.
        """
        text = [self.name, self.about]
        for operator in self.operators:
            text.append(
                f"{operator.name}|{operator.notify}|{operator.outputs!r}|{sorted(operator.summaries.items())!r}|{sorted(operator.closed)}|"
                f"{operator.relay!r}|{operator.depth}|{operator.about}"
            )
            text.extend(
                f"{spec.origin!r}|{spec.stage and spec.stage.number}|{spec.pact!r}|{spec.schema!r}"
                for spec in operator.inputs
            )
            text.extend(operator.reads)
            text.extend(f"signal|{origin!r}|{signal.everywhere}" for origin, signal in operator.signals)
        text.append(repr(self.taps))
        text.extend([stage.digest_text() for stage in self.stages])
        return int.from_bytes(hashlib.blake2b("\n".join(text).encode(), digest_size=8).digest(), "little") >> 1

    def declared(self) -> list[str]:
        """What was declared, one thing after the other, for the comparison between workers that do not agree."""
        found = [f"dataflow {self.name!r} with {self.about}"] if self.about else []
        for operator in self.operators:
            ports = [
                f"input {at}: {self.describe(spec.origin)} by {spec.pact!r}" for at, spec in enumerate(operator.inputs)
            ]
            ports += [f"output {at}: {schema!r}" for at, schema in enumerate(operator.outputs)]
            ports += [operator.about] if operator.about else []
            found.append(f"operator {operator.name!r} ({'; '.join([*ports, f'notify {operator.notify.name}'])})")
            found += [f"{file} of {operator.name!r}" for file in operator.reads]
        for stage in self.stages:
            what = f" ({stage.function!r})" if hasattr(stage.function, "fused") else ""
            found.append(f"stateless operator {stage.label!r}{what} with {stage.schema!r}")
        return found + [f"a probe of {self.describe(tap)}" for tap in self.taps]

    def summary_text(self) -> str:
        """The operators' names, for messages, as far as they can be read."""
        names = [operator.name for operator in self.operators] + [stage.label for stage in self.stages[:_NAMES_SHOWN]]
        more = len(self.operators) + len(self.stages) - _NAMES_SHOWN
        return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
