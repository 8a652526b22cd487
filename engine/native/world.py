"""The compiled part of a worker's running graph: its tables, how they come to be, and how they grow."""

import numpy as np

from tokenring.engine.errors import TokenError
from tokenring.engine.native.due import let_run
from tokenring.engine.native.hand_over import array_at, listed, was_handed_on
from tokenring.engine.native.layout import (
    MESSAGE_WORDS,
    EdgeRow,
    GrowingTable,
    InputRow,
    Message,
    OperatorRow,
    OutputRow,
    RunningGraph,
    TokenRow,
)
from tokenring.engine.native.memory import MOST_KEPT_BYTES, free_all
from tokenring.engine.native.rights import NO_TOKEN, cancel_token, grant
from tokenring.engine.native.signals import SignalRow
from tokenring.engine.native.wrongs import no_memory
from tokenring.engine.progress import CHANGE_BYTES, CHANGE_WORDS, ChangeLog, TrackerState
from tokenring.engine.times import MOST_COORDINATES, AnyTime, Intervals, coordinates, from_coordinates
from tokenring.shm.kernels import address_of
from tokenring.shm.memory import TextSpace, untouched_zeros

MOST_TOKENS = 1 << 20
"""That compiled operators of one worker hold at once; their memory is there once it is used."""
TEXTS_BYTES = 1 << 31
"""Of texts that are made in a round, and as many of messages that wait; of these twice, so that they can be moved."""
_FIRST = 16


class World:
    """One worker's tables. `state` is the kernels' one handle on them, at `address`, and is never replaced."""

    def __init__(self) -> None:
        self.state = RunningGraph()
        self.address = self.state.address
        self.spilled, self.arrived_here = self.state.spilled, self.state.arrived_here
        self.operators = OperatorRow.new_table(0)
        self.inputs = InputRow.new_table(0)
        self.outputs = OutputRow.new_table(0)
        self.edges = EdgeRow.new_table(0)
        self.signals = SignalRow.new_table(0)
        self.tokens = untouched_zeros(MOST_TOKENS, TokenRow.dtype)
        self._due = np.zeros(0, np.int64)
        self._natives = np.zeros(0, np.int64)
        self._channels = np.zeros(0, np.int64)
        self._numbers = {name: Intervals() for name in ("operators", "inputs", "outputs", "edges", "signals")}
        self._log: np.ndarray | None = None
        self._texts: tuple[TextSpace, int] | None = None
        self.state.position = -1
        self.state.exchange_every_ns = 5_000  # of a round that takes longer, peers wait for a part only
        self.link()

    def __del__(self) -> None:
        free_all(self.address)
        if self._texts is not None:
            space, first = self._texts
            space.give_back(first, 3 * TEXTS_BYTES)

    def have_texts(self, space: TextSpace) -> None:
        """Let texts pass: have room in the text space for those of a round, and of messages that wait."""
        if self._texts is None:
            first = space.allocate(3 * TEXTS_BYTES)
            self._texts = space, first
            state = self.state
            state.text_base, state.text_common = space.address, space.common_words
            state.round_text = state.round_text_at = first
            state.round_text_end = state.waiting_text = first + TEXTS_BYTES
            state.waiting_text_at = state.waiting_text
            state.waiting_text_end = state.other_text = first + 2 * TEXTS_BYTES
            state.waiting_text_limit = MOST_KEPT_BYTES

    def link(self) -> None:
        """Tell the kernels where the tables are now."""
        state = self.state
        state.operators, state.operator_capacity = address_of(self.operators), len(self.operators)
        state.inputs, state.input_capacity = address_of(self.inputs), len(self.inputs)
        state.outputs, state.output_capacity = address_of(self.outputs), len(self.outputs)
        state.edges, state.edge_capacity = address_of(self.edges), len(self.edges)
        state.signals, state.signal_capacity = address_of(self.signals), len(self.signals)
        state.tokens, state.token_capacity = address_of(self.tokens), len(self.tokens)
        state.natives, state.native_capacity = address_of(self._natives), len(self._natives)
        state.channels, state.channel_capacity = address_of(self._channels), len(self._channels)
        state.due, state.due_capacity = address_of(self._due), len(self._due) // 2
        self._count()

    def _count(self) -> None:
        """Tell the kernels how many rows are used."""
        self.state.edges_used = self._numbers["edges"].used
        self.state.operators_used = self._numbers["operators"].used
        self.state.signals_used = self._numbers["signals"].used

    def rows(self, name: str, count: int) -> int:
        """The number of the first of `count` new rows, one after the other, of "operators", "inputs", "outputs",
        "edges" or "signals"."""
        first = self._numbers[name].take(count)
        table = getattr(self, name)
        if first + count > len(table):
            grown = np.zeros(max(_FIRST, 2 * len(table), first + count), table.dtype)
            grown[: len(table)] = table
            setattr(self, name, grown)
            if name == "operators":
                due = np.zeros(2 * len(grown), np.int64)
                due[: len(self._due)] = self._due
                self._due = due
            self.link()
        else:
            table[first : first + count] = 0
            self._count()
        return first

    def give_back(self, name: str, first: int, count: int) -> None:
        """Rows of a dataflow that is forgotten: others may have them."""
        if count:
            getattr(self, name)[first : first + count] = 0
            self._numbers[name].give_back(first, count)
            self._count()

    def name(self, number: int, operator: int) -> None:
        """Let the tracker's `number` be the compiled operator `operator`; -1: no compiled one."""
        before, self._natives = self._natives, _put(self._natives, number, operator + 1)
        if self._natives is not before:
            self.link()

    def deliver(self, channel: int, target: int) -> None:
        """Let messages of a channel be delivered to the compiled input, or the signal (SIGNALS), `target`; -1: to
        Python."""
        before, self._channels = self._channels, _put(self._channels, channel, target + 1)
        if self._channels is not before:
            self.link()

    def take_signalled(self) -> list[int]:
        """The tracker's numbers of Python's operators that signals run, each signal once."""
        self.state.signalled = 0
        told = np.flatnonzero(self.signals["is_told"])
        self.signals["is_told"][told] = 0
        return self.signals["number"][told].tolist()

    def hand_log(self, log: ChangeLog) -> None:
        """Let kernels write to the log, behind what stands there; `log_count` is then how many changes it has."""
        if log.words is not self._log:
            self._log = log.words
            state = self.state
            state.log, state.log_capacity = address_of(log.words), len(log.words) // CHANGE_WORDS
            state.log_scratch, state.log_scratch_words = address_of(log.scratch), len(log.scratch)
        self.state.log_count = log.offset // CHANGE_BYTES

    @property
    def log_count(self) -> int:
        """How many changes the log has, when a kernel has written to it."""
        return self.state.log_count

    def make_due(self, operator: int) -> None:
        """Let a compiled operator run."""
        let_run(self.address, operator)

    def grant(self, operator: int, output: int, time: AnyTime) -> int:
        """A row for a token that the operator has, or is known to have: its slot."""
        slot: int = grant(self.address, operator, output, words_of_time(time))
        if slot == NO_TOKEN:
            raise TokenError(f"compiled operators hold {MOST_TOKENS} tokens, and there is room for no more")
        return slot

    def cancel(self, operator: int, logic: int) -> None:
        """Let an operator run `logic`, at this address, from now on, and only when it is due; what it did wrong before
        is forgotten."""
        words = self.operators[operator]
        words["logic"], words["wake_ns"], words["counts_tokens"], words["error"] = logic, 0, 0, 0

    def cancel_token(self, slot: int) -> None:
        """Take a token from its operator; the caller logs that."""
        cancel_token(self.address, slot)

    def take_back(self, first: int, count: int) -> list[tuple[int, tuple[int, ...]]]:
        """Let nothing that comes from these locations, so many from the first one on, wait for Python any more:
        (location, all coordinates of the time) of each message. The tokens that stood for them are the caller's."""
        state, taken, before = self.state, list[tuple[int, tuple[int, ...]]](), 0
        message, state.for_python = state.for_python, 0
        while message:
            header = Message(array_at(message, MESSAGE_WORDS))
            onward, edge = header.next, header.edge_number
            header.next = 0
            if first <= self.edges["origin"][edge] < first + count:
                location = was_handed_on(self.address, edge)
                taken += [(location, coordinates(time)) for time, _ in listed(message, 0, MOST_COORDINATES)]
            else:
                if before:
                    Message(array_at(before, MESSAGE_WORDS)).next = message
                else:
                    state.for_python = message
                state.last_for_python = before = message
            message = onward
        return taken

    def output(self, operator: int, index: int) -> int:
        """The row of an operator's output."""
        return int(self.operators["first_output"][operator]) + index

    def lacked(self) -> MemoryError:
        """The error for memory that a kernel asked for in vain."""
        return no_memory(self.state.lacked, self.state.lacked_each)

    def take_table(self, table: GrowingTable) -> np.ndarray:
        """The changes in a table that kernels filled (`append`), int64 (changes, CHANGE_WORDS): it is empty then."""
        count = table.count
        if not count:
            return np.zeros((0, CHANGE_WORDS), np.int64)
        table.count = 0
        return array_at(table.rows, CHANGE_WORDS * count).reshape(count, CHANGE_WORDS)

    def held_by(self, operator: int) -> list[tuple[int, int, AnyTime]]:
        """The tokens of an operator: (slot, output's row, time)."""
        tokens = self.tokens[: int(self.state.tokens_used)]
        rows = np.flatnonzero((tokens["handle"] >= 0) & (tokens["operator"] == operator)).tolist()
        found: list[tuple[int, int, AnyTime]] = []
        for row in rows:
            output, time = int(tokens["output"][row]), (int(tokens["time"][row]), *tokens["inner"][row].tolist())
            depth = int(self.outputs["depth"][output])
            found.append((int(tokens["handle"][row]), output, from_coordinates(time[:depth])))
        return found


def words_of_time(time: AnyTime) -> np.ndarray:
    """All coordinates of a time, int64 (MOST_COORDINATES,)."""
    words = np.zeros(MOST_COORDINATES, np.int64)
    own = coordinates(time)
    words[: len(own)] = own
    return words


def _put(table: np.ndarray, at: int, value: int) -> np.ndarray:
    if at >= len(table):
        grown = np.zeros(max(_FIRST, 2 * len(table), at + 1), np.int64)
        grown[: len(table)] = table
        table = grown
    table[at] = value
    return table


def attach_world(
    world: World,
    me: int,
    workers: int,
    state: TrackerState,
    ring: np.ndarray,
    incoming: np.ndarray,
    outgoing: np.ndarray,
    arrived: np.ndarray,
    routes: np.ndarray,
    counts: np.ndarray,
    parked: int,
    congested: int,
    backlog_limit_bytes: int,
    ending: int,
    running: int,
    observed: int,
) -> None:
    """Tell the kernels of a worker's planes: arrays that are never replaced, and addresses in the group's segment."""
    own = world.state
    own.me, own.workers, own.living = me, workers, workers
    own.state = state.address
    own.ring, own.ring_words = address_of(ring), len(ring)
    own.incoming, own.outgoing = address_of(incoming), address_of(outgoing)
    own.arrived, own.arrived_words = address_of(arrived), len(arrived)
    own.routes, own.routes_words = address_of(routes), len(routes)
    own.counts, own.counts_rows = address_of(counts), len(counts)
    own.parked_flags, own.congested_flags = parked, congested
    own.backlog_limit_bytes = backlog_limit_bytes
    own.ending = ending
    own.running = running
    own.observed = observed  # bits of CHECKED, NOTED
