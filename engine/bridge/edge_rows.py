"""The edges of compiled operators, as rows of the world's tables: where messages go from an output, and how."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tokenring.engine.bridge.compiled_edges import CompiledEdges
from tokenring.engine.bridge.compiled_inbox import CompiledInbox
from tokenring.engine.columns import Schema
from tokenring.engine.data import (
    Channel,
    DataPlane,
    Edge,
    FeedbackChannel,
    OutputPort,
    RelayChannel,
    RemoteChannel,
    SelectChannel,
    StageRun,
    TextRows,
    WordRows,
)
from tokenring.engine.graph import CompiledStage, stage_of
from tokenring.engine.native import (
    BORDER,
    BROADCAST,
    EXCHANGE,
    LOCAL,
    OUTSIDE,
    STAGE,
    RoutingKey,
    World,
    link_routing_key,
)
from tokenring.shm.kernels import address_of
from tokenring.shm.memory import text_space


class _Way(NamedTuple):
    """The edges from one place: the channels and the schema of what they carry; the row of the output whose tokens
    stand for what waits there; the edge that leads there, -1: none, they are that output's own."""

    channels: Sequence[Edge]
    schema: Schema
    output: int
    behind: int


class EdgeRows:
    """Makes rows of channels, and owns what they point to."""

    def __init__(self, world: World, plane: DataPlane, edges: CompiledEdges) -> None:
        """edges: those that lead to what is Python's."""
        self._world = world
        self._plane = plane
        self._edges = edges
        self._edges_of: dict[int, list[tuple[int, int]]] = {}  # an operator's: (first, how many) each
        self._borders_of: dict[int, list[int]] = {}  # an operator's: the rows of outputs beyond borders
        self.stages: dict[int, tuple[CompiledStage, str]] = {}
        """By edge, each with its operator's name."""
        self._chosen: dict[int, np.ndarray] = {}  # the positions of columns that cross an edge
        self._keys: dict[int, np.ndarray] = {}  # what rows go by there
        self._flags: dict[Schema, np.ndarray] = {}

    def forget(self, row: int) -> None:
        """The operator of this row is gone."""
        for first, count in self._edges_of.pop(row, ()):
            for number in range(first, first + count):
                self._edges.forget(number)
                self._chosen.pop(number, None)
                self._keys.pop(number, None)
                self.stages.pop(number, None)
            self._world.give_back("edges", first, count)
        for output in self._borders_of.pop(row, ()):
            self._world.give_back("outputs", output, 1)

    def have_texts(self) -> None:
        """Let texts pass."""
        space = text_space()
        assert space is not None, "without one, no operator that is compiled has text"
        self._world.have_texts(space)

    def texts_of(self, schema: Schema) -> int:
        """The address of what tells kernels which columns of a schema are text; 0 if none is."""
        if not schema.has_text:
            return 0
        self.have_texts()
        if schema not in self._flags:
            self._flags[schema] = np.array([kind.is_text for kind in schema.kinds], np.int64)
        return address_of(self._flags[schema])

    def make(self, row: int, port: OutputPort, output: int) -> None:
        """Rows for an output's edges, and for those behind its stages."""
        world = self._world
        to_do = [_Way(port.channels, port.schema, output, -1)]
        while to_do:
            way = to_do.pop()
            first = world.rows("edges", len(way.channels))
            self._edges_of.setdefault(row, []).append((first, len(way.channels)))
            here = world.outputs[output] if way.behind < 0 else world.edges[way.behind]
            here["first_edge"], here["edges"] = first, len(way.channels)
            origin, depth = world.outputs[["location", "depth"]][way.output].tolist()
            for number, channel in enumerate(way.channels, first):
                edge = world.edges[number]
                edge["origin"], edge["output"], edge["depth"] = origin, way.output, depth
                border = channel.onward if isinstance(channel, FeedbackChannel) else channel
                if isinstance(channel, StageRun) and self._make_stage(number, channel):
                    to_do.append(way._replace(channels=channel.behind_first(), schema=channel.first[1], behind=number))
                elif isinstance(border, RelayChannel):
                    beyond = self._make_border(row, number, border, goes_round=border is not channel)
                    to_do.append(_Way(border.channels, way.schema, beyond, number))
                else:
                    self._make_edge(number, channel, way.schema)

    def _make_border(self, row: int, number: int, border: RelayChannel, goes_round: bool) -> int:
        """Let an edge lead into a loop, out of it, or around; the row of the output beyond, for what waits there."""
        beyond = self._world.rows("outputs", 1)
        output = self._world.outputs[beyond]
        output["location"], output["depth"] = border.location, border.summary.depth
        self._borders_of.setdefault(row, []).append(beyond)
        edge, summary = self._world.edges[number], border.summary
        edge["kind"], edge["goes_round"] = BORDER, goes_round
        added = (*summary.delays, *summary.then)
        edge["summary"][: 1 + len(added)] = len(summary.delays), *added
        return beyond

    def _make_stage(self, number: int, run: StageRun) -> bool:
        """Let an edge lead through a run's first step, if that is compiled and what it makes is words."""
        function, _, label = run.first
        stage = stage_of(function)
        if stage is None:
            return False
        if stage.has_texts:
            self.have_texts()
        self.stages[number] = stage, label
        edge = self._world.edges[number]
        edge["kind"], edge["logic"], edge["state"] = STAGE, stage.logic.address, address_of(stage.state)
        return True

    def _make_edge(self, number: int, channel: Edge, schema: Schema) -> None:
        edge = self._world.edges[number]
        local = channel.onward if isinstance(channel, SelectChannel) else channel
        if isinstance(local, Channel) and isinstance(local.inbox.queue, CompiledInbox):
            edge["kind"], edge["target"], edge["location"] = LOCAL, local.inbox.queue.port, local.inbox.location
            edge["width"] = len(schema)
            if isinstance(channel, SelectChannel):
                self._select(number, [schema.position(name) for name in channel.schema.names])
        elif isinstance(channel, RemoteChannel) and isinstance(channel.carrier, WordRows):
            carrier = channel.carrier
            self._select(number, carrier.select)
            edge["kind"] = BROADCAST if carrier.is_broadcast else EXCHANGE
            self._route(number, schema, carrier.keys)
            edge["location"], edge["channel"] = channel.inbox.location, channel.number
            edge["most_rows"], edge["workers"] = carrier.whole_rows, carrier.workers
            edge["burst_channel"], edge["burst_rows"] = channel.bursts.number, channel.bursts.rows_limit
        elif (
            isinstance(channel, RemoteChannel)
            and isinstance(channel.carrier, TextRows)
            and not channel.carrier.is_routed
        ):
            self._make_text_edge(number, channel, channel.carrier, schema)
        else:
            edge["kind"] = OUTSIDE
            self._edges.add(number, channel, schema, int(edge["depth"]))

    def _make_text_edge(self, number: int, channel: RemoteChannel, carrier: TextRows, schema: Schema) -> None:
        edge = self._world.edges[number]
        self._select(number, [schema.position(name) for name in carrier.schema.names])
        edge["kind"] = BROADCAST if carrier.is_broadcast else EXCHANGE
        edge["location"], edge["channel"] = channel.inbox.location, channel.number
        edge["most_rows"], edge["limit_words"] = carrier.most_rows, self._plane.message_limit_words
        edge["texts"], edge["workers"] = self.texts_of(schema), carrier.workers
        self._route(number, schema, carrier.keys)

    def _route(self, number: int, schema: Schema, key: Sequence[str]) -> None:
        """Let rows go by a key, or to everybody where it is of no columns."""
        if key:
            routing = RoutingKey()
            self._keys[number] = link_routing_key(routing, schema, key)
            self._world.edges["key"][number] = routing.column, routing.told, routing.width

    def _select(self, number: int, positions: Sequence[int]) -> None:
        """Let these columns cross an edge."""
        chosen = np.array(positions, np.int64)
        self._chosen[number] = chosen
        self._world.edges["columns"][number], self._world.edges["width"][number] = address_of(chosen), len(chosen)
