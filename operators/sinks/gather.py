"""gather: what the workers collected, as one Arrow table in the launcher, however large."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenring.engine import Config, UsageError, Worker, execute
from tokenring.engine.group import scratch_folder
from tokenring.operators.sinks.collect import Collected, Latest

if TYPE_CHECKING:
    import pyarrow as pa

Kept = Collected | Latest
"""What keeps rows on a worker."""


def gather(
    program: Callable[[Any], Kept],
    workers: int = 0,
    config: Config | None = None,
    start: str = "",
    memory_bytes: int = 0,
    max_workers: int = 0,
) -> "pa.Table":
    """Run `program` as `execute` does; it returns what `collect` or `latest` gave it, and this the rows of all workers,
    worker by worker, as a pyarrow table.

    Results of `execute` cross to the launcher through a pipe; these cross as Arrow files in a private folder, which is
    gone when this returns (the table is mapped from them); `collect`'s are written as they come. Raises what `execute`
    raises; UsageError if the program returned something else, or there is no room for the rows.
    """
    if max_workers:
        config, workers = Config.with_idle(workers, max_workers, config, start, memory_bytes), 0
    launch = partial(execute, workers=workers, config=config, start=start, memory_bytes=memory_bytes)
    return gathered(launch, partial(rows_kept, program))


def gathered(launch: Callable[[Callable[[Any], None]], object], program: Callable[[Any], Kept | None]) -> Any:
    """`launch(...)` runs a program on all workers, which does what `program` does: the rows of what that returned, as a
    pyarrow table; None if it returned None.
    """
    import pyarrow as pa

    # Files: shared memory was as fast (10 M events' rows, of numbers and of text), and its pages cannot leave memory.
    with scratch_folder("gather") as folder:
        launch(partial(_keep_rows, program, str(folder)))
        parts = [opened(file).read_all() for file in sorted(folder.iterdir())]
        return pa.concat_tables(parts) if parts else None


def opened(path: Path) -> "pa.ipc.RecordBatchFileReader":
    """An Arrow file, mapped as a buffer: as a file, Arrow would read it by threads, which do not go well with later
    forks."""
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(str(path)).read_buffer())


def rows_kept(program: Callable[[Any], Any], worker: Worker) -> Kept:
    """What a program that is gathered returns on a worker; UsageError if that is nothing that keeps rows."""
    made = program(worker)
    if not isinstance(made, Kept):
        raise UsageError(
            f"worker {worker.index}: a program that is gathered returns what collect(stream) gave it, not "
            f"{type(made).__name__}"
        )
    return made


def _keep_rows(program: Callable[[Any], Kept | None], folder: str, worker: Worker) -> None:
    """What each worker runs."""
    import pyarrow as pa

    kept = program(worker)
    if kept is None:
        return
    # It runs now, and not after the program: the rows are whole only then.
    path = f"{folder}/{worker.index:05d}.arrow"
    if isinstance(kept, Collected):
        file = pa.ipc.new_file(path, kept.schema.to_arrow())
        with kept.written_by(partial(_written, folder, file.write_batch)):
            worker.run()
        _written(folder, file.close)  # not where the run failed: what is left of it is not asked whether there is room
        return
    worker.run()
    table = kept.to_arrow()
    file = pa.ipc.new_file(path, table.schema)
    _written(folder, file.write_table, table)
    _written(folder, file.close)


def _written(folder: str, write: Callable[..., None], *what: Any) -> None:
    """`write(*what)`; UsageError if there is no room."""
    try:
        write(*what)
    except OSError as error:
        said = os.strerror(error.errno) if error.errno else str(error)
        raise UsageError(
            f"the rows that are gathered cannot be written to {folder} ({said}); make room there, or name another "
            f"folder for temporary files by TMPDIR"
        ) from None
