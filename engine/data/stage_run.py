"""Stages at run time: what lies between an output and its channels, compiled into runs of direct calls."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from tokenring.engine.columns import Batch, Schema
from tokenring.engine.data.burst import Burst
from tokenring.engine.data.channel import Edge
from tokenring.engine.data.raised import in_words
from tokenring.engine.data.sifted import Sifted
from tokenring.engine.errors import GroupStopped, OperatorError, SchemaError, TokenRingError
from tokenring.engine.graph import Rejects, Source, Stage
from tokenring.shm.errors import BrokenInvariant

Step = tuple[Any, Schema, str]
"""A function, the schema of what it returns, and the operator's name, for messages."""


class StageRun:
    """Stages of which each has the next as its only reader, and what reads the last. To an output it is a channel."""

    __slots__ = ("_dataflow", "_steps", "_worker", "channels", "children", "stages")

    def __init__(self, worker: int, dataflow: int) -> None:
        """dataflow: its number, for errors."""
        self._worker = worker
        self._dataflow = dataflow
        self._steps: tuple[Step, ...] = ()
        self.stages: list[Stage] = []  # until they are compiled
        self.channels: list[Edge] = []
        self.children: list[StageRun] = []

    def compile(self) -> None:
        """Turn the stages into steps; neighbours that can become one function do."""
        steps: list[Step] = []
        for (fused, rejects), group in groupby(self.stages, _made_by):
            stages = list(group)
            for together in [stages] if fused else [[stage] for stage in stages]:
                last, label = together[-1], _range(together)
                function: Any = fused([stage.function for stage in together]) if fused else last.function
                if rejects is not None:
                    function = Sifted(function, rejects, last, label, together[0].before)
                steps.append((function, last.schema, label))
        self._steps = tuple(steps)
        self.stages = []

    @property
    def first(self) -> Step:
        """Its first step."""
        return self._steps[0]

    def behind_first(self) -> list[Edge]:
        """What the first step's rows go to: the other steps, or who reads the last one's."""
        if len(self._steps) == 1:
            return [*self.channels, *self.children]
        rest = StageRun(self._worker, self._dataflow)
        rest._steps, rest.channels, rest.children = self._steps[1:], self.channels, self.children
        return [rest]

    def push(self, time: Any, batch: Batch) -> None:
        """Run the stages on a batch and hand what is left to all that read it. No recursion: trees may be deep."""
        pending = [(self, batch)]
        while pending:
            run, rows = pending.pop()
            left = run._through(time, rows)
            if left is not None:
                for channel in run.channels:
                    channel.push(time, left)
                for child in reversed(run.children):
                    pending.append((child, left))

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Run the stages on one message of a burst after the other: a stage may leave rows out, and messages with them.
        """
        for time, rows in burst.messages(batch):
            self.push(time, rows)

    def _through(self, time: Any, batch: Batch) -> Batch | None:
        for function, schema, label in self._steps:
            try:
                result = function(batch)
                if result is None:
                    return None
                if result.__class__ is not Batch or result.schema is not schema:
                    _require(result, schema)
            except (GroupStopped, BrokenInvariant, KeyboardInterrupt):
                raise
            except TokenRingError as error:
                said = f"operator {label!r} on worker {self._worker}: {in_words(error)}"
                raise OperatorError(said).of(self._dataflow) from error
            except BaseException as error:
                raise OperatorError(
                    f"operator {label!r} raised on worker {self._worker} (rows at time {time}): "
                    f"{in_words(error, 'its function is called with a batch')}"
                ).of(self._dataflow) from error
            if not result.rows:
                return None
            batch = result
        return batch


def _made_by(stage: Stage) -> tuple[Any, Rejects | None]:
    """What makes one function of neighbours (None: it is a function already), and who takes what they fail at."""
    return getattr(stage.function, "fused", None), stage.rejects


def _range(stages: Sequence[Stage]) -> str:
    first, last = stages[0].label, stages[-1].label
    return first if len(stages) == 1 else f"{first} ... {last} ({len(stages)} operators in one)"


def _require(result: object, schema: Schema) -> None:
    """Raise SchemaError unless `result` is a batch of this schema."""
    if not isinstance(result, Batch):
        raise SchemaError(f"the function returned {type(result).__name__}; it must return a Batch, or None")
    if result.schema != schema:
        raise SchemaError(f"the function returned {result.schema!r}, but was declared with {schema!r}")


def compile_stages(
    stages: Iterable[Stage], worker: int, dataflow: int
) -> tuple[list[tuple[Source, StageRun]], list[StageRun]]:
    """Make the runs of a graph's stages, given in the order of declaration, which is that of their numbers. dataflow:
    its number.

    Returns those that read outputs themselves; and for each stage the run at whose end stands what it sends, if
    something else reads that.
    """
    runs: list[StageRun] = []
    roots: list[tuple[Source, StageRun]] = []
    run_of: list[StageRun] = []
    for stage in stages:
        parent = stage.parent
        before = None if parent is None else run_of[parent.number]
        if before is not None and parent is not None and parent.followers == 1:
            run = before
        else:
            run = StageRun(worker, dataflow)
            runs.append(run)
            if before is None:
                roots.append((stage.origin, run))
            else:
                before.children.append(run)
        run.stages.append(stage)
        run_of.append(run)
    for run in runs:
        run.compile()
    return roots, run_of
