"""How a process that is asked sees itself: by which number, as which user, and which folder its /tmp is; and what Linux
says that it does.

All of the former may differ from what the asker sees, where one of them is in a container, or has a /tmp of its own.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK = "tokenring-starts-again"  # the name of a file in memory, which others see among those that a process has open


def own_number(process: int) -> int:
    """What a process calls itself: its number in its own PID namespace; the same as here where that cannot be seen."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as file:
            said = next((line for line in file if line.startswith("NSpid:")), "")
    except OSError:
        said = ""
    return int(said.split()[-1]) if said else process


def private_folder(process: int = 0) -> Path:
    """Where questions and answers go: /tmp/tokenring-UID, for one user alone; of this process, or as this process comes
    to that of another. (Not one that the environment names: the two sides may have different ones.)
    """
    if process == 0:
        return Path("/tmp") / f"tokenring-{os.geteuid()}"
    return _root(process) / "tmp" / f"tokenring-{_own_user(process)}"


def _root(process: int) -> Path:
    """The way to a process's own root; "/" if its /tmp is ours, or it cannot be seen."""
    root = Path(f"/proc/{process}/root")
    try:
        return Path("/") if os.path.samefile(root / "tmp", "/tmp") else root
    except OSError:
        return Path("/")


def _own_user(process: int) -> int:
    """The user that a process takes itself for."""
    try:
        own = os.stat(f"/proc/{process}").st_uid
        if os.readlink(f"/proc/{process}/ns/user") == os.readlink("/proc/self/ns/user"):
            return own
        with open(f"/proc/{process}/uid_map", encoding="ascii") as file:
            for line in file:
                inside, outside, count = map(int, line.split())
                if outside <= own < outside + count:
                    return inside + own - outside
    except OSError:
        pass
    return os.geteuid()


def state_of(process: int) -> str:
    """The letter that Linux has for what a process does: R, S, D, T and t where it is stopped, Z; "" if it is gone."""
    return _told_of(process)[0]


def has_failed(process: int, parent: int) -> bool:
    """Whether a child of a process has ended by a signal, or with another status than 0, and was not waited for yet."""
    told = _told_of(process)
    return told[:2] == ["Z", str(parent)] and told[-1] != "0"


def _told_of(process: int) -> list[str]:
    """What `stat` has of a process behind its name: its state and parent first, how it has ended last; an empty text if
    it is gone."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as told:
            return told.read().rpartition(")")[2].split()
    except OSError:
        return [""]


@contextmanager
def starting_again() -> Iterator[None]:
    """Within the block this process launches one group after another, see `starts_again`."""
    mark = os.memfd_create(_MARK)
    try:
        yield
    finally:
        os.close(mark)


def starts_again(process: int) -> bool:
    """Whether another group comes where a process has none just now."""
    with suppress(OSError):
        for entry in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                if _MARK in os.readlink(entry):
                    return True
    return False


def is_stopped(process: int) -> bool:
    """Whether a signal (SIGSTOP) or a debugger has stopped a process."""
    return state_of(process) in ("T", "t")
