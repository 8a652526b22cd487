"""The compiled part of one worker: what its tables are about, and what Python does when the loop asks for it."""

import os
from collections.abc import Callable, Sequence
from sys import intern
from typing import NoReturn

import numpy as np

from tokenring.engine.bridge.compiled_edges import CompiledEdges
from tokenring.engine.bridge.compiled_inbox import CompiledInbox, KeptColumns
from tokenring.engine.bridge.edge_rows import EdgeRows
from tokenring.engine.bridge.labels import Labels
from tokenring.engine.data import BurstEnd, DataPlane, FarSignal, Inbox, Receiver, RemoteChannel, in_words
from tokenring.engine.errors import MemoryBudgetError, OperatorError, TokenError, TokenRingError
from tokenring.engine.graph import AtFirstMessage, Compiled, OperatorSpec, require_usable
from tokenring.engine.native import (
    BURSTS,
    DONE,
    FAILED,
    NEEDS_ROOM,
    NO_TOKEN,
    SIGNALS,
    STAGE_FAILED,
    World,
    attach_world,
    run_once,
    wait_for_message,
    what_is_wrong,
)
from tokenring.engine.progress import CHANGE_BYTES, CHANGE_WORDS, ChangeLog, ProgressChannel, Tracker
from tokenring.engine.running import RunningOperator
from tokenring.engine.tokens import Token
from tokenring.shm.kernels import address_of
from tokenring.shm.memory import WORKER_PROCESS, WORKER_RUNNING, Segment
from tokenring.shm.queues import parked_address

_MOST_GROWTHS = 1000  # in a row: arrays that double have room for all there is long before

MADE_AT_ONCE = 256
"""So many operators of a worker wait for no first message, though they could: it would save little, and a run's first
rows would wait for them."""


class CompiledPart:
    """One worker's compiled operators, by their rows."""

    def __init__(self, world: World, log: ChangeLog, plane: DataPlane, tracker: Tracker) -> None:
        self.world = world
        self.log = log
        self.kept = KeptColumns(world)
        self.edges = CompiledEdges(world, log, plane.lent)
        self._labels = Labels()
        self._plane = plane
        self._tracker = tracker
        self._operators: dict[int, tuple[RunningOperator, Compiled]] = {}
        self._rows = EdgeRows(world, plane, self.edges)
        self._spent: dict[str, tuple[int, int]] = {}  # by operators that are gone
        self._unmade: dict[int, tuple[str, Callable[[], Compiled]]] = {}
        """By row, of operators to which nothing came: their dataflows' names, and what makes them."""
        self._waiting = Compiled(wait_for_message, np.zeros(0, np.int64), make_room=self._make)
        """What all of these run."""

    def attach(self, segment: Segment, me: int, progress: ProgressChannel, observed: int) -> None:
        """Tell the kernels where the rest of the worker is. observed: bits of CHECKED and NOTED."""
        plane, line = self._plane, segment.layout.worker(me)
        segment.words[line + WORKER_PROCESS] = os.getpid()
        attach_world(
            self.world, me, segment.layout.workers, self._tracker.tables.state, progress.ring,
            plane.incoming, plane.outgoing, plane.inbox, plane.routes, plane.counts,
            parked_address(segment), plane.congested_flags,
            plane.backlog_limit_bytes, segment.address(segment.layout.ending),
            segment.address(line + WORKER_RUNNING), observed,
        )  # fmt: skip
        self.before()

    def before(self) -> None:
        """A kernel is about to write to the log, which is Python's otherwise."""
        self.world.hand_log(self.log)

    def after(self) -> None:
        """It has: what found no room in the log goes into a larger one, and Python's writers find room again."""
        log, world = self.log, self.world
        log.offset = world.log_count * CHANGE_BYTES
        if world.spilled.count:
            changes = world.take_table(world.spilled)
            at = log.room_for(len(changes))
            words = log.words[at * CHANGE_WORDS : (at + len(changes)) * CHANGE_WORDS].reshape(-1, CHANGE_WORDS)
            words[:] = changes
            log.wrote(len(changes))
        if log.offset >= log.limit:
            log.make_room()

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
            here["texts"], here["depth"] = self._rows.texts_of(port.schema), spec.input_depth
            inbox.queue = CompiledInbox(world, at, port.schema, spec.input_depth, self.kept, spec.reads_texts)
        world.name(operator.number, row)
        if any(schema.has_text for schema in spec.outputs):
            self._rows.have_texts()

    def compile_paths(self, operator: RunningOperator) -> None:
        """Let the loop find out its inputs' frontiers."""
        for port in operator.inputs:
            self._tracker.prepare_frontier(port.location)

    def connect(self, operator: RunningOperator) -> None:
        """Turn the channels of its outputs into rows, as far as they lead to what is compiled, or to peers."""
        world = self.world
        first = world.rows("outputs", len(operator.outputs))
        words = world.operators[operator.compiled]
        words["first_output"], words["outputs"] = first, len(operator.outputs)
        for at, port in enumerate(operator.outputs, first):
            here = world.outputs[at]
            here["location"], here["width"], here["depth"] = port.location, len(port.schema), port.depth
            self._rows.make(operator.compiled, port, at)

    def deliver(self, number: int, receiver: Receiver) -> None:
        """Let a channel's messages, its bursts, or a signal's words be delivered by the loop if they are for what is
        compiled."""
        bursts = isinstance(receiver, BurstEnd)
        channel = receiver.channel if isinstance(receiver, BurstEnd) else receiver
        target = -1
        if isinstance(channel, RemoteChannel) and isinstance(channel.inbox.queue, CompiledInbox):
            target = channel.inbox.queue.port + bursts * BURSTS
        elif isinstance(channel, FarSignal) and channel.is_compiled:
            target = channel.row + SIGNALS
        self.world.deliver(number, target)

    @property
    def has_few(self) -> bool:
        """Whether operators are so few that none is to wait for its first message."""
        return len(self._operators) < MADE_AT_ONCE

    def add(
        self, operator: RunningOperator, dataflow: str, made: Compiled | AtFirstMessage, tokens: Sequence[Token]
    ) -> None:
        """Let the loop run an operator of a dataflow of that name, with these tokens as its own; one that waits for its
        first message has none."""
        for token in tokens:
            operator.declared_at = intern(token.origin)  # thousands are alike
        if isinstance(made, AtFirstMessage):
            for token in tokens:
                token.drop()
            self._unmade[operator.compiled] = dataflow, made.make
            operator.view = made.view
            self._let_run(operator, dataflow, self._waiting)
            return
        self._let_run(operator, dataflow, made)
        operator.state = made
        for at, token in enumerate(tokens):
            row = operator.compiled
            made.state[at] = self.world.grant(row, self.world.output(row, at), token.time)
            token.surrender()

    def _make(self) -> None:
        """The first message has come to the operator that stopped."""
        row = self.world.state.stopped_at
        operator, _ = self._operators[row]
        dataflow, make = self._unmade.pop(row)
        compiled = make()
        require_usable(compiled, operator.name, len(operator.outputs))
        compiled.state[: len(operator.outputs)] = NO_TOKEN
        operator.state = compiled
        self._let_run(operator, dataflow, compiled)

    def _let_run(self, operator: RunningOperator, dataflow: str, compiled: Compiled) -> None:
        """Let this be what an operator runs."""
        self._operators[operator.compiled] = operator, compiled
        operator.view = compiled.view or operator.view
        words = self.world.operators[operator.compiled]
        words["logic"], words["state"] = compiled.logic.address, address_of(compiled.state)
        words["label"] = self._labels.address(operator.name, dataflow, compiled.logic.py_func)

    def time_runs(self) -> None:
        """Take the time of runs and of exchanges from now on, for `spent`."""
        self.world.state.timed = 1

    def spent(self) -> dict[str, tuple[int, int]]:
        """What the inner loop did since `time_runs`: (times, ns) of "exchange" and of each operator that has run, by
        name."""
        found = dict(self._spent)
        for operator, _ in self._operators.values():
            self._add_spent(found, operator)
        graph = self.world.state
        return found | {"exchange": (graph.exchanges, graph.exchanging_ns)}

    def _add_spent(self, found: dict[str, tuple[int, int]], operator: RunningOperator) -> None:
        words = self.world.operators[operator.compiled]
        times, spent_ns = found.get(operator.name, (0, 0))
        if words["spent_ns"]:
            found[operator.name] = times + int(words["runs"]), spent_ns + int(words["spent_ns"])

    def forget(self, operator: RunningOperator) -> None:
        """Its dataflow is finished."""
        world, row = self.world, operator.compiled
        words = world.operators[row]
        self._add_spent(self._spent, operator)
        first, count = int(words["first_output"]), int(words["outputs"])
        self._rows.forget(row)
        world.give_back("outputs", first, count)
        world.give_back("inputs", int(words["first_input"]), int(words["inputs"]))
        world.give_back("operators", row, 1)
        world.name(operator.number, -1)
        self._operators.pop(row, None)  # there is none where its constructor failed
        self._unmade.pop(row, None)

    def attend(self) -> None:
        """An operator stopped: help it, or raise what it found wrong."""
        graph = self.world.state
        for _ in range(_MOST_GROWTHS):
            row, trouble = graph.stopped_at, graph.trouble
            operator, compiled = self._operators[row]
            if trouble == DONE:
                self._tracker.set_holding(operator.number, int(self.world.operators["held"][row]))
                return
            if trouble != NEEDS_ROOM or compiled.make_room is None:
                self._raise(operator, compiled)
            try:
                compiled.make_room()
            except MemoryBudgetError as error:
                where = f"operator {operator.name!r} on worker {operator.runtime.index}"
                raise MemoryBudgetError(f"{where}: {error}") from error
            except Exception as error:
                raise self._in_words(operator, error).of(operator.number) from error
            self.before()
            try:
                stopped = run_once(self.world.address, row)
            except MemoryError:
                raise self.no_memory() from None
            self.after()
            if not stopped:
                return
        raise OperatorError(
            f"operator {operator.name!r} on worker {operator.runtime.index}: its logic returned NEEDS_ROOM "
            f"{_MOST_GROWTHS} times in a row; let make_room make as much as it looks for"
        ).of(operator.number)

    def no_memory(self) -> OperatorError:
        """The error for memory that the loop asked for in vain, between the runs of operators."""
        operator, _ = self._operators[self.world.state.stopped_at]
        found = self.world.lacked()
        where = f"the inner loop of worker {operator.runtime.index}, at operator {operator.name!r}"
        return OperatorError(f"{where}: {type(found).__name__}: {found}")

    def _raise(self, operator: RunningOperator, compiled: Compiled) -> NoReturn:
        row = self.world.operators[operator.compiled]
        error, operands = int(row["error"]), (int(row["operand"]), int(row["operand_too"]), int(row["operand_three"]))
        index = operator.runtime.index
        if error == STAGE_FAILED:
            stage, label = self._rows.stages[operands[0]]
            found = what_is_wrong(error, operands) if stage.explain is None else stage.explain(*operands[1:])
            said = f"operator {label!r} on worker {index}: {in_words(found)}"
            raise OperatorError(said).of(operator.number) from found
        where = f"operator {operator.name!r} on worker {index}"
        if error < 0 and compiled.explain is not None:
            found = compiled.explain(error, operands)
            raise self._in_words(operator, found).of(operator.number) from found
        wrong: Exception = what_is_wrong(error, operands)
        returned = self.world.state.trouble
        if error == 0 and returned == NEEDS_ROOM:
            wrong = TokenError("its logic returned NEEDS_ROOM, and it has no make_room; give Compiled one")
        elif error == 0 and returned != FAILED:
            wrong = TokenError(f"its logic returned {returned}; return DONE, AGAIN, NEEDS_ROOM or FAILED")
        raise OperatorError(f"{where}: {type(wrong).__name__}: {wrong}").of(operator.number) from wrong

    def _in_words(self, operator: RunningOperator, found: Exception) -> OperatorError:
        """What an operator found wrong."""
        name, index, said = operator.name, operator.runtime.index, in_words(found)
        if isinstance(found, TokenRingError):
            return OperatorError(f"operator {name!r} on worker {index}: {said}")
        return OperatorError(f"operator {name!r} raised on worker {index} ({operator.frontiers or 'a source'}): {said}")
