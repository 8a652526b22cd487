"""The asker's side of `tokenring hold`: a breakpoint in a running group, for as long as a block lasts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tokenring.engine.ask.asker import Group, group_of
from tokenring.engine.ask.requested import requested
from tokenring.engine.errors import UsageError


@dataclass(frozen=True)
class Held:
    """A breakpoint that is kept."""

    group: Group
    place: str
    workers: tuple[int, ...]
    """Who hold it: those that had a right to derive it from."""

    @property
    def lasts(self) -> bool:
        """Whether the group is still there."""
        return self.group.lasts


@contextmanager
def hold(process: int, operator: str, port: tuple[str, int], at: Any, timeout_s: float = 5.0) -> Iterator[Held]:
    """Keep the frontier at an operator's port from passing `at` within the block, in the group that `process` launched
    or works in. Should this process be killed, the workers notice it and let go.

    Raises UsageError if there is no such group or place, or no worker can hold that time there; WorkerError if a worker
    takes no step in time.
    """
    question = {"operator": operator, "port": port, "time": at}
    with requested(group_of(process), "hold", question) as request:
        answers = request.answers(timeout_s)
        taken = [answer for answer in answers if "place" in answer]
        if not taken:
            raise UsageError("; ".join(dict.fromkeys(answer["error"] for answer in answers)))
        yield Held(request.group, taken[0]["place"], tuple(answer["worker"] for answer in taken))
