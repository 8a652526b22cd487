"""Which cores are another group's: a launcher claims those that its workers are pinned to for as long as they live.

A claim is a socket bound to a name of the core's in Linux's abstract namespace. The kernel lets one process have a
name, so two groups that start at once cannot both get it; it drops the name with the process, however that dies; and
there is no file that could be left over, or be somebody else's. Containers with networks of their own do not see each
other's claims. A claim is a hint and no lock: who finds all cores claimed runs on them all the same.
"""

import errno
import os
import socket
from collections.abc import Iterable
from types import TracebackType
from weakref import WeakSet


def _name(core: int) -> str:
    return f"\0tokenring-core-{core}"


def taken_among(cores: Iterable[int]) -> set[int]:
    """Those of the cores that some group has claimed, one of this process too."""
    taken = set()
    with _socket() as asker:
        for core in cores:
            try:
                asker.connect(_name(core))
            except OSError:  # nobody has the name, or we may not ask
                continue
            taken.add(core)
    return taken


class Claims:
    """The cores that one group has claimed; a context that gives them back at its end."""

    def __init__(self) -> None:
        self._held: list[socket.socket] = []
        _living.add(self)

    def claim(self, core: int) -> bool:
        """Whether the core is now ours, or nobody's as far as we may know. Raises OSError where there are too few
        files.
        """
        mine = _socket()
        try:
            mine.bind(_name(core))
        except OSError as error:
            mine.close()
            return error.errno != errno.EADDRINUSE
        self._held.append(mine)
        return True

    def close(self) -> None:
        """Give all of them back."""
        for one in self._held:
            one.close()
        self._held.clear()

    def __enter__(self) -> "Claims":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def _forget() -> None:
    """In a child: the claims are its parent's alone, and must not live on where the child outlives it."""
    for claims in list(_living):
        claims.close()


_living: WeakSet[Claims] = WeakSet()
os.register_at_fork(after_in_child=_forget)
