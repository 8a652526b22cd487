"""What leaves collections under recovery: up to where it had left when a snapshot was taken, so that what is made again
of the rows before is not handed out twice, and views are read from where they could be.

All that is handed out is of finished times, and everything that was finished has been handed out: whatever stands still
between two steps, it is the frontier behind it that tells the two apart.
"""

from collections.abc import Callable
from typing import Any, Protocol

from tokenring.engine import COMPLETE, Batch, Notify, OperatorContext, Probe, Schema, Stream, Time
from tokenring.engine.compiled import Compiled
from tokenring.operators.collections.compiled import telling
from tokenring.operators.migrate import Table, is_by_times, saving_of, state_moves

_UNTIL, SINCE = Schema("until"), Schema("since")


class Exported(Protocol):
    """A view."""

    @property
    def since(self) -> Time:
        """The earliest time that can be read."""


class HandedOut:
    """What a dataflow hands out of collections, on this worker."""

    def __init__(self) -> None:
        self.probes: list[Probe] = []
        """Of streams of changes."""
        self.views: list[Exported] = []

    @property
    def uppers(self) -> list[Time]:
        """Before which times each has handed out all."""
        return [*[probe.frontier for probe in self.probes], *[view.since + 1 for view in self.views]]


def told_apart_no_more(scope: Any, upper: Time) -> Time:
    """Times up to here nobody tells apart any more, of rows of a dataflow that were finished before `upper`: whatever
    comes of them, anywhere, was handed out, also by dataflows that import them."""
    all_handed_out = [one.dataflow.kept(HandedOut) for one in saving_of(scope).of_worker.dataflows]
    least = min([upper, *[each for one in all_handed_out for each in one.uppers]])
    return 0 if least == COMPLETE else max(least - 1, 0)


def handed_out(stream: Stream, time: str, name: str) -> Stream:
    """A stream of changes that leaves collections, with their times in the column `time`, and in those behind it where
    times have several coordinates: what had left before the snapshot that a run goes on from is left out. Where
    somebody goes by messages' times each time has its own: else times come together as frontiers happen to pass them.
    """
    saving = saving_of(stream.scope)
    left = None if saving is None else _left_once(stream, saving, name)
    at, scope = stream.schema.position(time), stream.scope
    builder = stream.operator(name, Notify.NEVER)
    builder.input(stream)
    state_moves(builder)
    made = builder.output(stream.schema)
    depth = scope.depth

    def compiled(context: OperatorContext) -> Compiled:
        return telling(at, depth, 0 if left is None else left(), is_by_times(made))

    builder.build_compiled(compiled, texts=True, loops=True)
    return made


def _left_once(stream: Stream, saving: Any, name: str) -> Callable[[], Time]:
    """Under recovery, from which time on changes have not left yet; to be asked when the run begins."""
    scope = stream.scope
    probe = scope.root.watch(stream.source)
    scope.kept(HandedOut).probes.append(probe)
    saving.exits.add(stream.source.operator)
    rows = saving.rows(name, [Table(_UNTIL, ())], stream, leaves=True)

    until = 0

    def begin() -> None:
        nonlocal until
        until = int(rows.all(0)["until"].max(initial=0))

    rows.take_out = lambda: [Batch(_UNTIL, {"until": [max(until, probe.frontier)]})]
    if rows.is_resumed:
        saving.when_found.append(begin)
    saving.patches.add(len(scope.graph.operators))
    return lambda: until


def exported(scope: Any, view: Exported, name: str, reader: Any) -> None:
    """A view is declared, and who reads for it: that is to begin where it was; or, of a new one, where all that was
    saved of rows can be told apart."""
    saving = saving_of(scope)
    if saving is None:
        return
    scope.kept(HandedOut).views.append(view)
    rows = saving.rows(name, [Table(SINCE, ())])
    rows.take_out = lambda: [Batch(SINCE, {"since": [view.since]})]

    def begin() -> None:
        reader.since = [(int(rows.all(0)["since"].max()) if rows.known.was else saving.of_worker.forgotten,)]

    if rows.is_resumed:
        saving.when_found.append(begin)
