"""The worker whose dataflows are declared by methods, and the launchers of programs that are given it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast, overload

from tokenring import engine
from tokenring.engine import Config, Probe, RecoveryError, Results, TokenRingError, UsageError
from tokenring.engine.arguments import require_function, require_name
from tokenring.engine.errors import NoSuchMethodError
from tokenring.engine.group import ShortTrace, require_function_of
from tokenring.engine.worker import FORK
from tokenring.operators import collections, leaving, mechanisms, migrate
from tokenring.operators.fluent.named import import_named, say_what_stays
from tokenring.operators.fluent.scope import Scope
from tokenring.operators.fluent.stream import Stream
from tokenring.operators.mechanisms import TOKENS
from tokenring.operators.sinks import Kept, RowsKept, gathered, rows_kept
from tokenring.operators.time import WithLate

if TYPE_CHECKING:
    import pyarrow as pa

    from tokenring.operators.collections import View
    from tokenring.operators.migrate import Change, Rebalance
    from tokenring.operators.recovery import Recovery, WorkerSaving


def _recovery() -> Any:
    from tokenring.operators import recovery

    return recovery


def _answers(kind: str, worker: "Worker", *asked: Any) -> Any:
    """Installing or Removing; where the run keeps snapshots, that which sees to these."""
    from tokenring.engine import install

    answers = getattr(install, kind) if worker.saving is None else getattr(_recovery(), f"{kind}Saved")
    return answers(worker, *asked)


class Worker(engine.Worker):
    """The engine's face inside a worker process: build dataflows, feed inputs, step, wait."""

    scope_class = Scope
    saving: "WorkerSaving | None" = None
    """What is saved of its dataflows, where the run has recovery=."""
    resumed: dict[str, Any] | None = None
    """What the program saved (`save`) on this worker, by name, in the snapshot that the run goes on from; None where it
    begins, or nothing is saved."""
    answering: ClassVar[dict[str, Any]] = {  # what answers is imported when somebody asks
        "views": lambda *asked: collections.Listing(*asked),
        "query": lambda *asked: collections.Query(*asked),
        "follow": lambda *asked: collections.Following(*asked),
        "migrate": lambda *asked: migrate.Migrating(*asked),
        "snapshot": lambda *asked: _recovery().Taking(*asked),
        "end": lambda *asked: leaving.Leaving(*asked),
        "install": lambda *asked: _answers("Installing", *asked),
        "remove": lambda *asked: _answers("Removing", *asked),
    }

    @contextmanager
    def dataflow(
        self,
        name: str = "dataflow",
        mechanism: str = TOKENS.name,
        bins: int = 0,
        moves: "Iterable[Change]" = (),
        rebalance: "Rebalance | None" = None,
        *,
        coordinates: Sequence[str] = (),
    ) -> Iterator[Scope]:
        """Declare a dataflow inside the block; it runs from the block's end on. All workers must declare the same ones
        in one order. mechanism: what it coordinates by, one of `mechanisms.MECHANISMS`.

        bins: a power of two: the state of operators with a key lies in so many bins, which can be moved to other
        workers while the dataflow runs (`scope.placement`). moves: what is known beforehand of that, as (time, bin,
        worker). rebalance: how bins are kept in balance, by themselves. UsageError for bins that are not there, and of
        a mechanism other than tokens.

        coordinates: names, where times are tuples of so many coordinates, each of which advances by itself: ("day",
        "version"); they are ordered coordinate by coordinate. UsageError with bins=, another mechanism, or recovery=.
        """
        if coordinates and (bins or mechanism != TOKENS.name or self.saving is not None):
            other = "bins=" if bins else "recovery=" if mechanism == TOKENS.name else f"mechanism={mechanism!r}"
            raise UsageError(
                f"dataflow {name!r}: {other} needs times in one order, which those of several coordinates do not have: "
                f"leave one of the two out"
            )
        if bins and mechanism != TOKENS.name:
            raise UsageError(f"dataflow {name!r}: state moves among tokens, not {mechanism!r}; leave bins= out")
        if (moves or rebalance is not None) and not bins:
            what = "moves=" if moves else "rebalance="
            raise UsageError(f"dataflow {name!r}: {what} needs bins=, in which state moves; say bins=256")
        self.agreement.settle()  # who was promised to be let go is gone before `peers` is looked at
        self.parting.is_declaring = True
        try:
            with super().dataflow(name, coordinates=coordinates) as scope:
                if mechanism != TOKENS.name:
                    mechanisms.use(scope, mechanism)
                    scope.graph.about = mechanism
                if bins:
                    scope.graph.about = f"{bins} bins"
                    migrate.use_bins(scope, self.index, self.peers, bins, moves, rebalance, self.sharing)
                    self.kept(migrate.Placements).tell = self.dozing.may_doze
                if self.saving is not None:
                    if mechanism != TOKENS.name:
                        raise UsageError(
                            f"dataflow {name!r}: mechanism={mechanism!r} and recovery= do not go together: leave one "
                            f"out"
                        )
                    self.saving.begin(scope)
                yield cast(Scope, scope)
                if self.saving is not None:
                    migrate.saving_of(scope).require_saved()
            if self.saving is not None:
                self._install_what_was()
        finally:
            self.parting.is_declaring = False

    def save(self, name: str, function: Callable[[], Any]) -> None:
        """Let `function()` be part of each snapshot, and `resumed[name]` when the run goes on from it: what the program
        needs to know where it was, such as which rows it has sent by hand. Numbers, texts, None, lists and dicts of
        them. It is called, in a copy of this process, while the program is in a call that steps this worker (`step`,
        `step_while`, `run`, `barrier`); a call of `send` steps too, but no snapshot is taken in it. Without recovery=
        nothing is saved.
        """
        require_name("what is saved", name)
        require_function(f"save {name!r}", "what is called for it", function)
        if self.saving is not None:
            self.saving.program[name] = function

    def declare(self, scope: engine.Scope, function: Callable[[Any], Any]) -> None:
        """Let a function that came from outside declare a dataflow; if it returns a collection, or an arrangement, that
        is exported by the dataflow's name. UsageError for anything else but nothing, or a view, which has its own name.
        """
        if self.saving is not None:
            self.saving.begin(scope, is_installed=True)
        made = function(scope)
        if isinstance(made, collections.Collection):
            made = made.arrange(made.schema.names)
        if isinstance(made, collections.Arranged):
            made.export(scope.graph.name)
        elif made is not None and not isinstance(made, collections.View):
            raise UsageError(
                f"dataflow {scope.graph.name!r}: its function returned {type(made).__name__}, which nobody could read: "
                f"return one collection or arrangement, which is exported by the dataflow's name, or nothing (export "
                f"several by names of their own; make a stream a .collection(), or lead it to a sink)"
            )
        if self.saving is not None:
            migrate.saving_of(scope).require_saved()

    def build(self, scope: engine.Scope) -> None:
        """See engine.Worker."""
        if self.saving is None:
            super().build(scope)
            return
        with collections.imported_at_one_time(scope, self.agreement.greatest):
            super().build(scope)
        migrate.saving_of(scope).built()

    def _install_what_was(self) -> None:
        """What was installed when the snapshot was taken that the run goes on from is there before the first step."""
        from tokenring.engine.install import install_here

        assert self.saving is not None, "it is under recovery"
        for name, code in self.saving.comes_back.items():
            try:
                install_here(self, name, code)
            except TokenRingError as error:
                if self.saving.lets_go(name, str(error)):
                    continue
                if isinstance(error, RecoveryError):
                    raise
                raise RecoveryError(
                    f"dataflow {name!r} ({code}) was installed when the run was saved, and cannot be again: {error}. "
                    f"Mend that, or let it go: --drop {name}, or Recovery(..., drop=[{name!r}])"
                ) from error
        self.saving.has_come_back()

    if not TYPE_CHECKING:  # a checker of types knows better

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or not hasattr(Scope, name):
                raise AttributeError(f"a Worker has no {name!r}")
            raise NoSuchMethodError(
                f"a Worker has no {name!r}, which a scope has: say `with worker.dataflow() as scope`, or "
                f"tokenring.run(function); `tokenring run` calls a function with a scope if its parameter is called "
                f"scope, or annotated tokenring.Scope"
            )

    def require_removable(self, dataflow: str) -> None:
        """Raise UsageError if others import what this dataflow exports."""
        for view in self.kept(collections.Views):
            readers = [one.dataflow for one in view.importers if one.dataflow not in self.dataflows.failed]
            if view.dataflow == dataflow and readers:
                said = ", ".join(map(repr, readers))
                raise UsageError(f"{view.name!r} of {dataflow!r} is imported by {said}; remove that first")

    def importers_of(self, dataflow: str) -> list[str]:
        """See engine.Worker."""
        views = [view for view in self.kept(collections.Views) if view.dataflow == dataflow]
        return [importer.dataflow for view in views for importer in view.importers]

    def set_failure(self, dataflow: str, failure: str) -> None:
        """See engine.Worker."""
        self.kept(collections.Views).set_failure(dataflow, failure)

    def view(self, name: str) -> "View":
        """The arrangement that a dataflow of this worker exports by that name, to be read at a time: see
        `Arranged.export`. GraphError if there is none.
        """
        return self.kept(collections.Views)[name]


def execute(
    program: Callable[[Worker], Any],
    workers: int = 0,
    config: Config | None = None,
    on_note: Callable[[int, Any], None] | None = None,
    on_start: Callable[[list[int]], None] | None = None,
    start: str = "",
    memory_bytes: int = 0,
    max_workers: int = 0,
    recovery: "Recovery | None" = None,
) -> Results:
    """Run `program(worker)` on every worker of a new group; returns what each returned, in order, a list, whose
    `stopped` says what was open where the run was stopped (`Worker.stopping`), else None. Inputs that a program
    feeds by hand are each worker's own: rows that must come once are sent on one (`if worker.index == 0`).

    workers: processes (default: one per usable core, within a cgroup's quota; or give a whole `config`). start: how
    they begin, see Config; forked processes have none of this one's threads, so a library that waits for its own may
    hang there: a warning says so, and Polars, used here before, is a UsageError there. memory_bytes: what the whole
    group may take: near it sources pause, and state that does not fit ends the run with MemoryBudgetError.
    on_note(worker, value) sees what workers `report`; on_start(pids) the processes. max_workers: how many there are in
    all; those beyond `workers` begin idle, and get work when bins are moved to them (`worker.dataflow(bins=...)`).
    Dataflows still running when the program returns are run to their end.

    recovery: where snapshots go, from the newest of which the run goes on: here after a worker's death, and in a later
    call after this process's; results of sinks that write files appear with them, exactly once. What cannot be saved is
    refused when the dataflow is declared. See `Recovery` and the docs' page "Recovery".

    What is returned or reported arrives equal and of the same type: numbers, texts, dates, the built-in containers of
    them, numpy arrays, batches, Arrow tables. UsageError for all else, naming the type and what to return. Nothing is
    pickled.

    Raises OperatorError, UsageError subclasses, GraphMismatchError, WorkerError (a worker died), OutOfSharedMemory,
    MemoryBudgetError; ConfigError where the system has too few files, processes or memory for so many workers. A signal
    that ends the process ends the group first, and whoever handles it is called where it is safe.
    """
    with ShortTrace():
        require_function_of("worker", program, "execute")
        if max_workers:
            config, workers = Config.with_idle(workers, max_workers, config, start, memory_bytes), 0
        import_named(program)
        say_what_stays(program)
        launch = partial(engine.execute, start=start, memory_bytes=memory_bytes, worker_class=Worker)
        if recovery is None:
            return launch(program, workers, config, on_note, on_start)
        if max_workers or start not in ("", FORK) or (config is not None and (config.idle or config.start != FORK)):
            raise UsageError("a run with recovery= forks its workers, all at once: leave start= and max_workers= out")
        from tokenring.operators.sinks import DeadLetters

        with_recovery = partial(_recovery().execute_with_recovery, launch, DeadLetters)
        return with_recovery(program, recovery, workers, config, on_note, on_start)


def gather(
    program: Callable[[Worker], Kept],
    workers: int = 0,
    config: Config | None = None,
    start: str = "",
    memory_bytes: int = 0,
    max_workers: int = 0,
) -> "pa.Table":
    """Run `program` as `execute` does; it returns what `collect` or `latest` gave it, and this the rows of all workers,
    worker by worker, as a pyarrow table, which is mapped from files that are gone already.

    Raises what `execute` raises; UsageError if the program returned something else.
    """
    with ShortTrace():
        require_function_of("worker", program, "gather")
        launch = partial(
            execute, workers=workers, config=config, start=start, memory_bytes=memory_bytes, max_workers=max_workers
        )
        return gathered(launch, partial(rows_kept, program))


@overload
def run(
    pipeline: Callable[[Scope], Kept], workers: int = ..., config: Config | None = ..., start: str = ...,
    name: str = ..., mechanism: str = ..., memory_bytes: int = ..., max_workers: int = ...,
    recovery: "Recovery | None" = ...,
) -> "pa.Table": ...  # fmt: skip


@overload
def run(
    pipeline: Callable[[Scope], "Probe | View | None"], workers: int = ..., config: Config | None = ...,
    start: str = ..., name: str = ..., mechanism: str = ..., memory_bytes: int = ..., max_workers: int = ...,
    recovery: "Recovery | None" = ...,
) -> None: ...  # fmt: skip


@overload
def run(
    pipeline: Callable[[Scope], "Kept | Probe | View | None"], workers: int = ..., config: Config | None = ...,
    start: str = ..., name: str = ..., mechanism: str = ..., memory_bytes: int = ..., max_workers: int = ...,
    recovery: "Recovery | None" = ...,
) -> "pa.Table | None": ...  # fmt: skip


def run(
    pipeline: Callable[[Scope], Any],
    workers: int = 0,
    config: Config | None = None,
    start: str = "",
    name: str = "dataflow",
    mechanism: str = TOKENS.name,
    memory_bytes: int = 0,
    max_workers: int = 0,
    recovery: "Recovery | None" = None,
) -> "pa.Table | None":
    """Run the program that is one dataflow: `pipeline(scope)` declares it on every worker, and it runs to its end.

    `run(lambda scope: scope.read_csv(path, schema).filter(col("price") > 100).to_parquet(folder), workers=2)`. What the
    pipeline returns says what comes of it: for what `collect()` or `latest(key)` gave, the rows of all workers as a
    pyarrow table; for a sink's probe, a view, or None, None. What it keeps besides, in a list that a function appends
    to, is that worker's own and is not seen here. The rest is as for `execute`.

    Raises what `execute` raises; UsageError for a pipeline that returns something else, or not what `collect()` or
    `latest(key)` gave it.
    """
    with ShortTrace():
        require_function_of("scope", pipeline, "run")
        launch = partial(
            execute, workers=workers, config=config, start=start, memory_bytes=memory_bytes, max_workers=max_workers,
            recovery=recovery,
        )  # fmt: skip
        return gathered(launch, partial(_declared, pipeline, name, mechanism))


def _declared(pipeline: Callable[[Scope], Any], name: str, mechanism: str, worker: Worker) -> Kept | None:
    """What each worker runs."""
    with worker.dataflow(name, mechanism) as scope:
        made = pipeline(scope)
        if not isinstance(made, Kept | Probe | None) and not isinstance(made, collections.View):
            raise UsageError(_odd(made))
        if made is None and (kept := scope.kept(RowsKept)):
            raise UsageError(
                f"the pipeline returned None, so nobody gets the rows that {' and '.join(kept)} keep: return what it "
                f"gave, as in `return rows.collect()`"
            )
    return made if isinstance(made, Kept) else None


def _odd(made: Any) -> str:
    if isinstance(made, WithLate):
        return (
            f"the pipeline ends in streams that nobody reads: late=True gives {len(made)} streams; unpack them, "
            f"`{made.names} = ...`, and end each with a sink"
        )
    if isinstance(made, Stream):
        return (
            f"the pipeline ends in {made!r}, which nobody reads: end it with a sink, such as .collect() or "
            f".to_parquet(folder)"
        )
    return (
        f"the pipeline returned {type(made).__name__}; it returns what a sink gives, such as .collect() or "
        f".to_parquet(folder), or None"
    )
