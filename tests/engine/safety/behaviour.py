"""What a random operator does: takes messages or leaves them, sends now or later, holds, downgrades, clones, drops
and loses tokens."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.engine.safety.compiled import compiled
from tests.engine.safety.oracle import Chain
from tests.engine.safety.plan import OperatorPlan, Port, When
from tokenring.engine import COMPLETE, Batch, InputPort, OperatorContext, OutputPort, Schema, Token, TokenRef
from tokenring.engine.compiled import Compiled

if TYPE_CHECKING:
    from tests.engine.safety.schedule import Run

SCHEMA = Schema(key="int64", row="int64", half="float64", triple="uint64")


def chain(frontier: Any) -> Chain:
    """A frontier as the tests have it, whatever the scope."""
    if isinstance(frontier, int):
        return () if frontier == COMPLETE else ((frontier,),)
    return tuple(sorted(frontier))


def batch_of(keys: list[int], rows: list[int]) -> Batch:
    """Rows whose last two columns can be checked against the second."""
    ids = np.array(rows, np.int64)
    return Batch(
        SCHEMA,
        {"key": np.array(keys, np.int64), "row": ids, "half": ids / 2, "triple": ids.astype(np.uint64) * np.uint64(3)},
    )


def to_engine(time: When) -> Any:
    """A time as the engine has it: an integer in the root scope."""
    return time if len(time) > 1 else time[0]


def to_tuple(time: Any) -> When:
    """A time as the tests have it."""
    return time if isinstance(time, tuple) else (time,)


def later(rng: Random, time: When, steps: list[int]) -> When:
    """The time, or one that is later in some coordinate."""
    moved = list(time)
    moved[rng.randrange(len(moved))] += rng.choice(steps)
    return tuple(moved)


@dataclass
class Held:
    """A token, with the output and time that the test believes it has, and rows that wait to be sent with it."""

    token: Token
    output: int
    time: When
    batch: Batch | None = None


class Behaviour:
    """One operator's random conduct on one worker."""

    def __init__(self, run: Run, worker: int, number: int, plan: OperatorPlan, rng: Random) -> None:
        self.run, self.worker, self.number, self.plan, self.rng = run, worker, number, plan, rng
        self.held: list[Held] = []

    def construct(self, context: OperatorContext, *tokens: Token) -> Any:
        """The operator's constructor. The initial tokens are in the oracle already."""
        self.context = context
        self.held = [Held(token, output, to_tuple(token.time)) for output, token in enumerate(tokens)]
        assert all(held.time == (0,) * self.plan.depth for held in self.held)
        return self.logic

    def compiled(self, _: OperatorContext) -> Compiled:
        """The constructor of a compiled operator, which behaves by itself."""
        seed, inputs = self.rng.randrange(1 << 30), len(self.plan.inputs)
        return compiled(self.run.journal, seed, self.worker, self.number, inputs, self.plan.outputs, self.plan.depth)

    def logic(self, *ports: Any) -> None:
        """One call."""
        inputs: tuple[InputPort, ...] = ports[: len(self.plan.inputs)]
        outputs: tuple[OutputPort, ...] = ports[len(self.plan.inputs) :]
        left = False
        for port in inputs:
            if self.rng.random() < 0.1:
                left = True
                continue
            for reference, batch in port.by_time() if self.rng.random() < 0.2 else port:
                self._take(port, outputs, reference, batch)
                if self.rng.random() < 0.1:
                    left = True
                    break
        for held in list(self.held):
            self._act(held, outputs)
        if left or (self.held and (self.run.draining or self.rng.random() < 0.6)):
            self.context.activate()

    def _take(self, port: InputPort, outputs: tuple[OutputPort, ...], reference: TokenRef, batch: Batch) -> None:
        target: Port = ("in", self.number, port.index)
        self.run.read_journal()
        time, rows = to_tuple(reference.time), batch["row"].tolist()
        assert batch["half"].tolist() == [row / 2 for row in rows] and batch["triple"].tolist() == [
            row * 3 for row in rows
        ]
        self.run.oracle.arrived(target, rows, batch["key"].tolist(), time, self.worker, chain(port.frontier))
        for output, out in enumerate(outputs):
            delay = self.plan.summaries[port.index, output]
            if delay is None:
                continue
            choice = self.rng.random()
            least = tuple(at + more for at, more in zip(time, delay, strict=True))
            if choice < 0.35:
                forwarded = batch if self.rng.random() < 0.5 else self._fresh()
                self._send(out, output, reference, forwarded, later(self.rng, least, [0, 0, 1, 4]))
            elif choice < 0.7:
                token = reference.retain(output)
                self._hold(Held(token, output, least, batch.copy() if self.rng.random() < 0.5 else None))
            self.run.perhaps_let_others_step(self.rng, self.worker)
        self.run.oracle.finished(target, len(rows), time)

    def _act(self, held: Held, outputs: tuple[OutputPort, ...]) -> None:
        choice = self.rng.random()
        out = outputs[held.output]
        if held.batch is not None and self.rng.random() < 0.5:
            batch, held.batch = held.batch, None
            self._send(out, held.output, held.token, batch, held.time)
        if self.run.draining:
            choice = 0.5 + choice / 2
        if choice < 0.06 and len(held.time) == 1:
            self._send_burst(out, held)
        elif choice < 0.25:
            with out.session(held.token) as session:
                for _ in range(self.rng.randint(1, 3)):
                    fresh, time = self._fresh(), later(self.rng, held.time, [0, 0, 2])
                    if self._count(held.output, fresh, time):
                        session.give(fresh, to_engine(time))
                    self.run.perhaps_let_others_step(self.rng, self.worker)
        elif choice < 0.35 and len(self.held) < 40:
            self._hold(Held(held.token.clone(), held.output, held.time))
        elif choice < 0.75:
            time = later(self.rng, held.time, [0, 1, 1, 2, 5])
            held.token.downgrade(to_engine(time))
            self._moved(held, time)
        elif choice < 0.95:
            if held.batch is None:
                held.token.drop()
                self._gone(held)
        elif held.batch is None:
            self._gone(held)  # lost to the garbage collector with the last reference, which is this test's
        self.run.perhaps_let_others_step(self.rng, self.worker)

    def _fresh(self) -> Batch:
        size = self.rng.choice([1, 1, 2, 3, 3, 60, 300]) if self.rng.random() < 0.3 else 1
        return self.run.fresh_batch(self.rng, size)

    def _count(self, output: int, batch: Batch, time: When) -> bool:
        if not self.run.spend(batch.rows):
            return False
        self.run.oracle.sent(("out", self.number, output), batch["row"].tolist(), time)
        return True

    def _send(self, out: OutputPort, output: int, right: Token | TokenRef, batch: Batch, time: When) -> None:
        if self._count(output, batch, time):
            out.give(right, batch, to_engine(time))

    def _send_burst(self, out: OutputPort, held: Held) -> None:
        """Many messages in one call: a time for each row, of which the oracle is told by itself."""
        batch = self._fresh()
        times = sorted(self.rng.choice([0, 0, 1, 2, 7]) + held.time[0] for _ in range(batch.rows))
        if self.run.spend(batch.rows):
            for row, time in zip(batch["row"].tolist(), times, strict=True):
                self.run.oracle.sent(("out", self.number, held.output), [row], (time,))
            out.give_each(held.token, batch, np.array(times, np.int64))

    def _hold(self, held: Held) -> None:
        self.held.append(held)
        self.run.oracle.change(("out", self.number, held.output), held.time, 1)

    def _moved(self, held: Held, time: When) -> None:
        # The engine may publish the move only after this call, so until then it is merely more than must be assumed
        # live.
        self.run.oracle.change(("out", self.number, held.output), time, 1)
        self.run.oracle.change(("out", self.number, held.output), held.time, -1)
        held.time = time

    def _gone(self, held: Held) -> None:
        self.held.remove(held)
        self.run.oracle.change(("out", self.number, held.output), held.time, -1)
