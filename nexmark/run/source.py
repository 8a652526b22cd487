"""The NEXMark source: staged columns as timed streams, as fast as they go or each event at its scheduled instant.

Events are dealt to workers in blocks of consecutive events (block k goes to worker k modulo workers), so that all
workers are at about the same event time. A worker's outlets stand at the time of its own next event. At most
`outstanding` batches of a worker are under way beyond the probe: large batches make what follows dearer, and under load
that spirals.
"""

from collections.abc import Callable

import numpy as np

from tokenring.engine import OperatorContext, Scope, Stream, Worker
from tokenring.engine.compiled import Compiled
from tokenring.nexmark.run.compiled_source import SourceState, compiled_source
from tokenring.nexmark.run.cursors import Cursor, Cursors
from tokenring.nexmark.run.feed import Feed
from tokenring.nexmark.run.micro_batches import MicroBatches
from tokenring.nexmark.run.pace import Measurements, Pace
from tokenring.nexmark.staging import StagedEvents
from tokenring.operators.mechanisms import Progress, mechanism_of


def nexmark_source(
    worker: Worker,
    scope: Scope,
    staged: StagedEvents,
    streams: dict[str, tuple[str, ...]],
    pace: Pace,
    measurements: Measurements,
) -> tuple[tuple[Stream, ...], Callable[[Progress], None]]:
    """Streams of the named columns, and a function to be given the probe that tells when events are done."""
    cursors = [Cursor(staged, name, columns) for name, columns in streams.items()]
    measurements.kept += cursors
    probes: list[Progress] = []
    way = mechanism_of(scope)

    def compiled(context: OperatorContext, outlets: np.ndarray) -> Compiled:
        own = Feed(Cursors(cursors), pace, measurements, context.worker_index, context.peers, SourceState)
        batches = MicroBatches(own.cursors, pace.micro_batch_ns, probes[0]) if way.one_at_a_time else None
        return compiled_source(context, worker, own, outlets, probes[0], batches)

    schemas = tuple(cursor.schema for cursor in cursors)
    times = ("date_time",) * len(schemas)
    return way.source(scope, "nexmark", schemas, None, times, pace.each_time, compiled), probes.append
