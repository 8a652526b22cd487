"""gather: what the workers collected, as one Arrow table in the launcher, however large."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tokenring.engine import Config, UsageError, Worker, execute
from tokenring.engine.group import scratch_folder
from tokenring.operators.sinks.collect import Collected

if TYPE_CHECKING:
    import pyarrow as pa


def gather(
    program: Callable[[Worker], Collected], workers: int = 0, config: Config | None = None, start: str = ""
) -> "pa.Table":
    """Run `program` as `execute` does; it returns what `collect` gave it, and this the rows of all workers, worker by
    worker, as a pyarrow table of `schema.to_arrow()`.

    Results of `execute` cross to the launcher through a pipe; these cross as Arrow files in a private folder, which is
    gone when this returns (the table is mapped from them). Raises what `execute` raises; UsageError if the program
    returned something else.
    """
    import pyarrow as pa

    with scratch_folder("gather") as folder:
        execute(partial(_keep_rows, program, str(folder)), workers, config, start=start)
        # Mapped as buffers: as files, Arrow would read them by threads, which do not go well with later forks.
        parts = [pa.memory_map(str(file)).read_buffer() for file in sorted(folder.iterdir())]
        return pa.concat_tables([pa.ipc.open_file(part).read_all() for part in parts])


def _keep_rows(program: Callable[[Worker], Collected], folder: str, worker: Worker) -> None:
    """What each worker runs."""
    import pyarrow as pa

    collected = program(worker)
    if not isinstance(collected, Collected):
        raise UsageError(
            f"worker {worker.index}: a program that is gathered returns what collect(stream) gave it, not "
            f"{type(collected).__name__}"
        )
    worker.run()  # now, and not after the program: the rows are whole only then
    table = collected.to_arrow()
    with pa.ipc.new_file(f"{folder}/{worker.index:05d}.arrow", table.schema) as file:
        file.write_table(table)
