"""What all that runs on one worker has in common: plain data, made by the worker and handed to edges, ports, operators
and inputs, which know no more of it than this.
"""

from threading import get_ident
from typing import Any, Protocol

from tokenring.engine.data.plane import DataPlane
from tokenring.engine.graph import Paths
from tokenring.engine.native import World
from tokenring.engine.progress import ChangeLog, Tracker
from tokenring.engine.tokens import LostTokens


class Operator(Protocol):
    """What ports, inboxes and schedules need of a running operator."""

    name: str
    number: int
    """The tracker's: topological."""
    runtime: "Runtime"
    inputs: tuple[Any, ...]
    """InputPorts."""
    outputs: tuple[Any, ...]
    """OutputPorts."""
    paths: Paths
    due: int
    is_next: bool
    compiled: int
    """Its row in the world's tables; -1: it is Python's."""
    is_running: bool


class Schedule(Protocol):
    """Who has operators run."""

    def make_due(self, operator: Operator) -> None:
        """Run `operator` in this step if it is still to come, else in the next."""

    def activate(self, operator: Operator) -> None:
        """Run `operator` in the next step. From whatever thread."""

    def activate_after(self, operator: Operator, delay_ns: int) -> None:
        """Run `operator` once `delay_ns` have passed. From whatever thread."""


class Runtime:
    """One worker's part of what runs. What is used for every message is bound once more by whoever uses it."""

    __slots__ = ("index", "log", "lost", "peers", "plane", "schedule", "thread", "tracker", "world")

    def __init__(
        self,
        index: int,
        peers: int,
        log: ChangeLog,
        tracker: Tracker,
        plane: DataPlane,
        schedule: Schedule,
        world: World,
    ) -> None:
        self.index = index
        self.peers = peers
        self.thread = get_ident()
        """Python's number of the thread that it all belongs to: the one that makes it."""
        self.log = log
        self.tracker = tracker
        self.plane = plane
        self.schedule = schedule
        self.world = world
        self.lost = LostTokens(log)
