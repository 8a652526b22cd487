"""The launcher: makes the segment, forks one worker per core, waits, and turns any death into one clear error.

Order: compile kernels, reclaim leftovers, choose cores, create the segment and unlink its name (mappings are
inherited, so nothing can be left behind), fork. Workers report over pipes, in frames of plain values. A worker that
dies stops the group; a launcher that dies takes its workers with it.
"""

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from tokenring.engine import budget
from tokenring.engine.arguments import require_function
from tokenring.engine.cores import Claims, place
from tokenring.engine.errors import ConfigError
from tokenring.engine.group.child import Program, flush_output, live
from tokenring.engine.group.group import Group, Results
from tokenring.engine.group.interrupts import Interrupts
from tokenring.engine.group.processes import Process, fork, starting
from tokenring.engine.group.starts import Server, require_no_start_within, spawn_all
from tokenring.engine.group.threads import has_polars_pool, refuse_polars, warn_of_threads
from tokenring.engine.group.warm_up import warm_up
from tokenring.engine.texts import can_have_texts
from tokenring.engine.worker import FORK, FORKSERVER, SPAWN, Config, Worker, note, usable_cores
from tokenring.shm.memory import Segment, reclaim
from tokenring.shm.queues import ParkingLot

_BACKLOGS = 8  # what waits for room may take one in so many parts of what a budget of memory leaves


def execute(
    program: Program,
    workers: int = 0,
    config: Config | None = None,
    on_note: Callable[[int, Any], None] | None = None,
    on_start: Callable[[list[int]], None] | None = None,
    start: str = "",
    memory_bytes: int = 0,
    worker_class: type[Worker] = Worker,
) -> Results:
    """Run `program(worker)` on every worker of a new group; returns what each returned, in order, a list, whose
    `stopped` says what was open where the run was stopped (`Worker.stopping`), else None.

    workers: processes (default: one per usable core, within a cgroup's quota; or give a whole `config`). start: how
    they begin, see Config; forked processes have none of this one's threads, so a library that waits for its own may
    hang there: a warning says so, and Polars, used here before, is a UsageError there. memory_bytes: what the whole
    group may take, see Config.
    on_note(worker, value) sees what workers `report`; on_start(pids) the processes. Dataflows still running when the
    program returns are run to their end. worker_class: what the program is given, a subclass of Worker that adds
    methods.

    What is returned or reported arrives equal and of the same type, NaN, tuples, integers of any size and keys of any
    kind included: None, bool, int, float, complex, str, bytes, bytearray, Decimal; list, tuple, dict, set, frozenset,
    deque, Counter, OrderedDict, defaultdict (of built-in types); date, time, datetime (zones: timezone, ZoneInfo),
    timedelta, pandas.Timestamp; numpy arrays, masked arrays and scalars of any dtype but object; batches and their
    columns; Arrow tables, record batches and arrays. UsageError for all else (instances of other classes, named tuples,
    functions, data frames), naming the type and what to return. Nothing is pickled.

    Raises OperatorError, UsageError subclasses, GraphMismatchError, WorkerError (a worker died), OutOfSharedMemory,
    MemoryBudgetError (its state does not fit into memory_bytes);
    ConfigError where the system has too few files, processes or memory for so many workers. A signal that ends the
    process ends the group first, and whoever handles it is called where it is safe.
    """
    for what, function in {"on_note": on_note, "on_start": on_start}.items():
        if function is not None:
            require_function("execute", what, function)
    with launched(program, workers, config, on_note, start, memory_bytes, worker_class) as (group, interrupts):
        if on_start is not None:
            with interrupts.let_through():
                on_start([process.pid for process in group.processes])
        return group.wait()


@contextmanager
def launched(
    program: Program,
    workers: int,
    config: Config | None,
    on_note: Callable[[int, Any], None] | None,
    start: str,
    memory_bytes: int,
    worker_class: type[Worker],
) -> Iterator[tuple[Group, Interrupts]]:
    """A group that is there within the block, where signals are noted; see `execute`."""
    options: dict[str, Any] = {"workers": workers, "start": start, "memory_bytes": memory_bytes}
    if config is not None and not isinstance(config, Config):
        raise ConfigError(f"config is a Config, such as Config(workers=4), not {config!r}")
    config = Config(**options) if config is None else config.with_options(**options)
    require_no_start_within()
    told: dict[str, Any] = {}
    if config.start != FORK:
        from tokenring.engine.group.named import named

        told |= {"program": named(program, config.start), "worker_class": named(worker_class, config.start)}
    warm_up()
    reclaim()
    with ExitStack() as signals, ExitStack() as undo:
        with starting(config.workers):
            interrupts = signals.enter_context(Interrupts())
            claims = undo.enter_context(Claims())
            placement = place(config.workers, config.pin, config.spin_us, usable_cores(), claims)
            fixed_bytes = 0
            if config.memory_bytes:  # before anything is replaced, which makes all else given, queue_bytes too
                fixed_bytes = budget.require_budget(config.memory_bytes, config._layout_in)
                backlogs = (config.memory_bytes - fixed_bytes) // (_BACKLOGS * config.workers)
                config = replace(config, backlog_bytes=min(config.backlog_bytes, backlogs))
            config = replace(config, spin_us=placement.spin_us)
            told |= {"cores": list(placement.cores)}
            note("%s", placement)
            segment = Segment.create(config.layout)
            undo.callback(segment.close)
            undo.callback(segment.unlink)
            lot = ParkingLot(config.workers, keep_names=True)
            undo.callback(lot.close)
            undo.callback(lot.unlink)
            watch = budget.BudgetWatch(segment, lot, config.memory_bytes, fixed_bytes) if config.memory_bytes else None
            group = Group(segment, lot, config, interrupts, on_note, watch)
            undo.callback(group.end)
            if config.start == SPAWN:
                spawn_all(group.processes, told, segment, lot, config)
            elif config.start == FORKSERVER:
                server = Server()
                undo.callback(server.close)
                undo.callback(group.end)
                server.start_all(group.processes, told, segment, lot, config)
            else:
                lot.unlink()  # before the segment, by which they are known to be in use
                segment.unlink()
                _fork(program, worker_class, group.processes, segment, lot, config, placement.cores, interrupts)
        group.watch()
        try:
            yield group, interrupts
        finally:
            if not group.is_ours:
                undo.pop_all()  # a process that the program forked leaves the block: the group goes on


def _fork(
    program: Program,
    worker_class: type[Worker],
    processes: list[Process],
    segment: Segment,
    lot: ParkingLot,
    config: Config,
    cores: Sequence[int],
    interrupts: Interrupts,
) -> None:
    """Add a process for each worker."""
    launcher = os.getpid()
    lacks_polars = has_polars_pool()
    can_have_texts()  # workers share what there is of the text space before they are forked

    def body(index: int, pipe: int) -> NoReturn:
        interrupts.forked()
        if lacks_polars:
            refuse_polars()
        live(program, segment, lot, index, config, cores, pipe, launcher, worker_class=worker_class)

    flush_output()
    is_collecting = gc.isenabled()
    gc.disable()  # what exists now is shared by all workers, who freeze it: no collector is to touch it before
    try:
        for index in range(config.workers):
            if interrupts.noted:
                interrupts.act()
            processes.append(fork(partial(body, index), processes))
            processes[-1].watch()
        warn_of_threads()
    finally:
        if is_collecting:
            gc.enable()
