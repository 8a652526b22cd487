"""Groups that run while their launcher asks them: views are read, dataflows installed."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tokenring import engine
from tokenring.engine import Config
from tokenring.engine.background import ANSWER_S
from tokenring.engine.background import start as start_engine
from tokenring.engine.group import require_function_of
from tokenring.operators import collections, leaving
from tokenring.operators.fluent.named import import_named, say_what_stays
from tokenring.operators.fluent.worker import Worker

if TYPE_CHECKING:
    from tokenring.operators.collections import Answer, Shared


class RunningGroup(engine.RunningGroup):
    """A group that runs: `tr.start` gives it. What its workers report is taken in whenever it is asked something, by
    whichever thread."""

    def views(self, timeout_s: float = ANSWER_S) -> "Shared":
        """What its dataflows export (`Arranged.export`), with sizes over all workers, and what is installed."""
        return collections.views_of(self.asked(timeout_s), timeout_s, self.poll)

    def failed(self, timeout_s: float = ANSWER_S) -> dict[str, str]:
        """The dataflows that were installed and have failed, until they are removed: by name, which operator raised
        what, and on which worker."""
        return collections.listing_of(self.asked(timeout_s), timeout_s, self.poll)[1]

    def query(self, view: str, time: int | None = None, key: Any = ..., timeout_s: float = ANSWER_S) -> "Answer":
        """(time, rows): an arrangement's rows on all workers as of one time, an Arrow table with how often each is
        there in the column `times`. time: the latest that all can read, if none is said; key: only the rows of this key
        (a tuple for several columns; None is null), all if none is said.

        Raises UsageError if there is no such view or key, ReadTimeError for a time that cannot be read,
        DataflowFailedError if an installed dataflow has failed that makes it, WorkerError if a worker takes no step in
        time.
        """
        return collections.query(self.asked(timeout_s), view, time, _key_of(key), timeout_s, self.poll)

    def subscribe(
        self, view: str, from_time: int | None = None, key: Any = ..., timeout_s: float = ANSWER_S
    ) -> "Generator[Answer, None, None]":
        """An arrangement's rows on all workers as of a time, as `query` reads them; then, for each time that has
        finished on all workers and at which rows changed, in order of times, how they changed: `times` says how much
        more often each is there. It ends when nothing changes any more; whoever wants no more closes it.

        Raises what `query` does.
        """
        return collections.subscribe(self.asked(timeout_s), view, from_time, _key_of(key), timeout_s, self.poll)

    def end_worker(self, worker: int, plan: str = "", timeout_s: float = ANSWER_S) -> None:
        """Let all bins of the last worker go to the others, by a plan (`scope.placement.move`), and then end it. Its
        program has to be in `run`, or to have returned; what it returns is in what `wait` gives.

        Raises UsageError, and the group goes on with the worker, if it cannot be ended; WorkerError if that is not done
        in time.
        """
        leaving.end_worker(self.asked(timeout_s), worker, plan, timeout_s, meanwhile=self.poll)
        self.look_again()


def _key_of(key: Any) -> Any:
    """A key as it is asked for: a value for each column, None for all rows."""
    return None if key is ... else key if isinstance(key, tuple | list) else (key,)


@contextmanager
def start(
    program: Callable[[Worker], Any],
    workers: int = 0,
    config: Config | None = None,
    on_note: Callable[[int, Any], None] | None = None,
    start: str = "",
    memory_bytes: int = 0,
    max_workers: int = 0,
) -> Iterator[RunningGroup]:
    """Run `program(worker)` on every worker of a new group while the block goes on, which has the group: it installs
    dataflows, removes them, and reads views. At its end the group is asked to finish (`worker.stopping`) and waited
    for; `group.finish()` and `group.wait()` do so before, and the latter returns what the program returned;
    `group.stop()` stops it. An error in the block ends the group at once; SIGINT and SIGTERM leave the block by an
    exception, which goes on once the group has finished, or stopped.

    The rest is as for `execute`.
    """
    if max_workers:
        config, workers = Config.with_idle(workers, max_workers, config, start, memory_bytes), 0
        start, memory_bytes = "", 0
    require_function_of("worker", program, "start")
    import_named(program)
    say_what_stays(program)
    with start_engine(program, RunningGroup, workers, config, on_note, start, memory_bytes, Worker) as group:
        yield group
