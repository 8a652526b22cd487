"""One schedule: a random program on a simulated group, stepped in a random, adversarial order, checked after every
action."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from unittest.mock import patch

from tests.engine.safety.behaviour import Behaviour, batch_of, chain
from tests.engine.safety.compiled import ARRIVED, AT, FINISHED, HELD, MOVED, OPEN, SENT, Note, new_journal
from tests.engine.safety.declare import declare
from tests.engine.safety.oracle import Chain, Oracle, Violation, is_past
from tests.engine.safety.paths import advances
from tests.engine.safety.plan import Port, When, random_plan
from tokenring.engine import Batch, BrokenInvariant, Config, InputHandle, InputPort, Probe, Worker
from tokenring.engine.worker.config import EXHAUSTIVE
from tokenring.engine.worker.simulation import SimulatedGroup

_ACTIONS = 250
_ROWS = 1500
_MOST_ACTIONS_TO_END = 60_000


class Run:
    """A schedule under way; everything follows from its seed."""

    def __init__(self, seed: int, sabotage: Callable[[Run], None] | None = None) -> None:
        self.rng = Random(seed)
        self.mid_call: Callable[[int], None] | None = None  # what a sabotaged engine does in the middle of a call
        self.plan = random_plan(self.rng, nested=seed % 2 == 1)
        while not advances(self.plan):
            self.plan = random_plan(self.rng, nested=True)
        self.group = SimulatedGroup(
            Config(
                workers=self.rng.randint(1, 5),
                ring_records=self.rng.choice([64, 64, 256]),
                queue_bytes=self.rng.choice([4096, 4096, 1 << 16]),
                pin=False,
                checks=EXHAUSTIVE if seed % 8 < 2 else "",
            )
        )
        self.oracle = Oracle(self.plan, len(self.group.workers))
        self.draining = False
        self.journal = new_journal()
        self.behaviours: list[Behaviour] = []
        self.inputs: list[tuple[int, int, InputHandle]] = []  # worker, operator, handle
        self.probes: list[list[Probe]] = []
        self._ports: list[dict[Port, InputPort]] = []  # by worker
        self.workers = len(self.group.workers)
        self.compiled_actions = self.compiled_in_loops = 0
        self.checks = self.tight = self.lost = 0
        self._rows = self._rows_left = _ROWS if seed % 2 == 0 else _ROWS // 4  # what goes round is sent again and again
        self._next_row = 1
        self._stepping: set[int] = set()
        self._seen: dict[tuple[int, Port], Chain] = {}
        for port in self.plan.origins():  # common knowledge before anybody runs
            self.oracle.change(port, (0,) * self.plan.operators[port[1]].depth, len(self.group.workers))
        for worker in self.group.workers:
            worker.lost.report = self._report_lost  # type: ignore[method-assign]
            with self.group.building(worker), worker.dataflow("random") as scope:
                streams, handles = declare(scope, self.plan, self._behave(worker))
                self.inputs += [(worker.index, number, handle) for number, handle in handles]
                self.probes.append([scope.probe(streams[port]) for port in self.plan.probes])
            self._ports.append(
                {("in", n, port.index): port for n, op in enumerate(worker.inspection.operators) for port in op.inputs}
            )
        if sabotage is not None:
            sabotage(self)

    def _report_lost(self, *_: object) -> None:
        self.lost += 1

    def _behave(self, worker: Worker) -> Callable[[int], Behaviour]:
        def behave(number: int) -> Behaviour:
            rng = Random(self.rng.random())
            self.behaviours.append(Behaviour(self, worker.index, number, self.plan.operators[number], rng))
            return self.behaviours[-1]

        return behave

    # What behaviours ask for

    def fresh_batch(self, rng: Random, size: int) -> Batch:
        """New rows with random keys."""
        first = self._next_row
        self._next_row += size
        return batch_of([rng.randrange(-20, 20) for _ in range(size)], list(range(first, first + size)))

    def spend(self, rows: int) -> bool:
        """Whether so many rows may still be sent: a run must end."""
        if self.draining and self._rows_left <= 0:
            return False
        self._rows_left -= rows
        return self._rows_left > -self._rows

    def perhaps_let_others_step(self, rng: Random, worker: int) -> None:
        """In the middle of an operator's call on `worker`, let another one run: it is another process, after all."""
        if self.mid_call is not None and rng.random() < 0.3:
            self.mid_call(worker)
            self.check()
        if rng.random() < 0.15 and len(self._stepping) < 3:
            others = [worker for worker in self.group.workers if worker.index not in self._stepping]
            if others:
                self.step(rng.choice(others))

    def read_journal(self) -> None:
        """Tell the oracle what compiled operators did."""
        count, oracle = self.journal.count, self.oracle
        self.journal.count = 0
        self.compiled_actions += count
        notes = self.journal.notes[: Note.size * count].reshape(count, Note.size).tolist()
        before: When = ()
        frontier: list[When] = []
        for kind, number, worker, port, row, key, *coordinates in notes:
            target: Port = ("in", number, port)
            output: Port = ("out", number, port)
            depth = self.plan.operators[number].depth
            time = tuple(coordinates[:depth])
            self.compiled_in_loops += depth > 1
            if kind == OPEN:
                frontier.append(time)
            elif kind == ARRIVED:
                oracle.arrived(target, [row], [key], time, worker, tuple(frontier))
                frontier = []
            elif kind == SENT:
                oracle.sent(output, [row], time)
            elif kind == FINISHED:
                oracle.finished(target, 1, time)
            elif kind == HELD:
                oracle.change(output, time, 1)
            elif kind == AT:
                before = time
            elif kind == MOVED:
                oracle.change(output, time, 1)
                oracle.change(output, before, -1)
            else:
                oracle.change(output, time, -1)

    # Driving

    def step(self, worker: Worker) -> None:
        """One step of one worker, then the oracle's look at everybody."""
        self._stepping.add(worker.index)
        worker.world.state.exchange_every_ns = self.rng.choice([0, 1 << 62])  # within its rounds always, or never
        worker.step()
        self._stepping.discard(worker.index)
        self.check(worker)

    def _act(self, worker: Worker) -> None:
        choice = self.rng.random()
        mine = [
            (number, handle) for index, number, handle in self.inputs if index == worker.index and not handle.closed
        ]
        if choice < 0.75:
            self.step(worker)
        elif choice < 0.85 or not mine:
            worker.flush()
        else:
            self._feed(*self.rng.choice(mine))
        self.check(worker)

    def _feed(self, number: int, handle: InputHandle) -> None:
        port: Port = ("out", number, 0)
        choice, now = self.rng.random(), handle.time
        if choice < 0.5:
            batch = self.fresh_batch(self.rng, self.rng.choice([1, 5, 100]))
            if self.spend(batch.rows):
                self.oracle.sent(port, batch["row"].tolist(), (now,))
                handle.send(batch)
        elif choice < 0.95:
            later = now + self.rng.randint(0, 4)
            self.oracle.change(port, (later,), 1)
            self.oracle.change(port, (now,), -1)
            handle.advance_to(later)
        else:
            self.oracle.change(port, (now,), -1)
            handle.close()

    def execute(self, most_actions_to_end: int) -> None:
        """The whole schedule. Some workers are starved for a while, so that rings and queues fill."""
        workers = self.group.workers
        weights = [1.0] * len(workers)
        for action in range(_ACTIONS):
            if action % 40 == 0:
                weights = [self.rng.choice([0.02, 0.3, 1.0]) for _ in workers]
            self._act(self.rng.choices(workers, weights)[0])
        self.draining = True
        self.journal.draining = 1
        for index, number, handle in self.inputs:
            if not handle.closed:
                self.oracle.change(("out", number, 0), (handle.time,), -1)
                handle.close()
            self.step(workers[index])
        for worker in workers:
            for operator in worker.inspection.operators:
                if operator.inputs or operator.outputs:
                    worker.schedule.activate(operator)
        for _ in range(most_actions_to_end):
            if all(worker.complete for worker in workers):
                break
            self.step(self.rng.choice(workers))
        self._check_end()

    # Checking

    def check(self, who: Worker | None = None) -> None:
        """No frontier anywhere is past what can still happen, none moved back; exact where every change is known to
        all. Only the frontiers of `who` can have moved, if that is given."""
        self.read_journal()
        self.checks += 1
        bounds = self.oracle.bounds()
        exact = not self._stepping and all(
            worker.log.offset == 0 and worker.progress.nothing_new and not worker.plane.waiting
            for worker in self.group.workers
        )
        self.tight += exact
        for worker in self.group.workers if exact or who is None else [who]:
            for port, frontier in self._frontiers(worker).items():
                before = self._seen.get((worker.index, port))
                if frontier == before and frontier == bounds[port]:
                    continue
                early = next((time for time in bounds[port] if is_past(frontier, time)), None)
                if early is not None:
                    raise Violation(
                        f"worker {worker.index}: frontier {frontier} at {port}, but {early} can still come there"
                    )
                if before is not None and any(is_past(before, time) for time in frontier):
                    raise Violation(f"worker {worker.index}: frontier at {port} moved back from {before} to {frontier}")
                if exact and frontier != bounds[port]:
                    raise Violation(
                        f"worker {worker.index}: frontier {frontier} at {port} lags though all is known: {bounds[port]}"
                    )
                self._seen[worker.index, port] = frontier

    def _frontiers(self, worker: Worker) -> dict[Port, Chain]:
        # The dataflow is finished on this worker, which says that nothing can come.
        forgotten = not worker.dataflows.operators
        found = {at: () if forgotten else chain(port.frontier) for at, port in self._ports[worker.index].items()}
        for port, probe in zip(self.plan.probes, self.probes[worker.index], strict=True):
            found[port] = chain(probe.frontier)
        return found

    def _check_end(self) -> None:
        if not all(worker.complete for worker in self.group.workers):
            asked = [worker.inspection for worker in self.group.workers]
            stuck = "\n".join(f"worker {one.index}:\n{one.describe_frontiers()}" for one in asked)
            raise Violation(f"not complete in time\n{stuck}")
        for worker in self.group.workers:
            worker.tracker.entries.check()
            for location in range(worker.tracker.tables.locations_used):
                if left := worker.tracker.entries.at(location):
                    raise Violation(f"worker {worker.index}: counts left at location {location}: {left}")
            if any(self._frontiers(worker).values()):
                raise Violation(f"worker {worker.index}: complete, but a frontier is not: {self._frontiers(worker)}")
        if +self.oracle.rows:
            raise Violation(f"rows were never delivered: {list((+self.oracle.rows).items())[:5]}")


def run_schedule(
    seed: int,
    sabotage: Callable[[Run], None] | None = None,
    most_actions_to_end: int = _MOST_ACTIONS_TO_END,
) -> Run:
    """Run the schedule of `seed` to its end; raises Violation (or the engine's own alarm, as a Violation).

    Odd seeds have loops; of the others every second keeps all frontiers, along the edges. Two of eight run with
    exhaustive checks, one of each kind.
    `sabotage` may break the engine first, to see that it is noticed.
    """
    few_words = 0 if seed % 4 == 0 else 1 << 15
    with patch("tokenring.engine.progress.tracker._FEW_WORDS", few_words):
        run = Run(seed, sabotage)
    try:
        # A step's pauses depend on the clock (see `step`) and on a budget: both become part of the schedule.
        with patch.multiple("tokenring.engine.worker.turns", _OPERATORS_A_STEP=run.rng.choice([1, 2, 5, 64])):
            run.execute(most_actions_to_end)
    except BrokenInvariant as error:
        raise Violation(f"the engine's own check: {error}") from error
    finally:
        for behaviour in run.behaviours:
            for held in behaviour.held:
                if held.token.live:
                    held.token._pins = 0
                    held.token.drop()
        run.group.close()
    return run
