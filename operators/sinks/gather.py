"""gather: what the workers collected, as one Arrow table in the launcher, however large."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine import Config, UsageError, Worker, execute
from engine.scratch import scratch_folder
from operators.collect import Collected

if TYPE_CHECKING:
    import pyarrow as pa


def gather(program: Callable[[Worker], Collected], workers: int = 0, config: Config | None = None) -> "pa.Table":
    """Run `program` as `execute` does; it returns what `collect` gave it, and this the rows of all workers, worker by
    worker, as a pyarrow table of `schema.to_arrow()`.

    Results of `execute` cross to the launcher through a pipe; these cross as Arrow files in a private folder, which is
    gone when this returns (the table is mapped from them). Raises what `execute` raises; UsageError if the program
    returned something else.
    """
    import pyarrow as pa

    def run(worker: Worker) -> None:
        collected = program(worker)
        if not isinstance(collected, Collected):
            raise UsageError(
                f"worker {worker.index}: a program that is gathered returns what collect(stream) gave it, not "
                f"{type(collected).__name__}"
            )
        worker.run()  # now, and not after the program: the rows are whole only then
        table = collected.to_arrow()
        with pa.ipc.new_file(folder / f"{worker.index:05d}.arrow", table.schema) as file:
            file.write_table(table)

    with scratch_folder("gather") as folder:
        execute(run, workers, config)
        # Mapped as buffers: as files, Arrow would read them by threads, which do not go well with later forks.
        parts = [pa.memory_map(str(file)).read_buffer() for file in sorted(folder.iterdir())]
        return pa.concat_tables([pa.ipc.open_file(part).read_all() for part in parts])
