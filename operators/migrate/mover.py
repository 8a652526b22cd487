"""M and A: state of bins leaves one worker and arrives at another, at exactly the time from which rows go there.

M hears of each change, and holds the right to send state at its time until the operator has nothing earlier to do; then
it takes the state out and sends it, and gives the right up. A puts in what has come once nothing more can come at that
time, and holds back the frontier that the routing operators look at until then. (Megaphone, section 3.3, where the two
are parts of F and S.)
"""

from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import Any, NamedTuple

import numpy as np
from sortedcontainers import SortedDict

from tokenring.engine import (
    COMPLETE,
    Batch,
    InputPort,
    OperatorContext,
    OutputPort,
    Probe,
    Schema,
    Time,
    Token,
    UsageError,
)
from tokenring.operators.migrate.bins import MOST_BINS, Bins, Leaving
from tokenring.operators.migrate.moves import DUE, Moves, Offered, Table, put_in, require_movable, take_out
from tokenring.operators.migrate.steer import NEVER
from tokenring.operators.migrate.steering import Steering, with_column
from tokenring.operators.migrate.versions import Versions

CHANGES = Schema("bin worker")
"""Of the control stream: from the message's time on, `bin` is with `worker`."""
MOVED = Schema("nothing")
"""Of M's first output, on which nothing is sent."""


class Sent(NamedTuple):
    """One worker's part of a step, from when it heard of it until it had sent its state (monotonic)."""

    time: Time
    bins: int
    heard_ns: int
    sent_ns: int
    rows: int
    bytes: int


class Mover:
    """One operator's keyed state on one worker, as it moves."""

    def __init__(self, name: str, bins: Bins, workers: np.ndarray, peers: int) -> None:
        """workers: int64 (bins,), where each bin is at first."""
        self.name = name
        self.versions = Versions(bins, workers, peers)
        self.steerings: list[Steering] = []
        self.tables: tuple[Table, ...] = ()
        self.pends = False
        """Whether output may be pending by what is put in."""
        self.offered = Offered()
        self.probes: list[Probe] = []
        self.rows_moved = self.bytes_moved = 0
        """What this worker has sent away."""
        self.sent: deque[Sent] = deque(maxlen=MOST_BINS)
        self.woken: Callable[[], None] = lambda: None
        """Runs M in the next step."""
        self.moved: Callable[[], None] = lambda: None
        """Told when bins have moved, as far as this worker is concerned."""
        self._index = -1
        self._listens = self._is_open = False
        self._configured: Time = 0

    @property
    def moves(self) -> Moves:
        """What the operator's constructor offered. GraphError if it did not offer one thing."""
        return self.offered.only(self.name)

    def try_out(self) -> None:
        """GraphError for an operator that could not take its state out when bins move, which would end the run, and
        for one whose state would stay where it is."""
        if self.tables:
            require_movable(self.name, self.offered, self.tables)
        else:
            self.offered.require_none(self.name)

    def has_come_to(self, time: Time) -> bool:
        """Whether the operator, on all workers, has done all that is before `time`."""
        return all([not probe.less_than(time) for probe in self.probes])

    def sending(self, context: OperatorContext, *tokens: Token) -> Callable[..., None]:
        """The constructor of M: one input, the control stream; one output of nothing, then one for each table."""
        for token in tokens:
            token.drop()
        self.woken, self._index = context.activate, context.worker_index
        for probe in self.probes:
            probe.on_advance(context.activate)
        pending: SortedDict = SortedDict()  # time -> when it was heard of; tokens, one a table

        def logic(changes: InputPort, *outputs: OutputPort) -> None:
            for reference, batch in changes:
                time = reference.time
                moved = zip(batch["bin"].tolist(), batch["worker"].tolist(), strict=True)
                self.versions.add(time, moved, min([steering.state.known for steering in self.steerings]))
                if time not in pending:
                    pending[time] = monotonic_ns(), [reference.retain(output) for output in range(len(outputs))]
            self._configured = changes.frontier
            self._configure()
            while pending:
                time = pending.peekitem(0)[0]
                if changes.frontier <= time:
                    break  # more may change at that time
                if not self.has_come_to(time):
                    self._wait_for(time)
                    break
                self._listen(False)
                heard_ns, tokens = pending.popitem(0)[1]
                rows, size = self.rows_moved, self.bytes_moved
                bins = self._send(tokens, outputs)
                rows, size = self.rows_moved - rows, self.bytes_moved - size
                self.sent.append(Sent(time, bins, heard_ns, monotonic_ns(), rows, size))
                self.versions.begin_next()
                self.moved()
                for token in tokens:
                    token.drop()

        return logic

    def open(self, is_so: bool) -> None:
        """Let rows of all times go where bins are now, or no more, while none moves and no row comes: they are put to
        state, which moves with its bin."""
        if self._is_open != is_so:
            self._is_open = is_so
            self._configure()
            for steering in self.steerings:
                steering.woken()

    def _configure(self) -> None:
        self.versions.state.configured = COMPLETE if self._is_open else self._configured

    def _wait_for(self, time: Time) -> None:
        """Run M again when all rows before `time` have passed F; from then on, whenever the operator is further."""
        passed = True
        for steering in self.steerings:
            if steering.state.reached < time:
                steering.state.ask_moved = time
                passed = False
        self._listen(passed)

    def _listen(self, is_so: bool) -> None:
        """Run M whenever the operator is further, or no more."""
        if self._listens != is_so:
            self._listens = is_so
            for probe in self.probes:
                probe.listen(is_so)

    def _send(self, tokens: Sequence[Token], outputs: Sequence[OutputPort]) -> int:
        """Send what leaves; how many bins do."""
        versions = self.versions
        leave = (versions.now == self._index) & (versions.following != self._index)
        bins = int(leave.sum())
        if not self.tables or not bins:
            return bins
        taken = take_out(self.name, self.moves, Leaving(versions.bins, leave), self.tables)
        keys = versions.keys_of(versions.following)
        for table, batch, token, output in zip(self.tables, taken, tokens[1:], outputs[1:], strict=True):
            if batch.rows:
                numbers = versions.bins.of(batch, table.key)
                if stayed := batch.rows - int(leave[numbers].sum()):
                    raise UsageError(
                        f"operator {self.name!r}: take_out returned {stayed:,} rows of keys that did not leave, of the "
                        f"table of {table.schema}; forget and return those for which leaving.words or leaving.rows "
                        f"says so"
                    )
                output.give(token, with_column(batch, output.schema, keys[numbers]))
                self.rows_moved += batch.rows
                self.bytes_moved += sum([column.nbytes for column in batch.columns])
        return bins

    def arriving(self, context: OperatorContext, ready: Token, due: Token) -> Callable[..., None]:
        """The constructor of A: inputs, that of nothing and one for each table; outputs, a frontier and what is due."""
        ready.drop()
        due.drop()
        came: SortedDict = SortedDict()  # time -> tokens of both outputs, batches by table

        def logic(*ports: Any) -> None:
            *inputs, _, due_output = ports
            for number, port in enumerate(inputs[1:]):
                for reference, batch in port:
                    time = reference.time
                    if time not in came:
                        came[time] = (reference.retain(0), reference.retain(1)), [[] for _ in self.tables]
                    came[time][1][number].append(batch)
            frontier = min([port.frontier for port in inputs])
            while came and came.peekitem(0)[0] < frontier:
                (held, right), batches = came.popitem(0)[1]
                made = put_in(self.name, self.moves, [
                    Batch.concatenate(some) if some else _empty(table.schema)
                    for table, some in zip(self.tables, batches, strict=True)
                ], self.pends)  # fmt: skip
                if made < COMPLETE:
                    due_output.give(right, Batch(DUE, {"due": np.array([made], np.int64)}))
                held.drop()
                right.drop()

        return logic

    def asked(self) -> None:
        """F came to a time that M waits for: F asks no more, M looks."""
        for steering in self.steerings:
            state = steering.state
            if state.ask_moved != NEVER and state.reached >= state.ask_moved:
                state.ask_moved = NEVER
                self.woken()


def _empty(schema: Schema) -> Batch:
    return Batch(schema, {name: [] for name in schema.names})
