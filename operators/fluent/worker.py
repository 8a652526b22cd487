"""The worker whose dataflows are declared by methods, and the launchers of programs that are given it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from tokenring import engine
from tokenring.engine import Config, Probe, UsageError
from tokenring.operators.fluent.scope import Scope
from tokenring.operators.fluent.stream import Stream
from tokenring.operators.mechanisms import TOKENS, use
from tokenring.operators.sinks import Kept, gathered, rows_kept

if TYPE_CHECKING:
    import pyarrow as pa


class Worker(engine.Worker):
    """The engine's face inside a worker process: build dataflows, feed inputs, step, wait."""

    scope_class = Scope

    @contextmanager
    def dataflow(self, name: str = "dataflow", mechanism: str = TOKENS.name) -> Iterator[Scope]:
        """Declare a dataflow inside the block; it runs from the block's end on. All workers must declare the same ones
        in one order. mechanism: what it coordinates by, one of `mechanisms.MECHANISMS`.
        """
        with super().dataflow(name) as scope:
            if mechanism != TOKENS.name:
                use(scope, mechanism)
            yield cast(Scope, scope)


def execute(
    program: Callable[[Worker], Any],
    workers: int = 0,
    config: Config | None = None,
    on_note: Callable[[int, Any], None] | None = None,
    on_start: Callable[[list[int]], None] | None = None,
    start: str = "",
) -> list[Any]:
    """Run `program(worker)` on every worker of a new group; returns what each returned, in order.

    workers: processes (default: one per usable core, within a cgroup's quota; or give a whole `config`). start: how
    they begin, see Config; forked processes have none of this one's threads, so what a thread pool of a library did
    here (Polars) may hang there: a warning says so. on_note(worker, value) sees what workers `report`; on_start(pids)
    the processes. Dataflows still running when the program returns are run to their end.

    What is returned or reported arrives equal and of the same type: numbers, texts, dates, the built-in containers of
    them, numpy arrays, batches, Arrow tables. UsageError for all else, naming the type and what to return. Nothing is
    pickled.

    Raises OperatorError, UsageError subclasses, GraphMismatchError, WorkerError (a worker died), OutOfSharedMemory;
    ConfigError where the system has too few files, processes or memory for so many workers. A signal that ends the
    process ends the group first, and whoever handles it is called where it is safe.
    """
    return engine.execute(program, workers, config, on_note, on_start, start, worker_class=Worker)


def gather(
    program: Callable[[Worker], Kept], workers: int = 0, config: Config | None = None, start: str = ""
) -> "pa.Table":
    """Run `program` as `execute` does; it returns what `collect` or `latest` gave it, and this the rows of all workers,
    worker by worker, as a pyarrow table, which is mapped from files that are gone already.

    Raises what `execute` raises; UsageError if the program returned something else.
    """
    launch = partial(execute, workers=workers, config=config, start=start)
    return gathered(launch, partial(rows_kept, program))


def run(
    pipeline: Callable[[Scope], Any],
    workers: int = 0,
    config: Config | None = None,
    start: str = "",
    name: str = "dataflow",
    mechanism: str = TOKENS.name,
) -> Any:
    """Run the program that is one dataflow: `pipeline(scope)` declares it on every worker, and it runs to its end.

    `run(lambda scope: scope.read_csv(path, schema).filter(col("price") > 100).to_parquet(folder), workers=2)`. What the
    pipeline returns says what comes of it: for what `collect()` or `latest(key)` gave, the rows of all workers as a
    pyarrow table; for a sink's probe, or None, None. The rest is as for `execute`.

    Raises what `execute` raises; UsageError for a pipeline that returns something else.
    """
    launch = partial(execute, workers=workers, config=config, start=start)
    return gathered(launch, partial(_declared, pipeline, name, mechanism))


def _declared(pipeline: Callable[[Scope], Any], name: str, mechanism: str, worker: Worker) -> Kept | None:
    """What each worker runs."""
    with worker.dataflow(name, mechanism) as scope:
        made = pipeline(scope)
        if made is not None and not isinstance(made, Kept | Probe):
            raise UsageError(_odd(made))
    return made if isinstance(made, Kept) else None


def _odd(made: Any) -> str:
    if isinstance(made, Stream):
        return (
            f"the pipeline ends in {made!r}, which nobody reads: end it with a sink, such as .collect() or "
            f".to_parquet(folder)"
        )
    return (
        f"the pipeline returned {type(made).__name__}; it returns what a sink gives, such as .collect() or "
        f".to_parquet(folder), or None"
    )
