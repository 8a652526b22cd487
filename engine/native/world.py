"""The compiled part of a worker's running graph: its tables, how they come to be, and how they grow."""

import gc

import numpy as np

from tokenring.engine.errors import TokenError
from tokenring.engine.native import layout
from tokenring.engine.native.due import let_run
from tokenring.engine.native.hand_over import array_at, listed, was_handed_on
from tokenring.engine.native.layout import EDGE, INPUT, OPERATOR, OUTPUT, TOKEN, WORLD_WORDS
from tokenring.engine.native.memory import MOST_KEPT_BYTES, free_all
from tokenring.engine.native.rights import NO_TOKEN, cancel_token, grant
from tokenring.engine.native.wrongs import no_memory
from tokenring.engine.progress import CHANGE_BYTES, CHANGE_WORDS, ChangeLog
from tokenring.engine.times import Intervals
from tokenring.shm.kernels import address_of
from tokenring.shm.memory import TextSpace, untouched_zeros

MOST_TOKENS = 1 << 20
"""That compiled operators of one worker hold at once; their memory is there once it is used."""
TEXTS_BYTES = 1 << 31
"""Of texts that are made in a round, and as many of messages that wait; of these twice, so that they can be moved."""
_FIRST = 16


class World:
    """One worker's tables. `words` is the kernels' one handle on them, and `view` Python's quick way to it; neither is
    ever replaced.
    """

    def __init__(self) -> None:
        self.words = np.zeros(WORLD_WORDS, np.int64)
        self.view = self.words.data
        self.address = address_of(self.words)
        self.operators = np.zeros(0, OPERATOR)
        self.inputs = np.zeros(0, INPUT)
        self.outputs = np.zeros(0, OUTPUT)
        self.edges = np.zeros(0, EDGE)
        self.tokens = untouched_zeros(MOST_TOKENS, TOKEN)
        self._due = np.zeros(0, np.int64)
        self._natives = np.zeros(0, np.int64)
        self._channels = np.zeros(0, np.int64)
        self._numbers = {name: Intervals() for name in ("operators", "inputs", "outputs", "edges")}
        self._log: np.ndarray | None = None
        self._texts: tuple[TextSpace, int] | None = None
        self.view[layout.POSITION] = -1
        self.view[layout.EXCHANGE_EVERY_NS] = 5_000  # of a round that takes longer, peers wait for a part only
        self.link()

    def __del__(self) -> None:
        free_all(self.address)
        if self._texts is not None:
            space, first = self._texts
            space.give_back(first, 3 * TEXTS_BYTES)

    def have_texts(self, space: TextSpace) -> None:
        """Let texts pass: have room in the text space for those of a round, and of messages that wait."""
        if self._texts is None:
            try:
                first = space.claim(3 * TEXTS_BYTES)
            except MemoryError:
                gc.collect()  # worlds of groups that are gone, in tests
                first = space.claim(3 * TEXTS_BYTES)
            self._texts = space, first
            words = self.words
            words[layout.TEXT_BASE], words[layout.TEXT_COMMON] = space.address, space.common_words
            words[layout.ROUND_TEXT] = words[layout.ROUND_TEXT_AT] = first
            words[layout.ROUND_TEXT_END] = words[layout.WAITING_TEXT] = first + TEXTS_BYTES
            words[layout.WAITING_TEXT_AT] = words[layout.WAITING_TEXT]
            words[layout.WAITING_TEXT_END] = words[layout.OTHER_TEXT] = first + 2 * TEXTS_BYTES
            words[layout.WAITING_TEXT_LIMIT] = MOST_KEPT_BYTES

    def link(self) -> None:
        """Tell the kernels where the tables are now."""
        words = self.words
        for table, address, capacity in (
            (self.operators, layout.OPERATORS, layout.OPERATOR_CAPACITY),
            (self.inputs, layout.INPUTS, layout.INPUT_CAPACITY),
            (self.outputs, layout.OUTPUTS, layout.OUTPUT_CAPACITY),
            (self.edges, layout.EDGES, layout.EDGE_CAPACITY),
            (self.tokens, layout.TOKENS, layout.TOKEN_CAPACITY),
            (self._natives, layout.NATIVES, layout.NATIVE_CAPACITY),
            (self._channels, layout.CHANNELS, layout.CHANNEL_CAPACITY),
        ):
            words[address], words[capacity] = address_of(table), len(table)
        words[layout.DUE], words[layout.DUE_CAPACITY] = address_of(self._due), len(self._due) // 2
        self._count()

    def _count(self) -> None:
        """Tell the kernels how many rows are used."""
        self.view[layout.EDGES_USED] = self._numbers["edges"].used
        self.view[layout.OPERATORS_USED] = self._numbers["operators"].used

    def rows(self, name: str, count: int) -> int:
        """The number of the first of `count` new rows, one after the other, of "operators", "inputs", "outputs" or
        "edges"."""
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
        """Let messages of a channel be delivered to the compiled input `target`; -1: to Python."""
        before, self._channels = self._channels, _put(self._channels, channel, target + 1)
        if self._channels is not before:
            self.link()

    def hand_log(self, log: ChangeLog) -> None:
        """Let kernels write to the log, behind what stands there; `log_count` is then how many changes it has."""
        if log.words is not self._log:
            self._log = log.words
            words = self.words
            words[layout.LOG], words[layout.LOG_CAPACITY] = address_of(log.words), len(log.words) // CHANGE_WORDS
            words[layout.LOG_SCRATCH], words[layout.LOG_SCRATCH_WORDS] = address_of(log.scratch), len(log.scratch)
        self.view[layout.LOG_COUNT] = log.offset // CHANGE_BYTES

    @property
    def log_count(self) -> int:
        """How many changes the log has, when a kernel has written to it."""
        return self.view[layout.LOG_COUNT]

    @staticmethod
    def address_of_state(state: np.ndarray) -> int:
        """Where an operator's words are."""
        return address_of(state)

    def make_due(self, operator: int) -> None:
        """Let a compiled operator run."""
        let_run(self.address, operator)

    def grant(self, operator: int, output: int, time: int) -> int:
        """A row for a token that the operator has, or is known to have: its slot."""
        slot: int = grant(self.address, operator, output, time)
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

    def take_back(self, first: int, count: int) -> list[tuple[int, int]]:
        """Let nothing that comes from these locations, so many from the first one on, wait for Python any more:
        (location, time) of each message. The tokens that stood for them are the caller's."""
        view, taken, before = self.view, list[tuple[int, int]](), 0
        message, view[layout.FOR_PYTHON] = view[layout.FOR_PYTHON], 0
        while message:
            header = array_at(message, layout.COLUMNS)
            onward, edge = int(header[layout.NEXT]), int(header[layout.EDGE_NUMBER])
            header[layout.NEXT] = 0
            if first <= self.edges["origin"][edge] < first + count:
                location = was_handed_on(self.address, edge)
                taken += [(location, time) for time, _ in listed(message, 0)]
            else:
                if before:
                    array_at(before, layout.COLUMNS)[layout.NEXT] = message
                else:
                    view[layout.FOR_PYTHON] = message
                view[layout.LAST_FOR_PYTHON] = before = message
            message = onward
        return taken

    def output(self, operator: int, index: int) -> int:
        """The row of an operator's output."""
        return int(self.operators["first_output"][operator]) + index

    def lacked(self) -> MemoryError:
        """The error for memory that a kernel asked for in vain."""
        return no_memory(self.view[layout.LACKED], self.view[layout.LACKED_EACH])

    def take_table(self, table: int) -> np.ndarray:
        """The rows of a table of three columns that kernels filled (`append`): it is empty then."""
        count = self.view[table + 1]
        if not count:
            return np.zeros((0, 3), np.int64)
        self.view[table + 1] = 0
        return array_at(self.view[table], 3 * count).reshape(count, 3)

    def held_by(self, operator: int) -> list[tuple[int, int, int]]:
        """The tokens of an operator: (slot, output's row, time)."""
        tokens = self.tokens[: int(self.words[layout.TOKENS_USED])]
        rows = np.flatnonzero((tokens["handle"] >= 0) & (tokens["operator"] == operator)).tolist()
        return [(int(tokens["handle"][row]), int(tokens["output"][row]), int(tokens["time"][row])) for row in rows]


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
    state: np.ndarray,
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
    words = world.words
    words[layout.ME], words[layout.WORKERS], words[layout.LIVING] = me, workers, workers
    words[layout.STATE] = address_of(state)
    words[layout.RING], words[layout.RING_WORDS] = address_of(ring), len(ring)
    words[layout.INCOMING], words[layout.OUTGOING] = address_of(incoming), address_of(outgoing)
    words[layout.ARRIVED], words[layout.ARRIVED_WORDS] = address_of(arrived), len(arrived)
    words[layout.ROUTES], words[layout.ROUTES_WORDS] = address_of(routes), len(routes)
    words[layout.COUNTS], words[layout.COUNTS_ROWS] = address_of(counts), len(counts)
    words[layout.PARKED_FLAGS], words[layout.CONGESTED_FLAGS] = parked, congested
    words[layout.BACKLOG_LIMIT_BYTES] = backlog_limit_bytes
    words[layout.ENDING] = ending
    words[layout.RUNNING] = running
    words[layout.OBSERVED] = observed  # bits of CHECKED, NOTED
