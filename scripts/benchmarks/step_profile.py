"""Where a worker's time goes in a real run: counters around the engine's own parts, put there for a measuring run only.

A part's own time leaves out the parts that it calls; its whole time has them in. What a counter itself costs is
measured first and taken off both, at the counted part and at the parts around it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic_ns
from typing import Any

import orjson

from tokenring.engine import Probe, Worker
from tokenring.engine.data.plane import DataPlane
from tokenring.engine.data.remote_channel import RemoteChannel
from tokenring.engine.progress.exchange import ProgressChannel
from tokenring.engine.running.operator import RunningOperator
from tokenring.nexmark.run.runner import Plan, run_query

PARTS: tuple[tuple[type, str, str], ...] = (
    (Worker, "step", "step"),
    (RunningOperator, "run", "operator"),
    (DataPlane, "end_round", "give back"),
    (DataPlane, "deliver", "receive"),
    (DataPlane, "commit", "show messages"),
    (DataPlane, "retry", "send what waited"),
    (RemoteChannel, "push", "exchange rows"),
    (ProgressChannel, "exchange", "exchange progress"),
    (Probe, "frontier_moved", "probe's listeners"),
)


class Counters:
    """Per part: calls, own time, whole time in ns. One for each process, since workers are forked with it."""

    def __init__(self, inside_ns: float = 0.0, around_ns: float = 0.0) -> None:
        self.inside_ns = inside_ns  # what a counter adds to its own part's time
        self.around_ns = around_ns  # and besides to the part around it
        self.parts: dict[str, list[float]] = {}
        self._nested_ns = 0.0  # time, counters included, of the counted calls inside the one under way
        self._counters_ns = 0.0  # what counters have cost so far

    def sums(self, name: str) -> list[float]:
        """A part's calls, own time and whole time."""
        return self.parts.setdefault(name, [0, 0.0, 0.0])

    def clear(self) -> None:
        """Forget what was counted."""
        for sums in self.parts.values():
            sums[:] = [0, 0.0, 0.0]

    def around(self, original: Callable[..., Any], part: str) -> Callable[..., Any]:
        """The method with a counter around it. An idle step is a part of its own, and so is each operator."""
        inside_ns, around_ns = self.inside_ns, self.around_ns
        every_ns = inside_ns + around_ns
        plain, idle = self.sums(part), self.sums(f"idle {part}") if part == "step" else None
        by_operator: dict[Any, list[float]] | None = {} if part == "operator" else None
        counters = self

        def counted(this: Any, *arguments: Any) -> Any:
            outer_ns, cost_ns = counters._nested_ns, counters._counters_ns
            counters._nested_ns = 0.0
            start_ns = monotonic_ns()
            result = original(this, *arguments)
            total_ns = monotonic_ns() - start_ns
            sums = plain
            if by_operator is not None:
                if this not in by_operator:
                    by_operator[this] = counters.sums(f"operator {this.name}")
                sums = by_operator[this]
            elif idle is not None and not result:
                sums = idle
            sums[0] += 1
            sums[1] += total_ns - counters._nested_ns - inside_ns
            sums[2] += total_ns - (counters._counters_ns - cost_ns) - inside_ns
            counters._nested_ns = outer_ns + total_ns + around_ns
            counters._counters_ns += every_ns
            return result

        return counted


def calibrated() -> Counters:
    """Counters that know what they cost: the least of several tries, since anything else is somebody else's time."""
    calls, inside_ns, around_ns = 20_000, 1e9, 1e9
    for _ in range(5):
        trial = Counters()

        class Thing:
            name = "thing"

            def nothing(self) -> bool:
                return True

        thing, counted = Thing(), trial.around(Thing.nothing, "nothing")
        start_ns = monotonic_ns()
        for _ in range(calls):
            thing.nothing()
        plain_ns = (monotonic_ns() - start_ns) / calls
        start_ns = monotonic_ns()
        for _ in range(calls):
            counted(thing)
        whole_ns = (monotonic_ns() - start_ns) / calls
        measured_ns = trial.parts["nothing"][1] / calls
        inside_ns = min(inside_ns, max(0.0, measured_ns - plain_ns))
        around_ns = min(around_ns, max(0.0, whole_ns - measured_ns))
    return Counters(inside_ns, around_ns)


_CLOCK_NS = 2 * 22
"""What taking the time of a compiled operator's run costs: two looks at the clock."""


def add_compiled(counted: dict[str, list[float]], spent: dict[str, tuple[int, int]]) -> None:
    """Add what the inner loop timed itself, and take it off the steps around it."""
    steps = counted.get("step") or counted.get("idle step")
    for name, (times, spent_ns) in spent.items():
        if times == 0:
            continue
        own_ns = max(spent_ns - times * _CLOCK_NS / 2, 0.0)
        counted["exchange progress" if name == "exchange" else f"operator {name}"] = [times, own_ns, own_ns]
        if steps is not None:
            steps[1] -= spent_ns + times * _CLOCK_NS / 2


@contextmanager
def counting(folder: Path) -> Iterator[Counters]:
    """Within the block, workers that are started write their counters to `folder`."""
    counters = calibrated()
    originals = [(owner, method, owner.__dict__[method]) for owner, method, _ in PARTS]
    run = Worker.run

    def run_and_write(worker: Worker) -> None:
        counters.clear()
        worker.compiled.time_runs()
        run(worker)
        counted = {name: sums for name, sums in counters.parts.items() if sums[0]}
        if counted:  # nothing when the launcher runs the worker once more, after all is done
            add_compiled(counted, worker.compiled.spent())
            (folder / f"worker-{worker.index}.json").write_bytes(orjson.dumps(counted))

    for owner, method, part in PARTS:
        setattr(owner, method, counters.around(owner.__dict__[method], part))
    Worker.run = run_and_write  # type: ignore[method-assign, assignment]
    try:
        yield counters
    finally:
        Worker.run = run  # type: ignore[method-assign]
        for owner, method, original in originals:
            setattr(owner, method, original)


def profile_query(plan: Plan) -> dict[str, Any]:
    """Run the plan plain, and once more counted: all workers' parts together, times a call, shares of time."""
    plain = run_query(plan)
    with tempfile.TemporaryDirectory(prefix="tokenring-steps-") as scratch:
        with counting(Path(scratch)) as counters:
            run_query(plan)
        workers = [orjson.loads(path.read_bytes()) for path in sorted(Path(scratch).glob("worker-*.json"))]
    sums: dict[str, list[float]] = {}
    for worker in workers:
        for name, figures in worker.items():
            sums[name] = [
                before + figure for before, figure in zip(sums.get(name, [0, 0.0, 0.0]), figures, strict=True)
            ]
    total_ns = sum(max(0.0, own_ns) for _, own_ns, _ in sums.values())
    parts = [
        {
            "part": name,
            "calls": int(calls),
            "own_us": max(0.0, own_ns) / calls / 1e3,
            "whole_us": max(0.0, whole_ns) / calls / 1e3,
            "share": max(0.0, own_ns) / total_ns,
        }
        for name, (calls, own_ns, whole_ns) in sorted(sums.items(), key=lambda item: -item[1][1])
    ]
    return {
        "query": plan.query,
        "workers": plan.workers,
        "rate": plan.rate,
        "events": plain["events"],
        "events_per_second": plain["events_per_second"],
        "latency_ms": plain["latency_ms"],
        "dnf": plain["dnf"],
        "counter_ns": counters.inside_ns + counters.around_ns,
        "parts": parts,
    }
