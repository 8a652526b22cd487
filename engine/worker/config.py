"""How a group is run: sizes, pinning, parking; defaults that work, and errors that name the option."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenring.engine.arguments import is_whole
from tokenring.engine.budget import bytes_of
from tokenring.engine.cores import cpu_quota, within_quota
from tokenring.engine.errors import ConfigError
from tokenring.shm.memory import MAX_WORKERS, Layout, fitting_queue_words

FORK, FORKSERVER, SPAWN = STARTS = ("fork", "forkserver", "spawn")  # the values of Config.start
NORMAL, EXHAUSTIVE = "normal", "exhaustive"  # the values of Config.checks

_QUEUES_BUDGET_BYTES = 158 * 2**20  # with a ring of the usual size, and everybody's lines, a segment is below 160 MiB
_QUEUES_PART = 1 / 8  # of a budget of memory
_LARGEST_QUEUE_BYTES = 2**21
_SMALLEST_QUEUE_BYTES = 2**13  # a message may have a quarter of it: rows of 31 columns, or one with 1 KB of text
_ROOT = Path("/")


def note(text: str, *arguments: Any) -> None:
    """Say something in the log; nobody listens who has not imported `logging`."""
    if logging := sys.modules.get("logging"):
        logging.getLogger("tokenring").info(text, *arguments)


def usable_cores() -> list[int]:
    """The cores this process may run on."""
    return sorted(os.sched_getaffinity(0))


def default_workers() -> int:
    """How many workers there are where nobody says: one per usable core, and no more than a cgroup's quota of CPU time
    lets run at once (of 1.5 CPUs one). Says in the log if that is fewer."""
    cores, quota = len(usable_cores()), cpu_quota(_ROOT)
    workers = within_quota(cores, quota)
    if workers < cores:
        note("workers by default: %d, for %d usable cores and a cgroup's quota of %g CPUs", workers, cores, quota)
    return workers


@dataclass(frozen=True)
class Config:
    """Settings of a group of workers.

    workers: processes, default one per usable core, and no more than a cgroup's quota of CPU time lets run at once (of
    1.5 CPUs one). queue_bytes: data part of each ordered pair's queue, a power of two (default: 2 MiB; from 10 workers
    on the greatest of which all pairs have room in 158 MiB: 32 KiB for 64 workers, 8 KiB for 128, and never less, so
    that more than 140 need workers * (workers - 1) * 8.25 KiB). ring_records: slots of the progress ring, a power of
    two. backlog_bytes: rows that may wait for room on one worker before sources are asked to pause, and then are not
    run; and what may be sent by hand between two steps. spin_us: how long a worker with nothing to do spins before it
    parks; none where not each has a core to itself: more workers than cores, another group's cores, a cgroup's quota.
    pin: bind each worker to one of the usable cores: those of no other group first, one a physical core, of one NUMA
    node. checks: "normal", or "exhaustive": whatever a worker says of its progress is held against what it may say, at
    many times the cost (default: TOKENRING_CHECKS in the environment).

    memory_bytes: what the group may take, shared and private memory of launcher and workers together (default:
    TOKENRING_MEMORY in the environment, as 4G; 0: no limit). Near it sources pause; state that does not fit ends the
    run with MemoryBudgetError. It makes queues and backlog smaller where they would take much of it.

    idle: how many of the workers, the last ones, begin without work: sources share out among the others, and dataflows
    with bins have none of them there until they are moved. What has no bins goes to all. (`max_workers=4, workers=2`
    of `tr.execute`, `start`, `run` and `gather` is `workers=4, idle=2` here.) The last workers can be ended while the
    group runs, idle ones and others (`tokenring migrate --drain W --end`).

    start: how processes begin (default: "fork"). "fork": as copies of this one, for any program; "spawn": each as a
    Python of its own that imports the program; "forkserver": as copies of one that has imported it. The latter two
    are for programs that can be imported, and for launchers whose libraries have threads.
    """

    workers: int = 0
    queue_bytes: int = 0
    ring_records: int = 1 << 14
    backlog_bytes: int = 8 * 2**20
    spin_us: int = 50
    pin: bool = True
    checks: str = ""
    start: str = ""
    memory_bytes: int = 0
    idle: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "_given", dict(vars(self)))
        if is_whole(self.workers) and self.workers == 0:
            object.__setattr__(self, "workers", default_workers())
        if self.memory_bytes == 0 and os.environ.get("TOKENRING_MEMORY"):
            object.__setattr__(self, "memory_bytes", bytes_of(os.environ["TOKENRING_MEMORY"]))
        for name in ("workers", "queue_bytes", "ring_records", "backlog_bytes", "spin_us", "memory_bytes", "idle"):
            if not is_whole(getattr(self, name)):
                raise ConfigError(f"{name} must be a whole number, not {getattr(self, name)!r}")
            object.__setattr__(self, name, int(getattr(self, name)))
            if getattr(self, name) >= 2**63:
                raise ConfigError(f"{name} must be less than 2**63: all counts have 64 bits")
        if not 1 <= self.workers <= MAX_WORKERS:
            raise ConfigError(f"workers must be between 1 and {MAX_WORKERS}, not {self.workers}")
        if not 0 <= self.idle < self.workers:
            raise ConfigError(f"idle is {self.idle} of {self.workers} workers; at least one is to have work")
        if self.queue_bytes == 0:
            fitting = 8 * fitting_queue_words(self.workers, self._queues_bytes())
            object.__setattr__(self, "queue_bytes", min(_LARGEST_QUEUE_BYTES, max(_SMALLEST_QUEUE_BYTES, fitting)))
        if self.queue_bytes < 4096 or self.queue_bytes & (self.queue_bytes - 1):
            raise ConfigError(f"queue_bytes must be a power of two of at least 4096, not {self.queue_bytes}")
        if self.ring_records < 64 or self.ring_records & (self.ring_records - 1):
            raise ConfigError(f"ring_records must be a power of two of at least 64, not {self.ring_records}")
        if self.checks == "":
            object.__setattr__(self, "checks", os.environ.get("TOKENRING_CHECKS") or NORMAL)
        if self.checks not in (NORMAL, EXHAUSTIVE):
            raise ConfigError(f"checks (or TOKENRING_CHECKS) must be {NORMAL!r} or {EXHAUSTIVE!r}, not {self.checks!r}")
        if self.start == "":
            object.__setattr__(self, "start", FORK)
        if self.start not in STARTS:
            raise ConfigError(f"start must be 'fork', 'forkserver' or 'spawn', not {self.start!r}")
        if not isinstance(self.pin, bool):
            raise ConfigError(f"pin must be True or False, not {self.pin!r}")
        if self.spin_us < 0 or self.backlog_bytes < 0 or self.memory_bytes < 0:
            raise ConfigError("spin_us, backlog_bytes and memory_bytes must not be negative")

    @classmethod
    def with_idle(
        cls, workers: int, max_workers: int, config: "Config | None" = None, start: str = "", memory_bytes: int = 0
    ) -> "Config":
        """The settings of a group of `max_workers`, of which `workers` begin with work. ConfigError where those are
        more, or a whole `config` is given too."""
        if config is not None:
            raise ConfigError("max_workers= and config= are both given; say Config(workers=4, idle=2)")
        workers = workers or cls().workers
        if max_workers < workers:
            raise ConfigError(f"max_workers={max_workers} is less than workers={workers}; give as many, or more")
        return cls(workers=max_workers, idle=max_workers - workers, memory_bytes=memory_bytes, start=start)

    def with_options(self, **options: Any) -> "Config":
        """These settings, and the options that are given besides, none of them 0 or "". ConfigError for one that was
        given here, and is another; what this machine, or the environment, says where nobody does, contradicts nobody.
        """
        given = vars(self)["_given"]
        kinds = {name: (type(None), type(getattr(Config, name))) for name in options}
        more = {name: value for name, value in options.items() if value or type(value) not in kinds[name]}
        for name, value in more.items():
            if given[name] and value != given[name]:
                raise ConfigError(f"{name}={value!r} contradicts config.{name}={given[name]!r}; give one of them")
        return Config(**given | more) if more else self

    def _queues_bytes(self) -> int:
        """What all queues may take where nobody says how large they are."""
        part = int(self.memory_bytes * _QUEUES_PART) or _QUEUES_BUDGET_BYTES
        return max(min(_QUEUES_BUDGET_BYTES, part), _SMALLEST_QUEUE_BYTES)

    def _layout_in(self, memory_bytes: int) -> Layout:
        """The segment's layout where the group may take so much: queues whose size nobody gave are a part of it."""
        return Config(**vars(self)["_given"] | {"memory_bytes": memory_bytes}).layout

    @property
    def layout(self) -> Layout:
        """The segment's layout."""
        return Layout(self.workers, self.ring_records, self.queue_bytes // 8)
