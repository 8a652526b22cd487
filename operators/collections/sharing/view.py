"""An arrangement under a name, as one worker has it: what can be asked of it, and who reads it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tokenring.engine import (
    COMPLETE,
    Batch,
    DataflowFailedError,
    GraphError,
    InputPort,
    OperatorContext,
    ReadTimeError,
    Schema,
    TokenRef,
    did_you_mean,
)
from tokenring.engine.arguments import require_function, whole_number
from tokenring.operators.collections.sharing.faults import Fault
from tokenring.operators.collections.sharing.reading import latest_of, rows_at, time_asked
from tokenring.operators.collections.sharing.rejected import Rejected, complaint, table_of
from tokenring.operators.collections.sharing.subscription import Subscription
from tokenring.operators.collections.updates import Spine

if TYPE_CHECKING:
    import pyarrow as pa

Finished = tuple[int, Batch]
"""A batch that was sealed, with the time of its message."""


class Reader(Protocol):
    """Whoever reads a trace."""

    @property
    def taken(self) -> int:
        """How many batches it has taken."""

    since: list[Any]

    def take_batches(self, port: InputPort) -> Iterator[tuple[TokenRef, Batch]]:
        """The batches that have come on the arrangement's stream."""


class Trace(Protocol):
    """What a view, and who imports it, need of the trace of an arrangement in the root scope."""

    keys: int
    spine: Spine
    readers: list[Any]

    def hold(self, since: int) -> Any:
        """Begin to read nothing, but be able to ask at this time and later."""

    def leave(self, reader: Any) -> None:
        """Read no more."""


class Importer(Protocol):
    """Another dataflow that reads a view."""

    dataflow: str

    @property
    def hands_out(self) -> bool:
        """Whether what comes of it leaves the collections, for those who would not hear of rows that are missing."""

    @property
    def least(self) -> int:
        """The time at which it began to."""

    def bring(self, batches: Sequence[Finished]) -> None:
        """What was sealed comes; the view says what is finished."""


class Views:
    """All views of a worker, by name; or those that a dataflow is to have."""

    def __init__(self) -> None:
        self._named: dict[str, View] = {}
        self._failed: dict[str, tuple[str, str]] = {}  # that are gone: of which dataflow, and what to say

    def require_new(self, name: str) -> None:
        """GraphError if there is one of the name, unless its dataflow has ended, and no other imports it."""
        if name in self._named and not self._named[name].gives_way:
            raise GraphError(f"an arrangement is exported as {name!r} already; export this one by another name")

    def require_current(self, view: "View") -> None:
        """GraphError if another has taken its name; DataflowFailedError if its dataflow has failed."""
        view.require_sound()
        if self._named.get(view.name, view) is not view:
            raise GraphError(f"{view.name!r} was removed, and is exported by another dataflow now; ask again")

    def add(self, view: "View") -> None:
        """Let it be found."""
        self._named[view.name] = view

    def __getitem__(self, name: str) -> "View":
        """GraphError if there is none of the name; DataflowFailedError if its dataflow has failed."""
        if name in self._failed:
            raise DataflowFailedError(self._failed[name][1])
        if name not in self._named:
            there = ", ".join(map(repr, sorted(self._named))) or "none"
            raise GraphError(
                f"no arrangement is exported as {name!r}{did_you_mean(name, sorted(self._named))}; there are: {there}"
            )
        self._named[name].require_sound()
        return self._named[name]

    def __iter__(self) -> Any:
        return iter([self._named[name] for name in sorted(self._named)])

    def remove(self, view: "View") -> None:
        """It is gone."""
        if self._named.get(view.name) is view:
            del self._named[view.name]
            if view.failure:
                self._failed[view.name] = view.dataflow, view.failure

    def set_failure(self, dataflow: str, failure: str) -> None:
        """Let nobody read what a dataflow exports, since that has failed; "": it was removed."""
        for view in self:
            if view.dataflow == dataflow and failure:
                view.fail(failure)
        gone = [name for name, (of, _) in self._failed.items() if of == dataflow]
        for name in gone:
            del self._failed[name]
            if failure:
                self._failed[name] = dataflow, failure


class Kept:
    """Keeps the past of an arrangement from `since` on readable, until it is released, or the `with` block ends."""

    def __init__(self, since: int, leave: Callable[["Kept"], None], held: Any) -> None:
        self.since = since
        self.held = held
        self._leave: Callable[[Kept], None] | None = leave

    def release(self) -> None:
        """Let it go (idempotent)."""
        leave, self._leave = self._leave, None
        if leave is not None:
            leave(self)

    def __enter__(self) -> "Kept":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class View:
    """An arrangement of a running dataflow under a name, as this worker has it: it can be read at a time, and other
    dataflows import it. `worker.view(name)` finds it.
    """

    def __init__(
        self, views: Views, name: str, schema: Schema, keys: tuple[str, ...], trace: Trace, reader: Reader,
        rejected: Rejected, history: int,
    ) -> None:  # fmt: skip
        self.name, self.schema, self.keys = name, schema, keys
        self.history = history
        """How much of the past can be read, beside the latest finished time."""
        self.upper = 0
        """All times before are finished; COMPLETE once nothing changes any more."""
        self.dataflow = ""
        """Of the dataflow that keeps it."""
        self.failure = ""
        """Why it cannot be read any more, if its dataflow has failed."""
        self.trace = trace
        self.importers: list[Importer] = []
        self._kept: list[Kept] = []
        self._rejected = rejected
        self._subscriptions: list[Subscription] = []
        self._reader = reader
        self._views = views
        self._is_over = self._is_gone = False

    @property
    def since(self) -> int:
        """The earliest time that can be read."""
        (own,) = self._reader.since
        return min([own[0], *[kept.since for kept in self._kept]])

    @property
    def taken(self) -> int:
        """How many batches are readable."""
        return self._reader.taken

    def take(self, sealed: InputPort) -> None:
        """Take what was sealed and hear what is finished: so do all who import it."""
        batches = [(reference.time, batch) for reference, batch in self._reader.take_batches(sealed)]
        self._bring(batches, sealed.frontier)

    def _bring(self, batches: Sequence[Finished], upper: int) -> None:
        self.upper = upper
        if upper < COMPLETE:
            self._reader.since = [(max(self._reader.since[0][0], upper - 1 - self.history),)]
        readers: list[Importer | Subscription] = [*self.importers, *self._subscriptions]
        for reader in readers:
            reader.bring(batches)

    def begin(self, context: OperatorContext) -> None:
        """Its dataflow runs on this worker."""
        self._views.add(self)
        self._rejected.begin(context)

    # Read

    def at(self, time: int | None = None, key: Any = ..., times: str = "times") -> "pa.Table":
        """The rows on this worker as of a time, the latest finished one if none is said, as an Arrow table: its
        columns, and in the column `times` how often each row is there. key: only those of this key (a tuple for several
        columns; None is null), all if none is said.

        ReadTimeError for a time that is not finished, or no longer known; DataflowFailedError where its dataflow, which
        was installed, has failed; RejectedRowsError where operators failed at
        rows that are there at the time: see `errors`; NegativeMultiplicityError where a row was removed more often than
        it was added. Each key is on one worker: to have all of them, ask every worker, at one time.
        """
        time = self.readable(time)
        lacking = self.lacking(time)
        if lacking:
            raise complaint(self.name, time, lacking)
        return rows_at(self.name, self.schema, self.keys, self.trace.spine, time, key, times)

    def errors(self, time: int | None = None) -> "pa.Table":
        """What operators, on all workers, failed at of the rows that are there at a time, the latest finished one if
        none is said: the columns operator, row (or key, as text), error, and in `times` how often. Each is gone once
        its row is removed."""
        import pyarrow as pa

        return pa.table(table_of(self.lacking(self.readable(time))))

    def lacking(self, time: int) -> Counter[Fault]:
        """The same of a time, whether it can be read or not."""
        return self._rejected.lacking(self, time)

    @property
    def latest(self) -> int:
        """The latest finished time; of one that is complete, that of its last change."""
        return self.upper - 1 if self.upper < COMPLETE else max(self.since, latest_of(self.trace.spine))

    def readable(self, time: int | None) -> int:
        """The time, or the latest finished one; ReadTimeError if it cannot be read, DataflowFailedError if it never
        can."""
        self.require_sound()
        if not self.upper:
            raise ReadTimeError(f"{self.name!r} cannot be read yet: no time is finished; advance the inputs")
        time = time_asked(self.name, time)
        if time is None:
            time = self.latest
        if time >= self.upper:
            raise ReadTimeError(
                f"{self.name!r} cannot be read at {time}: times are finished up to {self.upper - 1}; advance the "
                f"inputs, or read an earlier time"
            )
        if time < self.since:
            raise ReadTimeError(
                f"{self.name!r} cannot be read at {time}: what was before {self.since} is forgotten; export it with "
                f"history=, or keep_since({time}) before it is"
            )
        return time

    def keep_since(self, time: int) -> Kept:
        """Keep what is at `time` and later readable on this worker until it is released: a context manager.
        ReadTimeError if it is forgotten already, UsageError for what is no time."""
        time = whole_number(f"view {self.name!r}, keep_since", "time", time, 0)
        if time < self.since:
            self.readable(time)
        kept = Kept(time, self._release, self.trace.hold(time))
        self._kept.append(kept)
        return kept

    def subscribe(
        self, from_time: int | None = None, key: Any = ..., times: str = "times",
        heard: Callable[[], None] = lambda: None,
    ) -> Subscription:  # fmt: skip
        """What becomes of it on this worker: its rows as of a time, the latest finished one if none is said, and after
        that how they change, time by time: `Subscription.take`. key, times: as for `at`. heard: called whenever there
        may be more to take; it is not to step the worker.

        What is not taken waits in memory. ReadTimeError as for `at`.
        """
        require_function(f"view {self.name!r}", "heard", heard)
        subscription = Subscription(self, self.readable(from_time), key, times, heard)
        self._subscriptions.append(subscription)
        return subscription

    def forget(self, subscription: Subscription) -> None:
        """Somebody hears no more of it."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def _release(self, kept: Kept) -> None:
        self._kept.remove(kept)
        self.trace.leave(kept.held)
        self._go()

    # Who reads

    def fail(self, failure: str) -> None:
        """Its dataflow has failed: who subscribed to it hears that."""
        self.failure = failure
        for subscription in self._subscriptions:
            subscription.bring([])

    def require_sound(self) -> None:
        """DataflowFailedError if its dataflow has failed."""
        if self.failure:
            raise DataflowFailedError(self.failure)

    @property
    def gives_way(self) -> bool:
        """Whether another may have the name, though somebody may still keep the past readable."""
        return self._is_over and not self.importers

    def require_there(self) -> None:
        """GraphError if it went since it was found."""
        if self._is_gone:
            raise GraphError(
                f"{self.name!r} is gone, since its dataflow {self.dataflow!r} has ended, and nobody read it: import it "
                f"while that runs"
            )

    def enter(self, importer: Importer) -> None:
        """Another dataflow reads it from now on."""
        self.importers.append(importer)

    def leave(self, importer: Importer) -> None:
        """And no more."""
        self.importers.remove(importer)
        self._go()

    def end(self) -> None:
        """Its dataflow has ended: it goes once nobody reads it."""
        self._is_over = True
        if not self.failure:  # else what it has is not all, and who reads it has ended, too
            self._bring([], COMPLETE)
        self._go()

    def _go(self) -> None:
        if self.gives_way and not (self._is_gone or self._kept):
            self._is_gone = True
            self.trace.leave(self._reader)
            self._views.remove(self)
            self._rejected.forget(self)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What it is, how large, and who reads it, as plain values."""
        spine, upper = self.trace.spine, self.upper
        return {
            "name": self.name,
            "dataflow": self.dataflow,
            "columns": {name: str(self.schema.kind(name)) for name in self.schema.names},
            "key": list(self.keys),
            "rows": spine.rows,
            "batches": spine.count,
            "bytes": spine.kept_bytes,
            "mapped_bytes": spine.mapped_bytes,
            "since": self.since,
            "upper": None if upper == COMPLETE else upper,
            "readers": sorted([importer.dataflow for importer in self.importers]),
        }
