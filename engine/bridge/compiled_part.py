"""The compiled part of one worker: what its tables are about, and what Python does when the loop asks for it."""

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from tokenring.engine.bridge.compiled_edges import CompiledEdges
from tokenring.engine.bridge.compiled_inbox import CompiledInbox, KeptColumns
from tokenring.engine.data import (
    BurstEnd,
    Channel,
    DataPlane,
    Edge,
    Inbox,
    OutputPort,
    Receiver,
    RemoteChannel,
    SelectChannel,
    WordRows,
)
from tokenring.engine.errors import OperatorError, TokenRingError
from tokenring.engine.graph import OperatorSpec
from tokenring.engine.native import (
    BROADCAST,
    BURSTS,
    DONE,
    EXCHANGE,
    LOCAL,
    NEEDS_ROOM,
    OUTSIDE,
    STOPPED_AT,
    TROUBLE,
    Compiled,
    World,
    attach_world,
    run_once,
    what_is_wrong,
)
from tokenring.engine.progress import CHANGE_BYTES, ChangeLog, ProgressChannel, Tracker
from tokenring.engine.running import RunningOperator
from tokenring.engine.tokens import Token
from tokenring.shm.kernels import address_of
from tokenring.shm.memory import Segment
from tokenring.shm.queues import parked_address


class CompiledPart:
    """One worker's compiled operators, by their rows."""

    def __init__(self, world: World, log: ChangeLog, plane: DataPlane, tracker: Tracker) -> None:
        self.world = world
        self.log = log
        self.kept = KeptColumns(world)
        self.edges = CompiledEdges(world, log, plane.lent)
        self._plane = plane
        self._tracker = tracker
        self._operators: dict[int, tuple[RunningOperator, Compiled]] = {}
        self._chosen: dict[int, np.ndarray] = {}  # the positions of columns that cross an edge

    def attach(self, segment: Segment, me: int, progress: ProgressChannel, observed: bool) -> None:
        """Tell the kernels where the rest of the worker is. observed: progress is exchanged by Python."""
        plane = self._plane
        attach_world(
            self.world, me, segment.layout.workers, self._tracker.tables.state, progress.ring,
            plane.incoming, plane.outgoing, plane.inbox, plane.routes, plane.counts,
            parked_address(segment), plane.congested_flags,
            plane.backlog_limit_bytes, plane.message_limit_words,
            segment.address(segment.layout.ending), observed,
        )  # fmt: skip
        self.before()

    def before(self) -> None:
        """A kernel is about to write to the log, which is Python's otherwise."""
        self.world.hand_log(self.log)

    def after(self) -> None:
        """It has."""
        self.log.offset = self.world.log_count * CHANGE_BYTES

    def make_rows(self, operator: RunningOperator, spec: OperatorSpec, inboxes: Sequence[Inbox]) -> None:
        """Give an operator that is to be compiled its rows; what comes to its inboxes comes there."""
        world = self.world
        row = operator.compiled = world.rows("operators", 1)
        first = world.rows("inputs", len(inboxes))
        words = world.operators[row]
        words["number"], words["first_input"], words["inputs"] = operator.number, first, len(inboxes)
        words["depends"], words["counts_tokens"] = not operator.is_indifferent, operator.counts_tokens
        for at, (inbox, port) in enumerate(zip(inboxes, spec.inputs, strict=True), first):
            here = world.inputs[at]
            here["operator"], here["location"], here["width"] = row, inbox.location, len(port.schema)
            inbox.queue = CompiledInbox(world, at, len(port.schema), self.kept)
        world.name(operator.number, row)

    def compile_paths(self, operator: RunningOperator) -> None:
        """Let the loop find out its inputs' frontiers."""
        for port in operator.inputs:
            self._tracker.paths.compile_row(port.location)

    def connect(self, operator: RunningOperator) -> None:
        """Turn the channels of its outputs into rows, as far as they lead to what is compiled, or to peers."""
        world = self.world
        first = world.rows("outputs", len(operator.outputs))
        words = world.operators[operator.compiled]
        words["first_output"], words["outputs"] = first, len(operator.outputs)
        for at, port in enumerate(operator.outputs, first):
            edges = world.rows("edges", len(port.channels))
            here = world.outputs[at]
            here["location"], here["first_edge"], here["edges"] = port.location, edges, len(port.channels)
            here["width"] = len(port.schema)
            for number, channel in enumerate(port.channels, edges):
                world.edges["origin"][number], world.edges["output"][number] = port.location, at
                self._make_edge(number, channel, port)

    def _make_edge(self, number: int, channel: Edge, port: OutputPort) -> None:
        edge = self.world.edges[number]
        if isinstance(channel, SelectChannel) and isinstance(channel.onward, Channel):
            self._select(number, [port.schema.position(name) for name in channel.schema.names])
            channel = channel.onward
        if isinstance(channel, Channel) and isinstance(channel.inbox.queue, CompiledInbox):
            edge["kind"], edge["target"], edge["location"] = LOCAL, channel.inbox.queue.port, channel.inbox.location
            if not edge["columns"]:
                edge["width"] = len(port.schema)
        elif isinstance(channel, RemoteChannel) and isinstance(channel.carrier, WordRows):
            carrier = channel.carrier
            self._select(number, carrier.select)
            edge["kind"], edge["key"] = BROADCAST if carrier.is_broadcast else EXCHANGE, carrier.key
            edge["location"], edge["channel"] = channel.inbox.location, channel.number
            edge["most_rows"] = carrier.whole_rows
        else:
            edge["kind"] = OUTSIDE
            self.edges.add(number, channel, port.schema)

    def _select(self, number: int, positions: Sequence[int]) -> None:
        """Let these columns cross an edge."""
        chosen = np.array(positions, np.int64)
        self._chosen[number] = chosen
        self.world.edges["columns"][number], self.world.edges["width"][number] = address_of(chosen), len(chosen)

    def deliver(self, number: int, receiver: Receiver) -> None:
        """Let a channel's messages, or its bursts, be delivered by the loop if they are for a compiled input."""
        bursts = isinstance(receiver, BurstEnd)
        channel = receiver.channel if isinstance(receiver, BurstEnd) else receiver
        target = -1
        if isinstance(channel, RemoteChannel) and isinstance(channel.inbox.queue, CompiledInbox):
            target = channel.inbox.queue.port + bursts * BURSTS
        self.world.deliver(number, target)

    def add(self, operator: RunningOperator, compiled: Compiled, tokens: Sequence[Token]) -> None:
        """Let the loop run an operator, with these tokens as its own."""
        row = operator.compiled
        self._operators[row] = operator, compiled
        words = self.world.operators[row]
        words["logic"], words["state"] = compiled.logic.address, address_of(compiled.state)
        if compiled.view is not None:
            operator.view = compiled.view
        for at, token in enumerate(tokens):
            compiled.state[at] = self.world.grant(row, int(words["first_output"]) + at, token.time)
            token.surrender()

    def forget(self, operator: RunningOperator) -> None:
        """Its dataflow is finished."""
        world, row = self.world, operator.compiled
        words = world.operators[row]
        first, count = int(words["first_output"]), int(words["outputs"])
        for at in range(first, first + count):
            edges, many = int(world.outputs["first_edge"][at]), int(world.outputs["edges"][at])
            for number in range(edges, edges + many):
                self.edges.forget(number)
                self._chosen.pop(number, None)
            world.give_back("edges", edges, many)
        world.give_back("outputs", first, count)
        world.give_back("inputs", int(words["first_input"]), int(words["inputs"]))
        world.give_back("operators", row, 1)
        world.name(operator.number, -1)
        del self._operators[row]

    def attend(self) -> None:
        """An operator stopped: help it, or raise what it found wrong."""
        view = self.world.view
        while True:
            row, trouble = view[STOPPED_AT], view[TROUBLE]
            operator, compiled = self._operators[row]
            if trouble == DONE:
                self._tracker.set_holding(operator.number, int(self.world.operators["held"][row]))
                return
            if trouble != NEEDS_ROOM or compiled.make_room is None:
                self._raise(operator, compiled)
            compiled.make_room()
            self.before()
            stopped = run_once(self.world.address, row)
            self.after()
            if not stopped:
                return

    def _raise(self, operator: RunningOperator, compiled: Compiled) -> NoReturn:
        row = self.world.operators[operator.compiled]
        error, operands = int(row["error"]), (int(row["operand"]), int(row["operand_too"]), int(row["operand_three"]))
        where = f"operator {operator.name!r} on worker {operator.runtime.index}"
        if error < 0 and compiled.explain is not None:
            found = compiled.explain(error, operands)
            if isinstance(found, TokenRingError):
                raise OperatorError(f"{where}: {type(found).__name__}: {found}") from found
            inputs = ", ".join(f"input {port.index} at {port.frontier}" for port in operator.inputs)
            raise OperatorError(
                f"operator {operator.name!r} raised on worker {operator.runtime.index} ({inputs or 'a source'}): "
                f"{type(found).__name__}: {found}"
            ) from found
        wrong = what_is_wrong(error, operands)
        raise OperatorError(f"{where}: {type(wrong).__name__}: {wrong}") from wrong
